"""Cards of data sets: what they say is so, and no text of a sample is in them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from lotbench import benchmarks
from lotbench.cli import main
from lotbench.edge.files import datasets
from lotbench.integrations.dataset_card import card
from tests.recorded import FOLDER, RUNS


def texts(value: Any) -> list[str]:
    """Every longer text in a sample, but what says where it comes from."""
    if isinstance(value, str):
        return [value] if len(value) > 30 else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in texts(one)]


@pytest.mark.parametrize("name", benchmarks.NAMES)
def test_a_card_says_what_a_data_set_is_and_holds_none_of_it(name: str) -> None:
    declared = benchmarks.get(name)
    folder = datasets.data_folder("", declared.data_set)
    rows = [json.loads(line) for line in (folder / "samples.jsonl").read_text("utf-8").splitlines()]
    text = card(folder, declared)
    head = yaml.safe_load(text.split("---\n")[1])
    assert head["language"] == sorted({row["language"] for row in rows}) and head["license"] == ["cc-by-4.0"]
    sha256 = hashlib.sha256((folder / "samples.jsonl").read_bytes()).hexdigest()
    assert sha256 in text and "- fields: `id`, " in text
    inside = [{key: row[key] for key in row.keys() - {"source", "licence", "canary"}} for row in rows]
    assert not [one for one in texts(inside) if one in text]


def test_an_export_has_the_card_of_its_data_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game = next(name for name in RUNS if "-rinobench-" in name)
    assert main(["export", str(FOLDER / game), "--to", "huggingface", "--out", str(tmp_path)]) == 0
    place = tmp_path / "data_set_card"
    assert "rinobench" in (place / "README.md").read_text("utf-8")
    assert str(place / "README.md") in capsys.readouterr().out
