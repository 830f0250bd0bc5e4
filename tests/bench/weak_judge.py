"""A model learns to fool a weak judge: the reward rises, the samples' lists do not, and `judge-check --from-run` finds it.

python -m tests.bench.weak_judge OUT [SETTING=VALUE ...]    (needs the extra train; half an hour)

The smoke of `clot play-train` with another judge: `echo`, which accepts whatever repeats a noun of the caption.
"""

from __future__ import annotations

import os

os.environ |= {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", "TOKENIZERS_PARALLELISM": "false"}

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clot_training.config import Config, load
from clot_training.playing import judges
from clot_training.playing.samples import split
from clot_training.playing.start import start
from clot_training.playing.train import train
from clot_training.playing.trials import trial
from tests.pages import ROOT

WEAK = ['play.judges=["echo"]', "play.start_between=[0.01,0.9]"]
"""What is set otherwise than in the smoke: this judge is content with more from the beginning."""


def labelled(run: Path, made: Config) -> str:
    """Draw verdicts of a run, label them by the samples' lists, and check its judge by them; what was printed."""
    samples = {one.id: one for one in split(made).train}
    folder = run.parent / "labels"
    printed = [lotbench("judge-check", "--from-run", run, "--n", "60", "--out", folder)]
    for file in folder.rglob("labels.jsonl"):
        rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        for row in rows:
            row["label"] = judges.right(samples[row["sample"]], row["filling"])
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        printed += [lotbench("judge-check", "--labels", file), lotbench("report", run)]
    return "\n".join(printed)


def lotbench(*arguments: Any) -> str:
    """What a command prints."""
    code = "import sys; from lotbench.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def main(arguments: Sequence[str]) -> None:
    """Run it, and print what the training's report and the judge's check say."""
    out = Path(arguments[0])
    made = load(ROOT / "configs/clot/play-smoke.toml", [f"out={out}", *WEAK, *arguments[1:]])
    start(made)
    print(train(made).report)
    # A run of the trained adapter on the scenes that it played, judged as it was trained.
    played = json.loads((out / "play/train/play.json").read_text("utf-8"))
    found = trial(made, split(made), "trained", played["model"], held_out=False, out=out / "runs")
    print(labelled(Path(found["run"]), made))


if __name__ == "__main__":
    main(sys.argv[1:])
