"""One sample of LoTbench: a picture, a funny response to it, and the key text that makes it funny.

A sample whose key text cannot be masked in the response, or that has no explanation or clue, is refused when it is
read, with file, line and field (Sec. 5.3).
"""

from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator

from lotbench.benchmarks.lotbench import words
from lotbench.harness.sample_row import SampleRow, Text
from lotbench.types import FrozenModel

SPANS = 3
"""The number of places that an error names if the key text is in a response several times."""


class Rejected(FrozenModel):
    """A guess that should not count, and how hard it is to see that."""

    text: Text
    difficulty: Literal["easy", "hard"]
    fails: Literal["likeness", "effect"] | None = None
    """The line of the creative point that the guess fails: the likeness, or only the effect. None if it is not said."""
    why: str = ""


class Fixed(FrozenModel):
    """The creative point of a response in its author's words.

    A guess makes the same joke if it has the likeness to the part of the scene, and if the effect follows from it.
    """

    part: Text
    """The part of the scene that is mapped."""
    likeness: Text
    """The likeness to this part that a guess must have (Eq. 3)."""
    effect: Text
    """The conclusion that a reader must draw (Eq. 4)."""


class Votes(BaseModel, frozen=True, extra="forbid"):
    """People's votes on a response: `n` ratings from 1 to 3 with their `mean`, or `n` likes with the mean None.

    `low` is the lower end of the 95 % interval of the mean, or of the number of likes.
    """

    n: int = Field(ge=0)
    mean: float | None = Field(default=None, ge=1, le=3)
    low: float


class Point(FrozenModel):
    """Another high-quality human response to the scene; it is a further target where no frame is shown."""

    response: Text
    explanation: Text
    point: Fixed | None = None
    votes: Votes | None = None


class Item(SampleRow):
    """A sample: the high-quality human response R with its key text, and the texts that the game needs."""

    language: Literal["en", "zh"]
    image: Text
    """Path of the picture, relative to the data set's folder."""
    caption: Text
    response: Text
    key_text: Text
    key_span: tuple[int, int] | None = None
    """Start and end (exclusive) of the key text in the response, in characters; required if it occurs there more than once."""
    explanation: Text
    point: Fixed | None = None
    """The author's creative point; a causal judge's chain must contain it. None: the explanation alone decides."""
    clues: Annotated[tuple[Text, ...], Field(min_length=1, max_length=200)]
    """Clues in the order in which they are revealed, from wide to narrow."""
    tier: Literal["easy", "medium", "hard"] | None = "medium"
    """The size of the leap in the writer's opinion; null if unknown."""
    leap: str = ""
    """The kind of leap between picture and response."""
    accept: Annotated[tuple[Text, ...], Field(max_length=2000)] = ()
    """Other guesses that should count; on these and on `reject` judges are measured."""
    reject: tuple[Rejected, ...] = ()
    """Guesses that should not count."""
    points: tuple[Point, ...] = ()
    """Further responses that solve a game without a shown frame, each with its own creative point."""
    near: tuple[Text, ...] = ()
    """Near misses: like the key text, but with another joke. A judge builds its causal chain again if with it the judge
    accepts one of the first three."""
    votes: Votes | None = None
    """People's votes on the response, if there are any."""
    source: str = ""
    # Left out if empty: the digest of a data set stays what it was before there was this field.
    gold_writers: Annotated[tuple[Text, ...], Field(exclude_if=lambda names: not names)] = ()
    """The models that wrote key text, explanation, clues or guesses to a response of another writer."""

    @model_validator(mode="after")
    def _key_text_is_there(self) -> Self:
        if self.key_span is not None:
            start, end = self.key_span
            if self.response[start:end] != self.key_text:
                raise ValueError("key_span: the response does not have the key text there")
            return self
        start, starts = self.response.find(self.key_text), list[int]()
        while start >= 0 and len(starts) <= SPANS:
            starts.append(start)
            start = self.response.find(self.key_text, start + 1)
        if len(starts) != 1:
            times = f"more than {SPANS}" if len(starts) > SPANS else len(starts)
            spans = " or ".join(f"[{start}, {start + len(self.key_text)}]" for start in starts[:SPANS])
            advice = f": give key_span, {spans}" if starts else ""
            raise ValueError(f"key_text: stands in the response {times} times, not once{advice}")
        return self

    @model_validator(mode="after")
    def _points_are_distinct(self) -> Self:
        texts = [words.same(text) for text in (self.response, *(point.response for point in self.points))]
        for number, text in enumerate(texts):
            if number and text in texts[:number]:
                raise ValueError(
                    f"points.{number - 1}.response: is the same as another response of the sample"
                )
        return self

    @model_validator(mode="after")
    def _near_misses_are_misses(self) -> Self:
        right = {words.same(text) for text in (self.key_text, *self.accept)}
        if wrong := [text for text in self.near if words.same(text) in right]:
            raise ValueError(f"near: {wrong[0]!r} is the key text or a guess that should count")
        return self

    @property
    def span(self) -> tuple[int, int]:
        """Start and end (exclusive) of the key text in the response, in characters."""
        if self.key_span is not None:
            return self.key_span
        start = self.response.index(self.key_text)
        return start, start + len(self.key_text)

    @cached_property
    def frame(self) -> str:
        """The response with the key text masked."""
        return words.frame(self.response, self.span, self.language)

    def rebuilt(self, guess: str) -> str:
        """Return R_t: the response with a guess in place of the key text."""
        start, end = self.span
        return self.response[:start] + guess + self.response[end:]
