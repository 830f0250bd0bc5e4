"""Runs are ranked by what their benchmark headlines: no gain in giving no answer, none in games that break off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lotbench.benchmarks.rinobench import score as rinobench
from lotbench.benchmarks.rinobench.settings import Settings
from lotbench.metrics.headline import Headline
from lotbench.report.leaderboard import Entry
from lotbench.types import Score, Trace
from tests.games import lost, respond, trace, unread, unsolved, won
from tests.report.test_leaderboard import CONDITIONS

IDEAS = 62
GOLD = [1 + at % 5 for at in range(IDEAS)]


def judgment(at: int, said: int | None, status: str = "ok") -> Trace:
    parts: dict[str, Any] = {"gold": GOLD[at], "said": said, "status": status, "shortened": 0, "works": 1}
    parts |= {"alignment": None, "counts": None}
    if status == "no reply":
        parts = {"gold": GOLD[at], "status": None}
    score = Score(None if said is None else float(said == GOLD[at]), parts=parts)
    outcome = "candidate_failed" if status == "no reply" else "scored" if said else status
    return Trace(f"i{at:02}", 1, "l", outcome, score, (), None, {})


def run(name: str, traces: Sequence[Trace], headline: Headline) -> Entry:
    values = {one.sample: one.score.value for one in traces if one.score.value is not None}
    given: dict[str, Any] = {"asked": name, "answered": (name,), "benchmark": "b", "failed": 0}
    given |= {"conditions": CONDITIONS}
    return Entry(name=name, values=values, headline=headline, **given)


def ideas(name: str, right: int, status: str = "ok") -> Entry:
    """Right on the first ideas; of the rest nothing but a status, or a score that is one off."""
    traces = [
        judgment(at, GOLD[at])
        if at < right
        else judgment(at, 1 + GOLD[at] % 5 if status == "ok" else None, status)
        for at in range(IDEAS)
    ]
    return run(name, traces, rinobench.headline(traces, Settings(justification=False)))


def games(rng: np.random.Generator, hardness: np.ndarray, breaks: float) -> list[Trace]:
    """Games of one model, a sample each, that a judge fails in with the same chance every round."""
    made = []
    for at, chance in enumerate(hardness):
        solved, broken = rng.geometric(chance), rng.geometric(breaks) if breaks else 99
        name = f"s{at:02}"
        if broken <= min(solved, 15):
            steps = [*lost(broken - 1), respond(broken), unread(broken)]
            made.append(trace(name, 1, "judge_failed", steps))
        else:
            made.append(won(name, 1, solved) if solved <= 15 else unsolved(name, 1))
    return made
