"""A data set under construction: the tasks of its drafts, through the caller, journal and store of a run.

A build that was stopped goes on where it was when the same command is given again: what was asked stands in the
journal of the folder that is made, and what depends on the material alone in the store.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lotbench import benchmarks
from lotbench.calls.budget import refuse_unpriced
from lotbench.config.experiment import Experiment, Limits
from lotbench.config.model_names import parse
from lotbench.harness.benchmark import Benchmark
from lotbench.prompting.prompt import Pack, pack
from lotbench.run.calling import Calls
from lotbench.run.plan import Plan, version
from lotbench.run.session import loop
from lotbench.storage import datasets
from lotbench.storage.run_folder import Folder
from lotbench.types import Sample, Trace


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be built, of what, and by which models.

    Attributes:
        sources: The files or folders that it is made of.
        out: The folder that is made.
        models: The model of each role, by name.
        rules: The settings of the construction.
    """

    sources: tuple[Path, ...]
    out: Path
    models: Mapping[str, str]
    rules: Any
    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    preflight: bool = True


@dataclass(frozen=True, slots=True)
class Dropped:
    """A piece of the material that is no sample, at which stage, and why."""

    id: str
    stage: str
    reason: str


def plan(order: Wanted, benchmark: Benchmark, drafts: Sequence[Sample]) -> Plan:
    """Return the episodes of all drafts as a run's, though no experiment of a user's.

    Args:
        order: What is to be built.
        benchmark: The steps of the construction.
        drafts: What is played; pictures are named by whole paths.

    Raises:
        UsageError: A limit of cost is set and a model has no price.
    """
    names = {role: (parse(order.models[role]),) for role in benchmark.roles}
    refuse_unpriced(order.limits, {panel[0].text: panel[0] for panel in names.values()})
    run_plan = Plan(
        benchmark=benchmark,
        experiment=Experiment(benchmark=benchmark.name, seed=order.seed, repeats=1),
        limits=order.limits,
        settings=order.rules,
        folder=order.out,
        data=tuple(drafts),
        chosen=tuple(drafts),
        beside=(),
        of=len(drafts),
        pictures=datasets.Pictures(order.out, drafts, 1024),
        prompts=_prompts(benchmark),
        names=names,
        by_id={draft.id: draft for draft in drafts},
    )
    return run_plan


async def played(calls: Calls, *, preflight: bool) -> dict[str, Trace]:
    """Return the episodes of all drafts, by id.

    Raises:
        LotbenchError: A model cannot be reached, or a limit is used up.
    """
    if preflight:
        await calls.check()
    episodes = loop(calls.plan, calls.caller.ask)
    traces = {trace.sample: trace async for trace in episodes.traces(calls.plan.sequences())}
    for error in episodes.crashed.values():
        raise error
    return traces


def finished(
    outcome: str,
    drafts: Sequence[Sample],
    traces: Mapping[str, Trace],
    dropped: list[Dropped],
    about: Callable[[Any], str] = lambda draft: "",
) -> list[tuple[Any, Any]]:
    """Return the drafts that came to this outcome, each with what its episode made of it; the others are noted with their reason.

    `about` says what stands before the reason.
    """
    ended = []
    for draft in drafts:
        trace = traces[draft.id]
        if trace.outcome == outcome:
            ended.append((draft, trace.memory))
        else:
            stage = "quality" if trace.outcome == "dropped" else trace.outcome
            dropped.append(Dropped(draft.id, stage, f"{about(draft)}{trace.why}"))
    return ended


def models(calls: Calls) -> dict[str, str]:
    """Return the model of each role, by the id that it gave itself, if it gave one."""
    return {role: panel[0].model_id or panel[0].name for role, panel in calls.caller.role_models.items()}


def note_dropped(folder: Folder, of: str, dropped: Sequence[Dropped]) -> None:
    """Write what is no sample, a line each; `of` says what it is."""
    rows = ({of: entry.id, "stage": entry.stage, "reason": entry.reason} for entry in dropped)
    folder.write("dropped.jsonl", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def card(
    run_plan: Plan,
    order: Wanted,
    models: Mapping[str, str],
    stages: Mapping[str, int],
    dropped: Sequence[Dropped],
) -> dict[str, Any]:
    """Return what a user of the data has to know of how they came about, whatever the benchmark."""
    return {
        "schema": 1,
        "sources": [source.name for source in order.sources],
        "rules": order.rules.model_dump(mode="json"),
        "seed": order.seed,
        "models": dict(models),
        "stages": dict(stages),
        "version": version(),
        "prompts": run_plan.prompts.digest,
        "dropped": dict(Counter(entry.stage for entry in dropped)),
    }


def _prompts(benchmark: Benchmark) -> Pack:
    """Return the prompts of the benchmark that the data are for, and those of the construction alone."""
    of = benchmark.name.removesuffix("-construction")
    more = benchmarks.folder(of) / "construction" / "prompts"
    return pack({**datasets.prompts(of).files, **datasets.prompt_files(more)})
