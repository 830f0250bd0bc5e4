"""The base model of a training run: its weights, and how they are loaded for training.

A GGUF file, such as that of the embedded model, is converted once into a folder that transformers loads. Transformers
would treat the file itself as quantized, and refuse to train or save it.
"""

import fcntl
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.pytorch_utils import Conv1D

from clot_training.config import Config
from lotbench.models.embedded import identity, weights
from lotbench.models.transformers.loading import Loaded, load, loading
from lotbench.storage.home import home


def folder(base: str) -> str:
    """Return the hub name or the folder from which transformers loads a base model; convert a GGUF file first.

    Args:
        base: Hub name, folder, `local` (the embedded model), or a `.gguf` file.

    Raises:
        UsageError: The weights of the embedded model are not installed, or the file is missing.
    """
    if base != "local" and not base.endswith(".gguf"):
        return base
    path = weights("local" if base == "local" else f"local:{base}")
    target = home() / "converted" / identity(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    # Several processes may arrive together: the first converts, the others wait.
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            with loading(base):
                _convert(path, target)
    return str(target)


def base_model(config: Config) -> Loaded:
    """Return the base model of a run, loaded for training; adapters record its `id` as their base.

    Raises:
        UsageError: The model cannot be loaded, or has no chat template.
    """
    more = config.tune.trainer.get("model_init_kwargs") or {}
    return load(folder(config.model), None, config.weights, train=more)


def linear_layers(model: Any) -> list[str]:
    """Return the names of all linear layers of the language model, without the vision tower."""
    decoder = model.get_decoder()
    place = next(name for name, module in model.named_modules() if module is decoder)
    return [
        f"{place}.{name}"
        for name, module in decoder.named_modules()
        if isinstance(module, torch.nn.Linear | Conv1D) and not re.search(r"vis(ion|ual)", name)
    ]


def _convert(path: Path, target: Path) -> None:
    """Write a GGUF file as a transformers folder, atomically."""
    transformers.utils.logging.disable_progress_bar()
    about: dict[str, Any] = {"gguf_file": path.name}
    model = transformers.AutoModelForCausalLM.from_pretrained(
        path.parent,
        dtype=torch.float32,
        quantization_config=transformers.GgufConfig(dequantize=True),
        **about,
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(path.parent, **about)
    temp = Path(tempfile.mkdtemp(dir=target.parent))
    try:
        model.save_pretrained(temp)
        tokenizer.save_pretrained(temp)
        os.replace(temp, target)
    finally:
        shutil.rmtree(temp, ignore_errors=True)
