"""Construction of data sets: each draft is an episode, played with the caller, journal and store of a run.

A draft is a picture or a paper to write a sample about. The same command continues a stopped construction: its replies are
in the journal of the output folder. Replies that depend only on the source material are in the store.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from lotbench import benchmarks
from lotbench.config.experiment import Experiment, Limits
from lotbench.config.model_names import parse
from lotbench.harness.benchmark import Benchmark
from lotbench.prompting.prompt import Pack, pack
from lotbench.run.calling import Calls
from lotbench.run.plan import Plan, version
from lotbench.run.session import loop
from lotbench.storage import datasets, export
from lotbench.types import Sample


@dataclass(frozen=True, slots=True)
class Order:
    """The request for the construction of a data set.

    Attributes:
        sources: The source files or folders.
        out: The output folder.
        models: The name of each role's model.
        rules: The settings of the construction.
        preflight: Whether to test each model with one call first.
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
    """A piece of the source material that was dropped, with the stage of the construction and the reason."""

    id: str
    stage: str
    reason: str


def plan(order: Order, benchmark: Benchmark, drafts: Sequence[Sample]) -> Plan:
    """Return the plan of a construction, with an episode for each draft (a picture or paper to write a sample about).

    Args:
        order: The request.
        benchmark: The construction, as a benchmark.
        drafts: The drafts, with pictures as absolute paths.

    Raises:
        UsageError: A model's name is not valid, or a limit of cost is set and a model has no price.
    """
    names = {role: (parse(order.models[role]),) for role in benchmark.roles}
    return Plan(
        benchmark=benchmark,
        experiment=Experiment(benchmark=benchmark.name, seed=order.seed, repeats=1),
        limits=order.limits,
        settings=order.rules,
        folder=order.out,
        data=tuple(drafts),
        chosen=tuple(drafts),
        data_rows=(),
        of=len(drafts),
        pictures=datasets.Pictures(order.out, drafts, 1024),
        prompts=_prompts(benchmark),
        names=names,
        by_id={draft.id: draft for draft in drafts},
    )


async def finished(
    calls: Calls,
    order: Order,
    outcome: str,
    dropped: list[Dropped],
    about: Callable[[Any], str] = lambda draft: "",
) -> list[tuple[Any, Any]]:
    """Play one episode for each draft, and return the drafts whose episode ended with this outcome, each with its memory.

    Args:
        calls: The calls of the construction.
        order: The request.
        outcome: The outcome of the drafts to return.
        dropped: A list to which the other drafts are added.
        about: Returns a text to put before the reason why a draft was dropped.

    Raises:
        LotbenchError: A model cannot be reached, or a limit is reached.
    """
    async with calls.caller.budget.ending():
        if order.preflight:
            await calls.check()
        episodes = loop(calls.plan, calls.caller.ask)
        traces = {trace.sample: trace async for trace in episodes.traces(calls.plan.sequences())}
    for error in episodes.crashed.values():
        raise error
    ended = []
    for draft in calls.plan.data:
        trace = traces[draft.id]
        if trace.outcome == outcome:
            ended.append((draft, trace.memory))
        else:
            stage = "quality" if trace.outcome == "dropped" else trace.outcome
            dropped.append(Dropped(draft.id, stage, f"{about(draft)}{trace.why}"))
    return ended


def models(calls: Calls) -> dict[str, list[str]]:
    """Return the models of each role: all ids in its replies, or before any reply its configured name."""
    ids = calls.caller.journal.totals.ids()
    return {
        role: [*chain.from_iterable(ids.get(role, ()))] or [panel[0].name]
        for role, panel in calls.caller.role_models.items()
    }


def write_card(
    calls: Calls,
    order: Order,
    of: str,
    stages: Mapping[str, int],
    dropped: Sequence[Dropped],
    facts: dict[str, Any],
) -> None:
    """Write card.json, which says how the data set was made, and the dropped pieces to dropped.jsonl, one per line.

    `of` is the field name of the ids of dropped pieces. `facts` are what only this construction has to say.
    """
    rows = [{of: entry.id, "stage": entry.stage, "reason": entry.reason} for entry in dropped]
    calls.folder.write("dropped.jsonl", export.text(rows, ".jsonl"))
    card = {
        "schema": 1,
        "sources": [source.name for source in order.sources],
        "rules": order.rules.model_dump(mode="json"),
        "seed": order.seed,
        "models": {role: ", ".join(ids) for role, ids in models(calls).items()},
        "stages": dict(stages),
        "version": version(),
        "prompts": calls.plan.prompts.digest,
        "dropped": dict(Counter(entry.stage for entry in dropped)),
    }
    calls.folder.write_json("card.json", card | facts)


def _prompts(benchmark: Benchmark) -> Pack:
    """Return the prompts for a construction named NAME-construction: those of benchmark NAME, and those of its construction."""
    of = benchmark.name.removesuffix("-construction")
    more = benchmarks.folder(of) / "construction" / "prompts"
    return pack({**datasets.prompts(of).files, **datasets.prompt_files(more)})
