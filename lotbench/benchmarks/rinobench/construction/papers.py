"""From reviewed papers to a data set of ideas: the steps that need no model (Sec. 4.1).

Reviewers rate two dimensions of novelty, 1 to 4. A paper whose ratings agree gets their mean; the means are cut into
the five scores of the rubric. Every paper that is left out is listed with the reason.
"""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np
from pydantic import BaseModel, BeforeValidator, Field

from lotbench.benchmarks.rinobench.sample import LABELS
from lotbench.harness.published import Source
from lotbench.harness.sample_row import NoPicture, Text
from lotbench.types import FrozenModel

DIMENSIONS = ("technical_novelty_and_significance", "empirical_novelty_and_significance")
SUMMARY = "summary_of_the_paper"
SECTIONS = ("introduction", "related work", "related works", "background and related work")
"""The sections whose cited works count. Works cited elsewhere are data sets and measures, of no use for novelty."""
_NUMBER = re.compile(r"^(?:[\d.]+|[IVX]+\.?)\s+")
_RATING = re.compile(r"\s*([1-4])\s*(?::|$)")
_NUMBERED = re.compile(r"^\s*\d+\s*(?::\s*|$)")
_LEAK = re.compile(
    r"\b(?:novelty|scores?|scored|ratings?|rated)\s*+(?:scores?|ratings?)?\s*+(?:of|is|was|as|at|:|=)?\s*+"
    r"[1-5](?:\.\d+)?\b(?!\s*(?:%|percent))"
    r"|\b[1-5](?:\.\d+)?\s*(?:/|out\s+of)\s*(?:4|5|four|five)\b",
    re.IGNORECASE,
)
Edges: TypeAlias = tuple[float, ...]
"""Six edges, ascending: score k holds the means in (edge k, edge k + 1]; score 1 includes its lower edge."""


class Rules(FrozenModel):
    """How papers are chosen and scores cut (Sec. 4.1.1)."""

    max_disagreement: int = Field(default=1, ge=0, le=3)
    """Between any two ratings of a paper, within and across both dimensions."""
    quantile_share: float = Field(default=0.7, ge=0, le=1)
    """Weight of the quantiles in the edges of the scores; the rest is that of bins of equal width."""
    min_works: int = Field(default=5, gt=0)
    """Related works that an idea has at least."""
    test_share: float = Field(default=0.2, gt=0, lt=1)
    """Of each score, the share that goes into the test split."""


def _one_or_many(value: object) -> object:
    return (value,) if isinstance(value, str) else value


class Cited(BaseModel, frozen=True, extra="ignore"):
    """A work that a paper cites, with the titles of the sections that cite it."""

    title: Text
    abstract: str | None = None
    year: int | None = None
    sections: Annotated[tuple[str, ...], BeforeValidator(_one_or_many)] = ()


class Reply(BaseModel, frozen=True, extra="ignore"):
    """A reply to a paper on OpenReview: a review, a comment or a decision."""

    content: Mapping[str, Any] = Field(default_factory=dict)

    def text(self) -> str:
        """Return the review as text, field by field, without its summary of the paper and the numbers of the ratings."""
        texts = {
            name.replace("_", " "): _NUMBERED.sub("", value)
            for name, value in self.content.items()
            if name != SUMMARY and isinstance(value, str)
        }
        return "\n".join(f"{name}: {value}" for name, value in texts.items() if value)


