"""A person who plays, on a page or at a terminal: the state of their game, and their moves."""

import asyncio
import datetime
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from lotbench.benchmarks.lotbench import player_view, words
from lotbench.errors import UsageError
from lotbench.models.person import PageModel
from lotbench.prompting.person_form import Field, filled, interview
from lotbench.run.loading import Run
from lotbench.run.session import Status
from lotbench.site import facts, host
from lotbench.storage import atomic_write
from lotbench.types import Trace

View: TypeAlias = player_view.View
Phase: TypeAlias = Literal["start", "guess", "ask", "other", "judge", "host", "unknown", "own"]
SAID = {False: ("miss", "show"), True: ("counts", "misses")}
"""The words of a player on a guess that is on no list.

Before the answer is shown (False): `miss` to take it as a miss, which earns a clue, `show` to see the answer. After that (True): whether
it `counts`.
"""
CONSENT = (
    "What you type, how long you take and the name that you give are written into a folder on the machine that "
    "runs this game, read by its judge and its host, and may be published in that form."
)
CANNOT_TELL = (
    "I can't tell. Ask me in simpler words, or pick a question that I can answer.",
    "I can't tell that either. Pick one of my questions, or leave the question out and guess again.",
)
"""What the host says to a question that it cannot answer: the first time in a game, and after that."""
GUESSES = ("guess", "response")
"""The form fields with a guess: the words for the blank, or a whole response."""


@dataclass
class Doubt:
    """A guess that is on no list of the host; it is sent, and costs a round, when the player decides whether it counts.

    Attributes:
        version: See `Player.answer`, as `fields`.
        shown: Whether the player has asked for the answer, which ends the game.
    """

    sample: Any
    guess: str
    version: int
    fields: Mapping[str, object]
    shown: bool = False


