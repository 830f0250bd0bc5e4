"""What a judge check will do: its judges, its rows and who is put which of them.

Everything that can be wrong with what a person asked for, or with the judge set, is found here, before the
first call and before a folder is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lotbench.config.experiment import Config
from lotbench.config.model_names import ModelName
from lotbench.edge.calls.caller import CallStats
from lotbench.edge.files import judge_set
from lotbench.errors import DataError, UsageError, at
from lotbench.harness.judge_validation import JudgePanel, Probe, Validation, stratified
from lotbench.run import plan
from lotbench.run.plan import Plan
from lotbench.types import JSON

REPEATS = 2
"""Judgings of each row, unless said otherwise: the fewest that show how often a verdict flips."""


@dataclass(frozen=True, slots=True)
class Wanted:
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

    wanted: Wanted
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
        rows = {role: sum(one.role == role for one in self.probes) for role in self.names}
        return self.repeats * sum(rows[panel.role] for panel in self.panels)

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


def prepare(wanted: Wanted) -> Prepared:
    """Read the judge set and say who is to judge what.

    Raises:
        UsageError: No judge and no oracle is named, or there is nothing to check with.
        DataError: The judge set has faults.
    """
    given = wanted.config.experiment
    config = wanted.config.model_copy(
        update={"experiment": given.model_copy(update={"model": given.model or "human"})}
    )
    made = plan.make(config)
    validation = made.benchmark.judges.validation
    if validation is None:
        raise UsageError(f"{made.benchmark.name} has no judge set")
    names = {role: made.names[role] for role in validation.rows if role in given.roles}
    if not names:
        raise UsageError("nobody to check: give --judge M or --oracle M")
    found = judge_set.find(wanted.judge_set, validation.folder)
    rows = judge_set.load(found, dict(validation.rows[role] for role in names))
    if rows.about.data != made.folder.name:
        raise UsageError(f"{found}: is about the data set {rows.about.data!r}, not {made.folder.name!r}")
    every_row = _probes(rows, validation, made, names)
    probes = [one for one in every_row if not one.contested and wanted.split in ("all", one.split)]
    if wanted.limit is not None:
        seed = f"{made.experiment.seed}:judge-check"
        probes = [
            one
            for role in names
            for one in stratified([p for p in probes if p.role == role], wanted.limit, seed)
        ]
    if not probes:
        raise UsageError(f"{found}: no rows of split {wanted.split!r}")
    panels = [
        panel
        for role in names
        for panel in validation.panels(role, len(names[role]), made.settings, wanted.every)
    ]
    return Prepared(wanted, made, validation, names, rows, every_row, probes, panels)


def _probes(
    rows: judge_set.JudgeSet, validation: Validation, made: Plan, names: Mapping[str, Any]
) -> list[Probe]:
    found: list[Probe] = []
    faults: list[str] = []
    for role in names:
        file = validation.rows[role][0]
        if file not in rows.rows:
            raise UsageError(f"{rows.folder}: no {file}, which a check of the {role} needs")
        numbers = [number for number, _ in rows.rows[file]]
        probes, wrong = validation.probes(role, [row for _, row in rows.rows[file]], made.by_id)
        found.extend(probes)
        for fault in wrong:
            row, _, message = fault.partition(": ")
            faults.append(at(rows.folder / file, numbers[int(row) - 1]) + f": {message}")
    if faults:
        raise DataError(faults)
    return found
