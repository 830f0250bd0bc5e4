"""The Oogiri row: one response to a picture, a question or both, with people's votes; and the split of rows.

Evaluation and training share this record, so that training never sees held-out rows. Likes and ratings are different
kinds of votes and are never mixed: a row has one of them, or none.
"""

import hashlib
import math
from typing import Literal, Self, TypeAlias

from pydantic import BaseModel, Field, model_validator

from lotbench.types import FrozenModel

Type: TypeAlias = Literal["I2T", "T2T", "IT2T"]
Language: TypeAlias = Literal["en", "zh", "ja"]


class Ratings(FrozenModel):
    """The numbers of people's votes on a scale of three: unfunny (1), somewhat funny (2), funny (3)."""

    unfunny: int = Field(ge=0)
    somewhat: int = Field(ge=0)
    funny: int = Field(ge=0)

    @property
    def n(self) -> int:
        """The number of votes."""
        return self.unfunny + self.somewhat + self.funny

    @property
    def mean(self) -> float:
        """The mean vote, 1 to 3; nan without votes."""
        return (self.unfunny + 2 * self.somewhat + 3 * self.funny) / self.n if self.n else math.nan

    @property
    def error(self) -> float:
        """The standard error of the mean vote; nan with fewer than two votes."""
        if self.n < 2:
            return math.nan
        mean, counts = self.mean, (self.unfunny, self.somewhat, self.funny)
        squares = sum(count * (vote - mean) ** 2 for vote, count in enumerate(counts, 1))
        return math.sqrt(squares / (self.n - 1) / self.n)


class Row(BaseModel, frozen=True, extra="ignore"):
    """One response; a line of samples.jsonl in a data set of Oogiri rows.

    `group` names the picture or question that the response answers; all rows of a group are on one side of the split.
    `star` counts likes; 22 % of the rows of Oogiri-GO have none.
    """

    id: str = Field(min_length=1)
    type: Type
    language: Language
    group: str = Field(min_length=1)
    question: str | None = None
    image: str | None = None
    """Path of the picture relative to the data set's folder."""
    text: str = Field(min_length=1)
    caption: str | None = None
    """A plain description of the picture, in the language of the row."""
    star: int | None = Field(default=None, ge=0)
    guessed: bool = False
    """Whether the writer of the row guessed the likes; nobody voted."""
    ratings: Ratings | None = None
    writer: str = ""
    """Who wrote it: a model's name or family, or `people`; empty if unknown."""

    @model_validator(mode="after")
    def _has_what_its_type_needs(self) -> Self:
        if ("I" in self.type) != (self.image is not None):
            raise ValueError(
                f"a row of type {self.type} {'needs an' if 'I' in self.type else 'has no'} image"
            )
        if (self.type != "I2T") != bool(self.question):
            raise ValueError(
                f"a row of type {self.type} {'has no' if self.type == 'I2T' else 'needs a'} question"
            )
        return self

    @property
    def preference(self) -> float | None:
        """The mean rating, else the likes; None without votes."""
        if self.ratings is not None and self.ratings.n:
            return self.ratings.mean
        return None if self.star is None else float(self.star)


def held_out(row: Row, *, share: float = 0.05, seed: int = 0) -> bool:
    """Return whether a row belongs to the part that is never trained on.

    A hash of `seed` and the row's group decides. So all responses to a picture or question are in the same part, and other
    rows do not matter. `share` is the share of groups that is held out.
    """
    digest = hashlib.sha256(f"{seed}:split:{row.group}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64
