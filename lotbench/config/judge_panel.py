"""A panel of judges, chosen from a leaderboard by rule, as a dated file that says why each model is in it or not.

Whether two results compare depends on who judged, so a panel has an id, which holds the digest of its
models. A file is made once, by `lotbench data panel`, and may be edited: its id then is another one.
"""

from __future__ import annotations

import csv
import io
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import tomli_w
from pydantic import BaseModel, ConfigDict, Field

from lotbench.config.experiment import digest, read_toml, validate
from lotbench.config.model_names import parse, related
from lotbench.errors import DataError, UsageError, at

MODEL, ORGANISATION, AVERAGE = "Model", "Organization", "Global Average"
"""The columns that are read, by the names that LiveBench gives them."""
ALSO = {MODEL: ("name",), ORGANISATION: ("organisation", "maker", "provider"), AVERAGE: ("average", "score")}
"""What other leaderboards call them; case does not matter."""
Usd: TypeAlias = tuple[float, float, float]
"""US dollars for a million tokens of input, cached input and output."""
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
        prices: A price list by the names that providers take; a row that is not in it is passed over. None: any may judge.
    """

    size: int = 10
    per_organisation: int | None = 2
    siblings: bool = False
    pins: Mapping[str, str] = field(default_factory=dict)
    bans: Mapping[str, str] = field(default_factory=dict)
    prices: Mapping[str, Usd] | None = None


RULES = {"v1": Rules(per_organisation=None, siblings=True), "v2": Rules()}
"""How the papers choose."""


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
    usd_per_million: Usd | None = None
    why: str = ""


class Passed(BaseModel):
    """A model that was passed over; `model` is its name in lotbench, where it is known."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    row: str
    model: str = ""
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
    rules: Literal["v1", "v2"] = "v2"
    """By which it was chosen, and would be filled up."""
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
    table.fieldnames = [_column(name) for name in table.fieldnames or ()]
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


def _column(name: str) -> str:
    """A column by the name that is used here."""
    plain = name.strip().casefold()
    return next((ours for ours, also in ALSO.items() if plain in (ours.casefold(), *also)), name)


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
    if rules.prices is not None and asked_as(row.model, rules.prices) is None:
        return "is not in the price list"
    kin = next((one.model for one in taken if related(one.model, row.model)), None)
    if kin and not rules.siblings:
        return f"a variant of {kin}, which is in it"
    of_it = Counter(one.organisation for one in taken)[row.organisation]
    if rules.per_organisation is not None and of_it >= rules.per_organisation:
        return f"{of_it} of {row.organisation} are in it"
    return None


def asked_as(row: str, names: Iterable[str]) -> str | None:
    """The name among those of a price list under which a row of a leaderboard is asked; None if there is none.

    Of several spellings and variants of one model, that with the words of the row.
    """
    wanted = _words(row)
    found = [name for name in names if related(parse(name).model, row)]
    return min(
        found, key=lambda name: (len(_words(parse(name).model) ^ wanted), len(name), name), default=None
    )


def _words(name: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]+|\d+", name.lower().rsplit("/", 1)[-1]))


def next_in_line(panel: PanelFile, gone: Collection[str]) -> list[Passed]:
    """Who takes the places of judges that are gone, in the order of the file, by the rule that chose the panel."""
    rules = RULES[panel.rules]
    left = [judge for judge in panel.judge if judge.model not in gone]
    taken = [LeaderboardRow(one.row or one.model, one.organisation, 0.0) for one in left]
    found: list[Passed] = []
    for one in panel.passed:
        row = LeaderboardRow(one.row, one.organisation, 0.0)
        barred = one.why.startswith(("banned", "has no", "is not in"))
        if (
            not barred
            and one.model not in gone
            and _against(row, taken, replace(rules, size=len(panel.judge))) is None
        ):
            taken.append(row)
            found.append(one)
    return found


def to_toml(
    name: str, about: Mapping[str, str], choices: Sequence[Choice], known: Mapping[str, str], rules: Rules
) -> str:
    """A panel file of these choices, opened by the command that uses it.

    Args:
        name: Of the panel.
        about: Its date, its source, and which rules chose.
        choices: Every row of the leaderboard.
        known: Names under which rows are asked, of panels that there are already.
        rules: Their price list has the names before all others.
    """
    head = (
        f"# lotbench evaluate liveideabench --panel {name}.toml --model M\n#\n"
        "# `model` is what lotbench asks for; the connection test of a run says which are not served.\n"
    )
    table = {
        "name": name,
        **about,
        "judge": [_row(one, known, rules.prices or {}) for one in choices if one.taken],
        "passed": [_row(one, known, rules.prices or {}) for one in choices if not one.taken],
    }
    return head + tomli_w.dumps(table)


def _row(choice: Choice, known: Mapping[str, str], prices: Mapping[str, Usd]) -> dict[str, Any]:
    row = choice.standing
    priced = asked_as(row.model, prices)
    model = priced or known.get(row.model) or f"{PROVIDERS.get(row.organisation, 'openrouter')}/{row.model}"
    average = {} if row.average is None else {"average": row.average}
    cost = {"usd_per_million": list(prices[priced])} if priced and choice.taken else {}
    return {
        "model": model,
        "row": row.model,
        "organisation": row.organisation,
        **average,
        **cost,
        "why": choice.why,
    }
