"""Stage 1 and stage 2: LoRA on instructions, with the trainer of transformers and peft.

The trainer brings accumulation, mixed precision, checkpoints and several processes; which tokens the loss sees
(`examples`) and which layers are tuned (`weights`) is ours. It runs the same under `accelerate launch` and torchrun,
on GPUs or (gloo) CPUs, and goes on from its last checkpoint after a kill.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import Any

import peft
import torch
import transformers
from transformers.trainer_pt_utils import get_length_grouped_indices

from clot_training.config import Config, Tune, freeze
from clot_training.tuning import curve
from clot_training.tuning.examples import Collator, Examples
from clot_training.tuning.weights import base_model, linear_layers
from lotbench.config.experiment import digest
from lotbench.edge.files import adapter_texts, atomic_write
from lotbench.edge.files.jsonl import tables
from lotbench.edge.models.transformers.loading import Loaded, adapted
from lotbench.errors import UsageError

ADAPTER = "adapter"
"""The folder of a stage's adapter, below the stage's own."""
INCIDENTAL = {"workers", "track", "save_steps", "log_steps"}
"""Settings that no weight depends on."""
PACKAGES = ("torch", "transformers", "peft", "accelerate")


@dataclass(frozen=True, slots=True)
class Tuned:
    """What a stage made.

    Attributes:
        model: The tuned model by its name, `hf:BASE+ADAPTER`.
        before: Mean training loss over the first tenth of the logged steps.
        after: Mean training loss over the last tenth.
        left_out: Instructions that were not trained on, by reason.
    """

    model: str
    before: float
    after: float
    left_out: dict[str, int]


def tune(config: Config, files: Sequence[Path], out: Path, *, adapter: Path | None = None) -> Tuned:
    """Tune a model on instructions; what is done already is left as it is, what was begun goes on.

    Args:
        config: The run's configuration.
        files: Files of instructions.
        out: The stage's folder. Into it go adapter/ (with seen.json: digests of what it was trained on), tune.json,
            loss.jsonl, loss.png, the frozen configuration, and checkpoints/.
        adapter: An adapter to go on from; without it a new one is begun.

    Raises:
        UsageError: There is nothing to train on, the model cannot be loaded or tuned here, or the folder holds a
            stage of other settings or data.
    """
    _claim(out, _identity(config, files, adapter))
    if not (out / "tune.json").exists():
        _train(config, files, out, adapter)
    about = json.loads((out / "tune.json").read_text(encoding="utf-8"))
    return Tuned(about["model"], about["loss"]["before"], about["loss"]["after"], about["left_out"])


def _train(config: Config, files: Sequence[Path], out: Path, adapter: Path | None) -> None:
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    transformers.set_seed(config.seed)
    settings = config.tune
    for package in settings.track:
        if find_spec(package) is None:
            raise UsageError(f"tune.track: {package} is not installed: pip install {package}")
    loaded = base_model(config)
    examples = Examples(files, loaded, min(settings.max_length, loaded.room))
    if not len(examples):
        raise UsageError(f"{out}: nothing to train on; left out: {examples.left_out or 'none'}")
    trainer = _trainer(config, loaded, _with_lora(loaded, settings, adapter), examples, out)
    started = (adapter_texts.read(adapter) if adapter else None) or frozenset()
    seen = started | adapter_texts.digests(_trained_on(config, files))
    trainer.add_callback(Marks(seen))
    # Only the first process makes it, and another may look for a checkpoint before that.
    Path(trainer.args.output_dir).mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    trainer.train(resume_from_checkpoint=_last_checkpoint(Path(trainer.args.output_dir)))
    seconds = time.monotonic() - began
    if trainer.is_world_process_zero():
        # Before the weights: no adapter is ever there that does not say what it has seen.
        adapter_texts.write(out / ADAPTER, (), seen)
        trainer.accelerator.unwrap_model(trainer.model).save_pretrained(
            out / ADAPTER, save_embedding_layers=False
        )
        freeze(config, out)
        _tell(trainer, out, loaded.id, files, examples, seconds=seconds)
    trainer.accelerator.wait_for_everyone()
    # A process that goes with its group still open may be aborted by the group's own threads.
    trainer.accelerator.end_training()


def _trainer(config: Config, loaded: Loaded, model: Any, examples: Examples, out: Path) -> InOrder:
    """The trainer of a stage; `Progress` is all that it prints."""
    settings = config.tune
    together = settings.batch_size * settings.accumulate
    trainer = InOrder(
        order=Order(examples.lengths, together, settings.group_by_length, config.seed),
        model=model,
        args=_arguments(settings, loaded, config.seed, out),
        train_dataset=examples,
        data_collator=Collator(loaded),
    )
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.add_callback(Progress)
    return trainer


def _last_checkpoint(folder: Path) -> str | None:
    """The last checkpoint that was written whole, if there is one: a kill may come while one is written.

    The trainer writes a checkpoint's trainer_state.json after all else.
    """
    found = sorted(
        folder.glob("checkpoint-*"), key=lambda one: int(one.name.rpartition("-")[2]), reverse=True
    )
    return next((str(one) for one in found if _whole(one / "trainer_state.json")), None)


def _whole(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True


def _with_lora(loaded: Loaded, settings: Tune, adapter: Path | None) -> Any:
    """The model with trainable adapter weights in it, and all else frozen.

    Raises:
        UsageError: The adapter is not one of this model, or `tune.target_modules` names no layers.
    """
    model = loaded.model
    if settings.quantize == "4bit":
        model = peft.prepare_model_for_kbit_training(
            model, use_gradient_checkpointing=settings.gradient_checkpointing
        )
    if adapter is not None:
        try:
            return adapted(model, str(adapter), trainable=True)
        except (RuntimeError, ValueError) as error:
            raise UsageError(f"{adapter} cannot be loaded: {str(error).strip().splitlines()[0]}") from error
    targets = settings.target_modules or linear_layers(model)
    lora = peft.LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=targets if isinstance(targets, str) else list(targets),
        modules_to_save=list(settings.modules_to_save) or None,
        task_type="CAUSAL_LM",
    )
    try:
        with warnings.catch_warnings():
            # That one library uses what the other will drop is nothing a person here can help.
            warnings.simplefilter("ignore", FutureWarning)
            return peft.get_peft_model(model, lora)
    except ValueError as error:
        raise UsageError(f"tune.target_modules: {error}") from error


def _arguments(settings: Tune, loaded: Loaded, seed: int, out: Path) -> Any:
    """What the trainer of transformers wants to know."""
    return transformers.TrainingArguments(
        output_dir=str(out / "checkpoints"),
        per_device_train_batch_size=settings.batch_size,
        gradient_accumulation_steps=settings.accumulate,
        num_train_epochs=settings.epochs,
        max_steps=settings.max_steps or -1,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="constant_with_warmup" if settings.schedule == "constant" else settings.schedule,
        warmup_steps=settings.warmup,
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.max_grad_norm,
        bf16=loaded.model.dtype == torch.bfloat16,
        use_cpu=not torch.cuda.is_available(),
        activation_checkpointing=settings.gradient_checkpointing,
        activation_checkpointing_kwargs={"use_reentrant": False},
        # Only layers that somebody named may lie idle in a batch, as a vision tower's do without pictures.
        ddp_find_unused_parameters=bool(settings.target_modules),
        seed=seed,
        logging_steps=settings.log_steps,
        save_steps=settings.save_steps,
        save_total_limit=2,
        report_to=list(settings.track) or "none",
        dataloader_num_workers=settings.workers,
        remove_unused_columns=False,
        label_names=["labels"],
        disable_tqdm=True,
    )


class Order:
    """The order of the examples in an epoch: it depends on seed and epoch alone.

    So every process and every resumption finds it again. Where it is wanted, alike lengths stand together.
    """

    def __init__(self, lengths: Sequence[int], together: int, grouped: bool, seed: int) -> None:
        self._lengths = lengths
        self._together = together
        self._grouped = grouped
        self._seed = seed
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Called before each epoch."""
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._lengths)

    def __iter__(self) -> Iterator[int]:
        drawn = torch.Generator().manual_seed(self._seed + self._epoch)
        if self._grouped:
            return iter(get_length_grouped_indices(self._lengths, self._together, generator=drawn))
        return iter(torch.randperm(len(self._lengths), generator=drawn).tolist())


