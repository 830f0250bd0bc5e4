"""One person at a game, on a page or at a terminal: where their game stands, and what they do in it."""

from __future__ import annotations

import asyncio
import datetime
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from lotbench.benchmarks.lotbench import player_view
from lotbench.errors import UsageError
from lotbench.models.person import PageModel
from lotbench.prompting.person_form import Field, interview
from lotbench.run.loading import Run
from lotbench.run.session import Status
from lotbench.site import host
from lotbench.storage import atomic_write
from lotbench.types import Trace

View: TypeAlias = player_view.View
Phase: TypeAlias = Literal["start", "guess", "ask", "other", "judge", "host", "unknown", "own"]
SAID = {False: ("on", "show"), True: ("counts", "misses")}
"""What a player may say where the host cannot tell: to guess on, or to be shown the answer; then whether it counts."""
CONSENT = (
    "What you type, how long you take and the name that you give are written into a folder on the machine that "
    "serves this page, judged by the models named below, and may be published in that form."
)
GUESSES = ("guess", "response")
"""The fields of a form by which a person says what goes into the blank, or a whole response."""


@dataclass
class Doubt:
    """A guess of which the host cannot tell; `shown` once the player has asked for the answer, which ends the game."""

    sample: Any
    guess: str
    said: asyncio.Future[bool | None]
    shown: bool = False


