"""The house keeps its shape: what lies where, and that `make check` notices what does not."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lotbench import benchmarks
from lotbench.cli.parser import DEFAULT_BENCHMARK
from lotbench.config import experiment
from tests.pages import ROOT

PACKAGES = ("lotbench", "graphs", "clot_training")
LINTER = "import sys; sys.path.insert(0, ''); from importlinter.cli import lint_imports_command as run; run()"


def test_the_parser_has_the_default_benchmark_of_the_configuration() -> None:
    assert DEFAULT_BENCHMARK == experiment.DEFAULT_BENCHMARK == experiment.Experiment().benchmark


def test_nothing_lies_loose_but_types_and_errors() -> None:
    loose = {path.name for path in (ROOT / "lotbench").iterdir() if path.is_file()}
    assert loose == {"__init__.py", "errors.py", "py.typed", "types.py"}


@pytest.mark.parametrize("name", benchmarks.NAMES)
def test_every_benchmark_has_the_same_files(name: str) -> None:
    folder = ROOT / "lotbench" / "benchmarks" / name
    wanted = {"task.py", "candidate.py", "score.py", "settings.py", "sections.py", "prompts"}
    if "judge" in benchmarks.get(name).roles:
        wanted.add("judge.py")
    assert wanted - {path.name for path in folder.iterdir()} == set()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The code alone, to be spoilt."""
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package,
            tmp_path / package,
            ignore=lambda folder, names: {n for n in names if _other(folder, n)},
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def _other(folder: str, name: str) -> bool:
    return name == "__pycache__" or (Path(folder, name).is_file() and not name.endswith(".py"))


def broken(folder: Path) -> list[str]:
    """The contracts that the code in a folder breaks."""
    done = subprocess.run(
        [sys.executable, "-c", LINTER, "--no-cache"],
        cwd=folder,
        env={"PYTHONPATH": str(folder)},
        capture_output=True,
        encoding="utf-8",
    )
    found = re.findall(r"^(.+) BROKEN\b", done.stdout, re.MULTILINE)
    assert (done.returncode == 0) == (not found), done.stdout + done.stderr
    assert "kept" in done.stdout, done.stdout + done.stderr
    return found


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("lotbench/types.py", "", None),
        ("lotbench/loose.py", "", "Data flows one way"),
        ("lotbench/attic/__init__.py", "", "Data flows one way"),
        ("lotbench/metrics/intervals.py", "from lotbench.report import sections", "Data flows one way"),
        (
            "lotbench/site/play.py",
            "from graphs import machine",
            "The environment stands above the run, training above all",
        ),
        (
            "lotbench/benchmarks/hicbench/score.py",
            "from lotbench.benchmarks.standard import score",
            "No benchmark knows another",
        ),
        (
            "lotbench/cli/ballot.py",
            "from lotbench.benchmarks.standard import score",
            "Whoever is above the benchmarks asks their registry",
        ),
        (
            "lotbench/benchmarks/hicbench/settings.py",
            "from lotbench.benchmarks.hicbench import task",
            "No room and no file imports in a circle",
        ),
    ],
)
def test_a_contract_breaks_when_the_shape_does(
    copy: Path, file: str, line: str, contract: str | None
) -> None:
    path = copy / file
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8") as code:
        code.write(f"\n{line}\n")
    found = broken(copy)
    assert contract in found if contract else found == []
