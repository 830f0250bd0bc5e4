"""Where a run is put together: config -> data, models, journal, store, graph -> run -> report.

This is the Python API, and the only place that knows graphs, edge and the loop together.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from lotbench import config, plan, results
from lotbench.benchmark import Context
from lotbench.config import Config, Limits
from lotbench.edge import folder, preflight
from lotbench.edge.desk import Desk, Tally
from lotbench.edge.journal import Journal
from lotbench.edge.limits import Budget, refuse_unpriced
from lotbench.edge.models import Models
from lotbench.edge.store import Store
from lotbench.errors import LotbenchError
from lotbench.plan import Plan
from lotbench.probing import anchors
from lotbench.results import Run, load_run
from lotbench.run import Loop
from lotbench.state import start
from lotbench.types import Trace

T = TypeVar("T")
Player: TypeAlias = str | Callable[[list[dict[str, Any]]], Awaitable[Any]] | Any
"""A model: a name, an async callable from OpenAI-style messages to text, or a LangChain chat model."""


@dataclass(slots=True)
class Status:
    """A run while it goes on; what a progress display looks at."""

    plan: Plan
    path: Path
    total: int
    tally: Tally
    loop: Loop
    models: Models
    traces: dict[tuple[str, int], Trace]
    damaged: Sequence[int] = ()
    """Lines of the journal that could not be read: their calls are made again."""


Watch: TypeAlias = Callable[[Status], Awaitable[None]]


async def evaluate(
    benchmark: str = "lotbench",
    *,
    model: Player = "",
    roles: Mapping[str, Player | Sequence[Player]] | None = None,
    config_file: str | Path | None = None,
    out: str | Path = "runs",
    fresh: bool = False,
    check: bool = True,
    watch: Watch | None = None,
    **fields: Any,
) -> Run:
    """Evaluate a model on a benchmark.

    Args:
        benchmark: Its name.
        model: The candidate.
        roles: Models of other roles, by name (`{"judge": "gpt-4o-mini", "oracle": my_callable}`).
        config_file: A TOML file, under everything given here.
        out: Where the run folder is made.
        fresh: Take nothing out of the store.
        check: Make one call per role first.
        watch: Is given the run's status and runs beside it.
        **fields: Fields of Experiment and Limits by name (`repeats=1`, `settings={"max_rounds": 5}`,
            `concurrency=50`).

    Returns:
        The finished run.

    Raises:
        UsageError: Something asked for is missing, unknown or does not fit.
        LotbenchError: The run was stopped; `.run` is its folder, and `resume` goes on with it.
    """
    own: dict[str, Any] = {}
    given: dict[str, Any] = {} if benchmark == "lotbench" and config_file else {"benchmark": benchmark}
    if model:
        given["model"] = _named(model, "candidate", own)
    for role, players in (roles or {}).items():
        many = players if isinstance(players, list | tuple) else [players]
        given[f"roles.{role}"] = [_named(player, f"{role}-{seat}", own) for seat, player in enumerate(many)]
    for name, value in fields.items():
        given[f"limits.{name}" if name in Limits.model_fields else name] = value
    read = config.load(Path(config_file) if config_file else None, (), given)
    return await begin(read, out=Path(out), own=own, fresh=fresh, check=check, watch=watch)


def evaluate_sync(*args: Any, **kwargs: Any) -> Run:
    """`evaluate` for code that is not async; works inside a running event loop too, as in a notebook."""
    return _synchronously(evaluate(*args, **kwargs))


async def begin(
    asked: Config,
    *,
    out: Path = Path("runs"),
    own: Mapping[str, Any] | None = None,
    fresh: bool = False,
    check: bool = True,
    watch: Watch | None = None,
) -> Run:
    """Begin a run from a configuration; see `evaluate`."""
    made = plan.make(asked)
    refuse_unpriced(made.limits, {name.text: name for names in made.names.values() for name in names})
    models = Models(made.pictures, made.limits, own or {})
    seats = models.seats(made.names)
    digests = made.digests
    with folder.create(out, made.benchmark.name, made.experiment.model, digests["experiment"]) as place:
        place.write_json("run.json", _frozen(made, digests))
        for path, text in made.prompts.files.items():
            place.write(f"prompts/{path}", text)
        place.write("samples.jsonl", "".join(f"{sample.model_dump_json()}\n" for sample in made.chosen))
        async with models:
            session = Session(made, place, models, seats, fresh=fresh)
            return await session.play(check=check, watch=watch)


async def resume(
    run: str | Path,
    *,
    root: str | Path = "runs",
    own: Mapping[str, Any] | None = None,
    retry_failed: bool = False,
    check: bool = True,
    watch: Watch | None = None,
    **limits: Any,
) -> Run:
    """Go on with a run: what the journal has is not asked again.

    Args:
        run: A path, a folder name in `root`, or `latest`.
        root: Where runs are kept.
        own: The Python objects that played, by name.
        retry_failed: Ask again for replies that came and could not be read, too.
        check: Make one call per role first, if the journal has none.
        watch: See `evaluate`.
        **limits: Fields of Limits; those of the first session do not carry over.

    Raises:
        RunFolderError: The run's experiment, data or prompts have changed, or another process writes to it.
    """
    path = folder.find(str(run), Path(root))
    with folder.Folder(path) as place:
        place.keep(folder.traces(path, strict=False))
        found = load_run(path)
        made = results.planned(found, config.validate(Limits, limits))
        models = Models(made.pictures, made.limits, own or {})
        seats = models.seats(made.names)
        async with models:
            session = Session(made, place, models, seats, found, retry_failed=retry_failed)
            return await session.play(check=check, watch=watch)


class Session:
    """One session of a run: from the first walk that is not done to a report."""

    def __init__(
        self,
        made: Plan,
        place: folder.Folder,
        models: Models,
        seats: Mapping[str, Any],
        before: Run | None = None,
        *,
        fresh: bool = False,
        retry_failed: bool = False,
    ) -> None:
        self._plan = made
        self._place = place
        self._models = models
        self._seats = seats
        self._fresh = fresh
        self._wall_s = before.summary.get("wall_s", 0.0) if before else 0.0
        self._started = time.monotonic()
        old = before.traces if before else ()
        again = [t for t in old if t.outcome.endswith("_failed") and (retry_failed or not t.arrived)]
        self._traces = {(t.sample, t.repeat): t for t in old if t not in again}
        self._again = [t for t in again if t.arrived]

    async def play(self, *, check: bool, watch: Watch | None) -> Run:
        """Take every walk that is not done, and write the report, whatever ends the session."""
        from graphs.game import graph

        self._place.keep(self._traces.values())
        with Journal(self._place.path / "calls.jsonl") as journal:
            self._retry(journal)
            desk = self._desk(journal)
            context = Context(self._plan.benchmark, self._plan.view, desk.ask)
            lanes = self._plan.lanes()
            total = sum(map(len, lanes))
            loop = Loop(
                graph,
                context,
                dict(self._traces),
                self._plan.benchmark.supersteps(self._plan.settings),
                min(self._plan.limits.concurrency, len(lanes)),
                int(self._plan.limits.max_failed * total),
            )
            status = Status(
                self._plan,
                self._place.path,
                total,
                desk.tally,
                loop,
                self._models,
                self._traces,
                journal.damaged,
            )
            watching = asyncio.ensure_future(watch(status)) if watch else None
            try:
                if check:
                    await self._check(desk)
                async for trace in loop.traces(lanes):
                    self._traces[trace.sample, trace.repeat] = trace
                    self._place.append(trace)
                self._place.write_json("anchors.json", await anchors(self._plan, desk, self._place.path))
            except LotbenchError as error:
                error.run = self._place.path
                raise
            finally:
                if watching:
                    watching.cancel()
                    with suppress(asyncio.CancelledError):
                        await watching
                self._finish()
        if loop.crashed:
            raise _crash(loop, self._place.path)
        return load_run(self._place.path)

    def _retry(self, journal: Journal) -> None:
        """Have the last calls of walks that are tried again made again."""
        for trace in self._again:
            for step in trace.steps[-2:]:
                if step["call"]:
                    journal.retry(str(step["call"]))

    def _desk(self, journal: Journal) -> Desk:
        budget = Budget(self._plan.limits)
        for before in results.spent(self._place.path, self._plan.names)[0].values():
            budget.tokens += before.input_tokens + before.output_tokens
            budget.cost += before.cost_usd or 0.0
        store = Store(fresh=self._fresh)
        seed = self._plan.experiment.seed
        return Desk(self._seats, self._plan.sampling(), journal, store, budget, seed=seed)

    async def _check(self, desk: Desk) -> None:
        first = self._plan.chosen[0]
        walk = self._plan.view(start(first.id, 0, "preflight"), "preflight")
        await preflight.check(desk, walk, self._plan.benchmark, self._plan.settings)

    def _finish(self) -> None:
        """Put the traces in data order and write the report, also of a run that was stopped."""
        order = [(p.sample, p.repeat) for lane in self._plan.lanes() for p in lane]
        traces = [self._traces[place] for place in order if place in self._traces]
        self._place.keep(traces)
        wall_s = self._wall_s + time.monotonic() - self._started
        results.write(self._plan, self._place, traces, wall_s)


def _crash(loop: Loop, path: Path) -> LotbenchError:
    planned, error = next(iter(loop.crashed.items()))
    where = f"sample {planned.sample}, repeat {planned.repeat}"
    made = LotbenchError(f"{len(loop.crashed)} walks crashed, first {where}: {type(error).__name__}: {error}")
    made.run = path
    made.__cause__ = error
    return made


def _named(player: Player, place: str, own: dict[str, Any]) -> str:
    """The name of a player; a Python object gets one and is kept under it."""
    if isinstance(player, str):
        return player
    name = f"python:{getattr(player, '__name__', type(player).__name__)}"
    if name in own and own[name] is not player:
        name = f"{name}-{place}"
    own[name] = player
    return name


def _frozen(made: Plan, digests: Mapping[str, str]) -> dict[str, Any]:
    return {
        "schema": 1,
        "benchmark": made.benchmark.name,
        "version": made.benchmark.version,
        "experiment": made.experiment.model_dump(mode="json"),
        "sampling": {role: asdict(sampling) for role, (sampling, _) in made.sampling().items()},
        "digests": dict(digests),
    }


def _synchronously(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, in a thread of its own if this one has a running loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    result: list[T] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            result.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001 - it is raised again, in the caller's thread
            failure.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return result[0]
