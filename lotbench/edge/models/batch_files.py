"""The batch files of a run, in its folder: what was uploaded, what became of it, what is still to be fetched.

    RUN/batches/0001.jsonl           as it was uploaded
    RUN/batches/0001.json            of which model, under which id at the server, which calls; written before the upload
    RUN/batches/0001.results.jsonl   the server's lines, written whole or not at all

By these a run that was killed at any moment finds what it has paid for. A reply says in `sent` out of which file it came.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from lotbench.config.experiment import validate
from lotbench.edge.files import atomic_write
from lotbench.edge.files.jsonl import document, no_link
from lotbench.edge.models import batch_format
from lotbench.errors import RunFolderError, UsageError

FOLDER = "batches"
FILE = "batch_file"
"""The field of `Reply.sent` that names the file."""


class Call(BaseModel):
    """A call in a file: the name of its line, and what of its body is worth recording."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    line: str
    sent: dict[str, Any]


class Filed(BaseModel):
    """A batch file: 0001.json.

    Attributes:
        number: Of the file in the run, from 1.
        model: The model's name as it was given.
        token: Known to this file alone; by it a batch is found whose id was never written down.
        written: Seconds since 1970.
        id: Of the batch, at the server; empty until it has told one.
        calls: By key.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int
    api: Literal["openai", "anthropic"]
    url: str
    model: str
    token: str
    written: float
    id: str = ""
    calls: dict[str, Call]


class BatchFiles:
    """The batch files of one run, of all its models.

    Attributes:
        waiting: The files that the server has, by number, with the number of their calls; for the progress display.
    """

    def __init__(self) -> None:
        self.waiting: dict[int, tuple[int, float]] = {}
        self.stopping: list[Callable[[Exception], None]] = []
        """Told what no call can escape: other files may take a day, and are fetched by a resumed run."""
        self._place: Path | None = None
        self._taken: Callable[[str], int] = lambda key: 0
        self._known: dict[int, Filed] = {}

    def open(self, run: Path, taken: Callable[[str], int]) -> None:
        """Begin with what is there.

        Args:
            run: The run folder, locked.
            taken: The number of the file out of which the last reply to a key came; 0 if it has none.

        Raises:
            RunFolderError: A file is damaged, or the folder is a link.
        """
        self._place, self._taken = run / FOLDER, taken
        if self._place.is_symlink():
            raise RunFolderError(f"{self._place}: is a link, and nothing is written through one")
        for path in sorted(self._place.glob("*.json")):
            found = read(path)
            self._known[found.number] = found

    def begun(self, api: str, url: str, model: str) -> list[Filed]:
        """The files of a model, in order."""
        return [
            one
            for _, one in sorted(self._known.items())
            if (one.api, one.url, one.model) == (api, url, model)
        ]

    def ids(self) -> set[str]:
        """The ids of all batches of the run that are known."""
        return {one.id for one in self._known.values()}

    def untaken(self) -> dict[str, Filed]:
        """The calls to which no reply was taken out of the last file that they are in, with that file."""
        last = {key: one for _, one in sorted(self._known.items()) for key in one.calls}
        return {key: one for key, one in last.items() if self._taken(key) < one.number}

    def write(self, filed: Mapping[str, Any], lines: Sequence[bytes]) -> Filed:
        """Write a file and what it is, under the next number.

        Raises:
            RunFolderError: The disk is full or the folder cannot be written to.
        """
        made = Filed(number=max(self._known, default=0) + 1, **filed)
        self._known[made.number] = made
        # The lines first: what is described is there.
        self._write(f"{made.number:04}.jsonl", b"\n".join(lines) + b"\n")
        self.note(made)
        return made

    def note(self, filed: Filed) -> None:
        """Write down what a file is.

        Raises:
            RunFolderError: The disk is full or the folder cannot be written to.
        """
        self._known[filed.number] = filed
        self._write(f"{filed.number:04}.json", filed.model_dump_json().encode() + b"\n")

    def drop(self, filed: Filed) -> None:
        """Forget a file that never reached its server."""
        del self._known[filed.number]
        for ending in ("json", "jsonl"):
            self._path(filed, ending).unlink(missing_ok=True)

    def content(self, filed: Filed) -> bytes:
        """The file as it is uploaded."""
        return self._path(filed, "jsonl").read_bytes()

    def results(self, filed: Filed) -> Results | None:
        """The results of a file, if they were fetched."""
        path = self._path(filed, "results.jsonl")
        return Results(path) if path.is_file() else None

    def place_of_results(self, filed: Filed) -> Path:
        """Where the results of a file are written."""
        return self._path(filed, "results.jsonl")

    def _path(self, filed: Filed, ending: str) -> Path:
        assert self._place is not None, "a batch file belongs to a run folder"
        return self._place / f"{filed.number:04}.{ending}"

    def _write(self, name: str, content: bytes) -> None:
        assert self._place is not None, "a batch file belongs to a run folder"
        try:
            atomic_write.write(self._place / name, content)
        except OSError as error:
            raise RunFolderError(f"{self._place / name}: {error.strerror}; the run can be resumed") from None


class Results:
    """The lines of a results file by their names, read when they are wanted; lines that cannot be read are missing.

    Raises:
        RunFolderError: The file cannot be opened, or is a link.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: dict[str, tuple[int, int]] = {}
        try:
            opened = no_link(path, os.O_RDONLY)
        except OSError as error:
            raise RunFolderError(f"{path}: {error.strerror}") from None
        end = 0
        with os.fdopen(opened, "rb") as lines:
            for text in lines:
                try:
                    name, _ = batch_format.outcome(text)
                    self._places.setdefault(name, (end, len(text)))
                except (ValueError, RecursionError):
                    pass
                end += len(text)

    def of(self, name: str) -> batch_format.Outcome | None:
        """What became of a line; None if the server says nothing of it."""
        place = self._places.get(name)
        if place is None:
            return None
        with self._path.open("rb") as lines:
            lines.seek(place[0])
            return batch_format.outcome(lines.read(place[1]))[1]


def read(path: Path) -> Filed:
    """What a batch file is, from its 0001.json.

    Raises:
        RunFolderError: It cannot be read, or says something else than its name.
    """
    try:
        found = validate(Filed, document(path.read_text(encoding="utf-8")), path)
        if path.name != f"{found.number:04}.json":
            raise ValueError(f"it says that it is number {found.number}")
        return found
    except OSError as error:
        raise RunFolderError(f"{path}: {error.strerror}") from None
    except UsageError as error:
        raise RunFolderError(str(error)) from None
    except ValueError as error:
        raise RunFolderError(f"{path}: damaged: {error}") from None
