"""`lotbench evaluate`, and what other commands share with it: flags to configuration, interruption, the printed result."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from lotbench.calls.budget import refuse_tier
from lotbench.cli.progress import watch
from lotbench.config import experiment as config
from lotbench.config import judge_panel, model_names
from lotbench.config.experiment import Config
from lotbench.errors import UsageError
from lotbench.report import bounds
from lotbench.report.markdown import duration, visible
from lotbench.run import plan
from lotbench.run.evaluate import begin
from lotbench.run.loading import Run
from lotbench.run.session import collect_rarely
from lotbench.storage import run_folder
from lotbench.storage.datasets import config_file

T = TypeVar("T")
EMBEDDED = "an embedded model played"
"""The beginning of the reason why the score of an embedded model means nothing (see `report.trust`)."""
FEW = 100
"""The number of samples below which scores are printed with two decimals instead of three."""
LIMITS = ("concurrency", "rpm", "tpm", "cost_limit", "token_limit", "time_limit")
FIELDS = {
    **{name: name for name in ("benchmark", "model", "data", "limit", "repeats", "seed")},
    "sample": "samples",
    "language": "languages",
    "max_rounds": "settings.max_rounds",
    "judge": "roles.judge",
    "oracle": "roles.oracle",
    **{name: f"limits.{name}" for name in LIMITS},
}
"""The configuration field, as a dotted path, that each flag sets; by flag name."""


def limits(parsed: argparse.Namespace) -> dict[str, Any]:
    """Return the limits that were given as flags, by name; the others are left out."""
    return {name: value for name in LIMITS if (value := getattr(parsed, name)) is not None}


def evaluate(parsed: argparse.Namespace) -> int:
    """Carry out `lotbench evaluate`: play a run and print its result, or print its plan (`--dry-run`); return exit code 0."""
    run_config = configuration(parsed)
    if parsed.dry_run:
        from lotbench.cli.dry import show_plan

        run_plan = plan.make(run_config)
        refuse_tier(run_plan.limits, [name for names in run_plan.names.values() for name in names])
        return show_plan(run_plan)
    work = begin(
        run_config,
        out=Path(parsed.out),
        fresh=parsed.fresh,
        check=not parsed.no_preflight,
        watch=watch(sys.stderr),
        shards=parsed.shards,
    )
    return print_result(interruptible(work))


def configuration(
    parsed: argparse.Namespace,
    defaults: Mapping[str, Any] | None = None,
    fixed: Mapping[str, Any] | None = None,
) -> Config:
    """Return the configuration that the flags of a command ask for.

    Args:
        parsed: The parsed flags; a flag that the command does not have counts as not given.
        defaults: Fields by dotted path, which override --config and --set; flags of `FIELDS` override them.
        fixed: Fields by dotted path, which override everything else.

    Raises:
        UsageError: A flag or a file is invalid, or names something that does not exist.
    """
    values = vars(parsed)
    flags = {field: values[name] for name, field in FIELDS.items() if values.get(name) is not None}
    for pair in values.get("role", ()):
        role, equals, model = pair.partition("=")
        if not equals:
            raise UsageError(f"--role {pair!r}: expected NAME=MODEL")
        flags[f"roles.{role}"] = [*(flags.get(f"roles.{role}") or ()), model]
    if values.get("panel"):
        flags |= _panel(parsed.panel, flags)
    return config.load(
        config_file(parsed.config), parsed.sets, {**(defaults or {}), **flags, **(fixed or {})}
    )


def _panel(path_or_name: str, flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration fields of a judge panel, by dotted path: its judges and its id.

    Args:
        path_or_name: The path of a panel file, or the name of a shipped panel.
        flags: The fields that other flags set.

    Raises:
        UsageError: Judges were given as flags too, or the panel cannot be read.
    """
    if flags.get("roles.judge"):
        raise UsageError("--panel names the judges: leave out --judge and --role judge=")
    panel = judge_panel.load(_panel_file(path_or_name))
    return {"roles.judge": list(panel.judges), "settings.panel": panel.id}


