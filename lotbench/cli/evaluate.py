"""`lotbench evaluate`, and what other commands share with it: flags to configuration, interruption, the printed result."""

import argparse
import asyncio
import signal
import sys
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from lotbench import benchmarks
from lotbench.calls.budget import refuse_tier
from lotbench.cli.lines import command, wrapped
from lotbench.config import experiment as config
from lotbench.config import judge_panel
from lotbench.config.experiment import Config
from lotbench.errors import RunFolderError, UsageError, refuse_faults
from lotbench.report import bounds, trust
from lotbench.run import plan
from lotbench.run.evaluate import begin
from lotbench.run.loading import Run, check_command
from lotbench.run.progress import watch
from lotbench.run.session import collect_rarely
from lotbench.storage import run_folder
from lotbench.storage.datasets import config_file, data_folder, data_sets

T = TypeVar("T")
LIMITS = ("concurrency", "rpm", "tpm", "cost_limit", "token_limit", "time_limit")
PATIENCE_S = 10.0
"""How long a second Ctrl-C is ignored, in seconds; see `interruptible`."""
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


def evaluate(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench evaluate`: play a run and print its result, or print its plan (`--dry-run`)."""
    run_config = configuration(parsed)
    _refuse_faulty_data(run_config)
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
    print_result(interruptible(work))


def _refuse_faulty_data(run_config: Config) -> None:
    """Refuse a data set of one's own that `lotbench data check` refuses; raises DataError with its lines."""
    asked = run_config.experiment
    declared = benchmarks.get(asked.benchmark)
    folder = data_folder(asked.data, declared.data_set)
    if folder not in data_sets():
        settings = config.validate(declared.Settings, asked.settings, prefix="settings.")
        refuse_faults(plan.findings(declared, settings, folder)[0])


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
    flags = {**(defaults or {}), **flags, **(fixed or {})}
    return config.load(config_file(parsed.config), parsed.sets, flags)


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
    return {"roles.judge": sorted(panel.judges), "settings.panel": panel.id}


def _panel_file(path_or_name: str) -> Path:
    """Return the path of a panel file, given its path or the name of a shipped panel."""
    name = path_or_name.removeprefix("configs/").removeprefix("panels/").removesuffix(".toml")
    path = config_file(path_or_name if Path(path_or_name).exists() else f"panels/{name}")
    assert path is not None
    return path


def interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine and return its result; Ctrl-C, SIGTERM and the end of the terminal (unless under nohup) cancel it.

    A cancelled run drops its calls in flight and writes its report. Meanwhile a second Ctrl-C is ignored for `PATIENCE_S`
    seconds, so that the folder to go on with is named.

    Raises:
        KeyboardInterrupt: The coroutine was cancelled.
    """
    collect_rarely()

    async def main() -> T:
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()

        def stop() -> None:
            if not task.cancelling():
                task.cancel()
                loop.call_later(PATIENCE_S, loop.remove_signal_handler, signal.SIGINT)

        hang_up = [signal.SIGHUP] if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL else []
        for number in (signal.SIGINT, signal.SIGTERM, *hang_up):
            loop.add_signal_handler(number, stop)
        try:
            return await work
        except asyncio.CancelledError as error:
            raise KeyboardInterrupt(*error.args) from None

    return asyncio.run(main())


def print_result(run: Run) -> None:
    """Print the scores of a run, whether it is trusted, and the commands to go on with."""
    summary = run.summary
    name = summary["primary_metric"]
    result = summary["scores"].get(name) or {}
    rows = list(run.result.items())
    if moving := bounds.moving(name, result.get("bounds", {}), result.get("low"), result.get("high")):
        rows.append((" ", moving))
    # Metrics without a value that a command can compute.
    whys = [str(metric.get("why")) for metric in summary["scores"].values()]
    rows += [(" ", why) for why in dict.fromkeys(whys) if "lotbench score" in why]
    # A person plays for fun, not for a place.
    said, check = ("", "") if run.config.model.startswith("human") else _trust(run)
    rows += [("trust", said), *((" ", remark) for remark in summary["remarks"])] if said else []
    for label, text in rows:
        print(wrapped(text, label))
    if check:
        print(command(check))
    if not run_folder.writable(run.path):
        print(f"{run.path} can only be read: nothing was written to it")
        return
    name = str(run.path)
    with suppress(RunFolderError):
        name = "latest" if run_folder.find("latest").samefile(run.path) else name
    print(wrapped(f"{run.path / 'report.html'} (and report.md)", "report"))
    print(command(f"lotbench view {name}", "next"), command(f"lotbench replay {name}"), sep="\n")


def _trust(run: Run) -> tuple[str, str]:
    """Return whether a run is trusted, or why not; and the command that checks its judges, or ""."""
    if run.summary["rankable"]:
        return "trusted: it has a place among runs that were measured alike", ""
    reasons = run.summary["reasons"]
    said, check = f"not trusted: {', '.join(trust.in_short(reasons))}", check_command(run.config, reasons)
    return (f"{said}; check with:" if check else f"{said}; the report says why"), check
