"""Logs of inspect_ai, read without its package: what was put to a model in each sample, and what it answered.

Both forms are read: one JSON document, and an `.eval` file, which is a zip of JSON (deflated, or with Zstandard, which
zipfile does not know before Python 3.14).
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from lotbench.edge.files.jsonl import document
from lotbench.edge.models.chat_format import said
from lotbench.errors import DataError
from lotbench.types import Finish, Reply, Usage

ZSTANDARD = 93
LOCAL_HEADER = struct.Struct("<26xHH")
"""What stands before a file in a zip: 26 bytes, then how long its name and its extra fields are."""
ATTACHED = "attachment://"
BROKEN = (
    OSError, ValueError, RuntimeError, EOFError, struct.error, zlib.error, zipfile.BadZipFile, zstandard.ZstdError
)  # fmt: skip
"""What is raised by a zip that is damaged, locked, or packed in a way that is not known."""
MOST = 256_000_000
"""Bytes that one file of a log may unpack to."""
FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
}
"""How an answer ended, from inspect's words for it."""


@dataclass(frozen=True, slots=True)
class Logged:
    """A sample of a log.

    Attributes:
        asked: What the model was told, all messages of others than itself.
        answers: What it said, a reply for each of its messages.
        error: What broke the sample off; "" if nothing did.
    """

    id: str
    epoch: int
    asked: str
    answers: tuple[Reply, ...]
    error: str


@dataclass(frozen=True, slots=True)
class Log:
    """A log: its task, its model, and its samples one at a time."""

    path: Path
    task: str
    model: str

    def samples(self) -> Iterator[Logged]:
        """The samples in order of id and epoch as the log has them; raises DataError where one cannot be read."""
        for place, table in _tables(self.path):
            try:
                yield _logged(table, self.model)
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                raise DataError([f"{self.path}: {place}: no sample of a log: {error!r}"]) from None


def read(path: Path) -> Log:
    """A log's head.

    Raises:
        DataError: The file cannot be read, or is no log of inspect_ai.
    """
    table = _head(path)
    about = table.get("eval") if isinstance(table, dict) else None
    if not isinstance(about, dict) or not isinstance(about.get("model"), str):
        raise DataError([f"{path}: eval.model: not a log of inspect_ai"])
    return Log(path, str(about.get("task", "")), about["model"])


def _head(path: Path) -> Any:
    try:
        if not zipfile.is_zipfile(path):
            return document(path.read_bytes())
        with zipfile.ZipFile(path) as log:
            there = set(log.namelist())
            # A log that was never closed has no header yet.
            name = next((one for one in ("header.json", "_journal/start.json") if one in there), "")
            return document(_unpacked(log, path, name)) if name else None
    except BROKEN as error:
        raise DataError([f"{path}: {error}"]) from None


def _tables(path: Path) -> Iterator[tuple[str, Any]]:
    """Each sample's table, with its place in the log."""
    if not zipfile.is_zipfile(path):
        listed = document(path.read_bytes()).get("samples") or []
        if not isinstance(listed, list):
            raise DataError([f"{path}: samples: not a list"])
        for number, table in enumerate(listed, 1):
            yield f"samples[{number}]", table
        return
    with zipfile.ZipFile(path) as log:
        # A sample that was taken again may stand there twice: by its name the last is read.
        for name in dict.fromkeys(log.namelist()):
            if name.startswith("samples/"):
                try:
                    yield name, document(_unpacked(log, path, name))
                except BROKEN as error:
                    raise DataError([f"{path}: {name}: {error}"]) from None


def _unpacked(log: zipfile.ZipFile, path: Path, name: str) -> bytes:
    """The bytes of a file of the zip.

    Raises:
        ValueError: It is larger than MOST.
    """
    about = log.getinfo(name)
    if about.file_size > MOST:
        raise ValueError(f"{about.file_size:,} bytes, more than {MOST:,}")
    if about.compress_type != ZSTANDARD:
        return log.read(name)
    with path.open("rb") as file:
        file.seek(about.header_offset)
        first, second = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
        file.seek(first + second, 1)
        packed = file.read(about.compress_size)
    return zstandard.ZstdDecompressor().stream_reader(packed).read(about.file_size)


def _logged(table: Mapping[str, Any], model: str) -> Logged:
    attached = table.get("attachments") or {}
    messages = table.get("messages") or ()
    asked = [_text(one, attached) for one in messages if one["role"] != "assistant"]
    if not messages:
        given = table["input"]
        asked = [given] if isinstance(given, str) else [_text(one, attached) for one in given]
    return Logged(
        id=str(table["id"]),
        epoch=int(table["epoch"]),
        asked="\n".join(asked),
        answers=tuple(_answers(table, messages, attached, model)),
        error=str((table.get("error") or {}).get("message", "")),
    )


def _answers(
    table: Mapping[str, Any], messages: Any, attached: Mapping[str, str], model: str
) -> Iterator[Reply]:
    """The replies of a sample; usage and the end of the output belong to the last of them."""
    spoken = [one for one in messages if one["role"] == "assistant"]
    output = table.get("output") or {}
    choices = output.get("choices") or ()
    if not spoken:
        spoken = [choice["message"] for choice in choices[:1]]
    for number, one in enumerate(spoken, 1):
        last = number == len(spoken)
        stop = choices[0].get("stop_reason", "stop") if choices and last else "stop"
        used = (output.get("usage") or {}) if last else {}
        yield Reply(
            text=_text(one, attached),
            model=str(one.get("model") or output.get("model") or model),
            finish=FINISHES.get(stop, "other"),
            reasoning=_reasoning(one),
            usage=Usage(
                input_tokens=int(used.get("input_tokens") or 0)
                + int(used.get("input_tokens_cache_read") or 0),
                cached_input_tokens=int(used.get("input_tokens_cache_read") or 0),
                output_tokens=int(used.get("output_tokens") or 0),
            ),
            seconds=float(output.get("time") or 0.0) if last else 0.0,
        )


def _text(message: Mapping[str, Any], attached: Mapping[str, str]) -> str:
    """What a message says; a long text may stand among the sample's attachments."""
    text = said(message["content"])
    return str(attached.get(text.removeprefix(ATTACHED), text)) if text.startswith(ATTACHED) else text


def _reasoning(message: Mapping[str, Any]) -> str | None:
    content = message["content"]
    parts = content if isinstance(content, list) else ()
    told = (part.get("reasoning") for part in parts if isinstance(part, dict))
    return "\n".join(part for part in told if isinstance(part, str) and part) or None
