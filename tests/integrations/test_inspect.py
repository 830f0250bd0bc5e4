"""What the real inspect_ai makes of our logs and of our tasks: its newest release, in an environment of its own."""

import json
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from lotbench.run.evaluate import evaluate_sync
from lotbench.run.loading import Run, load_run
from tests.environments import Place
from tests.fakes import RuleModel
from tests.recorded import FOLDER
from tests.rules import Rule, Said, game_rule, hear
from tests.server import FakeServer

pytestmark = pytest.mark.slow

READ = """
import json, math, sys
from inspect_ai import eval
from inspect_ai.log import read_eval_log

def read(path):
    log = read_eval_log(path)
    [score] = log.results.scores
    samples = {f"{one.id}/{one.epoch}": one.scores["lotbench"].value for one in log.samples if one.scores}
    return {
        "status": log.status,
        "metrics": {name: metric.value for name, metric in score.metrics.items()},
        "metadata": {name: metric.metadata for name, metric in score.metrics.items()},
        "samples": {name: None if math.isnan(value) else value for name, value in samples.items()},
        "errors": [one.error.message for one in log.samples if one.error],
        "roles": sorted({event.role or "" for one in log.samples for event in one.events if event.event == "model"}),
    }

given, printed = json.loads(sys.argv[1]), []
"""
"""What inspect reads in a log. A script goes on after it, and does all that it can in one process, which takes 5 s to start."""


class Tool(Place):
    """The programs of an environment that has inspect_ai and lotbench."""

    def script(self, text: str, given: Any = None, **variables: str) -> Any:
        """What a script makes of `given`: its list `printed`."""
        whole = f"{READ}{text}\nprint(json.dumps(printed))"
        return json.loads(
            self.run("python", "-c", whole, json.dumps(given), **variables).stdout.splitlines()[-1]
        )


@pytest.fixture
def tool(environments: Mapping[str, Future[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    monkeypatch.setenv("INSPECT_DISPLAY", "plain")
    return Tool(environments["inspect"].result(), tmp_path)


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
for task, roles, options, folder in given:
    [log] = eval(task, model="openai-api/fake/candidate", model_roles=roles, task_args=options, log_dir=folder,
        max_retries=1)
    assert log.status == "success", log.error
    printed.append(read(log.location))
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


def beside(folder: Path) -> Run:
    """The run that an evaluation by inspect left beside its one log."""
    [_] = folder.glob("*.eval")
    [run] = (path.parent for path in folder.glob("*/run.json"))
    return load_run(run)


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
    [path] = (tmp_path / "logs").glob("*.eval")
    [log] = tool.script("printed.append(read(given))", str(path))
    agree(mine, beside(tmp_path / "logs"), log)
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
        logs = tool.script(EVALS, evals, FAKE_API_KEY="none", FAKE_BASE_URL=server.url)
    for name, log in zip(PANELS, logs, strict=True):
        agree(mine[name], beside(tmp_path / "logs" / name), log)


LIMITED = """
roles = {role: "openai-api/fake/" + role for role in ("judge", "oracle")}
folder, options = given
[log] = eval("lotbench/lotbench", model="openai-api/fake/candidate", model_roles=roles, log_dir=folder, max_samples=1,
    task_args={"limit": 2, "max_rounds": 2, "repeats": 1}, **options)
printed.append(read(log.location))
"""


def test_inspects_limits_end_a_sample_and_retries_pay_for_no_reply_twice(tool: Tool, tmp_path: Path) -> None:
    folders = [tmp_path / "limited", tmp_path / "retried"]
    options = [{"token_limit": 300}, {"retry_on_error": 1}]
    rule = game_rule(solve=0.0)
    with FakeServer(rule=rule, caches=False) as server:
        mine = [str(folders[0]), options[0]]
        [first] = tool.script(LIMITED, mine, FAKE_API_KEY="none", FAKE_BASE_URL=server.url)
    # A key that is refused for once, in the middle of the first game.
    with FakeServer(rule=rule, faults=[None] * 5 + ["403"], caches=False) as server:
        mine = [str(folders[1]), options[1]]
        [second] = tool.script(LIMITED, mine, FAKE_API_KEY="none", FAKE_BASE_URL=server.url)
        told = server.log()
    limited, retried = (beside(folder) for folder in folders)
    assert set(first["samples"].values()) == {None}, first
    assert all(value != value for value in first["metrics"].values())
    assert not limited.traces and not limited.summary["complete"]
    assert told["by_fault"] == {"403": 1} and not told["repeated"]
    assert set(second["samples"].values()) == {0.0} and not second["errors"]
    assert retried.summary["complete"] and retried.summary["outcomes"] == {"unsolved": 2}


NAMES = """
import os
from inspect_ai.model import get_model
from lotbench.config.model_names import parse
from lotbench.integrations.inspect_model import name
for moved in (False, True):
    if moved:
        os.environ["OPENROUTER_BASE_URL"] = "http://me:secret@127.0.0.1:3/v1"
    for url in (None, "http://127.0.0.1:1/v1"):
        for model in ("openrouter/x/y", "openai/gpt-4o", "openai/azure/gpt-4o"):
            printed.append(parse(name(get_model(model, base_url=url, memoize=False))).text)
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
    assert tool.script(NAMES, **keys) == [
        *plain.split(),
        "python:openrouter/x/y~127.0.0.1:3", *plain.split()[1:3], "python:openrouter/x/y~127.0.0.1:1+127.0.0.1:3",
        *plain.split()[4:],
    ]  # fmt: skip


REFUSED = """
from inspect_ai._util.error import PrerequisiteError
for task, options in given:
    try:
        eval("lotbench/" + task, model="mockllm/model", display="none", **options)
    except PrerequisiteError as error:
        printed.append(str(error))
"""


def test_what_inspect_cannot_play_is_said_before_anything_is_asked(tool: Tool, tmp_path: Path) -> None:
    limited = tmp_path / "limited.toml"
    limited.write_text("[limits]\ntoken_limit = 3000\n", encoding="utf-8")
    sampled = {"model": "mockllm/model", "top_k": 3}
    refused: list[tuple[str, dict[str, Any], str]] = [
        ("hicbench", {}, "hicbench has no default judge: give --model-role judge=NAME"),
        ("lotbench", {"model_roles": {"umpire": "mockllm/model"}}, "the roles of lotbench are judge, oracle"),
        ("lotbench", {"task_args": {"max_round": 3}}, "max_round"),
        ("lotbench", {"task_args": {"concurrency": 3}}, "inspect has its own"),
        ("lotbench", {"task_args": {"config": str(limited)}}, "token_limit: inspect has its own"),
        ("lotbench", {"system_message": "Say yes."}, "system_message: the benchmark sets prompts"),
    ]
    asked = [[task, options] for task, options, _ in refused]
    told = tool.script(REFUSED, asked, OPENAI_API_KEY="none")
    assert len(told) == len(refused)
    assert all(said in one for one, (*_, said) in zip(told, refused, strict=True)), told
    # The command prints it without a traceback.
    command = ("inspect", "eval", "lotbench/lotbench", "--model", "mockllm/model")
    done = tool.run(*command, f"--model-role=judge={json.dumps(sampled)}", code=1, OPENAI_API_KEY="none")
    assert "top_k: the benchmark" in done.stdout + done.stderr, done
