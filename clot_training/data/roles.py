"""Models that help to make instructions: captioner, rewriter and screener, if configured.

Replies are kept in lotbench's store under the model's name and reused by later runs. A failed caption or rewrite costs a
row one option; a row without a screening verdict is left out.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from clot_training.config import Config
from clot_training.data.index import Rows
from clot_training.data.templates import templates
from lotbench.benchmarks.standard.oogiri import Row
from lotbench.calls.store import Store
from lotbench.config.experiment import Limits
from lotbench.config.model_names import parse
from lotbench.errors import CallFailed, Unread
from lotbench.models.registry import Models
from lotbench.prompting import reply as replies
from lotbench.prompting.prompt import Value
from lotbench.storage.datasets import Pictures
from lotbench.storage.jsonl import line
from lotbench.types import Key, Reply, Request, Sampling

MAX_IMAGE_PX = 1024
MAX_TOKENS = 300
REWRITES = {"plain": "rewrite", "paraphrase": "paraphrase"}
"""The name of the rewriter's prompt, by the setting `rewriting`."""

T = TypeVar("T")


class Verdict(replies.Form):
    """The screener's reply about a row: whether it is safe, and why."""

    safe: replies.YesNo
    reason: str = replies.prose(200, "why, in a few words")


def help_with(
    index: Rows, config: Config, screened: Path, own: Mapping[str, Any] | None = None
) -> Counter[str]:
    """Screen the rows, caption pictures and rewrite responses, each if a model is configured.

    Args:
        index: The rows. Rows that the screener does not call safe are dropped; captions and rewrites go into `heard`.
        config: The configuration.
        screened: The file to write the screener's verdicts to, one line for each row.
        own: Models that are Python objects, by the NAME in `python:NAME`.

    Returns:
        The number of failed calls (`caption_failed`, `rewrite_failed`).

    Raises:
        UsageError: A model is missing.
        Unescapable: No call to a model can succeed.
    """
    return asyncio.run(_help(index, config, screened, own or {}))


async def _help(index: Rows, config: Config, screened: Path, own: Mapping[str, Any]) -> Counter[str]:
    named, failed = config.instructions, Counter[str]()
    pictures = Pictures(Path(), list(index.all()), MAX_IMAGE_PX)
    async with Models(pictures, Limits(), own) as models:
        if named.screener:
            await _screen(index, _Helper("screen", named.screener, models, pictures), screened)
        for role, name, prompt, rows, about in (
            ("caption", named.captioner, "caption", _pictured(index), attrgetter("image")),
            ("rewrite", named.rewriter, REWRITES[named.rewriting], index.all(), attrgetter("id")),
        ):
            if name:
                async for row, text in _Helper(role, name, models, pictures, prompt).texts(rows):
                    if text:
                        index.heard[role, about(row)] = text
                    else:
                        failed[f"{role}_failed"] += 1
    return failed


async def _screen(index: Rows, helper: _Helper, path: Path) -> None:
    with path.open("wb") as file:
        async for row, reply in helper.replies(index.all()):
            verdict, reason = _verdict(reply)
            model = reply.model if reply else None
            file.write(line({"row": row.id, "verdict": verdict, "reason": reason, "model": model}))
            if verdict != "safe":
                index.drop(row, verdict if verdict == "unsafe" else "unscreened")


def _verdict(reply: Reply | None) -> tuple[str, str]:
    if reply is None:
        return "failed", "the call brought no reply"
    try:
        read = replies.read_form(reply, Verdict)
    except Unread as error:
        return error.kind, error.reason
    return ("safe" if read.safe else "unsafe"), read.reason


def _pictured(index: Rows) -> Iterator[Row]:
    """Yield the first row of each picture."""
    seen: set[str] = set()
    for row in index.all():
        if row.image is not None and row.image not in seen:
            seen.add(row.image)
            yield row


class _Helper:
    """A model that is asked about rows in one role, about several rows concurrently."""

    def __init__(self, role: str, name: str, models: Models, pictures: Pictures, prompt: str = "") -> None:
        self.role = role
        self.prompt = prompt or role
        self.pictures = pictures
        self.store = Store()
        (self.model,) = models.role_models({role: [parse(name)]})[role]

    async def replies(self, rows: Iterable[Row]) -> AsyncIterator[tuple[Row, Reply | None]]:
        """Yield each row with the reply about it, in order; the reply is None if the call failed."""
        for chunk in batched(rows, Limits().concurrency):
            calls = (self._ask(self._request(row)) for row in chunk)
            for row, reply in zip(chunk, await asyncio.gather(*calls), strict=True):
                yield row, reply

    async def texts(self, rows: Iterable[Row]) -> AsyncIterator[tuple[Row, str | None]]:
        """Yield each row with the text of the reply about it; the text is None if it is missing, refused or incomplete."""
        async for row, reply in self.replies(rows):
            try:
                whole = reply is not None and not reply.refusal and reply.finish == "stop"
                yield row, " ".join(replies.visible(reply).split()) if whole and reply else None
            except Unread:
                yield row, None

    def _request(self, row: Row) -> Request:
        prompt = templates().get(row.language, self.prompt)
        picture = self.pictures[row.id] if row.image and "image" in prompt.fields else None
        values: dict[str, Value] = {
            "image": picture,
            "question": row.question or "-",
            "text": row.text,
            "shape": replies.shape(Verdict),
        }
        return Request(
            key=Key(row.id, 0, 0, self.role, 0, 0, ""),
            model=self.model.name,
            messages=prompt.messages(**{name: values[name] for name in prompt.fields}),
            schema=replies.schema(Verdict) if "shape" in prompt.fields else None,
            sampling=Sampling(temperature=0.0, max_tokens=MAX_TOKENS),
        )

    async def _ask(self, request: Request) -> Reply | None:
        """Return the reply to a request, from the store or the model; None if the call failed."""
        if stored := self.store.get(request, request.model):
            return stored
        try:
            reply = await self.model.model(request)
        except CallFailed:
            return None
        # Stored under the requested name, since the returned id is known only after a call.
        self.store.put(request, replace(reply, model=request.model))
        return reply


def batched(things: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of `size`, in order; the last list may be shorter."""
    source = iter(things)
    while batch := list(islice(source, size)):
        yield batch
