"""`lotbench judge-check`: how well judges and oracle judge, on labelled rows and in the field."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import numpy as np

from lotbench.checks.judge_check import Checked, Watch, judge_check
from lotbench.checks.judge_check_plan import Prepared, WantedCheck
from lotbench.checks.stage_marks import read_marks, success
from lotbench.cli.evaluate import configuration, interruptible
from lotbench.errors import LotbenchError
from lotbench.report.markdown import cell
from lotbench.run.loading import load_run

PIPE_S = 15.0


def check(parsed: argparse.Namespace) -> int:
    """Carry out `lotbench judge-check`."""
    if parsed.marks:
        return _marks(Path(parsed.marks))
    if parsed.labels:
        return _labels([Path(file) for file in parsed.labels])
    if parsed.from_run:
        return _draw(parsed)
    wanted = WantedCheck(
        config=configuration(parsed, fixed={"limit": None}),
        judge_set=parsed.judge_set or "",
        split=parsed.split,
        limit=parsed.limit,
        every=parsed.all_modes,
        stages=Path(parsed.stages) if parsed.stages else None,
        out=Path(parsed.out),
        fresh=parsed.fresh,
        preflight=not parsed.no_preflight,
    )
    try:
        return print_result(interruptible(judge_check(wanted, watch=_watch(sys.stderr))))
    except (LotbenchError, KeyboardInterrupt) as error:
        if isinstance(error, KeyboardInterrupt) or error.exit_code in (3, 4):
            print("lotbench: the same command goes on where this stopped", file=sys.stderr)
        raise


def _marks(path: Path) -> int:
    """Say how often judges build and change chains rightly, by what people marked (Fig. 15, left)."""
    for judge, stage, found, unmarked in success(read_marks(path)):
        span = "" if found.low is None else f"  [{found.low:.3f}, {found.high:.3f}]"
        value = (
            "none marked" if found.value is None else f"{found.value:.3f}{span}  ({found.hits} of {found.n})"
        )
        print(f"{judge}, {stage}: {value}" + (f"; {unmarked} without a mark" if unmarked else ""))
    return 0


def print_result(checked: Checked) -> int:
    """Say how well everybody judged."""
    for note in checked.notes:
        print(note)
    for told in checked.sentences:
        print(told)
    print(f"kept in the store: {len(checked.kept)} of {len(checked.measures)} checks")
    print(f"report: {checked.path / 'report.md'}")
    return 0


def _draw(parsed: argparse.Namespace) -> int:
    from lotbench.checks.field_labels import draw

    file = draw(load_run(parsed.from_run, parsed.kept), parsed.n, Path(parsed.out))
    print(f"{file}: set each `label` to true (a match) or false; what you cannot decide stays null")
    print("draw.json beside it holds the verdicts: do not look before you have labelled")
    print(f"then: lotbench judge-check --labels {file}")
    return 0


def _labels(files: Sequence[Path]) -> int:
    from lotbench.checks.field_labels import labelled

    found = labelled(*files)
    rng = np.random.default_rng(1)
    for name, value, draws in zip(
        ("FPR", "FNR"), found.field.point(), found.field.draw(rng, 4000), strict=True
    ):
        known = draws[~np.isnan(draws)]
        low, high = np.quantile(known, (0.025, 0.975)) if len(known) else (np.nan, np.nan)
        print(f"{name} in the field: {value:.4f}  [{low:.4f}, {high:.4f}]")
    for one in filter(lambda stratum: stratum.size, found.field.strata):
        word = "accepted" if one.accepted else "not accepted"
        print(f"  {word:13} {one.true} right of {one.labelled} labelled, of {one.size} in the run")
    if found.open:
        print(f"{found.open} rows have no label yet, or as many for as against; they are left out")
    for who, rate in zip(
        ("one person and another", "the judge and one person"), found.people or (), strict=False
    ):
        print(f"  {who}: kappa {cell(rate.value)}, {rate.hits} of {rate.n} pairs of labels agree")
    print(f"kept: {found.kept}")
    print(f"lotbench report {found.run} prints the corrected scores")
    return 0


def _watch(stream: TextIO) -> Watch:
    """Return how far a check is, in a line now and then."""

    async def shown(made: Prepared) -> None:
        try:
            while True:
                await asyncio.sleep(PIPE_S)
                print(_line(made), file=stream, flush=True)
        finally:
            print(_line(made), file=stream, flush=True)

    return shown


def _line(made: Prepared) -> str:
    return f"{made.done}/{made.total} judgings, {made.stats.calls} calls, {made.stats.in_flight} in flight"
