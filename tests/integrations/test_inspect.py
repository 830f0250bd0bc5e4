"""What the real inspect_ai makes of our logs and of our tasks: its newest release, in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from lotbench.run.evaluate import evaluate_sync
from lotbench.run.loading import Run, load_run
from tests.environments import environment
from tests.fakes import RuleModel
from tests.pages import ROOT
from tests.recorded import FOLDER
from tests.rules import Rule, Said, game_rule, hear
from tests.server import FakeServer

pytestmark = pytest.mark.slow

READS = """
import json, math, sys
from inspect_ai.log import read_eval_log
made = {}
for path in sys.argv[1:]:
    log = read_eval_log(path)
    [score] = log.results.scores
    samples = {f"{one.id}/{one.epoch}": one.scores["lotbench"].value for one in log.samples if one.scores}
    made[path] = {
        "status": log.status,
        "metrics": {name: metric.value for name, metric in score.metrics.items()},
        "metadata": {name: metric.metadata for name, metric in score.metrics.items()},
        "samples": {name: None if math.isnan(value) else value for name, value in samples.items()},
        "errors": [one.error.message for one in log.samples if one.error],
        "roles": sorted({event.role or "" for one in log.samples for event in one.events if event.event == "model"}),
    }
print(json.dumps(made))
"""


@dataclass(frozen=True)
class Tool:
    """The programs of an environment that has inspect_ai and lotbench, and the folder in which they are used."""

    programs: Path
    folder: Path

    def run(self, *command: str, code: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        """A command of the environment, which ends with that code."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        done = subprocess.run(
            [str(self.programs / command[0]), *command[1:]],
            cwd=self.folder,
            env=env | {"LOTBENCH_HOME": str(self.folder / "home"), "INSPECT_DISPLAY": "plain"} | variables,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr}"
        return done

    def read(self, *logs: Path) -> list[dict[str, Any]]:
        """What inspect reads in these logs."""
        told = json.loads(self.run("python", "-c", READS, *map(str, logs)).stdout)
        return [told[str(log)] for log in logs]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    requirements = ("--no-build-isolation", "--upgrade", "inspect_ai", str(ROOT))
    return environment(tmp_path_factory.mktemp("inspect"), *requirements)


@pytest.fixture
def tool(programs: Path, tmp_path: Path) -> Tool:
    return Tool(programs, tmp_path)


def summary(name: str) -> dict[str, Any]:
    return dict(json.loads((FOLDER / name / "summary.json").read_text(encoding="utf-8")))


class Recording:
    """A rule whose replies are kept by what the model heard; played back, it knows no others."""

    def __init__(self, rule: Rule) -> None:
        self.rule: Rule | None = rule
        self.said: dict[tuple[str, str, int | None], Said] = {}

    def __call__(self, asked: Any) -> Said:
        heard = hear(asked)
        place = (heard.model, heard.text, heard.seed)
        if self.rule is not None:
            self.said[place] = self.rule(asked)
        return self.said[place]


PANELS: dict[str, tuple[Mapping[str, int], Mapping[str, Any]]] = {
    "standard": ({}, {"limit": 6}),
    "liveideabench": ({"judge": 3}, {"limit": 3}),
    "hicbench": ({"judge": 2}, {"limit": 2, "answers": 3}),
    "rinobench": ({"judge": 1}, {"limit": 2}),
}
"""The roles, by how many models play them, and the settings of each run of the other benchmarks."""
EVALS = """
import json, sys
from inspect_ai import eval
for task, roles, options, folder in json.loads(sys.argv[1]):
    [log] = eval(task, model="openai-api/fake/candidate", model_roles=roles, task_args=options, log_dir=folder,
        max_retries=1)
    assert log.status == "success", log.error
"""


def named(place: str) -> str:
    return f"openai-api/fake/{place}"


def models(roles: Mapping[str, int]) -> dict[str, list[str]]:
    """The places of each role, as inspect is told them."""
    return {
        role: [role if index == 1 else f"{role}{index}" for index in range(1, number + 1)]
        for role, number in roles.items()
    }


def own_run(
    folder: Path, benchmark: str, roles: Mapping[str, int], settings: Mapping[str, Any], rule: Rule
) -> Run:
    """A run of lotbench's own, of models that are named as inspect's are."""

    def player(place: str) -> RuleModel:
        model = RuleModel(rule, model_id=f"{place}-2026")
        model.__name__ = named(place)  # type: ignore[attr-defined]
        return model

    cast = {role: [player(place) for place in places] for role, places in models(roles).items()}
    fields = {name: settings[name] for name in ("limit", "repeats", "config_file") if name in settings}
    rest = {name: value for name, value in settings.items() if name not in fields}
    return evaluate_sync(
        benchmark,
        model="" if "config_file" in settings else player("candidate"),
        roles=cast,
        out=folder,
        check=False,
        max_failed=1.0,
        settings=rest,
        **fields,
    )


