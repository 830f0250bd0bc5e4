"""Probes put to judges through the caller of a run.

What is asked and how it is read is the benchmark's own node, so a judge is measured on the very questions of
the game.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lotbench.calls.caller import Caller
from lotbench.config.model_names import address
from lotbench.errors import LotbenchError
from lotbench.harness.episode import AnyEpisode, visit
from lotbench.harness.judge_validation import (
    JudgePanel,
    Probe,
    ProbeResult,
    judged_by,
)
from lotbench.harness.state import joined, start
from lotbench.run.plan import Plan, sampling_table
from lotbench.types import JSON, Answer, Question


async def put(
    caller: Caller, plan: Plan, panel: JudgePanel, probe: Probe, repeat: int, chain: int = 0
) -> ProbeResult:
    """Put a probe to a panel: the benchmark's own node asks, for the panel's indexes, under its settings.

    `chain` is which causal chain the judge works with, where that is not the kept one.
    """
    validation = plan.benchmark.validation
    assert validation is not None

    async def ask(episode: AnyEpisode, question: Question) -> Answer:
        # Two probes of a sample may come to the very same question: each is asked in its own name.
        about = probe.id if probe.task and not question.shared else question.about
        placed = replace(question, index=panel.indexes[question.index], about=about)
        if chain and validation.redraw is not None:
            placed = validation.redraw(placed, chain)
        # The benchmark reads its own question back: for it, the panel is all the judges there are.
        return replace(await caller.ask(episode, placed), question=question)

    episode = plan.episode(probe.sample, repeat, ask)
    models = {**episode.models, panel.role: len(panel.indexes)}
    state: dict[str, Any] = {**start(probe.sample, repeat), **probe.state, "turn": dict(probe.turn)}
    node = plan.benchmark.nodes[probe.step]
    update = await visit(node, state, replace(episode, settings=panel.settings, models=models))
    return validation.read(probe, joined(state, update))


async def side_by_side(concurrency: int, work: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """Do all the work, so many pieces at a time; after an error what is begun is finished: it is paid for.

    Raises:
        LotbenchError: The first error of any piece.
    """
    waiting = iter(work)
    failures: list[LotbenchError] = []

    async def worker() -> None:
        for piece in waiting:
            try:
                await piece()
            except LotbenchError as error:
                failures.append(error)
            if failures:
                return

    workers = [asyncio.create_task(worker()) for _ in range(max(1, min(concurrency, len(work))))]
    try:
        await asyncio.gather(*workers)
    finally:
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    if failures:
        raise failures[0]


def key_of(
    plan: Plan,
    role: str,
    indexes: Sequence[int],
    settings: Any,
    ids: Mapping[str, Sequence[Sequence[str]]],
    task: str = "",
) -> dict[str, JSON] | None:
    """Return the name in the store of what these indexes' verdicts depend on; None if an index has not one id."""
    validation = plan.benchmark.validation
    answered = ids.get(role, ())
    model_ids = [answered[index] if index < len(answered) else () for index in indexes]
    if validation is None or any(len(id_set) != 1 for id_set in model_ids):
        return None
    part = validation.key(
        task or role, settings, plan.prompts, sampling_table(plan)[role], plan.digests["data"]
    )
    addresses = [address(plan.names[role][index]) for index in indexes]
    return {**part, **judged_by([id_set[0] for id_set in model_ids], addresses)}
