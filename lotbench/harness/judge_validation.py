"""Rows with a known answer, put to a judge as the game would put them; what the core knows of validation.

A probe is a place in an episode: the node that asks, and what the round has come to. The benchmark's own node
then asks its own questions, so that what is measured is what is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

from pydantic import BaseModel

from lotbench.config.experiment import digest
from lotbench.harness.state import State
from lotbench.prompting.prompt import Pack
from lotbench.report.sections import Section
from lotbench.report.trust import Check
from lotbench.types import JSON, Metric, Question, Trace


@dataclass(frozen=True, slots=True)
class Probe:
    """One labelled row, or the part of it that a judge is put at once.

    Attributes:
        id: Stable while the row says the same.
        step: The node of the graph that asks.
        turn: What has come of the round when that node is reached.
        label: The right answer where that is a yes or a no; else what `rulings` makes of `known` counts.
        kind: What makes the row easy or hard; None where that means nothing.
        contested: The two labellings differ: the row is left out of rates.
        state: What else of the episode's state is there when that node is reached (steps, draft).
        task: Which of the things that a role is asked for this is; panels of the same task take it.
        group: What is ruled on together: a limit takes all of a group or none; each probe is its own if empty.
        known: What the row says of the truth, for `rulings`.
    """

    id: str
    role: str
    sample: str
    step: str
    turn: Mapping[str, JSON] = field(default_factory=dict)
    label: bool = True
    kind: str | None = None
    language: str = "en"
    split: str = "test"
    labels: tuple[bool, ...] = ()
    contested: bool = False
    state: Mapping[str, JSON] = field(default_factory=dict)
    task: str = ""
    group: str = ""
    known: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What became of a probe: the first judge's verdict, and that of all the judges it takes.

    None is a verdict that could not be read (`why`); a probe that words decide without a judge has `how`.
    """

    first: bool | None
    last: bool | None
    why: str | None = None
    how: str = "judge"
    stages: Mapping[str, str] | None = None
    """What the judge wrote on its way, by stage, for people to mark."""
    values: Mapping[str, JSON] | None = None
    """What the judge said, by name, where that is more than a yes or a no."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """One thing that a judge said where the truth is known: a decision beside a decision, or a number beside one.

    Attributes:
        criterion: What is ruled on; each has rates of its own.
        row: What is ruled on, unique in its criterion.
        item: What rows have in common that err together (a story, a task): the cluster of intervals.
        said: None if it could not be read.
    """

    criterion: str
    row: str
    item: str
    kind: str | None
    language: str
    truth: bool | float
    said: bool | float | None


@dataclass(frozen=True, slots=True)
class JudgePanel:
    """Who judges together, under which settings.

    Attributes:
        indexes: Their places among the models of the role, in the order in which they judge.
        variant: What is compared with other panels of the role (the judge mode, what the oracle sees).
        alone: The settings under which the first verdict would stand alone; None if it does.
        task: Which probes it takes; see `Probe`.
    """

    role: str
    indexes: tuple[int, ...]
    variant: str
    settings: Any
    alone: Any = None
    task: str = ""


@dataclass(frozen=True, slots=True)
class JudgeContext:
    """What is known of a run when it is asked how well its judges judge.

    Attributes:
        ids: The ids that each index of each role returned.
        addresses: Of each index of each role; see `config.model_names.address`.
        run: The name of the run's folder.
        records: Every judge check in the store, or kept with the run.
    """

    traces: Sequence[Trace]
    settings: Any
    seed: int
    prompts: Pack
    sampling: Mapping[str, JSON]
    ids: Mapping[str, Sequence[Sequence[str]]]
    addresses: Mapping[str, Sequence[str]]
    data: str
    run: str
    records: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class JudgeQuality:
    """How well a run's judges are known to judge: what the report says, and what the rule of trust is told.

    Attributes:
        checks: What is known of the verdicts that the scores rest on, a check for each role, task and judge: what the
            rule of trust decides by (`report.trust`).
        used: The records that this rests on; a run keeps them.
        chance: The chance line: what wrong guesses get in each metric; None where that is not known.
        said: Where the chance line comes from.
    """

    checks: tuple[Check, ...] = ()
    sections: tuple[Section, ...] = ()
    scores: Mapping[str, Metric] | None = None
    used: tuple[Mapping[str, Any], ...] = ()
    chance: Mapping[str, float | None] = field(default_factory=dict)
    said: str = ""


Place: TypeAlias = tuple[str, int, int]
"""Sample, repeat and round of a verdict."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Verdicts of a run, drawn for people to label.

    Attributes:
        rows: What people see: nothing of the verdict.
        strata: The stratum of each row, in order.
        sizes: How many verdicts of the run each stratum has, and whether they accept.
        places: Where each row stands in the run.
        role: Who gave the verdicts, and which indexes of the role together.
    """

    rows: Sequence[Mapping[str, JSON]]
    strata: Sequence[str]
    sizes: Mapping[str, tuple[int, bool]]
    places: Sequence[Place]
    role: str
    indexes: tuple[int, ...]


def decided(judged: Sequence[tuple[Probe, ProbeResult]]) -> list[Ruling]:
    """Return a ruling a probe: its last verdict beside its label; what words decided without a judge is none of a judge's."""
    return [
        Ruling("", probe.id, probe.sample, probe.kind, probe.language, probe.label, result.last)
        for probe, result in judged
        if result.how == "judge"
    ]


