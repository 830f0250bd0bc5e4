"""The store: replies that do not depend on a run and are reused by others (causal chains, gold arguments, captions).

An entry's file name is the digest of the request, the id of the model that answered, and its address where two models
may share an id. Entries are written atomically. A run copies entries into its own journal, so a run folder is complete.
"""

import json
from contextlib import suppress
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
    """The folder of replies to shared questions, by request and model.

    Args:
        root: The parent folder; None for `home()`.
        fresh: Whether to read nothing, and only write new replies.
    """

    def __init__(self, root: Path | None = None, *, fresh: bool = False) -> None:
        self.root = (root or home()) / "store"
        self.fresh = fresh

    def get(self, request: Request, model_id: str, address: str = "") -> Reply | None:
        """Return the stored reply of a model to this request; None if there is none, or if the store is `fresh`.

        Args:
            request: The request.
            model_id: The id that the model returns.
            address: The address that belongs to the model's identity, or ""; see `config.model_names.address`.
        """
        if self.fresh:
            return None
        try:
            table = document(self._path(request, model_id, address).read_text(encoding="utf-8"))["reply"]
            return REPLY.validate_python(table)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, request: Request, reply: Reply, address: str = "") -> None:
        """Write a reply to this request. Errors of the file system are ignored: the next run calls the model again."""
        path = self._path(request, reply.model, address)
        table = {"step": request.key.step, "sample": request.key.sample, "reply": asdict(reply)}
        with suppress(OSError):
            atomic_write.write(path, json.dumps(table, ensure_ascii=False))

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
    """Return a message part as it enters a digest: text as it is, a picture by its sha256."""
    return part if isinstance(part, str) else {"sha256": part.sha256}
