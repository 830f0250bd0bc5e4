"""Reader of the steps of a trace: the ideas of a keyword, their scores, and their comparisons.

Metrics and sections read traces only through these records, so that both count the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean
from typing import Any

from lotbench.benchmarks.liveideabench.settings import Version
from lotbench.harness.evidence import Evidence
from lotbench.types import Trace

FLUENCY = "fluency"
MARKS = (1.0, 10.0)
"""The lowest and the highest score that a judge can give."""


@dataclass(frozen=True, slots=True)
class Row:
    """One judge's verdict on one idea; it is the unit over which the papers' public code averages.

    Attributes:
        index: The judge's index on the panel.
        model: The id of the judge's model.
        scores: The score of each dimension, 1 to 10.
    """

    index: int
    model: str
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Idea:
    """One reply to the keyword.

    Attributes:
        number: The number of the idea in its episode, from 1.
        status: `ok`, or the reason why the reply has no idea.
        text: The idea as the candidate wrote it; without an idea, the text of the reply.
        declined: The first reply, if it was a refusal and the candidate was asked again. Else None.
        rows: The verdicts that could be read.
        unread: The number of verdicts that could not be read.
        words: The number of words outside CJK text.
        characters: The number of CJK characters.
        reasoning: The number of characters of reasoning beside the idea.
        unmarked: Whether the whole reply was judged because it lacks the marker.
        declines: Whether the idea has a refusal phrase and was still judged.
    """

    number: int
    status: str
    text: str
    declined: str | None
    rows: tuple[Row, ...]
    unread: int
    words: int = 0
    characters: int = 0
    reasoning: int = 0
    unmarked: bool = False
    declines: bool = False

    @property
    def ok(self) -> bool:
        """Whether the reply has an idea."""
        return self.status == "ok"

    @property
    def refuses(self) -> bool:
        """Whether the last reply is a refusal, or an idea with a refusal phrase."""
        return self.status == "refused" or self.declines

    def mean(self, dimension: str) -> float | None:
        """Return the mean score of the idea in a dimension over its judges; None without verdicts."""
        return mean(row.scores[dimension] for row in self.rows)

    def quality(self, version: Version) -> float:
        """Return the mean score of the idea over the judged dimensions; the idea must have verdicts."""
        return fmean(fmean(row.scores[name] for row in self.rows) for name in version.dimensions)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two ideas of a keyword.

    Attributes:
        ideas: The numbers of the two ideas, the lower first.
        letters: The readable letters, A (different) to D (identical), at most one for each order of the ideas.
    """

    ideas: tuple[int, int]
    letters: tuple[str, ...]

    def score(self, version: Version) -> float | None:
        """Return the mean score of the letters; None without a letter."""
        return mean(version.grades[letter] for letter in self.letters)


@dataclass(frozen=True, slots=True)
class Keyword:
    """The ideas and comparisons of one episode, that is, of one keyword in one repeat; `sample` is the keyword's id."""

    sample: str
    repeat: int
    category: str
    ideas: tuple[Idea, ...]
    comparisons: tuple[Comparison, ...]

    def fluency(self, version: Version) -> float | None:
        """Return the mean score over the pairs of ideas; None if no pair has a score."""
        return mean(comparison.score(version) for comparison in self.comparisons)

    def mean(self, dimension: str) -> float | None:
        """Return the mean over ideas of the mean over judges in a dimension; None without verdicts."""
        return mean(idea.mean(dimension) for idea in self.ideas)

    def has_verdict(self, version: Version) -> bool:
        """Return whether any dimension, fluency included, was judged."""
        return mean([*map(self.mean, version.dimensions), self.fluency(version)]) is not None

    def composite(self, version: Version) -> float | None:
        """Return the mean of the judged dimensions and fluency; None if one is missing."""
        return whole([*map(self.mean, version.dimensions), self.fluency(version)])

    def composites(self, version: Version, unit: str) -> list[float]:
        """Return the composites by unit, without those that miss a dimension; each contains the keyword's fluency.

        Args:
            version: The rules of the version.
            unit: `keyword` for one composite, `row` for one of each verdict.
        """
        fluency = self.fluency(version)
        if unit == "keyword":
            means = [self.composite(version)]
        else:
            rows = [row for idea in self.ideas for row in idea.rows]
            means = [
                whole([*(float(row.scores[name]) for name in version.dimensions), fluency]) for row in rows
            ]
        return [value for value in means if value is not None]


