"""LiveIdeaBench: short scientific ideas on one keyword, scored by a panel without the candidate.

This file declares the benchmark. `candidate.py` asks the candidate, `judge.py` the panel; `settings.py` has the
versions and the choice of the panel.
"""

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
from lotbench.harness.data_findings import Finding
from lotbench.types import Sampling

ROLES = {
    "candidate": Role("has the ideas", Sampling(temperature=1.0)),
    "judge": Role(
        "the panel: scores ideas and compares them", Sampling(temperature=0.0), impartial=True, checked=True
    ),
}


def calls(settings: Settings) -> Mapping[str, int]:
    """Return the maximum number of calls for one keyword, by role; repetitions after an unreadable reply are not counted."""
    pairs = comb(settings.ideas, 2)
    compared = pairs * (2 if settings.fluency_orders == "both" else 1)
    return {
        "candidate": settings.ideas * (2 if settings.rules.fallback else 1),
        "judge": settings.ideas * settings.judges + compared,
    }


def lints(items: Sequence[Item], settings: Settings, metadata: Mapping[str, Sequence[str]]) -> list[Finding]:
    """Return a finding for each keyword that an earlier sample has already, ignoring case."""
    first: dict[str, str] = {}
    return [
        Finding(item.id, "keyword", f"{item.keyword!r} stands in sample {before} already")
        for item in items
        if (before := first.setdefault(item.keyword.casefold(), item.id)) != item.id
    ]


benchmark = Benchmark(
    name="liveideabench",
    version="6",
    about="have scientific ideas on one keyword, to be judged by a panel",
    roles=ROLES,
    Settings=Settings,
    Item=Item,
    nodes={"respond": candidate.respond, "judge": judge.judge, "grade": judge.grade},
    grade=grade,
    metrics=metrics,
    calls=calls,
    sections=sections,
    cast=cast,
    strata=("category",),
    asked=("keyword",),
    shared_fields=(),
    lints=lints,
    published=published,
    validation=CHECKED,
    review=Review(review, Label),
    primary_metric=primary_metric,
    answers=answers,
    across=across,
)
