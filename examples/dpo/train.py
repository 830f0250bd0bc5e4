"""Learn from accepted and refused answers: TRL's DPOTrainer on the rows of pairs.py. See README.md."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pairs
import small
import torch
from datasets import Image, List, load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, AutoProcessor, PrinterCallback
from trl import DPOConfig, DPOTrainer

import lotbench
from lotbench.types import Reply, Request


def main(arguments: Sequence[str] | None = None) -> int:
    """Train on the rows; writes the adapter and curve.jsonl."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path, nargs="?", help="what pairs.py wrote")
    parser.add_argument("--model", help="name on the hub or folder")
    parser.add_argument("--out", type=Path, default=Path("runs/dpo"))
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument(
        "--smoke", action="store_true", help="play, export and learn with a tiny model on a CPU"
    )
    asked = parser.parse_args(arguments)
    if asked.smoke:
        asked.rows, asked.model = _smoke(asked.out)
    if not (asked.rows and asked.model):
        parser.error("name the rows and --model, or --smoke")
    rows = load_dataset("json", data_files=str(asked.rows), split="train", cache_dir=str(asked.out / "cache"))
    seeing = "images" in rows.column_names
    if seeing:
        rows = rows.cast_column("images", List(Image()))
    cpu = not torch.cuda.is_available()
    config = DPOConfig(
        output_dir=str(asked.out / "checkpoints"), max_steps=asked.steps, per_device_train_batch_size=4,
        learning_rate=3e-3 if asked.smoke else 5e-6, max_length=None, use_cpu=cpu, bf16=not cpu,
        gradient_checkpointing=not cpu, logging_steps=1, disable_tqdm=True, report_to="none", seed=7,
    )  # fmt: skip
    kind = AutoModelForImageTextToText if seeing else AutoModelForCausalLM
    trainer = DPOTrainer(
        model=kind.from_pretrained(asked.model), args=config, train_dataset=rows,
        processing_class=AutoProcessor.from_pretrained(asked.model),
        peft_config=None if asked.smoke else LoraConfig(r=16, target_modules="all-linear"),
    )  # fmt: skip
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    trainer.save_model(str(asked.out / "adapter"))
    logged = small.logged(trainer, "rewards/margins", asked.out)
    for name in ("margins", "accuracies"):
        values = [line[f"rewards/{name}"] for line in logged]
        print(small.curve(name, values, max(1e-9, *values)))
    return 0


def _smoke(out: Path) -> tuple[Path, str]:
    """Games of a player who says what the samples' lists have, as rows; and a tiny model."""
    items = small.english("lotbench_easy", 8)

    async def lister(request: Request) -> Reply:
        item, key = items[request.key.sample], request.key
        said = [item.key_text, *item.accept, *(one.text for one in item.reject)]
        Random(f"{key.sample}/{key.repeat}").shuffle(said)
        fields: Any = (request.schema or {}).get("properties", {})
        return Reply(
            json.dumps({**dict.fromkeys(fields, ""), "guess": said[key.round % len(said)]}), "lister"
        )

    lister.takes_requests = True  # type: ignore[attr-defined]
    run = lotbench.evaluate_sync(
        model=lister, roles={"judge": small.Judge(items, weak=False), "oracle": small.nobody},
        data="lotbench_easy", samples=tuple(items), out=out / "runs", repeats=4, check=False,
        settings={"arm": "caption", "judge_mode": "zero_shot", "ask": False, "clues": False, "max_rounds": 4,
                  "confirm": "never"},
    )  # fmt: skip
    rows = out / "preferences.jsonl"
    if pairs.main([str(run.path), "--out", str(rows)]):
        raise SystemExit("no rows")
    words = rows.read_text(encoding="utf-8").replace("\\", " ").split()
    bare = {part for word in words for part in "".join(c if c.isalnum() else " " for c in word).split()}
    return rows, small.model(out / "base", bare | set('{}":,'))


if __name__ == "__main__":
    raise SystemExit(main())
