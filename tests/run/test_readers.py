"""Whoever only reads a run leaves it as it is; nothing is written through a link; what cannot be written is read."""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lotbench.calls.journal import Journal
from lotbench.cli import main
from lotbench.errors import RunFolderError, UsageError
from lotbench.run.evaluate import resume
from lotbench.site.runs import Gallery
from lotbench.storage import jsonl
from lotbench.storage.run_folder import Folder
from tests.recorded import FOLDER, copied, own

GAME = "20261122-0826-lotbench-python-candidate-aa37"
IDEAS = "20261122-0826-liveideabench-python-candidate-2359"
LOOKING = ("score", "report", "show", "replay", "export", "view", "compare")
KILLED = "20261122-0826-killed-python-candidate-aa37"
TAIL = b'{"key":{"sample":"lot-0001","repe'
WRITES = os.O_WRONLY | os.O_RDWR
_read_only: list[str] = []


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """A disk that can only be read, as far as this process can see."""
    if not _read_only:
        return
    changes = event in ("os.mkdir", "os.rename", "os.remove", "os.truncate", "os.chmod")
    changes = changes or (event == "open" and bool((arguments[2] or 0) & WRITES))
    if changes and str(arguments[0]).startswith(_read_only[0]):
        raise OSError(30, "Read-only file system", str(arguments[0]))


sys.addaudithook(_refuse)


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """Makes a folder one that can only be read."""
    access = os.access

    def freeze(folder: Path) -> None:
        def allowed(path: Any, mode: int, **more: Any) -> bool:
            mine = mode & os.W_OK and str(path).startswith(str(folder))
            return not mine and access(path, mode, **more)

        monkeypatch.setattr(os, "access", allowed)
        _read_only.append(str(folder))

    yield freeze
    _read_only.clear()


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def first_call(run: Path) -> str:
    trace = json.loads((run / "traces.jsonl").read_text("utf-8").splitlines()[0])
    return next(str(step["call"]) for step in trace["steps"] if step["call"])


def commands(run: Path) -> dict[str, list[str]]:
    """The commands that look at a run."""
    return {
        "score": ["score", str(run)],
        "report": ["report", str(run)],
        "show": ["show", str(run), "--call", first_call(run)],
        "replay": ["replay", str(run)],
        "export": ["export", str(run)],
        "view": ["view", str(run.parent), "--export", str(run.parents[1] / "pages")],
        "compare": ["compare", str(run), str(run.parent / KILLED), "--out", str(run.parents[1])],
    }


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("command", ["score", "report", "show"])
def test_a_reader_cuts_no_torn_tail(command: str, linked: bool, tmp_path: Path) -> None:
    run = copied(GAME, tmp_path)
    journal = run / "calls.jsonl"
    if linked:
        shutil.move(journal, tmp_path / "other")
        journal.symlink_to(tmp_path / "other")
    with journal.open("ab") as file:
        file.write(TAIL)
    before = journal.read_bytes()
    assert main(commands(run)[command]) == 0
    assert journal.read_bytes() == before


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "loop"])
@pytest.mark.parametrize("name", ["calls.jsonl", "traces.jsonl", "summary.json", "samples.jsonl"])
def test_what_is_no_file_is_named_by_every_reader(
    name: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = copied(GAME, tmp_path)
    copied(KILLED, tmp_path)
    given, place = commands(run), run / name
    place.unlink()
    {
        "pipe": lambda: os.mkfifo(place),
        "device": lambda: place.symlink_to("/dev/zero"),
        "folder": place.mkdir,
        "loop": lambda: place.symlink_to(place),
    }[kind]()
    for command in {*LOOKING} - {"view"}:
        assert main(given[command]) == 2, command
        assert str(place) in capsys.readouterr().err, command
    assert str(place) in Gallery(run.parent).readable_runs()[1][run.name]


def test_score_beside_a_live_run_is_refused_and_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = copied(GAME, tmp_path)
    with Folder(run):
        with (run / "calls.jsonl").open("ab") as file:
            file.write(TAIL)
        before = bytes_of(run)
        assert main(["score", str(run)]) == 2
        assert "another process is writing to this run" in capsys.readouterr().err
        assert main(commands(run)["show"]) == 0
        assert bytes_of(run) == before


@pytest.mark.parametrize("name", ["calls.jsonl", ".lock"])
def test_a_run_goes_on_through_no_link(name: str, tmp_path: Path) -> None:
    run, other = copied(GAME, tmp_path), tmp_path / "other"
    if name == "calls.jsonl":
        shutil.move(run / name, other)
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(other)
    before = other.read_bytes() if other.exists() else None
    with pytest.raises(RunFolderError, match="is a link, and nothing is written through one"):
        asyncio.run(resume(run, own=own("lotbench")))
    assert (other.read_bytes() if other.exists() else None) == before


def test_lines_are_added_through_no_link(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"theirs, not torn")
    for name in ("traces.jsonl", "marks.jsonl", "nowhere"):
        (tmp_path / name).symlink_to(other if name != "nowhere" else tmp_path / "made")
        with pytest.raises(UsageError, match="is a link"):
            jsonl.append(tmp_path / name, [b"{}\n"])
        with pytest.raises(RunFolderError, match="is a link"):
            Journal(tmp_path / name)
    assert other.read_bytes() == b"theirs, not torn"
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("name, command", [*((GAME, command) for command in LOOKING), (IDEAS, "score")])
def test_a_run_on_a_read_only_disk_is_read(
    name: str,
    command: str,
    tmp_path: Path,
    read_only: Callable[[Path], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = copied(name, tmp_path)
    copied(KILLED, tmp_path)
    given, before = commands(run)[command], bytes_of(run)
    read_only(run.parent)
    assert main(given) == 0
    said = capsys.readouterr().out
    assert bytes_of(run) == before
    if command in ("score", "report"):
        assert f"{run} can only be read: nothing was written to it" in said
        first = next(iter(json.loads((FOLDER / name / "summary.json").read_text("utf-8"))["scores"]))
        assert first in said


def test_writing_to_a_read_only_disk_is_told(tmp_path: Path, read_only: Callable[[Path], None]) -> None:
    run = copied(GAME, tmp_path)
    read_only(run)
    with pytest.raises(RunFolderError, match="Read-only file system"):
        asyncio.run(resume(run, own=own("lotbench")))
