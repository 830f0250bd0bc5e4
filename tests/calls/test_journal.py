"""The call journal: what is in it survives, what is torn is cut, and nothing is asked twice."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lotbench.calls.journal import Entry, Journal, read_journal
from lotbench.errors import LotbenchError, RunFolderError
from lotbench.storage import jsonl
from lotbench.storage.jsonl import fields
from lotbench.types import Key, Reply, Usage
from tests.full_disk import full_disk

REPLY = Reply(
    text='{"guess": "报税单\u2028 {{caption}}"}',
    model="gpt-4o-mini-2024-07-18",
    finish="length",
    reasoning="Let me see.",
    refusal=None,
    usage=Usage(120, 64, 9),
    seconds=0.25,
    sent={"temperature": 1.0, "structured": "json_schema"},
)


def key(number: int = 0, step: str = "respond") -> Key:
    return Key(f"lot-{number:04}", 1, 2, step, 0, 0, "abcdef0123456789")


def line(number: int = 0, reply: Reply = REPLY, step: str = "respond") -> Entry:
    return Entry(key(number, step), "candidate", 0, "gpt-4o-mini", "call", 1795303013.428, reply)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.jsonl"


def written(path: Path, count: int = 3) -> bytes:
    with Journal(path) as journal:
        for number in range(count):
            journal.put(line(number))
    return path.read_bytes()


def test_a_line_holds_what_the_run_folder_promises(path: Path) -> None:
    table = json.loads(written(path, 1))
    assert table["key"] == fields(key())
    told = [table[name] for name in ("role", "index", "asked", "from")]
    assert told == ["candidate", 0, "gpt-4o-mini", "call"]
    assert table["reply"]["usage"] == {"input_tokens": 120, "cached_input_tokens": 64, "output_tokens": 9}
    assert "messages" not in path.read_text(encoding="utf-8")


def test_a_torn_last_line_is_cut_wherever_it_is_torn_and_the_next_one_stands_alone(path: Path) -> None:
    whole = written(path)
    second = len(b"".join(whole.splitlines(keepends=True)[:2]))
    for size in [*range(second + 1, len(whole), 9), len(whole) - 1]:
        path.write_bytes(whole[:size])
        with Journal(path) as journal:
            assert path.read_bytes() == whole[:second]
            assert len(journal._places) == 2 and journal.damaged == []
            assert journal.get(key(2)) is None
            journal.put(line(2))
        assert path.read_bytes() == whole


BAD_KEY = b'{"key": %b}' % jsonl.line(fields(key()))[:-1]
DAMAGE = [b"\x00\x00\x00", b'{"key": {"sample": "x"}}', b"[]", b"\xff\xfe", b"", b'"key"', BAD_KEY]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_line_costs_its_own_call_only(path: Path, damage: bytes) -> None:
    first, _second, third = written(path).splitlines(keepends=True)
    path.write_bytes(first + damage + b"\n" + third)
    with Journal(path) as journal:
        assert journal.damaged == [2] and journal.get(key(1)) is None
        assert journal.get(key(2)) == line(2)
        journal.put(line(1))
        assert journal.get(key(1)) == line(1)
    assert [entry.key for entry in read_journal(path)] == [key(0), key(2), key(1)]


@pytest.mark.parametrize(
    "change", [{"index": -1}, {"index": 10**12}, {"started": 1e300}, {"usage": {"input_tokens": 10**30}}]
)
def test_a_number_out_of_bounds_makes_a_damaged_line(path: Path, change: dict[str, Any]) -> None:
    """What an index of 10^12 adds up to is a list as long; 1e300 seconds are no date."""
    first, second, third = written(path).splitlines(keepends=True)
    table = json.loads(second)
    del table["crc"]
    if "usage" in change:
        table["reply"]["usage"] |= change["usage"]
    else:
        table |= change
    path.write_bytes(first + json.dumps(table).encode() + b"\n" + third)
    with Journal(path) as journal:
        assert journal.damaged == [2] and journal.get(key(1)) is None
        assert journal.totals.ids() == {line(0).role: [[line(0).reply.model]]}


def flips(text: bytes) -> Iterator[bytes]:
    """A line with each of its bits turned over in turn."""
    for place in range(len(text)):
        for bit in range(8):
            yield text[:place] + bytes([text[place] ^ 1 << bit]) + text[place + 1 :]


def test_no_flipped_bit_of_a_line_passes_for_what_was_written(path: Path) -> None:
    first, second, third = written(path).splitlines(keepends=True)
    harmless = 0
    for flipped in flips(second):
        path.write_bytes(first + flipped + third)
        with Journal(path, writes=False) as journal:
            known = [journal.get(key(number)) for number in range(3)]
            assert known[0] == line(0) and known[1] in (line(1), None)
            # A line that lost its end takes the next one with it.
            assert known[2] == line(2) or (journal.damaged == [2] and not flipped.endswith(b"\n"))
            assert journal.damaged or known[1] == line(1)
            harmless += known[1] is not None
    # Of the name of the checksum alone.
    assert harmless <= 8 * len('"crc"')


def test_a_line_from_before_there_were_checksums_is_read(path: Path) -> None:
    tables = [json.loads(text) for text in written(path).splitlines()]
    for table in tables:
        assert list(table)[-1] == "crc" and len(table.pop("crc")) == 8
    for separators in ((",", ":"), (", ", ": ")):
        path.write_text("".join(json.dumps(one, separators=separators) + "\n" for one in tables), "utf-8")
        with Journal(path) as journal:
            assert journal.get(key(2)) == line(2) and journal.damaged == []


PLACES = [
    *[("key", name) for name in Key.__slots__],
    *[(name,) for name in ("key", "role", "index", "asked", "from", "started", "reply")],
    *[("reply", name) for name in Reply.__slots__],
    *[("reply", "usage", name) for name in Usage.__slots__],
]


@pytest.mark.parametrize("place", PLACES, ids=".".join)
def test_a_wrong_type_in_a_line_is_damage(path: Path, place: tuple[str, ...]) -> None:
    table = json.loads(written(path, 1))
    del table["crc"]
    *above, name = place
    inside = table
    for one in above:
        inside = inside[one]
    was = inside[name]
    for wrong in ([], ["x"], True, {"a": "b"}, "x", 7, None):
        inside[name] = wrong
        path.write_text(json.dumps(table) + "\n", "utf-8")
        with Journal(path) as journal:
            found = [one.key for one in read_journal(path)]
            assert (journal.damaged == [1] and not found) or (
                type(wrong) in (type(was), float) or name in ("reasoning", "refusal", "sent")
                or {type(wrong), type(was)} == {int, float}
            )  # fmt: skip
            assert journal.totals.by_origin is not None and len(journal._places) == len(found)


def test_a_key_asked_for_twice_is_a_bug_unless_no_reply_came_to_it(path: Path) -> None:
    with Journal(path) as journal:
        journal.ask(key())
        with pytest.raises(LotbenchError, match="asked twice for lot-0000/1/2/respond/0/0/abcdef"):
            journal.ask(key())
        journal.ask(key(1))
        journal.forget(key())
        journal.ask(key())


def test_a_reply_to_retry_is_passed_over_and_the_new_one_wins(path: Path) -> None:
    written(path)
    better = line(1, replace(REPLY, text="better"))
    with Journal(path) as journal:
        journal.retry(str(key(1)))
        assert journal.get(key(1)) is None
        assert journal.get(key(2)) == line(2)
        journal.ask(key(1))
        journal.put(better)
    with Journal(path) as journal:
        assert journal.get(key(1)) == better
    assert len(list(read_journal(path))) == 4


def test_a_journal_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="nowhere"):
        Journal(tmp_path / "nowhere" / "calls.jsonl")


def test_a_journal_is_closed_if_the_file_beside_it_cannot_be_read(path: Path) -> None:
    path.with_name("discarded.jsonl").mkdir()
    before = os.listdir("/dev/fd")
    with pytest.raises(RunFolderError, match="discarded") as _kept:
        Journal(path, path)
    assert os.listdir("/dev/fd") == before


def test_a_full_disk_leaves_no_half_line(path: Path) -> None:
    whole = written(path)
    with Journal(path) as journal:
        with full_disk(len(whole) + 30), pytest.raises(RunFolderError, match="; the run can be resumed"):
            journal.put(line(3))
        assert path.read_bytes() == whole
        journal.put(line(3))
        assert journal.get(key(3)) == line(3)


def test_reading_passes_over_what_cannot_be_read(path: Path) -> None:
    whole = written(path)
    path.write_bytes(whole[:10] + b"\n" + whole + b'{"key"')
    assert [entry.key for entry in read_journal(path)] == [key(0), key(1), key(2)]


WRITER = """
import os, signal, sys
from pathlib import Path
from lotbench.calls.journal import Journal
from tests.calls.test_journal import line
journal = Journal(Path(sys.argv[1]))
for number in range(50):
    journal.put(line(number))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_writer_leaves_every_line_it_was_told_of(path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", WRITER, str(path)], cwd=Path(__file__).parents[2], check=False
    )
    assert ended.returncode == -signal.SIGKILL
    assert list(read_journal(path)) == [line(number) for number in range(50)]


