"""A server's batch API: a file brought there, looked at until it is done, its results fetched; what was lost is found again.

OpenAI      POST files, POST batches, GET batches/ID, GET files/ID/content, GET batches
Anthropic   POST messages/batches, GET messages/batches/ID, GET messages/batches/ID/results, GET messages/batches
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, BinaryIO, TypeVar
from urllib.parse import quote

import orjson

from lotbench.config.experiment import Limits
from lotbench.edge.files import atomic_write
from lotbench.edge.models import batch_format, chat_format
from lotbench.edge.models.batch_files import BatchFiles, Filed, Results
from lotbench.edge.models.batch_format import Look
from lotbench.edge.models.chat import (
    MALFORMED_TRIES,
    MAX_BYTES,
    ChatModel,
    PassingError,
    from_json,
    passing,
    short,
    whole,
)
from lotbench.errors import CallFailed, RunFolderError, Unescapable

T = TypeVar("T")
TRANSFER_S = 3600.0
"""Seconds that one transfer of a file may take."""
MOST_RESULTS = 2_000_000_000
"""Bytes of results of one file, unpacked, at most."""
EARLIER_S = 3600.0
"""A server's clock may be so far behind ours."""
PAGES = 20
"""Pages of a hundred batches that are looked through for a lost one, at most."""
VERSION = {"anthropic-version": "2023-06-01"}


