"""Runs in several processes: each shard is a session on a share of the samples, with a journal of its own.

Each shard has its share of all limits and rates, so that together they keep those of the run. An episode depends on its own
calls only, so the number of shards does not change scores. Ray restarts a process that dies, and it continues from its
journal. Shards left behind by a kill are merged when the run is resumed.
"""

import asyncio
import shutil
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from lotbench import errors
from lotbench.calls.budget import Budget
from lotbench.calls.journal import DISCARDED, Journal, read_journal
from lotbench.calls.store import Store
from lotbench.config.experiment import Limits, validate
from lotbench.errors import DataError, LotbenchError, RunFolderError, UsageError
from lotbench.run.calling import CALLS, Calls, budget, calling
from lotbench.run.loading import load_run, planned
from lotbench.run.plan import Plan
from lotbench.run.session import Session, collect_rarely
from lotbench.storage import jsonl, run_folder
from lotbench.storage.ray_workers import side_by_side
from lotbench.storage.traces import Traces

SHARDS = "shards"
FAILED = "_failed"
"""The suffix of the outcome of an episode that broke off."""
ENDING_S, POLL_S = 30.0, 0.25
"""Seconds to wait for the processes of a killed run to end, and between two checks whether they have, or are to end."""
DIED: tuple[str, Any] | None = ("LotbenchError", "a worker process died; the run can be resumed")


@dataclass(frozen=True, slots=True)
class Shard:
    """The task of one process; it can be pickled and holds no secret.

    Attributes:
        run: The path of the run folder.
        share: The number of this share of the samples, from 0, and the number of shares.
        limits: The limits of this process, by the fields of Limits.
        retry_failed: See `Session.continues`.
        fresh: Whether to ignore stored replies.
        check: See `take`.
    """

    run: str
    share: tuple[int, int]
    limits: Mapping[str, Any]
    retry_failed: bool
    fresh: bool
    check: bool


async def take(calls: Calls, shards: int, *, fresh: bool, check: bool, retry_failed: bool = False) -> None:
    """Play the unfinished episodes in several processes, and merge their results even after an error.

    Args:
        calls: The open resources of the run.
        shards: The number of processes.
        fresh: Whether to ignore stored replies.
        check: Whether the connection test was made; its calls, one per model, are in the journal and tell the shards the ids
            of the models.
        retry_failed: See `Session.continues`.

    Raises:
        LotbenchError: Ray is not installed, or a shard stopped with an error; of several errors, the one with the lowest exit
            code is raised.
    """
    path, journal = calls.folder.path, calls.caller.journal
    limits = divide_limits(calls.plan.limits, shards, budget(calls.plan, journal))
    tasks = [
        Shard(str(path), (number, shards), limits, retry_failed, fresh, check) for number in range(shards)
    ]
    refuse_links(path)
    try:
        ended = await side_by_side(play, tasks, DIED)
    finally:
        merge(path, journal)
    stopped = [getattr(errors, name)(message) for name, message in filter(None, ended)]
    if stopped:
        raise min(stopped, key=lambda error: error.exit_code)


def refuse_links(path: Path) -> None:
    """Refuse shard folders that are symbolic links, which could lead out of the run's folder.

    Raises:
        RunFolderError: There is such a link.
    """
    for place in (path / SHARDS, *(path / SHARDS).glob("*")):
        if place.is_symlink():
            raise RunFolderError(f"{place}: is a link, and no shard of a run is one; remove it")


def refuse_local_models(plan: Plan) -> None:
    """Refuse models that other processes cannot reach.

    Raises:
        UsageError: A model is a Python object, a person, or an embedded model.
    """
    here = ("python", "human", "local")
    alone = [n.text for panel in plan.names.values() for n in panel if n.kind in here]
    if alone:
        raise UsageError(f"--shards: {alone[0]} lives in this process; shards are for models behind an API")


