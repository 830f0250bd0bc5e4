"""A run on several processes: each takes its share of the lanes with a journal of its own, merged in the end.

A lane is never split, and what a walk comes to depends on its own calls only, so the number of shards changes
no score. Budgets and rates are those of the run, kept by all together, and a question that belongs to a sample is
asked once for all (`edge.calls.shared`). The share of a process that dies is taken over by another, which finds its
journal; shards that a kill of the whole left behind are merged when the run is gone on with.
"""

from __future__ import annotations

import asyncio
import math
import shutil
import time
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

from lotbench import errors
from lotbench.config.experiment import Limits, validate
from lotbench.edge import event_loop
from lotbench.edge.calls.journal import Journal, read_journal
from lotbench.edge.calls.shared import Sharing
from lotbench.edge.calls.store import Store
from lotbench.edge.files import jsonl, run_folder
from lotbench.edge.files.ray_workers import POLL_S, side_by_side
from lotbench.edge.files.traces import Traces
from lotbench.errors import LotbenchError, RunFolderError, UsageError
from lotbench.run import results
from lotbench.run.calling import CALLS, Calls, budget, calling
from lotbench.run.plan import Plan
from lotbench.run.session import Session

SHARDS = "shards"
STOP = "stop"
"""The file beside the shards' folders that tells them to end; a signal to this process does not reach them."""
SHARED = "shared"
"""The folder beside the shards' that holds what they share."""
FAILED = "_failed"
"""How the outcome of a walk ends that broke off."""
RETAKEN = 3
"""How often a share is taken over from a process that died."""
ENDING_S = 30.0
"""Seconds that processes have to end which were told to."""
DIED = "a worker process died; the run can be resumed"


@dataclass(frozen=True, slots=True)
class Shard:
    """What one process is to do; it can be pickled and holds no secret."""

    run: str
    share: tuple[int, int]
    limits: Mapping[str, Any]
    retry_failed: bool
    fresh: bool
    check: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """How a shard ended: the class and the words of the error that stopped it, if one did."""

    error: str | None = None
    said: str = ""


def take(
    calls: Calls, shards: int, stop: Event, *, fresh: bool, check: bool, retry_failed: bool = False
) -> LotbenchError | None:
    """Take the walks that are not done in so many processes, and merge what they came to into the run.

    Args:
        calls: What the run asks with, and its plan, with the limits of the whole.
        shards: How many.
        stop: Set from another thread to end early: every shard drops its calls in flight, as a run without shards
            does, and what has come is merged.
        fresh: Take nothing out of the store.
        check: Whether one call per role is in the journal, from which every shard learns the ids of the models.
        retry_failed: See `Session.continues`.

    Returns:
        What stopped the run, if something did.

    Raises:
        UsageError: Ray is not installed.
    """
    path, journal = calls.folder.path, calls.caller.journal
    limits = divided(calls.plan.limits, shards)
    given = [
        Shard(str(path), (number, shards), limits, retry_failed, fresh, check) for number in range(shards)
    ]
    refuse_links(path)
    told = path / SHARDS / STOP
    told.unlink(missing_ok=True)
    (path / SHARDS).mkdir(exist_ok=True)
    sharing = _sharing(path, 0, shards)
    budget(calls.plan, journal, sharing)
    try:
        ended = side_by_side(play, given, stop, told.touch, retaken=RETAKEN)
    finally:
        sharing.close()
        merge(path, journal)
    return worst([one or Ended("LotbenchError", DIED) for one in ended])


def refuse_links(path: Path) -> None:
    """Shards of a run from somebody else may be links: nothing is merged out of one, or removed behind it.

    Raises:
        RunFolderError: One is.
    """
    for one in (path / SHARDS, *(path / SHARDS).glob("*")):
        if one.is_symlink():
            raise RunFolderError(f"{one}: is a link, and no shard of a run is one; remove it")


def refuse_alone(made: Plan) -> None:
    """Shards need models that every process can reach, call by call.

    Raises:
        UsageError: One is a Python object, a person, an embedded model or the placebo.
    """
    here = ("python", "human", "local", "placebo")
    alone = [n.text for given in made.names.values() for n in given if n.kind in here]
    if alone:
        raise UsageError(f"--shards: {alone[0]} lives in this process; shards are for models behind an API")


