"""People as players: the same game, judge, oracle and records as a model's, a run folder a person.

A person plays a sample once: what was ever shown under a name is never played again under it. Nothing
reaches a browser but what a model in that place would have been sent, and the games that are over.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import time
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from lotbench.config.experiment import Config
from lotbench.edge.calls.journal import read_journal
from lotbench.edge.files import atomic_write, run_folder
from lotbench.edge.files.datasets import Pictures
from lotbench.edge.models.person import PageModel
from lotbench.edge.pictures.picture_file import media_type
from lotbench.edge.serve import Served
from lotbench.errors import LotbenchError, UsageError, faults_of
from lotbench.prompting.person_form import interview
from lotbench.run import plan
from lotbench.run.evaluate import begin, resume
from lotbench.run.plan import Plan
from lotbench.run.results import Run, load_run
from lotbench.run.session import Status, Watch
from lotbench.site.page import Screen, screen
from lotbench.site.runs import Gallery, served
from lotbench.types import JSON, Trace

CONSENT = (
    "What you type, how long you take and the name that you give are written into a folder on the machine that "
    "serves this page, judged by the models named below, and may be published in that form."
)
LONGEST_NAME = 40
MOST_PLAYING = 24
"""Games at once: each holds its journal, its connections and its samples."""
MOST_NAMES = 500
"""People whose pages are kept; of those who do not play, the ones not seen for longest go first."""
IDLE_S = 1800.0
"""Seconds after which a game is let go whose page nobody has opened."""
GIVE_WAY_S = 300.0
"""Seconds after which it is let go if somebody else wants its place."""
RETOLD = 24
"""Runs whose games were looked at again last: what was read of others is let go."""
LOOK_S = 5.0
"""Seconds between two looks at who is still there."""
GONE = "Nobody was there for a while"


class Joining(BaseModel):
    """What the first page sends."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = ""
    agree: list[str] = []


def person(name: str) -> str:
    """A person's name as it is kept.

    Raises:
        UsageError: It is empty, too long, or has something else than letters, digits, spaces, `.`, `_`, `-`.
    """
    kept = unicodedata.normalize("NFC", " ".join(name.split()))
    if not kept or len(kept) > LONGEST_NAME or not re.fullmatch(r"[\w .-]+", kept):
        raise UsageError(f"name: 1 to {LONGEST_NAME} letters, digits, spaces, '.', '_' or '-'")
    return kept


async def play_next(asked: Config, out: Path, name: str, own: Any = None, watch: Watch | None = None) -> Run:
    """Let a person play what they have not seen: go on with their run, or begin one.

    Args:
        asked: What is played, by whom it is judged; its candidate is replaced by the person.
        out: Where run folders are kept.
        name: The person's, as `person` gives it.
        own: The model that asks the person; the terminal if there is none.
        watch: See `evaluate`.

    Raises:
        UsageError: The person has seen every sample.
        LotbenchError: The run was stopped.
    """
    # In threads, beside the pages of others who play: the folder may hold many runs.
    made = await asyncio.to_thread(plan.make, _of(asked, name))
    seen: set[str] = set()
    for run in await asyncio.to_thread(_runs, out, made):
        if _open(run, made):
            # The name as it was written when the run began.
            return await resume(run.path, own=_own(run.config.model, own), watch=watch, concurrency=1)
        seen |= await asyncio.to_thread(_shown, run)
    left = tuple(item.id for item in made.chosen if item.id not in seen)[: asked.experiment.limit]
    if not left:
        raise UsageError(f"{name} has played every sample there is to play")
    mine = _own(made.experiment.model, own)
    return await begin(_of(asked, name, left), out=out, own=mine, watch=watch)


def _own(model: str, own: Any) -> dict[str, Any]:
    return {} if own is None else {model: own}


def _of(asked: Config, name: str, samples: tuple[str, ...] | None = None) -> Config:
    change: dict[str, Any] = {"model": f"human:{name}", "repeats": 1, "limit": None}
    if samples is not None:
        change["samples"] = samples
    return Config(
        experiment=asked.experiment.model_copy(update=change),
        limits=asked.limits.model_copy(update={"concurrency": 1}),
    )