class InOrder(transformers.Trainer):  # type: ignore[misc]
    """The trainer of transformers, with our order of examples."""

    def __init__(self, *, order: Order, **rest: Any) -> None:
        self._order = order
        super().__init__(**rest)

    def _get_train_sampler(self, train_dataset: Any = None) -> Order:
        return self._order


class Progress(transformers.TrainerCallback):  # type: ignore[misc]
    """A line on standard error for each logged step: standard output is for what the step made."""

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
        """Called by the trainer with what it logs."""
        if state.is_world_process_zero and "loss" in logs:
            sys.stderr.write(f"step {state.global_step} of {state.max_steps}: loss {logs['loss']:.3f}\n")


class Marks(transformers.TrainerCallback):  # type: ignore[misc]
    """Each checkpoint says what it has seen, as the adapter at the end does.

    Args:
        seen: Digests of all that it must not be measured by.
    """

    def __init__(self, seen: frozenset[str]) -> None:
        self._seen = seen

    def on_save(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Called by the trainer when a checkpoint is written."""
        if state.is_world_process_zero:
            adapter_texts.write(Path(args.output_dir) / f"checkpoint-{state.global_step}", (), self._seen)


def _identity(config: Config, files: Sequence[Path], adapter: Path | None) -> str:
    """The digest of all that the weights depend on."""
    start = [_sha256(path) for path in sorted(adapter.glob("adapter_model.*"))] if adapter else []
    settings = config.tune.model_dump(mode="json", exclude=INCIDENTAL)
    return digest([config.model, config.seed, settings, [_sha256(file) for file in files], start])


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
    trainer: Any,
    out: Path,
    base: str,
    files: Sequence[Path],
    examples: Examples,
    *,
    seconds: float,
) -> None:
    """Write what a later reader wants to know; tune.json last, because it says that the stage is done."""
    history = trainer.state.log_history
    # A run too short to log a step still has the mean loss of all of them.
    logged = [line for line in history if "loss" in line] or [
        {"step": line["step"], "loss": line["train_loss"]} for line in history if "train_loss" in line
    ]
    losses = [line["loss"] for line in logged]
    tenth = max(1, len(losses) // 10)
    tokens = round(sum(examples.lengths) * trainer.state.epoch)
    curve.write(logged, out, f"{Path(base).name}, {len(examples)} examples")
    about = {
        "model": f"hf:{base}+{out / ADAPTER}",
        "instructions": {file.name: _sha256(file) for file in files},
        "examples": len(examples),
        "left_out": examples.left_out,
        "trainable": sum(weight.numel() for weight in trainer.model.parameters() if weight.requires_grad),
        "processes": trainer.args.world_size,
        "steps": trainer.state.global_step,
        "tokens": tokens,
        "seconds": round(seconds, 2),
        "loss": {"before": fmean(losses[:tenth]), "after": fmean(losses[-tenth:])},
        "versions": {package: version(package) for package in PACKAGES},
    }
    atomic_write.write(out / "tune.json", json.dumps(about, indent=2) + "\n")


def _trained_on(config: Config, files: Sequence[Path]) -> Iterator[str]:
    """The responses that instructions were made of: their own, and those of the rows that they name."""
    named: set[str] = set()
    for file in files:
        for line in file.read_bytes().splitlines():
            one = json.loads(line)
            named.update(one["rows"])
            if one["kind"] == "generation":
                yield one["response"]
    for folder in config.folders():
        for _, row in tables(folder / "samples.jsonl"):
            if row.get("id") in named:
                # A row of Oogiri data, or a sample of the game.
                yield str(row.get("text") or row.get("response") or "")


def _sha256(path: Path) -> str:
    """The sha256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
