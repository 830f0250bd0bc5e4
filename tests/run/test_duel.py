"""A duel: four looks at most at the same samples in a private order, and ordinary runs that are left of it."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lotbench.cli import main
from lotbench.config.experiment import Config, Experiment, Limits
from lotbench.errors import LimitReached, UsageError
from lotbench.report.leaderboard import board
from lotbench.run.duel import Look, duel, last_look, resume_duel
from lotbench.run.loading import load_run
from lotbench.run.results import entry
from tests.judging import PlantedJudge, data_set, shipped
from tests.rules import chance, hear
from tests.server import FakeServer

ITEMS = [item for item in shipped(40) if item.language == "en"][:24]
JUDGE = PlantedJudge(ITEMS)
SKILL = {"strong": 0.85, "weak": 0.1, "also-weak": 0.1}


def world(body: Mapping[str, Any]) -> Any:
    """A server's rule: candidates know some of the key texts, each its own; whoever else is asked judges rightly."""
    heard = hear(body)
    if heard.model not in SKILL:
        return JUDGE(body)
    item = max(ITEMS, key=lambda one: heard.text.rfind(one.caption))
    knows = chance(heard.model, item.id) < SKILL[heard.model]
    return {name: item.key_text if knows else "wax crayon" for name in heard.form}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return data_set(tmp_path / "some", ITEMS)


def asked(server: FakeServer, data: Path, repeats: int = 1, **limits: Any) -> Config:
    experiment = Experiment(
        data=str(data),
        repeats=repeats,
        roles={"judge": (f"judge@{server.url}",), "oracle": (f"oracle@{server.url}",)},
        settings={"max_rounds": 2, "ask": False},
    )
    return Config(experiment=experiment, limits=Limits(**limits))


def named(server: FakeServer, *models: str) -> list[str]:
    return [f"{model}@{server.url}" for model in models]


async def test_a_clear_duel_ends_early_and_its_runs_go_on_alone(data: Path, tmp_path: Path) -> None:
    seen: list[Look] = []
    with FakeServer(rule=world) as server:
        models = named(server, "weak", "strong")
        last = await duel(asked(server, data, repeats=2), models, seen.append, out=tmp_path)
    assert last.at < 4 and [look.at for look in seen] == list(range(1, last.at + 1))
    assert [(pair.better, pair.other) for pair in last.apart] == [("strong-2026", "weak-2026")]
    one, other = map(load_run, (run.path for run in last.runs))
    assert one.duel == other.duel != ""
    found = last_look([load_run(run.path) for run in last.runs])
    assert found and (found.at, found.level, found.lines) == (last.at, last.level, last.lines)
    assert found.lines[0].startswith("strong-2026 beats weak-2026: +")
    assert one.config.samples == other.config.samples != tuple(item.id for item in ITEMS)
    for run in last.runs:
        # What was played is the beginning of the order that the run keeps.
        assert {trace.sample for trace in run.traces} == set(run.config.samples[: last.units])
        assert len(run.config.samples) == len(ITEMS) and not run.summary["complete"]
    # A game of the next look changes nothing, and a sample without its last repeat is not played.
    begun = [replace(run, traces=[*run.traces, replace(run.traces[0], sample="next")]) for run in last.runs]
    again = last_look(begun)
    assert again and again.lines == last.lines and len(again.board.pairs) == 1
    first = one.config.samples[0]
    lesser = replace(one, traces=[t for t in one.traces if (t.sample, t.repeat) != (first, 2)])
    assert last_look([lesser, other]) is None
    assert board([entry(run) for run in last.runs]).pairs == ()


async def test_equal_models_that_a_limit_stopped_go_on_play_all_and_are_not_told_apart(
    tmp_path: Path,
) -> None:
    data = data_set(tmp_path / "some", ITEMS[:12])
    with FakeServer(rule=world) as server:
        models = named(server, "weak", "also-weak")
        with pytest.raises(LimitReached):
            await duel(asked(server, data, token_limit=20_000), models, out=tmp_path)
        runs = [load_run(path.parent) for path in sorted(tmp_path.glob("*/run.json"))]
        before = sum(len(run.traces) for run in runs)
        last = await resume_duel(runs, token_limit=10_000_000)
        assert len(runs) == 2 and 0 < before < 24 == sum(len(run.traces) for run in last.runs)
        with pytest.raises(UsageError, match="no runs of one duel"):
            await resume_duel([runs[0], replace(runs[1], duel="another")])
        for some in (runs[:1], [*runs, runs[0]]):
            with pytest.raises(UsageError, match="all of its runs, each named once"):
                await resume_duel(some)
    assert (last.at, last.of, last.units) == (4, 4, 12) and last.over and last.apart == []
    assert all(run.summary["complete"] for run in last.runs)
    assert last.level == pytest.approx(0.044, abs=1e-4)


def test_the_command_says_what_each_look_came_to(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer(rule=world) as server:
        players = [*named(server, "strong", "weak"), "--judge", f"judge@{server.url}"]
        how = ["--data", str(data), "--repeats", "1", "--set", "max_rounds=2", "--set", "ask=false"]
        assert main(["duel", *players, f"--oracle=o@{server.url}", *how, "--out", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "look 1 of 4, 6 samples, level 1.5e-05:" in told and "strong" in told.partition(" beats ")[0]
    assert "\nnot trusted: judge not checked" in told
    assert "\nvariant image+caption, max_rounds=2, ask=false\n" in told
    assert main(["duel", "gpt-5", "--out", str(tmp_path)]) == 2
    assert "two or more models" in capsys.readouterr().err


async def test_a_model_that_cannot_begin_ends_the_other_before_it_has_paid(
    data: Path, tmp_path: Path
) -> None:
    with FakeServer(rule=world) as server:
        models = [*named(server, "strong"), "gpt-4o-mini"]
        with pytest.raises(UsageError, match="OPENAI_API_KEY"):
            await duel(asked(server, data), models, out=tmp_path)
        assert server.log()["requests"] <= 4


def test_a_stopped_command_names_the_one_that_goes_on_with_the_duel(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*ignored: object) -> None:
        raise asyncio.CancelledError(tmp_path)

    with FakeServer(rule=world) as server:
        players = [*named(server, "strong", "weak"), "--judge", f"judge@{server.url}"]
        how = [f"--data={data}", "--set=max_rounds=2", "--set=ask=false", "--limit=6", "--token-limit=4000"]
        assert main(["duel", *players, f"--oracle=o@{server.url}", *how, "--out", str(tmp_path)]) == 3
        command = capsys.readouterr().err.partition("go on with: lotbench ")[2].split()
        assert command[0] == "duel"
        assert {*map(Path, command[1:])} == {path.parent for path in tmp_path.glob("*/run.json")}
        monkeypatch.setattr("lotbench.run.duel._board", interrupt)
        assert main([*command, "--token-limit", "10000000"]) == 130
    assert f"go on with: lotbench {' '.join(command)}\n" in capsys.readouterr().err
