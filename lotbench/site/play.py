"""People as players: the same game, judge, oracle and records as a model's, a run folder a person.

A person plays a sample once: what was ever shown under a name is never played again under it. Nothing of a game
reaches a browser before it is over but what its player may know (`player_view`), and the games that are over.
"""

from __future__ import annotations

import asyncio
import datetime
import secrets
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from lotbench.config.experiment import Config
from lotbench.edge.pictures.picture_file import media_type
from lotbench.edge.serve import Served
from lotbench.errors import LotbenchError, UsageError
from lotbench.prompting.person_form import interview
from lotbench.run.loading import Run
from lotbench.run.session import Status
from lotbench.site import game_rounds
from lotbench.site.others import others
from lotbench.site.page import screen
from lotbench.site.people_runs import LONGEST_NAME, NothingLeftError, joined, of_the_day, planned, play_next
from lotbench.site.play_result import result
from lotbench.site.player import CONSENT, Player
from lotbench.site.run_summary import Shelf, page_file
from lotbench.site.runs import Gallery
from lotbench.types import JSON, Trace

MOST_PLAYING = 24
"""Games at once: each holds its journal, its connections and its samples."""
MOST_NAMES = 500
"""People whose pages are kept; of those who do not play, the ones not seen for longest go first."""
IDLE_S = 1800.0
"""Seconds after which a game is let go whose page nobody has opened."""
GIVE_WAY_S = 300.0
"""Seconds after which it is let go if somebody else wants its place."""
HELD = 24
"""Runs whose games were looked at last: what was read of others is let go."""
LOOK_S = 5.0
"""Seconds between two looks at who is still there."""
GONE = "Nobody was there for a while"


