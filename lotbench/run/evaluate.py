"""The Python API: evaluate a model, and resume a stopped run."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import nullcontext
from functools import wraps
from inspect import Parameter, ismethod, signature
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar

from lotbench import benchmarks
from lotbench.calls.store import Store
from lotbench.config import experiment as config
from lotbench.config.experiment import Config, Experiment, Limits, digest
from lotbench.errors import LotbenchError, Unreachable, UsageError, among
from lotbench.run import plan, recorded
from lotbench.run import shards as sharded
from lotbench.run.calling import Calls, budget, calling
from lotbench.run.loading import Run, load_run, planned
from lotbench.run.progress import watch as progress_on
from lotbench.run.session import Session, Watch, synchronously
from lotbench.storage import run_folder
from lotbench.storage.traces import Traces

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
Player: TypeAlias = str | Callable[[list[dict[str, Any]]], Any] | Any
"""A model: a name, a function (async or not) from OpenAI-style messages to text, or a LangChain chat model."""


def _lists_fields(function: F) -> F:
    """Replace `**fields` in the signature of a function by the fields of Experiment and Limits, for help and tab completion."""
    before = signature(function)
    *own, _ = before.parameters.values()
    fields = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=field.get_default(call_default_factory=True))
        for table in (Experiment, Limits)
        for name, field in table.model_fields.items()
        if name not in before.parameters
    ]
    function.__signature__ = before.replace(parameters=[*own, *fields])  # type: ignore[attr-defined]
    return function


@_lists_fields
async def evaluate(
    benchmark: str = config.DEFAULT_BENCHMARK,
    *,
    model: Player = "",
    roles: Mapping[str, Player | Sequence[Player]] | None = None,
    config_file: str | Path | None = None,
    out: str | Path = run_folder.RUNS,
    fresh: bool = False,
    check: bool = True,
    watch: Watch | None = None,
    progress: bool = True,
    callbacks: Sequence[Any] = (),
    **fields: Any,
) -> Run:
    """Evaluate a model on a benchmark.

    Args:
        benchmark: The name of the benchmark.
        model: The candidate.
        roles: The models of other roles, by name (`{"judge": "gpt-4o-mini", "oracle": my_callable}`).
        config_file: A TOML file; the other arguments override it.
        out: The folder in which the run folder is made.
        fresh: Whether to ignore stored replies.
        check: Whether to test each model with one call first.
        watch: A coroutine that runs during the run, called with its status.
        progress: Whether standard error shows the progress of the run, live on a terminal, and its result; `watch` replaces it.
        callbacks: LangChain callback handlers for every episode, node and call, with sample and repeat as metadata.
        **fields: Fields of Experiment and Limits by name (`repeats=1`, `settings={"max_rounds": 5}`,
            `concurrency=50`).

    Returns:
        The finished run.

    Raises:
        UsageError: An argument is missing, unknown or not valid.
        LotbenchError: The run was stopped; `.run` is its folder, and `resume` continues it.
    """
    shown = progress_on(sys.stderr) if watch is None and progress else None
    read, own = configured(benchmark, model, roles, config_file, **fields)
    run = await begin(
        read, out=Path(out), own=own, fresh=fresh, check=check, watch=watch or shown, callbacks=callbacks
    )
    if shown:
        told = {**run.result, "report": run.path / "report.html"}
        sys.stderr.writelines(f"{label:8}{text}\n" for label, text in told.items())
    return run


def configured(
    benchmark: str,
    model: Player = "",
    roles: Mapping[str, Player | Sequence[Player]] | None = None,
    config_file: str | Path | None = None,
    **fields: Any,
) -> tuple[Config, dict[str, Any]]:
    """Return the configuration that the arguments of `evaluate` describe, and the Python objects among its models, by name.

    Raises:
        UsageError: An argument is unknown or out of range.
    """
    own: dict[str, Any] = {}
    flags: dict[str, Any] = (
        {} if benchmark == config.DEFAULT_BENCHMARK and config_file else {"benchmark": benchmark}
    )
    if model:
        flags["model"] = _name(model, "candidate", own)
    for role, players in (roles or {}).items():
        many = players if isinstance(players, list | tuple) else [players]
        flags[f"roles.{role}"] = [_name(player, f"{role}-{at}", own) for at, player in enumerate(many)]
    known = signature(evaluate).parameters
    for name, value in fields.items():
        if name not in known:
            declared = benchmarks.get(benchmark)
            if name in declared.roles:
                raise UsageError(f"{name} is a role of {benchmark}: roles={{{name!r}: ...}}")
            if name in declared.Settings.model_fields:
                raise UsageError(f"{name} is a setting of {benchmark}: settings={{{name!r}: {value!r}}}")
            raise UsageError(f"unknown argument {name!r}{among(name, known)}")
        flags[f"limits.{name}" if name in Limits.model_fields else name] = value
    return config.load(Path(config_file) if config_file else None, (), flags, "an argument of evaluate"), own


def _sync(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    @wraps(function, assigned=("__module__", "__doc__"))
    def evaluate_sync(*args: P.args, **kwargs: P.kwargs) -> T:
        return synchronously(function(*args, **kwargs))

    return evaluate_sync


evaluate_sync = _sync(evaluate)
"""`evaluate` for code that is not async; it works inside a running event loop too, as in a notebook."""


async def begin(
    run_config: Config,
    *,
    out: Path = Path(run_folder.RUNS),
    own: Mapping[str, Any] | None = None,
    fresh: bool = False,
    check: bool = True,
    watch: Watch | None = None,
    shards: int = 1,
    callbacks: Sequence[Any] = (),
    only: Collection[str] | None = None,
    duel: str = "",
) -> Run:
    """Begin a run from a configuration, and return it when it is finished.

    Args:
        run_config: The configuration.
        out: See `evaluate`.
        own: The Python objects among the models, by name.
        fresh: See `evaluate`.
        check: See `evaluate`.
        watch: See `evaluate`.
        shards: The number of processes (on Ray); more than one for models behind an API only.
        callbacks: See `evaluate`.
        only: The ids of the samples to play for now; None for all.
        duel: The name of the duel to which the run belongs; "" for none.

    Raises:
        UsageError: The configuration is not valid.
        LotbenchError: The run was stopped; `.run` is its folder, and `resume` continues it.
    """
    run_plan = plan.make(run_config)
    if shards > 1:
        sharded.refuse_local_models(run_plan)

    def folder() -> run_folder.Folder:
        experiment = run_plan.experiment
        return run_folder.create(out, experiment.benchmark, experiment.model, digest(experiment))

    try:
        async with calling(run_plan, folder, own, Store(fresh=fresh)) as calls:
            recorded.freeze(run_plan, calls.folder, duel)
            session = Session(calls, load_run(calls.folder.path), callbacks=callbacks, only=only)
            if shards > 1:
                await _play_shards(session, calls, shards, fresh=fresh, check=check)
            return await session.play(check=check and shards == 1, watch=watch)
    except Unreachable as error:
        # Without any reply there is nothing to resume.
        if error.run is not None and run_folder.discard_unanswered(error.run):
            error.run = None
        raise


async def _play_shards(
    session: Session,
    calls: Calls,
    shards: int,
    *,
    check: bool,
    fresh: bool = False,
    retry_failed: bool = False,
) -> None:
    """Play the episodes in several processes; the session then has their traces and needs only to write the report.

    Raises:
        LotbenchError, CancelledError: The run was stopped; the shards have ended, and their results are in the run folder.
    """
    path = calls.folder.path
    try:
        if check:
            async with calls.caller.budget.ending():
                await calls.check()
        await sharded.take(calls, shards, fresh=fresh, check=check, retry_failed=retry_failed)
    except (LotbenchError, asyncio.CancelledError) as error:
        session.continues(load_run(path).traces, retry_failed=False)
        session.finish()
        if isinstance(error, LotbenchError):
            error.run = path
        else:
            error.args = (str(path),)
        raise
    calls.caller.budget = budget(calls.plan, calls.caller.journal)
    session.continues(load_run(path).traces, retry_failed=False)


async def resume(
    run: str | Path,
    *,
    root: str | Path | None = None,
    own: Mapping[str, Any] | None = None,
    retry_failed: bool = False,
    check: bool = True,
    watch: Watch | None = None,
    shards: int = 1,
    only: Collection[str] | None = None,
    **limits: Any,
) -> Run:
    """Play the rest of a run, and return it; calls in the journal are not repeated.

    Args:
        run: A path, a folder name in `root`, or `latest`.
        root: The folder of runs; see `load_run`.
        own: The Python objects among the models, by name.
        retry_failed: Whether to repeat calls with unreadable replies too.
        check: Whether to test each model with one call first, if the journal has none.
        watch: See `evaluate`.
        shards: See `begin`.
        only: See `begin`.
        **limits: Fields of Limits to change.

    Raises:
        RunFolderError: The run's experiment, data, prompts or benchmark version have changed, or another process writes to it.
        LotbenchError: The run was stopped again.
    """
    path = run_folder.find(str(run), root)
    with run_folder.Folder(path) as place:
        sharded.merge(path)
        place.keep(Traces(path / run_folder.TRACES, strict=False))
        run_before = load_run(path)
        run_plan = planned(run_before, config.validate(Limits, {**run_before.limits, **limits}))
        recorded.refuse_changed(run_plan, path)
        if shards > 1:
            sharded.refuse_local_models(run_plan)
        async with calling(run_plan, lambda: nullcontext(place), own) as calls:
            session = Session(calls, run_before, only=only)
            if shards > 1:
                await _play_shards(session, calls, shards, check=check, retry_failed=retry_failed)
            else:
                session.continues(run_before.traces, retry_failed=retry_failed)
            return await session.play(check=check and shards == 1, watch=watch)


def _name(player: Player, place: str, own: dict[str, Any]) -> str:
    """Return the name of a model; a Python object gets a name, under which it is added to `own`."""
    if isinstance(player, str):
        return player
    name = f"python:{getattr(player, '__name__', type(player).__name__)}"
    # Each access to a method makes a new object, equal to the others.
    same = own.get(name) == player if ismethod(player) else own.get(name) is player
    if name in own and not same:
        name = f"{name}-{place}"
    own[name] = player
    return name
