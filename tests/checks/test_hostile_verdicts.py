"""Recorded verdicts from files that somebody else wrote: each fault has its place, and nothing of them is carried out."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from lotbench.cli import main

CASE = {
    "ground_truth": "T",
    "model_judge": "T",
    "sample": 1,
    "story_title": "s",
    "input": "i",
    "total_tokens": 1,
}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"cases": 5}', "cases a list"),
        ('{"info": [], "cases": []}', "info is an object"),
        (json.dumps({"cases": [{**CASE, "total_tokens": math.inf}]}), "case 1: OverflowError"),
        (json.dumps({"cases": [{**CASE, "total_tokens": "9" * 5000}]}), "case 1: ValueError"),
        (json.dumps({"cases": [{**CASE, "ground_truth": []}, 7]}), "case 2: TypeError"),
        ('{"cases": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deep"),
        ("target,response,score_" + "9" * 5000 + "\n1,a,2\n", "no column score_K"),
        ("target,response,score_5\nnan,a,2\n", "'nan' is no number"),
        ("target,response,score_5\n1,a,1e999\n", "'1e999' is no number"),
        ("target,response,score_5\n1," + "a" * 200_000 + ",2\n", "field larger than field limit"),
        ("target,response,score_05\n1,a,2\n", "no column score_K"),
        ("target,response,score_5\n1\n", ": there is none"),
        ('{"row": "r", "truth": 1e999, "said": 1}\n{"row": "r", "truth": 1, "said": NaN}\n', "truth"),
    ],
)
def test_a_file_of_somebody_else_s_making_is_refused_by_place(
    text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "v.txt"
    file.write_text(text)
    out = ["--out", str(tmp_path / "out")]
    assert main(["judge-check", "--recorded", str(file), *out]) == 2
    said = capsys.readouterr().err
    assert told in said and len(said) < 1500


def test_no_escape_sequence_of_a_recorded_judge_reaches_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = [{**CASE, "sample": number, "model_judge": "TF"[number % 2]} for number in range(8)]
    cases += [{**CASE, "sample": number, "ground_truth": "F"} for number in range(8, 16)]
    log = {"info": {"model": "m\x1b]0;owned\x07<script>", "language": "en\x1b[31m"}, "cases": cases}
    (tmp_path / "v.json").write_text(json.dumps(log))
    assert main(["judge-check", "--recorded", str(tmp_path / "v.json"), "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err
    (page,) = (tmp_path / "out").glob("*/report.html")
    assert "<script>]" not in page.read_text("utf-8") and "owned\x07<script>" not in page.read_text("utf-8")
