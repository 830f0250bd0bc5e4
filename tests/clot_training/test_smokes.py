"""The smokes that the pages name: every step with pictures, and both examples of learning from games."""

import json
import subprocess
import sys
from pathlib import Path
from statistics import fmean

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def test_all_steps_run_with_pictures_in_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.vision_smoke import main

    assert main([str(tmp_path), "--clip-steps", "2"]) == 0
    told = capsys.readouterr().out
    assert "Eq. 1 keeps 25 to 31 of 100" in told
    assert "keywords stood at places 25 to 31" in told
    assert "| stage 2, weak conditions |" in (tmp_path / "work" / "report.md").read_text("utf-8")


def curve(out: Path, example: str, steps: int) -> list[dict[str, float]]:
    """The curve of an example's smoke."""
    command = [sys.executable, str(ROOT / "examples" / example / "train.py"), "--smoke", "--out", str(out)]
    done = subprocess.run([*command, "--steps", str(steps)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in (out / "curve.jsonl").read_text("utf-8").splitlines()]


def test_a_model_that_plays_learns_what_its_judge_pays_for(tmp_path: Path) -> None:
    """The weak judge's reward rises, and what the samples' lists call right does not."""
    lines = curve(tmp_path, "grpo", 20)
    paid = [line["rewards/score/mean"] for line in lines]
    right = [line["rewards/listed/mean"] for line in lines]
    assert len(lines) == 20
    assert fmean(paid[-5:]) > fmean(paid[:3]) + 0.3
    assert fmean(right[-5:]) < 0.1


def test_accepted_and_refused_answers_come_apart(tmp_path: Path) -> None:
    margins = [line["rewards/margins"] for line in curve(tmp_path, "dpo", 30)]
    assert fmean(margins[-5:]) > fmean(margins[:5]) + 0.05
