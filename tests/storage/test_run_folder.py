"""The run folder: one writer at a time, whole files, and a way to find it again."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lotbench.errors import RunFolderError
from lotbench.storage import atomic_write
from lotbench.storage.run_folder import Folder, called, create, find, read_json
from lotbench.storage.traces import Traces, trace_line
from lotbench.types import Score, Trace
from tests.full_disk import full_disk

ROOT = Path(__file__).parents[2]
HOLDER = """
import sys, time
from pathlib import Path
from lotbench.storage.run_folder import Folder
with Folder(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def played(sample: str = "lot-0001", repeat: int = 1, **more: Any) -> Trace:
    steps = ({"step": "respond", "round": 1, "value": {"guess": "报税单\u2028"}},)
    return Trace(
        sample, repeat, f"{sample}/{repeat}", "solved", Score(1.0), steps, None, {"calls": 2}, **more
    )


@contextmanager
def held(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that writes to the folder."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def test_a_command_names_a_run_so_that_it_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [called(tmp_path / run) for run in ("runs/a", "other/a")] == ["a", "other/a"]
    assert called(tmp_path.parent / "a") == str(tmp_path.parent / "a"), "found from everywhere"


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(RunFolderError, match="file/run"):
        Folder(tmp_path / "file" / "run")
    with pytest.raises(NotADirectoryError, match="file/"):
        create(tmp_path / "file", "lotbench", "m", "3f2a")


def test_a_full_disk_says_that_the_run_can_be_resumed_once_there_is_a_run(tmp_path: Path) -> None:
    with Folder(tmp_path) as place:
        with full_disk(10), pytest.raises(RunFolderError, match=r"report\.md: File too large$"):
            place.write("report.md", "x" * 100)
        place.write_json("run.json", {})
        with full_disk(10), pytest.raises(RunFolderError, match=r"File too large; the run can be resumed$"):
            place.write("report.md", "x" * 100)


def test_what_a_kill_left_of_a_file_is_removed_by_the_next_writer(tmp_path: Path) -> None:
    with Folder(tmp_path / "run") as place:
        place.write("prompts/en/a.txt", "one")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "run" / "link").symlink_to(elsewhere)
    # As a process has it that is killed in the middle of writing.
    program = (
        "import os, signal, sys; from pathlib import Path; from lotbench.storage import atomic_write\n"
        "def half():\n    yield 'half'\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        "atomic_write.write(Path(sys.argv[1]), half())"
    )
    for file in ("run/summary.json", "run/prompts/b.txt", "elsewhere/c.txt"):
        assert subprocess.run([sys.executable, "-c", program, tmp_path / file], check=False).returncode == -9
    left = [path for path in tmp_path.rglob("*") if path.name.endswith(atomic_write.PART)]
    assert len(left) == 3
    with Folder(tmp_path / "run"):
        assert [path.parent for path in left if path.exists()] == [elsewhere]


def test_a_torn_last_trace_is_passed_over(tmp_path: Path) -> None:
    first, second = trace_line(played()), trace_line(played("lot-0002"))
    whole = (first + second).encode()
    for size in [*range(len(first.encode()), len(whole), 9), len(whole) - 1]:
        (tmp_path / "traces.jsonl").write_bytes(whole[:size])
        assert list(Traces(tmp_path / "traces.jsonl")) == [played()]


@pytest.mark.parametrize("damage", ["{}", "[]", "3", '{"sample": "x"}', "\x00", ""])
def test_a_damaged_trace_is_named_or_passed_over(tmp_path: Path, damage: str) -> None:
    text = trace_line(played()) + damage + "\n" + trace_line(played("lot-0002"))
    (tmp_path / "traces.jsonl").write_text(text, encoding="utf-8")
    assert list(Traces(tmp_path / "traces.jsonl", strict=False)) == [played(), played("lot-0002")]
    with pytest.raises(RunFolderError, match=r"traces\.jsonl:2: damaged; lotbench resume writes it anew"):
        Traces(tmp_path / "traces.jsonl")


def test_no_flipped_bit_of_a_trace_passes_for_what_was_written(tmp_path: Path) -> None:
    file = tmp_path / "traces.jsonl"
    with Folder(tmp_path) as place:
        place.append(played())
        place.append(played("lot-0002"))
    first, second = file.read_bytes().splitlines(keepends=True)
    for place_of in range(8 * len(first)):
        flipped = bytearray(first)
        flipped[place_of // 8] ^= 1 << place_of % 8
        file.write_bytes(flipped + second)
        found = list(Traces(file, strict=False))
        assert found in ([played(), played("lot-0002")], [played("lot-0002")], []), bytes(flipped)


STEPS = [{"step": 3}, {"step": "x", "round": []}, {"step": "x", "draw": "y"}, {"step": "x", "seconds": [1]}]
WRONG = [
    *({"sample": 3}, {"repeat": "1"}, {"sequence": []}, {"outcome": None}, {"score": []}, {"steps": ["x"]}),
    *({"usage": "x"}, {"why": []}, {"arrived": "no"}, *({"steps": [step]} for step in STEPS)),
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_wrong_type_in_a_trace_is_damage(tmp_path: Path, wrong: dict[str, Any]) -> None:
    table = json.loads(trace_line(played()))
    del table["crc"]
    (tmp_path / "traces.jsonl").write_text(json.dumps(table) + "\n", "utf-8")
    assert list(Traces(tmp_path / "traces.jsonl")) == [played()]
    (tmp_path / "traces.jsonl").write_text(json.dumps({**table, **wrong}) + "\n", "utf-8")
    with pytest.raises(RunFolderError, match=r"traces\.jsonl:1: damaged; lotbench resume writes it anew"):
        Traces(tmp_path / "traces.jsonl")


def run(root: Path, name: str, age: float) -> Path:
    path = root / name
    path.mkdir(parents=True)
    (path / "run.json").write_text("{}", encoding="utf-8")
    os.utime(path / "run.json", (1000 - age, 1000 - age))
    return path


def test_where_nothing_can_be_kept_the_latest_is_that_of_the_runs_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LOTBENCH_HOME", str(tmp_path / "file" / "home"))
    monkeypatch.chdir(tmp_path)
    with create(tmp_path / "runs", "lotbench", "m", "abcd") as place:
        place.write("run.json", "{}")
    assert find("latest").resolve() == place.path


def test_a_run_that_is_not_there_is_named(tmp_path: Path) -> None:
    run(tmp_path / "runs", "20261122-1744-lotbench-ace-1b2b", 0)
    with pytest.raises(RunFolderError, match=r"did you mean 20261122-1744-lotbench-ace-1b2b\?"):
        find("20261122-1744-lotbench-ace", tmp_path / "runs")
    with pytest.raises(RunFolderError, match="no runs yet"):
        find("latest", tmp_path)
    with pytest.raises(RunFolderError, match=r"nothing: not a run folder \(no run.json\), nor one in"):
        find("nothing", tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"\xff"])
def test_a_damaged_json_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(content)
    with pytest.raises(RunFolderError, match=r"run\.json: damaged"):
        read_json(path)
    with path.open("wb") as sparse:
        sparse.truncate(3 * 10**9)
    with pytest.raises(RunFolderError, match=r"run\.json: larger than 100,000,000 characters"):
        read_json(path)
    path.unlink()
    with pytest.raises(RunFolderError, match=r"run\.json: No such file"):
        read_json(path)