texts = st.text(max_size=20)
counts = st.integers(0, 10**9)
keys = st.builds(Key, texts, counts, counts, texts, counts, counts, texts)
replies = st.builds(
    Reply,
    text=texts,
    model=texts,
    finish=st.sampled_from(["stop", "length", "content_filter", "other"]),
    reasoning=st.none() | texts,
    refusal=st.none() | texts,
    usage=st.builds(Usage, counts, counts, counts),
    seconds=st.floats(0, 1e6),
    sent=st.dictionaries(texts, st.none() | st.floats(0, 2) | texts, max_size=3),
)
indexes, sources = st.integers(0, 999), st.sampled_from(["call", "store"])
entries = st.builds(Entry, keys, texts, indexes, texts, sources, st.floats(0, 2e9), replies)


@given(st.lists(entries, max_size=6, unique_by=lambda entry: str(entry.key)))
def test_whatever_is_put_comes_back(made: list[Entry]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "calls.jsonl"
        with Journal(place) as journal:
            for entry in made:
                journal.put(entry)
        with Journal(place) as journal:
            assert [journal.get(entry.key) for entry in made] == made
            assert len(journal._places) == len(made) and journal.damaged == []
            assert journal.get(Key("of none", -1, 0, "", 0, 0, "")) is None
        assert list(read_journal(place)) == made