def _runs(out: Path, made: Plan) -> list[Run]:
    """The runs of this person on this benchmark and data, whatever the settings."""
    ours = made.experiment
    found = []
    for place in sorted(out.glob("*/run.json")):
        asked = run_folder.read_json(place).get("experiment", {})
        theirs = str(asked.get("model", ""))
        if theirs.casefold() == ours.model.casefold() and asked.get("benchmark") == ours.benchmark:
            run = load_run(place.parent)
            found += [run] if run.config.data == ours.data else []
    return found


def _open(run: Run, made: Plan) -> bool:
    """Whether a run is this very experiment, and has games left."""
    free = {"samples": (), "model": ""}
    same = run.config.model_copy(update=free) == made.experiment.model_copy(update=free)
    return same and len(run.traces) < len(run.samples) * run.config.repeats


def _shown(run: Run) -> set[str]:
    """The samples of which a run's candidate has seen anything."""
    journal = run.path / "calls.jsonl"
    asked = {one.key.sample for one in read_journal(journal)} if journal.is_file() else set()
    return asked | {trace.sample for trace in run.traces}


@dataclass
class Player:
    """One person at the table.

    Attributes:
        key: The secret part of the address of their page.
        seen: When the page was last opened, or sent something.
        run: The folder of their run, and how many games it has.
        games: The finished games of it, without their steps.
        over: Why their run has ended, if it has; "" where all was played.
    """

    key: str
    name: str
    seen: float = 0.0
    model: PageModel = field(default_factory=PageModel)
    run: tuple[Path, int] | None = None
    games: Mapping[tuple[str, int], Trace] = field(default_factory=dict)
    pictures: Pictures | None = None
    task: asyncio.Task[None] | None = None
    over: str | None = None

    @property
    def playing(self) -> bool:
        """Whether their run goes on."""
        return self.task is not None and not self.task.done()

    @property
    def version(self) -> str:
        """Moves whenever their page has something new to show."""
        return f"{self.model.version}-{len(self.games)}-{self.over is None}"


