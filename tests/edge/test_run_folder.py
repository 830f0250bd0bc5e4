"""The run folder: one writer at a time, whole files, and a way to find it again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lotbench.edge.files import atomic_write, run_folder
from lotbench.edge.files.run_folder import Folder, create, find, read_json
from lotbench.edge.files.traces import Traces, trace, trace_line
from lotbench.errors import RunFolderError, UsageError
from lotbench.types import Score, Trace
from tests.full_disk import full_disk

ROOT = Path(__file__).parents[2]
HOLDER = """
import sys, time
from pathlib import Path
from lotbench.edge.files.run_folder import Folder
with Folder(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def walked(sample: str = "lot-0001", repeat: int = 1, **more: Any) -> Trace:
    steps = ({"step": "respond", "round": 1, "value": {"filling": "报税单\u2028"}},)
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


def test_two_processes_cannot_write_one_folder(tmp_path: Path) -> None:
    with held(tmp_path) as other:
        with pytest.raises(RunFolderError, match="another process is writing to this run") as caught:
            Folder(tmp_path)
        assert caught.value.exit_code == 2
        assert str(tmp_path) in str(caught.value)

        # A process that is killed holds nothing.
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
        with Folder(tmp_path):
            pass


def test_one_process_cannot_open_a_folder_twice(tmp_path: Path) -> None:
    with Folder(tmp_path), pytest.raises(RunFolderError, match="another process"):
        Folder(tmp_path)
    with Folder(tmp_path):
        pass


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")

    with pytest.raises(RunFolderError, match="file/run"):
        Folder(tmp_path / "file" / "run")
    with pytest.raises(RunFolderError, match="Not a directory"):
        create(tmp_path / "file", "lotbench", "m", "3f2a")


def test_a_new_folder_is_named_for_when_what_and_whom(tmp_path: Path) -> None:
    with create(tmp_path / "runs", "lotbench", "meta-llama/L3@http://127.0.0.1:1/v1", "3f2a99") as made:
        assert re.fullmatch(r"\d{8}-\d{4}-lotbench-meta-llama-L3-3f2a", made.path.name)
        assert made.path.parent == tmp_path / "runs"


def test_the_same_run_in_the_same_minute_gets_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = run_folder.datetime(2026, 11, 21, 21, 49)

    class Clock:
        @staticmethod
        def now(zone: Any) -> Any:
            return stopped

    monkeypatch.setattr(run_folder, "datetime", Clock)
    made = [create(tmp_path, "lotbench", "m", "3f2a") for _ in range(3)]

    names = [f"20261121-2149-lotbench-m-3f2a{end}" for end in ("", "-2", "-3")]
    assert [place.path.name for place in made] == names
    for place in made:
        place.__exit__(None, None, None)


def test_a_file_is_written_whole_and_readable_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Folder(tmp_path) as place:
        place.write_json("summary.json", {"value": "中"})
        place.write("prompts/en/a.txt", "one\ntwo")
        assert (tmp_path / "summary.json").read_text(encoding="utf-8") == '{\n  "value": "中"\n}\n'
        assert (tmp_path / "summary.json").stat().st_mode & 0o777 == 0o644
        assert (tmp_path / "prompts/en/a.txt").read_bytes() == b"one\ntwo"

        def full(*names: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", full)
        with pytest.raises(RunFolderError, match=r"summary\.json: No space left"):
            place.write_json("summary.json", {})
        assert read_json(tmp_path / "summary.json") == {"value": "中"}
        assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "prompts", "summary.json"]


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
        "import os, signal, sys; from pathlib import Path; from lotbench.edge.files import atomic_write\n"
        "def half():\n    yield 'half'\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        "atomic_write.write(Path(sys.argv[1]), half())"
    )
    for file in ("run/summary.json", "run/prompts/b.txt", "elsewhere/c.txt"):
        assert subprocess.run([sys.executable, "-c", program, tmp_path / file], check=False).returncode == -9
    left = [path for path in tmp_path.rglob("*") if path.name.endswith(atomic_write.PART)]
    assert len(left) == 3
    with Folder(tmp_path / "run"):
        assert [path.parent for path in left if path.exists()] == [elsewhere]


def test_traces_are_added_and_replaced(tmp_path: Path) -> None:
    first, second = walked(), walked("lot-0002", why="it broke", arrived=False)
    with Folder(tmp_path) as place:
        place.append(second)
        place.append(first)
        assert Traces(tmp_path / "traces.jsonl") == [second, first]
        place.keep([first, second])
        assert Traces(tmp_path / "traces.jsonl") == [first, second]
    assert (tmp_path / "traces.jsonl").read_bytes().count(b"\n") == 2


def test_a_folder_without_traces_has_none(tmp_path: Path) -> None:
    assert Traces(tmp_path / "traces.jsonl") == []