def divide_limits(limits: Limits, shards: int, used: Budget) -> dict[str, Any]:
    """Return the limits of one shard: its share of each rate and of the remaining cost and tokens; the time limit is unchanged."""
    part = {
        "concurrency": max(1, limits.concurrency // shards),
        "rpm": limits.rpm and limits.rpm / shards,
        "tpm": limits.tpm and limits.tpm / shards,
    }
    if limits.cost_limit is not None:
        part["cost_limit"] = max(0.0, limits.cost_limit - used.cost) / shards
    if limits.token_limit is not None:
        part["token_limit"] = max(0, limits.token_limit - used.tokens) // shards
    return limits.model_dump() | part


def play(shard: Shard) -> tuple[str, Any] | None:
    """Play one share of a run in this process, and return None or the error.

    An error is returned as (class name, message or list of faults), since few errors can be pickled.
    """
    collect_rarely()
    try:
        asyncio.run(_play_share(shard))
    except LotbenchError as error:
        message = f"shard {shard.share[0] + 1} of {shard.share[1]}: {error}"
        return type(error).__name__, message.splitlines() if isinstance(error, DataError) else message
    return None


async def _play_share(shard: Shard) -> None:
    """Play a share of a run, or the rest of it if an earlier process began it."""
    run, (number, _) = load_run(shard.run), shard.share
    plan = replace(planned(run, validate(Limits, dict(shard.limits))), share=shard.share)
    place = run.path / SHARDS / str(number)
    folder, store = partial(run_folder.Folder, place), Store(fresh=shard.fresh)
    async with calling(plan, folder, store=store, before=run.path) as calls:
        session = Session(calls, run, shard=True)
        played = Traces(place / run_folder.TRACES, strict=False)
        own = {(episode.sample, episode.repeat) for sequence in plan.sequences() for episode in sequence}
        before = (trace for trace in run.traces if (trace.sample, trace.repeat) in own)
        session.continues(before, retry_failed=shard.retry_failed, played=played)
        waking = asyncio.create_task(_wake())
        await session.play(check=shard.check, watch=None)
        waking.cancel()


async def _wake() -> None:
    """Let the event loop wake often: Ray's interruption, unlike a signal, is noticed only when the loop wakes."""
    while True:
        await asyncio.sleep(POLL_S)


def merge(path: Path, opened: Journal | None = None) -> None:
    """Put the calls and episodes of shards into their run.

    Existing calls and episodes stay, except those that a shard repeated: the repeated ones replace them. The function waits
    for shard processes that are still running.

    Args:
        path: The run folder, locked.
        opened: The run's journal, if it is open.

    Raises:
        RunFolderError: A shard process does not end.
    """
    if not (path / SHARDS).is_dir():
        return
    refuse_links(path)
    places = sorted((path / SHARDS).glob("*/"))
    for place in places:
        _await_end(place)
    ended = Traces(path / run_folder.TRACES, strict=False)
    outcomes = {(trace.sample, trace.repeat): trace.outcome for trace in ended}
    merged: set[str] = set()
    with nullcontext(opened) if opened is not None else Journal(path / CALLS) as journal:
        for place in places:
            counted = list(read_journal(path / DISCARDED))
            billed = list(read_journal(place / DISCARDED))
            for entry in read_journal(place / CALLS):
                there = journal.last(key := str(entry.key))
                # Times are not compared, since a clock may be set back. If two shards asked a question, the first reply counts.
                if there is None or (there.started != entry.started and key not in merged):
                    journal.put(entry)
                    merged.add(key)
                elif there.started != entry.started and entry.source == "call":
                    billed.append(replace(entry, source="discarded", reply=replace(entry.reply, text="")))
            for entry in billed:
                if entry not in counted:
                    journal.discard(entry)
            traces = Traces(place / run_folder.TRACES, strict=False)
            new = [name for name in traces.names if outcomes.get(name, FAILED).endswith(FAILED)]
            lines = map(str.encode, traces.lines(new))
            jsonl.append(path / run_folder.TRACES, lines, "the run can be resumed")
            outcomes |= dict.fromkeys(new, "taken")
    shutil.rmtree(path / SHARDS)


def _await_end(place: Path) -> None:
    """Wait until no process writes to the folder of a shard.

    Raises:
        RunFolderError: A process still does after `ENDING_S` seconds.
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