def divided(limits: Limits, shards: int) -> dict[str, Any]:
    """The limits of one shard: its part of the calls in flight; all else is kept by all shards together."""
    part = max(1, math.ceil(limits.concurrency / shards))
    return {**limits.model_dump(), "concurrency": part}


def _sharing(run: Path, slot: int, shards: int) -> Sharing:
    return Sharing(run / SHARDS / SHARED, slot, 1 + shards)


def play(shard: Shard) -> Ended:
    """Take one share of a run, in the process that calls this; an error is returned, since few can be pickled."""
    try:
        event_loop.run(_until(Path(shard.run) / SHARDS / STOP, _played(shard)))
    except LotbenchError as error:
        return Ended(type(error).__name__, str(error))
    except asyncio.CancelledError:
        return Ended()
    return Ended()


async def _until(told: Path, work: Coroutine[Any, Any, None]) -> None:
    """Do work until it is done, or a file says that it shall end, which cancels it.

    Raises:
        CancelledError: It was told to end.
    """
    task = asyncio.ensure_future(work)
    while not task.done():
        await asyncio.wait({task}, timeout=POLL_S)
        if told.exists():
            task.cancel()
            break
    await task


async def _played(shard: Shard) -> None:
    """Take a share; one that another process began is gone on with."""
    run, (number, shards) = results.load_run(shard.run), shard.share
    made = replace(results.planned(run, validate(Limits, dict(shard.limits))), share=shard.share)
    place, sharing = run.path / SHARDS / str(number), _sharing(run.path, 1 + number, shards)
    folder, store = partial(run_folder.Folder, place), Store(fresh=shard.fresh)
    with closing(sharing):
        async with calling(made, folder, store=store, before=run.path, sharing=sharing) as calls:
            session = Session(made, calls, run, shard=True)
            taken = Traces(place / run_folder.TRACES, strict=False)
            own = {(one.sample, one.repeat) for lane in made.lanes() for one in lane}
            before = (one for one in run.traces if (one.sample, one.repeat) in own)
            session.continues(before, retry_failed=shard.retry_failed, taken=taken)
            await session.walk(check=shard.check, watch=None)


def merge(path: Path, opened: Journal | None = None) -> None:
    """Put the calls and walks of shards into the run that they are part of.

    What is there already stays, but for replies and walks that were wanted anew and came later: those hold now. Who
    outlived a driver that was killed is told to end, and waited for.

    Args:
        path: The run folder, locked.
        opened: Its journal, if it is open.

    Raises:
        RunFolderError: A shard does not end.
    """
    if not (path / SHARDS).is_dir():
        return
    places = sorted((path / SHARDS).glob("*/"))
    refuse_links(path)
    (path / SHARDS / STOP).touch()
    for place in places:
        _await_end(place)
    known = {(one.sample, one.repeat): one.outcome for one in Traces(path / run_folder.TRACES, strict=False)}
    with nullcontext(opened) if opened is not None else Journal(path / CALLS) as journal:
        for place in places:
            for entry in read_journal(place / CALLS) if (place / CALLS).is_file() else ():
                there = journal.last(str(entry.key))
                # Not "later": a clock may be put back.
                if there is None or there.started != entry.started:
                    journal.put(entry)
            traces = Traces(place / run_folder.TRACES, strict=False)
            new = [name for name in traces.names if known.get(name, FAILED).endswith(FAILED)]
            jsonl.append(
                path / run_folder.TRACES, map(str.encode, traces.lines(new)), "the run can be resumed"
            )
            known |= dict.fromkeys(new, "taken")
    shutil.rmtree(path / SHARDS)


def _await_end(place: Path) -> None:
    """Wait until no process writes to the folder of a shard.

    Raises:
        RunFolderError: One still does.
    """
    until = time.monotonic() + ENDING_S
    while True:
        try:
            with run_folder.Folder(place):
                return
        except RunFolderError:
            if time.monotonic() > until:
                raise
        time.sleep(POLL_S)


def worst(ended: Sequence[Ended]) -> LotbenchError | None:
    """What the run stopped for, if shards were stopped: an error before a limit."""
    found = [
        getattr(errors, one.error)(one.said if one.error != "DataError" else one.said.splitlines())
        for one in ended
        if one.error
    ]
    return min(found, key=lambda error: error.exit_code, default=None)
