"""The configuration of a run: an Experiment (frozen, digested) and Limits (may change on resume).

Precedence: defaults < TOML file < --set < flags. Unknown keys are refused by name. The table `settings` is validated by
the benchmark's own settings class.
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel, Field, ValidationError, field_validator

from lotbench.errors import UsageError, among, faults_of
from lotbench.regular_file import read_text
from lotbench.types import JSON, FrozenModel

M = TypeVar("M", bound=BaseModel)
MAX_TOML, MAX_DOTS = 1_000_000, 100
"""The maximum length of a TOML file in characters, and of dots in one of its lines."""
_QUOTED = re.compile(
    r'"""(?:\\.|(?!""")[^\\])*+(?:""")?|\'\'\'(?:(?!\'\'\').)*+(?:\'\'\')?|"(?:\\.|[^"\\\n])*+"?|\'[^\'\n]*+\'?|#[^\n]*+',
    re.DOTALL,
)
"""Texts and comments of TOML; one without an end reaches to the end, where tomllib refuses it."""


class RoleSampling(FrozenModel):
    """Sampling parameters of one role; missing values come from the benchmark."""

    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    seed: bool | None = None
    """Whether a seed, drawn from (run seed, sample, repeat, step), is sent."""
    max_tokens: int | None = Field(default=None, gt=0, le=10_000_000)


DEFAULT_BENCHMARK = "lotbench"
"""The benchmark of a config that names none."""


