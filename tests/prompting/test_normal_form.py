"""Normal forms of texts take linear time."""

import unicodedata
from importlib.resources import files
from pathlib import Path

import pytest

from lotbench.prompting.normal_form import normal


@pytest.mark.parametrize("row", ["\u0301\u0323", "\u0323\uff9e", "\u0f73"])
def test_a_row_of_marks_is_cut_before_it_is_sorted(row: str) -> None:
    text = f"a{row}" * 9 + "が ｶﾞ"
    assert normal("NFKC", text) == unicodedata.normalize("NFKC", text)
    assert len(normal("NFKD", f"a{row * 100_000}")) <= 61


def test_every_text_is_normalized_in_linear_time() -> None:
    modules = [Path(str(files(name))) for name in ("lotbench", "clot_training", "graphs")]
    users = [
        path.name
        for room in modules
        for path in room.rglob("*.py")
        if "normalize(" in path.read_text("utf-8")
    ]
    assert users == ["normal_form.py"]
