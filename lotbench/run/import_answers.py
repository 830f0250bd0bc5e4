"""Answers that a model gave under another tool, as recordings that a run of ours replays: `--model file:DEST`.

The benchmark's own walks are taken with the log as the candidate, so that each answer is recorded at the place where the
run will ask for it; judges are asked later, by whoever evaluates the recording.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tomli_w

from lotbench import benchmarks
from lotbench.config import experiment as config
from lotbench.edge.calls.budget import Bucket
from lotbench.edge.calls.caller import RoleModel
from lotbench.edge.calls.store import Store
from lotbench.edge.files import datasets, run_folder
from lotbench.edge.importers import inspect_logs
from lotbench.errors import CallFailed, UsageError
from lotbench.harness.benchmark import Benchmark
from lotbench.run import plan
from lotbench.run.calling import CALLS, journaled
from lotbench.run.rescore import Absent
from lotbench.run.session import loop
from lotbench.types import Reply, Request

SETTINGS_FILE = "evaluate.toml"


@dataclass(slots=True)
class Imported:
    """What became of a log.

    Attributes:
        calls: How many answers were recorded.
        samples: The samples that have any, in data order.
        left_out: How many samples of the log, or answers, were not taken, by reason.
    """

    log: inspect_logs.Log
    calls: int = 0
    samples: tuple[str, ...] = ()
    left_out: Counter[str] = field(default_factory=Counter)


class Answering:
    """The log as a model: each call of a sample gets its next answer."""

    def __init__(self, answers: dict[str, deque[Reply]]) -> None:
        self._answers = answers
        self.given = 0

    async def __call__(self, request: Request) -> Reply:
        """The next answer to the sample; raises CallFailed when there are no more."""
        left = self._answers[request.key.sample]
        if not left or request.key.attempt:
            raise CallFailed(f"no answer is left for {request.key}")
        self.given += 1
        return left.popleft()


def import_answers(
    log: Path, out: Path, benchmark: str, sets: Sequence[str] = (), data: str = ""
) -> Imported:
    """Take the candidate's answers out of a log of inspect_ai.

    Args:
        log: The log, `.eval` or JSON.
        out: A folder that is made: calls.jsonl, and evaluate.toml, with which a run replays it.
        benchmark: Whose samples the log is about.
        sets: Settings of that benchmark, as `--set` takes them.
        data: Its data set, by name or folder; the shipped one if empty.

    Raises:
        UsageError: The benchmark is a game, or no sample of the log is one of the data set.
        DataError: The log cannot be read.
    """
    declared = benchmarks.get(benchmark)
    if declared.graph == "game":
        raise UsageError(
            f"{benchmark}: each round of a game hangs on the one before: a log of answers is none"
        )
    items = datasets.samples(datasets.data_folder(data, declared.data_set), declared.Item)
    done = Imported(inspect_logs.read(log))
    answers = _answers(done, items, declared)
    if not answers:
        reasons = ", ".join(f"{count} {reason}" for reason, count in done.left_out.items())
        raise UsageError(
            f"{log}: no sample of it is one of {data or declared.data_set}: {reasons or 'it has none'}"
        )
    done.samples = tuple(item.id for item in items if item.id in answers)
    asked = _asked(declared, done.samples, sets, data, max(map(len, answers.values())))
    asyncio.run(_record(done, plan.make(asked), answers, out))
    _write_config(asked, out)
    return done


def _answers(done: Imported, items: Sequence[Any], declared: Benchmark) -> dict[str, deque[Reply]]:
    """The answers by sample, in the order of the epochs; counts what is not taken."""
    known = _known_by(items, declared.data.quoted)
    found: dict[str, list[tuple[int, tuple[Reply, ...]]]] = defaultdict(list)
    for one in done.log.samples():
        name, why = known(one)
        if one.error:
            name, why = "", "samples that broke off"
        elif not any(answer.text for answer in one.answers):
            name, why = "", "samples without an answer"
        if name:
            found[name].append((one.epoch, one.answers))
        else:
            done.left_out[why] += 1
    return {
        name: deque(answer for _, answers in sorted(epochs, key=lambda one: one[0]) for answer in answers)
        for name, epochs in found.items()
    }


def _known_by(
    items: Sequence[Any], quoted: Callable[[Any], Sequence[str]]
) -> Callable[[inspect_logs.Logged], tuple[str, str]]:
    """What tells the sample of ours that a logged one is, or why there is none: by id, else by the texts it quotes."""
    ids = {item.id for item in items}
    texts = {item.id: [_flat(text) for text in quoted(item)] for item in items}

    def known(one: inspect_logs.Logged) -> tuple[str, str]:
        if one.id in ids:
            return one.id, ""
        asked = _flat(one.asked)
        there = Counter(
            {name: sum(len(text) for text in parts if text in asked) for name, parts in texts.items()}
        )
        (best, most), *rest = [*there.most_common(2), ("", 0)]
        if not most:
            return "", "samples that quote none of the data set"
        return ("", "samples that quote several of the data set") if rest[0][1] == most else (best, "")

    return known


def _flat(text: str) -> str:
    """A text as it is compared: words and single spaces, with a space at each end so that words match whole."""
    words = "".join(letter if letter.isalnum() else " " for letter in text.casefold()).split()
    return f" {' '.join(words)} "


def _asked(
    declared: Benchmark, samples: Iterable[str], sets: Sequence[str], data: str, most: int
) -> config.Config:
    """The run that replays the recording; judges that nobody asks stand in for those who will judge."""
    roles = {
        f"roles.{role}": ["python:nobody"]
        for role, one in declared.roles.items()
        if role != "candidate" and (one.required or one.checked)
    }
    flags = {
        "benchmark": declared.name,
        "model": "python:log",
        "data": data,
        "samples": list(samples),
        **roles,
    }
    settings = plan.make(config.load(None, sets, flags)).settings
    return config.load(None, sets, flags | {"repeats": max(1, most // declared.calls(settings)["candidate"])})


async def _record(done: Imported, made: plan.Plan, answers: dict[str, deque[Reply]], out: Path) -> None:
    """Take the walks with the log as the candidate, and keep its answers."""
    model = Answering(answers)
    players = {
        role: tuple(
            RoleModel(one.text, model if role == "candidate" else Absent(), None, Bucket(None), Bucket(None))
            for one in names
        )
        for role, names in made.names.items()
    }
    with run_folder.Folder(out):
        if (out / CALLS).exists():
            raise UsageError(f"{out}: has a {CALLS} already")
        async with journaled(made, players, out, Store(out, fresh=True)) as caller:
            limits = config.Limits(concurrency=1, max_failed=1.0)
            walks = loop(replace(made, limits=limits), caller.ask)
            async with aclosing(walks.traces(made.lanes())) as traces:
                async for _ in traces:
                    pass
    done.calls = model.given
    if left := sum(map(len, answers.values())):
        done.left_out["answers, more than the settings ask for"] += left


def _write_config(asked: config.Config, out: Path) -> None:
    """What `lotbench evaluate --config` replays the recording with; judges are named on the command line."""
    table = asked.experiment.model_dump(mode="json", exclude_defaults=True, exclude={"roles"})
    table["model"] = f"file:{out / CALLS}"
    (out / SETTINGS_FILE).write_text(tomli_w.dumps(table), encoding="utf-8")
