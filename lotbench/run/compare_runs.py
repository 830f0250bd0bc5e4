"""Several runs as one page: the table of their metrics, and what their benchmark says of them pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lotbench import benchmarks
from lotbench.config.experiment import validate
from lotbench.edge.files import export, run_folder
from lotbench.report.comparison import Compared, beside, labels, section
from lotbench.report.report import laid_out
from lotbench.run.results import Run


def compared(runs: Sequence[Run], table: Path | None = None) -> str:
    """The comparison of runs that differ in one thing, as Markdown.

    Args:
        runs: Two or more.
        table: A CSV file with numbers of models, which the metrics are to be correlated with.

    Raises:
        UsageError: They differ in nothing or in more, with the list of what differs.
    """
    each = [_compared(run) for run in runs]
    first, (_, values) = section(each), labels(each)
    # Below the table a run goes by what is different in it, where that tells the runs apart.
    told = values if len({*values.values()}) == len(values) else {name: name for name in values}
    declared = benchmarks.get(runs[0].config.benchmark)
    across = declared.across(
        {told[run.path.name]: (run.traces, validate(declared.Settings, run.config.settings)) for run in runs}
    )
    beyond = [beside(each, export.numbers(table))] if table else []
    blocks = [f"# {declared.name}: {len(runs)} runs"]
    blocks += [block for one in (first, *across, *beyond) for block in laid_out(one)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _compared(run: Run) -> Compared:
    table: dict[str, Any] = run_folder.read_json(run.path / "run.json")
    digests = {name: run.digests.get(name) for name in ("data", "prompts")}
    return Compared(run.path.name, table["experiment"], {**digests, "version": table["version"]}, run.summary)
