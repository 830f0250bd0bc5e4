"""Models in a duel: the same samples in one seeded order, until it is known who is better.

A duel is a folder of ordinary runs, one a model, beside duel.json and duel.html. Each run plays its part of the set;
what is known of the models is worked out from the runs alone, so a duel that was stopped goes on from them.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from lotbench.config import experiment as config
from lotbench.config.experiment import Config, Limits, digest
from lotbench.edge.calls.budget import Budget, refuse_unpriced
from lotbench.edge.calls.prices import total_cost
from lotbench.edge.calls.store import Store
from lotbench.edge.files import run_folder
from lotbench.edge.files.traces import Traces
from lotbench.errors import LimitReached, LotbenchError, RunFolderError, Unreachable, UsageError
from lotbench.harness.loop import Planned
from lotbench.report import duel as told
from lotbench.report.duel import Duel, Pair, Spending
from lotbench.run import plan, recorded, results
from lotbench.run.calling import Calls, calling
from lotbench.run.plan import Plan
from lotbench.run.results import load_run
from lotbench.run.session import Session

FILE, PAGE = "duel.json", "duel.html"


@dataclass(frozen=True, slots=True)
class Standing:
    """A duel as far as it has come.

    Attributes:
        path: Its folder.
        samples: Samples of which all games were played by whoever had a pair to settle.
        said: How it stands, in sentences.
    """

    path: Path
    duel: Duel
    pairs: tuple[Pair, ...]
    spent: Spending
    samples: int
    said: tuple[str, ...]


Say = Callable[[Standing], object]


@dataclass(frozen=True, slots=True)
class _Player:
    """A model of a duel, with its run."""

    name: str
    plan: Plan
    calls: Calls
    session: Session

    def lanes(self, samples: Sequence[str]) -> list[list[Planned]]:
        """What it has still to play of some samples."""
        wanted, done = set(samples), self.session.done
        return [
            lane
            for lane in self.plan.lanes()
            if lane[0].sample in wanted and any((one.sample, one.repeat) not in done for one in lane)
        ]

    def scores(self, repeats: int) -> dict[str, list[float]]:
        """The scores of each sample of which all games were played; a game without one adds none."""
        played: dict[str, list[float | None]] = {}
        for (sample, _), trace in self.session.done.items():
            played.setdefault(sample, []).append(trace.score.value)
        return {
            sample: [value for value in values if value is not None]
            for sample, values in played.items()
            if len(values) == repeats
        }


async def begin(
    asked: Config,
    models: Sequence[str],
    *,
    out: Path = Path("runs"),
    delta: float | None = None,
    own: Mapping[str, Any] | None = None,
    fresh: bool = False,
    check: bool = True,
    say: Say = lambda standing: None,
) -> Standing:
    """Begin a duel.

    Args:
        asked: The configuration of all runs; its model is left out of account.
        models: Who plays, by name.
        out: Where the folder of the duel is made.
        delta: The difference that matters: it is over, too, once none as large is possible.
        own: Models given as Python objects, by name.
        fresh: Take nothing out of the store.
        check: Make one call per role first.
        say: Is told how the duel stands after every few samples.

    Raises:
        UsageError: Something asked for is missing, unknown or does not fit.
        LotbenchError: The duel was stopped; `.run` is its folder, and `resume` goes on with it.
    """
    plans = [plan.make(_of(asked, model)) for model in models]
    duel = _settled(plans, delta)
    for made in plans:
        refuse_unpriced(made.limits, {name.text: name for names in made.names.values() for name in names})
    try:
        return await _begun(plans, duel, out, own, Store(fresh=fresh), check=check, say=say)
    except Unreachable as error:
        # Where nobody answered there is nothing to go on with.
        if error.run is not None and all(map(run_folder.discard_unanswered, error.run.glob("*/"))):
            shutil.rmtree(error.run, ignore_errors=True)
            error.run = None
        raise


async def _begun(
    plans: Sequence[Plan],
    duel: Duel,
    out: Path,
    own: Mapping[str, Any] | None,
    store: Store,
    *,
    check: bool,
    say: Say,
) -> Standing:
    """Seat the models, each with a run in the folder of the duel, and play."""
    async with AsyncExitStack() as stack:
        benchmark, together = plans[0].benchmark.name, "-".join(duel.models)
        place = stack.enter_context(
            run_folder.create(out, f"duel-{benchmark}", together, digest([list(duel.models), duel.delta]))
        )
        try:
            players = [
                await _seated(stack, duel.models[at], made, place.path, own, store)
                for at, made in enumerate(plans)
            ]
        except BaseException:
            # Nothing was played: whoever mends the key or the name begins anew.
            shutil.rmtree(place.path, ignore_errors=True)
            raise
        place.write_json(
            FILE,
            {
                "schema": 1,
                "models": list(duel.models),
                "runs": [one.calls.folder.path.name for one in players],
                "delta": duel.delta,
                "order": list(duel.order),
            },
        )
        return await _played(duel, players, place, check, say)


async def resume(
    path: Path,
    *,
    own: Mapping[str, Any] | None = None,
    retry_failed: bool = False,
    check: bool = True,
    say: Say = lambda standing: None,
    **limits: Any,
) -> Standing:
    """Go on with a duel that was stopped; `limits` are fields of Limits that change.

    Raises:
        RunFolderError: It is none, one of its runs has changed, or another process writes to it.
    """
    async with AsyncExitStack() as stack:
        place = stack.enter_context(run_folder.Folder(path))
        table = run_folder.read_json(path / FILE)
        try:
            names, runs, order = list(table["models"]), list(table["runs"]), tuple(table["order"])
            delta = table["delta"]
        except (KeyError, TypeError) as error:
            raise RunFolderError(f"{path / FILE}: damaged: {error}") from None
        players = [
            await _again(stack, name, path / run, own, limits, retry_failed=retry_failed)
            for name, run in zip(names, runs, strict=True)
        ]
        duel = _settled([one.plan for one in players], delta, tuple(names), order)
        return await _played(duel, players, place, check, say)


def _of(asked: Config, model: str) -> Config:
    return asked.model_copy(update={"experiment": asked.experiment.model_copy(update={"model": model})})


def _settled(
    plans: Sequence[Plan],
    delta: float | None,
    names: tuple[str, ...] | None = None,
    order: tuple[str, ...] | None = None,
) -> Duel:
    """What is settled before the first game.

    Raises:
        UsageError: There are no two models, a duel of them can settle nothing, or `delta` is no difference.
    """
    first, texts = plans[0], [made.names["candidate"][0].text for made in plans]
    if len(set(texts)) < max(2, len(texts)):
        raise UsageError(f"a duel is between two or more models, each named once (got {', '.join(texts)})")
    benchmark = first.benchmark
    if benchmark.comparison.ends is None:
        raise UsageError(
            f"{benchmark.name} does not say what a score can be at most: no duel can be held on it"
        )
    low, high = benchmark.comparison.ends(first.settings)
    if delta is not None and not 0 < delta < high - low:
        raise UsageError(
            f"--delta {delta}: scores are {low:g} to {high:g}, so it is above 0 and below {high - low:g}"
        )
    if any(len({one.sample for one in lane}) > 1 for lane in first.lanes()):
        raise UsageError(
            f"with these settings games of {benchmark.name} hand memory on from sample to sample: a duel wants games "
            "that know nothing of each other"
        )
    ids = [sample.id for sample in first.chosen]
    # Every order is as likely, which the interval rests on; spread over tiers it would not be.
    Random(f"duel/{first.experiment.seed}").shuffle(ids)
    return Duel(names or _short(texts), order or tuple(ids), first.experiment.repeats, (low, high), delta)


def _short(texts: Sequence[str]) -> tuple[str, ...]:
    """Names of models without their addresses, if that tells them apart."""
    short = tuple(text.partition("@http")[0] for text in texts)
    return short if len(set(short)) == len(texts) else tuple(texts)


async def _seated(
    stack: AsyncExitStack,
    name: str,
    made: Plan,
    out: Path,
    own: Mapping[str, Any] | None,
    store: Store,
) -> _Player:
    """A model with a run that begins."""

    def folder() -> run_folder.Folder:
        return run_folder.create(out, made.benchmark.name, made.experiment.model, digest(made.experiment))

    calls = await stack.enter_async_context(calling(made, folder, own, store))
    recorded.freeze(made, calls.folder)
    return _Player(name, made, calls, Session(made, calls, load_run(calls.folder.path)))


async def _again(
    stack: AsyncExitStack,
    name: str,
    path: Path,
    own: Mapping[str, Any] | None,
    limits: Mapping[str, Any],
    *,
    retry_failed: bool,
) -> _Player:
    """A model with a run that goes on."""
    place = stack.enter_context(run_folder.Folder(run_folder.find(str(path), path.parent)))
    place.keep(Traces(path / run_folder.TRACES, strict=False))
    run = load_run(path)
    made = results.planned(run, config.validate(Limits, {**run.limits, **limits}))
    recorded.refuse_lost_pictures(made, path)
    calls = await stack.enter_async_context(calling(made, lambda: nullcontext(place), own))
    session = Session(made, calls, run)
    session.continues(run.traces, retry_failed=retry_failed)
    return _Player(name, made, calls, session)


async def _played(
    duel: Duel, players: Sequence[_Player], place: run_folder.Folder, check: bool, say: Say
) -> Standing:
    """Play until every pair is settled or the set is spent, and write down what came of it, whatever ends it."""
    _share(players)
    stopped = "interrupted"
    try:
        if check:
            for one in players:
                await one.calls.check()
        await _rounds(duel, players, place.path, say)
        stopped = ""
    except LotbenchError as error:
        error.run, stopped = place.path, str(error)
        raise
    except asyncio.CancelledError as error:
        error.args = (str(place.path),)
        raise
    finally:
        await _reported(players)
        standing = _standing(duel, players, place.path, stopped)
        _keep(standing, players, place)
    return standing


async def _reported(players: Sequence[_Player]) -> None:
    """Write the report of each run; one that has played the whole set ends like any other."""
    for one in players:
        whole = len(one.session.done) == sum(map(len, one.plan.lanes()))
        if whole:
            # Its report is written even if no money is left for the anchors of its judges, which it then lacks.
            with suppress(LimitReached):
                await one.session.walk(check=False, watch=None)
        else:
            await one.calls.caller.close()
            one.session.finish()


def _share(players: Sequence[_Player]) -> None:
    """One budget for all: the limits are those of the duel."""
    budget = Budget(players[0].plan.limits)
    for one in players:
        spent = one.calls.caller.budget
        budget.cost, budget.tokens = budget.cost + spent.cost, budget.tokens + spent.tokens
        one.calls.caller.budget = budget


async def _rounds(duel: Duel, players: Sequence[_Player], path: Path, say: Say) -> None:
    """Play a few samples at a time, side by side, whoever has a pair to settle."""
    for samples in _batches(duel, players[0].plan.limits.concurrency):
        waiting = told.open_models(duel, _pairs(duel, players))
        lanes = {one.name: one.lanes(samples) for one in players if one.name in waiting}
        if not waiting:
            return
        if any(lanes.values()):
            await _together([one.session.take(lanes[one.name]) for one in players if lanes.get(one.name)])
            say(_standing(duel, players, path, "under way"))


async def _together(takes: Sequence[Awaitable[None]]) -> None:
    """Wait for all of them, so that nothing goes on after one was stopped; then raise what stopped the first."""
    ended = await asyncio.gather(*takes, return_exceptions=True)
    for one in ended:
        if isinstance(one, BaseException):
            raise one


def _batches(duel: Duel, concurrency: int) -> Iterator[tuple[str, ...]]:
    """As many samples at a time as keep the endpoints busy."""
    size = max(1, concurrency // duel.repeats)
    for at in range(0, len(duel.order), size):
        yield duel.order[at : at + size]


def _pairs(duel: Duel, players: Sequence[_Player]) -> tuple[Pair, ...]:
    return told.pairs(duel, {one.name: one.scores(duel.repeats) for one in players})


def _standing(duel: Duel, players: Sequence[_Player], path: Path, stopped: str) -> Standing:
    found, spent = _pairs(duel, players), _spent(players)
    over = not told.open_models(duel, found)
    played = [one.scores(duel.repeats).keys() for one in players]
    samples = len(frozenset().union(*played))
    said = told.sentences(duel, found, spent, samples, "" if over else stopped)
    return Standing(path, duel, found, spent, samples, said)


def _spent(players: Sequence[_Player]) -> Spending:
    games = sum(len(one.session.done) for one in players)
    return Spending(games, total_cost(one.calls.caller.journal.totals.paid_usd for one in players))


def _keep(standing: Standing, players: Sequence[_Player], place: run_folder.Folder) -> None:
    """Write what came of a duel beside its runs: for programs, and as a page."""
    # Drawing takes matplotlib, which nothing before the end of a duel has a use for.
    from lotbench.report.html.duel_page import page  # noqa: PLC0415

    duel, found, spent = standing.duel, standing.pairs, standing.spent
    table = run_folder.read_json(place.path / FILE)
    place.write_json(FILE, {**table, **told.to_json(duel, found, spent, standing.said)})
    runs = [one.calls.folder.path.name for one in players]
    shown = told.sections(duel, found, spent)
    place.write(PAGE, page(players[0].plan.benchmark.name, standing.said, runs, shown))
