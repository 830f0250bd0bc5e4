"""`lotbench duel`: models play the same samples, with up to four interim tests, until they differ clearly."""

import argparse
from pathlib import Path

from lotbench.cli.evaluate import configuration, interruptible, limits
from lotbench.errors import UsageError
from lotbench.report.markdown import visible
from lotbench.report.ranking_sections import remarked, variants
from lotbench.report.trust import in_short
from lotbench.run import duel as duels
from lotbench.run import plan
from lotbench.run.duel import Look
from lotbench.run.loading import load_run
from lotbench.run.session import Status


def duel(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench duel`: begin one between models, or resume one given its runs.

    Raises:
        UsageError: Some arguments are models and some are runs, or they cannot form a duel.
        LotbenchError, KeyboardInterrupt: The duel was stopped; `parsed.folders` has the folders of its runs.
    """
    runs = [Path(name) for name in parsed.models if (Path(name) / "run.json").is_file()]
    if runs and len(runs) < len(parsed.models):
        raise UsageError(
            "a duel is of models that begin, or of the runs of one that was stopped; not of both"
        )
    parsed.folders = list(runs)
    if runs:
        played, check = [load_run(path) for path in runs], not parsed.no_preflight
        work = duels.resume_duel(played, _say, check=check, **limits(parsed))
    else:
        config = configuration(parsed)
        if parsed.dry_run:
            from lotbench.cli.dry import show_plan

            for model in parsed.models:
                show_plan(plan.make(config.changed(model=model)))
            return

        async def note(status: Status) -> None:
            parsed.folders.append(status.path)

        how = {"out": Path(parsed.out), "fresh": parsed.fresh, "check": not parsed.no_preflight}
        work = duels.duel(config, parsed.models, _say, watch=note, **how)
    last = interruptible(work)
    shorts = in_short(reason for place in last.board.places for reason in place.entry.reasons)
    # A duel that ends early is never complete.
    for said in (*variants(last.board), *remarked(last.board)):
        print(visible(said))
    if doubts := [short for short in shorts if short != "not complete"]:
        print(f"not trusted: {', '.join(doubts)}")
    names = " ".join(str(run.path) for run in last.runs)
    print(f"more of it: lotbench compare {names}")


def _say(look: Look) -> None:
    """Print the result of an interim test of a duel (`Look`)."""
    unit = look.board.places[0].entry.metric.unit
    print(f"look {look.at} of {look.of}, {look.units} {unit}s, level {look.level:.2g}:")
    for sentence in look.lines:
        print(visible(f"  {sentence}"))
