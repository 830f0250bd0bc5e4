"""The plan of a judge check: its judges, its labelled rows, and which judge gets which rows.

All faults of the request and of the judge set are found here, before the first call and before a folder is made.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lotbench import benchmarks
from lotbench.calls.caller import CallStats
from lotbench.config.experiment import Config, digest
from lotbench.config.model_names import ModelName
from lotbench.errors import UsageError, refuse_faults
from lotbench.harness.judge_validation import JudgePanel, Probe, Validation, stratified
from lotbench.run import plan, recorded
from lotbench.run.plan import Plan
from lotbench.storage import datasets, judge_set
from lotbench.types import JSON

REPEATS = 2
"""The default number of times that each row is judged; two are the fewest that show how often a verdict flips."""


@dataclass(frozen=True, slots=True)
class CheckOrder:
    """The request for a judge check.

    Attributes:
        config: The configuration; its roles are the judges, and its `repeats` the number of times that each row is judged.
        judge_set: The folder of the judge set; "" for the shipped one.
        split: The split of the rows: `tune`, `test` or `all`.
        limit: The maximum number of rows of each role, spread over the kinds of rows; None for all.
        every: Whether to measure every variant of the judge's settings, or only the configured one.
        chains: The number of new causal chains with which rows of some samples are judged (`checks.chains`).
        stages: The folder to which causal chains are written for people to mark; None to write none.
        out: The folder in which the check's folder is made.
        fresh: Whether to ignore stored replies and to make a new folder.
        preflight: Whether to test each model with one call first.
    """

    config: Config
    judge_set: str = ""
    split: str = "test"
    limit: int | None = None
    every: bool = False
    chains: int = 0
    stages: Path | None = None
    out: Path = Path("runs")
    fresh: bool = False
    preflight: bool = True


@dataclass(slots=True)
class Prepared:
    """A check that is ready to begin, and its progress.

    Attributes:
        names: The models to check, by role.
        rows: The judge set.
        every_row: The probes of all rows, including contested rows and rows of other splits.
        probes: The probes that are judged.
        done: The number of finished judgings.
        chains: The result of `chains.replay`; empty if it has not run.
    """

    order: CheckOrder
    plan: Plan
    validation: Validation
    names: Mapping[str, tuple[ModelName, ...]]
    rows: judge_set.JudgeSet
    every_row: Sequence[Probe]
    probes: Sequence[Probe]
    panels: Sequence[JudgePanel]
    stats: CallStats = field(default_factory=CallStats)
    done: int = 0
    chains: dict[str, JSON] = field(default_factory=dict)

    @property
    def repeats(self) -> int:
        """The number of times that each row is judged."""
        return self.order.config.experiment.repeats or REPEATS

    @property
    def total(self) -> int:
        """The number of judgings in the whole check."""
        return self.repeats * sum(len(self.probes_of(panel)) for panel in self.panels)

    @property
    def chain_panel(self) -> JudgePanel:
        """The first panel whose judge keeps a causal chain for each sample; the first of all if there is none."""
        return next(filter(self.keeps_chain, self.panels), self.panels[0])

    def keeps_chain(self, panel: JudgePanel) -> bool:
        """Return whether the judge of a panel writes a causal chain once for a sample."""
        return self.validation.depends(panel.role, panel.settings)[0].get("chain") == "stored"

    @property
    def on_shipped(self) -> bool:
        """Whether the check is on the benchmark's shipped judge set and its samples, and so counts for runs on any data set."""
        set_folder, data = self.rows.folder, self.plan.folder.resolve()
        return self._shipped_rows and data == judge_set.subject(set_folder).resolve()

    @property
    def counts(self) -> bool:
        """Whether the check may count for runs: shipped samples need the shipped judge set, not one of one's own."""
        return self._shipped_rows or not datasets.is_shipped(self.plan.folder, self.plan.data)

    @property
    def _shipped_rows(self) -> bool:
        return self.rows.folder.resolve() == judge_set.find("", self.plan.benchmark.name).resolve()

    def digest_of(self, panel: JudgePanel) -> str:
        """Return a digest of all rows of the judge set about a panel's role and task, whatever else the set has."""
        ours = [probe for probe in self.every_row if (probe.role, probe.task) == (panel.role, panel.task)]
        return digest([[probe.id, probe.label, list(probe.labels)] for probe in ours])

    def probes_of(self, panel: JudgePanel) -> list[Probe]:
        """Return the probes that a panel judges: those of its role and task."""
        return [probe for probe in self.probes if (probe.role, probe.task) == (panel.role, panel.task)]

    @property
    def frozen(self) -> dict[str, JSON]:
        """All that the check's numbers depend on, as JSON; its digest is part of the folder's name."""
        spec = self.order
        return {
            "schema": 1,
            "experiment": self.plan.experiment.model_dump(mode="json"),
            "roles": {role: [name.text for name in models] for role, models in self.names.items()},
            "servers": recorded.servers(self.names),
            "set": self.rows.digest,
            "split": spec.split,
            "limit": spec.limit,
            "every": spec.every,
            **({"chains": spec.chains} if spec.chains else {}),
            "repeats": self.repeats,
            "digests": self.plan.digests,
        }


