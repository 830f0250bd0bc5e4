"""A draw and a run of somebody else's: what does not fit is named, and nothing of it gets into the store."""

import json
from pathlib import Path
from typing import Any

import pytest

from lotbench.benchmarks.lotbench.games import read_game
from lotbench.checks.field_labels import labelled
from lotbench.errors import DataError, LotbenchError
from lotbench.storage.home import home

DRAW = {
    "schema": 1,
    "run": "a-run",
    "played": "0badcafe",
    "key": {"benchmark": "lotbench", "role": "judge", "models": ["m"], "data": "d"},
    "names": ["m"],
    "sizes": {"accepted": [2, True], "not accepted": [1, False]},
    "strata": ["accepted", "accepted", "not accepted"],
    "places": [["s", 1, 1], ["s", 1, 2], ["t", 1, 1]],
}


def labels(folder: Path, **change: Any) -> Path:
    """A draw of three rows, all labelled, with other fields."""
    (folder / "draw.json").write_text(json.dumps(DRAW | change))
    lines = [json.dumps({"row": row, "label": True}) + "\n" for row in (1, 2, 3)]
    (folder / "labels.jsonl").write_text("".join(lines))
    return folder / "labels.jsonl"


@pytest.mark.parametrize(
    "change",
    [
        {"sizes": {"accepted": [10**400, True], "not accepted": [1, False]}},
        {"sizes": {"accepted": [-5, True], "not accepted": [1, False]}},
        {"sizes": {"accepted": "x", "not accepted": [1, False]}},
        {"sizes": {"accepted": [1, True], "not accepted": [1, False]}},
        {"sizes": {}},
        {"strata": 5},
        {"places": [1]},
        {"places": []},
        {"key": None},
        {"run": []},
        {"played": None},
    ],
)
def test_a_draw_that_does_not_fit_is_named_and_not_kept(
    change: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stratum of 10^400 was kept, and no report could be made from then on."""
    monkeypatch.setenv("LOTBENCH_HOME", str(tmp_path / "home"))
    with pytest.raises(DataError, match=r"draw\.json"):
        labelled(labels(tmp_path, **change))
    assert not home().exists()


def test_a_draw_that_fits_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOTBENCH_HOME", str(tmp_path / "home"))
    found = labelled(labels(tmp_path))
    assert found.stored.is_file() and found.open == 0


@pytest.mark.parametrize(
    "step",
    [
        {"step": "check", "round": 1, "value": {"judge": "x"}},
        {"step": "check", "round": 1, "value": {"judge": [1]}},
        {"step": "reveal", "round": 1, "value": {"clues": 5}},
        {"step": "chain_accepted", "round": 0, "value": {}},
        {"step": "respond", "round": "x", "value": {}},
        {"round": 1},
    ],
)
def test_steps_of_another_shape_are_named_with_their_game(step: dict[str, Any]) -> None:
    with pytest.raises(LotbenchError, match="game s/1: a step has another shape"):
        read_game("unsolved", [step], "s", 1)
