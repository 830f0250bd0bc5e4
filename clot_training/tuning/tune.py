"""Stage 1 and stage 2: LoRA on instructions, with TRL's SFTTrainer and PEFT.

The trainer brings batches, the loss on the response alone, mixed precision, checkpoints and several processes; which
rows there are (`examples`) and which layers are tuned by default (`weights`) is ours. It runs the same under
`accelerate launch` and torchrun, on GPUs or (gloo) CPUs, and goes on from its last checkpoint after a kill.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from typing import Any

import datasets
import transformers
import trl

from clot_training.config import Config, freeze
from clot_training.tuning import card, examples, settings
from clot_training.tuning.weights import base_model
from lotbench.config.experiment import digest
from lotbench.errors import UsageError
from lotbench.models.transformers.loading import Loaded, adapted, loading
from lotbench.storage import adapter_texts, atomic_write
from lotbench.storage.jsonl import tables

ADAPTER = "adapter"
"""The folder of a stage's adapter, below the stage's own."""
PACKAGES = ("torch", "transformers", "peft", "trl", "accelerate")


def tune(config: Config, files: Sequence[Path], out: Path, *, adapter: Path | None = None) -> dict[str, Any]:
    """Tune a model on instructions; what is done already is left as it is, what was begun goes on.

    Args:
        config: The run's configuration.
        files: Files of instructions.
        out: The stage's folder. Into it go adapter/ (with seen.json: digests of what it was trained on), tune.json,
            loss.jsonl, the frozen configuration, and checkpoints/.
        adapter: An adapter to go on from; without it a new one is begun.

    Returns:
        What tune.json says: the tuned model by its name (`hf:BASE+ADAPTER`), counts, and the mean loss over the
        first and over the last tenth of the logged steps.

    Raises:
        UsageError: There is nothing to train on, the model cannot be loaded or tuned here, or the folder holds a
            stage of other settings or data.
    """
    _claim(out, _identity(config, files, adapter))
    if not (out / "tune.json").exists():
        _train(config, files, out, adapter)
    return dict(json.loads((out / "tune.json").read_text(encoding="utf-8")))


def _train(config: Config, files: Sequence[Path], out: Path, adapter: Path | None) -> None:
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    datasets.disable_progress_bars()
    args = settings.arguments(config, out)
    settings.lora(config)
    loaded = base_model(config)
    # One process writes the rows, the others read them; a run that goes on has them already.
    with args.main_process_first():
        if not (out / "examples.json").exists():
            examples.write(config, files, loaded, out)
        rows = examples.dataset(out / "train.jsonl", loaded.sees, config.weights.max_pixels)
        evaluated = examples.dataset(out / "eval.jsonl", loaded.sees, config.weights.max_pixels)
    counts = json.loads((out / "examples.json").read_text(encoding="utf-8"))
    if rows is None:
        raise UsageError(f"{out}: nothing to train on; left out: {counts['left_out'] or 'none'}")
    trainer = _trainer(config, args, loaded, (rows, evaluated), adapter)
    started = (adapter_texts.read(adapter) if adapter else None) or frozenset()
    seen = started | adapter_texts.digests(_trained_on(config, files))
    trainer.add_callback(Watch(seen))
    began = time.monotonic()
    trainer.train(resume_from_checkpoint=_last_checkpoint(Path(args.output_dir)))
    seconds = time.monotonic() - began
    if trainer.is_world_process_zero():
        # Before the weights: no adapter is ever there that does not say what it has seen.
        adapter_texts.write(out / ADAPTER, (), seen)
    # Every process calls it: with FSDP and ZeRO-3 each holds a part of the weights.
    trainer.save_model(str(out / ADAPTER))
    if trainer.is_world_process_zero():
        freeze(config, out)
        _tell(trainer, out, loaded.id, files, counts, seconds=seconds)
        card.write(config, out)
        shutil.rmtree(out / "cache", ignore_errors=True)
    trainer.accelerator.wait_for_everyone()
    # A process that goes with its group still open may be aborted by the group's own threads.
    trainer.accelerator.end_training()


def _trainer(config: Config, args: Any, loaded: Loaded, data: tuple[Any, Any], adapter: Path | None) -> Any:
    """Return TRL's trainer on the rows, with a new adapter or with one to go on from; `Watch` is all that prints.

    Raises:
        UsageError: The adapter is not one of this model, or a setting does not fit the model.
    """
    with loading(str(adapter)):
        model = adapted(loaded.model, str(adapter), trainable=True) if adapter else loaded.model
    try:
        with warnings.catch_warnings():
            # That one library uses what the other will drop is nothing a person here can help.
            warnings.simplefilter("ignore", FutureWarning)
            trainer = trl.SFTTrainer(
                model=model,
                args=args,
                train_dataset=data[0],
                eval_dataset=data[1],
                processing_class=loaded.processor,
                peft_config=None if adapter else settings.lora(config, loaded.model),
            )
    except (ImportError, ValueError) as error:
        raise UsageError(f"tune: {str(error).strip().splitlines()[0]}") from error
    trainer.remove_callback(transformers.PrinterCallback)
    if trainer.is_world_process_zero():
        text = ", ".join(f"{name} {value}" for name, value in _precision(trainer).items())
        sys.stderr.write(f"precision: {text}\n")
    return trainer


def _precision(trainer: Any) -> dict[str, str]:
    """Return the types that a stage computes in, as they are."""
    types: dict[bool, set[str]] = {True: set(), False: set()}
    for weight in trainer.model.parameters():
        types[weight.requires_grad].add(str(weight.dtype).removeprefix("torch."))
    named = {"frozen": types[False], "adapter": types[True]}
    texts = {name: " and ".join(sorted(kinds)) or "none" for name, kinds in named.items()}
    return texts | {"autocast": trainer.accelerator.mixed_precision}


def _last_checkpoint(folder: Path) -> str | None:
    """Return the last checkpoint that was written whole, if there is one: a kill may come while one is written.

    The trainer writes a checkpoint's trainer_state.json after all else.
    """
    folders = sorted(
        folder.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]), reverse=True
    )
    ends = (path / "trainer_state.json" for path in folders)
    return next((str(end.parent) for end in ends if end.exists() and end.stat().st_size), None)


class Watch(transformers.TrainerCallback):  # type: ignore[misc]
    """A line on standard error for each logged step, and in each checkpoint what it has seen, as in the adapter.

    Args:
        seen: Digests of all that it must not be measured by.
    """

    def __init__(self, seen: frozenset[str]) -> None:
        self._seen = seen

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
        """Print what the trainer logs on standard error; standard output is for the result of the step."""
        if state.is_world_process_zero and "loss" in logs:
            sys.stderr.write(f"step {state.global_step} of {state.max_steps}: loss {logs['loss']:.3f}\n")

    def on_save(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Note a checkpoint that the trainer has written."""
        if state.is_world_process_zero:
            adapter_texts.write(Path(args.output_dir) / f"checkpoint-{state.global_step}", (), self._seen)


