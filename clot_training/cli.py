"""The command `clot STEP --config FILE`.

Modules of steps are imported only when the step runs, so `--help` is fast. Under torchrun or `accelerate launch` every
process runs the step, and only the first prints.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from lotbench.cli.parser import Parser

if TYPE_CHECKING:
    from clot_training.config import Config


LIBRARIES = re.compile(r"\(os error (?:13|28|30|122)\)|inline_container|PytorchStreamWriter")
"""What safetensors, tokenizers and torch say of a file that they cannot write; their errors are no OSError."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a step and return the exit code: 0 done, 1 error, 2 usage, 130 interrupted.

    The same command continues a step that was stopped.
    """
    parsed = parser().parse_args(arguments)
    # Otherwise TRL sends telemetry to the hub.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    from clot_training import packages
    from clot_training.config import load
    from lotbench.errors import LotbenchError
    from lotbench.models.transformers.loading import prepare_libraries
    from lotbench.report.markdown import visible
    from lotbench.storage.datasets import config_file

    prepare_libraries()
    try:
        path = config_file(parsed.config)
        assert path is not None
        config = load(path, parsed.sets)
        if parsed.step in CHAIN:
            packages.check(config)
        lines = STEPS[parsed.step][0](config)
        if parsed.step in NEXT:
            sets = (part for pair in parsed.sets for part in ("--set", pair))
            lines.append(f"next: clot {shlex.join((NEXT[parsed.step], '--config', parsed.config, *sets))}")
    except LotbenchError as error:
        print(f"clot: {visible(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("clot: interrupted; the same command goes on", file=sys.stderr)
        return 130
    except Exception as error:
        if (fault := _file_fault(error)) is None:
            raise
        print(f"clot: {visible(fault)}; the same command goes on", file=sys.stderr)
        return 2
    if os.environ.get("RANK", "0") == "0":
        print("\n".join(lines))
    return 0


def _file_fault(error: BaseException | None) -> str | None:
    """Return the reason of an error if a file could not be written, also by a library; else None.

    A full disk and a folder without write permission are such reasons.
    """
    while error is not None:
        if isinstance(error, OSError):
            return f"{error.filename or 'the work folder'}: {error.strerror or error}"
        if LIBRARIES.search(str(error)):
            return f"the work folder: {str(error).strip().splitlines()[0]}; is the disk full?"
        error = error.__cause__
    return None


def parser() -> argparse.ArgumentParser:
    """Return the parser of the `clot` command."""
    top = Parser(
        prog="clot",
        description="Train a model to leap: from Oogiri rows to a better adapter and new samples.",
        epilog="the steps meet in the folder that the configuration calls `out`",
    )
    commands: Any = top.add_subparsers(title="steps", metavar="STEP", dest="step", required=True)
    every = argparse.ArgumentParser(add_help=False)
    every.add_argument("--config", metavar="FILE", required=True, help="a TOML file, or a shipped one's name")
    every.add_argument(
        "--set", metavar="K=V", action="append", default=[], dest="sets", help="any setting, by dotted name"
    )
    for name, (_, about) in STEPS.items():
        description = about[:1].upper() + about[1:] + "."
        commands.add_parser(name, help=about, description=description, parents=[every])
    return top


def _instructions(config: Config) -> list[str]:
    from clot_training.data.instructions import make

    manifest = make(config)
    kinds = ", ".join(f"{count} {kind}" for kind, count in manifest["kinds"].items())
    summary = f"{manifest['instructions']} instructions of {manifest['rows']} rows: {kinds}"
    return [summary, *_left_out(manifest["skipped"])]


def _tune(config: Config) -> list[str]:
    from pathlib import Path

    from clot_training.records import Work
    from clot_training.tuning.tune import tune

    work = Work(Path(config.out))
    return _stage_lines(tune(config, [work.train], work.stage1))


def _stage_lines(about: Mapping[str, Any]) -> list[str]:
    loss = about["loss"]
    summary = f"loss {loss['before']:.3f} -> {loss['after']:.3f}"
    return [summary, *_left_out(about["left_out"]), about["model"]]


def _explore(config: Config) -> list[str]:
    from clot_training.exploring.explore import explore

    counts = explore(config)["counts"]
    text = f"{counts.get('kept', 0)} of {counts.get('candidates', 0)} candidates kept"
    return [f"{text}, {counts.get('compared', 0)} compared, {config.explore.conditions} conditions"]


def _refine(config: Config) -> list[str]:
    from clot_training.tuning.refine import refine

    return _stage_lines(refine(config))


def _synthesize(config: Config) -> list[str]:
    from clot_training.synthesize import synthesize

    built = synthesize(config)
    counts = ", ".join(f"{count} {stage}" for stage, count in built.stages.items())
    if built.accepted is None:
        return [counts, f"now decide: lotbench data review {built.proposals}", "then run this step again"]
    return [counts, f"now check: lotbench data check {built.dataset}"]


def _report(config: Config) -> list[str]:
    from clot_training.report import report

    return [report(config)]


def _merge(config: Config) -> list[str]:
    from clot_training.tuning.publish import merge

    return [f"hf:{merge(config)}"]


def _left_out(counts: Mapping[str, int]) -> list[str]:
    reasons = ", ".join(f"{count} {reason}" for reason, count in counts.items())
    return [f"left out: {reasons}"] if reasons else []


STEPS: Mapping[str, tuple[Callable[[Config], list[str]], str]] = {
    "instructions": (_instructions, "turn rows into instructions to generate, select and rank"),
    "tune": (_tune, "stage 1: tune an adapter on the instructions"),
    "explore": (_explore, "write new responses under weakly associated conditions; keep those that win"),
    "refine": (_refine, "stage 2: tune again on instructions and kept candidates"),
    "synthesize": (
        _synthesize,
        "propose LoTbench samples, and make a data set of those that a person accepted",
    ),
    "report": (_report, "score every stage on the held-out split, in one table"),
    "merge": (_merge, "write the base with the last stage's adapter in it, as a model of its own"),
}
"""The function and the help text of each step, by name; a function returns the lines to print."""
CHAIN = ("instructions", "tune", "explore", "refine", "report")
"""The steps of a whole training run in order; each of them first checks that the packages of all are installed."""
NEXT = dict(pairwise(CHAIN))


if __name__ == "__main__":
    sys.exit(main())