def episodes(run: Run) -> list[dict[str, Any]]:
    """The traces without their seconds."""
    rows = [asdict(trace) for trace in run.traces]
    for row in rows:
        row["steps"] = [{**step, "seconds": None} for step in row["steps"]]
    return rows


def beside(folder: Path) -> tuple[Run, Path]:
    """The run and the log that an evaluation by inspect left."""
    [log] = folder.glob("*.eval")
    [run] = (path.parent for path in folder.glob("*/run.json"))
    return load_run(run), log


def agree(mine: Run, theirs: Run, log: Mapping[str, Any]) -> None:
    """That two runs went alike, and that the log says what the run says."""
    assert episodes(theirs) == episodes(mine)
    assert theirs.summary["scores"] == mine.summary["scores"]
    assert next(iter(log["metrics"])) == theirs.summary["primary_metric"], "inspect shows the first one"
    for name, score in mine.summary["scores"].items():
        told = [log["metrics"].get(f"{name}{end}") for end in ("", "_low", "_high")]
        assert told == [score["value"], score["low"], score["high"]], name
    assert log["samples"] == {f"{one.sample}/{one.repeat}": one.score.value for one in mine.traces}
    assert not log["errors"]


def broken_run(
    folder: Path, roles: Mapping[str, int], settings: Mapping[str, Any], patch: pytest.MonkeyPatch
) -> tuple[Recording, Run]:
    """A run of the game in which episodes broke off and others did not, whatever samples and prompts are today."""
    for seed in range(20):
        patch.setenv("LOTBENCH_HOME", str(folder / f"home-{seed}"))
        recording = Recording(game_rule(solve=0.3, unreadable=0.05, judge_unreadable=0.4, seed=seed))
        run = own_run(folder / f"runs-{seed}", "lotbench", roles, settings, recording)
        if run.summary["outcomes"].get("judge_failed") and 0 < (run.score() or 0) < 1:
            return recording, run
    raise AssertionError("no episode broke off in 20 runs")


