"""Every question of HIC-Bench, filled in with one sample: what `show` prints and a dry run estimates from.

With dhp the memory holds two made-up examples, so that each field of the prompts is seen in use.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lotbench.benchmarks.hicbench import candidate, judge
from lotbench.benchmarks.hicbench.settings import Walk
from lotbench.types import Question

EXAMPLES = {
    name: {"text": f"(the {name} example)", "total": None, "sample": None}
    for name in ("positive", "negative")
}


def preview(walk: Walk) -> tuple[Question, ...]:
    """One question of each kind that these settings can put."""
    settings = walk.settings
    made = [candidate.ask(_at(walk, "respond", turn={}, memory=EXAMPLES))[0]]
    judged = _at(walk, "judge", turn={"answers": ["(an answer)"]})
    made.append(judge.question(judged, 0, "judge", 0))
    if settings.dhp and settings.dhp_judge == "separate":
        made.append(judge.question(judged, 0, "dhp_judge", 0))
    return tuple(made)


def _at(walk: Walk, step: str, **state: Any) -> Walk:
    return replace(walk, step=step, state={**walk.state, **state})