def _panel_file(path_or_name: str) -> Path:
    """Return the path of a panel file, given its path or the name of a shipped panel."""
    name = path_or_name.removeprefix("configs/").removeprefix("panels/").removesuffix(".toml")
    path = config_file(path_or_name if Path(path_or_name).exists() else f"panels/{name}")
    assert path is not None
    return path


def interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine and return its result; Ctrl-C and SIGTERM cancel it.

    A cancelled run drops its calls in flight and writes its report.

    Raises:
        KeyboardInterrupt: The coroutine was cancelled.
    """
    collect_rarely()

    async def main() -> T:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        try:
            return await work
        except asyncio.CancelledError as error:
            raise KeyboardInterrupt(*error.args) from None

    return asyncio.run(main())


def print_result(run: Run) -> int:
    """Print the scores of a run, whether it is trusted, and the commands to go on with; return exit code 0."""
    summary = run.summary
    if any(reason.startswith(EMBEDDED) for reason in summary["reasons"]):
        # The score of an embedded model means nothing, so its digits are not printed.
        counts = ", ".join(f"{count} {name}" for name, count in summary["outcomes"].items())
        print(f"{summary['n_traces']} played: {counts} (the numbers of it are in the report)")
    else:
        _print_scores(run)
    name = summary["primary_metric"]
    if (score := summary["scores"].get(name)) and (
        sentence := bounds.moving(name, score.get("bounds", {}), score["low"], score["high"])
    ):
        print(sentence)
    # A server gives the name of its model, and reasons quote that name.
    print(visible(_trust(run)))
    if not run_folder.writable(run.path):
        print(f"{run.path} can only be read: nothing was written to it")
        return 0
    print(f"report: {run.report}, and report.html beside it")
    print(f"next: lotbench view {run.path}, or lotbench replay {run.path}")
    return 0


def _print_scores(run: Run) -> None:
    """Print the primary metric with its cost in one line, and the other metrics below."""
    summary, cost = run.summary, run.summary["usage"]["cost_usd"]
    scores = dict(summary["scores"])
    solved, total = summary["outcomes"].get("solved"), summary["n_traces"]
    parts = [run.config.model, _value(summary["primary_metric"], scores.pop(summary["primary_metric"], None))]
    parts += [f"{solved}/{total} solved"] if solved is not None else [f"{total} played"]
    parts += [] if cost is None else [f"${cost:.2f}"]
    print(visible("  ".join([*parts, duration(summary["wall_s"])])))
    for name, score in scores.items():
        print(f"  {name:30} {_value('', score)}")


def _trust(run: Run) -> str:
    """Return a line that says whether a run is trusted, or why not; and a second line if a judge check is missing."""
    reasons = run.summary["reasons"]
    if run.summary["rankable"]:
        return "trusted: it has a place among runs that were measured alike"
    names = [model_names.parse(name) for name in run.config.roles.get("judge", ())]
    checkable = names and not {name.kind for name in names} & {"python", "local", "human"}
    judges = " ".join(f"--judge {name.text}" for name in names)
    unchecked = any("was never checked" in reason for reason in reasons)
    earns = f"\nearn it: lotbench judge-check {judges}" if unchecked and checkable else ""
    return f"not trusted: {'; '.join(reasons)}{earns}"


def _value(name: str, score: dict[str, Any] | None) -> str:
    """Return a score as text, with its name, interval and bounds: two decimals below `FEW` samples, else three."""
    if score is None or score["value"] is None:
        return f"{name} none: {score['why'] if score else 'it was not computed'}".strip()
    digits = 2 if score["n"] < FEW else 3
    low, high = score["low"], score["high"]
    span = "" if low is None or high is None else f" ({low:.{digits}f} to {high:.{digits}f})"
    words = bounds.in_words(score.get("bounds", {}))
    bounds_text = f"  bounds {words}" if words else ""
    return f"{name} {score['value']:.{digits}f}{span}{bounds_text}".strip()