class BatchServer:
    """The batch API of a model's server.

    Args:
        model: Whose connections and key are used.
        api: Which of the two it speaks.
        limits: How often a batch is looked at, and how often a trouble is met before it is one.
        files: The batch files of the run.
    """

    def __init__(self, model: ChatModel, api: batch_format.Api, limits: Limits, files: BatchFiles) -> None:
        self._model = model
        self._api = api
        self._limits = limits
        self._files = files
        self._list = "batches" if api == "openai" else "messages/batches"

    async def submitted(self, filed: Filed) -> Filed:
        """Bring a file to the server; returns it with the id that it got there.

        Raises:
            Unescapable: The server does not take it.
        """

        async def once(attempt: int) -> Filed:
            # A create whose answer was lost may have been heard.
            known = await self._found(filed) if attempt else None
            return known or filed.model_copy(update={"id": await self._created(filed)})

        try:
            made = await self._tried(once)
        except CallFailed as error:
            raise Unescapable(str(error)) from None
        self._files.note(made)
        return made

    async def recovered(self, filed: Filed) -> Filed | None:
        """A file whose id was never written down, with its id; None if the server never got it.

        Raises:
            Unescapable: The server cannot be asked: the file may be paid for, and is looked for again by a resumed run.
        """
        try:
            found = await self._tried(lambda attempt: self._found(filed))
        except CallFailed as error:
            raise Unescapable(str(error)) from None
        self._files.note(found) if found else self._files.drop(filed)
        return found

    async def collected(self, filed: Filed) -> tuple[Results, Look]:
        """The results of a file when the server is done with it, and how it ended, if that is not long known.

        Raises:
            Unescapable: The server does not know the file, or cannot be reached for long.
        """
        known = self._files.results(filed)
        if known is not None:
            return known, Look(ended=True)
        self._files.waiting[filed.number] = (len(filed.calls), time.monotonic())
        try:
            look = await self._ended(filed)
            await self._tried(lambda attempt: self._fetched(filed, look))
        except CallFailed as error:
            raise Unescapable(f"{error}; it is kept there, and resume fetches it") from None
        finally:
            del self._files.waiting[filed.number]
        known = self._files.results(filed)
        assert known is not None
        return known, look

    def named(self, filed: Filed) -> str:
        """A file, for an error."""
        return f"{self._model.name.text}: batch file {filed.number:04} ({filed.id or 'no id'})"

    async def _tried(self, work: Callable[[int], Awaitable[T]]) -> T:
        """Try until it is done, given the number of the try.

        Raises:
            CallFailed: A passing trouble did not pass.
        """
        for attempt in itertools.count():
            try:
                return await work(attempt)
            except PassingError as trouble:
                passing = trouble
            await self._model.before_next(attempt, passing, self._list)
        raise AssertionError("itertools.count has an end")

    async def _ended(self, filed: Filed) -> Look:
        """Look at a batch until it is done; that it cannot be looked at for a while is no reason to give it up."""
        missed = 0
        while True:
            try:
                look = await self._tried(lambda attempt: self._looked(filed))
                if look.ended:
                    return look
                missed = 0
            except CallFailed:
                missed += 1
                if missed > self._limits.retries:
                    raise
            await asyncio.sleep(self._limits.batch_poll_s)

    async def _looked(self, filed: Filed) -> Look:
        answer = await self._asked("GET", f"{self._list}/{quote(filed.id, safe='')}")
        try:
            return batch_format.look(self._api, answer)
        except ValueError:
            raise PassingError("what came is no batch", tries=MALFORMED_TRIES) from None

    async def _created(self, filed: Filed) -> str:
        """Make a batch of a file; returns its id."""
        content = self._files.content(filed)
        if self._api == "anthropic":
            body = b'{"requests":[' + b",".join(content.splitlines()) + b"]}"
        else:
            name = await self._tried(lambda attempt: self._uploaded(filed, content))
            window = {"endpoint": "/v1/chat/completions", "completion_window": "24h"}
            body = orjson.dumps(
                {"input_file_id": name, **window, "metadata": {batch_format.TOKEN: filed.token}}
            )
        return _id(await self._asked("POST", self._list, data=body, seconds=TRANSFER_S))

    async def _uploaded(self, filed: Filed, content: bytes) -> str:
        import aiohttp

        with aiohttp.MultipartWriter("form-data") as form:
            form.append("batch").set_content_disposition("form-data", name="purpose")
            file = form.append(content, {"Content-Type": "application/jsonl"})
            file.set_content_disposition("form-data", name="file", filename=f"{filed.token}.jsonl")
        kind = {"Content-Type": form.headers["Content-Type"]}
        return _id(await self._asked("POST", "files", headers=kind, data=form, seconds=TRANSFER_S))

    async def _fetched(self, filed: Filed, look: Look) -> None:
        """Write the results of a batch; what has fewer lines than the file is asked for again before it is believed."""
        if self._api == "anthropic":
            paths = [f"{self._list}/{quote(filed.id, safe='')}/results"]
        else:
            paths = [f"files/{quote(name, safe='')}/content" for name in look.files]
        try:
            with atomic_write.opened(self._files.place_of_results(filed)) as out:
                for attempt in range(MALFORMED_TRIES):
                    out.seek(0)
                    out.truncate()
                    came = [
                        await self._asked("GET", path, take=partial(self._kept, out), seconds=TRANSFER_S)
                        for path in paths
                    ]
                    if look.failed or sum(came) >= len(filed.calls):
                        return
                    if attempt < MALFORMED_TRIES - 1:
                        await self._model.before_next(attempt, PassingError("lines are missing"), filed.token)
        except OSError as error:
            raise RunFolderError(
                f"{self._files.place_of_results(filed)}: {error.strerror}; the run can be resumed"
            ) from None

    async def _kept(self, out: BinaryIO, response: Any) -> bytes:
        """Write the lines of a response after what is there, without our key, which some servers repeat; say how many."""
        if not response.ok:
            return await whole(response)
        begun, count = out.tell(), 0
        try:
            async for line in _each_line(response):
                out.write(self._model.without_secret(line) + b"\n")
                count += 1
        except BaseException:
            out.seek(begun)
            out.truncate()
            raise
        return str(count).encode()

    async def _found(self, filed: Filed) -> Filed | None:
        """The batch that was made of a file, if its server has one.

        OpenAI keeps our token beside a batch. Anthropic keeps nothing of ours but the names of lines, which come with the
        results: batches of as many lines are looked into when they are done.
        """
        known = self._files.ids()
        # Those of another batch, if a kill came while it was looked into: they would stand for every batch.
        self._files.place_of_results(filed).unlink(missing_ok=True)
        async for one in self._listed(filed.written - EARLIER_S):
            about = one.get("metadata")
            if self._api == "openai":
                if isinstance(about, dict) and about.get(batch_format.TOKEN) == filed.token:
                    return filed.model_copy(update={"id": str(one["id"])})
                continue
            if one["id"] in known or batch_format.look(self._api, one).lines != len(filed.calls):
                continue
            tentative = filed.model_copy(update={"id": str(one["id"])})
            results, _ = await self.collected(tentative)
            if any(results.of(call.line) for call in filed.calls.values()):
                return tentative
            self._files.place_of_results(filed).unlink()
        return None

    async def _listed(self, since: float) -> AsyncIterator[Mapping[str, Any]]:
        """The batches of the server, the newest first, as far back as a time."""
        after = ""
        for _ in range(PAGES):
            answer = await self._asked("GET", f"{self._list}?limit=100{after}")
            rows = answer.get("data") if isinstance(answer, dict) else None
            if not isinstance(rows, list):
                raise PassingError("what came is no list of batches", tries=MALFORMED_TRIES)
            for one in rows:
                if isinstance(one, dict) and isinstance(one.get("id"), str):
                    if _made(one.get("created_at")) < since:
                        return
                    yield one
            if not answer.get("has_more") or not rows:
                return
            word = "after" if self._api == "openai" else "after_id"
            after = f"&{word}={quote(str(answer.get('last_id')), safe='')}"

    async def _asked(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, **request: Any
    ) -> Any:
        """What a server answers, as JSON.

        Raises:
            PassingError: Another try may do better.
            Unescapable: None can.
        """
        # Anthropic's own API takes the key under another name than its address that speaks OpenAI's.
        own = {**VERSION, "x-api-key": self._model.secret}
        key = own if self._api == "anthropic" else self._model.bearer
        response, content = await self._model.send(
            method, path, headers={**key, **(headers or {})}, **request
        )
        if not response.ok:
            raise self._trouble(response, content, path)
        try:
            return from_json(content)
        except (ValueError, RecursionError):
            raise PassingError("the server's answer is not JSON", tries=MALFORMED_TRIES) from None

    def _trouble(self, response: Any, content: bytes, path: str) -> Exception:
        """What a status other than 200 means here."""
        status, text = response.status, chat_format.error_message(content)
        said = f"{status}: {short(text, self._model.secret)}"
        told = f"{self._model.name.text}: {said} ({path.partition('?')[0]})"
        self._model.stop_if_hopeless(status, text, told, {"model": "", "messages": []})
        if (trouble := passing(status, response.headers, said)) is not None:
            return trouble
        if status == 404:
            return Unescapable(f"{told}: no batch API at {self._model.url}, or nothing under this id")
        return Unescapable(told)


def _id(answer: Any) -> str:
    """The id of what was made.

    Raises:
        PassingError: There is none.
    """
    found = answer.get("id") if isinstance(answer, dict) else None
    if not isinstance(found, str) or not found:
        raise PassingError("what came has no id", tries=MALFORMED_TRIES)
    return found


def _made(created: Any) -> float:
    """When a batch was made, in seconds since 1970; one that does not say so is new."""
    if isinstance(created, int | float):
        return float(created)
    try:
        return datetime.fromisoformat(str(created)).timestamp()
    except ValueError:
        return time.time()


async def _each_line(response: Any) -> AsyncIterator[bytes]:
    """The lines of a response that are not empty.

    Raises:
        PassingError: A line, or all together, are larger than any answer.
    """
    rest, size = b"", 0
    async for piece in response.content.iter_any():
        size += len(piece)
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > MAX_BYTES or size > MOST_RESULTS:
            raise PassingError("the results are larger than any answers", tries=2)
        for line in filter(None, lines):
            yield line
    if rest:
        yield rest
