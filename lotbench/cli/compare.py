"""`lotbench compare`: the comparison of runs, written as an HTML page, as Markdown and as JSON, and printed in sentences."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from lotbench.errors import UsageError
from lotbench.report.comparison import to_json, to_latex, to_markdown
from lotbench.report.markdown import visible
from lotbench.report.sections import Grid, Plot
from lotbench.run.compare_runs import compare_runs
from lotbench.run.loading import load_run
from lotbench.storage import atomic_write


def compare(parsed: argparse.Namespace) -> int:
    """Carry out `lotbench compare`: write the comparison to files and print its sentences; return exit code 0.

    Raises:
        UsageError: The runs cannot be compared, or --out cannot be written to.
    """
    from lotbench.report.html.comparison_page import page
    from lotbench.report.html.page import section_drawings

    runs = [load_run(name, parsed.kept) for name in parsed.runs]
    comparison = compare_runs(runs, Path(parsed.table) if parsed.table else None)
    if parsed.full:
        print(to_markdown(comparison))
    folder = Path(parsed.out)
    try:
        written = [("html", page), ("md", to_markdown), ("json", to_json)]
        written += [("tex", to_latex)] if parsed.latex else []
        for ending, write in written:
            atomic_write.write(folder / f"compare.{ending}", write(comparison))
    except OSError as error:
        raise UsageError(f"--out {folder}: {error.strerror}") from None
    for form in ("png", "pdf"):
        if getattr(parsed, form):
            write_drawings(folder / "plots", section_drawings(comparison.sections), form)
    tables = "" if parsed.full else "; its tables here: --full"
    print(f"page: {folder / 'compare.html'}, and the same as .md and .json{tables}")
    for sentence in comparison.said:
        print(visible(sentence))
    return 0


def write_drawings(folder: Path, drawings: Iterable[tuple[str, Plot | Grid]], form: str = "png") -> None:
    """Write plots as pictures and the data of plots and heat maps as CSV, and print the folder.

    Args:
        folder: The output folder.
        drawings: Plots and heat maps, each with a file name without ending.
        form: The format of the pictures, `png` or `pdf`.

    Raises:
        UsageError: The folder cannot be written to.
    """
    from lotbench.report.html.page import files

    count = 0
    try:
        for name, content in files(drawings, form):
            atomic_write.write(folder / name, content)
            count += name.endswith(form)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}") from None
    print(f"plots: {folder} ({count} as {form.upper()}, and the data of each as CSV)")
