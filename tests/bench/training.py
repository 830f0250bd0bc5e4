"""Tokens a second of `clot tune`, of trl's SFTTrainer and of a bare peft loop: same data, turn about, in one run.

python -m tests.bench.training [REPEATS] [BASE]    (needs the extra train; BASE is `local` by default)

Each run tunes a new adapter for one epoch and is timed from its first batch to its last step; a busy machine
burdens all three alike, and CPU seconds stand beside the clock's.
"""

from __future__ import annotations

import os

os.environ |= {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", "TOKENIZERS_PARALLELISM": "false"}

import gc
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from statistics import median, quantiles
from typing import Any

import peft
import torch
import transformers
from datasets import Dataset
from datasets.utils.logging import disable_progress_bar
from trl import SFTConfig, SFTTrainer

from clot_training.config import Tune
from clot_training.data import templates
from clot_training.records import Instruction
from clot_training.tuning.examples import Collator, Examples
from clot_training.tuning.objectives import Stage, Supervised
from clot_training.tuning.tune import trainer_of, with_lora
from clot_training.tuning.weights import load
from lotbench.benchmarks.standard.oogiri import Row
from lotbench.edge.files.datasets import data_folder
from lotbench.edge.files.jsonl import rows

REPEATS = 9
EXAMPLES = 8
SETTINGS = Tune(
    rank=8, alpha=16, learning_rate=1e-3, batch_size=4, schedule="constant", log_steps=1, save_steps=999
)


def instructions() -> list[Instruction]:
    """The first questions of the shipped data, each with its response."""
    path = data_folder("oogiri", "") / "samples.jsonl"
    found = (row for _, row in rows(path, Row.model_validate) if (row.type, row.language) == ("T2T", "en"))
    return [
        Instruction(
            id=row.id,
            kind="generation",
            type=row.type,
            language=row.language,
            group=row.group,
            rows=(row.id,),
            messages=templates.generation(row, None, Random(place)),
            image=None,
            response=row.text,
        )
        for place, row in zip(range(EXAMPLES), found, strict=False)
    ]


def ours(loaded: Any, model: Any, data: list[Instruction], folder: Path) -> Callable[[], Any]:
    """`clot tune`, without what it writes at the end."""
    file = folder / "train.jsonl"
    file.write_text("".join(one.model_dump_json() + "\n" for one in data), encoding="utf-8")
    stage = Stage(loaded, model, None, SETTINGS)
    objective = Supervised(stage)
    examples = Examples([file], objective, loaded, SETTINGS.max_length)
    return trainer_of(stage, objective, examples, 0, folder).train  # type: ignore[no-any-return]


def trl(loaded: Any, model: Any, data: list[Instruction], folder: Path) -> Callable[[], Any]:
    """trl's trainer, with the same batch size, rate and loss on the response alone."""
    table = [
        {"prompt": list(one.messages), "completion": [{"role": "assistant", "content": one.response}]}
        for one in data
    ]
    args = SFTConfig(
        output_dir=str(folder),
        use_cpu=not torch.cuda.is_available(),
        bf16=torch.cuda.is_available(),
        gradient_checkpointing=False,
        per_device_train_batch_size=SETTINGS.batch_size,
        num_train_epochs=1,
        learning_rate=SETTINGS.learning_rate,
        lr_scheduler_type="constant",
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        max_length=None,
        disable_tqdm=True,
    )
    trainer = SFTTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(table), processing_class=loaded.tokenizer
    )
    trainer.remove_callback(transformers.PrinterCallback)
    return trainer.train


def bare(loaded: Any, model: Any, data: list[Instruction], folder: Path) -> Callable[[], Any]:
    """The loop that everybody writes first."""
    collate = Collator(loaded)
    optimizer = torch.optim.AdamW(
        [weight for weight in model.parameters() if weight.requires_grad], lr=SETTINGS.learning_rate
    )

    def train() -> None:
        model.train()
        order = torch.randperm(len(data)).split(SETTINGS.batch_size)
        for places in order:
            batch = {
                name: value.to(model.device) for name, value in collate([data[n] for n in places]).items()
            }
            loss = model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), SETTINGS.max_grad_norm)
            optimizer.step()
            optimizer.zero_grad()
            float(loss.detach())

    return train


VARIANTS = {"clot tune": ours, "trl SFTTrainer": trl, "bare peft loop": bare}


def run(make: Any, loaded: Any, data: list[Instruction]) -> tuple[float, float]:
    """Seconds by the clock and of CPU that a variant takes for an epoch."""
    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(0)
        model = with_lora(loaded, SETTINGS, None)
        train = make(loaded, model, data, Path(folder))
        began, used = time.perf_counter(), time.process_time()
        train()
        seconds = time.perf_counter() - began, time.process_time() - used
        model.unload()
        gc.collect()
    return seconds


def main(given: Sequence[str]) -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    transformers.utils.logging.set_verbosity_error()
    disable_progress_bar()
    repeats = int(given[0]) if given else REPEATS
    loaded = load(given[1] if len(given) > 1 else "local")
    data = instructions()
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".jsonl") as file:
        file.writelines(one.model_dump_json() + "\n" for one in data)
        file.flush()
        objective = Supervised(Stage(loaded, loaded.model, None, SETTINGS))
        tokens = sum(Examples([Path(file.name)], objective, loaded, SETTINGS.max_length).lengths)
    for make in VARIANTS.values():
        run(make, loaded, data)
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in VARIANTS}
    for turn in range(repeats):
        # Each begins a round as often as it ends one.
        names = [*VARIANTS][turn % 3 :] + [*VARIANTS][: turn % 3]
        for name in names:
            taken[name].append(run(VARIANTS[name], loaded, data))
            print(f"{turn + 1}/{repeats} {name}: {taken[name][-1][0]:.1f} s", file=sys.stderr)
    print(f"{len(data)} instructions, {tokens} tokens, batch {SETTINGS.batch_size}, {repeats} runs each")
    print(f"torch {torch.__version__}, peft {peft.__version__}, {torch.get_num_threads()} threads")
    print(f"{'':16} tokens/s: median (quartiles)      tokens/CPU-s: median (quartiles)")
    for name, seconds in taken.items():
        shown = []
        for side in (0, 1):
            rates = [tokens / one[side] for one in seconds]
            low, _, high = quantiles(rates, n=4)
            shown.append(f"{median(rates):7.1f} ({low:.1f} to {high:.1f})")
        print(f"{name:16} {shown[0]:34} {shown[1]}")


if __name__ == "__main__":
    main(sys.argv[1:])
