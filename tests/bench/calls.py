"""The calls of real games, recorded once, so that every variant of the engine bench makes the same ones."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from lotbench import evaluate_sync
from lotbench.edge.disk import shipped
from lotbench.edge.journal import read
from tests.rules import game_rule
from tests.server import FakeServer

Body: TypeAlias = "dict[str, Any]"
SCRIPTS = 8
"""Games that are recorded; the others repeat them."""


def players(url: str) -> dict[str, Any]:
    """The arguments of `evaluate` that let one server play every role."""
    return {"model": f"c@{url}", "roles": {"judge": f"j@{url}", "oracle": f"o@{url}"}}


def copies(folder: Path, games: int) -> Path:
    """A data set of as many samples as there are games: the shipped ones again and again, under other ids."""
    source = shipped("data", "lotbench")
    lines = (source / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    samples = [json.loads(line) for line in lines]
    with (folder / "samples.jsonl").open("w", encoding="utf-8") as out:
        for number in range(games):
            sample = samples[number % len(samples)]
            out.write(json.dumps(sample | {"id": f"copy-{number:05}"}, ensure_ascii=False) + "\n")
    shutil.copytree(source / "images", folder / "images", ignore=shutil.ignore_patterns("*.svg"))
    return folder


def record(data: Path, rounds: int, path: Path) -> None:
    """Play a few games against the fake server and write down every body that they send, game by game."""
    with tempfile.TemporaryDirectory() as out, FakeServer(game_rule(solve=0), keep_bodies=True) as server:
        run = evaluate_sync(
            **players(server.url),
            data=str(data),
            out=out,
            limit=SCRIPTS,
            repeats=1,
            concurrency=1,
            settings={"max_rounds": rounds},
            check=False,
            fresh=True,
        )
        bodies = server.bodies
        samples = [entry.key.sample for entry in read(run.path / "calls.jsonl")]
    games: dict[str, list[Body]] = {}
    for sample, body in zip(samples, bodies, strict=True):
        games.setdefault(sample, []).append(body)
    path.write_text(json.dumps(list(games.values()), ensure_ascii=False), encoding="utf-8")


def scripts(path: Path) -> list[list[Body]]:
    """The recorded games; a picture is one string however often it is sent, as in a program that holds it."""
    games: list[list[Body]] = json.loads(path.read_text(encoding="utf-8"))
    known: dict[str, str] = {}
    for part in _pictures(games):
        part["url"] = known.setdefault(part["url"], part["url"])
    return games


def _pictures(games: Sequence[Sequence[Body]]) -> list[dict[str, str]]:
    return [
        part["image_url"]
        for game in games
        for body in game
        for message in body["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
        if part["type"] == "image_url"
    ]
