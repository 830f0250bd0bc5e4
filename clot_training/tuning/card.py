"""The model card of an adapter, filled from the files of its stage."""

from __future__ import annotations

import json
from pathlib import Path

from clot_training.config import Config
from lotbench.report.markdown import plain
from lotbench.storage import atomic_write
from lotbench.storage.run_folder import read_json


def write(config: Config, out: Path) -> None:
    """Write the card, README.md, and config.toml into the adapter's folder of the finished stage in `out`."""
    about = read_json(out / "tune.json")
    text = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
    fields = {
        "model": plain(config.model),
        "seed": str(config.seed),
        "quoted": json.dumps(config.model),
        "stage": plain(out.name),
        "remote": "yes: read that code before you load it" if config.weights.trust_remote_code else "no",
        "versions": ", ".join(f"{name} {version}" for name, version in about.pop("versions").items()),
        "data": plain(", ".join(config.data)),
    }
    values = about | about["loss"] | config.weights.model_dump() | fields
    atomic_write.write(out / "adapter" / "README.md", text.format(**values))
    atomic_write.write(out / "adapter" / "config.toml", (out / "config.toml").read_text(encoding="utf-8"))
