"""The house keeps its shape: what lies where (`make check` holds the imports)."""

import pytest

from lotbench import benchmarks
from lotbench.cli.parser import DEFAULT_BENCHMARK
from lotbench.config import experiment
from tests.pages import ROOT


def test_the_parser_has_the_default_benchmark_of_the_configuration() -> None:
    assert DEFAULT_BENCHMARK == experiment.DEFAULT_BENCHMARK == experiment.Experiment().benchmark


def test_nothing_lies_loose_but_errors_types_and_regular_files() -> None:
    loose = {path.name for path in (ROOT / "lotbench").iterdir() if path.is_file()}
    assert loose == {"__init__.py", "errors.py", "py.typed", "regular_file.py", "types.py"}


@pytest.mark.parametrize("name", benchmarks.NAMES)
def test_every_benchmark_has_the_same_files(name: str) -> None:
    folder = ROOT / "lotbench" / "benchmarks" / name
    wanted = {"task.py", "candidate.py", "score.py", "settings.py", "sections.py", "prompts"}
    if "judge" in benchmarks.get(name).roles:
        wanted.add("judge.py")
    assert wanted - {path.name for path in folder.iterdir()} == set()
