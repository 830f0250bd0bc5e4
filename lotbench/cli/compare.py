"""`lotbench compare`: the comparison of runs, written as an HTML page, as Markdown and as JSON, and printed in sentences."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from lotbench.errors import file_errors
from lotbench.report.comparison import to_json, to_latex, to_markdown
from lotbench.report.leaderboard import Board
from lotbench.report.markdown import places, visible
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

    runs = [load_run(name, parsed.runs_folder) for name in _runs_among(parsed.runs)]
    comparison = compare_runs(runs, Path(parsed.table) if parsed.table else None)
    if parsed.full:
        print(to_markdown(comparison))
    folder = Path(parsed.out)
    written = [("html", page), ("md", to_markdown), ("json", to_json)]
    written += [("tex", to_latex)] if parsed.latex else []
    with file_errors(f"--out {folder}"):
        for ending, write in written:
            atomic_write.write(folder / f"compare.{ending}", write(comparison))
    for form in ("png", "pdf"):
        if getattr(parsed, form):
            write_drawings(folder / "plots", section_drawings(comparison.sections), form)
    tables = "" if parsed.full else "; its tables here: --full"
    print(f"page: {folder / 'compare.html'}, and the same as .md and .json{tables}")
    for board in comparison.boards:
        print(*_lines(board), sep="\n")
    for sentence in comparison.said:
        print(visible(sentence))
    return 0


def _runs_among(names: Sequence[str]) -> list[str]:
    """Return the names of several runs without the files and folders that are no runs, which a note names."""
    others = [name for name in names if Path(name).exists() and not (Path(name) / "run.json").is_file()]
    if others and len(names) > 1:
        print(f"note: left out, as they are no runs: {', '.join(others)}", file=sys.stderr)
    return [name for name in names if len(names) < 2 or name not in others]


def _lines(board: Board) -> list[str]:
    """Return a ranking as lines of 80 characters at most: place, model, score with interval, samples, and trust."""
    lines = [f"{'#':>4}  {'model':26} {visible(board.metric)[:24]:24} samples  trust"]
    for place in board.places:
        number, mean, digits = board.number(place), place.mean, places(place.mean.n)
        ends = [f"{end:.{digits}f}" for end in (mean.value, mean.low, mean.high) if end is not None]
        score = "{} ({} to {})".format(*ends) if len(ends) == 3 else "".join(ends[:1]) or "none"
        trusted, at = not place.entry.reasons, "–" if number is None else str(number)
        start = f"{at if trusted or number is None else f'({at})':>4}  {visible(place.label)[:26]:26}"
        lines.append(f"{start} {score:24} {mean.n:7}  {'trusted' if trusted else 'not trusted'}")
    return lines


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
    with file_errors(folder):
        for name, content in files(drawings, form):
            atomic_write.write(folder / name, content)
            count += name.endswith(form)
    print(f"plots: {folder} ({count} as {form.upper()}, and the data of each as CSV)")
