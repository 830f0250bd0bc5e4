"""The released ideas and critiques come in as runs, with the numbers that their rows have."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lotbench import load_run
from lotbench.cli import main

COLUMNS = (
    "keywords", "idea_model", "critic_model", "idea", "raw_critique", "parsed_scores", "full_response",
    "first_was_rejected", "first_reject_response",
)  # fmt: skip
CRITICS = ("openai/o3-mini-high", "qwen/qwq-32b", "deepseek/deepseek-r1")
CATEGORIES = "keyword,category,similarity_score\nmoss,Biology,0.9\nsarin,Chemistry,0.8\n"


def critiques(
    model: str, keyword: str, idea: str, scores: Sequence[int], **fields: Any
) -> list[Mapping[str, Any]]:
    """An idea with three critics, who give it one more from each to the next."""
    return [
        dict.fromkeys(COLUMNS, "")
        | {
            "keywords": keyword,
            "idea_model": model,
            "critic_model": critic,
            "idea": idea,
            "raw_critique": "so so",
            "parsed_scores": json.dumps(
                dict(zip(("originality", "feasibility", "clarity"), (s + at for s in scores), strict=True))
            ),
            "full_response": idea,
            "first_was_rejected": 0,
        }
        | fields
        for at, critic in enumerate(CRITICS)
    ]


def rows() -> list[Mapping[str, Any]]:
    declined = {"first_was_rejected": 1, "first_reject_response": "I cannot help with that."}
    return [
        *critiques("openai/gpt-4o-mini", "moss", "Moss clocks tell the hour.", (3, 4, 5)),
        *critiques("openai/gpt-4o-mini", "moss", "Moss maps show the wind.", (5, 4, 3)),
        *critiques("openai/gpt-4o-mini", "sarin", "Detect it by bees.", (7, 6, 5), **declined),
        *critiques("openai/gpt-4o-mini", "sarin", "Detect it by moths.", (7, 6, 5)),
        *critiques("qwen/qwen-max", "moss", "Moss drinks fog.", (1, 2, 3)),
        *critiques("qwen/qwen-max", "moss", "Moss " * 201, (1, 2, 3)),
        *critiques(
            "qwen/qwen-max", "sarin", "Enzymes eat it.", (2, 2, 2), parsed_scores="{'originality': 'N/A'}"
        ),
    ]


def put(folder: Path, table: Sequence[Mapping[str, Any]], categories: str = CATEGORIES) -> Path:
    with (folder / "view.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(table)
    (folder / "keyword_classifications.csv").write_text(categories, encoding="utf-8")
    return folder / "view.csv"


def test_released_rows_become_a_run_a_model_that_compare(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["data", "import", "liveideabench-ideas", str(put(tmp_path, rows())), str(tmp_path / "v2")]) == 0
    )
    assert "2 runs" in capsys.readouterr().out
    runs = sorted((tmp_path / "v2" / "runs").iterdir())
    small, large = (
        load_run(next(path for path in runs if name in path.name)) for name in ("gpt-4o-mini", "qwen-max")
    )

    # Means over keywords of means over ideas of means over critics, who gave s, s + 1 and s + 2.
    assert small.score("originality") == pytest.approx(((4 + 6) / 2 + 8) / 2)
    assert small.score("clarity") == pytest.approx(((6 + 4) / 2 + 6) / 2)
    assert small.summary["scores"]["fluency"]["value"] is None and not small.summary["rankable"]
    assert small.summary["usage"]["calls"] == 0
    # Too long an idea is left out; a verdict without scores is a gap, and a keyword without any failed.
    assert large.score("originality") == 2
    assert large.summary["outcomes"] == {"judge_failed": 1, "scored": 1}
    text = small.report.read_text(encoding="utf-8")
    assert "I cannot help with that." in text and "deepseek/deepseek-r1" in text

    command = ["compare", *map(str, (small.path, large.path)), "--out", str(tmp_path / "compared")]
    assert main(command) == 0
    compared = (tmp_path / "compared" / "compare.md").read_text(encoding="utf-8")
    for title in (
        "Runs by category",
        "Quality and length of ideas",
        "Length and quality over runs",
        "Refusals of runs",
    ):
        assert title in compared
    assert main(["report", str(small.path)]) == 0


def test_faults_of_released_rows_have_their_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = [dict(row) for row in rows()[:2]]
    wrong[1]["idea"] = " "
    assert (
        main(["data", "import", "liveideabench-ideas", str(put(tmp_path, wrong)), str(tmp_path / "v2")]) == 2
    )
    assert "view.csv:3: idea: empty" in capsys.readouterr().err
    (tmp_path / "view.csv").write_text("keywords,idea\n", encoding="utf-8")
    assert (
        main(["data", "import", "liveideabench-ideas", str(tmp_path / "view.csv"), str(tmp_path / "v2")]) == 2
    )
    assert "critic_model: the column is missing" in capsys.readouterr().err
    assert not (tmp_path / "v2").exists()
