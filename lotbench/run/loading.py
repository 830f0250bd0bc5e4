"""Reading of run folders: configuration, traces, summary, and the plan of the run."""

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
from lotbench.regular_file import is_file
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
    """The content of a run folder.

    Attributes:
        path: The folder.
        config: The recorded experiment.
        limits: The limits of the first session, by name.
        digests: The digests of experiment, data, prompts and code from the start of the run.
        traces: The finished episodes, in data order; each is parsed on access.
        summary: The content of summary.json; empty if there is no such file yet.
        duel: The name of the duel that began the run; "" if none did.
    """

    path: Path
    config: Experiment
    limits: Mapping[str, Any]
    digests: Mapping[str, str]
    traces: Sequence[Trace]
    summary: Mapping[str, Any]
    duel: str = ""

    def __repr__(self) -> str:
        if not self.summary:
            return f"<run {self.path}, not ended>"
        name = self.summary["primary_metric"]
        return visible(f"<run {self.path} of {self.answered}: {name} {self.score(name)}, {self.trust}>")

    @property
    def trust(self) -> str:
        """Whether an ended run is trusted, or why it is not."""
        return "trusted" if self.summary["rankable"] else f"not trusted: {'; '.join(self.summary['reasons'])}"

    def score(self, name: str | None = None) -> float | None:
        """Return the value of a metric, by default the first one; None if it has no value (`summary` has the reason).

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
        """The model ids in the candidate's replies, joined by commas; before the first report, its configured name."""
        named: Sequence[str] = self.summary.get("models", {}).get("candidate", ())
        return ", ".join(named) or self.config.model

    def to_frame(self) -> pd.DataFrame:
        """Return the finished episodes for pandas, one row each, with the columns of `lotbench export`."""
        return _frame(trace_rows.episodes(self.traces, self.path.name, self.answered))

    def steps_frame(self) -> pd.DataFrame:
        """Return the steps of the finished episodes for pandas, one row each, with the guess and question of their round."""
        return _frame(trace_rows.steps(self.traces, self.path.name, self.answered))

    @property
    def report(self) -> Path:
        """The path of the report."""
        return self.path / "report.md"

    def totals(self, prices: Mapping[str, Price | None] | None = None) -> Totals:
        """Return the totals of calls, tokens and cost of the journal, at these prices by model name; the journal is read anew."""
        return read_totals(self.path / "calls.jsonl", prices)

    @property
    def samples(self) -> Mapping[str, Mapping[str, Any]]:
        """The recorded samples of the run, by id."""
        return read_samples(self.path)


def load_run(
    run: str | Path, root: str | Path | None = None, seen: Callable[[Trace], object] | None = None
) -> Run:
    """Read a run folder.

    Args:
        run: A path, a folder name in `root`, or `latest`.
        root: The folder of runs, by default runs/; see `run_folder.find`.
        seen: Called with each trace while the folder is read.

    Raises:
        RunFolderError: The folder does not exist or is damaged.
    """
    path = run_folder.find(str(run), root)
    table = read_run_json(path)
    # Here for whoever does not read them: a pipe or a device in their place is not passed over.
    for name in ("calls.jsonl", "samples.jsonl"):
        is_file(path / name)
    return Run(
        path=path,
        config=recorded.experiment(path / "run.json", table["experiment"]),
        limits=table.get("limits", {}),
        digests=table["digests"],
        traces=Traces(path / run_folder.TRACES, seen=seen),
        summary=read_summary(path),
        duel=table.get("duel", ""),
    )


def planned(run: Run, limits: Limits) -> plan.Plan:
    """Return the plan of an existing run, with its recorded samples, prompts and settings.

    Raises:
        RunFolderError: The recorded experiment, samples or prompts have changed (the message names which); or a later
            version of the benchmark began the run.
    """
    table = read_run_json(run.path)
    newest = benchmarks.get(run.config.benchmark).version
    if later(version := table.get("version") or "", newest):
        raise RunFolderError(
            f"{run.path}: was begun with version {version} of {run.config.benchmark}, this lotbench has {newest}"
        )
    return plan.make(
        Config(experiment=run.config, limits=limits), recorded.plan_fields(run.path, run.config, table)
    )


def _frame(rows: Iterable[Mapping[str, JSON]]) -> pd.DataFrame:
    import pandas  # noqa: PLC0415 - a run is read without it

    return pandas.DataFrame(list(rows))
