"""Commands on ballots: the free responses of several runs side by side, and the votes on them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from lotbench import benchmarks
from lotbench.config.experiment import differences, validate
from lotbench.edge.files import atomic_write
from lotbench.edge.files.jsonl import rows
from lotbench.errors import DataError, UsageError, at
from lotbench.harness.ballot import Ballot, Item, Prompt, Vote, ballot, faults, shares
from lotbench.run.results import Run, load_run


def make(parsed: argparse.Namespace) -> int:
    """Carry out `lotbench ballot make`."""
    runs = [load_run(run, Path(parsed.runs_in)) for run in parsed.runs]
    written: dict[str, Mapping[str, str]] = {}
    for run in runs:
        if run.config.model in written:
            raise UsageError(f"{run.path}: {run.config.model} is on the ballot already")
        written[run.config.model] = _responses(run)
    prompts = _prompts(runs)
    items, key = ballot(written, prompts, runs[0].config.data, parsed.seed)
    out = Path(parsed.out)
    atomic_write.write(out, (f"{item.model_dump_json(exclude_none=True)}\n" for item in items))
    atomic_write.write(
        _key(out), json.dumps({"schema": 1, "models": key}, ensure_ascii=False, indent=1) + "\n"
    )
    print(f"{out}: {len(items)} of {len(prompts)} prompts, {len(written)} models; the names: {_key(out)}")
    return 0


def count(parsed: argparse.Namespace) -> int:
    """Carry out `lotbench ballot count`."""
    path, given = Path(parsed.ballot), Path(parsed.votes)
    items = [item for _, item in rows(path, Item.model_validate)]
    try:
        key = json.loads(_key(path).read_text(encoding="utf-8"))["models"]
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"{_key(path)}: cannot be read as the key of a ballot: {error}") from None
    votes = dict(rows(given, Vote.model_validate))
    if found := faults(list(votes.values()), key):
        numbers = list(votes)
        raise DataError([at(given, numbers[index], fault) for index, fault in found.items()])
    voters = {vote.voter for vote in votes.values()}
    print(f"{len(voters)} voters, {len(votes)} votes on {len(items)} prompts")
    for type_, model, mine, share, low, high in shares(items, key, list(votes.values())):
        span = f"  [{low:.3f}, {high:.3f}]" if low is not None and high is not None else ""
        print(f"{type_:5} {model:40} {mine:6}  {share:.3f}{span}")
    return 0


def _responses(run: Run) -> Mapping[str, str]:
    """What a run's model wrote, by sample.

    Raises:
        UsageError: The run is not one of free responses.
    """
    settings = validate(benchmarks.get(run.config.benchmark).Settings, run.config.settings)
    written = _ballot(run).responses(run.traces, settings)
    if written is None:
        raise UsageError(f"{run.path}: no free responses: {_ballot(run).how}")
    return written


def _ballot(run: Run) -> Ballot:
    """How the run's benchmark puts responses to the vote.

    Raises:
        UsageError: It has none; the message says which have.
    """
    found = benchmarks.get(run.config.benchmark).people.ballot
    if found is None:
        ballots = (benchmarks.get(name).people.ballot for name in benchmarks.names())
        raise UsageError(f"{run.path}: no free responses: {' or '.join(one.how for one in ballots if one)}")
    return found


def _prompts(runs: list[Run]) -> dict[str, Prompt]:
    """The prompts that the runs have in common.

    Raises:
        UsageError: They are not the same ones.
    """
    first = runs[0].samples
    for run in runs[1:]:
        shared = first.keys() & run.samples.keys()
        changed = [name for name in shared if differences(first[name], run.samples[name])]
        if changed or not shared:
            raise UsageError(f"{run.path} and {runs[0].path}: not on the same data")
    return {name: _ballot(runs[0]).prompt(table) for name, table in first.items()}


def _key(ballot_path: Path) -> Path:
    return ballot_path.with_name(f"{ballot_path.name}.key.json")