def prepare(spec: CheckOrder) -> Prepared:
    """Read the judge set, and return the check with its panels and the probes that they judge.

    Raises:
        UsageError: No judge and no oracle is named, the benchmark has no judge set, or no row is left to judge.
        DataError: The judge set has faults.
    """
    experiment = spec.config.experiment
    declared = benchmarks.get(experiment.benchmark).validation
    if declared is None:
        raise UsageError(f"{experiment.benchmark} has no judge set")
    folder = judge_set.find(spec.judge_set, experiment.benchmark)
    # The default model is never called; the default data are the samples that the rows of the judge set are about.
    about = str(folder) if (folder / "samples.jsonl").is_file() else judge_set.about_of(folder).data
    config = spec.config.changed(model=experiment.model or "human", data=experiment.data or about)
    if not any(role in experiment.roles for role in declared.rows):
        flags = " or ".join(f"--{role} M" for role in declared.rows)
        raise UsageError(f"nobody to check: give {flags}")
    run_plan = plan.make(config)
    names = {role: run_plan.names[role] for role in declared.rows if role in experiment.roles}
    rows = judge_set.load(folder, {name: row for role in names for name, row in declared.rows[role].items()})
    every_row = _probes(rows, spec, declared, run_plan, names)
    panels = [
        panel
        for role in names
        for panel in declared.panels(role, len(names[role]), run_plan.settings, spec.every)
    ]
    panel_keys = {(panel.role, panel.task) for panel in panels}
    every_row = [probe for probe in every_row if (probe.role, probe.task) in panel_keys]
    probes = [probe for probe in every_row if not probe.contested and spec.split in ("all", probe.split)]
    if spec.limit is not None:
        seed = f"{run_plan.experiment.seed}:judge-check"
        probes = [
            probe
            for role in names
            for probe in stratified([p for p in probes if p.role == role], spec.limit, seed)
        ]
    if not probes:
        raise UsageError(f"{folder}: no rows of split {spec.split!r}")
    put = {(probe.role, probe.task) for probe in probes}
    panels = [panel for panel in panels if (panel.role, panel.task) in put]
    return Prepared(spec, run_plan, declared, names, rows, every_row, probes, panels)


def _probes(
    rows: judge_set.JudgeSet,
    spec: CheckOrder,
    validation: Validation,
    run_plan: Plan,
    names: Mapping[str, Any],
) -> list[Probe]:
    """Return the probes of the judge set's rows, and those that the data set itself contains.

    If the shipped judge set is about other samples and the data set contains probes, only the data set's are returned.

    Raises:
        UsageError: The set is about other samples (and the exception above does not hold), or it has no rows for a role.
        DataError: Rows have faults; all are listed, with file, line and field.
    """
    if not rows.is_about(run_plan.folder):
        brought = [probe for role in names for probe in validation.probes(role, [], run_plan.by_id)[0]]
        if brought and not spec.judge_set:
            return brought
        raise UsageError(
            f"{rows.folder}: is about the data set {rows.about.data!r}, not {run_plan.folder.name!r}; leave --data out: "
            "a check on the shipped judge set counts whatever is played"
        )
    for role in names:
        if not any(file in rows.rows for file in validation.rows[role]):
            either = " or ".join(validation.rows[role])
            raise UsageError(f"{rows.folder}: no {either}, which a check of the {role} needs")
    return _read_probes(rows, validation, names, run_plan.by_id)


def _read_probes(
    rows: judge_set.JudgeSet, validation: Validation, roles: Iterable[str], data: Mapping[str, Any]
) -> list[Probe]:
    every_probe: list[Probe] = []
    faults: list[str] = []
    for role in roles:
        for file in (name for name in validation.rows[role] if rows.rows.get(name)):
            probes, wrong = validation.probes(role, [row for _, row in rows.rows[file]], data)
            every_probe.extend(probes)
            faults += rows.places(file, wrong)
        every_probe.extend(validation.probes(role, [], data)[0])
    refuse_faults(faults)
    return every_probe


def read_set(folder: Path) -> tuple[judge_set.JudgeSet, Sequence[Probe]]:
    """Return the judge set in a folder, and the probes of all its rows, for every role.

    Raises:
        UsageError: The set's benchmark has no judges, or its data set is missing.
        DataError: Rows have faults; all are listed, with file, line and field.
    """
    about = judge_set.about_of(folder)
    benchmark = benchmarks.get(about.benchmark)
    validation = benchmark.validation
    if validation is None:
        raise UsageError(f"{folder / 'set.toml'}: benchmark: {benchmark.name} has no judges to check")
    rows = judge_set.load(folder, validation.files)
    data = {item.id: item for item in datasets.samples(judge_set.subject(folder), benchmark.Item)}
    return rows, _read_probes(rows, validation, validation.rows, data)
