"""The configuration of a training run: one TOML file with a table for each step.

All numbers that a step depends on are fields here. Each step writes a copy of the whole configuration, with digests of
the data, beside its results.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

import tomli_w
from pydantic import BeforeValidator, Field, model_validator

from lotbench.benchmarks.standard.oogiri import Language, Type
from lotbench.config.experiment import differences, put_pairs, read_toml, validate
from lotbench.errors import RunFolderError, UsageError, file_errors
from lotbench.models.transformers.loading import Packing
from lotbench.storage import atomic_write
from lotbench.storage.datasets import data_folder
from lotbench.storage.run_folder import read_json
from lotbench.types import FrozenModel

Conditions: TypeAlias = Literal["weak", "random"]
SECRET = re.compile(r"(?:^|\.)(?:\w*(?:hub|auth)_)?token$|api_?key$|password$|secret$", re.IGNORECASE)
_TOKEN = re.compile(r"\bhf_[A-Za-z0-9]{8}|://[^/@\s]{1,200}@")


class Instructions(FrozenModel):
    """`clot instructions`: rows into generation, selection and ranking instructions (Sec. 5.2.1)."""

    generation: int = Field(default=2, ge=0)
    """Generation instructions a row, each with a condition and a wording of its own."""
    selection: int = Field(default=2, ge=0)
    """Selection instructions a row."""
    ranking: int = Field(default=1, ge=0)
    """Ranking instructions a row that people's preference is known of: 2 + 2 + 1 turn Oogiri-GO's 130,000
    rows, 78 % with likes, into about the paper's 600,000."""
    empty_condition: float = Field(default=0.5, ge=0, le=1)
    """rho_c: how often a generation instruction has no condition. The paper gives no value."""
    unrelated: int = Field(default=2, ge=0, le=20)
    """Options of a selection that answer another picture or question."""
    ranked: int = Field(default=5, ge=2, le=10)
    """Responses of a ranking, at most."""
    apart: float = Field(default=2.0, ge=0)
    """Standard errors between neighbours of a ranking, where people rated; likes need only differ."""
    captioner: str = ""
    """The model that describes pictures; without it a selection has no caption among its options."""
    rewriter: str = ""
    """The model that rewrites responses; without it a selection has no rewrite among its options."""
    rewriting: Literal["plain", "paraphrase"] = "plain"
    """What the rewriter is told: to let go of the wit, or only to rewrite (the paper's)."""
    screener: str = ""
    """The model that screens rows for safety; without it nothing is screened, and the manifest says so."""


class Weights(Packing):
    """How the model is loaded: by tune, refine, explore, report and merge alike."""

    max_pixels: int = Field(default=1024 * 1024, gt=0)
    """Of a picture; a larger one is scaled down. A picture's tokens count to the length of its instruction."""


def _over(defaults: Mapping[str, Any]) -> BeforeValidator:
    """Return a validator that adds the defaults of the keys that a table lacks."""
    return BeforeValidator(lambda table: {**defaults, **table} if isinstance(table, dict) else table)


TRAINER: Mapping[str, Any] = {
    "learning_rate": 2e-4,
    "lr_scheduler_type": "cosine",
    "warmup_steps": 0.03,
    "num_train_epochs": 1.0,
    "per_device_train_batch_size": 8,
    "max_length": 1024,
    "gradient_checkpointing": False,
    "logging_steps": 10,
    "logging_first_step": True,
    "save_steps": 500,
    "save_total_limit": 2,
    "report_to": "none",
}
LORA: Mapping[str, Any] = {"r": 16, "lora_alpha": 32, "lora_dropout": 0.05}


class Tune(FrozenModel):
    """`clot tune` (stage 1) and `clot refine` (stage 2): LoRA; the paper gives neither rank nor rates."""

    trainer: Annotated[dict[str, Any], _over(TRAINER)] = Field(default=dict(TRAINER))
    """Any field of TRL's SFTConfig, by its own name. Instructions longer than `max_length` are left out."""
    lora: Annotated[dict[str, Any], _over(LORA)] = Field(default=dict(LORA))
    """Any field of PEFT's LoraConfig, by its own name; without `target_modules` the language model's linear
    layers."""
    eval_share: float = Field(default=0.02, gt=0, lt=0.5)
    """The share of training pictures and questions that `eval_strategy` takes for evaluation instead of training."""


