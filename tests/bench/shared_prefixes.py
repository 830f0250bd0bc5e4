"""How much of what is sent was sent before: the share of input that is a prefix of an earlier request, by role.

python -m tests.bench.shared_prefixes [--limit N]

A provider bills the start of a request that it has seen as cached. Every benchmark is played by rule, in process; a
request is its messages in order, a picture by its digest; the share is of characters, which for one language is that of
tokens. The first request of a role shares nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from lotbench.run.evaluate import evaluate
from lotbench.types import Request
from tests.old_runs import Player
from tests.prefixes import Prefixes

GAME: dict[str, dict[str, Any]] = {
    "shown, fresh (the default)": {},
    "shown, growing": {"conversation": "growing"},
    "hidden, fresh": {"frame": "hidden"},
    "hidden, growing": {"frame": "hidden", "conversation": "growing"},
    "earned, encore, growing": {"frame": "earned", "encore": True, "conversation": "growing"},
}
PANELS = ("standard", "liveideabench", "hicbench", "rinobench")
ROLES = {"lotbench": ("judge", "oracle"), "standard": (), "hicbench": ("judge",), "rinobench": ("judge",)}


class Prefix(Prefixes):
    """Prefixes in characters: Chinese has no spaces to count words by."""

    def add(self, model: str, text: str) -> int:
        """The characters at the start of a text that one heard before has too; then the text is known."""
        # A character is a word where every one stands alone; one of space would be none.
        return super().add(model, " ".join(character if character.strip() else "_" for character in text))


def said(request: Request) -> str:
    """A request as one text."""
    return "".join(
        f"\x01{one.speaker}\x02"
        + "".join(p if isinstance(p, str) else f"\x03{p.sha256}\x03" for p in one.parts)
        for one in request.messages
    )


async def shares(benchmark: str, settings: dict[str, Any], limit: int) -> dict[str, tuple[int, int, float]]:
    """Requests, characters and the share of them that was sent before, by role."""
    judges = 3 if benchmark == "liveideabench" else 1
    players: dict[str, Any] = {"candidate": Player("candidate", solve=0.03)}
    roles = ROLES.get(benchmark, ("judge",))
    players |= {role: Player(role, solve=0.03) for role in roles if role != "judge"}
    seats = [Player(f"judge-{n}", solve=0.03) for n in range(judges)]
    named: dict[str, Any] = {role: players[role] for role in roles if role != "judge"}
    if "judge" in roles:
        named["judge"] = seats
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LOTBENCH_HOME"] = folder
        await evaluate(
            benchmark, model=players["candidate"], roles=named, out=Path(folder) / "runs", limit=limit,
            repeats=1, settings=settings, concurrency=1,
        )  # fmt: skip
    asked = [
        ("candidate", players["candidate"]),
        *((role, players[role]) for role in roles if role != "judge"),
    ]
    asked += [("judge", one) for one in seats] if "judge" in roles else []
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for role, model in asked:
        known = Prefix()
        for request in model.asked:
            text = said(request)
            row = found[role]
            row[0] += 1
            row[1] += len(text)
            row[2] += min(len(text), known.add(model.model_id, text))
    return {role: (n, size, shared / size) for role, (n, size, shared) in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--limit", type=int, default=4)
    limit = parser.parse_args().limit
    print("| benchmark | role | requests | characters | sent before |\n| --- | --- | --- | --- | --- |")
    rows = [("lotbench", name, settings) for name, settings in GAME.items()] + [
        (name, "", {}) for name in PANELS
    ]
    for benchmark, arm, settings in rows:
        for role, (n, size, share) in asyncio.run(shares(benchmark, settings, limit)).items():
            print(
                f"| {benchmark}{': ' + arm if arm else ''} | {role} | {n} | {size:,} | {share:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
