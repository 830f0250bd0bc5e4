"""A model whose calls go into batch files: written, uploaded, looked at until they are done, and fetched.

Only how a body gets there and back differs from `ChatModel`: what an endpoint refuses, what is tried again, and how a reply
is read stay as they are. A line that expired or met a passing fault goes into the next file. Calls that are asked
together share a file, which is closed when none has come for a moment. Nothing is paid twice: see `batch_files`.
"""

from __future__ import annotations

import asyncio
import copy
import json
import secrets
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lotbench.config.experiment import Limits
from lotbench.config.model_names import ModelName
from lotbench.edge.models import batch_format, chat_format
from lotbench.edge.models.batch_files import FILE, BatchFiles, Call, Filed, Results
from lotbench.edge.models.batch_format import Look, Outcome
from lotbench.edge.models.batch_server import BatchServer
from lotbench.edge.models.chat import (
    MALFORMED_TRIES,
    TEST,
    ChatModel,
    Delivered,
    PassingError,
    Waiting,
    short,
)
from lotbench.errors import Unescapable
from lotbench.types import JSON, Key

LULL_S = 1.0
"""A file is closed when no call has come for so long."""
HELD_UP = 10
"""A file for which too much is waiting already is sent again after so many looks."""


@dataclass(slots=True)
class _Line:
    """A call that waits to be written into a file."""

    key: str
    body: dict[str, Any]
    sent: dict[str, JSON]
    came: asyncio.Future[Delivered]


