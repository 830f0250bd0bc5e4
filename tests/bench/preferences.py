"""The DPO smoke: a run whose verdicts are known, its pairs, and `clot tune` on them with the embedded model's real weights.

python -m tests.bench.preferences [FOLDER] [--samples N]    (needs the extras train and local)

A player says what the first English samples list as right and as wrong, in captions, and a judge by rule knows which is
which. What is shown beside the loss is how pairs are ranked whose samples were never trained on: with so few scenes and
so small a model, that the figures of training move is all that can be expected.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from pathlib import Path

from clot_training.cli import main
from tests.judging import shipped
from tests.pairing import listed

CONFIG = "clot/dpo-smoke"


def run(folder: Path, samples: int) -> None:
    """Play, pair and tune; what was begun goes on."""
    items = [item for item in shipped() if item.language == "en"][:samples]
    played = next(iter(folder.glob("runs/*/summary.json")), None)
    path = played.parent if played else asyncio.run(listed(items, "lotbench_easy", folder / "runs")).path
    more = ["--config", CONFIG, "--set", f"out={folder}"]
    for step in (["pairs", str(path), *more], ["tune", *more]):
        began, cpu = time.monotonic(), time.process_time()
        print("clot", *step)
        assert main(step) == 0
        print(f"{time.monotonic() - began:.0f} s, {time.process_time() - cpu:.0f} s of CPU\n")
    about = json.loads((folder / "dpo" / "tune.json").read_text(encoding="utf-8"))
    print(json.dumps({name: about[name] for name in ("examples", "steps", "loss", "measured")}, indent=2))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=Path("runs/dpo-smoke"))
    parser.add_argument("--samples", type=int, default=10)
    asked = parser.parse_args()
    run(asked.folder, asked.samples)
