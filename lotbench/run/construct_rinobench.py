"""A data set of ideas built from reviewed papers: filter, bin, write, check, split (rinobench.txt, Sec. 4.1).

Every model step passes the caller, journal and store of a run, so a build that was stopped goes on where it was
when the same command is given again. What was dropped stands beside what was kept, paper by paper.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from lotbench.benchmarks.rinobench.construction import papers as construction
from lotbench.benchmarks.rinobench.construction.papers import Paper, Rated, Rules
from lotbench.benchmarks.rinobench.construction.writing import ROLES, Draft, benchmark, item
from lotbench.benchmarks.rinobench.sample import LABELS, Item
from lotbench.config.experiment import Experiment, Limits
from lotbench.config.model_names import parse
from lotbench.edge.calls.budget import refuse_unpriced
from lotbench.edge.files import datasets, run_folder
from lotbench.edge.importers import published
from lotbench.errors import DataError
from lotbench.prompting.prompt import Pack, pack
from lotbench.run import plan
from lotbench.run.calling import Calls, calling
from lotbench.run.plan import Plan
from lotbench.run.session import loop
from lotbench.types import Trace


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be built, of which files, by which models."""

    sources: tuple[Path, ...]
    out: Path
    writer: str
    judge: str
    rules: Rules
    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    preflight: bool = True


@dataclass(frozen=True, slots=True)
class Built:
    """What came of it: both splits, and how many papers were left after each stage."""

    train: tuple[Item, ...]
    test: tuple[Item, ...]
    stages: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Dropped:
    """A paper that is no sample, and why."""

    paper: str
    stage: str
    reason: str


async def build(wanted: Wanted, own: Mapping[str, Any] | None = None) -> Built:
    """Build a data set; the same call again goes on where an earlier one was stopped.

    Args:
        wanted: What is to be built.
        own: Models given as Python objects, by name.

    Raises:
        DataError: A source has faults, or no paper is left.
        LotbenchError: A model cannot be reached, or a limit is used up.
    """
    papers = _papers(wanted.sources)
    dropped: list[Dropped] = []
    agreed = _left(papers, "ratings", construction.disagreement, wanted.rules, dropped)
    if not agreed:
        raise DataError([f"{wanted.sources[0]}: of {len(papers)} papers none has ratings that agree"])
    rated, edges = construction.binned(agreed, wanted.rules)
    rich = {one.id for one in _left(agreed, "related works", construction.poverty, wanted.rules, dropped)}
    drafts = [Draft(one.paper, one.score) for one in rated if one.paper.id in rich]
    if not drafts:
        raise DataError([f"{wanted.sources[0]}: no paper has {wanted.rules.min_works} related works"])
    made = _plan(wanted, drafts)
    async with calling(made, partial(run_folder.Folder, wanted.out), own) as calls:
        traces = await _walked(calls, preflight=wanted.preflight)
        models = {
            role: given[0].model_id or given[0].name for role, given in calls.caller.role_models.items()
        }
        kept = _kept(drafts, traces, models["writer"], dropped)
        stages = {
            "papers": len(papers),
            "with ratings that agree": len(agreed),
            "with enough related works": len(drafts),
            "with an idea and a justification that hold": len(kept),
        }
        built = _split(kept, wanted, stages)
        _write(calls.folder, built, dropped)
        card = _card(wanted, built, edges, rated, models) | {"prompts": made.prompts.digest}
        card["dropped"] = dict(Counter(one.stage for one in dropped))
        calls.folder.write_json("card.json", card)
    return built


def _papers(sources: Sequence[Path]) -> list[Paper]:
    found = [paper for source in sources for paper in construction.published(published.Files(source))]
    counts = Counter(paper.id for paper in found)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise DataError([f"{sources[0]}: paper {name!r} comes {counts[name]} times" for name in twice])
    return found


def _left(papers: Sequence[Paper], stage: str, why: Any, rules: Rules, dropped: list[Dropped]) -> list[Paper]:
    """The papers that a rule has nothing against; the others are noted with its reason."""
    left = []
    for paper in papers:
        if reason := why(paper, rules):
            dropped.append(Dropped(paper.id, stage, reason))
        else:
            left.append(paper)
    return left


