"""Stage 1 and stage 2: LoRA on instructions, with TRL's SFTTrainer and PEFT.

The trainer provides batches, the loss on the response alone, mixed precision, checkpoints and several processes. This
package provides the rows (`examples`) and the default layers (`weights`). A stage runs under `accelerate launch` and
torchrun, on GPUs or (gloo) CPUs, and continues from its last checkpoint after a kill.
"""

import json
import shutil
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from typing import Any

import datasets
import transformers
import trl

from clot_training.config import Config, adapter_digests, claim, freeze, sha256
from clot_training.tuning import card, examples, settings
from clot_training.tuning.weights import base_model
from lotbench.errors import RunFolderError, UsageError
from lotbench.models.transformers.loading import Loaded, adapted, loading
from lotbench.storage import adapter_texts, atomic_write
from lotbench.storage.jsonl import tables
from lotbench.storage.run_folder import read_json

ADAPTER = "adapter"
"""The name of the adapter's folder in a stage's folder."""
PACKAGES = ("torch", "transformers", "peft", "trl", "accelerate")


def tune(config: Config, files: Sequence[Path], out: Path, *, adapter: Path | None = None) -> dict[str, Any]:
    """Tune a model on instructions; a finished stage is left unchanged, an interrupted one continues.

    Args:
        config: The configuration.
        files: Files of instructions.
        out: The stage's folder, which gets adapter/ (with seen.json: digests of its training texts), tune.json,
            loss.jsonl, the frozen configuration, and checkpoints/.
        adapter: An adapter to start from; None starts a new one.

    Returns:
        The content of tune.json: the model name (`hf:BASE+ADAPTER`), counts, and the mean loss over the first and the last
        tenth of the logged steps.

    Raises:
        UsageError: There are no examples, the model cannot be loaded or tuned here, or the folder belongs to a stage with
            other settings or data.
    """
    claim(out, _identity(config, files, adapter), begun=(out / "examples.json").exists())
    if not (out / "tune.json").exists():
        _train(config, files, out, adapter)
    return read_json(out / "tune.json")


def _train(config: Config, files: Sequence[Path], out: Path, adapter: Path | None) -> None:
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    datasets.disable_progress_bars()
    args = settings.arguments(config, out)
    settings.lora(config)
    loaded = base_model(config)
    # The first process writes the rows and the others read them; a resumed run has them already.
    with args.main_process_first():
        if not (out / "examples.json").exists():
            examples.write(config, files, loaded, out)
        rows = examples.dataset(out / "train.jsonl", loaded.sees, config.weights.max_pixels)
        evaluated = examples.dataset(out / "eval.jsonl", loaded.sees, config.weights.max_pixels)
    counts = read_json(out / "examples.json")
    if rows is None:
        raise UsageError(f"{out}: nothing to train on; left out: {counts['left_out'] or 'none'}")
    trainer = _trainer(config, args, loaded, (rows, evaluated), adapter)
    # The adapter, and a base that is a merged model, have been trained before.
    before = map(adapter_texts.read_digests, filter(None, (Path(loaded.id), adapter)))
    seen = adapter_texts.digests(_trained_on(config, files)).union(*filter(None, before))
    trainer.add_callback(watch := Watch(seen))
    began, last = time.monotonic(), _last_checkpoint(Path(args.output_dir))
    try:
        trainer.train(resume_from_checkpoint=last)
    except Exception as error:  # damaged bytes raise anything
        if last is None or watch.stepped:
            raise
        fault = f"cannot be read ({type(error).__name__})"
        raise UsageError(f"{last}: {fault}; without this folder, tune goes on from the one before") from error
    seconds = time.monotonic() - began
    if trainer.is_world_process_zero():
        # Written before the weights, so that no adapter exists without its list of training texts.
        adapter_texts.write(out / ADAPTER, seen)
    # All processes call it: with FSDP and ZeRO-3 each holds a part of the weights.
    trainer.save_model(str(out / ADAPTER))
    if trainer.is_world_process_zero():
        freeze(config, out)
        _tell(trainer, out, loaded.id, files, counts, seconds=seconds)
        card.write(config, out, out / ADAPTER)
        shutil.rmtree(out / "cache", ignore_errors=True)
    trainer.accelerator.wait_for_everyone()
    # A process that exits with an open process group may be aborted by the group's threads.
    trainer.accelerator.end_training()


