"""What the real tools make of exported runs: inspect_ai reads each log, every-eval-ever's schemas take each file.

The newest release of each, in an environment of its own where its pins fight ours, fetched without installing where
its schemas are enough.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lotbench.cli import main
from tests.old_runs import FOLDER, RUNS

pytestmark = pytest.mark.slow

READS = """
import json, math, sys
from inspect_ai.log import read_eval_log
made = {}
for path in sys.argv[1:]:
    log = read_eval_log(path)
    [score] = log.results.scores
    samples = {f"{one.id}/{one.epoch}": one.scores["lotbench"].value for one in log.samples}
    made[path] = {
        "status": log.status,
        "metrics": {name: metric.value for name, metric in score.metrics.items()},
        "metadata": {name: metric.metadata for name, metric in score.metrics.items()},
        "samples": {name: None if math.isnan(value) else value for name, value in samples.items()},
        "roles": sorted({event.role for one in log.samples for event in one.events if event.event == "model"}),
    }
print(json.dumps(made))
"""


def pip(*arguments: str, python: str = sys.executable) -> None:
    command = [python, "-m", "pip", "-q", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True, capture_output=True, timeout=600)


def exported(tool: str, out: Path) -> dict[str, Path]:
    """Every recorded run, each in a folder of its own."""
    for name in RUNS:
        assert main(["export", str(FOLDER / name), "--to", tool, "--out", str(out / name)]) == 0
    return {name: out / name for name in RUNS}


def summary(name: str) -> dict[str, Any]:
    return dict(json.loads((FOLDER / name / "summary.json").read_text(encoding="utf-8")))


def test_inspect_reads_every_log_with_each_metric_and_each_score(tmp_path: Path) -> None:
    venv.create(tmp_path / "tool", with_pip=True)
    python = str(tmp_path / "tool" / "bin" / "python")
    pip("install", "inspect_ai", python=python)
    logs = {name: next(folder.iterdir()) for name, folder in exported("inspect", tmp_path / "logs").items()}
    done = subprocess.run(
        [python, "-c", READS, *map(str, logs.values())],
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    read = json.loads(done.stdout)
    for name, path in logs.items():
        told, scores = read[str(path)], summary(name)["scores"]
        known = {metric: score for metric, score in scores.items() if score["value"] is not None}
        assert told["metrics"] == {metric: pytest.approx(score["value"]) for metric, score in known.items()}
        for metric, about in told["metadata"].items():
            assert (about["low"], about["high"]) == (scores[metric]["low"], scores[metric]["high"])
        rows = [
            json.loads(line)
            for line in (FOLDER / name / "traces.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        assert told["samples"] == {f"{row['sample']}/{row['repeat']}": row["score"]["value"] for row in rows}
        assert told["status"] == "success" and "candidate" in told["roles"]


def test_the_schemas_of_every_eval_ever_take_every_file_and_every_line(tmp_path: Path) -> None:
    pip(
        "download",
        "--no-deps",
        "--python-version",
        "3.12",
        "--only-binary=:all:",
        "-d",
        str(tmp_path),
        "every-eval-ever",
    )
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        whole, row = (
            json.loads(packed.read(f"every_eval_ever/schemas/{name}.schema.json"))
            for name in ("eval", "instance_level_eval")
        )
    for folder in exported("every-eval-ever", tmp_path / "out").values():
        [about], [walks] = folder.rglob("*.json"), folder.rglob("*.jsonl")
        jsonschema.validate(json.loads(about.read_text(encoding="utf-8")), whole)
        for line in walks.read_text(encoding="utf-8").splitlines():
            jsonschema.validate(json.loads(line), row)
