"""`clot merge`: merge the last tuned adapter into its base."""

import shutil
from pathlib import Path

from clot_training.config import Config
from clot_training.config import load as read_config
from clot_training.records import Work
from clot_training.tuning import card
from clot_training.tuning.tune import ADAPTER
from clot_training.tuning.weights import folder
from lotbench.models.transformers.loading import load
from lotbench.storage import adapter_texts
from lotbench.storage.run_folder import Folder


def merge(config: Config) -> Path:
    """Write the base model with the last stage's adapter merged into it, and return its folder STAGE/merged.

    Raises:
        UsageError: Nothing is tuned yet, the model cannot be loaded, or another process merges.
    """
    stage = Work(Path(config.out)).last_stage(config.explore.conditions)
    # Adapters are merged into unquantized weights.
    whole = config.weights.model_copy(update={"quantize": "none"})
    loaded = load(folder(config.model), str(stage / ADAPTER), whole)
    target, temp = stage / "merged", stage / ".merged"
    # Locked: another process would remove what this one writes.
    with Folder(stage):
        shutil.rmtree(temp, ignore_errors=True)
        loaded.model.merge_and_unload().save_pretrained(temp)
        loaded.processor.save_pretrained(temp)
        if (seen := adapter_texts.read_digests(stage / ADAPTER)) is not None:
            adapter_texts.write(temp, seen)
        card.write(read_config(stage / "config.toml"), stage, temp, merged=True)
        shutil.rmtree(target, ignore_errors=True)
        temp.rename(target)
    return target