class Experiment(FrozenModel):
    """Everything that a published number depends on; its digest names the run."""

    benchmark: str = DEFAULT_BENCHMARK
    model: str = Field(default="", description="the candidate, in any of the model name forms")
    roles: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The models of each other role, in order."""
    data: str = ""
    """A shipped data set's name or a folder; empty means the benchmark's own."""
    limit: int | None = Field(default=None, gt=0)
    """Only so many samples, drawn by the seed and spread over languages, tiers and the like; a larger number adds to them."""
    samples: tuple[str, ...] = ()
    """Only the samples of these ids."""
    languages: tuple[str, ...] = ()
    """Only the samples in these languages; a person plays those that the person knows (Sec. 6.2)."""
    repeats: int = Field(default=0, ge=0, le=10_000)
    """Independent tasks a sample; 0 means the benchmark's own number."""
    seed: int = 0
    prompts: str = ""
    """A folder that replaces the benchmark's prompt pack."""
    max_image_px: int = Field(default=1024, ge=32, le=8192)
    """The longer side of a picture as it is sent, in pixels; never upscaled."""
    settings: dict[str, Any] = Field(default_factory=dict)
    sampling: dict[str, RoleSampling] = Field(default_factory=dict)

    @field_validator("roles", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {role: (m,) if isinstance(m, str) else m for role, m in value.items()}


class Limits(FrozenModel):
    """What a run may use: nothing here changes a score, so all of it may change on resume."""

    concurrency: int = Field(default=20, gt=0, le=10_000)
    """Games in flight."""
    rpm: float | None = Field(default=None, gt=0)
    """Requests a minute, for each endpoint."""
    tpm: float | None = Field(default=None, gt=0)
    """Tokens a minute, for each endpoint."""
    cost_limit: float | None = Field(default=None, ge=0)
    """US dollars, over all sessions of the run."""
    token_limit: int | None = Field(default=None, ge=0)
    """Input and output tokens, over all sessions of the run."""
    time_limit: float | None = Field(default=None, ge=0)
    """Seconds, of this session."""
    timeout_s: float = Field(default=120.0, gt=0)
    """Seconds that one attempt of a call may take."""
    retries: int = Field(default=6, ge=0, le=100)
    max_wait_s: float = Field(default=900.0, ge=0)
    """The longest that a server may ask us to wait (Retry-After) before the call is given up."""
    max_failed: float = Field(default=0.10, ge=0, le=1)
    """The share of tasks that may end as ROLE_failed."""
    service_tier: Literal["default", "flex"] = "default"
    """`flex` asks OpenAI's models at half the price, slower; models of other endpoints have no such tier."""


class Config(FrozenModel):
    """A config file: an experiment with its limits in a table of their own."""

    experiment: Experiment
    limits: Limits

    def changed(self, **fields: Any) -> Self:
        """Return the same configuration with other values of some fields of its experiment; they are not validated."""
        return self.model_copy(update={"experiment": self.experiment.model_copy(update=fields)})


def load(
    path: Path | None,
    sets: Sequence[str] = (),
    flags: Mapping[str, Any] | None = None,
    source: str = "--set or a flag",
) -> Config:
    """Load the configuration of a run: defaults < TOML file < --set < flags.

    Args:
        path: A TOML file with the fields of Experiment, and `[limits]`.
        sets: `key=value` pairs. A key is a field of Experiment or Limits, a dotted path
            (`sampling.candidate.temperature=0.7`), or else a setting of the benchmark.
        flags: Fields by dotted path; None values are left out.
        source: Where sets and flags come from, for messages.

    Raises:
        UsageError: A file cannot be read, a key is unknown or a value out of range; the message names it.
    """
    table = read_toml(path) if path else {}
    # The file is validated alone first, so that its faults are reported with its name.
    file_config = _config(table, str(path))
    if not sets and not flags:
        return file_config
    named, of = table.get("samples"), Path(str(table.get("data", ""))).name
    put_pairs(table, sets, place)
    for key, value in (flags or {}).items():
        if value is not None:
            put(table, key.split("."), value)
    if named and table.get("samples") is named and Path(str(table.get("data", ""))).name != of:
        # Samples that the file names do not exist in another data set.
        del table["samples"]
    return _config(table, source)


def _config(table: Mapping[str, Any], source: str) -> Config:
    parts: dict[str, Any] = {
        "experiment": {name: value for name, value in table.items() if name != "limits"},
        "limits": table.get("limits", {}),
    }
    faults = []
    for part, model, prefix in (("experiment", Experiment, ""), ("limits", Limits, "limits.")):
        try:
            parts[part] = model.model_validate(parts[part])
        except ValidationError as error:
            faults += _faults(error, model, source, prefix)
    if faults:
        raise UsageError("\n".join(faults))
    return Config(**parts)


def validate(model: type[M], table: Any, path: Path | None = None, prefix: str = "") -> M:
    """Return data from outside as an instance of a pydantic class.

    Args:
        model: The class.
        table: The data.
        path: The file of the data, for the message; None for the configuration.
        prefix: A text to put before the names of fields in the message.

    Raises:
        UsageError: One line for each fault, with the file and the field.
    """
    try:
        return model.model_validate(table)
    except ValidationError as error:
        source = str(path) if path else "configuration"
        raise UsageError("\n".join(_faults(error, model, source, prefix))) from None


def received(model: type[M], sent: object) -> M:
    """Return what a page sent as an instance of a pydantic class; raises UsageError with the first fault."""
    try:
        return model.model_validate(sent)
    except ValidationError as error:
        raise UsageError(faults_of(error)[0]) from None


def _faults(error: ValidationError, model: type[BaseModel], source: str, prefix: str) -> list[str]:
    return faults_of(
        error, source, field=lambda name: (prefix + name).strip("."), message=partial(_message, model)
    )


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        OSError: The file cannot be read.
        UsageError: The file is not text or not TOML, with file and line.
    """
    try:
        return _parse_toml(read_text(path))
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    except RecursionError:
        raise UsageError(f"{path}: nested too deep") from None


def _parse_toml(text: str) -> dict[str, Any]:
    """Return the table in a TOML text.

    Raises:
        ValueError: The text is not TOML or too large, a key has too many parts, or an integer too many digits to be printed.
    """
    # tomllib takes quadratic time for the parts of a dotted key.
    if len(text) > MAX_TOML:
        raise ValueError(f"larger than {MAX_TOML:,} characters")
    if any(line.count(".") > MAX_DOTS for line in _QUOTED.sub("", text).split("\n")):
        raise ValueError(f"a line has more than {MAX_DOTS} dots outside quotes")
    table = tomllib.loads(text)
    # A long integer in hex can be read, but not printed in a message or a digest.
    repr(table)
    return table


def digest(value: Any) -> str:
    """Return the sha256 of a value's canonical JSON, in hex."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def differences(ours: JSON, other: JSON, path: str = "") -> list[str]:
    """Return the dotted names of the fields in which two JSON values differ; `path` is the name of the values themselves."""
    if isinstance(ours, Mapping) and isinstance(other, Mapping):
        names = sorted({*ours, *other})
        parts = (differences(ours.get(n), other.get(n), f"{path}.{n}" if path else n) for n in names)
        return [name for part in parts for name in part]
    return [] if ours == other else [path]


def place(key: str) -> list[str]:
    """Return the path of a `--set` key through the tables of a config file, such as `["limits", "rpm"]` for `rpm`.

    A dotted key is a path already; a key that is no field of Experiment or Limits is a setting of the benchmark.
    """
    if "." in key:
        return key.split(".")
    if key in Experiment.model_fields:
        return [key]
    if key in Limits.model_fields:
        return ["limits", key]
    return ["settings", key]


def put_pairs(table: dict[str, Any], pairs: Sequence[str], place: Callable[[str], list[str]]) -> None:
    """Set fields in nested tables by `key=value` pairs of `--set`, in place; `place` returns the path of a key.

    Raises:
        UsageError: A pair has no key or no value, or a name on a path is no table.
    """
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--set {pair!r}: expected key=value")
        put(table, place(key.strip()), read_value(value.strip()))


def put(table: dict[str, Any], place: Sequence[str], value: Any) -> None:
    """Set a field in nested tables by its path, in place.

    Raises:
        UsageError: A name on the path is no table.
    """
    for name in place[:-1]:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise UsageError(f"--set {'.'.join(place)}: {name} is not a table")
    table[place[-1]] = value


def read_value(text: str) -> Any:
    """Return the TOML value of a text; a text that is no TOML value is returned unchanged.

    Raises:
        UsageError: The text is `@FILE`, as values were once read from files.
    """
    if text.startswith("@"):
        raise UsageError(f"--set ...={text}: write the value into a TOML file, and give that to --config")
    try:
        table = _parse_toml(f"v = {text}")
    except (ValueError, RecursionError):
        return text
    return table["v"] if table.keys() == {"v"} else text


def _message(model: type[BaseModel], error: Any) -> str:
    if error["type"] == "missing":
        # The input of a missing field is the whole table: it is not printed.
        return str(error["msg"])
    if error["type"] != "extra_forbidden":
        return f"{error['msg']} (got {repr(error['input'])[:200]})"
    fields = sorted(model.model_fields) if len(error["loc"]) == 1 else []
    return "unknown key" + (among(str(error["loc"][-1]), fields) if fields else "")