@dataclass(frozen=True, slots=True)
class Validation:
    """How a benchmark's judges are checked; every function is pure.

    Attributes:
        rows: The model of a line of each file of a judge set, by role and file name.
        probes: The probes of a file's rows, and every fault of them against the data set; of no rows, the probes that a data
            set brings itself.
        panels: Who is measured how, from a role, its number of indexes and the settings; a last argument of `True` wants
            every variant there is.
        read: What became of a probe, from the state after its step.
        depends: What a role's verdicts depend on beside the models, from role and settings: the benchmark's name with those
            settings, and the names of the prompts that it hears. `of_data` says whether they depend on the data set too.
        rulings: What a panel's results come to, from all probes that it was put once.
        deciding: The criteria that a score rests on, from role and settings, each with the bounds that it is held to (a
            name in `report.trust.BOUNDS`).
        draw: Verdicts of a run for people to label, at most so many; None if people label none.
        redraw: A question as it is asked to get the causal chain of a number above 0, and not the kept one; None where judges
            keep none.
        standing: How well a run's judges are known to judge; None goes by a check of each judge (`harness.judge_standing`).
    """

    rows: Mapping[str, Mapping[str, type[BaseModel]]]
    probes: Callable[[str, Sequence[Any], Mapping[str, Any]], tuple[Sequence[Probe], Sequence[str]]]
    panels: Callable[[str, int, Any, bool], Sequence[JudgePanel]]
    read: Callable[[Probe, State], ProbeResult]
    depends: Callable[[str, Any], tuple[dict[str, JSON], Set[str]]]
    rulings: Callable[[Sequence[tuple[Probe, ProbeResult]]], Sequence[Ruling]] = decided
    deciding: Callable[[str, Any], Mapping[str, str]] = lambda role, settings: {"": ""}
    draw: Callable[[Sequence[Trace], Mapping[str, Mapping[str, Any]], Any, int, int], Draw] | None = None
    redraw: Callable[[Question, int], Question] | None = None
    standing: Callable[[Validation, JudgeContext], JudgeQuality] | None = None
    of_data: bool = False

    @property
    def files(self) -> dict[str, type[BaseModel]]:
        """The model of a line of each file, whoever judges it."""
        return {name: row for files in self.rows.values() for name, row in files.items()}

    def key(self, role: str, settings: Any, prompts: Pack, sampling: JSON, data: str) -> dict[str, JSON]:
        """Return what a role's verdicts depend on beside the models; `data` is the digest of the data set."""
        depends, heard = self.depends(role, settings)
        parts = {**depends, "role": role, "prompts": prompts_heard(prompts, heard), "sampling": sampling}
        return parts | ({"data": data} if self.of_data else {})


def judged_by(models: Sequence[str], addresses: Sequence[str]) -> dict[str, JSON]:
    """Return the judges in the name of a check, by index: the ids that they returned, and addresses where ids are not enough."""
    table: dict[str, JSON] = {"models": [*models]}
    return table | ({"addresses": [*addresses]} if any(addresses) else {})


def stratified(probes: Sequence[Probe], n: int, seed: str) -> list[Probe]:
    """Take at most n probes or groups of probes, in turn from each stratum of task, kind, language and label; in their order."""
    first: dict[str, Probe] = {}
    for probe in probes:
        first.setdefault(probe.group or probe.id, probe)
    strata: dict[tuple[Any, ...], list[str]] = {}
    for name, probe in first.items():
        strata.setdefault((probe.task, probe.kind or "", probe.language, probe.label), []).append(name)
    rng = Random(seed)
    piles = [rng.sample(strata[name], len(strata[name])) for name in sorted(strata)]
    turns = [pile[at] for at in range(max(map(len, piles), default=0)) for pile in piles if at < len(pile)]
    chosen = set(turns[:n])
    return [probe for probe in probes if (probe.group or probe.id) in chosen]


def prompts_heard(pack: Pack, names: Set[str]) -> str:
    """Return the digest of the prompts of these names, in every language."""
    return digest(
        {path: text for path, text in pack.files.items() if path.split("/")[-1].removesuffix(".txt") in names}
    )
