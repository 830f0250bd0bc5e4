"""What a judge check will do: its judges, its rows and who is put which of them.

Everything that can be wrong with what a person asked for, or with the judge set, is found here, before the
first call and before a folder is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lotbench import benchmarks
from lotbench.calls.caller import CallStats
from lotbench.config.experiment import Config, Experiment
from lotbench.config.model_names import ModelName
from lotbench.errors import DataError, UsageError
from lotbench.harness.judge_validation import JudgePanel, Probe, Validation, stratified
from lotbench.run import plan
from lotbench.run.plan import Plan
from lotbench.storage import datasets, judge_set
from lotbench.types import JSON

REPEATS = 2
"""Judgings of each row, unless said otherwise: the fewest that show how often a verdict flips."""


@dataclass(frozen=True, slots=True)
class WantedCheck:
    """What to check.

    Attributes:
        config: Its roles are the judges; its `repeats` say how often each row is judged.
        judge_set: A folder, or "" for the one that is shipped.
        split: tune, test or all.
        limit: At most so many rows a role, from each kind alike.
        every: Measure every variant of the judge's settings, not only the one that is set.
        stages: Where the chains go that people are to mark.
    """

    config: Config
    judge_set: str = ""
    split: str = "test"
    limit: int | None = None
    every: bool = False
    stages: Path | None = None
    out: Path = Path("runs")
    fresh: bool = False
    preflight: bool = True


@dataclass(slots=True)
class Prepared:
    """A check before it begins; `every_row` has the contested and those of other splits too."""

    wanted: WantedCheck
    plan: Plan
    validation: Validation
    names: Mapping[str, tuple[ModelName, ...]]
    rows: judge_set.JudgeSet
    every_row: Sequence[Probe]
    probes: Sequence[Probe]
    panels: Sequence[JudgePanel]
    stats: CallStats = field(default_factory=CallStats)
    done: int = 0

    @property
    def repeats(self) -> int:
        """How often each row is judged."""
        return self.wanted.config.experiment.repeats or REPEATS

    @property
    def total(self) -> int:
        """Judgings in all."""
        return self.repeats * sum(len(self.taken(panel)) for panel in self.panels)

    @property
    def on_shipped(self) -> bool:
        """Whether it is on the judge set that comes with the benchmark, which counts whatever data set is played."""
        own = self.rows.folder.resolve() == judge_set.find("", self.plan.benchmark.name).resolve()
        return own and self.rows.is_about(self.plan.folder)

    def taken(self, panel: JudgePanel) -> list[Probe]:
        """Return the probes that a panel is put."""
        return [one for one in self.probes if (one.role, one.task) == (panel.role, panel.task)]

    @property
    def frozen(self) -> dict[str, JSON]:
        """What the check's numbers depend on."""
        wanted = self.wanted
        return {
            "schema": 1,
            "experiment": self.plan.experiment.model_dump(mode="json"),
            "roles": {role: [name.text for name in given] for role, given in self.names.items()},
            "set": self.rows.digest,
            "split": wanted.split,
            "limit": wanted.limit,
            "every": wanted.every,
            "repeats": self.repeats,
            "digests": self.plan.digests,
        }