class BatchModel(ChatModel):
    """A model behind a batch API.

    Args:
        name: The model name, read.
        picture: The data URL of a picture.
        limits: Whose API, how often it is looked at, and those of a `ChatModel`.
        waiting: Where calls that wait to be tried again are counted.
        files: The batch files of the run.
    """

    def __init__(
        self,
        name: ModelName,
        picture: chat_format.Picture,
        limits: Limits,
        waiting: Waiting,
        files: BatchFiles,
    ) -> None:
        assert limits.batch != "none"
        super().__init__(name, picture, limits, waiting)
        self._api: batch_format.Api = limits.batch
        self._able = batch_format.NATIVE.get(self._api, self._able)
        self._files = files
        self._server = BatchServer(self, self._api, limits, files)
        self._queue: deque[_Line] = deque()
        self._open: set[asyncio.Future[Delivered]] = set()
        files.stopping.append(self._give_up)
        self._came = 0.0
        self._closing: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._earlier: dict[str, Filed] | None = None
        self._finding: asyncio.Task[dict[str, Filed]] | None = None
        self._fetching: dict[int, asyncio.Task[tuple[Results, Look]]] = {}

    async def close(self) -> None:
        """Give up what is under way, which goes on at the server, and close the connections."""
        left = [one for one in (*self._tasks, self._closing, self._finding, *self._fetching.values()) if one]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await super().close()

    async def _delivered(self, made: dict[str, Any], able: chat_format.Abilities, place: Key) -> Delivered:
        if place.step == TEST:
            # Asked by itself, so that a wrong key is not told tomorrow.
            return await super()._delivered(made, able, place)
        key = str(place)
        earlier = await self._from_earlier(key)
        if earlier is not None:
            return earlier
        sent = chat_format.sent(made, able) | {"batch": self._api}
        came: asyncio.Future[Delivered] = asyncio.get_running_loop().create_future()
        self._open.add(came)
        came.add_done_callback(self._open.discard)
        waiting = _Line(key, made, sent, came)
        self._queue.append(waiting)
        self._came = time.monotonic()
        if self._closing is None or self._closing.done():
            self._closing = asyncio.create_task(self._close_files())
        return await came

    def _stop(self, error: Exception) -> None:
        for tell in self._files.stopping:
            tell(error)

    def _give_up(self, error: Exception) -> None:
        """Tell every call that waits what stops the run."""
        for came in tuple(self._open):
            if not came.done():
                came.set_exception(copy.copy(error))

    async def _from_earlier(self, key: str) -> Delivered | None:
        """The reply to a call that an earlier session has put into a file, if one came: it is paid for."""
        if self._earlier is None:
            if self._finding is None:
                self._finding = asyncio.create_task(self._recovered())
            self._earlier = await asyncio.shield(self._finding)
        filed = self._earlier.pop(key, None)
        if filed is None:
            return None
        if filed.number not in self._fetching:
            self._fetching[filed.number] = asyncio.create_task(self._server.collected(filed))
        results, _ = await asyncio.shield(self._fetching[filed.number])
        call = filed.calls[key]
        outcome = results.of(call.line)
        if outcome is None or outcome.status != 200:
            # What came to nothing cost nothing, and may be asked for in other ways by now.
            return None
        return _delivered(outcome, {**call.sent, FILE: filed.number})

    async def _recovered(self) -> dict[str, Filed]:
        """The calls in files of earlier sessions; a file that its server never got is forgotten."""
        for filed in self._files.begun(self._api, self.url, self.name.text):
            if not filed.id:
                await self._server.recovered(filed)
        mine = {one.number for one in self._files.begun(self._api, self.url, self.name.text)}
        return {key: one for key, one in self._files.untaken().items() if one.number in mine}

    async def _close_files(self) -> None:
        """Close a file after a lull, or when it is full, until none is open."""
        while self._queue:
            left = self._came + LULL_S - time.monotonic()
            if left > 0 and len(self._queue) < batch_format.MOST_LINES:
                await asyncio.sleep(left)
                continue
            lines, made, texts = self._file()
            if lines:
                task = asyncio.create_task(self._carried(lines, made, texts))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    def _file(self) -> tuple[list[_Line], dict[str, Any], list[bytes]]:
        """What goes into the next file: calls that somebody still waits for, what the file is, and its lines."""
        token, size = secrets.token_hex(8), 0
        lines, texts, calls = list[_Line](), list[bytes](), dict[str, Call]()
        while self._queue and len(lines) < batch_format.MOST_LINES and size < batch_format.MOST_BYTES:
            line = self._queue.popleft()
            if line.came.done():
                continue
            name = batch_format.custom_id(self._api, token, line.key)
            lines.append(line)
            texts.append(batch_format.line(self._api, name, line.body))
            calls[line.key] = Call(line=name, sent=line.sent)
            size += len(texts[-1])
        about = {"api": self._api, "url": self.url, "model": self.name.text, "token": token}
        return lines, {**about, "written": time.time(), "calls": calls}, texts

    async def _carried(self, lines: list[_Line], made: Mapping[str, Any], texts: list[bytes]) -> None:
        """Take a file to its end, and tell every call in it what came, or why nothing did."""
        try:
            filed = await self._server.submitted(self._files.write(made, texts))
            results, look = await self._server.collected(filed)
            if look.failed:
                raise self._refusal(filed, look.failed)
        except Exception as error:  # noqa: BLE001 - whatever it is, those who wait would wait for ever
            if isinstance(error, Unescapable):
                self._stop(error)
            for line in lines:
                if not line.came.done():
                    line.came.set_exception(copy.copy(error))
            return
        for line in lines:
            if not line.came.done():
                self._tell(line, filed, results, cancelled=look.cancelled)

    def _refusal(self, filed: Filed, why: str) -> Exception:
        """What to do about a file that was refused as a whole: later, if only too much is waiting already."""
        told = f"{self._server.named(filed)} was refused: {short(why, self.secret)}"
        if "token_limit" in why or "enqueued" in why.lower():
            return PassingError(told, wait=HELD_UP * self._limits.batch_poll_s)
        return Unescapable(told)

    def _tell(self, line: _Line, filed: Filed, results: Results, *, cancelled: bool) -> None:
        outcome = results.of(filed.calls[line.key].line)
        if outcome is None and not cancelled:
            told = "its batch ended without a line for it"
            line.came.set_exception(PassingError(told, tries=MALFORMED_TRIES))
        elif outcome is None or outcome.status == batch_format.CANCELLED:
            stopped = f"{self._server.named(filed)} was cancelled; resume asks its calls again"
            self._stop(Unescapable(stopped))
        else:
            line.came.set_result(_delivered(outcome, {**line.sent, FILE: filed.number}))


def _delivered(outcome: Outcome, sent: Mapping[str, JSON]) -> Delivered:
    """A line of results as what a call by itself would have brought; how long it took nobody says."""
    return Delivered(outcome.status, {}, json.dumps(outcome.body).encode(), 0.0, sent)
