"""Commands on ballots: the free responses of several runs side by side, and the votes on them."""

from __future__ import annotations

import argparse
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from lotbench import benchmarks
from lotbench.config.experiment import validate
from lotbench.errors import DataError, UsageError, at
from lotbench.harness.ballot import (
    Ballot,
    Item,
    Key,
    Names,
    Task,
    Vote,
    ballot,
    faults,
    key_faults,
    ranked,
    rated,
    shares,
)
from lotbench.metrics.correlation import LEAST, coefficient
from lotbench.report.markdown import visible
from lotbench.run.loading import Run, load_run
from lotbench.storage import atomic_write, datasets
from lotbench.storage.jsonl import document, rows

RANKED = 5
"""Responses that a ranking is of."""


def make(parsed: argparse.Namespace) -> int:
    """Carry out `lotbench ballot make`."""
    runs = _name_runs([load_run(run, parsed.kept) for run in parsed.runs])
    if len(runs) > len(ascii_uppercase) and not parsed.pairs:
        raise UsageError(
            f"{len(runs)} models: a ballot shows {len(ascii_uppercase)} at most, or any number with --pairs"
        )
    written = {name: _responses(run) for name, run in runs.items()}
    first = next(iter(runs.values()))
    prompts = _prompts(list(runs.values()))
    items, key = ballot(written, prompts, first.config.data, parsed.seed, pairs=parsed.pairs)
    out, lines = Path(parsed.out), "".join(f"{item.model_dump_json(exclude_none=True)}\n" for item in items)
    if out.exists() and out.read_bytes() != lines.encode():
        raise UsageError(f"{out}: is another ballot, on which people may have voted: choose another --out")
    atomic_write.write(out, lines)
    named = {"schema": 1, "models": key, "scores": {name: _score(run) for name, run in runs.items()}}
    atomic_write.write(_key(out), json.dumps(named, ensure_ascii=False, indent=1) + "\n")
    prompt_count = len({item.prompt or item.id for item in items})
    pairs = f" in {len(items)} pairs" if parsed.pairs else ""
    print(
        f"{out}: {prompt_count} of {len(prompts)} prompts{pairs}, {len(written)} models; the names: {_key(out)}"
    )
    return 0


def count(parsed: argparse.Namespace) -> int:
    """Carry out `lotbench ballot count`."""
    path, votes_path = Path(parsed.ballot), Path(parsed.votes)
    items = read_items(path)
    named = read_names(_key(path))
    if foreign := key_faults(items, named.models):
        raise DataError([f"{_key(path)}: {fault}" for fault in foreign])
    key = {item.id: named.models[item.id] for item in items}
    votes = read_votes(votes_path, key)
    voters = {vote.voter for vote in votes}
    paired = any(item.prompt for item in items)
    print(f"{len(voters)} voters, {len(votes)} votes on {len(items)} {'pairs' if paired else 'prompts'}")
    lines = _ratings if paired else _shares
    for line in lines(items, key, votes, named):
        print(visible(line))
    return 0


def read_items(path: Path) -> list[Item]:
    """Return the prompts or pairs of a ballot file.

    Raises:
        DataError: A line is none, or two have one id.
    """
    items = dict(rows(path, Item.model_validate))
    count = Counter(item.id for item in items.values())
    if twice := [at(path, number, "id") for number, item in items.items() if count[item.id] > 1]:
        raise DataError([f"{place}: stands more than once" for place in twice])
    return list(items.values())


def read_votes(path: Path, key: Key) -> list[Vote]:
    """Return the votes of a file on the ballot that a key is of.

    Raises:
        DataError: Every line that is none, or no vote on that ballot, or a second one of a voter.
    """
    votes = dict(rows(path, Vote.model_validate))
    numbers, vote_list = list(votes), list(votes.values())
    if problems := faults(vote_list, key):
        raise DataError([at(path, numbers[index], fault) for index, fault in problems.items()])
    return vote_list


