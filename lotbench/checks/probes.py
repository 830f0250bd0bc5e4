"""Probes (labelled points in an episode), put to judges through the caller of a run.

The benchmark's own node asks the question and reads the reply, so a judge is measured on the questions of the game.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lotbench.calls.caller import Caller
from lotbench.errors import LotbenchError
from lotbench.harness.episode import AnyEpisode, visit
from lotbench.harness.judge_validation import JudgePanel, Probe, ProbeResult, judged_by
from lotbench.harness.state import joined, start
from lotbench.run.plan import Plan, sampling_table
from lotbench.types import JSON, Answer, Question


async def put(
    caller: Caller, plan: Plan, panel: JudgePanel, probe: Probe, repeat: int, chain: int = 0
) -> ProbeResult:
    """Put a probe to a panel, and return the result; the benchmark's node asks, under the panel's settings.

    `repeat` numbers the judgings of the probe. `chain` is the number of a causal chain to judge with; 0 is the stored one.
    """
    validation = plan.benchmark.validation
    assert validation is not None

    async def ask(episode: AnyEpisode, question: Question) -> Answer:
        # Two probes of a sample may lead to the same question: their ids keep the keys of the calls apart.
        about = probe.id if probe.task and not question.shared else question.about
        placed = replace(question, index=panel.indexes[question.index], about=about)
        if chain and validation.redraw is not None:
            placed = validation.redraw(placed, chain)
        # The node gets its own question back, since its index counts only the judges of the panel.
        return replace(await caller.ask(episode, placed), question=question)

    episode = plan.episode(probe.sample, repeat, ask)
    models = {**episode.models, panel.role: len(panel.indexes)}
    state: dict[str, Any] = {**start(probe.sample, repeat), **probe.state, "turn": dict(probe.turn)}
    node = plan.benchmark.nodes[probe.step]
    update = await visit(node, state, replace(episode, settings=panel.settings, models=models))
    return validation.read(probe, joined(state, update))


async def side_by_side(concurrency: int, work: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """Do all pieces of work, at most `concurrency` at a time.

    After an error no other piece begins, but those in progress end, since their calls are paid for.

    Raises:
        LotbenchError: The first error of any piece.
    """
    room, failures = asyncio.Semaphore(concurrency), list[LotbenchError]()

    async def do(piece: Callable[[], Awaitable[None]]) -> None:
        async with room:
            try:
                if not failures:
                    await piece()
            except LotbenchError as error:
                failures.append(error)

    async with asyncio.TaskGroup() as group:
        for piece in work:
            group.create_task(do(piece))
    if failures:
        raise failures[0]


def key_of(
    plan: Plan, role: str, indexes: Sequence[int], settings: Any, ids: Mapping[str, Sequence[Sequence[str]]]
) -> dict[str, JSON] | None:
    """Return the key of a judge check in the store: all that the verdicts of these judges depend on.

    Args:
        plan: The plan.
        role: The role of the judges.
        indexes: Their indices among the models of the role.
        settings: The settings under which they judge.
        ids: The ids of the models in their replies, by role and index.

    Returns:
        The key; None unless the replies of each judge name exactly one id.
    """
    validation = plan.benchmark.validation
    assert validation is not None
    judges = judged_by(ids.get(role, ()), plan.names[role], indexes)
    key = validation.key(role, settings, plan.prompts, sampling_table(plan)[role], plan.digests["data"])
    return None if judges is None else {**key, **judges}
