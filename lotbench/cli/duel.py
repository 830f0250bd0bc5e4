"""`lotbench duel`: models play the same samples, with up to four interim tests, until they differ clearly."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lotbench.cli.evaluate import configuration, interruptible, limits
from lotbench.config.experiment import Config
from lotbench.errors import LotbenchError, UsageError
from lotbench.report.markdown import visible
from lotbench.run import duel as duels
from lotbench.run import plan
from lotbench.run.duel import Look
from lotbench.run.loading import load_run
from lotbench.run.session import Status


def duel(parsed: argparse.Namespace) -> int:
    """Carry out `lotbench duel`: begin one between models, or resume one given its runs; return exit code 0.

    Raises:
        UsageError: Some arguments are models and some are runs, or they cannot form a duel.
        LotbenchError, KeyboardInterrupt: The duel was stopped; the command that goes on with it is printed.
    """
    runs = [Path(name) for name in parsed.models if (Path(name) / "run.json").is_file()]
    if runs and len(runs) < len(parsed.models):
        raise UsageError(
            "a duel is of models that begin, or of the runs of one that was stopped; not of both"
        )
    folders = list(runs)
    if runs:
        played, check = [load_run(path) for path in runs], not parsed.no_preflight
        work = duels.resume_duel(played, _say, check=check, **limits(parsed))
    else:
        config = configuration(parsed)
        if parsed.dry_run:
            return _plans(config, parsed.models)

        async def note(status: Status) -> None:
            folders.append(status.path)

        how = {"out": Path(parsed.out), "fresh": parsed.fresh, "check": not parsed.no_preflight}
        work = duels.duel(config, parsed.models, _say, watch=note, **how)
    try:
        last = interruptible(work)
    except LotbenchError as error:
        if error.run is not None and error.exit_code != 2:
            _name_command(folders)
        # The caller would name the command that resumes one of the runs alone.
        error.run = None
        raise
    except KeyboardInterrupt:
        _name_command(folders)
        raise KeyboardInterrupt from None
    print(f"more of it: lotbench compare {_joined([run.path for run in last.runs])}")
    return 0


def _name_command(folders: Sequence[Path]) -> None:
    """Print the command that goes on with a stopped duel, if all its runs have a folder."""
    if folders and all(folder.is_dir() for folder in folders):
        print(f"lotbench: go on with: lotbench duel {_joined(folders)}", file=sys.stderr)


def _joined(folders: Sequence[Path]) -> str:
    return " ".join(map(str, folders))


def _plans(config: Config, models: Sequence[str]) -> int:
    """Print the plan of each model's run in a duel (`--dry-run`), and return exit code 0."""
    from lotbench.cli.dry import show_plan

    for model in models:
        experiment = config.experiment.model_copy(update={"model": model})
        show_plan(plan.make(config.model_copy(update={"experiment": experiment})))
    return 0


def _say(look: Look) -> None:
    """Print the result of an interim test of a duel (`Look`)."""
    unit = look.board.places[0].entry.metric.unit
    print(f"look {look.at} of {look.of}, {look.units} {unit}s, level {look.level:.2g}:")
    for sentence in look.lines:
        print(visible(f"  {sentence}"))