def read_names(path: Path) -> Names:
    """Return the key of a ballot.

    Raises:
        UsageError: It cannot be read, with the fields.
    """
    try:
        table = document(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read as the key of a ballot: {error}") from None
    return validate(Names, table, path)


def _shares(items: Sequence[Item], key: Key, votes: Sequence[Vote], named: Names) -> Iterator[str]:
    """Yield each model's share of the votes, by type and as the mean of types (Fig. 13)."""
    for type_, model, won, share, low, high in shares(items, key, votes):
        yield f"{type_:5} {model:40} {won:6}  {share:.3f}{_span(low, high)}"


def _ratings(items: Sequence[Item], key: Key, votes: Sequence[Vote], named: Names) -> Iterator[str]:
    """Yield each model's rating beside the score of its run, and how far votes and scores agree on who and what is better."""
    by_model, scores = rated(items, key, votes), named.scores
    pairs = [(estimate.value, scores[name].value) for name, estimate in by_model.items() if name in scores]
    yield "rating: log-odds of being chosen before the average of these models (Bradley and Terry)"
    for name, estimate in by_model.items():
        rating = (
            "not met"
            if estimate.value is None
            else f"{estimate.value:+.3f}{_span(estimate.low, estimate.high)}"
        )
        score = scores.get(name)
        score_text = f"  {score.metric} {score.value:.3f}" if score and score.value is not None else ""
        yield f"{name:40} {rating}{score_text}"
    rated_pairs = [(rating, score) for rating, score in pairs if rating is not None and score is not None]
    if len(rated_pairs) < LEAST:
        yield f"rating and score: {len(rated_pairs)} models have both; {LEAST} are needed to correlate them"
        return
    tau = coefficient("kendall", *zip(*rated_pairs, strict=True))
    if tau.value is None:
        yield f"rating and score: no Kendall's tau over {len(rated_pairs)} models: {tau.why}"
        return
    yield f"rating and score: Kendall's tau {tau.value:.3f} over {len(rated_pairs)} models, p {tau.p:.3f} (of no relation)"


def _span(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return ""
    ends = ("open" if end is None else f"{end:.3f}" for end in (low, high))
    return f"  [{', '.join(ends)}]"


def _name_runs(runs: Sequence[Run]) -> dict[str, Run]:
    """Return the runs by the name of their model, with the arm where one model played several.

    Raises:
        UsageError: Two runs are of one model and one arm.
    """
    models = Counter(run.config.model for run in runs)
    named: dict[str, Run] = {}
    for run in runs:
        model = run.config.model
        name = model if models[model] == 1 else f"{model} ({run.summary.get('arm') or 'no arm'})"
        if name in named:
            raise UsageError(f"{run.path}: {name} is on the ballot already")
        named[name] = run
    return named


def _score(run: Run) -> dict[str, Any]:
    """Return the score by which the run is ranked, if it has ended."""
    name = next(iter(run.summary.get("scores", {})), "")
    return {"metric": name, "value": run.score()}


def rank(parsed: argparse.Namespace) -> int:
    """Carry out `lotbench ballot rank`."""
    path, votes_path, out = Path(parsed.ballot), Path(parsed.votes), Path(parsed.out)
    items = read_items(path)
    letters = {item.id: {response.letter: "" for response in item.responses} for item in items}
    ranked_rows = ranked(items, read_votes(votes_path, letters))
    for image, source in _pictures(items).items():
        (out / image).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, out / image)
    out.mkdir(parents=True, exist_ok=True)
    atomic_write.write(
        out / "samples.jsonl", (f"{json.dumps(row, ensure_ascii=False)}\n" for row in ranked_rows)
    )
    most = Counter(str(row["group"]) for row in ranked_rows)
    wide = sum(count >= RANKED for count in most.values())
    print(
        f"{out}: {len(ranked_rows)} responses to {len(most)} prompts; {wide} have the {RANKED} that a ranking takes"
    )
    print(f"rank them: lotbench evaluate standard --data {out} --set kind=rank --set factor=1 --model M")
    return 0


def _pictures(items: Sequence[Item]) -> Mapping[str, Path]:
    """Return the file of each picture of a ballot, by its place in the data set.

    Raises:
        DataError: One is no picture of its data set: a ballot may come from somebody else, and name any file.
    """
    files: dict[str, Path] = {}
    for image, data in {(item.image, item.data) for item in items if item.image}:
        folder = datasets.data_folder(data, "oogiri")
        faults = datasets.picture_faults(folder, image)
        if ".." in Path(image).parts or faults:
            raise DataError(faults or [f"{image!r} leaves the data set's folder"])
        files[image] = folder / image
    return files


def _responses(run: Run) -> Mapping[str, str]:
    """Return what a run's model wrote, by sample.

    Raises:
        UsageError: The run is not one of free responses.
    """
    settings = validate(benchmarks.get(run.config.benchmark).Settings, run.config.settings)
    written = _ballot(run).responses(run.traces, run.samples, settings)
    if written is None:
        raise UsageError(f"{run.path}: no free responses: {_ballot(run).how}")
    return written


def _ballot(run: Run) -> Ballot:
    """Return how the run's benchmark puts responses to the vote.

    Raises:
        UsageError: It has none; the message says which have.
    """
    declared = benchmarks.get(run.config.benchmark).ballot
    if declared is None:
        ballots = (benchmarks.get(name).ballot for name in benchmarks.names())
        raise UsageError(
            f"{run.path}: no free responses: {' or '.join(other.how for other in ballots if other)}"
        )
    return declared


def _prompts(runs: list[Run]) -> dict[str, Task]:
    """Return the prompts of the runs, each of which has one in common with another.

    Raises:
        UsageError: One has none, or theirs is not the same.
    """
    seen = [{name: _ballot(run).prompt(table) for name, table in run.samples.items()} for run in runs]
    connected: set[int] = set()
    for (first, tasks), (second, other) in combinations(enumerate(seen), 2):
        shared = tasks.keys() & other.keys()
        if any(tasks[name] != other[name] for name in shared):
            raise UsageError(f"{runs[first].path} and {runs[second].path}: not on the same data")
        connected |= {first, second} if shared else set()
    if len(runs) > 1 and (alone := set(range(len(runs))) - connected):
        raise UsageError(f"{runs[min(alone)].path} and the other runs: not on the same data")
    return {name: prompt for prompts in reversed(seen) for name, prompt in prompts.items()}


def _key(ballot_path: Path) -> Path:
    return ballot_path.with_name(f"{ballot_path.name}.key.json")
