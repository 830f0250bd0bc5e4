"""A model learns to fool a weak judge: the reward rises, the samples' lists do not, and `judge-check --from-run` finds it.

python -m tests.bench.weak_judge OUT [STEPS]    (needs the extra train; minutes)

The model is tiny and was taught a few fillings a scene, two nouns of the caption and four others; it does not know the joke. The
judge is `echo`, which accepts whatever repeats a noun of the caption.
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

from clot_training.config import Config
from clot_training.playing import judges
from clot_training.playing.samples import split
from clot_training.playing.start import start
from clot_training.playing.train import train
from tests.taught import taught

OTHERS = ["a cloud", "two spoons", "a big surprise", "my uncle"]
SAMPLES = ["lot-0002", "lot-0028", "lot-0034"]


def config(model: Path, out: Path, steps: int) -> Config:
    """A short training against the weak judge."""
    return Config(
        model=str(model),
        out=str(out),
        seed=3,
        tune={"rank": 8, "max_steps": 1, "batch_size": 4, "dropout": 0.0, "learning_rate": 1e-5},
        play={
            "samples": SAMPLES,
            "judges": ["echo"],
            "settings": {"ask": False, "clues": False, "max_rounds": 2},
            "group": 16,
            "steps": steps,
            "learning_rate": 2e-3,
            "kl": 0.01,
            "max_tokens": 24,
            "start_between": [0.05, 0.95],
        },
    )


def nouns(made: Config) -> dict[str, list[str]]:
    """Two nouns of each caption."""
    apart = split(made)
    return {one.id: sorted(judges.nouns(one))[:2] for one in (*apart.train, *apart.held_out)}


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
    made = config(out / "model", out / "work", int(arguments[1]) if len(arguments) > 1 else 80)
    if not (out / "model" / "model.safetensors").exists() or not (out / "work").exists():
        taught(out / "model", made, OTHERS, nouns(made))
    start(made)
    print(train(made).report)
    # A run of the trained adapter on the scenes that it played, judged as it was trained.
    from clot_training.playing.trials import trial

    played = json.loads((out / "work/play/train/play.json").read_text())
    found = trial(made, split(made), "trained", played["model"], held_out=False, out=out / "runs")
    print(labelled(Path(found["run"]), made))


if __name__ == "__main__":
    main(sys.argv[1:])
