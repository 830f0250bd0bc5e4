"""Probes put to judges through the caller of a run, and the rows that a full run judges again as anchors.

What is asked and how it is read is the benchmark's own node, so a judge is measured on the very questions of
the game.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lotbench.config.model_names import address
from lotbench.edge.calls import judge_records
from lotbench.edge.calls.caller import Caller
from lotbench.edge.files import datasets, judge_set
from lotbench.errors import LotbenchError
from lotbench.harness.episode import AnyEpisode, visit
from lotbench.harness.judge_validation import (
    JudgePanel,
    Probe,
    ProbeResult,
    Validation,
    judged_by,
    stratified,
)
from lotbench.harness.state import joined, start
from lotbench.metrics.agreement import drift
from lotbench.run.plan import Plan, glimpses, sampling_table
from lotbench.types import JSON, Answer, Question


async def put(caller: Caller, made: Plan, panel: JudgePanel, probe: Probe, repeat: int) -> ProbeResult:
    """Put a probe to a panel: the benchmark's own node asks, for the panel's seats, under its settings."""
    validation = made.benchmark.judges.validation
    assert validation is not None

    async def ask(episode: AnyEpisode, question: Question) -> Answer:
        # Two probes of a sample may come to the very same question: each is asked in its own name.
        about = probe.id if probe.task and not question.shared else question.about
        seated = replace(question, seat=panel.seats[question.seat], about=about)
        # The benchmark reads its own question back: for it, the panel is all the judges there are.
        return replace(await caller.ask(episode, seated), question=question)

    episode = made.episode(probe.sample, repeat, ask)
    seats = {**episode.seats, panel.role: len(panel.seats)}
    state: dict[str, Any] = {**start(probe.sample, repeat), **probe.state, "turn": dict(probe.turn)}
    node = made.benchmark.nodes[probe.step]
    update = await visit(node, state, replace(episode, settings=panel.settings, seats=seats))
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
        for one in workers:
            one.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    if failures:
        raise failures[0]


def key_of(
    made: Plan,
    role: str,
    seats: Sequence[int],
    settings: Any,
    ids: Mapping[str, Sequence[Sequence[str]]],
    task: str = "",
) -> dict[str, JSON] | None:
    """The name in the store of what these seats' verdicts depend on; None if a seat has not one id."""
    validation = made.benchmark.judges.validation
    answered = ids.get(role, ())
    mine = [answered[seat] if seat < len(answered) else () for seat in seats]
    if validation is None or any(len(one) != 1 for one in mine):
        return None
    part = validation.key(
        task or role, settings, made.prompts, sampling_table(made)[role], made.digests["data"]
    )
    addresses = [address(made.names[role][seat]) for seat in seats]
    return {**part, **judged_by([one[0] for one in mine], addresses)}


async def anchors(made: Plan, caller: Caller) -> dict[str, Any]:
    """Judge rows of the stored check again at the end of a full run, and compare verdict by verdict.

    Returns:
        How many were judged and flipped and what chance that has, under `judges` for each where every judge judges
        alone; or why none were.
    """
    validation = made.benchmark.judges.validation
    if validation is None or not (wanted := validation.anchors(made.settings)):
        return {"skipped": "anchors = 0"}
    if made.of is None:
        return {"skipped": "how many samples the data set had was not written down"}
    if len(made.chosen) < made.of:
        return {"skipped": f"not a full run: {len(made.chosen)} of {made.of} samples"}
    role, seats = validation.judged(made.settings)
    if not validation.alone:
        return await _again(made, caller, role, seats, wanted)
    every_seat = range(len(made.names.get(role, ())))
    return {"judges": [await _again(made, caller, role, (seat,), wanted) for seat in every_seat]}


def _over_judge_set(made: Plan, validation: Validation) -> Plan:
    """The plan over the samples that the shipped judge set is about, where the run plays others."""
    folder = judge_set.subject(judge_set.find("", validation.folder))
    items = datasets.samples(folder, made.benchmark.Item)
    return replace(
        made,
        by_id={item.id: item for item in items},
        beside=glimpses(made.benchmark, items),
        pictures=datasets.Pictures(folder, items, made.experiment.max_image_px),
    )


async def _again(
    made: Plan, caller: Caller, role: str, seats: tuple[int, ...], wanted: int
) -> dict[str, Any]:
    """The anchors of the judges in these seats, by the first criterion that scores rest on."""
    validation = made.benchmark.judges.validation
    assert validation is not None
    criterion = validation.deciding(made.settings)[0]
    key = key_of(made, role, seats, made.settings, caller.journal.totals.ids())
    record = (
        judge_records.find_counting(key | ({"criterion": criterion} if criterion else {})) if key else None
    )
    if record is None or not record["rows"]:
        return {"skipped": "no stored check of this judge"}
    known = {row["probe"]["id"]: bool(row["accepted"]) for row in record["rows"]}
    every = [Probe(**{**row["probe"], "labels": tuple(row["probe"]["labels"])}) for row in record["rows"]]
    if record["set"].get("elsewhere"):
        made = _over_judge_set(made, validation)
    probes = [one for one in every if one.sample in made.by_id]
    probes = stratified(probes, wanted, f"{made.experiment.seed}:anchors")
    panels = validation.panels(role, len(made.names[role]), made.settings, False)
    said: dict[str, bool | None] = {}

    def piece(probe: Probe) -> Callable[[], Awaitable[None]]:
        async def judge() -> None:
            fitting = (one for one in panels if (one.seats, one.task) == (seats, probe.task))
            panel = next(fitting, JudgePanel(role, seats, "", made.settings, task=probe.task))
            # Repeat 0 is no walk's: an anchor can never be taken for a verdict of a run.
            result = await put(caller, made, panel, probe, 0)
            ruled = {
                one.row: one.said
                for one in validation.rulings([(probe, result)])
                if one.criterion == criterion
            }
            verdict = ruled.get(probe.id)
            said[probe.id] = None if verdict is None else bool(verdict)

        return judge

    await side_by_side(made.limits.concurrency, [piece(probe) for probe in probes])
    read = {name: verdict for name, verdict in said.items() if verdict is not None}
    flipped = sorted(name for name, verdict in read.items() if verdict is not known[name])
    before, of = record["flips"]
    chance = drift(len(flipped), len(read), before, of) if of and read else None
    return {
        "n": len(read),
        "rows": len(every),
        "unreadable": len(said) - len(read),
        "flipped": flipped,
        "before": [before, of],
        "chance": chance,
    }
