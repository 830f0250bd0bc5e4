"""Lines of JSON: written one a line, and read again whatever breaks the texts inside them hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lotbench.edge.files.jsonl import line, texts

BREAKS = "one\u2028two\u2029three\x85four\x0bfive\x1csix"


def test_a_line_ends_at_a_line_feed_alone(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(line({"text": BREAKS}) + b"\n  \n" + line({"text": "b"}))

    assert [(number, json.loads(text)["text"]) for number, text in texts(path)] == [(1, BREAKS), (4, "b")]


def test_what_is_no_text_is_told_before_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(b'{"a": 1}\n\xff\n')
    with pytest.raises(UnicodeDecodeError):
        texts(tmp_path / "rows.jsonl")
