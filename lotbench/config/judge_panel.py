"""A panel of judges, chosen from a leaderboard by rule, as a dated file that says why each model is in it or not.

Whether two results compare depends on who judged, so a panel has an id, which holds the digest of its
models. A file is made once, by `lotbench data panel`, and may be edited: its id then is another one.
"""

from __future__ import annotations

import csv
import io
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tomli_w
from pydantic import BaseModel, ConfigDict, Field

from lotbench.config.experiment import digest, read_toml, validate
from lotbench.config.model_names import related
from lotbench.errors import DataError, UsageError, at

MODEL, ORGANISATION, AVERAGE = "Model", "Organization", "Global Average"
"""The columns that are read, by the names that LiveBench gives them."""
PROVIDERS = {
    "Alibaba": "dashscope",
    "Anthropic": "anthropic",
    "DeepSeek": "deepseek",
    "Google": "gemini",
    "OpenAI": "openai",
}
"""Where an organisation's models are asked; others are left to openrouter."""


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    """A row of a leaderboard; `average` is None where the row has none."""

    model: str
    organisation: str
    average: float | None


@dataclass(frozen=True, slots=True)
class Rules:
    """How a panel is chosen (v2, Methods: Judge LLM panel formation).

    Attributes:
        size: How many judges.
        per_organisation: How many of one organisation at most; None for no limit (v1).
        siblings: Whether variants of one base model may both judge (v1).
        pins: Rows that are taken before all others, each with the reason.
        bans: Rows that are passed over, each with the reason.
    """

    size: int = 10
    per_organisation: int | None = 2
    siblings: bool = False
    pins: Mapping[str, str] = field(default_factory=dict)
    bans: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Choice:
    """A row of the leaderboard, taken or passed over, and why."""

    standing: LeaderboardRow
    taken: bool
    why: str


class PanelJudge(BaseModel):
    """A model of the panel: `model` is its name in lotbench, `row` that in the leaderboard."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(min_length=1)
    row: str = ""
    organisation: str = ""
    average: float | None = None
    why: str = ""


class Passed(BaseModel):
    """A model that was passed over."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    row: str
    organisation: str = ""
    average: float | None = None
    why: str


class PanelFile(BaseModel):
    """A panel file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    date: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")
    """Of the leaderboard."""
    source: str = ""
    judge: tuple[PanelJudge, ...] = Field(min_length=1)
    passed: tuple[Passed, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the judges."""
        return tuple(judge.model for judge in self.judge)

    @property
    def id(self) -> str:
        """Results compare within one id: the name, and the digest of the judges whatever their order."""
        return f"{self.name}@{digest(sorted(self.models))[:8]}"


def load(path: Path) -> PanelFile:
    """Read a panel file.

    Raises:
        UsageError: It cannot be read or does not fit, by file and field.
    """
    return validate(PanelFile, read_toml(path), path)


def checked(text: str, path: Path) -> PanelFile:
    """The panel that a file of this text would be.

    Raises:
        UsageError: The text does not fit, by field.
    """
    return validate(PanelFile, tomllib.loads(text), path)


def leaderboard(text: str, path: Path) -> list[LeaderboardRow]:
    """The rows of a leaderboard's CSV, best first; rows without an average last.

    Raises:
        DataError: A column is missing, or a row has no model or an average that is no number.
    """
    table = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    if missing := [name for name in (MODEL, ORGANISATION, AVERAGE) if name not in (table.fieldnames or ())]:
        raise DataError([at(path, 1) + f": no column {', '.join(missing)}"])
    rows, faults = [], []
    for row in table:
        said = (row[AVERAGE] or "").strip()
        try:
            average = float(said) if said.strip("-") else None
        except ValueError:
            faults.append(at(path, table.line_num, AVERAGE) + f": {said!r} is no number")
            continue
        if not (row[MODEL] or "").strip():
            faults.append(at(path, table.line_num, MODEL) + ": empty")
        rows.append(LeaderboardRow((row[MODEL] or "").strip(), (row[ORGANISATION] or "").strip(), average))
    if faults:
        raise DataError(faults)
    return sorted(rows, key=lambda one: (one.average is None, -(one.average or 0.0)))


def choose(rows: Sequence[LeaderboardRow], rules: Rules) -> list[Choice]:
    """Take or pass over every row, in order; what is pinned takes its place before the others.

    Raises:
        UsageError: A pin or a ban is of no row, or one row is both.
    """
    names = {row.model for row in rows}
    if unknown := sorted((rules.pins.keys() | rules.bans.keys()) - names):
        raise UsageError(f"no row {', '.join(unknown)} in the leaderboard")
    if both := sorted(rules.pins.keys() & rules.bans.keys()):
        raise UsageError(f"pinned and banned: {', '.join(both)}")
    taken = [row for row in rows if row.model in rules.pins]
    made = []
    for rank, row in enumerate(rows, 1):
        if row.model in rules.pins:
            made.append(Choice(row, True, f"pinned: {rules.pins[row.model]}"))
            continue
        why = _against(row, taken, rules)
        made.append(Choice(row, why is None, why or f"rank {rank}"))
        if why is None:
            taken.append(row)
    return made


def _against(row: LeaderboardRow, taken: Sequence[LeaderboardRow], rules: Rules) -> str | None:
    """Why a row is passed over, if it is."""
    if row.model in rules.bans:
        return f"banned: {rules.bans[row.model]}"
    if row.average is None:
        return f"has no {AVERAGE}"
    if len(taken) >= rules.size:
        return f"the panel of {rules.size} is full"
    kin = next((one.model for one in taken if related(one.model, row.model)), None)
    if kin and not rules.siblings:
        return f"a variant of {kin}, which is in it"
    of_it = Counter(one.organisation for one in taken)[row.organisation]
    if rules.per_organisation is not None and of_it >= rules.per_organisation:
        return f"{of_it} of {row.organisation} are in it"
    return None


def to_toml(name: str, date: str, source: str, choices: Sequence[Choice]) -> str:
    """A panel file of these choices, opened by the command that uses it."""
    head = (
        f"# lotbench evaluate liveideabench --panel {name}.toml --model M\n#\n"
        "# `model` is what lotbench asks for: check that the provider knows each name before the first run.\n"
    )
    table = {
        "name": name,
        "date": date,
        "source": source,
        "judge": [_row(one) for one in choices if one.taken],
        "passed": [_row(one) for one in choices if not one.taken],
    }
    return head + tomli_w.dumps(table)


def _row(choice: Choice) -> dict[str, str | float]:
    row = choice.standing
    model = {"model": f"{PROVIDERS.get(row.organisation, 'openrouter')}/{row.model}"} if choice.taken else {}
    average = {} if row.average is None else {"average": row.average}
    return {**model, "row": row.model, "organisation": row.organisation, **average, "why": choice.why}
