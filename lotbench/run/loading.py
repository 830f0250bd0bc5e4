"""A run folder, read: what was asked for, what has come of it, and the plan that it was made by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lotbench import benchmarks
from lotbench.calls.journal import Totals, read_totals
from lotbench.calls.prices import Price
from lotbench.config.experiment import Config, Experiment, Limits
from lotbench.errors import RunFolderError, UsageError, suggestion
from lotbench.report import trace_rows
from lotbench.report.markdown import visible
from lotbench.run import plan, recorded
from lotbench.run.folder_shapes import later, read_run_json, read_samples, read_summary
from lotbench.storage import run_folder
from lotbench.storage.traces import Traces
from lotbench.types import JSON, Trace

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]


@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """A run folder, read: what was asked for and what has come of it.

    Attributes:
        path: The folder.
        config: The frozen experiment.
        limits: What the first session might use, by name.
        digests: Of experiment, data, prompts and code, as recorded when the run began.
        traces: The finished episodes, in data order; each is read when it is looked at.
        summary: The content of summary.json; empty if the run never ended in order.
    """

    path: Path
    config: Experiment
    limits: Mapping[str, Any]
    digests: Mapping[str, str]
    traces: Sequence[Trace]
    summary: Mapping[str, Any]

    def __repr__(self) -> str:
        if not self.summary:
            return f"<run {self.path}, not ended>"
        trusted = (
            "trusted" if self.summary["rankable"] else f"not trusted: {'; '.join(self.summary['reasons'])}"
        )
        name = self.summary["primary_metric"]
        return visible(f"<run {self.path} of {self.answered}: {name} {self.score(name)}, {trusted}>")

    def score(self, name: str | None = None) -> float | None:
        """Return the value of a metric, by default the first of the benchmark's; None if it has none, with the reason in `summary`.

        Raises:
            UsageError: The run has no metric of that name.
        """
        scores = self.summary.get("scores", {})
        if name is not None and name not in scores:
            names = ", ".join(scores) or "none yet: the run has not ended"
            raise UsageError(f"no score {name!r}{suggestion(name, scores)} There are: {names}")
        chosen = scores.get(name or next(iter(scores), ""))
        return None if chosen is None else chosen["value"]

    @property
    def answered(self) -> str:
        """The candidate, as it named itself; before it ever answered, as it was asked for."""
        named: Sequence[str] = self.summary.get("models", {}).get("candidate", ())
        return ", ".join(named) or self.config.model

    def to_frame(self) -> pd.DataFrame:
        """Return a row a finished task, as `lotbench export` writes them: outcome, score with its parts, last guess, usage."""
        return _frame(trace_rows.episodes(self.traces, self.path.name, self.answered))

    def steps_frame(self) -> pd.DataFrame:
        """Return a row a step of every finished task, in order, with what was guessed and asked in its round."""
        return _frame(trace_rows.steps(self.traces, self.path.name, self.answered))

    @property
    def report(self) -> Path:
        """The report for people."""
        return self.path / "report.md"

    def totals(self, prices: Mapping[str, Price | None] | None = None) -> Totals:
        """Return what its journal adds up to, at these prices; the file is read for it."""
        return read_totals(self.path / "calls.jsonl", prices)

    @property
    def samples(self) -> Mapping[str, Mapping[str, Any]]:
        """The samples that the run plays, by id, as they were."""
        return read_samples(self.path)


def load_run(
    run: str | Path, root: str | Path | None = None, seen: Callable[[Trace], object] | None = None
) -> Run:
    """Read a run folder.

    Args:
        run: A path, a folder name in `root`, or `latest`.
        root: Where runs are kept; by default runs/, and for `latest` wherever the latest was made.
        seen: Is shown each episode as it is found.

    Raises:
        RunFolderError: It is not there or damaged.
    """
    path = run_folder.find(str(run), root)
    table = read_run_json(path)
    return Run(
        path=path,
        config=recorded.experiment(path / "run.json", table["experiment"]),
        limits=table.get("limits", {}),
        digests=table["digests"],
        traces=Traces(path / run_folder.TRACES, seen=seen),
        summary=read_summary(path),
    )


def planned(run: Run, limits: Limits) -> plan.Plan:
    """Return the plan of a run that has begun: its own samples, prompts and settings.

    Raises:
        RunFolderError: Its experiment, samples or prompts are no longer what they were, by name; or it was begun by a
            later version of its benchmark, or by an older lotbench.
    """
    table = read_run_json(run.path)
    if "recorded" not in table:
        written = run.digests.get("code", "unknown")
        raise RunFolderError(
            f"{run.path}: was written by an older lotbench ({written}), which this one does not read"
        )
    newest = benchmarks.get(run.config.benchmark).version
    if later(version := table.get("version") or "", newest):
        raise RunFolderError(
            f"{run.path}: was begun with version {version} of {run.config.benchmark}, this lotbench has {newest}"
        )
    return plan.make(Config(experiment=run.config, limits=limits), recorded.read(run.path, run.config, table))


def _frame(rows: Iterable[Mapping[str, JSON]]) -> pd.DataFrame:
    import pandas  # noqa: PLC0415 - a run is read without it

    return pandas.DataFrame(list(rows))