class Clip(FrozenModel):
    """The CLIP model that compares pictures with keywords: any that open_clip loads."""

    model: str = ""
    """An architecture of open_clip, or the path of a JSON file that describes one."""
    checkpoint: str = ""
    """A tag that open_clip knows for the architecture, or a path."""
    languages: tuple[Language, ...] = ("en",)
    """The languages of its text encoder; rows in other languages are refused."""


class Explore(FrozenModel):
    """`clot explore`: new responses under weakly associated conditions (Sec. 5.2.2)."""

    conditions: Conditions = "weak"
    """random is CLoTv1: as many conditions, drawn uniformly."""
    n: int = Field(default=100, gt=0)
    """Keywords drawn a sample."""
    alpha: int = Field(default=25, ge=0, le=100)
    """Per cent of them dropped from the most similar down."""
    beta: int = Field(default=70, ge=0, le=100)
    """Per cent of them dropped from the least similar up."""
    bounds: Literal["sentence", "equation"] = "sentence"
    """The sentence keeps 5 of 100; Eq. 1, read literally, keeps 7."""
    keep_rule: Literal["both_orders", "one_order"] = "both_orders"
    """Whether a candidate must win both before and after the responses that it is compared with; `one_order` is the paper's."""
    truths: int = Field(default=1, gt=0, le=20)
    """The maximum number of responses of people to compare with: the row's own, then others of its group."""
    clip: Clip = Clip()
    encoder: str = "minilm"
    """The sentence encoder that compares questions with keywords (T2T)."""
    encoder_languages: tuple[Language, ...] = ("en",)
    """The languages of the sentence encoder; rows in other languages are refused."""
    temperature: float = Field(default=0.9, ge=0, le=2)
    """Of what it writes."""
    top_p: float = Field(default=0.95, gt=0, le=1)
    """Share of the probability that is drawn from."""
    max_tokens: int = Field(default=64, gt=0)
    """Of a response, at most."""
    batch_size: int = Field(default=4, gt=0)
    """Samples a batch; each has all its conditions in it."""
    engine: Literal["local", "ray"] = "local"
    """ray: several workers, on one machine or many."""
    workers: int = Field(default=1, gt=0)
    """Ray: processes that each hold the model. Changes no candidate."""
    gpus: float = Field(default=0.0, ge=0)
    """Ray: GPUs a worker."""
    limit: int = Field(default=0, ge=0)
    """Only the first so many samples; 0: all."""

    @model_validator(mode="after")
    def _leaves_something(self) -> Self:
        if self.alpha + self.beta >= 100:
            raise ValueError(f"alpha {self.alpha} % and beta {self.beta} % leave no condition")
        return self


class Refine(FrozenModel):
    """`clot refine`: tune again on the instructions and the kept candidates (stage 2)."""

    refine_from: Literal["stage1", "base"] = "stage1"
    """The start of stage 2."""


class Synthesize(FrozenModel):
    """`clot synthesize`: kept candidates into proposals for LoTbench samples, for people to review."""

    model: str = ""
    """The model that proposes mask, caption, explanation and clues; empty: the tuned one."""
    limit: int = Field(default=50, gt=0)
    """Proposals, at most."""


class Report(FrozenModel):
    """`clot report`: the held-out choices and rankings, for each stage."""

    limit: int = Field(default=0, ge=0)
    """Held-out problems of each kind; 0: all."""