def prepare(wanted: WantedCheck) -> Prepared:
    """Read the judge set and say who is to judge what.

    Raises:
        UsageError: No judge and no oracle is named, or there is nothing to check with.
        DataError: The judge set has faults.
    """
    given = wanted.config.experiment
    declared = benchmarks.get(given.benchmark).validation
    if declared is None:
        raise UsageError(f"{given.benchmark} has no judge set")
    found = judge_set.find(wanted.judge_set, given.benchmark)
    config = wanted.config.model_copy(update={"experiment": given.model_copy(update=_filled(given, found))})
    if not any(role in given.roles for role in declared.rows):
        flags = " or ".join(f"--{role} M" for role in declared.rows)
        raise UsageError(f"nobody to check: give {flags}")
    made = plan.make(config)
    names = {role: made.names[role] for role in declared.rows if role in given.roles}
    rows = judge_set.load(found, {name: row for role in names for name, row in declared.rows[role].items()})
    every_row = _probes(rows, wanted, declared, made, names)
    panels = [
        panel
        for role in names
        for panel in declared.panels(role, len(names[role]), made.settings, wanted.every)
    ]
    taken = {(one.role, one.task) for one in panels}
    every_row = [one for one in every_row if (one.role, one.task) in taken]
    probes = [one for one in every_row if _counts(one, wanted)]
    if wanted.limit is not None:
        seed = f"{made.experiment.seed}:judge-check"
        probes = [
            one
            for role in names
            for one in stratified([p for p in probes if p.role == role], wanted.limit, seed)
        ]
    if not probes:
        raise UsageError(f"{found}: no rows of split {wanted.split!r}")
    put = {(one.role, one.task) for one in probes}
    panels = [one for one in panels if (one.role, one.task) in put]
    return Prepared(wanted, made, declared, names, rows, every_row, probes, panels)


def _counts(probe: Probe, wanted: WantedCheck) -> bool:
    """Return whether a row is part of the check."""
    return not probe.contested and wanted.split in ("all", probe.split)


def _filled(given: Experiment, found: Path) -> dict[str, str]:
    """Return what a check asks of an experiment: a candidate in name only, and the samples that the rows are about."""
    own = found / "samples.jsonl"
    about = str(found) if own.is_file() else judge_set.about_of(found).data
    return {"model": given.model or "human", "data": given.data or about}


def _probes(
    rows: judge_set.JudgeSet,
    wanted: WantedCheck,
    validation: Validation,
    made: Plan,
    names: Mapping[str, Any],
) -> list[Probe]:
    """Return the probes of the set's rows and those that the data set brings itself.

    Raises:
        UsageError: The set is about other samples, or has no rows for a role.
        DataError: Every fault of every row, with file, line and field.
    """
    if not rows.is_about(made.folder):
        brought = [one for role in names for one in validation.probes(role, [], made.by_id)[0]]
        if brought and not wanted.judge_set:
            return brought
        raise UsageError(
            f"{rows.folder}: is about the data set {rows.about.data!r}, not {made.folder.name!r}; leave --data out: "
            "a check on the shipped judge set counts whatever is played"
        )
    for role in names:
        if not any(file in rows.rows for file in validation.rows[role]):
            either = " or ".join(validation.rows[role])
            raise UsageError(f"{rows.folder}: no {either}, which a check of the {role} needs")
    return _found(rows, validation, names, made.by_id)


def _found(
    rows: judge_set.JudgeSet, validation: Validation, roles: Iterable[str], data: Mapping[str, Any]
) -> list[Probe]:
    found: list[Probe] = []
    faults: list[str] = []
    for role in roles:
        for file in (name for name in validation.rows[role] if rows.rows.get(name)):
            probes, wrong = validation.probes(role, [row for _, row in rows.rows[file]], data)
            found.extend(probes)
            faults += rows.places(file, wrong)
        found.extend(validation.probes(role, [], data)[0])
    if faults:
        raise DataError(faults)
    return found


def read_set(folder: Path) -> tuple[judge_set.JudgeSet, Sequence[Probe]]:
    """Return a judge set by itself, whoever is to be checked with it: its rows, and what a judge is put.

    Raises:
        UsageError: It is of no benchmark that has judges, or its data set is not there.
        DataError: Every fault of every row, with file, line and field.
    """
    about = judge_set.about_of(folder)
    benchmark = benchmarks.get(about.benchmark)
    validation = benchmark.validation
    if validation is None:
        raise UsageError(f"{folder / 'set.toml'}: benchmark: {benchmark.name} has no judges to check")
    rows = judge_set.load(folder, validation.files)
    data = {item.id: item for item in datasets.samples(judge_set.subject(folder), benchmark.Item)}
    return rows, _found(rows, validation, validation.rows, data)
