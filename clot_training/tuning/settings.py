"""Arguments of TRL's trainer and PEFT, from `[tune.trainer]` and `[tune.lora]` with the libraries' own field names.

The libraries' dataclasses define and validate the fields. Fields that a stage sets itself (output folder, seed, login) are
refused with a hint where to set them.
"""

import dataclasses
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import peft
import torch
import trl

from clot_training.config import Config
from clot_training.tuning.weights import linear_layers
from lotbench.errors import UsageError, suggestion
from lotbench.models.transformers.loading import decided

T = TypeVar("T")

OURS = {
    "output_dir": "`out`",
    "seed": "`seed`",
    "trust_remote_code": "`weights.trust_remote_code`",
    "hub_token": "`hf auth login` or $HF_TOKEN: a key is never written down",
    "resume_from_checkpoint": "nothing: the same command goes on from the last checkpoint",
    "task_type": "the model",
}
INCIDENTAL = re.compile(
    r"(gradient|activation)_(checkpointing|offloading).*|per_device_.*_batch_size|gradient_accumulation_steps"
    r"|torch_empty_cache_steps|data(loader|set)_num.*|dataloader_pin.*|fsdp.*|deepspeed|ddp_.*"
    r"|logging_.*|save_(steps|total_limit)|report_to|run_name|project|push_to_hub|hub_.*"
)
"""Names of trainer fields that an interrupted stage may change: batching, checkpoints, logging; see `decisive`."""


def arguments(config: Config, out: Path) -> Any:
    """Return TRL's SFTConfig for a stage, with checkpoints in the stage's folder `out`.

    Raises:
        UsageError: A field is unknown, belongs elsewhere, or has a value that the library refuses.
    """
    cpu = not torch.cuda.is_available()
    own = {
        "bf16": decided(config.weights) == torch.bfloat16,
        "use_cpu": cpu,
        "disable_tqdm": True,
        "dataloader_pin_memory": not cpu,
    }
    fixed = {"output_dir": str(out / "checkpoints"), "seed": config.seed}
    return _build(trl.SFTConfig, "tune.trainer", own | config.tune.trainer, fixed)


def lora(config: Config, model: Any = None) -> Any:
    """Return PEFT's LoraConfig for a stage.

    If `target_modules` is not configured, it is set to all linear layers of the language model in `model`. If `model` is
    None, it stays unset, which is enough to check the fields.

    Raises:
        UsageError: See `arguments`.
    """
    fields = dict(config.tune.lora)
    if model is not None and not fields.get("target_modules"):
        fields["target_modules"] = linear_layers(model)
    return _build(peft.LoraConfig, "tune.lora", fields, {"task_type": "CAUSAL_LM"})


def decisive(config: Config) -> dict[str, Any]:
    """Return the settings that affect the trained weights; batch size and accumulation enter as their product."""
    trainer = config.tune.trainer
    fields = {name: value for name, value in trainer.items() if not INCIDENTAL.fullmatch(name)}
    together = trainer["per_device_train_batch_size"] * trainer.get("gradient_accumulation_steps", 1)
    weights = config.weights.model_dump(mode="json", exclude={"attn_implementation"})
    return {"trainer": fields, "lora": config.tune.lora, "weights": weights, "batch": together}


def _build(kind: type[T], table: str, fields: Mapping[str, Any], fixed: Mapping[str, Any]) -> T:
    names = {field.name for field in dataclasses.fields(kind) if field.init}  # type: ignore[arg-type]
    for name in fields:
        if name in OURS:
            raise UsageError(f"{table}.{name}: is said by {OURS[name]}")
        if name not in names:
            raise UsageError(f"{table}.{name}: {kind.__name__} has no such field{suggestion(name, names)}")
    try:
        # The user cannot fix future renamings of the library.
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
            return kind(**fields, **fixed)
    except (ImportError, RuntimeError, TypeError, ValueError) as error:
        raise UsageError(f"{table}: {str(error).strip().splitlines()[0]}") from error
