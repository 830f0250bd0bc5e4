"""Published predictions as a model: a JSON list with one answer for each idea, as RINoBench publishes them.

Answers are joined to ideas by id. Without ids they may be joined by position, which cannot be verified: this gives a
warning, and files of another length are refused.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lotbench.errors import CallFailed, UsageError
from lotbench.regular_file import read_text
from lotbench.storage.jsonl import document
from lotbench.types import Reply, Request


class PredictedModel:
    """A model that answers each request with the published prediction for its sample.

    Args:
        path: The file, for messages.
        rows: The predictions: fields of the answer, and `id` if there are ids.
        order: The ids of all samples in data order, if predictions may be joined by position; else empty.

    Attributes:
        warning: Says that a join by position cannot be verified; "" for a join by id.

    Raises:
        UsageError: Predictions cannot be joined: ids are missing or repeated, or the numbers differ.
    """

    def __init__(self, path: Path, rows: Sequence[Mapping[str, Any]], order: Sequence[str]) -> None:
        self._path = path
        self.warning = ""
        ids = [row.get("id") for row in rows]
        if not any(ids):
            ids = list(self._by_position(rows, order))
        self._texts: dict[str, str] = {}
        for number, (name, row) in enumerate(zip(ids, rows, strict=True), 1):
            if not isinstance(name, str) or not name:
                raise UsageError(f"file:{path}: prediction {number} has no id")
            if name in self._texts:
                raise UsageError(f"file:{path}: prediction {number}: id {name!r} comes twice")
            fields = {field: row[field] for field in row if field != "id"}
            self._texts[name] = json.dumps(fields, ensure_ascii=False)

    async def __call__(self, request: Request) -> Reply:
        """Return the prediction for the sample of a request, as JSON text.

        Raises:
            CallFailed: There is no prediction for this sample.
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
    """Return the predictions in a file; None if it cannot be read or is not a non-empty JSON list of objects."""
    try:
        text = read_text(path)
        rows = document(text) if text.lstrip().startswith("[") else None
    except (OSError, ValueError):
        return None
    predicted = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
    return rows if predicted and rows else None