def filled(keyword: Keyword, version: Version, ideas: int, highest: bool) -> Keyword:
    """Return a keyword in which every missing verdict, on an idea or a pair of ideas, is the lowest or the highest one.

    Args:
        keyword: The keyword; returned itself if nothing is missing.
        version: The rules of the version.
        ideas: The number of ideas that were asked for.
        highest: Whether to fill in the highest verdict.
    """
    pick = max if highest else min
    judged = {idea.number: idea for idea in keyword.ideas if idea.rows}
    compared = {comparison.ideas: comparison for comparison in keyword.comparisons if comparison.letters}
    pairs = list(combinations(range(1, ideas + 1), 2))
    if len(judged) == ideas and len(compared) == len(pairs):
        return keyword
    row = Row(0, "", {name: pick(MARKS) for name in version.dimensions})
    letter = pick(version.grades, key=lambda letter: version.grades[letter])
    return replace(
        keyword,
        ideas=tuple(judged.get(at) or Idea(at, "missing", "", None, (row,), 0) for at in range(1, ideas + 1)),
        comparisons=tuple(compared.get(pair) or Comparison(pair, (letter,)) for pair in pairs),
    )


def keyword_of(keyword: Keyword, evidence: Evidence) -> str:
    """Return the text of a keyword; its id if `evidence.samples` does not have its sample."""
    sample = evidence.samples.get(keyword.sample)
    return keyword.sample if sample is None else str(sample.keyword)


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are not None; None without any."""
    numbers = [value for value in values if value is not None]
    return fmean(numbers) if numbers else None


def whole(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values; None if one is missing."""
    return mean(values) if all(value is not None for value in values) else None


def read_keyword(trace: Trace, version: Version) -> Keyword:
    """Return the ideas and comparisons in a trace."""
    category = trace.score.parts.get("category")
    return Keyword(trace.sample, trace.repeat, str(category or ""), *from_steps(trace.steps, version))


def from_steps(
    steps: Sequence[Mapping[str, Any]], version: Version
) -> tuple[tuple[Idea, ...], tuple[Comparison, ...]]:
    """Return the ideas and the comparisons in the steps of a trace, by number; of repeated requests the last counts."""
    replies: dict[int, list[Mapping[str, Any]]] = {}
    scored: dict[int, dict[int, Mapping[str, Any]]] = {}
    compared: dict[int, dict[int, Mapping[str, Any]]] = {}
    for step in steps:
        number, draw, value = step["round"], step["draw"], step["value"]
        if step["step"] in ("respond", "fallback"):
            replies.setdefault(number, []).append(value)
        elif step["step"] in ("judge", "compare"):
            # A repeated request comes later and replaces the first.
            (scored if step["step"] == "judge" else compared).setdefault(number, {})[draw] = value
    ideas = tuple(
        _idea(number, values, list(scored.get(number, {}).values()), version)
        for number, values in sorted(replies.items())
    )
    return ideas, tuple(_comparison(list(orders.values())) for _, orders in sorted(compared.items()))


def _idea(
    number: int, replies: Sequence[Mapping[str, Any]], verdicts: Sequence[Mapping[str, Any]], version: Version
) -> Idea:
    rows = tuple(
        Row(verdict["judge"], verdict["model"], {name: verdict[name] for name in version.dimensions})
        for verdict in verdicts
        if verdict["status"] == "ok"
    )
    value, unread = replies[-1], len(verdicts) - len(rows)
    declined = replies[0]["said"] if len(replies) > 1 else None
    if value["status"] != "ok":
        return Idea(number, value["status"], value["said"], declined, rows, unread)
    measures = {
        name: value[name]
        for name in ("words", "characters", "reasoning", "unmarked", "declines")
        if name in value
    }
    return Idea(number, "ok", value["idea"], declined, rows, unread, **measures)


def _comparison(orders: Sequence[Mapping[str, Any]]) -> Comparison:
    letters = tuple(str(order["grade"]) for order in orders if order["status"] == "ok")
    first, other = sorted(orders[0]["ideas"])
    return Comparison((first, other), letters)
