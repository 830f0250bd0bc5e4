"""The best response of a picture for the construction, by the lower bound of people's votes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pydantic import Field
from scipy.stats import chi2

from lotbench.benchmarks.lotbench import words
from lotbench.benchmarks.lotbench.responses import response
from lotbench.benchmarks.lotbench.sample import Votes
from lotbench.errors import Unread
from lotbench.types import FrozenModel


class Rules(FrozenModel):
    """The settings of the construction: which responses may become samples."""

    min_votes: int = Field(default=30, ge=2)
    """Ratings that a response needs."""
    min_likes: int = Field(default=5, ge=1)
    """Likes that a response needs where people liked and did not rate."""
    max_words: int = Field(default=20, gt=0)
    """Words of a response, at most: what a player may write who sees no frame."""
    max_characters: int = Field(default=30, gt=0)
    """CJK characters of a response, at most."""


@dataclass(frozen=True, slots=True)
class Voted:
    """A response with its votes."""

    id: str
    text: str
    votes: Votes
    writer: str


@dataclass(frozen=True, slots=True)
class Scene:
    """A picture with a response: the sample of an episode.

    Attributes:
        group: The group of its rows in the source data set, such as a contest.
        image: The absolute path of the picture.
        question: The text beside the picture; None if there was none.
        source: The origin of the response.
        writer: The writer of the response: a model, or people; empty if unknown.
        votes: People's votes on the response, if there are any.
    """

    id: str
    group: str
    language: Literal["en", "zh"]
    image: str
    question: str | None
    response: str
    source: str
    writer: str
    votes: Votes | None = None


def liked(likes: int) -> Votes:
    """Return likes as votes: their number and the lower end of its exact 95 % interval (Poisson; Garwood 1936)."""
    return Votes(n=likes, mean=None, low=float(chi2.ppf(0.025, 2 * likes) / 2) if likes else 0.0)


def best(voted: Iterable[Voted], rules: Rules, language: str) -> Voted | None:
    """Return the best response that a player could have written in this language; None without one."""
    able = [entry for entry in voted if _fits(entry.text, rules, language)]
    return min(able, key=lambda entry: (-entry.votes.low, entry.id), default=None)


def _fits(text: str, rules: Rules, language: str) -> bool:
    """Return whether a player could have written a response: one line, not too long, in the language."""
    try:
        response(text, rules.max_words, rules.max_characters)
    except Unread:
        return False
    return not words.other_language(text, language)