def _trainer(config: Config, args: Any, loaded: Loaded, data: tuple[Any, Any], adapter: Path | None) -> Any:
    """Return TRL's trainer with its printing switched off, for a new adapter or for the given one.

    Args:
        config: The configuration.
        args: The SFTConfig.
        loaded: The base model.
        data: The rows to train on, and those to evaluate on (or None).
        adapter: The folder of the adapter to start from; None for a new one.

    Raises:
        UsageError: The adapter belongs to another model, or a setting does not fit the model.
    """
    with loading(str(adapter)):
        model = adapted(loaded.model, str(adapter), trainable=True) if adapter else loaded.model
    try:
        # The user cannot fix deprecated calls between libraries.
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
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
    """Return the number formats of the frozen weights, of the adapter and of autocast, by these names."""
    types: dict[bool, set[str]] = {True: set(), False: set()}
    for weight in trainer.model.parameters():
        types[weight.requires_grad].add(str(weight.dtype).removeprefix("torch."))
    named = {"frozen": types[False], "adapter": types[True]}
    texts = {name: " and ".join(sorted(kinds)) or "none" for name, kinds in named.items()}
    return texts | {"autocast": trainer.accelerator.mixed_precision}


def _last_checkpoint(folder: Path) -> str | None:
    """Return the path of the last complete checkpoint in a folder; None if there is none.

    The trainer writes trainer_state.json last, so a checkpoint without it, or with a part of it, was interrupted.
    """
    steps = {path.name.rpartition("-")[2]: path for path in folder.glob("checkpoint-*")}
    for step in sorted(filter(str.isdecimal, steps), key=int)[::-1]:
        with suppress(RunFolderError):
            read_json(steps[step] / "trainer_state.json")
            return str(steps[step])
    return None


class Watch(transformers.TrainerCallback):  # type: ignore[misc]
    """A callback that prints logged steps on standard error and writes the digests of training texts into checkpoints.

    Args:
        seen: Digests of all texts that the model is trained on.
    """

    def __init__(self, seen: frozenset[str]) -> None:
        self._seen = seen
        self.stepped = False
        """Whether a step has begun in this process: the last checkpoint, if any, has been read."""

    def on_step_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Note that a step has begun."""
        self.stepped = True

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
        """Write the loss that the trainer logs to standard error; standard output is for the result of the step."""
        if state.is_world_process_zero and "loss" in logs:
            sys.stderr.write(f"step {state.global_step} of {state.max_steps}: loss {logs['loss']:.3f}\n")

    def on_save(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Write the digests of training texts into a new checkpoint."""
        if state.is_world_process_zero:
            adapter_texts.write(Path(args.output_dir) / f"checkpoint-{state.global_step}", self._seen)


def _identity(config: Config, files: Sequence[Path], adapter: Path | None) -> dict[str, Any]:
    """Return all that affects the trained weights: model, seed, settings, instructions and first adapter."""
    return {
        "model": config.model,
        "seed": config.seed,
        **settings.decisive(config),
        "instructions": [sha256(file) for file in files],
        "adapter": adapter_digests(adapter) if adapter else [],
    }


def _tell(
    trainer: Any, out: Path, base: str, files: Sequence[Path], counts: Mapping[str, Any], *, seconds: float
) -> None:
    """Write the record of a finished stage: loss.jsonl, then tune.json, which marks the stage as finished."""
    logged = [line for line in trainer.state.log_history if "loss" in line]
    losses = [line["loss"] for line in logged]
    tenth = max(1, len(losses) // 10)
    atomic_write.write(out / "loss.jsonl", (json.dumps(line) + "\n" for line in logged))
    about = {
        "model": f"hf:{base}+{out / ADAPTER}",
        "instructions": {file.name: sha256(file) for file in files},
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
    """Yield the responses of generation instructions, then the responses of all rows whose ids an instruction has."""
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
                # `text` in Oogiri rows, `response` in samples of the game.
                yield str(row.get("text") or row.get("response") or "")