class PlaySite:
    """The pages on which people play, one or more at once.

    Args:
        asked: What is played, by whom it is judged.
        out: Where run folders are kept.
        now: The clock, in seconds.

    Raises:
        UsageError: What is asked for does not fit.
    """

    def __init__(self, asked: Config, out: Path, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._plan = plan.make(_of(asked, "nobody"))
        self._asked = asked
        self._out = out
        self._gallery = Gallery(out)
        self._seats: dict[str, Player] = {}
        self._retold: tuple[str, ...] = ()

    def get(self, path: str) -> Served:
        """The page at a path."""
        match path.split("/"):
            case [""] | ["index.html"]:
                return served(self._join_page())
            case ["seat", key, *rest]:
                return self._seat_page(self._seat(key), rest)
        raise LookupError(path)

    async def post(self, path: str, sent: object) -> Mapping[str, JSON]:
        """A person who sits down, or an answer."""
        match path.split("/"):
            case ["join"]:
                return {"go": f"seat/{self._join(sent).key}/index.html"}
            case ["seat", key, "answer"]:
                return await self._answer(self._seat(key), sent)
        raise LookupError(path)

    def _seat(self, key: str) -> Player:
        """Who has a page, noted as being there; raises LookupError if nobody has it."""
        seat = self._seats[key]
        seat.seen = self._now()
        return seat

    async def close(self) -> None:
        """Stop every game; each can be gone on with."""
        tasks = [seat.task for seat in self._seats.values() if seat.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _join(self, sent: object) -> Player:
        try:
            joining = Joining.model_validate(sent)
        except ValidationError as error:
            raise UsageError(faults_of(error)[0]) from None
        name = person(joining.name)
        if not joining.agree:
            raise UsageError("without your agreement nothing can be kept, and so nothing played")
        found = [seat for seat in self._seats.values() if seat.name.casefold() == name.casefold()]
        seat = found[0] if found else Player(secrets.token_urlsafe(12), name)
        if not seat.playing:
            self._make_room()
            seat.over = None
            seat.task = asyncio.create_task(self._play(seat))
        seat.seen = self._now()
        self._seats[seat.key] = seat
        return seat

    def _make_room(self) -> None:
        """See that one more may play.

        Raises:
            UsageError: Every place is taken, and everybody is there.
        """
        playing = sorted((seat for seat in self._seats.values() if seat.playing), key=lambda seat: seat.seen)
        if len(playing) >= MOST_PLAYING:
            if playing[0].over is None and self._now() - playing[0].seen < GIVE_WAY_S:
                raise UsageError(f"all {MOST_PLAYING} places are taken: come again in some minutes")
            _let_go(playing[0])
        away = sorted((seat for seat in self._seats.values() if not seat.playing), key=lambda seat: seat.seen)
        for seat in away[: max(0, len(self._seats) + 1 - MOST_NAMES)]:
            del self._seats[seat.key]

    async def _play(self, seat: Player) -> None:
        """Play a person's next run; ended if nobody looks at its page any more."""
        game = asyncio.ensure_future(
            play_next(self._asked, self._out, seat.name, seat.model, partial(_told, seat))
        )
        try:
            while not (await asyncio.wait({game}, timeout=LOOK_S))[0]:
                if self._now() - seat.seen > IDLE_S:
                    _let_go(seat)
            game.result()
            seat.over = ""
        except asyncio.CancelledError:
            game.cancel()
            await asyncio.wait({game})
            raise
        except LotbenchError as error:
            seat.over = str(error)
        except Exception as error:  # noqa: BLE001 - a bug must be told to who waits, not only to the log
            seat.over = f"{type(error).__name__}: {error}"
        finally:
            # Hundreds of people may have played here: of a run that is over, its page shows how its games ended.
            seat.task = seat.pictures = None

    async def _answer(self, seat: Player, sent: object) -> Mapping[str, JSON]:
        if not isinstance(sent, Mapping):
            raise UsageError("not an answer")
        given = {str(name): value for name, value in sent.items() if name != "version"}
        version = str(sent.get("version"))
        seat.model.answer(int(version) if version.isdecimal() and len(version) < 10 else -1, given)
        return {"go": "index.html"}

    def _seat_page(self, seat: Player, rest: list[str]) -> Served:
        match rest:
            case ["index.html"]:
                return served(self._play_page(seat))
            case ["state.json"]:
                return Served(f'{{"version": "{seat.version}"}}'.encode(), "application/json")
            case ["picture", file] if seat.pictures is not None:
                return _picture(seat.pictures, file.removesuffix(".png"))
            case ["game", sample] if seat.run:
                return self._played(seat, seat.run[0], sample.removesuffix(".html"))
        raise LookupError("/".join(rest))

    def _join_page(self) -> Screen:
        roles = {role: [name.text for name in names] for role, names in self._plan.names.items()}
        roles.pop("candidate", None)
        about = self._plan.benchmark.about
        return screen("join", title="Play", consent=CONSENT, roles=roles, about=about, longest=LONGEST_NAME)

    def _play_page(self, seat: Player) -> Screen:
        request, version = seat.model.asked, seat.version
        done = list(seat.games.values())
        return screen(
            "play",
            "",
            name=seat.name,
            version=version,
            answer=seat.model.version,
            asked=interview(request) if request else None,
            first=seat.model.answered == 0,
            over=seat.over,
            done=[{"sample": one.sample, "outcome": one.outcome, "score": one.score.value} for one in done],
            total=seat.run[1] if seat.run else None,
        )

    def _played(self, seat: Player, path: Path, sample: str) -> Served:
        """A game that is over, told again."""
        if (sample, 1) not in seat.games:
            raise LookupError(sample)
        self._retold = (*(one for one in self._retold if one != path.name), path.name)[-RETOLD:]
        self._gallery.keep(self._retold)
        shelf = self._gallery.shelf(path.name)
        known, trace = self._gallery.known(shelf, shelf.at(sample, 1))
        return served(self._gallery.told(shelf, trace, "../", "played", known))


def _let_go(seat: Player) -> None:
    """End a game that can be gone on with."""
    seat.over = GONE
    if seat.task:
        seat.task.cancel()


async def _told(seat: Player, status: Status) -> None:
    """Note of a run that has begun what its person's pages show, and what the person agreed to beside it."""
    seat.run, seat.games, seat.pictures = (status.path, status.total), status.traces, status.plan.pictures
    consent = {"schema": 1, "name": seat.name, "text": CONSENT}
    await asyncio.to_thread(_keep, status.path / "consent.json", consent)


def _picture(pictures: Pictures, sha256: str) -> Served:
    """A picture that the person was shown, by the digest of its bytes."""
    try:
        shown = pictures.sent(sha256)
        return Served(shown, media_type(shown), lasting=True)
    except KeyError:
        raise LookupError(sha256) from None


def _keep(place: Path, consent: Mapping[str, Any]) -> None:
    if not place.exists():
        atomic_write.write(place, json.dumps(consent, ensure_ascii=False, indent=2) + "\n")