def _identity(config: Config, files: Sequence[Path], adapter: Path | None) -> str:
    """Return the digest of all that the weights depend on."""
    start = [_sha256(path) for path in sorted(adapter.glob("adapter_model.*"))] if adapter else []
    decisive = settings.decisive(config)
    return digest([config.model, config.seed, decisive, [_sha256(file) for file in files], start])


def _claim(out: Path, identity: str) -> None:
    """Make the folder this stage's own.

    Raises:
        UsageError: It holds another stage, or the same one with other settings or data.
    """
    path = out / "identity"
    if path.exists() and path.read_text(encoding="utf-8") != identity:
        raise UsageError(
            f"{out}: was tuned with other settings or on other instructions; remove it, or give another `out`"
        )
    atomic_write.write(path, identity)


def _tell(
    trainer: Any, out: Path, base: str, files: Sequence[Path], counts: Mapping[str, Any], *, seconds: float
) -> None:
    """Write what a later reader wants to know; tune.json last, because it says that the stage is done."""
    logged = [line for line in trainer.state.log_history if "loss" in line]
    losses = [line["loss"] for line in logged]
    tenth = max(1, len(losses) // 10)
    atomic_write.write(out / "loss.jsonl", (json.dumps(line) + "\n" for line in logged))
    about = {
        "model": f"hf:{base}+{out / ADAPTER}",
        "instructions": {file.name: _sha256(file) for file in files},
        **counts,
        "trainable": sum(weight.numel() for weight in trainer.model.parameters() if weight.requires_grad),
        "processes": trainer.args.world_size,
        "steps": trainer.state.global_step,
        "tokens": round(counts["tokens"] * trainer.state.epoch),
        "precision": _precision(trainer),
        "seconds": round(seconds, 2),
        "loss": {"before": fmean(losses[:tenth]), "after": fmean(losses[-tenth:])},
        "versions": {package: version(package) for package in PACKAGES},
    }
    atomic_write.write(out / "tune.json", json.dumps(about, indent=2) + "\n")


def _trained_on(config: Config, files: Sequence[Path]) -> Iterator[str]:
    """Yield the responses that instructions were made of: their own, and those of the rows that they name."""
    named: set[str] = set()
    for file in files:
        for line in file.read_bytes().splitlines():
            instruction = json.loads(line)
            named.update(instruction["rows"])
            if instruction["kind"] == "generation":
                yield instruction["response"]
    for folder in config.folders():
        for _, row in tables(folder / "samples.jsonl"):
            if row.get("id") in named:
                # A row of Oogiri data, or a sample of the game.
                yield str(row.get("text") or row.get("response") or "")


def _sha256(path: Path) -> str:
    """Return the sha256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
