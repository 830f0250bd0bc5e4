"""A game as a person who plays it sees it: the scene and the history that a model has at the same point, as records.

Person and model see the same of the sample. A person also sees how many rounds there are, and after which of them
clues come.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lotbench.benchmarks.lotbench import responses, words
from lotbench.benchmarks.lotbench.questions import question
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.lotbench.settings import GameEpisode, reveals, usable_reveals
from lotbench.benchmarks.lotbench.whole import frame_at
from lotbench.errors import Unread

FREE = "Nothing is used up."
_REASONS: Mapping[str, str] = {
    "wh_question": "That asks what, who or how. Ask something that Yes or No answers.",
    "either_or": "That asks which of two it is. Ask about one of them.",
    "asked before": "You asked that before.",
    "not a question that Yes or No answers": "That is not a yes/no question: begin it with Is, Does, Can or the like.",
    "not exactly one question": "Ask exactly one question.",
    "no word in it": "Type a word or two.",
}


@dataclass(frozen=True, slots=True)
class Turn:
    """One round as its player sees it.

    Attributes:
        number: The number of the round, from 1.
        guess: The guess or whole response; None if the player has given no valid one.
        counts: Whether the guess counted. None before the verdict, and if the settings give no feedback.
        in_caption: Whether the guess failed and the caption, which is shown, has it word for word.
        clues: The clues that were revealed at the end of the round.
        frame: The part of the frame that was revealed at the end of the round; "" for none.
    """

    number: int
    guess: str | None = None
    counts: bool | None = None
    in_caption: bool = False
    question: str | None = None
    answer: str | None = None
    clues: tuple[str, ...] = ()
    frame: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """A game as its player sees it.

    Attributes:
        joke: The response before and after the blank; None if the frame is not shown.
        caption: The scene in words; None if it is not shown.
        picture: The sha256 of the picture; None if it is not shown.
        turns: The rounds so far, the current one last.
        most: The largest number of rounds (N).
        clue_rounds: The rounds after which clues or a part of the frame are revealed, if no round before solves the
            game.
        whole: Whether the player writes a whole response, not only the text in the blank.
        language: The language of the sample.
    """

    joke: tuple[str, str] | None
    caption: str | None
    picture: str | None
    turns: tuple[Turn, ...]
    most: int
    clue_rounds: tuple[int, ...]
    whole: bool
    language: str

    @property
    def round(self) -> int:
        """The current round, from 1."""
        return self.turns[-1].number

    @property
    def next_clue(self) -> int | None:
        """The next round, from the current one on, after which something is revealed; None if nothing is left."""
        return next((number for number in self.clue_rounds if number >= self.round), None)

    @property
    def clues_come(self) -> str:
        """The sentence on when clues come; "" if none do."""
        rounds, count = self.clue_rounds, len(self.clue_rounds)
        if rounds == tuple(range(1, count + 1)):
            return f"A clue comes after each of your first {count} misses." if rounds else ""
        return f"Clues come after round {' and '.join(map(str, rounds))}."


def view(episode: GameEpisode) -> View:
    """Return what the player of an episode sees at its current state."""
    arm, sample, settings = episode.settings.arm, episode.sample, episode.settings
    picture = episode.pictures.get(sample.id) if "image" in arm else None
    past = list(episode.state["history"]) if settings.feedback else []
    number = episode.round - len(past)
    turn = {
        name: value for name, value in episode.state["turn"].items() if name != "verdict" or settings.feedback
    }
    caption = sample.caption if "caption" in arm else None
    turns = [_turn(number + at, entry, caption or "") for at, entry in enumerate([*past, turn])]
    return View(
        joke=None if settings.whole else around_blank(sample),
        caption=caption,
        picture=picture.sha256 if picture else None,
        turns=tuple(turns),
        most=settings.max_rounds,
        clue_rounds=_clue_rounds(episode),
        whole=settings.whole,
        language=sample.language,
    )


def objection(episode: GameEpisode, name: str, text: str) -> str | None:
    """Return the reason, in words for the player, why a typed text is not accepted; None if it is accepted.

    A model loses a round or an answer by such a text; a person may correct it first.

    Args:
        episode: The episode.
        name: The kind of the text: `question`, `guess` or `response`.
        text: The text.
    """
    settings, history = episode.settings, [*episode.state["history"], episode.state["turn"]]
    try:
        if name == "question":
            question(text, [past["question"] for past in history if past.get("question")])
        elif name == "guess":
            text = read_guess(episode, text)
        elif name == "response":
            most = settings.max_response_words, settings.max_response_characters
            text = responses.response(text, *most)
    except Unread as error:
        message = _REASONS.get(error.kind) or _REASONS.get(error.reason)
        own = r"\2" if words.CJK.search(text) else r"\1"
        reason = re.sub(r"(\d{1,6} words) or (\d{1,6} characters)", own, error.reason)
        return f"{message or f'That cannot be used: {reason}.'} {FREE}"
    if name not in ("guess", "response"):
        return None
    for number, past in enumerate(history, 1):
        if past.get("guess") and words.same(past["guess"]) == words.same(text):
            return f"You already tried that, in round {number}. {FREE}"
    return None


def is_question(text: str) -> bool:
    """Return whether a text is a question, usable or not, so that it is no guess."""
    try:
        question(text, [])
    except Unread as error:
        return error.kind != "not_a_question" or text.rstrip().endswith(("?", "？"))
    return True


def read_guess(episode: GameEpisode, text: str) -> str:
    """Return a guess as the judge gets it; raises Unread if the rules refuse it."""
    settings = episode.settings
    return words.guess(text, episode.sample.frame, settings.max_words, settings.max_characters)


def around_blank(sample: Item) -> tuple[str, str]:
    """Return the frame of a sample before and after the blank.

    A model reads "is/are" where the verb would tell the number of the key text; a person reads the verb of the response.
    """
    before, _, after = sample.frame.partition(words.MASK)
    befores, afters = ([words.EITHER.sub(form, text) for form in (r"\1", r"\2")] for text in (before, after))
    return (
        next(filter(sample.response.startswith, befores), before),
        next(filter(sample.response.endswith, afters), after),
    )


def blanked(text: str) -> str:
    """Return a text of the game with `____` in place of the mask."""
    return text.replace(words.MASK, "____")


def _turn(number: int, past: Mapping[str, Any], caption: str) -> Turn:
    guess, counts = past.get("guess"), past.get("verdict")
    return Turn(
        number=number,
        guess=guess,
        counts=counts,
        in_caption=counts is False and bool(guess) and words.overlap(str(guess), caption) == "shortens",
        question=past.get("question"),
        answer=past.get("answer"),
        clues=tuple(past.get("clues", ())),
        frame=blanked(str(past.get("frame", ""))),
    )


def _clue_rounds(episode: GameEpisode) -> tuple[int, ...]:
    settings = episode.settings
    schedule = reveals(episode.sample.clues, settings)
    count = max(len(schedule), usable_reveals(settings))
    return tuple(
        (at + 1) * settings.clue_interval
        for at in range(count)
        if (at < len(schedule) and schedule[at]) or frame_at(episode.sample, settings, at + 1)
    )
