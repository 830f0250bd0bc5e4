"""The required fields of run.json, summary.json and judge.json, checked when a run folder is read.

A run folder may come from somebody else. Only fields that lotbench reads are checked; a file may have others.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, Field, FiniteFloat, Strict, model_validator

from lotbench.config.experiment import validate
from lotbench.errors import RunFolderError, UsageError
from lotbench.regular_file import is_file
from lotbench.storage import run_folder
from lotbench.storage.jsonl import rows
from lotbench.types import RUN_SCHEMA


class _Shape(BaseModel, extra="allow", strict=True):
    """A table of a file; it may have further fields."""


class _Recorded(_Shape):
    of: int
    samples: str
    prompts: dict[str, str]
    pictures: dict[str, str]


class _Digests(_Shape):
    experiment: str
    data: str
    prompts: str


class _Run(_Shape):
    """The fields of run.json; `recorded.experiment` reads the experiment."""

    version: str | None = None
    experiment: dict[str, Any]
    limits: dict[str, Any] = {}
    servers: dict[str, str] = {}
    duel: str = ""
    digests: _Digests
    recorded: _Recorded


class _Score(_Shape):
    value: FiniteFloat | None
    low: FiniteFloat | None
    high: FiniteFloat | None
    n: int
    better: Literal["higher", "lower"]
    baselines: dict[str, Any]
    why: str | None = None


class _Used(_Shape):
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int


class _Usage(_Shape):
    calls: int
    cost_usd: float | None
    by_role: dict[str, _Used]


class _Summary(_Shape):
    """The fields of summary.json."""

    n_samples: int
    n_traces: int
    arm: str | None = None
    usage: _Usage
    models: dict[str, list[str]]
    complete: bool
    rankable: bool
    reasons: list[str]
    scores: dict[str, _Score]
    digests: dict[str, str]
    wall_s: float = 0.0


class _Judges(_Shape):
    """The part of a judge check's key that names the role and the models that were checked."""

    role: str
    models: list[str]
    criterion: str = ""


Count: TypeAlias = Annotated[int, Field(ge=0, le=10**9)]
Share: TypeAlias = Annotated[float, Field(ge=-1, le=1)]
"""A share, or a kappa."""


class _Rate(_Shape):
    value: Share | None
    low: Share | None
    high: Share | None
    n: Count


class _Group(_Shape):
    fpr: _Rate
    fnr: _Rate
    kappa: _Rate


class _Stratum(_Shape, extra="forbid"):
    accepted: bool
    size: Count
    labelled: Count
    true: Count


class _Labels(_Shape):
    run: str
    strata: list[_Stratum]
    labels: list[Annotated[tuple[str, int, int, bool], Strict(False)]] = []
    people: Annotated[list[_Rate], Field(min_length=2, max_length=2)] = []


class _Chains(_Shape):
    samples: Count
    chains: Count
    changed: Annotated[tuple[Count, Count], Strict(False)]
    accepted: list[list[Annotated[tuple[Share, Share], Strict(False)]]]


class _Check(_Shape):
    key: _Judges
    names: list[str]
    set: dict[str, str | int | bool | None]
    groups: dict[str, _Group]
    unreadable: Count
    of: Count
    field: list[_Labels]
    chains: _Chains | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        strata = [stratum for labels in self.field for stratum in labels.strata]
        if not all(stratum.true <= stratum.labelled <= stratum.size for stratum in strata):
            raise ValueError("a stratum with more labels than verdicts, or more right ones than labels")
        if self.chains and len(set(map(len, self.chains.accepted))) > 1:
            raise ValueError("samples with different numbers of chains")
        return self


class _Checks(_Shape):
    """The fields of judge.json."""

    records: list[_Check]


class _Sample(_Shape):
    """A line of samples.jsonl; the fields beside `id` are the benchmark's own."""

    id: str


def read_samples(path: Path) -> dict[str, dict[str, Any]]:
    """Return the recorded samples of a run folder, by id.

    Raises:
        DataError: A line is not a sample.
    """
    samples = (sample.model_dump() for _, sample in rows(path / "samples.jsonl", _Sample.model_validate))
    return {sample["id"]: sample for sample in samples}


def read_run_json(path: Path) -> dict[str, Any]:
    """Return the run.json of a run folder.

    Raises:
        RunFolderError: The file is missing, of another schema, or not valid, with the fields.
    """
    return _read_table(path / "run.json", _Run)


def read_summary(path: Path) -> Mapping[str, Any]:
    """Return the summary.json of a run folder; empty if there is no such file yet.

    Raises:
        RunFolderError: The file has another schema or is not valid; the message names the fields at fault.
    """
    file = path / "summary.json"
    return _read_table(file, _Summary) if is_file(file) else {}


def read_checks(path: Path) -> Sequence[Mapping[str, Any]]:
    """Return the judge checks recorded in a run folder; none without judge.json.

    Raises:
        RunFolderError: The file has another schema or is not valid; the message names the fields at fault.
    """
    file = path / "judge.json"
    records: Sequence[Mapping[str, Any]] = _read_table(file, _Checks)["records"] if is_file(file) else ()
    return records


def later(version: str, reference: str) -> bool:
    """Return whether a version of a benchmark, such as `2` or `1.4`, is later than the reference."""
    own, other = ([int(part[:9]) for part in re.findall(r"[0-9]+", each)] for each in (version, reference))
    return own > other


def _read_table(file: Path, shape: type[BaseModel]) -> dict[str, Any]:
    table = run_folder.read_json(file)
    if (schema := table.get("schema")) != RUN_SCHEMA:
        raise RunFolderError(f"{file}: schema {schema!r} of another lotbench, this one reads {RUN_SCHEMA}")
    try:
        validate(shape, table, file)
    except UsageError as error:
        raise RunFolderError(f"{error}") from None
    return table
