"""`lotbench judge-check`: error rates of judges and oracle on labelled rows, and on guesses drawn from a run."""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from lotbench.checks.judge_check import Checked, judge_check
from lotbench.checks.judge_check_plan import CheckOrder, Prepared, prepare
from lotbench.checks.stage_marks import read_marks, success
from lotbench.cli.dry import show_check
from lotbench.cli.evaluate import configuration, interruptible
from lotbench.errors import LotbenchError
from lotbench.report.markdown import interval
from lotbench.run.loading import load_run
from lotbench.run.progress import spent, timed

PIPE_S = 15.0


def check(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench judge-check`: check judges, draw guesses to label, or read labels or marks."""
    if parsed.marks:
        return _marks(Path(parsed.marks))
    if parsed.labels:
        return _labels([Path(file) for file in parsed.labels])
    if parsed.from_run:
        return _draw(parsed)
    spec = CheckOrder(
        config=configuration(parsed, fixed={"limit": None}),
        judge_set=parsed.judge_set or "",
        split=parsed.split,
        limit=parsed.limit,
        every=parsed.all_modes,
        chains=parsed.chains,
        stages=Path(parsed.stages) if parsed.stages else None,
        out=Path(parsed.out),
        fresh=parsed.fresh,
        preflight=not parsed.no_preflight,
    )
    if parsed.dry_run:
        return show_check(prepare(spec))
    try:
        return print_result(interruptible(judge_check(spec, watch=_watch)))
    except (LotbenchError, KeyboardInterrupt) as error:
        if isinstance(error, KeyboardInterrupt) or error.exit_code in (3, 4):
            print("lotbench: the same command goes on where this stopped", file=sys.stderr)
        raise


def _marks(path: Path) -> None:
    """Print how often judges built and changed causal chains correctly, by the marks of people in the file `path`.

    This is the left half of Fig. 15 of LoTbench's paper.
    """
    for judge, stage, rate, unmarked in success(read_marks(path)):
        value = "none marked" if rate.value is None else interval(rate.value, rate.low, rate.high)
        print(f"{judge}, {stage}: {value}, {rate.hits} of {rate.n}; {unmarked} without a mark")


def print_result(checked: Checked) -> None:
    """Print the notes, the results and the files of a judge check."""
    for text in (*checked.notes, *checked.sentences):
        print(text)
    print(f"kept in the store: {len(checked.stored)} of {len(checked.measures)} checks")
    print(f"report: {checked.path / 'report.md'}")


def _draw(parsed: argparse.Namespace) -> None:
    from lotbench.checks.field_labels import draw

    file = draw(load_run(parsed.from_run, parsed.runs_folder), parsed.n, Path(parsed.out))
    print(f"{file}: set each `label` to true (a match) or false; what you cannot decide stays null")
    print("draw.json beside it holds the verdicts: do not look before you have labelled")
    print(f"then: lotbench judge-check --labels {file}")


def _labels(files: Sequence[Path]) -> None:
    from lotbench.checks.field_labels import labelled

    labels = labelled(*files)
    if labels.open:
        print(f"{labels.open} rows have no label yet, or as many for as against; they are left out")
    if labels.lone:
        print(
            f"{labels.lone} refused guesses that one person calls right count as wrong: a second person must say so"
        )
    print(f"kept: {labels.stored}")
    said = "prints the corrected scores, the judge's error rates and how far people agree"
    print(f"lotbench report {labels.run} {said}")


async def _watch(prepared: Prepared) -> None:
    """Print the progress of a check to standard error, every `PIPE_S` seconds and at the end."""
    started = time.monotonic()
    try:
        while True:
            await asyncio.sleep(PIPE_S)
            print(_line(prepared, time.monotonic() - started), file=sys.stderr, flush=True)
    finally:
        print(_line(prepared, time.monotonic() - started), file=sys.stderr, flush=True)


def _line(prepared: Prepared, seconds: float) -> str:
    """Return the progress of a check in one line, `seconds` after it began; each judging counts as long as the others."""
    left = seconds * (prepared.total / prepared.done - 1) if prepared.done else 0.0
    return timed(f"{prepared.done}/{prepared.total} judgings, {spent(prepared.stats)}", seconds, left)
