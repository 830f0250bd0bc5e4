"""People as players: the same game, judge, oracle and records as a model's, a run folder a person.

A person plays a sample once: what was ever shown under a name is never played again under it. Nothing
reaches a browser but what a model in that place would have been sent, and the games that are over.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from lotbench.config.experiment import Config
from lotbench.edge.calls.journal import read_journal
from lotbench.edge.files import atomic_write, run_folder
from lotbench.edge.models.person import PageModel
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
from lotbench.types import JSON

CONSENT = (
    "What you type, how long you take and the name that you give are written into a folder on the machine that "
    "serves this page, judged by the models named below, and may be published in that form."
)
LONGEST_NAME = 40


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
    made = plan.make(_of(asked, name))
    seen: set[str] = set()
    for run in _runs(out, made):
        if _open(run, made):
            # The name as it was written when the run began.
            return await resume(run.path, own=_own(run.config.model, own), watch=watch, concurrency=1)
        seen |= _shown(run)
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
        over: Why their run has ended, if it has; "" where all was played.
    """

    key: str
    name: str
    model: PageModel = field(default_factory=PageModel)
    status: Status | None = None
    task: asyncio.Task[None] | None = None
    over: str | None = None

    @property
    def version(self) -> str:
        """Moves whenever their page has something new to show."""
        done = len(self.status.traces) if self.status else 0
        return f"{self.model.version}-{done}-{self.over is None}"


class PlaySite:
    """The pages on which people play, one or more at once.

    Args:
        asked: What is played, by whom it is judged.
        out: Where run folders are kept.

    Raises:
        UsageError: What is asked for does not fit.
    """

    def __init__(self, asked: Config, out: Path) -> None:
        self._plan = plan.make(_of(asked, "nobody"))
        self._asked = asked
        self._out = out
        self._gallery = Gallery(out)
        self._seats: dict[str, Player] = {}

    def get(self, path: str) -> Served:
        """The page at a path."""
        match path.split("/"):
            case [""] | ["index.html"]:
                return served(self._join_page())
            case ["seat", key, *rest] if key in self._seats:
                return self._seat_page(self._seats[key], rest)
        raise LookupError(path)

    async def post(self, path: str, sent: object) -> Mapping[str, JSON]:
        """A person who sits down, or an answer."""
        match path.split("/"):
            case ["join"]:
                return {"go": f"seat/{self._join(sent).key}/index.html"}
            case ["seat", key, "answer"] if key in self._seats:
                return await self._answer(self._seats[key], sent)
        raise LookupError(path)

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
        self._seats[seat.key] = seat
        if seat.task is None or seat.task.done():
            seat.over = None
            seat.task = asyncio.create_task(self._play(seat))
        return seat

    async def _play(self, seat: Player) -> None:
        async def watch(status: Status) -> None:
            seat.status = status
            consent = {"schema": 1, "name": seat.name, "text": CONSENT}
            await asyncio.to_thread(_keep, status.path / "consent.json", consent)

        try:
            await play_next(self._asked, self._out, seat.name, seat.model, watch)
            seat.over = ""
        except LotbenchError as error:
            seat.over = str(error)
        except Exception as error:  # noqa: BLE001 - a bug must be told to who waits, not only to the log
            seat.over = f"{type(error).__name__}: {error}"

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
            case ["picture", file] if seat.status:
                return _picture(seat.status, file.removesuffix(".png"))
            case ["game", sample] if seat.status:
                return self._played(seat.status, sample.removesuffix(".html"))
        raise LookupError("/".join(rest))

    def _join_page(self) -> Screen:
        roles = {role: [name.text for name in names] for role, names in self._plan.names.items()}
        roles.pop("candidate", None)
        about = self._plan.benchmark.about
        return screen("join", title="Play", consent=CONSENT, roles=roles, about=about, longest=LONGEST_NAME)

    def _play_page(self, seat: Player) -> Screen:
        request, version = seat.model.asked, seat.version
        done = list(seat.status.traces.values()) if seat.status else []
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
            total=seat.status.total if seat.status else None,
        )

    def _played(self, status: Status, sample: str) -> Served:
        """A game that is over, told again."""
        if (sample, 1) not in status.traces:
            raise LookupError(sample)
        shelf = self._gallery.shelf(status.path.name)
        known, trace = self._gallery.known(shelf, (sample, 1))
        return served(self._gallery.told(shelf, trace, "../", "played", known))


def _picture(status: Status, sha256: str) -> Served:
    """A picture that the person was shown, by the digest of its bytes."""
    try:
        return Served(status.plan.pictures.png(sha256), "image/png", lasting=True)
    except KeyError:
        raise LookupError(sha256) from None


def _keep(place: Path, consent: Mapping[str, Any]) -> None:
    if not place.exists():
        atomic_write.write(place, json.dumps(consent, ensure_ascii=False, indent=2) + "\n")
