"""The calls of a run: its models, folder, journal, budget, store and caller, put together and closed in order.

    async with calling(plan, partial(Folder, path)) as calls:
        await calls.check()
        answer = await calls.caller.ask(episode, question)

Whatever asks models passes here: a run and its shards, a judge check, a data set under construction. Whoever has
models already, or has none (an episode watched in the studio; a run that is played again and calls nobody), takes
`journaled` alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lotbench.calls import preflight
from lotbench.calls.budget import Budget
from lotbench.calls.caller import Caller, RoleModel
from lotbench.calls.descriptors import room
from lotbench.calls.journal import Journal
from lotbench.calls.store import Store
from lotbench.config.experiment import Limits
from lotbench.models.registry import Models
from lotbench.run.plan import Plan
from lotbench.storage.run_folder import Folder

CALLS = "calls.jsonl"


@dataclass(frozen=True, slots=True)
class Calls:
    """What a run asks with, while it is open."""

    plan: Plan
    models: Models
    folder: Folder
    caller: Caller
    limits: Limits
    """Those of the plan, with no more calls in flight than this process can have connections."""

    async def check(self, without: Collection[str] = ()) -> None:
        """Ask every model of every role once, before the first episode; roles in `without` are not asked.

        Raises:
            Unescapable: A model cannot be reached at all, with the reason in one line.
        """
        plan = self.plan
        episode = plan.episode(plan.chosen[0].id, 0, self.caller.ask)
        await preflight.check(self.caller, episode, plan.benchmark, plan.settings, without)


@asynccontextmanager
async def calling(
    plan: Plan,
    folder: Callable[[], AbstractContextManager[Folder]],
    own: Mapping[str, Any] | None = None,
    store: Store | None = None,
    before: Path | None = None,
) -> AsyncIterator[Calls]:
    """Open what a run asks with; closed in the opposite order, whatever ends the run.

    Args:
        plan: Its names are the models that are built; with fewer roles, fewer are.
        folder: Makes or opens the run folder, which is then locked; called when all models are there.
        own: Models given as Python objects, by name.
        store: Where replies to shared questions are kept; the user's by default.
        before: See `journaled`.

    Raises:
        UsageError: A key, a file, a package or the weights of a model are missing; there is no folder yet.
        RunFolderError: The folder cannot be made or locked.
    """
    limits, warning = _fit_limits(plan)
    async with Models(plan.pictures, limits, own or {}, plan.order) as models:
        models.warnings += filter(None, [warning])
        role_models = models.role_models(plan.names)
        with folder() as place:
            async with journaled(plan, role_models, place.path, store or Store(), before) as caller:
                yield Calls(plan, models, place, caller, limits)


def _fit_limits(plan: Plan) -> tuple[Limits, str]:
    """Return the limits of a plan with as many calls in flight as there can be connections, and what to tell a person."""
    endpoints = {n.url or n.text for names in plan.names.values() for n in names if n.kind == "api"}
    needed = plan.limits.concurrency * len(endpoints)
    places, warning = room(needed) if needed else (0, "")
    if places == needed:
        return plan.limits, warning
    return plan.limits.model_copy(update={"concurrency": max(1, places // len(endpoints))}), warning


@asynccontextmanager
async def journaled(
    plan: Plan,
    role_models: Mapping[str, tuple[RoleModel, ...]],
    path: Path,
    store: Store,
    before: Path | None = None,
    *,
    writes: bool = True,
) -> AsyncIterator[Caller]:
    """Open a caller with the journal of a folder; the journal's earlier sessions count as spent.

    Args:
        plan: What sampling, seed and limits are taken of.
        role_models: The models of each role, by index.
        path: The folder, locked by whoever calls if lines will be added.
        store: Where replies to shared questions are kept.
        before: Another run folder, whose replies count as if they stood here; nothing is written to it.
        writes: Whether replies can come; if not, the journal stays as it is.
    """
    prices = {model.name: model.price for models in role_models.values() for model in models}
    with Journal(path / CALLS, before / CALLS if before else None, prices, writes=writes) as journal:
        budget_left, seed = budget(plan, journal), plan.experiment.seed
        caller = Caller(role_models, plan.sampling(), journal, store, budget_left, seed=seed)
        try:
            yield caller
        finally:
            await caller.close()


def budget(plan: Plan, journal: Journal) -> Budget:
    """Return the budget of a run, less what the calls in its journal have used."""
    budget_left = Budget(plan.limits)
    for origin, total in journal.totals.by_origin.items():
        if origin.source != "store":
            budget_left.count(total.usage, total.cost_usd or 0.0)
    return budget_left
