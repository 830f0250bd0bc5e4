"""The model card of an adapter or a merged model, filled from the files of its stage."""

import json
import re
import shutil
from pathlib import Path

from clot_training.config import Config
from lotbench.report.markdown import plain
from lotbench.storage import atomic_write
from lotbench.storage.run_folder import read_json

HUB = re.compile(r"(?!local$|.*\.gguf$)[\w.-]+(/[\w.-]+)?", re.ASCII)
"""What a base model's name on the hub looks like."""
PRIVATE = "- the base is not on the hub: others cannot load this adapter; `clot merge` makes a model that they can\n"


def write(config: Config, stage: Path, folder: Path, *, merged: bool = False) -> None:
    """Write the card, README.md, and config.toml into a folder with a finished stage's adapter or merged model."""
    about = read_json(stage / "tune.json")
    template = Path(__file__).with_name("card_of_merged.md" if merged else "card.md")
    hub = HUB.fullmatch(config.model) and not Path(config.model).exists()
    fields = {
        "model": plain(config.model),
        "seed": str(config.seed),
        "base": f"base_model: {json.dumps(config.model)}\n" if hub else "",
        "private": "" if hub else PRIVATE,
        "stage": plain(stage.name),
        "remote": "yes: read that code before you load it" if config.weights.trust_remote_code else "no",
        "versions": ", ".join(f"{name} {version}" for name, version in about.pop("versions").items()),
        "data": plain(", ".join(config.data)),
    }
    values = about | about["loss"] | config.weights.model_dump() | fields
    atomic_write.write(folder / "README.md", template.read_text(encoding="utf-8").format(**values))
    shutil.copy(stage / "config.toml", folder / "config.toml")
