"""Memory and time of `clot instructions` on synthetic rows: `python -m tests.bench.instructions [ROWS ...]`.

Each size runs in a process of its own, whose peak memory is printed. With `--plain`, words are cut at spaces
instead of tagged: the tagger's time is then not in the figures.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

from tests.leaping import WORDS, config, split_words

GROUP = 20
"""Responses to a question."""


def main() -> None:
    """Run each size, and print a line for it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int, nargs="*", default=[13_000, 130_000])
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--one", metavar="FOLDER", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        one(Path(asked.one), asked.rows[0], plain=asked.plain)
        return
    for rows in asked.rows:
        with tempfile.TemporaryDirectory() as folder:
            flags = ["--plain"] if asked.plain else []
            command = [sys.executable, "-m", "tests.bench.instructions", str(rows), "--one", folder]
            subprocess.run([*command, *flags], check=True)


def one(folder: Path, rows: int, *, plain: bool) -> None:
    """Write so many rows, make their instructions, and print what it took."""
    from clot_training.data import instructions

    if plain:
        instructions.content_words = split_words  # type: ignore[assignment]
    data = synthetic(folder, rows)
    before = _peak_mb()
    began = time.monotonic()
    made = instructions.make(config(folder, data))
    seconds = time.monotonic() - began
    size = sum(path.stat().st_size for path in (folder / "out" / "instructions").glob("*.jsonl"))
    print(
        f"{rows:,} rows -> {made['instructions']:,} instructions, {size / 1e6:,.0f} MB:"
        f" {seconds:,.0f} s, peak memory {before:.0f} -> {_peak_mb():.0f} MB"
    )


def synthetic(folder: Path, rows: int) -> Path:
    """A data set of so many T2T rows, 78 % of them with likes."""
    data = folder / "data"
    data.mkdir()
    rng = Random(0)
    with (data / "samples.jsonl").open("w", encoding="utf-8") as file:
        for number in range(rows):
            group = number // GROUP
            text = " ".join(rng.choices(WORDS, k=10)) + f" {number}"
            made: dict[str, Any] = {
                "id": f"r{number}",
                "type": "T2T",
                "language": "en",
                "group": f"g{group}",
                "text": text,
            }
            made["question"] = f"What is it about the {rng.choice(WORDS)} of number {group}?"
            if rng.uniform(0, 1) < 0.78:
                made["star"] = rng.randrange(200)
            file.write(json.dumps(made) + "\n")
    return data


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