class Paper(BaseModel, NoPicture, frozen=True, extra="ignore"):
    """A submission in OpenReview's format, with the works it cites."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,58}$")]
    title: Text
    abstract: Text
    pdf: str = ""
    venue: str = ""
    replies: tuple[Reply, ...] = ()
    related_works: tuple[Cited, ...] = ()

    @property
    def language(self) -> str:
        """Always `en`."""
        return "en"

    @property
    def reviews(self) -> tuple[Reply, ...]:
        """The replies that rate novelty."""
        return tuple(reply for reply in self.replies if any(rating(reply, name) for name in DIMENSIONS))

    @property
    def ratings(self) -> list[int]:
        """Every rating of both dimensions, 1..4."""
        values = (rating(reply, name) for reply in self.replies for name in DIMENSIONS)
        return [value for value in values if value is not None]

    @property
    def works(self) -> tuple[Cited, ...]:
        """The works with an abstract that one of SECTIONS cites, each title once."""
        cited: dict[str, Cited] = {}
        for work in self.related_works:
            titles = [_NUMBER.sub("", title.strip()).casefold() for title in work.sections]
            if work.abstract and any(title in SECTIONS for title in titles):
                cited.setdefault(work.title.casefold(), work)
        return tuple(cited.values())


@dataclass(frozen=True, slots=True)
class Draft(NoPicture):
    """A paper with its novelty score, 1 to 5: the sample of an episode."""

    paper: Paper
    score: int

    @property
    def id(self) -> str:
        """The id of the paper."""
        return self.paper.id

    @property
    def language(self) -> str:
        """The language of the paper."""
        return self.paper.language


def rating(reply: Reply, dimension: str) -> int | None:
    """Return a reviewer's rating of one dimension, 1 to 4, written as `3: significant ...`; None if there is none."""
    value = reply.content.get(dimension)
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 1 <= value <= 4 else None
    match = _RATING.match(value) if isinstance(value, str) else None
    return int(match[1]) if match else None


def disagreement(paper: Paper, rules: Rules) -> str | None:
    """Return the reason why a paper's ratings give no score; None if they do."""
    ratings = paper.ratings
    if not ratings:
        return "no review rates its novelty"
    apart = max(ratings) - min(ratings)
    if apart > rules.max_disagreement:
        return f"ratings are {apart} apart, more than {rules.max_disagreement}"
    return None


def poverty(paper: Paper, rules: Rules) -> str | None:
    """Return the reason why a paper has too few related works; None if it has enough."""
    count = len(paper.works)
    if count >= rules.min_works:
        return None
    return f"{count} related works with an abstract in introduction and related work, fewer than {rules.min_works}"


def binned(papers: Sequence[Paper], rules: Rules) -> tuple[list[Draft], Edges]:
    """Return the papers with their scores, and the edges of the scores over all papers."""
    means = [float(np.mean(paper.ratings)) for paper in papers]
    edges = cut(means, rules)
    return [Draft(paper, score(mean, edges)) for paper, mean in zip(papers, means, strict=True)], edges


def cut(means: Sequence[float], rules: Rules) -> Edges:
    """Return the six edges that cut these mean ratings into five scores."""
    width = np.linspace(min(means), max(means), len(LABELS) + 1)
    quantiles = np.quantile(means, np.linspace(0, 1, len(LABELS) + 1))
    return tuple(map(float, rules.quantile_share * quantiles + (1 - rules.quantile_share) * width))


def score(mean: float, edges: Edges) -> int:
    """Return the score of a mean rating: 1 plus the number of inner edges below it (intervals are closed on the right)."""
    return 1 + int(np.searchsorted(edges[1:-1], mean, side="left"))


def leak(text: str) -> str | None:
    """Return the first passage with a score as a number in a text (`novelty score 4`, `3 out of 5`); None without one."""
    match = _LEAK.search(text)
    return match[0] if match else None


def split(scores: Mapping[str, int], share: float, seed: int) -> set[str]:
    """Return the ids of the test split: of each score, this share of the ids (rounded), drawn by the seed."""
    test: set[str] = set()
    for label in LABELS:
        ids = sorted(name for name, value in scores.items() if value == label)
        random.Random(f"{seed}:split:{label}").shuffle(ids)
        test |= set(ids[: round(share * len(ids))])
    return test


def published(source: Source) -> list[Paper]:
    """Return the papers of a JSON list in OpenReview's format; the file's name is the venue of a paper without one.

    Raises:
        DataError: The file is not a list, or rows are not papers; the error names the number and the field of each such row.
    """

    def paper(name: str, row: Any) -> Paper:
        defaults = {"id": name, "venue": source.path.stem}
        return Paper.model_validate(defaults | row if isinstance(row, dict) else row)

    return source.items(paper)
