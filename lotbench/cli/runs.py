"""Commands on runs: resume, score, report, export, replay and show; and `lotbench list`."""

import argparse
import asyncio
import json
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from lotbench import benchmarks
from lotbench.cli.evaluate import interruptible, limits, print_result
from lotbench.config import experiment as config
from lotbench.errors import RunFolderError, UsageError, shape_errors
from lotbench.report.markdown import visible
from lotbench.run import plan, results
from lotbench.run.evaluate import resume as go_on
from lotbench.run.loading import Run, load_run
from lotbench.run.preview import previewed
from lotbench.run.progress import damage, watch
from lotbench.storage import datasets, run_folder
from lotbench.types import Message


def resume(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench resume`: play the rest of a run and print its result."""
    work = go_on(
        parsed.run,
        root=parsed.runs_folder,
        retry_failed=parsed.retry_failed,
        check=not parsed.no_preflight,
        watch=watch(sys.stderr),
        shards=parsed.shards,
        **limits(parsed),
    )
    print_result(interruptible(work))


def score(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench score`: read and score a run again from its journal, without a model call."""
    from lotbench.run.rescore import replay_run

    path = run_folder.find(parsed.run, parsed.runs_folder)
    if parsed.labels:
        print(f"labels kept: {_keep_labels(load_run(path), [Path(file) for file in parsed.labels])}")
    # The folder is locked before it is read: results that a session adds meanwhile would be lost.
    with run_folder.opened(path) as place:
        run = load_run(path)
        again = asyncio.run(replay_run(run))
        if place is not None:
            place.keep(again.traces)
        scored = replace(run, traces=again.traces)
        wall_s = run.summary.get("wall_s", 0.0)
        scored, _ = results.write(scored, again.plan, place, wall_s, again.totals, embed=parsed.embed)
    if again.damaged:
        print(f"warning: {damage(again.damaged)}: those calls are missing", file=sys.stderr)
    if again.not_replayed:
        print(f"{len(again.not_replayed)} tasks stand as they were: not all their calls are in the journal")
    print_result(scored)


def report(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench report`: write a run's report again, or print the comparison of several runs."""
    runs = [load_run(name, parsed.runs_folder) for name in parsed.runs]
    if len(runs) > 1:
        from lotbench.report.comparison import to_markdown
        from lotbench.run.compare_runs import compare_runs

        print(to_markdown(compare_runs(runs)), end="")
        return
    run, document = results.rewritten(runs[0], full=parsed.full)
    if parsed.png:
        from lotbench.cli.compare import write_drawings
        from lotbench.report.html.run_report import drawings

        folder = run.path / "plots"
        run_folder.refuse_way_out(run.path, folder)
        write_drawings(folder, drawings(document))
    print_result(run)


def export(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench export`: write a run as rows, or in the format of another tool.

    Raises:
        UsageError: The flags contradict each other, or --out cannot be written to.
    """
    from lotbench.checks import answer_labels
    from lotbench.report import trace_rows
    from lotbench.storage.export import write

    run = load_run(parsed.run, parsed.runs_folder)
    if parsed.out:
        run_folder.refuse_way_out(run.path, Path(parsed.out))
    if parsed.for_review and Path(parsed.out or "").suffix == ".csv":
        raise UsageError("--for-review: labels come back as JSON lines, and not as a table: --out NAME.jsonl")
    if parsed.to:
        return _export_to(run, parsed)
    table = trace_rows.steps if parsed.steps else trace_rows.episodes
    with shape_errors(run.path):
        exported = table(run.traces, run.path.name, run.answered)
        rows = answer_labels.rows(run) if parsed.for_review else list(exported)
    count = write(rows, Path(parsed.out) if parsed.out else None)
    if parsed.out:
        print(f"{parsed.out}: {count} rows")


def _export_to(run: Run, parsed: argparse.Namespace) -> None:
    """Write a run for the Hugging Face hub, print the files and what the format cannot hold."""
    from lotbench.integrations import huggingface

    if parsed.to != "huggingface":
        raise UsageError(f"export --to {parsed.to}: there is no such tool; there is: huggingface")
    if parsed.for_review or parsed.steps or not parsed.out:
        raise UsageError("export --to TOOL needs --out FOLDER, and goes without --for-review and --steps")
    files, notes = huggingface.export(run, Path(parsed.out))
    print(*files, *(f"note: {sentence}" for sentence in notes), sep="\n")


def _keep_labels(run: Run, labels: Sequence[Path]) -> str:
    """Keep labels and return a text that says where: of answers in the run folder, of drawn guesses among the judge checks."""
    validation = benchmarks.get(run.config.benchmark).validation
    if validation is not None and validation.draw is not None:
        from lotbench.checks.field_labels import labelled

        return str(labelled(*labels).stored)
    from lotbench.checks import answer_labels

    return answer_labels.keep(run, labels)


def replay(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench replay`: print an episode of a run step by step, as text or as JSON."""
    try:
        replayed = load_run(parsed.run, parsed.runs_folder).replay(parsed.sample, parsed.repeat)
    except RunFolderError as error:
        sample = f"; a sample: lotbench replay latest --sample {parsed.run}"
        raise RunFolderError(f"{error}{sample * bool(re.fullmatch('[a-z]+-[0-9]+', parsed.run))}") from None
    print(json.dumps(replayed.table, ensure_ascii=False, indent=2) if parsed.json else replayed)


def show(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench show`: print the prompts of a benchmark, or what one call of a run sent."""
    if parsed.call:
        from lotbench.run.rescore import find_request

        run = load_run(parsed.what or "latest", parsed.runs_folder)
        request = asyncio.run(find_request(run, parsed.call))
        print(visible(f"--- {request.model}, {request.key}"))
        _print_messages(request.messages, request.schema)
        return
    if parsed.what and parsed.what not in benchmarks.names():
        _refuse_run(parsed.what, parsed.runs_folder)
    flags = {"benchmark": parsed.what, "model": "human", "data": parsed.data, "samples": parsed.sample}
    file = datasets.config_file(parsed.config)
    experiment = config.load(file, parsed.sets, flags).experiment
    declared = benchmarks.get(experiment.benchmark)
    named = {"candidate", *experiment.roles}
    open_roles = [name for name, role in declared.roles.items() if not (role.default or name in named)]
    humans = {f"roles.{name}": ["human"] for name in open_roles}
    run_plan = plan.make(config.load(file, parsed.sets, flags | humans))
    for question in previewed(run_plan):
        print(f"=== {question.step}, to the {question.role}")
        _print_messages(question.messages, question.schema)


def _refuse_run(what: str, root: str | None) -> None:
    """Raise a UsageError with the commands that show a run if `what` is a run in the folder `root`; else return."""
    with suppress(RunFolderError):
        run_folder.find(what, root)
        raise UsageError(
            f"{what} is a run: lotbench replay {what} tells a game of it, lotbench show {what} --call KEY what a call sent"
        )


def listing(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench list`: print the benchmarks with their roles and settings, and the data sets."""
    for name in benchmarks.names():
        declared = benchmarks.get(name)
        print(f"{name} (version {declared.version}): {declared.about}")
        for role, about in declared.roles.items():
            default = f"; default {', '.join(about.default)}" if about.default else ""
            print(f"  role     {role:12} {about.about}{default}")
        for setting, field in declared.Settings.model_fields.items():
            print(f"  setting  {setting:16} {json.dumps(field.get_default(call_default_factory=True))}")
    print("data sets: " + ", ".join(place.name for place in datasets.data_sets()))


def _print_messages(messages: tuple[Message, ...], schema: Any) -> None:
    for message in messages:
        parts = (one if isinstance(one, str) else f"[picture {one.sha256[:12]}]\n" for one in message.parts)
        print(f"--- {message.speaker}\n{visible(''.join(parts))}")
    if schema is not None:
        print(f"--- schema\n{json.dumps(schema, ensure_ascii=False)}\n")
