"""Every step of `clot` with pictures on a CPU, in one command: `python -m tests.vision_smoke FOLDER`.

The model is a tiny Qwen2-VL with random weights, the CLIP a tiny one that learns our own drawings of coloured shapes
here, the data set these drawings with sentences of their words. Nothing is funny: it shows that the steps fit together,
and that keywords are filtered by what is in a picture (Eq. 1).
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random

from clot_training.cli import main as clot
from clot_training.exploring.conditions import kept_ranks
from clot_training.records import Candidate, Work, read_records
from tests import shapes
from tests.tiny import qwen2_vl

STEPS = ("instructions", "tune", "explore", "refine", "report")
SENTENCES = (
    "My {0} ran away with a {1}.",
    "Nobody told the {0} about the {1}.",
    "It is a {0}, but it dreams of a {1}.",
    "Please return the {0} before the {1} wakes up.",
    "The {0} is fine, the {1} is not.",
    "Grandma calls it {0}, the police call it {1}.",
)
RUN = """# clot instructions --config {root}/run.toml, then tune, explore, refine and report in its place.
model = "{root}/base"
data = ["{root}/data"]
types = ["I2T"]
languages = ["en"]
out = "{root}/work"
held_out = 0.25
seed = 7
[weights]
max_pixels = 4096
[tune.lora]
r = 4
modules_to_save = ["lm_head"]
[tune.trainer]
learning_rate = 5e-3
max_steps = 30
logging_steps = 5
[explore]
n = 100
bounds = "equation"
keep_rule = "one_order"
max_tokens = 8
limit = 12
[explore.clip]
model = "{described}"
checkpoint = "{checkpoint}"
[report]
limit = 4
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Make model, CLIP and data, run the steps, and print what they took; 1 where a step fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clip-steps", type=int, default=150)
    asked = parser.parse_args(arguments)
    root: Path = asked.folder
    # Tensors are tiny: on a busy machine several threads wait for each other most of the time.
    os.environ["OMP_NUM_THREADS"] = "1"
    _timed("model, CLIP and data", lambda: _make(root, asked.clip_steps))
    for step in STEPS:
        _timed(f"clot {step} --config {root}/run.toml", partial(_run, step, root / "run.toml"))
    print("\n".join(_told(root)))
    print(f"CPU seconds: {time.process_time():.0f}")
    return 0


def _timed(title: str, what: Callable[[], None]) -> None:
    """Print the title of a phase, run the phase, and print its seconds."""
    print(f"{title} ...", flush=True)
    began = time.monotonic()
    what()
    print(f"{title}: {time.monotonic() - began:.0f} s", flush=True)


def _run(step: str, file: Path) -> None:
    if clot([step, "--config", str(file)]):
        raise SystemExit(f"clot {step} failed")


def _make(root: Path, clip_steps: int) -> None:
    import torch

    # Does the same where torch was imported before the environment was set.
    torch.set_num_threads(1)
    (root / "data" / "images").mkdir(parents=True, exist_ok=True)
    described, checkpoint = shapes.train(root, steps=clip_steps)
    torch.manual_seed(0)
    model, processor = qwen2_vl()
    model.save_pretrained(root / "base")
    processor.save_pretrained(root / "base")
    rows = []
    for path, scene in shapes.renders(root / "data" / "images", 2, 0):
        rng = Random(path.name)
        for place, sentence in enumerate(SENTENCES):
            # One word of what is there and one of all: so every word is a keyword of some response.
            said = sentence.format(rng.choice(sorted(scene.names)), rng.choice(shapes.words()))
            about = {"type": "I2T", "language": "en", "group": path.stem, "image": f"images/{path.name}"}
            rows.append({"id": f"{path.stem}-{place}", **about, "text": said, "star": 400 >> place})
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (root / "data" / "samples.jsonl").write_text(lines, encoding="utf-8")
    run = RUN.format(root=root, described=described, checkpoint=checkpoint)
    (root / "run.toml").write_text(run, encoding="utf-8")


def _told(root: Path) -> list[str]:
    """What the filter did: where the keywords stood, and how many of them name what is in their picture."""
    scenes = {f"{scene.colour}-{scene.shape}": scene for scene in shapes.scenes()}
    candidates = [
        one for one in read_records(Work(root / "work").candidates("weak"), Candidate) if one.condition
    ]
    places = sorted({one.position for one in candidates if one.position is not None})
    named = sum(one.condition in scenes[one.group.rpartition("-")[0]].names for one in candidates)
    wanted = kept_ranks(100, 25, 70, "equation")
    return [
        f"keywords stood at places {places[0] + 1} to {places[-1] + 1}; Eq. 1 keeps {wanted[0] + 1} to {wanted[-1] + 1} of 100",
        f"{named} of {len(candidates)} conditions name what is in their picture; of all words about 28 of 100 do",
    ]


if __name__ == "__main__":
    raise SystemExit(main())
