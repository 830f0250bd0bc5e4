"""A transformers model in this process: `hf:BASE` or `hf:BASE+ADAPTER`, text or vision, CPU or GPU.

Requests that wait together are answered as one batch, which is five times faster on a CPU, and every row of a
batch keeps its own temperature, seed and length: a reply does not depend on the company it was drawn in.
The event loop lives on meanwhile, and Ctrl-C ends a batch at its next token.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from lotbench.errors import Unescapable
from lotbench.models.transformers.generation import Asked, answer
from lotbench.models.transformers.loading import PLAIN, Packing, load, rendered
from lotbench.storage.pictures.picture_file import decoded
from lotbench.types import Image, Reply, Request

BATCH = 16
"""The most requests that are answered together."""

Picture: TypeAlias = Callable[[str], bytes]
"""A picture's bytes, in any format that pillow reads, by the sha256 of its content."""


class TransformersModel:
    """A causal language model, or a vision-language model, with an adapter or without.

    A prompt that leaves no room for a reply is answered by an empty reply that was cut off. A schema is
    not enforced: the prompt has to show the form. Only temperature and top_p shape a draw, never top_k.

    Args:
        base: Name on the hub, or a local folder in the format of transformers.
        adapter: A peft adapter: name on the hub, or a local folder.
        picture: Where a model that sees finds the pictures.
        packing: How the weights are loaded.

    Raises:
        UsageError: A package is missing, or the model or its adapter cannot be loaded.

    Attributes:
        id: What every reply carries: base, adapter, and what identifies their versions where that is known.
    """

    def __init__(
        self, base: str, adapter: str | None = None, *, picture: Picture, packing: Packing = PLAIN
    ) -> None:
        self._loaded = load(base, adapter, packing)
        self.id = self._loaded.id
        self._picture = picture
        self._open: dict[int, _Batch] = {}
        self._last: asyncio.Task[list[Reply]] | None = None

    async def __call__(self, request: Request) -> Reply:
        """Answer a request, together with those that wait beside it and have as many pictures.

        Raises:
            CallFailed: The memory did not suffice.
            Unescapable: There are pictures and the model is blind, or its template takes no such messages.
        """
        prompt = self._asked(request)
        batch = self._open.get(len(prompt.pictures))
        if batch is None or len(batch.asked) == BATCH:
            batch = self._open[len(prompt.pictures)] = _Batch()
            batch.task = self._last = asyncio.create_task(self._answer(batch, self._last))
        place = len(batch.asked)
        batch.asked.append(prompt)
        assert batch.task is not None
        # A caller that gives up must not take the others' replies with it.
        return (await asyncio.shield(batch.task))[place]

    def _asked(self, request: Request) -> Asked:
        parts = [part for message in request.messages for part in message.parts]
        shas = [part.sha256 for part in parts if isinstance(part, Image)]
        if shas and not self._loaded.sees:
            raise Unescapable(f"{self.id} reads text only: to play without pictures, --set arm=caption")
        pictures = tuple(decoded(self._picture(sha)) for sha in shas)
        return Asked(rendered(self._loaded, request.messages), pictures, request.sampling)

    async def _answer(self, batch: _Batch, before: asyncio.Task[list[Reply]] | None) -> list[Reply]:
        """Wait for the batch before, close this one, and generate."""
        if before is not None and not before.done():
            await asyncio.wait([before])
        self._open = {kind: other for kind, other in self._open.items() if other is not batch}
        try:
            return await asyncio.to_thread(answer, self._loaded, batch.asked, batch.halt)
        except asyncio.CancelledError:
            batch.halt.set()
            raise


@dataclass(slots=True)
class _Batch:
    """Requests that are answered together, open until its turn comes; `halt` ends it at its next token."""

    asked: list[Asked] = field(default_factory=list)
    task: asyncio.Task[list[Reply]] | None = None
    halt: threading.Event = field(default_factory=threading.Event)
