"""LiveIdeaBench: one keyword in, short scientific ideas out, scored by a panel that never holds the candidate.

This file is the benchmark's table of contents. `candidate.py` has the candidate's half, `judge.py` the
panel's; `settings.py` says what the two versions of the benchmark fix and who sits on the panel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb

from lotbench.benchmarks.liveideabench import candidate, judge
from lotbench.benchmarks.liveideabench.across import across
from lotbench.benchmarks.liveideabench.official import published
from lotbench.benchmarks.liveideabench.people import Label, review
from lotbench.benchmarks.liveideabench.sample import Item
from lotbench.benchmarks.liveideabench.score import grade, metrics, primary_metric
from lotbench.benchmarks.liveideabench.sections import answers, sections
from lotbench.benchmarks.liveideabench.settings import Settings, cast
from lotbench.benchmarks.liveideabench.validation import CHECKED
from lotbench.harness.benchmark import Benchmark, Review, Role
from lotbench.harness.data_findings import Finding, Sight
from lotbench.harness.episode import Node
from lotbench.types import Sampling

NODES: Mapping[str, Node] = {"respond": candidate.respond, "judge": judge.judge, "grade": judge.grade}

ROLES = {
    "candidate": Role("has the ideas", Sampling(temperature=1.0)),
    "judge": Role(
        "the panel: scores ideas and compares them",
        Sampling(temperature=0.0),
        impartial=True,
        checked=True,
    ),
}


def calls(settings: Settings) -> Mapping[str, int]:
    """Return the most calls for one keyword, by role, verdicts asked for again left out."""
    pairs = comb(settings.ideas, 2)
    compared = pairs * (2 if settings.fluency_orders == "both" else 1)
    return {
        "candidate": settings.ideas * (2 if settings.rules.fallback else 1),
        "judge": settings.ideas * settings.judges + compared,
    }


def lints(items: Sequence[Item], settings: Settings, sights: Mapping[str, Sight]) -> list[Finding]:
    """Return what a data set as a whole gets wrong: a keyword that stands there twice, but for case."""
    first: dict[str, str] = {}
    return [
        Finding(item.id, "keyword", f"{item.keyword!r} stands in sample {before} already")
        for item in items
        if (before := first.setdefault(item.keyword.casefold(), item.id)) != item.id
    ]


benchmark = Benchmark(
    name="liveideabench",
    version="3",
    about="have scientific ideas on one keyword, to be judged by a panel",
    roles=ROLES,
    Settings=Settings,
    Item=Item,
    nodes=NODES,
    grade=grade,
    metrics=metrics,
    calls=calls,
    sections=sections,
    cast=cast,
    strata=("category",),
    beside=(),
    lints=lints,
    published=published,
    validation=CHECKED,
    review=Review(review, Label),
    primary_metric=primary_metric,
    answers=answers,
    across=across,
)
