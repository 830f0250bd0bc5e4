"""What the processes of one run share: its ceilings, kept exactly, and the questions that all of them want answered.

Both are files in the run folder under a lock that the kernel takes from a process that dies. The processes are on one
machine, so that its monotonic clock is one for all.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from array import array
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from hashlib import blake2b
from pathlib import Path

import orjson

from lotbench.config.experiment import Limits
from lotbench.edge.calls.budget import Bucket, Budget
from lotbench.edge.calls.journal import Entry, entry, journal_line
from lotbench.edge.files import jsonl
from lotbench.types import Key, Usage

SPENT, CALLS = "spent", "calls.jsonl"
SLOT = 4
"""Numbers of a process: tokens and US dollars used, then those set aside."""
POLL_S = 0.02
"""Seconds between two looks at whether another process has its answer."""


class Numbers:
    """Numbers in a file, zero at first, that several processes change one at a time."""

    def __init__(self, path: Path, size: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        self._size = 8 * size

    @contextmanager
    def changing(self) -> Iterator[array[float]]:
        """The numbers, for as long as no other process may change them; kept unless an error is raised."""
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            found = array("d", os.pread(self._file, self._size, 0).ljust(self._size, b"\0"))
            yield found
            os.pwrite(self._file, found.tobytes(), 0)
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class SharedBudget(Budget):
    """The budget of a run that several processes draw on; each has a slot, and all slots count.

    Args:
        limits: Those of the whole run.
        numbers: The slots, behind the time at which the run began.
        slot: The one of this process. What a process that died had set aside in it is given back.
    """

    def __init__(self, limits: Limits, numbers: Numbers, slot: int) -> None:
        super().__init__(limits)
        self._numbers = numbers
        self._own = 1 + SLOT * slot
        with numbers.changing() as found:
            found[0] = self.started = found[0] or self.started
            found[self._own : self._own + SLOT] = array("d", [0.0] * SLOT)

    def reserve(self, tokens: int, cost: float) -> None:
        """Set a call's estimate aside; raises LimitReached as `Budget` does."""
        with self._numbers.changing() as found:
            self._read(found)
            Budget.reserve(self, tokens, cost)
            found[self._own + 2] += tokens
            found[self._own + 3] += cost

    def settle(self, tokens: int, cost: float, usage: Usage, spent: float) -> None:
        """Give an estimate back and count what the call really used."""
        self._add(usage, spent, -tokens, -cost)

    def count(self, usage: Usage, spent: float) -> None:
        """Count usage that was not reserved (of an earlier session, or of a process that died)."""
        self._add(usage, spent, 0, 0.0)

    def _add(self, usage: Usage, spent: float, tokens: int, cost: float) -> None:
        with self._numbers.changing() as found:
            found[self._own] += usage.input_tokens + usage.output_tokens
            found[self._own + 1] += spent
            found[self._own + 2] += tokens
            found[self._own + 3] += cost
            self._read(found)

    def _read(self, found: array[float]) -> None:
        """What all processes have used and set aside."""
        sums = [sum(found[1 + place :: SLOT]) for place in range(SLOT)]
        self.tokens, self.cost = round(sums[0]), sums[1]
        self._held_tokens, self._held_cost = round(sums[2]), sums[3]


class SharedBucket(Bucket):
    """A rate that several processes keep together: its level, and when that was."""

    def __init__(self, per_minute: float | None, numbers: Numbers | None) -> None:
        super().__init__(per_minute)
        self._numbers = numbers

    async def take(self, amount: float) -> None:
        """Wait until the units are there; as `Bucket` does."""
        if self.rate is None or self._numbers is None:
            return
        with self._numbers.changing() as found:
            if found[1]:
                self._level, self._at = found
            wait = self.taken(amount)
            found[0], found[1] = self._level, self._at
        await asyncio.sleep(wait)


class SharedReplies:
    """Replies to the questions that belong to a sample, of whichever process asked first."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._places: dict[str, tuple[int, int]] = {}
        self._end = 0

    @asynccontextmanager
    async def asking(self, key: Key) -> AsyncIterator[None]:
        """Keep the other processes from asking for a key; they wait, and find the reply, or none came."""
        name = blake2b(str(key).encode(), digest_size=16).hexdigest()
        lock = os.open(self._path / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            while not _locked(lock):
                await asyncio.sleep(POLL_S)
            yield
        finally:
            os.close(lock)

    def get(self, key: Key) -> Entry | None:
        """The line of a key, if a process has written it by now."""
        file = self._path / CALLS
        if not file.exists():
            return None
        with file.open("rb") as lines:
            lines.seek(self._end)
            for text in lines:
                if not text.endswith(b"\n"):
                    break
                self._places[str(entry(jsonl.unsealed(text)).key)] = (self._end, len(text))
                self._end += len(text)
            if (place := self._places.get(str(key))) is None:
                return None
            lines.seek(place[0])
            return entry(orjson.loads(lines.read(place[1])))

    def put(self, made: Entry) -> None:
        """Add a line.

        Raises:
            UsageError: The disk is full or the file cannot be written.
        """
        jsonl.append(self._path / CALLS, [journal_line(made)], "the run can be resumed")


class Sharing:
    """What one process of a run shares with the others.

    Args:
        path: The folder of what is shared; emptied before the first process begins.
        slot: The number of this process, from 1; 0 stands for what earlier sessions used.
        slots: How many there are.
    """

    def __init__(self, path: Path, slot: int, slots: int) -> None:
        self.path, self.slot = path, slot
        self.replies = SharedReplies(path)
        self._slots = slots
        self._open: list[Numbers] = []

    def budget(self, limits: Limits) -> Budget:
        """The budget of the run."""
        return SharedBudget(limits, self._numbers(SPENT, 1 + SLOT * self._slots), self.slot)

    def bucket(self, endpoint: str, what: str, per_minute: float | None) -> Bucket:
        """A rate of an endpoint."""
        name = blake2b(f"{what} {endpoint}".encode(), digest_size=8).hexdigest()
        return SharedBucket(per_minute, self._numbers(name, 2) if per_minute else None)

    def close(self) -> None:
        """Close the files."""
        for one in self._open:
            one.close()

    def _numbers(self, name: str, size: int) -> Numbers:
        self._open.append(found := Numbers(self.path / name, size))
        return found


def _locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
