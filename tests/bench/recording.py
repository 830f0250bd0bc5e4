"""What the engine bench plays: a data set of any size, and the calls of real games, written down once."""

import json
import shutil
import tempfile
from pathlib import Path

from lotbench import evaluate_sync
from lotbench.calls.journal import read_journal
from lotbench.storage.datasets import shipped
from tests.bench.calls import REPEATS, Body, pictures_of, players
from tests.rules import game_rule, same
from tests.server import FakeServer

SAMPLES = 4
"""Samples whose games are recorded; the others repeat their calls."""
GUESS, KEY = '^(?:CANDIDATE|候选词)[:：] ?["“](.*)["”]$', "^(?:KEY TEXT|关键词)[:：] ?(.*)$"
"""Where a judge's prompt has the guess and the key text, which the fake judge accepts, so that chains pass their trial."""


def copies(folder: Path, size: int) -> Path:
    """A data set of so many samples: the shipped ones again and again, under other ids.

    They have no `point`, which the fake judge would never put into a chain.
    """
    source = shipped("data", "lotbench_easy")
    lines = (source / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    samples = [json.loads(line) for line in lines]
    with (folder / "samples.jsonl").open("w", encoding="utf-8") as out:
        for number in range(size):
            sample = {
                name: value for name, value in samples[number % len(samples)].items() if name != "point"
            }
            out.write(json.dumps(sample | {"id": f"copy-{number:05}"}, ensure_ascii=False) + "\n")
    shutil.copytree(source / "images", folder / "images", ignore=shutil.ignore_patterns("*.svg"))
    return folder


def record(data: Path, rounds: int, path: Path) -> None:
    """Play a few games against the fake server and write down every body that they send, game by game.

    A picture is written down once, and stands in the bodies as its number.
    """
    rule = game_rule(solve=0, accepts=same(GUESS, KEY))
    with tempfile.TemporaryDirectory() as out, FakeServer(rule, keep_bodies=True) as server:
        run = evaluate_sync(
            **players(server.url),
            data=str(data),
            out=out,
            limit=SAMPLES,
            repeats=REPEATS,
            concurrency=1,
            settings={"max_rounds": rounds},
            check=False,
            fresh=True,
        )
        bodies = server.bodies
        keys = [entry.key for entry in read_journal(run.path / "calls.jsonl")]
    games: list[list[Body]] = []
    playing = None
    for key, body in zip(keys, bodies, strict=True):
        # What is asked once for all repeats belongs to the game that asks.
        if key.repeat and (key.sample, key.repeat) != playing:
            playing = (key.sample, key.repeat)
            games.append([])
        games[-1].append(body)
    pictures: list[str] = []
    for part in pictures_of(games):
        if part["url"] not in pictures:
            pictures.append(part["url"])
        part["url"] = str(pictures.index(part["url"]))
    table = {"pictures": pictures, "games": games}
    path.write_text(json.dumps(table, ensure_ascii=False), encoding="utf-8")
