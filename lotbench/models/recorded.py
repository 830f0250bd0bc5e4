"""Recorded replies as a model: a run's calls.jsonl or traces.jsonl, recognised by content.

Calls are found by sample, repeat, round, step, draw and attempt, so the prompt's wording may differ. A traces.jsonl
has no replies: the value that was read in a step stands for its reply.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from lotbench.calls.journal import entry
from lotbench.errors import CallFailed, UsageError, at, file_errors
from lotbench.regular_file import regular
from lotbench.storage.jsonl import document, unsealed
from lotbench.types import Key, Reply, Request

Place: TypeAlias = tuple[str, int, int, str, int, int]
"""Sample, repeat, round, step, draw and attempt of a call."""


class RecordedModel:
    """A model that answers each request with the recorded reply of the same call.

    Args:
        path: A calls.jsonl, a traces.jsonl, or a run folder, whose calls.jsonl is read.
        role: The role whose replies are used.

    Raises:
        UsageError: The file is missing, of neither kind, or has no reply of the role.
    """

    def __init__(self, path: Path, role: str) -> None:
        if path.is_dir():
            path = path / "calls.jsonl"
        with file_errors(f"file:{path}"), open(path, "rb", opener=regular) as file:
            lines = file.read().splitlines(keepends=True)
        self._path = path
        self._replies: dict[Place, Reply] = {}
        for number, line in enumerate(lines, 1):
            try:
                self._add(unsealed(line), role)
            except (ValueError, KeyError, TypeError):
                place = at(path, number)
                raise UsageError(
                    f"{place}: neither a line of calls.jsonl nor of traces.jsonl, or damaged"
                ) from None
        if not self._replies:
            raise UsageError(f"file:{path}: no replies of the {role} in it")

    async def __call__(self, request: Request) -> Reply:
        """Return the recorded reply of the same call, or else that of its first attempt.

        Raises:
            CallFailed: There is no recorded reply for this call.
        """
        place = _place(request.key)
        reply = self._replies.get(place) or self._replies.get((*place[:5], 0))
        if reply is None:
            raise CallFailed(f"file:{self._path}: no reply recorded for {request.key}")
        return reply

    def _add(self, line: bytes, role: str) -> None:
        table: dict[str, Any] = document(line)
        if "reply" in table:
            record = entry(line)
            if record.role == role:
                self._replies[_place(record.key)] = record.reply
            return
        attempts: dict[tuple[int, str, int], int] = {}
        for step in table["steps"]:
            if step["role"] != role:
                continue
            where = (step["round"], step["step"], step["draw"])
            attempt = attempts.get(where, 0)
            attempts[where] = attempt + 1
            place = (table["sample"], table["repeat"], *where, attempt)
            self._replies[place] = self._reply(step["value"])

    def _reply(self, value: Mapping[str, Any]) -> Reply:
        """Return a reply whose text is the value of a step, as JSON; a refused or truncated step gives an empty reply."""
        name, status = f"recorded:{self._path.name}", value.get("status", "ok")
        if status in ("refused", "truncated"):
            return Reply("", name, "content_filter" if status == "refused" else "length")
        return Reply(json.dumps(value, ensure_ascii=False), name)


def _place(key: Key) -> Place:
    return (key.sample, key.repeat, key.round, key.step, key.draw, key.attempt)
