"""Judge validation: labelled rows are put to a judge by the benchmark's own nodes.

A probe is a point in an episode: a node, and the state when it is reached. The node asks the judge exactly as in a run,
so the check measures the judge as it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

from pydantic import BaseModel

from lotbench.config.experiment import digest
from lotbench.config.model_names import ModelName, Names, address
from lotbench.harness.state import State
from lotbench.prompting.prompt import Pack
from lotbench.report.sections import Section
from lotbench.report.trust import Check
from lotbench.types import JSON, Metric, Question, Trace


@dataclass(frozen=True, slots=True)
class Probe:
    """A labelled row, or the part of it that is judged at once, as a point in an episode.

    Attributes:
        id: The id, which does not change while the row stays the same.
        role: The role that is asked.
        sample: The id of the sample.
        step: The name of the node that asks.
        turn: The current round in the state, when the node is reached.
        label: The right answer of a yes/no question; otherwise `rulings` derives the truth from `known`.
        kind: The kind of the row, such as `easy` or `hard`, for rates by kind; None for no kind.
        labels: The labels of the row; two if it was labelled twice.
        contested: Whether the two labellings differ; contested rows are left out of rates.
        state: Other fields of the state, when the node is reached (steps, draft).
        task: The name of the question, if the role has several; panels of the same task judge it.
        group: The name that probes share if one ruling needs all of them; a limit takes whole groups. "" for a probe alone.
        known: The truth in the row, for `rulings`.
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
    """The result of a probe: the verdict of the first judge (`first`), and that of the whole panel (`last`).

    A verdict is None if it could not be read (`why` has the reason), or if the answer is more than a yes or no (`values`).
    `how` is `judge`, or the name of the rule that decided without a judge.
    """

    first: bool | None
    last: bool | None
    why: str | None = None
    how: str = "judge"
    stages: Mapping[str, str] | None = None
    """Texts that the judge wrote on the way, by stage, for people to mark."""
    values: Mapping[str, JSON] | None = None
    """The judge's answer by name, if it is more than a yes or no."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """A judge's decision, with the known truth.

    Attributes:
        criterion: The name of the criterion; each has its own rates. "" if there is only one.
        row: The id of what is ruled on, unique in its criterion.
        item: The cluster for intervals (a story, a task): errors of rulings on one item are correlated.
        said: The judge's decision; None if it could not be read.
    """

    criterion: str
    row: str
    item: str
    kind: str | None
    language: str
    truth: bool
    said: bool | None


@dataclass(frozen=True, slots=True)
class JudgePanel:
    """The judges that judge together, and their settings.

    Attributes:
        indexes: The judges' indices among the models of the role, in the order of judging.
        variant: The name of the variant (the judge mode, what the oracle sees), for comparison with other panels.
        alone: The settings under which the first judge's verdict decides alone; None if it does so under `settings`.
        task: The task of the probes that the panel judges; see `Probe`.
    """

    role: str
    indexes: tuple[int, ...]
    variant: str
    settings: Any
    alone: Any = None
    task: str = ""


@dataclass(frozen=True, slots=True)
class JudgeContext:
    """The data from which the quality of a run's judges is computed.

    Attributes:
        sampling: The sampling parameters of each role, as JSON.
        ids: The model ids in the replies, by role and index.
        names: The configured names of the models, by role and index.
        data: The digest of the data set.
        run: The name of the run's folder.
        records: The judge checks that count for the run: those in the store, then those in the run folder.
    """

    traces: Sequence[Trace]
    settings: Any
    seed: int
    prompts: Pack
    sampling: Mapping[str, JSON]
    ids: Mapping[str, Sequence[Sequence[str]]]
    names: Names
    data: str
    run: str
    records: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class JudgeQuality:
    """The measured quality of a run's judges, for the report and for the rule of trust.

    Attributes:
        checks: One check for each role, task and judge that scores rest on; input of the rule of trust (`report.trust`).
        sections: Sections for the report.
        scores: Further metrics for the report, by name; None for none.
        used: The records that the quality is computed from; a run folder keeps them.
        chance: The value of each metric that a player reaches by wrong guesses alone, since judges accept some of them; None
            if unknown.
        said: A note for the report on how the values in `chance` were found; may be empty.
    """

    checks: tuple[Check, ...] = ()
    sections: tuple[Section, ...] = ()
    scores: Mapping[str, Metric] | None = None
    used: tuple[Mapping[str, Any], ...] = ()
    chance: Mapping[str, float | None] = field(default_factory=dict)
    said: str = ""


def played(traces: Sequence[Trace]) -> str:
    """Return a digest of all that was said in a run's episodes: labels belong to the run with this digest."""
    said = [[trace.sample, trace.repeat, [step.get("value") for step in trace.steps]] for trace in traces]
    return digest(sorted(said, key=lambda episode: episode[:2]))


