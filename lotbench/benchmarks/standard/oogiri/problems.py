"""The problems of standard evaluation as data: choose the creative response, rank five, write one (Sec. 4).

Each option has an origin, so that the report can say where the wrong options came from.
"""

import math
from collections.abc import Mapping
from typing import Literal, TypeAlias

from pydantic import BaseModel

from lotbench.benchmarks.standard.oogiri.row import Language, Ratings, Type
from lotbench.types import FrozenModel

Kind: TypeAlias = Literal["2t1", "3t1", "4t1", "5t2", "rank", "generate"]
"""mtn (as in 5t2): choose the n creative responses among m options; rank: rank five responses; generate: write one."""
Slot: TypeAlias = Literal["right", "caption", "unrelated", "rewrite", "ranked"]
Origin: TypeAlias = Literal[
    "response", "elsewhere", "low", "caption", "captioner", "rewriter", "other_caption", "other_captioner"
]
"""Where an option is from. response: to this prompt; elsewhere: a response to another prompt; low: a little liked one to
this prompt. caption: from the data; captioner, rewriter: from that model; other_caption, other_captioner: the caption of
another picture, from the data or the captioner."""

WRONG: Mapping[str, tuple[Slot, ...]] = {
    "2t1": ("caption",),
    "3t1": ("caption", "unrelated"),
    "4t1": ("caption", "unrelated", "rewrite"),
    "5t2": ("caption", "unrelated", "rewrite"),
}
"""The slots of the wrong options of each kind of choice."""
RANKED = 5


class Option(FrozenModel):
    """One option to choose or to rank, with its origin.

    `text` is None for a caption or a rewrite that a model writes when the problem is played. `row` is the id of the row of
    the response, or of the response that is rewritten. `star` (likes) and `ratings` are people's votes on a response.
    """

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


# Earlier runs have a field more, which counts the problems that could not be built.
class Problem(BaseModel, frozen=True, extra="ignore"):
    """One problem, as a sample. The right options come first, ranked ones from best to worst."""

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
    gold_writers: tuple[str, ...] = ()
    """Who wrote the other responses to its prompt, of which some are right."""
    options: tuple[Option, ...] = ()
    other_image: str | None = None
    """The picture whose caption (by the captioner) is the unrelated option; `other_group` is its group."""
    other_group: str | None = None

    @property
    def liked(self) -> tuple[str, ...]:
        """The texts of the right options, or of those to rank: responses that people liked."""
        return tuple(
            option.text for option in self.options if option.slot in ("right", "ranked") and option.text
        )

    @property
    def answer_size(self) -> int:
        """The number of options that an answer names."""
        return sum(option.slot in ("right", "ranked") for option in self.options)
