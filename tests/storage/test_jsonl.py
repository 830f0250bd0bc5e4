"""Lines of JSON: written one a line, appended whole, and read again whatever breaks the texts inside them hold."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from io import FileIO
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError, model_validator

from lotbench.calls.journal import Journal
from lotbench.config.experiment import read_toml
from lotbench.errors import DataError, UsageError, faults_of
from lotbench.models.recorded import RecordedModel
from lotbench.storage.jsonl import append, line, put, rows, tables
from lotbench.storage.run_folder import read_json
from lotbench.storage.traces import Traces
from tests.full_disk import full_disk

BREAKS = "one\u2028two\u2029three\x85four\x0bfive\x1csix"


def test_breaks_inside_a_text_end_no_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(line({"text": BREAKS}) + b"\n  \n" + line({"text": "b"}))
    assert list(tables(path)) == [(1, {"text": BREAKS}), (4, {"text": "b"})]


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_special_file_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "special.json"
    os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
    readers: list[Callable[[Path], object]] = [numbers, read_json, Traces]
    readers += [lambda at: append(at, ())]
    readers += [partial(Journal, writes=False), partial(RecordedModel, role="candidate")]
    for read in readers:
        with pytest.raises(UsageError, match=r"special\.json: is (no regular file|a link)"):
            read(path)
    with pytest.raises(OSError, match=r"is no regular file: .*special\.json"):
        read_toml(path)


def numbers(path: Path) -> list[int]:
    return [row["n"] for _, row in tables(path)]


def test_lines_are_appended_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    append(path, [line({"n": 1})])
    whole = path.read_bytes()
    with full_disk(len(whole) + 20), pytest.raises(UsageError, match=r"rows\.jsonl: File too large; wait"):
        append(path, [line({"n": 2}), line({"n": 3, "text": "x" * 99})], "wait")
    assert path.read_bytes() == whole + line({"n": 2})
    append(path, [line({"n": 3})])
    assert numbers(path) == [1, 2, 3]


def test_a_device_that_says_no_space_leaves_no_half_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    append(path, [line({"n": 1})])

    class Full(FileIO):
        def write(self, text: bytes) -> int:  # type: ignore[override]
            super().write(text[: len(text) // 2])
            raise OSError(28, "No space left on device")

    with Full(path, "ab") as file, pytest.raises(OSError, match="No space left on device"):
        put(file, path.stat().st_size, line({"n": 2}))
    assert path.read_bytes() == line({"n": 1})


@pytest.mark.parametrize("text", ["short", "é" * 200_000])
def test_a_torn_last_line_is_cut_before_the_next(tmp_path: Path, text: str) -> None:
    path, last = tmp_path / "rows.jsonl", line({"n": 2, "text": text})
    for cut in (1, 10, len(last) - 5, len(last) - 2):
        path.write_bytes(line({"n": 1}) + last[:cut])
        append(path, ())
        assert numbers(path) == [1]
        append(path, [line({"n": 3})])
        assert path.read_bytes() == line({"n": 1}) + line({"n": 3})


def test_a_last_line_that_lacks_only_its_line_feed_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(line({"n": 1}) + line({"n": 2})[:-1])
    assert numbers(path) == [1, 2]
    append(path, [line({"n": 3})])
    assert numbers(path) == [1, 2, 3]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none/rows\.jsonl: No such file"):
        append(tmp_path / "none" / "rows.jsonl", [line({"n": 1})])


class Pair(BaseModel):
    low: int
    high: int

    @model_validator(mode="after")
    def _in_order(self) -> Pair:
        if self.low > self.high:
            raise ValueError("low: is above high")
        return self


def test_every_row_comes_with_its_line_and_every_fault_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_bytes(
        b'{"low": 1, "high": 2}\n\n{"low": "x"}\r\n{"low": 3, "high": 2}\n{\n{"low": 4, "high": 5}'
    )
    faults = [
        f"{path}:3: low: Input should be a valid integer, unable to parse string as an integer",
        f"{path}:3: high: Field required",
        f"{path}:4: low: is above high",
        f"{path}:5: not JSON: EOF while parsing an object at column 1",
    ]
    with pytest.raises(DataError) as caught:
        list(rows(path, Pair.model_validate))
    assert caught.value.faults == faults
    put_aside: list[str] = []
    assert list(rows(path, Pair.model_validate, put_aside)) == [
        (1, Pair(low=1, high=2)),
        (6, Pair(low=4, high=5)),
    ]
    assert put_aside == faults


@pytest.mark.parametrize("text", ["5", "[]", "null", '"a"'])
def test_a_line_that_is_no_table_is_a_fault_with_its_number(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f'{{"a": 1}}\n{text}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"rows\.jsonl:2: Input should be a valid dictionary"):
        list(tables(path))


def test_a_file_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.jsonl: No such file"):
        list(tables(tmp_path / "none.jsonl"))


def test_a_refusal_names_what_is_known_of_the_place() -> None:
    with pytest.raises(ValidationError) as caught:
        Pair.model_validate({"low": 1})
    error = caught.value
    assert faults_of(error) == ["high: Field required"]
    assert faults_of(error, "a.csv", 2, field=str.upper) == ["a.csv:2: HIGH: Field required"]
    assert faults_of(error, "x: row 3", message=lambda fault: str(fault["type"])) == [
        "x: row 3: high: missing"
    ]
