"""RINoBench: judge the novelty of a research idea, with a justification that holds (rinobench.txt, Sec. 4).

This file declares the benchmark. `candidate.py` asks the candidate, `judge.py` the judge.
"""

from collections.abc import Mapping, Sequence

from lotbench.benchmarks.rinobench import candidate, judge
from lotbench.benchmarks.rinobench.construction.papers import leak
from lotbench.benchmarks.rinobench.official import published
from lotbench.benchmarks.rinobench.sample import Item
from lotbench.benchmarks.rinobench.score import answers, grade, metrics, primary_metric
from lotbench.benchmarks.rinobench.sections import across, sections
from lotbench.benchmarks.rinobench.settings import Settings, cast
from lotbench.benchmarks.rinobench.validation import CHECKED
from lotbench.harness.benchmark import Benchmark, Role
from lotbench.harness.data_findings import Finding
from lotbench.types import Sampling

ROLES = {
    "candidate": Role("judges how novel an idea is, and says why", Sampling(temperature=0.0)),
    "judge": Role(
        "takes justifications apart, checks their arguments, scores their alignment",
        Sampling(temperature=0.0),
        required=False,
        impartial=True,
        checked=True,
    ),
}


def calls(settings: Settings) -> Mapping[str, int]:
    """Return the maximum number of calls of one episode, by role; repetitions after an unreadable reply are not counted.

    Calls whose replies all runs share are counted as well.
    """
    judging = 5 + settings.alignment_calls if settings.justification else 0
    return {"candidate": 1} | ({"judge": judging} if judging else {})


def lints(items: Sequence[Item], settings: Settings, metadata: Mapping[str, Sequence[str]]) -> list[Finding]:
    """Return a finding for each number in a text that may reveal the gold score (Sec. 4.1.1); ideas have no pictures."""
    return [
        Finding(item.id, field, f"may give the score away: {number!r}")
        for item in items
        for field, text in (
            ("research_idea", item.research_idea.text()),
            ("novelty_reasoning", item.novelty_reasoning),
        )
        if (number := leak(text))
    ]


benchmark = Benchmark(
    name="rinobench",
    version="5",
    about="judge how novel a research idea is beside its related works, with reasons that hold",
    roles=ROLES,
    Settings=Settings,
    Item=Item,
    nodes={"respond": candidate.respond, "judge": judge.judge, "grade": judge.grade},
    grade=grade,
    metrics=metrics,
    calls=calls,
    sections=sections,
    cast=cast,
    strata=("novelty_score",),
    asked=("research_idea",),
    shared_fields=(),
    lints=lints,
    published=published,
    validation=CHECKED,
    primary_metric=primary_metric,
    answers=answers,
    across=across,
)
