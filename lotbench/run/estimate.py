"""What a run is likely to take, from earlier ones of the same benchmark and variant.

A maximum counts every walk to its end. Earlier runs know how many calls a walk came to before it was solved, and how
many tokens each role's calls had.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import Field, TypeAdapter

from lotbench.config.arm import arm
from lotbench.config.model_names import ModelName, parse
from lotbench.edge.calls.prices import asked_cost, total_cost
from lotbench.edge.files.run_folder import read_json
from lotbench.errors import LotbenchError
from lotbench.run.plan import Plan
from lotbench.types import Usage

FEW_WALKS = 10
"""Walks of a candidate from which its own earlier runs are enough to go by."""


Amount: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
SUMMED = ("calls", "input_tokens", "cached_input_tokens", "output_tokens")
COUNTING = ("api", "hf", "local", "langchain")
"""The kinds of models that tell how many tokens they used."""


@dataclass(frozen=True, slots=True)
class Likely:
    """What a role is likely to take: calls, tokens and US dollars (None: no price is known)."""

    calls: Amount = 0
    input_tokens: Amount = 0
    cached_input_tokens: Amount = 0
    output_tokens: Amount = 0
    cost_usd: Amount | None = None


@dataclass(frozen=True, slots=True)
class Earlier:
    """What a finished run took.

    Attributes:
        model: Its candidate.
        walks: Its finished walks.
        used: What each role used.
    """

    model: str
    walks: int
    used: Mapping[str, Likely]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run is likely to take.

    Attributes:
        by_role: By role.
        planned: Walks that it is of.
        walks: Walks of earlier runs that it rests on.
        runs: How many runs those are.
        same: Whether the candidate played them; if not, others did.
    """

    by_role: Mapping[str, Likely]
    planned: int
    walks: int
    runs: int
    same: bool

    @property
    def basis(self) -> str:
        """What it rests on, in words."""
        whose = "this candidate" if self.same else "other candidates"
        return f"{self.walks:,} games or tasks of {self.runs} earlier run{'s' * (self.runs > 1)} of {whose}"


def estimated(made: Plan, root: Path) -> Estimate | None:
    """An estimate of a plan from the finished runs in a folder; None if none is like it.

    A run is like it that has its benchmark, its arm, as many calls a walk at most, and players who count tokens where
    the plan's do. Those of the same candidate are taken alone where they have enough walks, since how soon a game is
    solved is the candidate's.
    """
    found = list(_alike(made, root))
    own = [one for one in found if one.model == made.experiment.model]
    same = sum(one.walks for one in own) >= FEW_WALKS
    taken = own if same else found
    walks = sum(one.walks for one in taken)
    if not walks:
        return None
    planned = sum(map(len, made.lanes()))
    by_role = {}
    for role in made.names:
        used = [one.used.get(role, Likely()) for one in taken]
        sums = {name: planned / walks * sum(getattr(one, name) for one in used) for name in SUMMED}
        by_role[role] = Likely(**sums, cost_usd=_cost(made, role, sums))
    return Estimate(by_role, planned, walks, len(taken), same or len(own) == len(taken))


def _alike(made: Plan, root: Path) -> Iterator[Earlier]:
    """The finished runs that are like a plan."""
    model, most = made.benchmark.Settings, dict(made.benchmark.calls(made.settings))
    for path in sorted(root.glob("*/run.json")):
        try:
            table, summary = read_json(path), read_json(path.parent / "summary.json")
            asked = table["experiment"]
            if table["benchmark"] != made.benchmark.name or not summary["complete"]:
                continue
            settings = model.model_validate(asked["settings"])
            players = {"candidate": [asked["model"]], **asked["roles"]}
            if (
                arm(settings) == arm(made.settings)
                and dict(made.benchmark.calls(settings)) == most
                and all(_tells(given, players.get(role, ())) for role, given in made.names.items())
            ):
                used = TypeAdapter(dict[str, Likely]).validate_python(summary["usage"]["by_role"])
                yield Earlier(asked["model"], TypeAdapter(int).validate_python(summary["n_traces"]), used)
        except (LotbenchError, KeyError, TypeError, AttributeError, ValueError):
            # Whatever lies there is no run that this lotbench can learn from.
            continue


def _tells(given: Sequence[ModelName], players: Sequence[str]) -> bool:
    """Whether those who played a role tell what it costs models: a placebo or a person uses no tokens."""
    return not _count(given) or _count([parse(name) for name in players])


def _count(names: Sequence[ModelName]) -> bool:
    return all(name.kind in COUNTING for name in names)


def _cost(made: Plan, role: str, sums: Mapping[str, float]) -> float | None:
    """The dollars of so many calls, all of the mean length, shared evenly by the models of a role."""
    calls, given = sums["calls"], made.names[role]
    each = Usage(*(round(sums[name] / calls) if calls else 0 for name in SUMMED[1:]))
    costs = (asked_cost(name, each, made.limits) for name in given)
    return total_cost(None if one is None else calls / len(given) * one for one in costs)
