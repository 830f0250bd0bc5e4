"""The shipped configurations: each opens with its command, and the defaults written out are the defaults."""

from pathlib import Path
from typing import Any

import pytest

from clot_training import config
from lotbench.benchmarks import get
from lotbench.config.experiment import load
from lotbench.run.plan import make
from lotbench.storage import datasets

EVERY = sorted(datasets.shipped("configs").glob("**/*.toml"))
TRAINING = [path for path in EVERY if path.parent.name == "clot" or path.stem == "clot"]
FILES = [path for path in EVERY if path not in TRAINING]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_configuration_opens_with_the_command_that_runs_it(path: object) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]  # type: ignore[attr-defined]
    assert first.startswith("# lotbench evaluate --config configs/")


@pytest.mark.parametrize("path", TRAINING, ids=lambda path: path.stem)
def test_a_training_configuration_opens_with_its_first_command_and_can_be_read(path: Path) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith(f"# clot instructions --config configs/{path.parent.name}/{path.name}")
    config.load(path)


def test_a_frozen_training_configuration_can_be_run_again(tmp_path: Path) -> None:
    sets = [
        "data=['oogiri']",
        'out="a \\"b\\" \\\\ é \\u007f"',
        "tune.trainer.learning_rate=1e-5",
        "tune.lora.target_modules=['q', 'v']",
    ]
    made = config.load(datasets.shipped("configs", "clot", "vision-7b.toml"), sets)
    config.freeze(made, tmp_path)
    assert config.load(tmp_path / "config.toml") == made
    assert made.tune.trainer["learning_rate"] == 1e-5
    assert made.tune.lora["r"] == 16


PLAYERS = {"judge": ("gpt-4o-mini",), "oracle": ("gpt-4o-mini",)}


@pytest.mark.parametrize(
    ("file", "unsaid", "roles"),
    [
        ("lotbench", {"confirm"}, PLAYERS),
        ("liveideabench-v2", {"panel"}, {}),
        ("rinobench", set(), None),
        ("standard", {"captions", "rewrites"}, None),
    ],
)
def test_the_defaults_written_out_are_the_defaults(file: str, unsaid: set[str], roles: Any) -> None:
    written, benchmark = load(datasets.shipped("configs", f"{file}.toml")).experiment, get(file.split("-")[0])
    assert benchmark.Settings(**written.settings) == benchmark.Settings()
    assert set(written.settings) == set(benchmark.Settings.model_fields) - unsaid
    assert written.repeats == benchmark.repeats and roles in (None, written.roles)
    for role, sampling in written.sampling.items():
        assert sampling.temperature == benchmark.roles[role].sampling.temperature


def test_the_defaults_of_the_first_liveideabench_differ_in_the_version() -> None:
    first, settings = (
        load(datasets.shipped("configs", "liveideabench-v1.toml")).experiment,
        get("liveideabench").Settings,
    )
    assert settings(**first.settings) == settings(version="v1")


def test_the_papers_of_liveideabench_differ_in_the_version_and_the_unit_of_flexibility() -> None:
    one, two = (
        load(datasets.shipped("configs", "paper", f"liveideabench-{version}.toml")).experiment.settings
        for version in ("v1", "v2")
    )
    assert one | {"version": "v2", "flexibility_unit": "keyword"} == two
    assert (two["exclude"], two["no_final"], two["fluency_orders"]) == ("self", "judge_all", "one")


def test_the_configuration_to_try_visits_every_node_and_ends_soon() -> None:
    plan = make(load(datasets.shipped("configs", "try.toml")))
    assert (len(plan.chosen), plan.experiment.repeats, plan.settings.max_rounds) == (3, 1, 4)
    assert (plan.settings.clue_interval, plan.settings.arm) == (2, "caption")
    assert {name.kind for names in plan.names.values() for name in names} == {"local"}
