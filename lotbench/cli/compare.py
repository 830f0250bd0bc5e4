"""`lotbench compare`: the comparison of runs, written as an HTML page, as Markdown and as JSON, and printed in sentences."""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from os.path import lexists
from pathlib import Path

from lotbench.cli.lines import command, wrapped
from lotbench.report.comparison import to_json, to_latex, to_markdown
from lotbench.report.leaderboard import Board, Place
from lotbench.report.markdown import counted, interval, places, visible
from lotbench.report.ranking_sections import remarked, variants
from lotbench.report.sections import Grid, Plot
from lotbench.run.compare_runs import compare_runs
from lotbench.run.loading import load_run
from lotbench.storage import atomic_write


def compare(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench compare`: write the comparison to files and print its sentences.

    Raises:
        UsageError: The runs cannot be compared.
        OSError: --out cannot be written to.
    """
    names = _runs_among(parsed.runs)
    print(f"reading {counted(len(names), 'run')} ...", file=sys.stderr, flush=True)
    from lotbench.report.html.comparison_page import page
    from lotbench.report.html.page import section_drawings

    runs = [load_run(name, parsed.runs_folder) for name in names]
    comparison = compare_runs(runs, Path(parsed.table) if parsed.table else None)
    if parsed.full:
        print(to_markdown(comparison))
    folder = Path(parsed.out)
    written = [("html", page), ("md", to_markdown), ("json", to_json)]
    written += [("tex", to_latex)] if parsed.latex else []
    for ending, write in written:
        atomic_write.write(folder / f"compare.{ending}", write(comparison))
    for form in ("png", "pdf"):
        if getattr(parsed, form):
            write_drawings(folder / "plots", section_drawings(comparison.sections), form)
    paths = {run.path.name: run.path for run in runs}
    print(*map(wrapped, comparison.said), sep="\n")
    for board in comparison.boards:
        print("", *map(wrapped, _lines(board, paths)), sep="\n")
    tables = "" if parsed.full else "; --full prints the tables"
    print()
    print(wrapped(f"{folder / 'compare.html'} (and .md, .json){tables}", "page"))
    print(command(f"lotbench view {runs[0].path.parent}", "next"))


def _runs_among(names: Sequence[str]) -> list[str]:
    """Return the names of several runs without the files and folders without a run's summary, which a note names."""
    others = [name for name in names if Path(name).exists() and not lexists(Path(name) / "summary.json")]
    if others and len(names) > 1:
        print(f"note: left out, as they are no runs, or are going on: {', '.join(others)}", file=sys.stderr)
    return [name for name in names if len(names) < 2 or name not in others]


def _lines(board: Board, paths: Mapping[str, Path]) -> list[str]:
    """Return a ranking as lines of 80 characters at most: place, model, score and lead, each with its interval."""
    most = max(place.entry.metric.covered for place in board.places) if board.places else 0
    few = f"note: only {board.shared} of {most} samples in common; the same --seed and --limit draw the same"
    lines = [few] * (2 * board.shared < most)
    lines.append(f"{'#':>4}  {'model':25} {visible(board.metric)[:24]:24} ahead of the next by")
    digits = places(board.shared)
    for place, after in zip_longest(board.places, board.places[1:]):
        pair = after and board.pair(place.label, after.label)
        number, mean, lead = board.number(place), place.mean, pair.difference if pair else None
        score = "none" if mean.value is None else interval(mean.value, mean.low, mean.high, digits)
        ahead = interval(lead.mean, lead.low, lead.high, digits) if lead and lead.mean is not None else ""
        at = "–" if number is None else f"({number})" if place.entry.reasons else str(number)
        lines.append(f"{at:>4}  {visible(place.label)[:25]:25} {score:24} {ahead}".rstrip())
    brackets = "; brackets: a provisional place" if any(place.entry.reasons for place in board.places) else ""
    lines.append(f"      {counted(board.shared, 'sample')} that all played, 95 % intervals{brackets}")
    lines += [f"      {visible(said)}" for said in (*variants(board), *remarked(board))]
    return [*lines, *_farthest(paths, *board.places[:2])] if board.pairs else lines


def _farthest(paths: Mapping[str, Path], first: Place, second: Place) -> list[str]:
    """Return a line on the sample on which two models are farthest apart, with the commands that print both games; or none."""
    ours, others = first.entry.values, second.entry.values
    gaps = {sample: abs(ours[sample] - others[sample]) for sample in sorted(ours.keys() & others.keys())}
    sample = max(gaps, key=gaps.__getitem__, default="")
    means = f"{ours[sample]:.2f} and {others[sample]:.2f}" if sample else ""
    both = (paths[place.entry.name] for place in (first, second))
    commands = (command(f"lotbench replay {path} --sample {sample}") for path in both)
    return [f"      The first two differ most on {sample} ({means}):", *commands] if gaps.get(sample) else []


def write_drawings(folder: Path, drawings: Iterable[tuple[str, Plot | Grid]], form: str = "png") -> None:
    """Write plots as pictures and the data of plots and heat maps as CSV, and print the folder.

    Args:
        folder: The output folder.
        drawings: Plots and heat maps, each with a file name without ending.
        form: The format of the pictures, `png` or `pdf`.

    Raises:
        OSError: The folder cannot be written to.
    """
    from lotbench.report.html.page import files

    count = 0
    for name, content in files(drawings, form):
        atomic_write.write(folder / name, content)
        count += name.endswith(form)
    print(f"plots: {folder} ({count} as {form.upper()}, and the data of each as CSV)")