Place: TypeAlias = tuple[str, int, int]
"""Sample, repeat and round of a verdict."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Verdicts of a run that are drawn for people to label.

    Attributes:
        rows: The rows that people see, without the verdict.
        strata: The stratum of each row, in order.
        sizes: For each stratum the number of verdicts in the run, and whether they accept.
        places: The sample, repeat and round of each row.
        role: The role that gave the verdicts.
        indexes: The indices among the role's models of those that judged together.
    """

    rows: Sequence[Mapping[str, JSON]]
    strata: Sequence[str]
    sizes: Mapping[str, tuple[int, bool]]
    places: Sequence[Place]
    role: str
    indexes: tuple[int, ...]


def decided(judged: Sequence[tuple[Probe, ProbeResult]]) -> list[Ruling]:
    """Return one ruling for each probe that a judge decided: the panel's verdict and the label."""
    return [
        Ruling("", probe.id, probe.sample, probe.kind, probe.language, probe.label, result.last)
        for probe, result in judged
        if result.how == "judge"
    ]


@dataclass(frozen=True, slots=True)
class Validation:
    """How the judges of a benchmark are checked; all functions are pure.

    Attributes:
        rows: The pydantic class of a line of each file of a judge set, by role and file name.
        probes: Returns the probes of a role from the rows of a file and the samples by id, and the faults of the rows. Without
            rows: the probes that the data set itself contains.
        panels: Returns the panels to measure, from a role, its number of models, the settings, and whether to take every
            variant.
        read: Returns the result of a probe, from the state after its step.
        depends: Returns the settings (with the benchmark's name) and the names of the prompts that verdicts depend on, from
            role and settings.
        rulings: Returns the rulings of a panel, from the results of all probes of one repeat.
        deciding: Returns the criteria that a score rests on, from role and settings, each with the name of its bounds in
            `report.trust.BOUNDS`.
        draw: Draws at most n verdicts of a run for people to label, from traces, samples by id, settings, n and seed; None if
            the benchmark has none to label.
        redraw: Changes the question for a causal chain so that the judge writes a new one, of the given number; None if judges
            store no chain.
        standing: Returns the quality of a run's judges; None takes one check for each judge (`harness.judge_standing`).
        calls: The largest number of calls that the judging of a row takes.
        uncovered: The metric that rests on verdicts which no check covers; "" if there is none.
        of_data: Whether verdicts also depend on the data set.
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
    calls: int = 1
    uncovered: str = ""
    of_data: bool = False

    @property
    def files(self) -> dict[str, type[BaseModel]]:
        """The pydantic class of a line of each file, over all roles."""
        return {name: row for files in self.rows.values() for name, row in files.items()}

    def key(self, role: str, settings: Any, prompts: Pack, sampling: JSON, data: str) -> dict[str, JSON]:
        """Return the part of a check's key that does not name the models; `data` is the digest of the data set."""
        depends, heard = self.depends(role, settings)
        parts = {**depends, "role": role, "prompts": prompts_heard(prompts, heard), "sampling": sampling}
        return parts | ({"data": data} if self.of_data else {})


def judged_by(
    ids: Sequence[Sequence[str]], names: Sequence[ModelName], indexes: Sequence[int]
) -> dict[str, JSON] | None:
    """Return the part of a check's key that names the models: their ids, and their addresses if any has one.

    None unless the replies of each judge name exactly one id. `ids` and `names` are those of a role by index. A server that
    answers under another id than it was asked for may do so for every model, so the asked name then follows its address.
    """
    if any(index >= len(ids) or len(ids[index]) != 1 for index in indexes):
        return None
    models = [ids[index][0] for index in indexes]
    places: list[JSON] = []
    for index, model_id in zip(indexes, models, strict=True):
        name, there = names[index], address(names[index])
        other = there and name.url and model_id != name.model
        places.append(f"{there} ({name.model})" if other else there)
    return {"models": [*models]} | ({"addresses": places} if any(places) else {})


def stratified(probes: Sequence[Probe], n: int, seed: str) -> list[Probe]:
    """Return the probes of at most n groups (`Probe.group`), drawn in turn from strata of task, kind, language and label."""
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
    """Return the digest of the prompts with these names, in every language."""
    return digest(
        {path: text for path, text in pack.files.items() if path.split("/")[-1].removesuffix(".txt") in names}
    )
