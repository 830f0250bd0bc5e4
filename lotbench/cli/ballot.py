"""Commands on ballots, which show the free responses of several runs side by side: make, count and rank."""

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
from lotbench.harness import ballot as ballots
from lotbench.harness.ballot import Ballot, Item, Key, Names, Task, Vote
from lotbench.metrics.correlation import LEAST, coefficient
from lotbench.report.markdown import interval, visible
from lotbench.run.loading import Run, load_run
from lotbench.storage import atomic_write, datasets, export
from lotbench.storage.jsonl import rows
from lotbench.storage.run_folder import read_json

RANKED = 5
"""The number of responses to a prompt that models put in order in a ranking task."""


def make(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench ballot make`: write runs' free responses to a ballot and its key file.

    Raises:
        UsageError: A run has no free responses, the runs do not fit together, or --out is another ballot.
    """
    runs = _name_runs([load_run(run, parsed.runs_folder) for run in parsed.runs])
    if len(runs) > len(ascii_uppercase) and not parsed.pairs:
        raise UsageError(
            f"{len(runs)} models: a ballot shows {len(ascii_uppercase)} at most, or any number with --pairs"
        )
    written = {name: _responses(run) for name, run in runs.items()}
    first = next(iter(runs.values()))
    prompts = _prompts(list(runs.values()))
    items, key = ballots.ballot(written, prompts, first.config.data, parsed.seed, pairs=parsed.pairs)
    out, lines = Path(parsed.out), "".join(f"{item.model_dump_json(exclude_none=True)}\n" for item in items)
    if out.exists() and out.read_bytes() != lines.encode():
        raise UsageError(f"{out}: is another ballot, on which people may have voted: choose another --out")
    if not out.exists() and (votes := votes_beside(out)).exists():
        raise UsageError(f"{votes}: has votes on an earlier ballot: choose another --out, or move them away")
    atomic_write.write(out, lines)
    named = {"schema": 1, "models": key, "scores": {name: _score(run) for name, run in runs.items()}}
    atomic_write.write(_key(out), json.dumps(named, ensure_ascii=False, indent=1) + "\n")
    prompt_count = len({item.prompt or item.id for item in items})
    pairs = f" in {len(items)} pairs" if parsed.pairs else ""
    print(
        f"{out}: {prompt_count} of {len(prompts)} prompts{pairs}, {len(written)} models; the names: {_key(out)}"
    )


def count(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench ballot count`: print shares of the votes, or ratings if they are on pairs.

    Raises:
        DataError: The ballot, its key file or the votes file has faults.
    """
    path, votes_path = Path(parsed.ballot), Path(parsed.votes)
    items = read_items(path)
    named = read_names(_key(path))
    if foreign := ballots.key_faults(items, named.models):
        raise DataError([f"{_key(path)}: {fault}" for fault in foreign])
    key = {item.id: named.models[item.id] for item in items}
    votes = read_votes(votes_path, key, items)
    voters = {vote.voter for vote in votes}
    paired = any(item.prompt for item in items)
    print(f"{len(voters)} voters, {len(votes)} votes on {len(items)} {'pairs' if paired else 'prompts'}")
    lines = _ratings if paired else _shares
    for line in lines(items, key, votes, named):
        print(visible(line))


def read_items(path: Path) -> list[Item]:
    """Return the items of a ballot file: prompts with all their responses, or pairs of responses.

    Raises:
        DataError: A line is no item, or two items have the same id.
    """
    items = dict(rows(path, Item.model_validate))
    count = Counter(item.id for item in items.values())
    if twice := [at(path, number, "id") for number, item in items.items() if count[item.id] > 1]:
        raise DataError([f"{place}: stands more than once" for place in twice])
    return list(items.values())


def read_votes(path: Path, key: Key, items: Sequence[Item]) -> list[Vote]:
    """Return the votes of a votes file.

    Args:
        path: The votes file.
        key: The letters of each item of the ballot; the models that they stand for are not read.
        items: The items of the ballot.

    Raises:
        DataError: Lines are no votes, or not on this ballot, or second votes of a person on an item; all are listed.
    """
    votes = dict(rows(path, Vote.model_validate))
    numbers, vote_list = list(votes), list(votes.values())
    if others := ballots.foreign(items, vote_list):
        raise DataError(
            [at(path, numbers[index], "item") + ": was voted on another ballot" for index in others]
        )
    if problems := ballots.faults(vote_list, key):
        raise DataError([at(path, numbers[index], fault) for index, fault in problems.items()])
    return vote_list


def read_names(path: Path) -> Names:
    """Return the content of a ballot's key file: the model of each response, and the scores of the runs.

    Raises:
        UsageError: The file cannot be read, or a field is invalid; the message names it.
    """
    return validate(Names, read_json(path), path)


def _shares(items: Sequence[Item], key: Key, votes: Sequence[Vote], named: Names) -> Iterator[str]:
    """Yield a text line for each type of prompt and model: the votes and their share with its 95 % interval.

    The last lines have each model's mean share over types (Fig. 13 of LoTbench's paper).
    """
    most = len({model for letters in key.values() for model in letters.values()})
    if few := sum(len(letters) < most for letters in key.values()):
        yield f"{few} of {len(key)} prompts are left out: not all {most} models answered them"
    for type_, model, won, share, low, high in ballots.shares(items, key, votes):
        yield f"{type_:5} {model:40} {won:6}  {interval(share, low, high)}"


def _ratings(items: Sequence[Item], key: Key, votes: Sequence[Vote], named: Names) -> Iterator[str]:
    """Yield text lines: each model's rating from votes on pairs beside the score of its run, then Kendall's tau of both."""
    by_model, scores = ballots.rated(items, key, votes), named.scores
    pairs = [(estimate.value, scores[name].value) for name, estimate in by_model.items() if name in scores]
    yield "rating: log-odds of being chosen before the average of these models (Bradley and Terry)"
    for name, estimate in by_model.items():
        value = estimate.value
        rating = "not met" if value is None else interval(value, estimate.low, estimate.high)
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


def _name_runs(runs: Sequence[Run]) -> dict[str, Run]:
    """Return the runs by model name; if several runs have the same model, with the benchmark's variant (arm) in brackets.

    Raises:
        UsageError: Two runs have the same model and the same arm.
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
    """Return the name and the value of the run's first metric; "" and None if the run has not ended."""
    name = next(iter(run.summary.get("scores", {})), "")
    return {"metric": name, "value": run.score()}


