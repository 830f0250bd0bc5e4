"""The model card of an adapter or a merged model, filled from the files of its stage."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from clot_training.config import Config
from lotbench.report.markdown import plain
from lotbench.storage import atomic_write

ADAPTER = {"library": "peft", "tags": "lora, sft, trl, lotbench", "kind": "A LoRA adapter"}
MERGED = {
    "library": "transformers",
    "tags": "sft, trl, lotbench",
    "kind": "A base model with a LoRA adapter merged into it,",
}
PRIVATE = "- the base is not on the hub: others cannot load this adapter; `clot merge` makes a model that they can\n"


def write(config: Config, stage: Path, folder: Path, *, merged: bool = False) -> None:
    """Write the card, README.md, and config.toml into a folder with a finished stage's adapter or merged model."""
    about = json.loads((stage / "tune.json").read_text(encoding="utf-8"))
    text = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
    hub = _on_hub(config.model)
    fields = {
        "base": f"base_model: {json.dumps(config.model)}\n" if hub else "",
        "private": "" if hub or merged else PRIVATE,
        "title": f"{plain(stage.name)} of {plain(config.model)}{', merged' if merged else ''}",
        "seed": str(config.seed),
        "remote": "yes: read that code before you load it" if config.weights.trust_remote_code else "no",
        "versions": ", ".join(f"{name} {version}" for name, version in about.pop("versions").items()),
        "data": plain(", ".join(config.data)),
        **(MERGED if merged else ADAPTER),
    }
    values = about | about["loss"] | config.weights.model_dump() | fields
    atomic_write.write(folder / "README.md", text.format(**values))
    shutil.copy(stage / "config.toml", folder / "config.toml")


def _on_hub(base: str) -> bool:
    """Return whether a base model's name can be one of the hub, and neither a folder, a file nor `local`."""
    return (
        bool(re.fullmatch(r"[\w.-]+(/[\w.-]+)?", base, re.ASCII))
        and base != "local"
        and not base.endswith(".gguf")
        and not Path(base).exists()
    )
