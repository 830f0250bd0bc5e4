"""`clot play-train`: an adapter learns by playing whole games against a fixed judge."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import transformers

from clot_training.config import Config, freeze
from clot_training.playing import report
from clot_training.playing.rollouts import Played, Rollouts
from clot_training.playing.samples import Split, split
from clot_training.playing.start import measured, started
from clot_training.tuning.tune import ADAPTER, PACKAGES, Marks, claim, last_checkpoint, sha256, with_lora
from clot_training.tuning.weights import base_model
from lotbench.config.experiment import digest
from lotbench.edge.files import adapter_texts, atomic_write
from lotbench.errors import UsageError

PLAYED = Path("play") / "train"
"""The folder of the training, below the work folder."""
INCIDENTAL = {"save_steps", "limits", "measured", "start_right", "start_fillings", "start_tunings"}
"""Settings that no weight of the played adapter depends on, but through the adapter that it starts from."""


@dataclass(frozen=True, slots=True)
class Learnt:
    """What a training by playing made: the model's name, and the report."""

    model: str
    report: str


def train(config: Config) -> Learnt:
    """Play and learn; what is done already is left as it is, what was begun goes on.

    Raises:
        UsageError: There is no adapter to start from, the model cannot be loaded, or the folder holds a training of
            other settings.
    """
    if find_spec("trl") is None:
        raise UsageError("play-train needs trl: pip install 'lotbench[train]'")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UsageError("play-train runs as one process: start it without torchrun or accelerate")
    apart, out = split(config), Path(config.out) / PLAYED
    start = started(config, apart)
    if config.play.scenes > len(apart.train):
        raise UsageError(
            f"play.scenes: {config.play.scenes} a step, and {len(apart.train)} are played at all"
        )
    claim(out, _identity(config, start, apart))
    if not (out / "play.json").exists():
        _play(config, apart, start, out)
    about = json.loads((out / "play.json").read_text(encoding="utf-8"))
    return Learnt(about["model"], report.write(config, apart, start, out))


def _play(config: Config, apart: Split, start: Path, out: Path) -> None:
    began = time.monotonic()
    base = _learn(config, apart, start, out)
    seconds = round(time.monotonic() - began, 2)
    after = measured(config, apart, out / "games-after", out / ADAPTER)
    _tell(config, base, apart, out, seconds, after)


def _learn(config: Config, apart: Split, start: Path, out: Path) -> str:
    """Train and save the adapter, with what it has seen; returns the name of the base."""
    from clot_training.playing.grpo import GameTrainer, arguments

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    transformers.set_seed(config.seed)
    loaded = base_model(config)
    model = with_lora(loaded, config.tune, start)
    names = [one.id for one in apart.train]
    with Rollouts(config.play, apart.train, apart, out / "games", config.seed) as rollouts:

        def play(trainer: Any, samples: Sequence[str]) -> list[Played]:
            return rollouts.play(loaded, trainer.model, samples, trainer.state.global_step)

        trainer = GameTrainer(model, loaded.tokenizer, arguments(config, loaded, out), names, play)
        trainer.remove_callback(transformers.PrinterCallback)
        trainer.add_callback(Progress)
        seen = tuple(apart.seen), adapter_texts.read(start) or frozenset()
        trainer.add_callback(Marks(*seen))
        checkpoints = Path(trainer.args.output_dir)
        checkpoints.mkdir(parents=True, exist_ok=True)
        trainer.train(resume_from_checkpoint=last_checkpoint(checkpoints))
    # Before the weights: no adapter is ever there that does not say what it has seen.
    adapter_texts.write(out / ADAPTER, *seen)
    trainer.model.save_pretrained(out / ADAPTER, save_embedding_layers=False, selected_adapters=["default"])
    freeze(config, out, game_data=sha256(apart.folder / "samples.jsonl"))
    logged = [line for line in trainer.state.log_history if "reward" in line]
    atomic_write.write(out / "steps.jsonl", (json.dumps(line) + "\n" for line in logged))
    return loaded.id


class Progress(transformers.TrainerCallback):  # type: ignore[misc]
    """A line on standard error for each step."""

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
        """Called by the trainer with what it logs."""
        if "reward" not in logs:
            return
        told = [f"step {state.global_step} of {state.max_steps}"]
        names = {"reward": "reward", "kl": "KL", "completions/mean_length": "tokens"}
        told += [f"{name} {logs[key]:.3f}" for key, name in names.items() if logs.get(key) is not None]
        sys.stderr.write(f"{told[0]}: {', '.join(told[1:])}\n")


def _identity(config: Config, start: Path, apart: Split) -> str:
    """The digest of all that the weights depend on."""
    weights: Sequence[str] = [sha256(path) for path in sorted(start.glob("adapter_model.*"))]
    played = [one.model_dump(mode="json") for one in apart.train]
    settings = config.play.model_dump(mode="json", exclude=INCIDENTAL)
    tune = config.tune.model_dump(mode="json", include={"max_grad_norm", "precision", "quantize"})
    return digest([config.model, config.seed, settings, tune, played, weights])


def _tell(config: Config, base: str, apart: Split, out: Path, seconds: float, after: dict[str, Any]) -> None:
    """Write play.json last: it says that the training is done."""
    about = {
        "model": f"hf:{base}+{out / ADAPTER}",
        "judges": list(config.play.judges),
        "steps": config.play.steps,
        "games": config.play.steps * config.play.group * config.play.scenes,
        "train": [one.id for one in apart.train],
        "held_out": [one.id for one in apart.held_out],
        "seconds": seconds,
        "after": after,
        "versions": {package: version(package) for package in (*PACKAGES, "trl")},
    }
    atomic_write.write(out / "play.json", json.dumps(about, indent=2) + "\n")