def test_the_game_under_inspect_scores_as_lotbench_does(
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roles, settings = {"judge": 1, "oracle": 1}, {"limit": 4, "max_rounds": 3, "repeats": 2}
    recording, mine = broken_run(tmp_path, roles, settings, monkeypatch)
    recording.rule = None
    flags = [f"--model-role={role}={named(role)}" for role in roles]
    flags += [f"-T{name}={value}" for name, value in settings.items()]
    with FakeServer(rule=recording, caches=False) as server:
        tool.run(
            *("inspect", "eval", "lotbench/lotbench", "--model", named("candidate"), *flags),
            *("--log-dir", str(tmp_path / "logs"), "--max-retries", "1"),
            FAKE_API_KEY="none",
            FAKE_BASE_URL=server.url,
        )
    theirs, path = beside(tmp_path / "logs")
    [log] = tool.read(path)
    agree(mine, theirs, log)
    assert log["roles"] == ["", "judge", "oracle"]


def test_the_other_benchmarks_under_inspect_score_as_lotbench_does(tool: Tool, tmp_path: Path) -> None:
    recording = Recording(game_rule(unreadable=0.05))
    mine = {
        name: own_run(tmp_path / name, name, roles, settings, recording)
        for name, (roles, settings) in PANELS.items()
    }
    recording.rule = None
    evals = [
        (
            f"lotbench/{name}",
            {place: named(place) for places in models(roles).values() for place in places},
            dict(settings),
            str(tmp_path / "logs" / name),
        )
        for name, (roles, settings) in PANELS.items()
    ]
    with FakeServer(rule=recording, caches=False) as server:
        tool.run("python", "-c", EVALS, json.dumps(evals), FAKE_API_KEY="none", FAKE_BASE_URL=server.url)
    found = {name: beside(tmp_path / "logs" / name) for name in PANELS}
    logs = tool.read(*(path for _, path in found.values()))
    for (name, (theirs, _)), log in zip(found.items(), logs, strict=True):
        agree(mine[name], theirs, log)


LIMITED = """
import json, sys
from inspect_ai import eval
roles = {role: "openai-api/fake/" + role for role in ("judge", "oracle")}
for folder, options in json.loads(sys.argv[1]):
    eval("lotbench/lotbench", model="openai-api/fake/candidate", model_roles=roles, log_dir=folder, max_samples=1,
        task_args={"limit": 2, "max_rounds": 2, "repeats": 1}, **options)
"""


def test_inspects_limits_end_a_sample_and_retries_pay_for_no_reply_twice(tool: Tool, tmp_path: Path) -> None:
    folders = [tmp_path / "limited", tmp_path / "retried"]
    options = [{"token_limit": 300}, {"retry_on_error": 1}]
    rule = game_rule(solve=0.0)
    with FakeServer(rule=rule, caches=False) as server:
        mine = json.dumps([[str(folders[0]), options[0]]])
        tool.run("python", "-c", LIMITED, mine, FAKE_API_KEY="none", FAKE_BASE_URL=server.url)
    # A key that is refused for once, in the middle of the first game.
    with FakeServer(rule=rule, faults=[None] * 5 + ["403"], caches=False) as server:
        mine = json.dumps([[str(folders[1]), options[1]]])
        tool.run("python", "-c", LIMITED, mine, FAKE_API_KEY="none", FAKE_BASE_URL=server.url)
        told = server.log()
    limited, retried = (beside(folder) for folder in folders)
    first, second = tool.read(limited[1], retried[1])
    assert set(first["samples"].values()) == {None}, first
    assert all(value != value for value in first["metrics"].values())
    assert not limited[0].traces and not limited[0].summary["complete"]
    assert told["by_fault"] == {"403": 1} and not told["repeated"]
    assert set(second["samples"].values()) == {0.0} and not second["errors"]
    assert retried[0].summary["complete"] and retried[0].summary["outcomes"] == {"unsolved": 2}


NAMES = """
from inspect_ai.model import get_model
from lotbench.config.model_names import parse
from lotbench.integrations.inspect_model import name
for url in (None, "http://127.0.0.1:1/v1"):
    for model in ("openrouter/x/y", "openai/gpt-4o", "openai/azure/gpt-4o"):
        print(parse(name(get_model(model, base_url=url))).text, end=" ")
"""


def test_a_model_at_another_address_is_not_the_public_one(tool: Tool) -> None:
    """A check of the public model counts for the public model alone."""
    keys = {
        **dict.fromkeys(("OPENROUTER_API_KEY", "OPENAI_API_KEY", "AZUREAI_OPENAI_API_KEY"), "none"),
        "AZUREAI_OPENAI_BASE_URL": "http://127.0.0.1:2/v1",
    }
    at = "~127.0.0.1:1"
    there = f"python:openrouter/x/y{at} python:openai/gpt-4o{at} python:openai/azure/gpt-4o{at}"
    plain = f"openrouter/x/y openai/gpt-4o python:openai/azure/gpt-4o {there}"
    assert tool.run("python", "-c", NAMES, **keys).stdout.splitlines()[-1].split() == plain.split()
    moved = tool.run(
        "python", "-c", NAMES, **keys, OPENROUTER_BASE_URL="http://127.0.0.1:3/v1"
    ).stdout.splitlines()[-1]
    assert moved.split() == [
        "python:openrouter/x/y~127.0.0.1:3", *plain.split()[1:3], "python:openrouter/x/y~127.0.0.1:1+127.0.0.1:3",
        *plain.split()[4:],
    ]  # fmt: skip


def test_what_inspect_cannot_play_is_said_before_anything_is_asked(tool: Tool, tmp_path: Path) -> None:
    mine = ["inspect", "eval", "--model", "mockllm/model"]
    limited = tmp_path / "limited.toml"
    limited.write_text("[limits]\ntoken_limit = 3000\n", encoding="utf-8")
    for flags, said in (
        (["lotbench/hicbench"], "hicbench has no default judge: give --model-role judge=NAME"),
        (
            ["lotbench/lotbench", "--model-role=umpire=mockllm/model"],
            "the roles of lotbench are judge, oracle",
        ),
        (["lotbench/lotbench", "-Tmax_round=3"], "max_round"),
        (["lotbench/lotbench", "-Tconcurrency=3"], "inspect has its own"),
        (["lotbench/lotbench", f"-Tconfig={limited}"], "token_limit: inspect has its own"),
        (["lotbench/lotbench", "--system-message=Say yes."], "system_message: the benchmark sets prompts"),
        (
            ["lotbench/lotbench", "--model-role=judge={model: mockllm/model, top_k: 3}"],
            "top_k: the benchmark",
        ),
    ):
        done = tool.run(*mine, *flags, code=1, OPENAI_API_KEY="none")
        assert said in done.stdout + done.stderr, done
        assert "Traceback" not in done.stderr
