"""What the hub's own tools make of our exports: `datasets` loads the episodes, the hub parses the entries."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lotbench.cli import main
from lotbench.run.loading import load_run
from tests.environments import environment
from tests.recorded import FOLDER, RUNS

pytestmark = pytest.mark.slow

LOADS = """
import json, sys
from datasets import load_dataset
told = {}
for folder in sys.argv[1:]:
    tables = {name: load_dataset(folder, name)["train"] for name in ("episodes", "steps")}
    told[folder] = {
        "steps": tables["steps"].num_rows,
        "episodes": [[row["sample"], row["repeat"], row["score"]] for row in tables["episodes"]],
    }
print(json.dumps(told))
"""
PARSES = """
import json, sys
import yaml
from huggingface_hub import parse_eval_result_entries
print(json.dumps({path: [one.value for one in parse_eval_result_entries(yaml.safe_load(open(path)))] for path in sys.argv[1:]}))
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(tmp_path_factory.mktemp("hub"), "datasets")


def told(programs: Path, folder: Path, script: str, *paths: Path) -> Mapping[str, Any]:
    """What a script of the environment prints, without any network."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(programs / "python"), "-c", script, *map(str, paths)],
        env=env | {"HF_HOME": str(folder / "hub"), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_load_dataset_reads_each_run_and_takes_none_for_another(programs: Path, tmp_path: Path) -> None:
    places = {}
    for name in RUNS:
        assert main(["export", str(FOLDER / name), "--to", "huggingface", "--out", str(tmp_path / name)]) == 0
        [places[name]] = (tmp_path / name).glob("episodes-*")
    # One cache for all: two folders of one name would be one data set to it.
    loaded = told(programs, tmp_path, LOADS, *places.values())
    for name, place in places.items():
        traces = load_run(FOLDER / name).traces
        assert loaded[str(place)]["episodes"] == [[one.sample, one.repeat, one.score.value] for one in traces]
        assert loaded[str(place)]["steps"] == sum(len(one.steps) for one in traces)


def test_the_hub_takes_the_entry_of_each_run(programs: Path, tmp_path: Path) -> None:
    values = {}
    for name in RUNS:
        assert main(["export", str(FOLDER / name), "--to", "huggingface", "--out", str(tmp_path / name)]) == 0
        [entry] = (tmp_path / name / "model_repository").rglob("*.yaml")
        values[str(entry)] = [load_run(FOLDER / name).score()]
    assert told(programs, tmp_path, PARSES, *map(Path, values)) == values
