"""A transformers model in this process: `hf:BASE` or `hf:BASE+ADAPTER`, text or vision, CPU or GPU.

Waiting requests are answered in batches, which is five times faster on a CPU. Each row of a batch has its own
temperature, seed and length, so a reply does not depend on its batch. Generation runs in a thread beside the event loop,
and Ctrl-C ends a batch at its next token.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from lotbench.errors import Unescapable
from lotbench.models.transformers.generation import PreparedRequest, answer
from lotbench.models.transformers.loading import PLAIN, Packing, load, rendered
from lotbench.storage.pictures.picture_file import decoded
from lotbench.types import Image, Reply, Request

BATCH = 16
"""Requests of a batch, at most."""

Picture: TypeAlias = Callable[[str], bytes]
"""Maps the sha256 of a picture to its bytes, in any format that pillow reads."""


class TransformersModel:
    """A causal or vision-language model of transformers, optionally with an adapter.

    A prompt that fills the context gives an empty, truncated reply. Schemas are not enforced: the prompt itself must
    describe the reply. Tokens are sampled by temperature and top_p only, not by top_k.

    Args:
        base: Name on the hub, or a local folder in the format of transformers.
        adapter: A peft adapter: name on the hub, or a local folder.
        picture: Maps the sha256 of a picture to its bytes; used by vision models only.
        packing: How the weights are loaded.

    Raises:
        UsageError: A package is missing, or the model or its adapter cannot be loaded.

    Attributes:
        id: The model id in every reply: base and adapter, with versions where known.
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
        """Answer a request, in a batch with waiting requests that have the same number of pictures.

        Raises:
            CallFailed: Out of memory.
            Unescapable: The model takes no pictures and there are some, or the chat template refuses the messages.
        """
        prompt = self._prepare(request)
        batch = self._open.get(len(prompt.pictures))
        if batch is None or len(batch.asked) == BATCH:
            batch = self._open[len(prompt.pictures)] = _Batch()
            batch.task = self._last = asyncio.create_task(self._answer(batch, self._last))
        place = len(batch.asked)
        batch.asked.append(prompt)
        assert batch.task is not None
        # A cancelled caller must not cancel the batch of the others.
        return (await asyncio.shield(batch.task))[place]

    def _prepare(self, request: Request) -> PreparedRequest:
        parts = [part for message in request.messages for part in message.parts]
        shas = [part.sha256 for part in parts if isinstance(part, Image)]
        if shas and not self._loaded.sees:
            raise Unescapable(f"{self.id} reads text only: to play without pictures, --set arm=caption")
        pictures = tuple(decoded(self._picture(sha)) for sha in shas)
        return PreparedRequest(rendered(self._loaded, request.messages), pictures, request.sampling)

    async def _answer(self, batch: _Batch, before: asyncio.Task[list[Reply]] | None) -> list[Reply]:
        """Wait for the previous batch, let no more requests join this one, and return its replies in order."""
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
    """Requests that are answered together; others may join until generation begins. `halt` ends it at the next token."""

    asked: list[PreparedRequest] = field(default_factory=list)
    task: asyncio.Task[list[Reply]] | None = None
    halt: threading.Event = field(default_factory=threading.Event)
