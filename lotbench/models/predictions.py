"""Released predictions as a model: a JSON list of answers, one an idea, as RINoBench publishes them.

An answer finds its idea by id. Where the file names no ids, it may be told to go by position; nothing then
shows that an answer is of its idea, so it says so, and it refuses a file of another length.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lotbench.errors import CallFailed, UsageError
from lotbench.storage.jsonl import document
from lotbench.types import Reply, Request


class PredictedModel:
    """Answers a request with what was predicted for its sample, at every asking alike.

    Args:
        path: The file.
        rows: Its answers.
        order: The ids of all samples in data order, if answers without ids may be joined by position.

    Attributes:
        warning: What is doubtful about the join; "" if nothing is.

    Raises:
        UsageError: Answers cannot be joined: ids are missing or come twice, or the number is another.
    """

    def __init__(self, path: Path, rows: Sequence[Mapping[str, Any]], order: Sequence[str]) -> None:
        self._path = path
        self.warning = ""
        ids = [row.get("id") for row in rows]
        if not any(ids):
            ids = list(self._by_position(rows, order))
        for number, name in enumerate(ids, 1):
            if not isinstance(name, str) or not name:
                raise UsageError(f"file:{path}: prediction {number} has no id")
            if name in ids[: number - 1]:
                raise UsageError(f"file:{path}: prediction {number}: id {name!r} comes twice")
        texts = (
            json.dumps({field: row[field] for field in row if field != "id"}, ensure_ascii=False)
            for row in rows
        )
        self._texts = dict(zip(ids, texts, strict=True))

    async def __call__(self, request: Request) -> Reply:
        """Return the predicted answer.

        Raises:
            CallFailed: Nothing was predicted for this sample.
        """
        text = self._texts.get(request.key.sample)
        if text is None:
            raise CallFailed(f"file:{self._path}: no prediction for {request.key.sample}")
        return Reply(text, f"recorded:{self._path.name}")

    def _by_position(self, rows: Sequence[Any], order: Sequence[str]) -> Sequence[str]:
        if not order:
            raise UsageError(
                f"file:{self._path}: the predictions have no id; --set join=position joins them in data order"
            )
        if len(rows) != len(order):
            raise UsageError(f"file:{self._path}: {len(rows)} predictions for {len(order)} samples")
        self.warning = (
            f"{self._path}: {len(rows)} predictions joined to the samples by position; nothing shows that they "
            "are of these samples"
        )
        return order


def read_predictions(path: Path) -> list[dict[str, Any]] | None:
    """Return the predictions in a file; None if it holds something else."""
    try:
        text = path.read_text(encoding="utf-8")
        rows = document(text) if text.lstrip().startswith("[") else None
    except (OSError, ValueError):
        return None
    predicted = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
    return rows if predicted and rows else None