class Config(FrozenModel):
    """The configuration of a training run."""

    model: str
    """The base model: name on the hub, a local folder, a GGUF file, or `local`, the embedded model."""
    data: tuple[str, ...] = ("oogiri",)
    """Oogiri-shaped data sets: names of shipped ones, or folders."""
    types: tuple[Type, ...] = ("I2T", "T2T", "IT2T")
    """Only rows of these types; a model that reads text only can learn from T2T alone."""
    languages: tuple[Language, ...] = ("en", "zh", "ja")
    """Only rows in these languages."""
    out: str
    """The work folder: every step reads and writes there."""
    seed: int = Field(default=0, ge=0)
    """Of the split, of every draw, and of the adapter's first weights."""
    held_out: float = Field(default=0.05, gt=0, lt=1)
    """The share of pictures and questions, each with all its responses, that is never trained on."""
    weights: Weights = Weights()
    instructions: Instructions = Instructions()
    tune: Tune = Tune()
    explore: Explore = Explore()
    refine: Refine = Refine()
    synthesize: Synthesize = Synthesize()
    report: Report = Report()

    def folders(self) -> tuple[Path, ...]:
        """Return the folders of the configured data sets, in order.

        Raises:
            UsageError: A name is no data set.
        """
        return tuple(data_folder(name, "oogiri") for name in self.data)


def load(path: Path, sets: Sequence[str] = ()) -> Config:
    """Read the configuration of a run; pairs `key=value` in `sets` replace values of the file (`explore.alpha=20`).

    Raises:
        UsageError: A file cannot be read, a key is unknown or holds a secret, or a value is out of range; the message names it.
    """
    table = read_toml(path)
    validate(Config, table, path)
    put_pairs(table, sets, lambda key: key.split("."))
    if names := list(_secrets(table)):
        raise UsageError(
            f"{path}: {', '.join(names)}: a step writes its configuration down; set HF_TOKEN instead"
        )
    return validate(Config, table)


def _secrets(value: Any, name: str = "") -> Iterator[str]:
    """Yield the dotted names of fields of Hugging Face's libraries that hold a token, and of values with one."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _secrets(each, f"{name}.{key}".strip("."))
    elif isinstance(value, list):
        for each in value:
            yield from _secrets(each, name)
    elif isinstance(value, str) and (SECRET.search(name) or _TOKEN.search(value)):
        yield name


def claim(folder: Path, identity: Mapping[str, Any], *, begun: bool) -> None:
    """Write all that the results of a step depend on into its folder, as identity.json.

    Args:
        folder: The folder.
        identity: The settings and the digests of the data.
        begun: Whether the folder has results already.

    Raises:
        RunFolderError: The results depend on something else; the message names the fields that differ.
    """
    path, text = folder / "identity.json", json.dumps(identity)
    if begun and path.exists() and (changed := differences(read_json(path), json.loads(text))):
        raise RunFolderError(
            f"{folder}: was made with other settings ({', '.join(changed)}); remove it, or give another `out`"
        )
    atomic_write.write(path, f"{text}\n")


def freeze(config: Config, folder: Path) -> None:
    """Write the configuration into the folder of a step, as config.toml and config.json.

    Both have all settings, defaults included. config.json also has the sha256 of each data set.

    Raises:
        UsageError: A data set cannot be read.
    """
    atomic_write.write(folder / "config.toml", tomli_w.dumps(config.model_dump(mode="json")))
    table = {"config": config.model_dump(mode="json"), "data": data_digests(config.folders())}
    atomic_write.write(folder / "config.json", json.dumps(table, indent=2, ensure_ascii=False) + "\n")


def data_digests(folders: Sequence[Path]) -> dict[str, str]:
    """Return the sha256 of each data set's samples.jsonl, by folder.

    Raises:
        UsageError: A file cannot be read.
    """
    digests = {}
    for folder in folders:
        path = folder / "samples.jsonl"
        with file_errors(path):
            digests[folder.as_posix()] = sha256(path)
    return digests


def adapter_digests(folder: Path) -> list[str]:
    """Return the sha256 of the weights of an adapter; empty if there are none."""
    return [sha256(path) for path in sorted(folder.glob("adapter_model.*"))]


def sha256(path: Path) -> str:
    """Return the sha256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