def rank(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench ballot rank`: write responses and votes as a data set for `standard`.

    Raises:
        DataError: The ballot or the votes file has faults, or a picture of the ballot is not in its data set.
        UsageError: The folder holds a data set already.
    """
    path, votes_path, out = Path(parsed.ballot), Path(parsed.votes), Path(parsed.out)
    items = read_items(path)
    letters = {item.id: {response.letter: "" for response in item.responses} for item in items}
    ranked_rows = ballots.ranked(items, read_votes(votes_path, letters, items))
    if (out / "samples.jsonl").exists():
        raise UsageError(f"{out}: holds a data set already")
    for image, source in _pictures(items).items():
        (out / image).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, out / image)
    export.write(ranked_rows, out / "samples.jsonl")
    most = Counter(str(row["group"]) for row in ranked_rows)
    wide = sum(count >= RANKED for count in most.values())
    print(
        f"{out}: {len(ranked_rows)} responses to {len(most)} prompts; {wide} have the {RANKED} that a ranking takes"
    )
    print(f"rank them: lotbench evaluate standard --data {out} --set kind=rank --set factor=1 --model M")


def _pictures(items: Sequence[Item]) -> Mapping[str, Path]:
    """Return the file of each picture of a ballot, by its path relative to the data set's folder.

    Raises:
        DataError: A path leads out of that folder or to no picture: a ballot from somebody else may name any file.
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
    """Return the free response of a run's model to each sample, by sample id.

    Raises:
        UsageError: The run's benchmark or settings ask for no free responses.
    """
    settings = validate(benchmarks.get(run.config.benchmark).Settings, run.config.settings)
    written = _ballot(run).responses(run.traces, run.samples, settings)
    if written is None:
        raise UsageError(f"{run.path}: no free responses: {_ballot(run).how}")
    return written


def _ballot(run: Run) -> Ballot:
    """Return the ballot declaration of the run's benchmark (`Benchmark.ballot`).

    Raises:
        UsageError: The benchmark has none; the message says which runs have free responses.
    """
    declared = benchmarks.get(run.config.benchmark).ballot
    if declared is None:
        ballots = (benchmarks.get(name).ballot for name in benchmarks.names())
        raise UsageError(
            f"{run.path}: no free responses: {' or '.join(other.how for other in ballots if other)}"
        )
    return declared


def _prompts(runs: list[Run]) -> dict[str, Task]:
    """Return the prompts of all runs by sample id.

    Raises:
        UsageError: A run shares no prompt with any other run, or two runs have different prompts under one sample id.
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


def votes_beside(ballot_path: Path) -> Path:
    """Return the file to which votes on a ballot are appended, unless another is named."""
    return ballot_path.with_name(f"{ballot_path.name}.votes.jsonl")


def _key(ballot_path: Path) -> Path:
    return ballot_path.with_name(f"{ballot_path.name}.key.json")
