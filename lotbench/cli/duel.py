"""`lotbench duel`: models play the same samples until it is known who is better; the sentence that says so."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lotbench.cli.evaluate import LIMITS, configuration, interruptible
from lotbench.report.markdown import visible
from lotbench.run import duel as duels
from lotbench.run import plan
from lotbench.run.duel import Standing


def duel(parsed: argparse.Namespace) -> int:
    """Carry out `lotbench duel`."""
    asked = configuration(parsed)
    if parsed.dry_run:
        from lotbench.cli.dry import show_plan

        for model in parsed.models:
            named = asked.experiment.model_copy(update={"model": model})
            show_plan(plan.make(asked.model_copy(update={"experiment": named})), Path(parsed.out))
        print(f"that is each of {len(parsed.models)} models, if the whole set has to be played")
        return 0
    work = duels.begin(
        asked,
        parsed.models,
        out=Path(parsed.out),
        delta=parsed.delta,
        fresh=parsed.fresh,
        check=not parsed.no_preflight,
        say=_progress,
    )
    return print_standing(interruptible(work))


def resume(parsed: argparse.Namespace, path: Path) -> int:
    """Go on with a duel: `lotbench resume` of its folder."""
    limits = {name: getattr(parsed, name) for name in LIMITS if getattr(parsed, name) is not None}
    work = duels.resume(
        path,
        retry_failed=parsed.retry_failed,
        check=not parsed.no_preflight,
        say=_progress,
        **limits,
    )
    return print_standing(interruptible(work))


def print_standing(standing: Standing) -> int:
    """Say what came of a duel."""
    for sentence in standing.said:
        print(visible(sentence))
    print(f"page: {standing.path / duels.PAGE}; look through its games with: lotbench view {standing.path}")
    return 0


def _progress(standing: Standing) -> None:
    """A line on how a duel stands, with what the whole set would take."""
    spent, duel = standing.spent, standing.duel
    line = f"{standing.samples}/{len(duel.order)} samples, {spent.games:,}/{duel.games:,} games"
    if spent.dollars is not None and spent.games:
        line += f", ${spent.dollars:.4f} of at most about ${spent.dollars / spent.games * duel.games:.4f}"
    print(line, file=sys.stderr)
    for pair in standing.pairs:
        if pair.interval is not None:
            low, high = pair.interval
            ended = "" if pair.verdict is None else " (settled)"
            print(
                f"  {visible(pair.one)} minus {visible(pair.other)}: {low:+.3f} to {high:+.3f}{ended}",
                file=sys.stderr,
            )
