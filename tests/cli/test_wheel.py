"""The built wheel is all that a run needs: installed alone, elsewhere, it plays the starter set."""

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.environments import Place, environment
from tests.pages import ROOT
from tests.server import FakeServer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    missing = [name for name in ("build", "hatchling") if importlib.util.find_spec(name) is None]
    assert not missing, f"not in this environment: {missing} (pip install -e '.[dev]')"
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, timeout=240)
    [made] = out.iterdir()
    return made


@pytest.fixture(scope="module")
def place(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """An environment with the wheel and, after it on the path, the libraries of this one."""
    root = tmp_path_factory.mktemp("elsewhere")
    programs = environment(root, "--no-deps", str(wheel), index=False)
    (root / "work").mkdir()
    return Place(programs, root / "work")


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def shipped(folder: str) -> set[str]:
    """The files that the repository has below a folder, as git or a plain copy of the tree sees them."""
    found = (
        path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )
    return {path.relative_to(ROOT).as_posix() for path in found}


def test_every_prompt_config_sample_and_picture_is_in_the_wheel(wheel: Path) -> None:
    inside = names(wheel)
    assert shipped("lotbench") <= inside
    assert shipped("graphs") <= inside
    assert {f"lotbench/{name}" for name in shipped("data") | shipped("configs")} <= inside
    parts = ["py.typed", "benchmarks/lotbench/prompts/zh/respond.txt", "data/lotbench_easy/samples.jsonl"]
    parts += ["data/judge_sets/daeso.jsonl", "configs/paper/lotbench.toml"]
    assert {f"lotbench/{part}" for part in parts} <= inside
    assert sum(name.startswith("lotbench/data/lotbench_easy/images/") for name in inside) > 100


def test_nothing_else_is_in_the_wheel(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in names(wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"lotbench", "graphs", "clot_training"}
    parts = {part for name in names(wheel) for part in name.split("/")}
    assert not parts & {"tests", ".venv", "runs", "__pycache__", ".git", ".env", ".langgraph_api"}


def test_lotbench_comes_from_the_wheel_alone(place: Place) -> None:
    told = place.run(
        "python",
        "-c",
        "import lotbench, graphs, json; from lotbench.storage.datasets import shipped; from lotbench.run.plan import version;"
        "print(json.dumps([lotbench.__file__, graphs.__file__, str(shipped('data', 'lotbench_easy')), version()]))",
    )
    *paths, version = json.loads(told.stdout)
    environment = str(place.bin.parent)
    assert all(path.startswith(environment) for path in paths), paths
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert version == pyproject["project"]["version"]


def test_what_there_is_can_be_listed_and_checked(place: Place) -> None:
    listed = place.run("lotbench", "list").stdout
    assert "lotbench (version" in listed
    assert re.search(r"^data sets: .*lotbench", listed, re.MULTILINE)
    path = place.run(
        "python",
        "-c",
        "from lotbench.storage import datasets; print(datasets.shipped('data', 'lotbench_easy'))",
    )
    place.run("lotbench", "data", "check", path.stdout.strip())


def test_the_starter_set_is_evaluated_and_replayed(place: Place) -> None:
    with FakeServer() as server:
        who = {role: f"{role}@{server.url}" for role in ("candidate", "judge", "oracle")}
        roles = ["--model", who["candidate"], "--judge", who["judge"], "--oracle", who["oracle"]]
        told = place.run("lotbench", "evaluate", "--limit", "4", "--max-rounds", "3", *roles)
    [run] = (place.folder / "runs").iterdir()
    assert f"report  {Path('runs') / run.name / 'report.html'}" in told.stdout
    traces = [json.loads(line) for line in (run / "traces.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(traces) == 12
    assert not [trace["why"] for trace in traces if trace["outcome"].endswith("_failed")]
    game = json.loads(place.run("lotbench", "replay", "latest", "--json").stdout)
    assert game["steps"]
    assert place.run("lotbench", "replay", "latest").stdout.strip()
    before = (run / "traces.jsonl").read_bytes()
    place.run("lotbench", "score", "latest")
    assert (run / "traces.jsonl").read_bytes() == before


def test_the_embedded_model_without_weights_says_what_to_install(place: Place) -> None:
    command = "evaluate --model local --judge local --oracle local --set arm=caption --out no"
    told = place.run("lotbench", *command.split(), code=2).stderr
    assert "lotbench local install" in told
    assert len(told.strip().splitlines()) == 1
    assert not (place.folder / "no").exists()