class PlaySite:
    """The pages on which people play, one or more at once.

    Args:
        asked: What is played, by whom it is judged.
        out: Where run folders are kept.
        now: The clock, in seconds.
        today: Says what day it is, where the game of the day is played, the same sample for everybody; None plays all that
            is asked for.

    Raises:
        UsageError: What is asked for does not fit.
    """

    def __init__(
        self,
        asked: Config,
        out: Path,
        now: Callable[[], float] = time.monotonic,
        today: Callable[[], datetime.date] | None = None,
    ) -> None:
        self._now = now
        self._asked = asked
        self._today = today
        self._plan = planned(self._of(self._day))
        self._out = out
        self._gallery = Gallery(out, HELD)
        self._seats: dict[str, Player] = {}

    @property
    def _day(self) -> datetime.date | None:
        return self._today() if self._today else None

    def _of(self, day: datetime.date | None) -> Config:
        return of_the_day(self._asked, day) if day else self._asked

    def get(self, path: str) -> Served:
        """The page at a path."""
        match path.split("/"):
            case [""] | ["index.html"]:
                return self._join_page()
            case ["seat", key, *rest]:
                return self._seat_page(self._seat(key), rest)
        raise LookupError(path)

    async def post(self, path: str, sent: object) -> Mapping[str, JSON]:
        """A person who sits down, or what they do in their game."""
        match path.split("/"):
            case ["join"]:
                return {"go": f"seat/{self._join(sent).key}/index.html"}
            case ["seat", key, move] if move in ("answer", "skip", "give-up", "next", "says"):
                why = self._move(self._seat(key), move, sent)
                return {"why": why} if why else {"go": "index.html"}
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
        name = joined(sent)
        found = [seat for seat in self._seats.values() if seat.name.casefold() == name.casefold()]
        seat = found[0] if found else Player(secrets.token_urlsafe(12), name)
        if not seat.playing:
            self._make_room()
            seat.over, seat.day = None, self._day
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
        game = asyncio.ensure_future(self._game(seat))
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
        except NothingLeftError as error:
            seat.over = str(error)
            if error.played is not None:
                seat.looks_back(error.played)
        except LotbenchError as error:
            seat.over = str(error)
        except Exception as error:  # noqa: BLE001 - a bug must be told to who waits, not only to the log
            seat.over = f"{type(error).__name__}: {error}"
        finally:
            # Hundreds of people may have played here: of a run that is over, its page shows how its games ended.
            seat.task = seat.status = None

    async def _game(self, seat: Player) -> Run:
        # In a thread: the sample of a day is drawn of the whole data set.
        asked = await asyncio.to_thread(self._of, seat.day)
        return await play_next(asked, self._out, seat.name, seat.model, partial(_told, seat), seat.decide)

    def _move(self, seat: Player, move: str, sent: object) -> str | None:
        """What a person does: an answer, none, no more of this game, or on to the next; returns why it is not taken."""
        if not isinstance(sent, Mapping):
            raise UsageError("not an answer")
        given = {str(name): value for name, value in sent.items() if name != "version"}
        told = str(sent.get("version"))
        version = int(told) if told.isdecimal() and len(told) < 10 else -1
        if move == "answer":
            return seat.answer(version, given)
        if move == "skip":
            seat.skip(version)
        elif move == "give-up":
            seat.give_up(version)
        elif move == "says":
            seat.says(str(sent.get("said")))
        else:
            seat.goes_on()
        return None

    def _seat_page(self, seat: Player, rest: list[str]) -> Served:
        match rest:
            case ["index.html"]:
                ended = seat.ended
                return self._play_page(seat) if ended is None else self._result_page(seat, ended.sample)
            case ["state.json"]:
                return Served(f'{{"version": "{seat.version}"}}'.encode(), "application/json")
            case ["picture", file]:
                return self._picture(seat, file)
            case ["result", sample] if seat.run:
                return self._result_page(seat, sample.removesuffix(".html"), "../")
            case ["game", sample] if seat.run:
                return self._played(seat, sample.removesuffix(".html"))
        raise LookupError("/".join(rest))

    def _join_page(self) -> Served:
        roles = {role: [name.text for name in names] for role, names in self._plan.names.items()}
        roles.pop("candidate", None)
        return screen(
            "join",
            title=_title(self._day),
            consent=CONSENT,
            roles=roles,
            about=self._plan.benchmark.about,
            game=self._plan.benchmark.graph == "game",
            settings=self._plan.settings,
            daily=self._today is not None,
            longest=LONGEST_NAME,
        )

    def _play_page(self, seat: Player) -> Served:
        request = seat.model.asked
        phase, view = seat.phase, seat.view
        return screen(
            "play",
            "",
            name=seat.name,
            title=_title(seat.day),
            daily=seat.day is not None,
            version=seat.version,
            answer=seat.model.version,
            phase=phase,
            view=view,
            wait=round(seat.waited_s),
            waiting=seat.waiting,
            doubt=seat.doubt,
            around=game_rounds.masked(seat.doubt.sample.model_dump()) if seat.doubt else None,
            fields=seat.fields,
            asked=interview(request) if request and view is None else None,
            over=seat.over,
            done=list(seat.games.values())[::-1],
            total=seat.run[1] if seat.run else None,
        )

    def _trace(self, seat: Player, sample: str) -> tuple[Shelf, Trace]:
        """A game that is over, and its run; raises LookupError if it is not over, or not theirs."""
        if seat.run is None or (sample, 1) not in seat.games:
            raise LookupError(sample)
        shelf = self._gallery.shelf(seat.run[0].name)
        return shelf, shelf.run.traces[shelf.at(page_file(sample, 1))]

    def _result_page(self, seat: Player, sample: str, up: str = "") -> Served:
        """How a game came out: the answer, why it is funny, and how others did."""
        shelf, trace = self._trace(seat, sample)
        assert seat.run is not None
        known = self._gallery.known(shelf, trace)
        told, title = known["sample"], _title(seat.day)
        made = result(trace, int(getattr(self._plan.settings, "max_rounds", 1)))
        return screen(
            "result",
            up,
            **known,
            player=seat.name,
            title=title,
            result=made,
            thought=game_rounds.thought(trace, {}),
            around=game_rounds.masked(told),
            others=others(self._gallery, sample, seat.run[0]),
            about=title if seat.day else "One picture, one joke, a part of it missing",
            shared=made.text(f"lotbench, {title[0].lower()}{title[1:]}" if seat.day else "lotbench"),
            version=seat.version,
            over=seat.over,
            more=len(seat.games) < seat.run[1],
            fresh=(sample, 1) not in seat.read,
        )

    def _played(self, seat: Player, sample: str) -> Served:
        """A game that is over, told again."""
        return self._gallery.told(*self._trace(seat, sample), "../", "played", {})

    def _picture(self, seat: Player, file: str) -> Served:
        """A picture that the person was shown, by the digest of its bytes."""
        if seat.status is not None:
            try:
                shown = seat.status.plan.pictures.sent(file.removesuffix(".png"))
                return Served(shown, media_type(shown), lasting=True)
            except KeyError:
                pass
        return self._gallery.get(f"picture/{file}")


def _title(day: datetime.date | None) -> str:
    return f"The game of {day.day} {day:%B %Y}" if day else "Play"


def _let_go(seat: Player) -> None:
    """End a game that can be gone on with."""
    seat.over = GONE
    if seat.task:
        seat.task.cancel()


async def _told(seat: Player, status: Status) -> None:
    """Note of a run that has begun what its person's pages show, and what the person agreed to beside it."""
    await asyncio.to_thread(seat.begins, status)
