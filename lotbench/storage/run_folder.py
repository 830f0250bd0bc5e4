"""The run folder: the files of a run, and the lock that keeps a second process from writing to it.

The folder is self-contained: configuration, prompts, all calls, all finished episodes, summary and report. Files that are
not appended to are written atomically.
"""

import fcntl
import json
import os
import shlex
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from lotbench.config.model_names import slug
from lotbench.errors import RunFolderError, file_errors, suggestion
from lotbench.regular_file import read_text, regular
from lotbench.storage import atomic_write, jsonl
from lotbench.storage.traces import Traces, trace_line
from lotbench.types import Trace

TRACES = "traces.jsonl"
RUNS = "runs"
"""The default folder of run folders."""


def is_locked(path: Path) -> bool:
    """Return whether a process is writing to a run folder (`Folder`)."""
    try:
        with open(path / ".lock", encoding="utf-8", opener=regular) as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


class Folder(AbstractContextManager["Folder"]):
    """A run folder, locked for writing by this process; made if it is missing.

    Raises:
        RunFolderError: Another process has the lock, or the folder cannot be written to.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with file_errors(path, RunFolderError):
            path.mkdir(parents=True, exist_ok=True)
            self._lock: IO[str] = os.fdopen(jsonl.no_link(path / ".lock", os.O_RDWR | os.O_CREAT), "w")
        try:
            self._take_lock()
        except OSError as error:
            self._lock.close()
            held = isinstance(error, BlockingIOError)
            why = "another process is writing to this run" if held else error.strerror
            raise RunFolderError(f"{path}: {why}") from None
        atomic_write.clear(path)

    def _take_lock(self) -> None:
        with suppress(BlockingIOError):
            return fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # A viewer may have asked at this instant whether the run is locked (`is_locked`).
        time.sleep(0.05)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def __exit__(self, *error: object) -> None:
        self._lock.close()

    def write(self, name: str, text: str | bytes | Iterable[str]) -> None:
        """Write a file of the folder atomically.

        Raises:
            RunFolderError: The disk is full or the folder cannot be written to.
        """
        again = "; the run can be resumed" if (self.path / "run.json").is_file() else ""
        with file_errors(self.path / name, RunFolderError, again):
            atomic_write.write(self.path / name, text)

    def write_json(self, name: str, table: Mapping[str, Any]) -> None:
        """Write a JSON file of the folder."""
        self.write(name, json.dumps(table, ensure_ascii=False, indent=2) + "\n")

    def append(self, trace: Trace) -> None:
        """Append the trace of a finished episode to traces.jsonl.

        Raises:
            UsageError: The disk is full or the file cannot be written.
        """
        jsonl.append(self.path / TRACES, [trace_line(trace).encode()], "the run can be resumed")

    def keep(self, traces: Iterable[Trace]) -> None:
        """Replace the content of traces.jsonl by these traces."""
        self.write(TRACES, map(trace_line, traces))

    def order(self, episodes: Sequence[tuple[str, int]]) -> Traces:
        """Write traces.jsonl anew with only these episodes (sample, repeat), in this order, and return its traces."""
        self.write(TRACES, Traces(self.path / TRACES, strict=False).lines(episodes))
        return Traces(self.path / TRACES)


def writable(path: Path) -> bool:
    """Return whether this process may write to a run folder."""
    return os.access(path, os.W_OK)


def opened(path: Path) -> AbstractContextManager[Folder | None]:
    """Return a context manager for an existing run folder, locked for writing; it gives None if the folder is read-only.

    Raises:
        RunFolderError: Another process is writing to it.
    """
    return Folder(path) if writable(path) else nullcontext()


def refuse_way_out(run: Path, out: Path) -> None:
    """Refuse an output path inside a run folder that a symbolic link leads out of the folder, or that is a file of the run.

    Raises:
        RunFolderError: Such a link leads out of the folder, or the path itself is a link or a file in the folder.
    """
    inside = Path(os.path.abspath(out)).is_relative_to(os.path.abspath(run))
    if inside and not out.parent.resolve().joinpath(out.name).is_relative_to(run.resolve()):
        raise RunFolderError(
            f"{out}: a link on the way leads out of the run folder; nothing is written through one"
        )
    if inside and out.is_symlink():
        raise RunFolderError(f"{out}: is a link, and nothing is written through one")
    if (inside or (out.parent / "run.json").exists()) and out.is_file() and out.suffix != ".csv":
        raise RunFolderError(f"{out}: is a file of a run: name another one")


def create(root: Path, benchmark: str, candidate: str, experiment_digest: str) -> Folder:
    """Make a new run folder, `20261121-2149-BENCHMARK-CANDIDATE-3f2a`, and lock it.

    Raises:
        OSError: The folder cannot be made.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M")  # noqa: TID251 - only this room reads the clock
    name = f"{stamp}-{benchmark}-{slug(candidate)}-{experiment_digest[:4]}"
    path, number = root / name, 2
    while True:
        try:
            path.mkdir(parents=True)
            return Folder(path)
        except FileExistsError:
            # Two processes may begin the same experiment in the same minute; the second gets a numbered folder.
            path, number = root / f"{name}-{number}", number + 1


def discard_unanswered(path: Path) -> bool:
    """Remove a run folder if its journal is empty; return whether it was removed."""
    with suppress(OSError):
        if not (path / "calls.jsonl").stat().st_size:
            shutil.rmtree(path)
            return True
    return False


def find(run: str, root: str | Path | None = None) -> Path:
    """Return the path of a run folder.

    Args:
        run: A path, the name of a folder in `root`, `latest`, or a part of a name between hyphens: the latest run with it.
        root: The folder of runs, by default runs/.

    Raises:
        RunFolderError: There is no such run.
    """
    folder = Path(RUNS if root is None else root)
    for path in (Path(run), folder / run):
        if (path / "run.json").is_file():
            return path
    runs = list(folder.glob("*/run.json"))
    if run == "latest" and not runs:
        raise RunFolderError(f"{folder}: no runs yet")
    named = [path for path in runs if run == "latest" or f"-{run}-" in path.parent.name]
    if named:
        return max(named, key=lambda path: path.stat().st_mtime).parent
    near = suggestion(run, ["latest", *(path.parent.name for path in runs)])
    raise RunFolderError(f"{run}: not a run folder (no run.json), nor one in {folder}{near}")


def called(path: Path) -> str:
    """Return what a command calls a run, quoted for a shell: its name if it is in runs/, else its path.

    The path is from the working directory if the run is below it, else from the root.
    """
    whole, here = os.path.abspath(path), os.path.relpath(path)
    shown = whole if here.startswith("..") else here
    return shlex.quote(path.name if shown == str(Path(RUNS, path.name)) else shown)


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file of a run folder.

    Raises:
        RunFolderError: The file is missing or damaged.
    """
    try:
        with file_errors(path, RunFolderError):
            table = jsonl.document(read_text(path))
    except ValueError as error:
        raise RunFolderError(f"{path}: damaged: {error}") from None
    if not isinstance(table, dict):
        raise RunFolderError(f"{path}: damaged: not an object")
    return table