def _plan(wanted: Wanted, drafts: Sequence[Draft]) -> Plan:
    """The walks of all drafts as a run's, though no experiment of a user's."""
    names = {role: (parse(getattr(wanted, role)),) for role in ROLES}
    refuse_unpriced(wanted.limits, {given[0].text: given[0] for given in names.values()})
    return Plan(
        benchmark=benchmark,
        experiment=Experiment(benchmark=benchmark.name, seed=wanted.seed, repeats=1),
        limits=wanted.limits,
        settings=wanted.rules,
        folder=wanted.out,
        data=tuple(drafts),
        chosen=tuple(drafts),
        beside=(),
        of=len(drafts),
        pictures=datasets.Pictures(wanted.out, (), 1024),
        prompts=_prompts(),
        names=names,
        by_id={draft.id: draft for draft in drafts},
    )


async def _walked(calls: Calls, *, preflight: bool) -> list[Trace]:
    """The walks of all drafts."""
    if preflight:
        await calls.check()
    walks = loop(calls.plan, calls.caller.ask)
    traces = [trace async for trace in walks.traces(calls.plan.lanes())]
    for error in walks.crashed.values():
        raise error
    return traces


def _prompts() -> Pack:
    """The prompts of the benchmark, whose checks are used here too, and those of the construction alone."""
    more = datasets.PACKAGE / "benchmarks" / "rinobench" / "construction" / "prompts"
    return pack({**datasets.prompts("rinobench").files, **datasets.prompt_files(more)})


def _kept(
    drafts: Sequence[Draft], traces: Sequence[Trace], writer: str, dropped: list[Dropped]
) -> list[Item]:
    """The samples, in the order of the papers; walks that ended otherwise are noted with their reason."""
    ends = {trace.sample: trace for trace in traces}
    kept = []
    for draft in drafts:
        trace = ends[draft.id]
        if trace.outcome == "kept":
            found: Any = trace.memory
            kept.append(item(draft, found, [writer]))
        else:
            stage = "quality" if trace.outcome == "dropped" else trace.outcome
            dropped.append(Dropped(draft.id, stage, str(trace.why)))
    return kept


def _split(kept: Sequence[Item], wanted: Wanted, stages: Mapping[str, int]) -> Built:
    scores = {one.id: int(one.novelty_score) for one in kept}
    test = construction.split(scores, wanted.rules.test_share, wanted.seed)
    return Built(
        train=tuple(one for one in kept if one.id not in test),
        test=tuple(one for one in kept if one.id in test),
        stages=stages,
    )


def _write(place: run_folder.Folder, built: Built, dropped: Sequence[Dropped]) -> None:
    """The splits that have samples, each a data set of its own, and the papers that are none."""
    for name, items in (("train", built.train), ("test", built.test)):
        if items:
            lines = (f"{one.model_dump_json(exclude_defaults=True)}\n" for one in items)
            place.write(f"{name}/samples.jsonl", lines)
    rows = ({"paper": one.paper, "stage": one.stage, "reason": one.reason} for one in dropped)
    place.write("dropped.jsonl", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def _card(
    wanted: Wanted,
    built: Built,
    edges: Mapping[str, Sequence[float]],
    rated: Sequence[Rated],
    models: Mapping[str, str],
) -> dict[str, Any]:
    """What a user of the data has to know of how they came about."""

    def support(scores: Sequence[int]) -> dict[str, int]:
        return {str(label): sum(one == label for one in scores) for label in LABELS}

    return {
        "schema": 1,
        "sources": [source.name for source in wanted.sources],
        "rules": wanted.rules.model_dump(mode="json"),
        "seed": wanted.seed,
        "models": dict(models),
        "edges": {venue: list(its) for venue, its in edges.items()},
        "stages": dict(built.stages),
        "support": {
            "rated": support([one.score for one in rated]),
            "train": support([one.novelty_score for one in built.train]),
            "test": support([one.novelty_score for one in built.test]),
        },
        "version": plan.version(),
    }
