"""Runs to look at: played against the fake server, then told as rankable, or with other words in them."""

import asyncio
import json
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from typing import Any

from tests.playing import play
from tests.rules import game_rule
from tests.server import FakeServer

SAMPLES = ("lot-0001", "lot-0002", "lot-0063")


def made_runs(root: Path, *names: str, solve: float = 0.0, samples: Sequence[str] = SAMPLES) -> None:
    """A run of fifteen rounds for each candidate, with every other role the same."""
    with FakeServer(game_rule(solve=solve)) as server:
        for name in names:
            run = play(
                server,
                root,
                candidate=f"{name}@{server.url}",
                limit=None,
                samples=tuple(samples),
                settings={"max_rounds": 15, "clue_interval": 5, "arm": "image+caption"},
            )
            # Playwright has a loop of its own in this thread.
            with ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, run).result()
    for place in root.glob("*/summary.json"):
        # What a checked judge would have made of it.
        summary = json.loads(place.read_text("utf-8"))
        place.write_text(json.dumps({**summary, "rankable": True, "reasons": []}), "utf-8")


def retold(root: Path, name: str, texts: Sequence[str]) -> None:
    """Put texts in the place of everything that a model said in the runs of a candidate."""
    # A half of a pair is no text in any encoding: a run that has one is refused whole.
    texts = [text.encode(errors="replace").decode() for text in texts]
    words = cycle(texts)

    def told(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: told(one, name) for name, one in value.items()}
        if isinstance(value, list):
            return [told(one) for one in value]
        return next(words) if isinstance(value, str) and key not in ("status", "how") else value

    [place] = root.glob(f"*{name}*")
    file = place / "traces.jsonl"
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    for line in lines:
        # A line with other words in it has no checksum, as of before them.
        line.pop("crc", None)
        for step in line["steps"]:
            step["value"] = told(step["value"])
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    samples = (place / "samples.jsonl").read_text("utf-8")
    hostile = json.dumps(texts[0])[1:-1]
    (place / "samples.jsonl").write_text(
        re.sub(r'"leap":"[^"]*"', lambda _: f'"leap":"{hostile}"', samples), "utf-8"
    )
    summary = json.loads((place / "summary.json").read_text("utf-8"))
    summary |= {"reasons": list(texts), "models": {**summary["models"], "candidate": [texts[0]]}}
    (place / "summary.json").write_text(json.dumps(summary), "utf-8")
