"""The problems of standard evaluation as data: choose the creative response, rank five, write one (Sec. 4).

Each option has an origin, so that the report can say where the wrong options came from.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from lotbench.benchmarks.standard.oogiri.row import Language, Ratings, Row, Type

Kind: TypeAlias = Literal["2t1", "3t1", "4t1", "5t2", "rank", "generate"]
"""mTn: choose n creative responses from m options; rank five responses; write one."""
Slot: TypeAlias = Literal["right", "caption", "unrelated", "rewrite", "ranked"]
Origin: TypeAlias = Literal[
    "response", "elsewhere", "low", "caption", "captioner", "rewriter", "other_caption", "other_captioner"
]
"""Where an option is from: a response to this prompt, to another prompt, or one that few liked; a caption in the data; a
model's caption or rewrite; a caption of another picture."""

WRONG: Mapping[str, tuple[Slot, ...]] = {
    "2t1": ("caption",),
    "3t1": ("caption", "unrelated"),
    "4t1": ("caption", "unrelated", "rewrite"),
    "5t2": ("caption", "unrelated", "rewrite"),
}
"""The wrong options of each kind of choice."""
RANKED = 5


class Option(BaseModel):
    """One option to choose or to rank, with its origin.

    `text` is None until a model has written it (a caption, a rewrite). `row` is the row of the response, or of the response
    that is rewritten. `star` and `ratings` are people's votes, for options that are responses.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    slot: Slot
    origin: Origin
    text: str | None = None
    row: str | None = None
    star: int | None = None
    ratings: Ratings | None = None

    @property
    def relevance(self) -> float:
        """The relevance of NDCG: the mean rating minus 1, 0 to 2, or log2(1 + likes).

        Likes spread over orders of magnitude; with the gain 2^rel - 1 the gain of a response is its likes.
        """
        return self.ratings.mean - 1 if self.ratings else math.log2(1 + (self.star or 0))


class Problem(BaseModel):
    """One problem, as a sample. The right options come first, ranked ones from best to worst.

    `left_out` counts, by reason, the problems of this kind, type and language that could not be built.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    language: Language
    type: Type
    kind: Kind
    group: str
    image: str | None = None
    question: str | None = None
    caption: str | None = None
    guessed: bool = False
    """Whether the writers of the rows guessed the likes that decide what is right."""
    writer: str = ""
    """Who wrote the responses to its prompt, taken from the first row; see `Row`."""
    options: tuple[Option, ...] = ()
    other_image: str | None = None
    """The picture whose caption (by the captioner) is the unrelated option; `other_group` is its group."""
    other_group: str | None = None
    left_out: dict[str, int] = Field(default_factory=dict)

    @property
    def liked(self) -> tuple[str, ...]:
        """The right options, or those to rank: responses that people wrote and liked."""
        return tuple(
            option.text for option in self.options if option.slot in ("right", "ranked") and option.text
        )

    @property
    def answer_size(self) -> int:
        """How many options an answer names."""
        return sum(option.slot in ("right", "ranked") for option in self.options)


@dataclass(frozen=True, slots=True)
class Rules:
    """How problems are built.

    Attributes:
        per_prompt: Problems of each kind of choice, and rankings, for each picture or question.
        top_ratings: The share of a prompt's rated responses that counts as right. `top_likes` is that of liked ones.
        min_likes: The likes that a right response needs.
        errors: How many standard errors two ratings must differ by. `factor` is the ratio two counts of likes need.
        captioner: Whether a model writes the captions; `rewriter` likewise the rewrites.
        unrelated: The unrelated option: a response to another prompt, or the caption of another picture.
    """

    kinds: tuple[Kind, ...]
    per_prompt: int
    top_ratings: float
    top_likes: float
    min_likes: int
    errors: float
    factor: float
    captioner: bool
    rewriter: bool
    part: Literal["all", "held_out"]
    share: float
    split_seed: int
    unrelated: Literal["response", "caption"]

    def apart(self, better: Row, worse: Row) -> bool:
        """Return whether people liked one response more than another, beyond chance."""
        if better.ratings and worse.ratings:
            error = math.hypot(better.ratings.error, worse.ratings.error)
            gap = better.ratings.mean - worse.ratings.mean
            return gap > 0 and gap >= self.errors * error
        return (better.star or 0) >= self.factor * max(worse.star or 0, 1)


def same(text: str) -> str:
    """Return the normal form of a text, without case, width, spaces and punctuation."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(letter for letter in plain if letter.isalnum()) or plain.strip()