@dataclass
class Player:
    """One person who plays.

    Attributes:
        key: The secret part of the address of their page.
        seen: When the page was last opened, or sent something.
        run: The folder of their run, and how many games it has.
        read: The games whose end they have looked at.
        sent: What they sent last, by field, and `sent_at` when.
        over: Why their run has ended, if it has; "" where all was played.
        day: The day whose game they play, where it is the game of a day.
        doubt: A guess of which the host cannot tell, while it waits for the player.
    """

    key: str
    name: str
    seen: float = 0.0
    model: PageModel = field(default_factory=PageModel)
    status: Status | None = None
    run: tuple[Path, int] | None = None
    games: Mapping[tuple[str, int], Trace] = field(default_factory=dict)
    read: set[tuple[str, int]] = field(default_factory=set)
    sent: Mapping[str, str] = field(default_factory=dict)
    sent_at: float = 0.0
    task: asyncio.Task[None] | None = None
    over: str | None = None
    day: datetime.date | None = None
    doubt: Doubt | None = None

    @property
    def playing(self) -> bool:
        """Whether their run goes on."""
        return self.task is not None and not self.task.done()

    @property
    def version(self) -> str:
        """Moves whenever their page has something new to show."""
        return f"{self.model.version}-{len(self.games)}-{self.phase}-{self.over is None}-{len(self.read)}"

    @property
    def phase(self) -> Phase:
        """Whose turn it is: the person's, or whom they wait for.

        A person is to `guess`, to `ask`, to fill in something `other`, or to say of a guess that is `unknown` whether it
        counts, by their `own` word.
        """
        if self.doubt is not None:
            return "own" if self.doubt.shown else "unknown"
        if self.model.asked is not None:
            step = self.model.asked.key.step
            return "guess" if step == "respond" else "ask" if step == "ask" else "other"
        latest = self.status.latest.question if self.status else None
        if latest is None:
            return "start"
        if latest.role == "candidate":
            return "host" if latest.step == "ask" else "judge"
        return "host" if latest.step == "answer" else "judge"

    @property
    def waited_s(self) -> float:
        """Seconds since they sent something."""
        return max(0.0, time.monotonic() - self.sent_at) if self.sent_at else 0.0

    @property
    def view(self) -> player_view.View | None:
        """The game as they see it; None before it begins, and of a benchmark that is no game."""
        episode = self._game
        return player_view.view(episode) if episode is not None else None

    @property
    def fields(self) -> Sequence[Field]:
        """What is asked of them, if anything is."""
        return interview(self.model.asked).fields if self.model.asked else ()

    @property
    def hint(self) -> str:
        """Which questions the host by lists can answer; "" where a model answers."""
        status, game = self.status, self._game
        if status is None or game is None or status.plan.experiment.roles.get("oracle") != (host.HOST,):
            return ""
        examples = " or ".join(f"“{example}”" for example in host.EXAMPLES[game.sample.language])
        return f"I know its words, its letters and my clues: ask {examples}."

    @property
    def ended(self) -> Trace | None:
        """A game that is over and whose end they have not looked at."""
        return next((trace for place, trace in self.games.items() if place not in self.read), None)

    @property
    def waiting(self) -> str | None:
        """The guess, or the question, that is being looked at."""
        return next((text for name, text in self.sent.items() if name in (*GUESSES, "question")), None)

    def begins(self, status: Status) -> None:
        """Take over a run that has begun or goes on; the ends of its earlier games are no news."""
        self.status, self.run, self.games = status, (status.path, status.total), status.traces
        self.read |= set(status.traces)
        _keep(status.path / "consent.json", {"schema": 1, "name": self.name, "text": CONSENT})

    def show_past_games(self, run: Run) -> None:
        """Show the games of a run that is over."""
        self.run = run.path, len(run.traces)
        self.games = {(trace.sample, trace.repeat): replace(trace, steps=()) for trace in run.traces}
        self.read = set(self.games)

    def answer(self, version: int, fields: Mapping[str, object]) -> str | None:
        """Send what they typed; returns why it cannot be used, if so: then nothing is sent, and nothing used up.

        Raises:
            UsageError: Nothing is asked by now, or a field is missing or too long.
        """
        texts = {name: str(value).strip() for name, value in fields.items()}
        episode: Any = self._game
        if episode is not None and self.model.asked is not None:
            for name, text in texts.items():
                if text and (why := player_view.objection(episode, name, text)):
                    return why
                if name == "question" and self.hint and host.answer(episode.sample, text) == "Unclear":
                    return f"I can't tell. {self.hint} {player_view.FREE}"
        self.model.answer(version, fields)
        self._send(texts)
        return None

    def skip(self, version: int) -> None:
        """Ask nothing this time, where a question is asked for; raises UsageError where none is."""
        if self.phase != "ask":
            raise UsageError("only a question can be left out")
        self.model.skip(version)
        self._send({})

    def give_up(self, version: int) -> None:
        """End the game unsolved; raises UsageError if it is not their turn."""
        self.model.give_up(version)
        self._send({})

    async def decide(self, sample: Any, guess: str) -> bool | None:
        """Wait for the player to say whether a guess counts; see `says`."""
        self.doubt = Doubt(sample, guess, asyncio.get_running_loop().create_future())
        try:
            return await self.doubt.said
        finally:
            self.doubt = None

    def says(self, word: str) -> None:
        """Decide of a guess of which the host cannot tell; raises UsageError where none waits."""
        doubt = self.doubt
        if doubt is None or doubt.said.done() or word not in SAID[doubt.shown]:
            raise UsageError("this was answered already: load the page again")
        if word == "show":
            doubt.shown = True
            return
        if word == "misses":
            self.model.ends(doubt.sample.id, 1)
        doubt.said.set_result({"counts": True, "misses": False}.get(word))
        # At once, as the page looks before the game goes on.
        self.doubt = None
        self._send({})

    def goes_on(self) -> None:
        """Leave the page of a game that is over; the next one's time begins."""
        if (ended := self.ended) is not None:
            self.read.add((ended.sample, ended.repeat))
            self.model.resume_clock()

    @property
    def _game(self) -> Any:
        """The episode that they are in, if it is one of the game."""
        status = self.status
        return status.latest.episode if status and status.plan.benchmark.graph == "game" else None

    def _send(self, texts: Mapping[str, str]) -> None:
        self.sent, self.sent_at = texts, time.monotonic()


def _keep(place: Path, consent: Mapping[str, Any]) -> None:
    if not place.exists():
        atomic_write.write(place, json.dumps(consent, ensure_ascii=False, indent=2) + "\n")
