"""Every question that a problem leads to, filled in: what `show` prints and a dry run estimates from."""

from __future__ import annotations

from dataclasses import replace

from lotbench.benchmarks.standard import candidate
from lotbench.benchmarks.standard.settings import Walk
from lotbench.types import Question

WRITTEN = {"caption": "a caption", "rewrite": "a rewrite"}


def preview(walk: Walk) -> tuple[Question, ...]:
    """One question of each step that these settings reach, in order; of the first problem of each kind."""
    made: dict[tuple[str, str, str], Question] = {}
    kinds = {getattr(one, "kind", ""): one for one in reversed(walk.data)}
    for kind, one in sorted(kinds.items()):
        for state in (
            {},
            {"shared": {"caption": WRITTEN["caption"]}},
            {"shared": WRITTEN},
            {"shared": WRITTEN, "draft": {"notes": "small questions, answered"}},
        ):
            now = replace(walk, sample=one, step="respond", state={**walk.state, **state})
            for question in candidate.ask(now)[:1]:
                made.setdefault((question.role, question.step, kind), question)
    seen: dict[tuple[str, str, str], Question] = {}
    for (role, step, kind), question in made.items():
        seen.setdefault((role, step, kind if step == "respond" else ""), question)
    return tuple(seen.values())
