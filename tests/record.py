"""Record tests/cases/recorded anew with the present code: python -m tests.record

A small run of each benchmark, and one of the game that was killed and resumed. Candidate and judges play by rule, so a
recording is always the same but for its times.
"""

import asyncio
import contextlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from lotbench.cli import main as lotbench
from lotbench.run.evaluate import evaluate, resume
from tests.recorded import FOLDER, RUNS, cut_off, own, players

GAME: dict[str, Any] = {"max_rounds": 7, "clue_interval": 3}
SAMPLES = {"data": "lotbench_easy", "samples": ["lot-0001", "lot-0003", "lot-0070"], "repeats": 2}
WANTED: dict[str, dict[str, Any]] = {
    "lotbench": {**SAMPLES, "settings": GAME},
    "killed": {**SAMPLES, "settings": GAME},
    "standard": {"limit": 12, "settings": {"kind": "all"}},
    "liveideabench": {"limit": 3, "settings": {"ideas": 2}},
    "hicbench": {"limit": 3, "settings": {"answers": 3, "answer_tokens": 70, "judges": 2}},
    "rinobench": {"data": "rinobench_easy", "limit": 3, "settings": {"alignment_calls": 1}},
}
"""What each recording is of, by the word in its folder's name."""


async def record(name: str, folder: Path) -> Path:
    """Play a recording; returns its folder."""
    word = name.split("-")[2]
    benchmark = "lotbench" if word == "killed" else word
    run = await evaluate(
        benchmark, **players(benchmark), out=folder, fresh=True, max_failed=1.0, **WANTED[word]
    )
    if word == "killed":
        cut_off(run.path)
        run = await resume(run.path, own=own(benchmark))
    return run.path


def main() -> None:
    """Record every run again, under the name that it has."""
    for name in RUNS:
        with tempfile.TemporaryDirectory() as folder:
            made = asyncio.run(record(name, Path(folder)))
            # The report names the run, as it is called in runs/.
            shutil.copytree(made, Path(folder, "runs", name))
            with contextlib.chdir(folder):
                lotbench(["score", name])
            shutil.rmtree(FOLDER / name)
            shutil.copytree(Path(folder, "runs", name), FOLDER / name)
        print(name, json.loads((FOLDER / name / "summary.json").read_text("utf-8"))["outcomes"])


if __name__ == "__main__":
    main()