@dataclass
class Player:
    """A person who plays, with the state of their run.

    Attributes:
        key: The secret part of the address of their page.
        seen: The time of the last visit to the page, by the clock of the site.
        model: The model that passes requests to the person.
        status: The state of their run while it is played.
        run: The folder of their run, and its number of games; None before a run has begun.
        games: The finished games, by sample id and repeat.
        read: The finished games whose result they have seen.
        sent: The texts that they sent last, by field.
        sent_at: The time at which they sent them, by the monotonic clock; 0 if they sent nothing.
        task: The task that plays the run.
        over: Why their run has stopped; None while it goes on, and if all was played (see `end`).
        day: The day whose game they play; None if it is not the game of a day.
        doubt: The guess that waits for their decision; None if there is none.
        own: Their decision on the guess that they sent last, and its reason; None without one.
        next_guess: The guess that they typed in the place of a question; "" without one.
        unclear: The samples in whose games the host could not answer a question of theirs.
        private: Whether they play for themselves, and were asked for no consent.
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
    own: tuple[bool, str] | None = None
    next_guess: str = ""
    unclear: set[str] = field(default_factory=set)
    private: bool = False

    def __post_init__(self) -> None:
        """Let the model call this player back."""
        self.model.begins = self._send_next_guess

    @property
    def playing(self) -> bool:
        """Whether their run is being played."""
        return self.task is not None and not self.task.done()

    @property
    def version(self) -> str:
        """A text that changes whenever their page has something new to show."""
        return f"{self.model.version}-{len(self.games)}-{self.phase}-{self.end is None}-{len(self.read)}"

    @property
    def phase(self) -> Phase:
        """What the person has to do next, or whom they wait for.

        They have to `guess`, to `ask`, to fill in `other` fields, to guess again or see the answer after an `unknown` guess, or
        to decide by their `own` word whether it counts. Or they wait for the `start`, the `judge` or the `host` (the oracle).
        """
        if self.doubt is not None:
            return "own" if self.doubt.shown else "unknown"
        if self.next_guess and len(self.fields) < 2:
            return "judge"
        if self.model.asked is not None:
            step = self.model.asked.key.step
            return "guess" if step == "respond" else "ask" if step == "ask" else "other"
        latest = self.status.latest.question if self.status else None
        if latest is None:
            return "start"
        return "host" if latest.step in ("ask", "answer") else "judge"

    @property
    def waited_s(self) -> float:
        """The seconds since they last sent something; 0 if they sent nothing."""
        return max(0.0, time.monotonic() - self.sent_at) if self.sent_at else 0.0

    @property
    def view(self) -> player_view.View | None:
        """The game as the person sees it; None before it begins, or if the benchmark is not a game."""
        episode = self._game
        return player_view.view(episode) if episode is not None else None

    @property
    def fields(self) -> Sequence[Field]:
        """The form fields that wait for the person's answer; empty if nothing is asked."""
        return interview(self.model.asked).fields if self.model.asked else ()

    @property
    def suggested(self) -> Sequence[str]:
        """Questions that the host by lists can answer, and the next clue does not; empty where a model answers."""
        status, game, view = self.status, self._game, self.view
        if status is None or view is None or status.plan.experiment.roles.get("oracle") != (host.HOST,):
            return ()
        asked = [turn.question for turn in view.turns if turn.question]
        return host.suggested(game.sample, asked, game.sample.clues[: view.round])

    @property
    def ended(self) -> Trace | None:
        """The first finished game whose result the person has not seen; None if there is none."""
        return next((trace for place, trace in self.games.items() if place not in self.read), None)

    @property
    def end(self) -> str | None:
        """Why their run has ended: `over`, or "" if they have seen the results of all games; None while it goes on."""
        all_seen = self.run is not None and self.run[1] == len(self.read & self.games.keys())
        return "" if self.over is None and all_seen else self.over

    @property
    def waiting(self) -> str | None:
        """The guess or the question that the person sent last, for which a verdict or an answer is due; None if there is none."""
        return next((text for name, text in self.sent.items() if name in (*GUESSES, "question")), None)

    def begins(self, status: Status) -> None:
        """Take over a run that has begun or was resumed, and write the person's consent, if it was asked for, to its folder.

        Games that were finished earlier count as seen.
        """
        self.status, self.run, self.games = status, (status.path, status.total), status.traces
        self.doubt = self.own = None
        self.read |= set(status.traces)
        if not self.private and not (place := status.path / "consent.json").exists():
            consent = {"schema": 1, "name": self.name, "text": CONSENT}
            atomic_write.write(place, json.dumps(consent, ensure_ascii=False, indent=2) + "\n")

    def show_past_games(self, run: Run) -> None:
        """Take over the games of an ended run, so that the person's page lists them."""
        self.run = run.path, len(run.traces)
        self.games = {(trace.sample, trace.repeat): replace(trace, steps=()) for trace in run.traces}
        self.read = set(self.games)

    def answer(self, version: int, fields: Mapping[str, object]) -> str | None:
        """Send the person's answer to the waiting request.

        Args:
            version: The version of the request that the person saw (`PageModel.version`).
            fields: The values of the form, by field name.

        Returns:
            Why the rules refuse the answer, which is then not sent and costs no round; None if it was sent, or if it is a
            guess on no list of the host (`doubt`).

        Raises:
            UsageError: The request no longer waits, or a field is missing or too long.
        """
        texts = {name: str(value).strip() for name, value in fields.items()}
        if self.phase == "ask" and self._game:
            if not self._asks(texts.get("question", "")):
                return self._guess_instead(version, texts.get("question", ""))
            fields = texts = {**texts, "question": facts.as_question(texts["question"])}
        episode: Any = self._game
        if self.doubt is not None and self.doubt.shown:
            raise UsageError("this was answered already: load the page again")
        if episode is not None and self.model.asked is not None:
            for name, text in texts.items():
                if (text or name in GUESSES) and (why := self._objection(name, text)):
                    return why
                if name in GUESSES and self._is_on_no_list(episode, name, text):
                    filled(self.model.waiting(version), fields)
                    self.doubt = Doubt(episode.sample, text, version, fields)
                    return None
        self.doubt = self.own = None
        self.model.answer(version, fields)
        self._send(texts)
        return None

    def _asks(self, text: str) -> bool:
        """Return whether a text is a question, or amounts to one, and no guess; an accepted text, word for word, is none."""
        asking = self.phase == "ask"
        if asking and text.endswith(("?", "？")):
            return True
        accepted, question = map(words.same, host.lists(self._game.sample)[0]), facts.as_question(text)
        may_ask = (asking or facts.may_ask(question)) and words.same(text) not in accepted
        return may_ask and player_view.is_question(question)

    def _guess_instead(self, version: int, guess: str) -> str | None:
        """Leave out the question that is due, and keep a guess for the next round; return why the rules refuse the guess."""
        kind = GUESSES[bool(self.view and self.view.whole)]
        if guess and (why := self._objection(kind, guess)):
            return f"{why} Type a question or your next guess."
        # Kept first: the next round may begin at once, in another thread.
        self.next_guess = guess
        try:
            self.model.skip(version)
        except UsageError:
            self.next_guess = ""
            raise
        self._send({"guess": guess} if guess else {})
        return None

    def _send_next_guess(self) -> None:
        """Send the guess that was typed in the place of a question, if the next round asks for a guess and nothing else."""
        names = [field.name for field in self.fields]
        if self.next_guess and names in ([name] for name in GUESSES):
            self.answer(self.model.version, {names[0]: self.next_guess})
        if len(names) == 1:
            self.next_guess = ""

    def _objection(self, name: str, text: str) -> str | None:
        """Return why the rules refuse a text of the form field `name` in the current game; None if they accept it."""
        episode, asked = self._game, name == "question"
        if name == "guess" and self._asks(text):
            return f"That is a question. Guess first; after a miss you may ask it. {player_view.FREE}"
        if why := player_view.objection(episode, name, text):
            return why
        said = host.answer(episode.sample, text) if asked and self.suggested else None
        clue = " ".join(episode.sample.clues[episode.round - 1 : episode.round])
        if said == "Yes" and words.same(text) in map(words.same, facts.mentioned(clue)):
            return f"The next clue tells you that. Ask something else. {player_view.FREE}"
        if said == "Unclear":
            again = episode.sample.id in self.unclear
            self.unclear.add(episode.sample.id)
            return f"{CANNOT_TELL[again]} {player_view.FREE}"
        # A guess in the place of a question gives the question away, so a slip of the hand is none, whoever judges.
        unlisted = not asked and (self.phase == "ask" or self._is_on_no_list(episode, name, text))
        no_word = unlisted and re.fullmatch(r"[a-zA-Z]|[\d\W]*", text)
        return f"That is no word. {player_view.FREE}" if no_word else None

    def skip(self, version: int) -> None:
        """Leave out the question that is due; raises UsageError if none is. `version` as in `answer`."""
        if self.phase != "ask":
            raise UsageError("only a question can be left out")
        self.model.skip(version)
        self._send({})

    def give_up(self, version: int) -> None:
        """End the game unsolved; raises UsageError if it is not the person's turn. `version` as in `answer`."""
        self.model.give_up(version)
        self.doubt = None
        self._send({})

    async def decide(self, sample: Any, guess: str) -> tuple[bool, str] | None:
        """Return whether the player said that a guess counts which is on no list (`says`), and the reason; None if they said nothing."""
        return self.own

    def says(self, word: str) -> None:
        """Take the player's word (see `SAID`) on the guess in `doubt`; raises UsageError if none waits or the word is wrong."""
        doubt = self.doubt
        if doubt is None or word not in SAID[doubt.shown]:
            raise UsageError("this was answered already: load the page again")
        if word == "show":
            doubt.shown = True
            return
        self.doubt = None
        self.own = word == "counts", host.SEEN if doubt.shown and word == "misses" else host.OWN_WORD
        if word == "misses":
            self.model.ends(doubt.sample.id, 1)
        self.model.answer(doubt.version, doubt.fields)
        self._send({"guess": doubt.guess})

    def goes_on(self) -> None:
        """Note that the person has seen the result of a finished game; from now on the time of the next game counts."""
        if (ended := self.ended) is not None:
            self.read.add((ended.sample, ended.repeat))
            self.model.resume_clock()

    @property
    def _game(self) -> Any:
        """The current episode if the benchmark is a game; else None."""
        status = self.status
        return status.latest.episode if status and status.plan.benchmark.graph == "game" else None

    def _is_on_no_list(self, episode: Any, name: str, text: str) -> bool:
        """Return whether the host judges and cannot tell whether a guess counts."""
        if not self.status or self.status.plan.experiment.roles.get("judge") != (host.HOST,):
            return False
        guess = player_view.read_guess(episode, text) if name == "guess" else text
        return host.verdict(episode.sample, guess)[0] is None

    def _send(self, texts: Mapping[str, str]) -> None:
        self.sent, self.sent_at = texts, time.monotonic()
