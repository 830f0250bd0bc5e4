"""What the hub's own tools make of our exports: `datasets` loads the episodes, the hub parses the entries."""

import json
import sys
from pathlib import Path

import pytest

from lotbench.cli import main
from lotbench.run.loading import load_run
from tests.environments import Place
from tests.recorded import FOLDER, RUNS

pytestmark = pytest.mark.slow

READS = """
import json, sys
import yaml
from datasets import load_dataset
from huggingface_hub import parse_eval_result_entries
told = {}
for folder, entry in json.loads(sys.argv[1]):
    tables = {name: load_dataset(folder, name)["train"] for name in ("episodes", "steps")}
    told[folder] = {
        "steps": tables["steps"].num_rows,
        "episodes": [[row["sample"], row["repeat"], row["score"]] for row in tables["episodes"]],
        "values": [one.value for one in parse_eval_result_entries(yaml.safe_load(open(entry)))],
    }
print(json.dumps(told))
"""


def test_the_hub_reads_episodes_and_entry_of_each_run_and_takes_none_for_another(tmp_path: Path) -> None:
    places = {}
    for name in RUNS:
        assert main(["export", str(FOLDER / name), "--to", "huggingface", "--out", str(tmp_path / name)]) == 0
        [episodes] = (tmp_path / name).glob("episodes-*")
        [entry] = (tmp_path / name / "model_repository").rglob("*.yaml")
        places[name] = (str(episodes), str(entry))
    # One cache for all: two folders of one name would be one data set to it.
    offline = {"HF_HOME": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"}
    here = Place(Path(sys.executable).parent, tmp_path)
    done = here.run("python", "-c", READS, json.dumps([*places.values()]), **offline)
    loaded = json.loads(done.stdout.splitlines()[-1])
    for name, (episodes, _) in places.items():
        run = load_run(FOLDER / name)
        assert loaded[episodes] == {
            "steps": sum(len(one.steps) for one in run.traces),
            "episodes": [[one.sample, one.repeat, one.score.value] for one in run.traces],
            "values": [run.score()],
        }
