"""The resources for calling models: models, run folder, journal, budget, store and caller, opened and closed in order.

    async with calling(plan, partial(Folder, path)) as calls:
        await calls.check()
        answer = await calls.caller.ask(episode, question)

All code that calls models uses this: runs and their shards, judge checks, data sets under construction. Code that has its
models already (the studio) or calls none (a replayed run) uses `journaled` only.
"""

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lotbench.calls import preflight
from lotbench.calls.budget import Budget
from lotbench.calls.caller import Caller, RoleModel
from lotbench.calls.descriptors import room
from lotbench.calls.journal import Journal
from lotbench.calls.store import Store
from lotbench.config.experiment import Limits
from lotbench.config.model_names import address, parse
from lotbench.errors import RunFolderError, UsageError
from lotbench.models.registry import Models, reads_text_only
from lotbench.run.plan import Plan
from lotbench.storage.run_folder import Folder
from lotbench.types import Usage

CALLS = "calls.jsonl"
shared_budget: ContextVar[Budget | None] = ContextVar("shared_budget", default=None)
"""The budget of all runs that this process plays together, such as those of the people at a site; None for none."""


@dataclass(frozen=True, slots=True)
class Calls:
    """The open resources for calling models."""

    plan: Plan
    models: Models
    folder: Folder
    caller: Caller
    limits: Limits
    """The limits of the plan, with at most as many calls in flight as this process can have connections."""

    async def check(self, without: Collection[str] = ()) -> None:
        """Call each model of each role once, except roles in `without`, to find faults before the first episode.

        Raises:
            Unescapable: A model cannot be reached.
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
    """Open the resources for calling models; they are closed in reverse order.

    Args:
        plan: The plan; the models of its names are built.
        folder: Makes or opens the run folder and locks it; called after all models are built.
        own: Models given as Python objects, by name.
        store: The store of replies to shared questions; by default the user's.
        before: See `journaled`.

    Raises:
        UsageError: A key, a file, a package or the weights of a model are missing, or a model of this machine would be shown
            pictures and takes none. No folder has been made then.
        RunFolderError: The folder cannot be made or locked, or the run began at another address than the environment names.
    """
    _refuse_moved(plan)
    limits, warning = _fit_limits(plan)
    async with Models(plan.pictures, limits, own or {}, plan.order) as models:
        _refuse_text_only(plan, models)
        models.warnings += filter(None, [warning])
        role_models = models.role_models(plan.names)
        with folder() as place:
            async with journaled(plan, role_models, place.path, store or Store(), before) as caller:
                yield Calls(plan, models, place, caller, limits)


def _refuse_moved(plan: Plan) -> None:
    """Refuse to go on with a run whose recorded address of a model is not the one in the environment: another model answers."""
    for name in (name for names in plan.names.values() for name in names):
        now = parse(name.text)
        if address(now) != address(name):
            began, goes_on = (address(each) or "the provider's own address" for each in (name, now))
            raise RunFolderError(f"{name.text}: the run began at {began}, the environment names {goes_on}")


def _refuse_text_only(plan: Plan, models: Models) -> None:
    """Refuse models of this machine that take no pictures, in roles that are shown some; the error names a missing key too."""
    if not plan.benchmark.shows_pictures(plan.settings) or not any(sample.image for sample in plan.chosen):
        return
    obstacles = [
        f"{role}: {name.text} reads text only: to play without pictures, --set arm=caption"
        for role, names in plan.names.items()
        for name in names
        if plan.benchmark.roles[role].pictures and reads_text_only(name)
    ]
    if obstacles:
        try:
            models.role_models(
                {role: [n for n in each if n.kind == "api"] for role, each in plan.names.items()}
            )
        except UsageError as error:
            obstacles.append(str(error))
        raise UsageError("\n".join(obstacles))


def _fit_limits(plan: Plan) -> tuple[Limits, str]:
    """Return the limits of a plan, with concurrency reduced to the possible connections, and a note on that for the user."""
    endpoints = {n.url or n.text for names in plan.names.values() for n in names if n.kind == "api"}
    needed = plan.limits.concurrency * len(endpoints)
    places = room(needed) if needed else 0
    if places == needed:
        return plan.limits, ""
    fewer = max(1, places // len(endpoints))
    warning = f"too few files may be open at once (ulimit -n), so concurrency is {fewer}"
    return plan.limits.model_copy(update={"concurrency": fewer}), warning


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
    """Open a caller with the journal of a folder; the calls that are in it already count against the budget.

    Args:
        plan: The plan, for sampling, seed and limits.
        role_models: The models of each role, by index.
        path: The folder; it must be locked already if the journal is written.
        store: The store of replies to shared questions.
        before: Another run folder, whose replies are read as well; nothing is written to it.
        writes: Whether the journal is written.
    """
    prices = {model.name: model.price for models in role_models.values() for model in models}
    with Journal(path / CALLS, before / CALLS if before else None, prices, writes=writes) as journal:
        budget_left, seed = budget(plan, journal), plan.experiment.seed
        caller = Caller(role_models, plan.sampling(), journal, store, budget_left, seed=seed)
        try:
            yield caller
        finally:
            await caller.close()


@dataclass
class _Part(Budget):
    """The budget of a run whose calls count against the budget `whole` of several runs, too."""

    whole: Budget = field(default_factory=lambda: Budget(Limits()))

    async def reserve(self, tokens: int, cost: float) -> None:
        await super().reserve(tokens, cost)
        try:
            await self.whole.reserve(tokens, cost)
        except BaseException:
            super().settle(tokens, cost, Usage(), 0.0)
            raise

    def settle(self, tokens: int, cost: float, usage: Usage, spent: float) -> None:
        super().settle(tokens, cost, usage, spent)
        self.whole.settle(tokens, cost, Usage(), 0.0)

    def count(self, usage: Usage, spent: float) -> None:
        super().count(usage, spent)
        self.whole.count(usage, spent)


def budget(plan: Plan, journal: Journal) -> Budget:
    """Return the budget of a run, reduced by the usage of the calls in its journal; a part of `shared_budget`, if that is set."""
    budget_left = Budget(plan.limits)
    for origin, total in journal.totals.by_origin.items():
        if origin.source != "store":
            budget_left.count(total.usage, total.cost_usd or 0.0)
    if whole := shared_budget.get():
        return _Part(plan.limits, cost=budget_left.cost, tokens=budget_left.tokens, whole=whole)
    return budget_left