def test_a_walk_that_finds_no_room_leaves_nothing_of_itself(tmp_path: Path) -> None:
    with Folder(tmp_path) as place:
        place.append(walked())
        whole = (tmp_path / "traces.jsonl").read_bytes()
        with full_disk(len(whole) + 30), pytest.raises(UsageError, match="; the run can be resumed"):
            place.append(walked("lot-0002"))
        assert (tmp_path / "traces.jsonl").read_bytes() == whole


def test_a_torn_last_trace_is_passed_over(tmp_path: Path) -> None:
    first, second = trace_line(walked()), trace_line(walked("lot-0002"))
    whole = (first + second).encode()
    for size in [*range(len(first.encode()), len(whole), 9), len(whole) - 1]:
        (tmp_path / "traces.jsonl").write_bytes(whole[:size])
        assert Traces(tmp_path / "traces.jsonl") == [walked()]


@pytest.mark.parametrize("damage", ["{}", "[]", "3", '{"sample": "x"}', "\x00", ""])
def test_a_damaged_trace_is_named_or_passed_over(tmp_path: Path, damage: str) -> None:
    text = trace_line(walked()) + damage + "\n" + trace_line(walked("lot-0002"))
    (tmp_path / "traces.jsonl").write_text(text, encoding="utf-8")

    assert Traces(tmp_path / "traces.jsonl", strict=False) == [walked(), walked("lot-0002")]
    with pytest.raises(RunFolderError, match=r"traces\.jsonl:2: damaged; lotbench resume writes it anew"):
        Traces(tmp_path / "traces.jsonl")


def test_no_flipped_bit_of_a_trace_passes_for_what_was_written(tmp_path: Path) -> None:
    file = tmp_path / "traces.jsonl"
    with Folder(tmp_path) as place:
        place.append(walked())
        place.append(walked("lot-0002"))
    first, second = file.read_bytes().splitlines(keepends=True)
    for place_of in range(8 * len(first)):
        flipped = bytearray(first)
        flipped[place_of // 8] ^= 1 << place_of % 8
        file.write_bytes(flipped + second)
        found = list(Traces(file, strict=False))
        assert found in ([walked(), walked("lot-0002")], [walked("lot-0002")], []), bytes(flipped)


WRONG = {
    "sample": 3, "repeat": "1", "lane": [], "outcome": None, "score": [], "steps": ["x"], "usage": "x", "why": [],
    "arrived": "no",
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_type_in_a_trace_is_damage(tmp_path: Path, name: str) -> None:
    table = json.loads(trace_line(walked()))
    del table["crc"]
    (tmp_path / "traces.jsonl").write_text(json.dumps(table) + "\n", "utf-8")
    assert Traces(tmp_path / "traces.jsonl") == [walked()]

    (tmp_path / "traces.jsonl").write_text(json.dumps({**table, name: WRONG[name]}) + "\n", "utf-8")
    with pytest.raises(RunFolderError, match=r"traces\.jsonl:1: damaged; lotbench resume writes it anew"):
        Traces(tmp_path / "traces.jsonl")


texts = st.text(max_size=8)
values = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts


@given(
    st.builds(
        Trace,
        sample=texts,
        repeat=st.integers(1, 9),
        lane=texts,
        outcome=texts,
        score=st.builds(
            Score, st.none() | st.floats(0, 1), st.none() | texts, st.dictionaries(texts, values)
        ),
        steps=st.lists(st.dictionaries(texts, values, max_size=3), max_size=3).map(tuple),
        memory=st.none() | st.lists(values, max_size=3),
        usage=st.dictionaries(texts, st.integers(0, 10**9), max_size=3),
        why=st.none() | texts,
        arrived=st.booleans(),
    )
)
def test_any_trace_survives_its_line(made: Trace) -> None:
    line = trace_line(made)

    assert trace(json.loads(line)) == made
    assert json.loads(line)["schema"] == 1
    assert line.count("\n") == 1


def run(root: Path, name: str, age: float) -> Path:
    path = root / name
    path.mkdir(parents=True)
    (path / "run.json").write_text("{}", encoding="utf-8")
    os.utime(path / "run.json", (1000 - age, 1000 - age))
    return path


def test_a_run_is_found_by_path_by_name_and_as_the_latest(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    old, new = run(root, "b-old", 60), run(root, "a-new", 0)
    (root / "c-empty").mkdir()

    assert find(str(old), tmp_path / "elsewhere") == old
    assert find("b-old", root) == old
    assert find("latest", root) == new


def test_the_latest_run_is_the_one_made_last_wherever_that_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    here = run(tmp_path / "runs", "here", 60)
    with create(tmp_path / "elsewhere", "lotbench", "m", "abcd") as place:
        place.write("run.json", "{}")

    assert find("latest") == place.path
    assert find("latest", "runs").resolve() == here
    newer = run(tmp_path / "runs", "newer", 0)
    os.utime(newer / "run.json", (4e9, 4e9))
    assert find("latest").resolve() == newer
    (place.path / "run.json").unlink()
    (newer / "run.json").unlink()
    assert find("latest").resolve() == here


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
    path.unlink()
    with pytest.raises(RunFolderError, match=r"run\.json: No such file"):
        read_json(path)
