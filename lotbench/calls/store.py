"""The store: what outlives a run because it depends on no run (causal chains, gold arguments, captions).

An entry's name is the digest of all that it depends on: the request as it was meant, the id of the model that
answered, and its address where two models may have one id. Entries are written whole or not at all. A run copies what it takes into its own
journal, so that a run folder is complete by itself.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter

from lotbench.config.experiment import digest
from lotbench.storage import atomic_write
from lotbench.storage.home import home
from lotbench.storage.jsonl import document
from lotbench.types import Image, Reply, Request

REPLY = TypeAdapter(Reply)


class Store:
    """Replies to shared questions, by what they depend on.

    Args:
        root: The folder; `home()` by default.
        fresh: Take nothing out, but keep what comes in.
    """

    def __init__(self, root: Path | None = None, *, fresh: bool = False) -> None:
        self.root = (root or home()) / "store"
        self.fresh = fresh

    def get(self, request: Request, model_id: str, address: str = "") -> Reply | None:
        """Return the reply that a model gave to this request, if it was ever asked.

        Args:
            request: What is to be asked.
            model_id: The id that the model returns.
            address: See `config.model_names.address`.
        """
        if self.fresh:
            return None
        try:
            table = document(self._path(request, model_id, address).read_text(encoding="utf-8"))["reply"]
            return REPLY.validate_python(table)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, request: Request, reply: Reply, address: str = "") -> None:
        """Keep a reply; a store that cannot be written to costs a call in the next run, no more."""
        path = self._path(request, reply.model, address)
        table = {"step": request.key.step, "sample": request.key.sample, "reply": asdict(reply)}
        try:
            atomic_write.write(path, json.dumps(table, ensure_ascii=False))
        except OSError:
            return

    def _path(self, request: Request, model_id: str, address: str) -> Path:
        content = {
            "messages": [
                {"speaker": each.speaker, "parts": list(map(by_content, each.parts))}
                for each in request.messages
            ],
            "schema": request.schema,
            "sampling": asdict(request.sampling),
            "model": model_id,
        } | ({"address": address} if address else {})
        name = digest(content)
        return self.root / request.key.step / name[:2] / f"{name}.json"


def by_content(part: str | Image) -> object:
    """Return a part of a message as it goes into a digest."""
    return part if isinstance(part, str) else {"sha256": part.sha256}
