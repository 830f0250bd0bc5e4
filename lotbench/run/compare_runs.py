"""Comparison of runs with each other and with a table of published scores."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from lotbench import benchmarks
from lotbench.config.experiment import validate
from lotbench.errors import shape_errors
from lotbench.report.comparison import Comparison, compare
from lotbench.report.sections import Section
from lotbench.run import results
from lotbench.run.loading import Run
from lotbench.storage.published_scores import read_published_scores


def compare_runs(runs: Sequence[Run], table: Path | None = None) -> Comparison:
    """Compare runs with each other, and with a CSV file of published scores.

    Args:
        runs: Two or more different runs.
        table: The CSV file; None for none.

    Raises:
        UsageError: A run is named twice, the runs cannot be compared (with the differences), or the table cannot be read.
        DataError: Cells of the table are not numbers; with line and column.
    """
    by_name = {run.path.name: run for run in runs}

    def across(benchmark: str, called: Mapping[str, str]) -> Sequence[Section]:
        declared = benchmarks.get(benchmark)
        played = {label: by_name[name] for name, label in called.items()}
        traces = {
            label: (run.traces, validate(declared.Settings, run.config.settings))
            for label, run in played.items()
        }
        with shape_errors(*(run.path for run in played.values())):
            return declared.across(traces)

    entries = [results.entry(run, answers=True) for run in runs]
    return compare(entries, across, read_published_scores(table) if table else None)
