"""Duels: who is better is said as soon as it is known, rightly, whatever stops it on the way."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lotbench.cli import main
from lotbench.config import experiment as config
from lotbench.config.experiment import Config
from lotbench.errors import LimitReached, Unreachable, UsageError
from lotbench.report import duel as told
from lotbench.report.duel import Duel, Pair, Spending
from lotbench.run import duel as duels
from lotbench.run.compare_runs import compared
from lotbench.run.duel import Standing
from lotbench.run.results import load_run
from lotbench.site.runs import Gallery
from tests.dueling import skilled
from tests.killing import PATIENCE_S, running
from tests.playing import SETTINGS
from tests.server import FakeServer

SKILLS = {"ace": 0.4, "mid": 0.1, "dud": 0.1}


def asked(url: str, **fields: Any) -> Config:
    given: dict[str, Any] = {
        "data": "lotbench_easy",
        "limit": 40,
        "repeats": 2,
        "limits.concurrency": 4,
        "roles.judge": [f"judge@{url}"],
        "roles.oracle": [f"oracle@{url}"],
        "settings": {**SETTINGS, "max_rounds": 4},
    }
    return config.load(None, (), given | fields)


async def held(out: Path, *models: str, skills: Mapping[str, float] = SKILLS, **fields: Any) -> Standing:
    """A duel of models at a server."""
    delta = fields.pop("delta", None)
    with FakeServer(rule=skilled(skills), caches=False) as server:
        names = [one if one == "placebo" else f"{one}@{server.url}" for one in models]
        return await duels.begin(asked(server.url, **fields), names, out=out, delta=delta)


def verdicts(standing: Standing) -> dict[tuple[str, str], str | None]:
    return {(pair.one, pair.other): pair.verdict for pair in standing.pairs}


@pytest.fixture(scope="module")
def of_two(tmp_path_factory: pytest.TempPathFactory) -> Standing:
    return asyncio.run(held(tmp_path_factory.mktemp("duel"), "mid", "ace"))


def test_the_better_of_two_is_named_before_the_set_is_spent(of_two: Standing) -> None:
    standing = of_two
    (pair,) = standing.pairs
    assert pair.verdict == "behind"
    assert standing.said[0].startswith("ace is clearly better than mid: by 0.")
    assert f"after {standing.spent.games} of 160 games" in standing.said[0]
    assert standing.spent.games < 160
    assert (standing.path / "duel.html").read_text(encoding="utf-8").count(
        "ace is clearly better than mid"
    ) >= 2


async def test_models_alike_are_played_to_the_end_and_not_told_apart(tmp_path: Path) -> None:
    standing = await held(tmp_path, "mid", "dud", limit=10)
    assert verdicts(standing) == {("mid", "dud"): None}
    assert standing.said[0].startswith("no clear difference: mid minus dud is between -")
    assert "after all 40 games (10 of 10 samples)" in standing.said[0]
    low, high = standing.pairs[0].interval or (0.0, 0.0)
    assert low < 0 < high


async def test_a_difference_that_matters_can_be_excluded(tmp_path: Path) -> None:
    standing = await held(tmp_path, "mid", "dud", skills={}, delta=0.45)
    assert verdicts(standing) == {("mid", "dud"): "alike"}
    assert "so not beyond 0.45 either way, after" in standing.said[0]
    assert standing.spent.games < 160


def test_the_runs_of_a_duel_are_runs_that_compare_reads(of_two: Standing) -> None:
    standing = of_two
    runs = [load_run(path.parent) for path in sorted(standing.path.glob("*/run.json"))]
    assert len(runs) == 2
    assert "ace" in str(compared(runs).sections)
    # Whoever was ahead when it was stopped looks better than it is.
    assert all(not run.summary["rankable"] for run in runs)
    played = [{trace.sample for trace in run.traces} for run in runs]
    assert played[0] == played[1]
    table = json.loads((standing.path / "duel.json").read_text(encoding="utf-8"))
    assert table["said"] == list(standing.said)
    assert set(table["order"][: len(played[0])]) == played[0]


async def test_of_three_the_settled_one_plays_no_further(tmp_path: Path) -> None:
    standing = await held(tmp_path, "ace", "mid", "dud", skills=SKILLS | {"ace": 1.0}, limit=16, repeats=1)
    found = verdicts(standing)
    assert found["ace", "mid"] == found["ace", "dud"] == "ahead"
    assert found["mid", "dud"] is None
    games = {run: len(load_run(standing.path / run).traces) for run in _runs(standing.path)}
    ace, mid, dud = games.values()
    assert ace < mid == dud == 16
    assert standing.said[-1].startswith(f"All that after {ace + mid + dud} of 48 games")


def test_the_viewer_shows_a_duel_with_its_runs(of_two: Standing, tmp_path: Path) -> None:
    gallery = Gallery(of_two.path, patience_s=None)
    assert "duel.html" in gallery.get("").body.decode()
    page = gallery.get("duel.html").body.decode()
    assert "ace is clearly better than mid" in page and "at least" in page
    for run in _runs(of_two.path):
        assert f'href="{run}/report.html"' in page
        assert gallery.get(f"{run}/report.html").body == gallery.get(f"report/{run}.html").body
    with pytest.raises(LookupError):
        gallery.get("nosuch/report.html")
    # Somebody else's page, which may run what it likes.
    other = Gallery(tmp_path, patience_s=None)
    (tmp_path / "duel.html").write_text("<!doctype html><script>alert(1)</script>", encoding="utf-8")
    with pytest.raises(LookupError):
        other.get("duel.html")


def test_a_duel_that_is_over_says_so_again_without_a_call(of_two: Standing, capsys: Any) -> None:
    assert main(["resume", str(of_two.path)]) == 0
    assert capsys.readouterr().out.startswith(of_two.said[0])


def _runs(path: Path) -> list[str]:
    return list(json.loads((path / "duel.json").read_text(encoding="utf-8"))["runs"])


async def test_how_many_play_at_once_changes_nothing_of_what_is_found(
    tmp_path: Path, of_two: Standing
) -> None:
    many = await held(tmp_path, "mid", "ace", **{"limits.concurrency": 40})
    assert of_two.spent.games < many.spent.games
    assert of_two.pairs == many.pairs


async def test_a_duel_that_a_limit_stops_goes_on_to_the_same_end(tmp_path: Path, of_two: Standing) -> None:
    """And the limit is that of both models together."""
    with FakeServer(rule=skilled(SKILLS), caches=False) as server:
        names = [f"{one}@{server.url}" for one in ("mid", "ace")]
        with pytest.raises(LimitReached) as stopped:
            await duels.begin(asked(server.url, **{"limits.token_limit": 90_000}), names, out=tmp_path)
        path = stopped.value.run
        assert path is not None
        used = [load_run(path / run).summary["usage"] for run in _runs(path)]
        tokens = sum(one["input_tokens"] + one["output_tokens"] for one in used)
        assert 60_000 < tokens <= 90_000
        said = json.loads((path / "duel.json").read_text(encoding="utf-8"))["said"]
        assert said[-1].startswith("Stopped: the token limit of 90,000")
        done = await duels.resume(path, token_limit=None)
    assert done.pairs == of_two.pairs
    assert done.spent.games == of_two.spent.games
    for run in _runs(path):
        keys = [json.dumps(line["key"]) for line in _calls(path / run)]
        assert len(keys) == len(set(keys))


def _calls(path: Path) -> list[Any]:
    return [json.loads(line) for line in (path / "calls.jsonl").read_text(encoding="utf-8").splitlines()]


async def test_games_that_failed_are_left_out_and_counted(tmp_path: Path) -> None:
    """A judge that cannot be read for some games breaks them off: they are no score of 0."""
    game = skilled(SKILLS)

    def rule(body: Any) -> Any:
        said = game(body)
        broken = "lawnmower" in str(body) and isinstance(said, dict) and "same_creative_point" in said
        return "Well, that depends." if broken else said

    with FakeServer(rule=rule, caches=False) as server:
        names = [f"{one}@{server.url}" for one in ("mid", "dud")]
        # Each game alone: one of two with a score gives its sample one.
        standing = await duels.begin(
            asked(server.url, repeats=1, **{"limits.max_failed": 1.0}), names, out=tmp_path
        )
    (pair,) = standing.pairs
    traces = [load_run(standing.path / run).traces for run in _runs(standing.path)]
    without = {trace.sample for run in traces for trace in run if trace.score.value is None}
    assert 0 < len(without) == pair.without
    assert len(pair.low) == 40 - len(without)
    assert f"Left out: {len(without)} samples of which a model has no score." in standing.said


async def test_games_of_a_duel_that_failed_are_asked_for_anew_when_that_is_wanted(tmp_path: Path) -> None:
    """They were played again over the same replies."""
    game, well = skilled(SKILLS), asyncio.Event()

    def rule(body: Any) -> Any:
        said = game(body)
        broken = not well.is_set() and isinstance(said, dict) and "same_creative_point" in said
        return "Well, that depends." if broken else said

    with FakeServer(rule=rule, caches=False) as server:
        names = [f"{one}@{server.url}" for one in ("mid", "dud")]
        fields = {
            "limit": 2,
            "repeats": 1,
            "limits.max_failed": 1.0,
            "settings": SETTINGS | {"judge_mode": "explained"},
        }
        first = await duels.begin(asked(server.url, **fields), names, out=tmp_path)
        assert {
            trace.outcome for run in _runs(first.path) for trace in load_run(first.path / run).traces
        } == {"judge_failed"}
        well.set()
        again = await duels.resume(first.path, retry_failed=True)
    outcomes = {trace.outcome for run in _runs(again.path) for trace in load_run(again.path / run).traces}
    assert outcomes <= {"solved", "unsolved"}


def test_the_command_names_the_better_than_the_placebo(tmp_path: Path, capsys: Any) -> None:
    with FakeServer(rule=skilled(SKILLS), caches=False) as server:
        url = server.url
        line = f"duel ace@{url} placebo --judge judge@{url} --oracle oracle@{url} --data lotbench_easy --repeats 1"
        sets = "--set max_rounds=4 --set arm=caption --no-preflight --concurrency 4 --seed 3"
        code = main([*line.split(), *sets.split(), "--out", str(tmp_path)])
    told_ = capsys.readouterr()
    assert code == 0
    assert told_.out.startswith("ace is clearly better than placebo: by 0.")
    assert "samples" in told_.err


@pytest.mark.parametrize(
    ("models", "fields", "why"),
    [
        (["ace"], {}, "two or more models"),
        (["ace", "ace"], {}, "each named once"),
        (["ace", "mid"], {"delta": 1.5}, "above 0 and below 1"),
        (["ace", "mid"], {"delta": -0.1}, "above 0 and below 1"),
    ],
)
async def test_what_is_no_duel_is_refused_before_there_is_a_folder(
    tmp_path: Path, models: list[str], fields: dict[str, Any], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        await duels.begin(asked("http://127.0.0.1:1/v1"), models, out=tmp_path, **fields)
    assert not list(tmp_path.iterdir())


async def test_where_nobody_answers_no_folder_is_left(tmp_path: Path) -> None:
    url = "http://127.0.0.1:9/v1"
    with pytest.raises(Unreachable) as error:
        await duels.begin(asked(url), [f"ace@{url}", f"mid@{url}"], out=tmp_path)
    assert error.value.run is None
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_duel_that_was_killed_goes_on_to_the_same_end(tmp_path: Path) -> None:
    ends = []
    with FakeServer(rule=skilled(SKILLS), caches=False, latency=0.01) as server:
        url = server.url
        flags = f"--judge judge@{url} --oracle oracle@{url} --data lotbench_easy --repeats 2 --limit 40 --concurrency 4"
        line = [
            "cli",
            "duel",
            f"ace@{url}",
            f"mid@{url}",
            *flags.split(),
            "--set",
            "max_rounds=4",
            "--set",
            "arm=caption",
        ]
        for name, kill in (("whole", False), ("killed", True)):
            out = tmp_path / name
            with running(tmp_path / f"home-{name}", *line, "--out", out) as process:
                while (
                    kill and sum(len(p.read_bytes().splitlines()) for p in out.glob("*/*/calls.jsonl")) < 40
                ):
                    assert process.poll() is None
                if kill:
                    process.send_signal(signal.SIGKILL)
                process.communicate(timeout=PATIENCE_S)
            (folder,) = out.iterdir()
            if kill:
                assert "said" not in json.loads((folder / "duel.json").read_text(encoding="utf-8"))
                with running(tmp_path / f"home-{name}", "cli", "resume", folder) as process:
                    said, _ = process.communicate(timeout=PATIENCE_S)
                    assert process.returncode == 0, said
                    assert "ace is clearly better than mid" in said
            ends.append(json.loads((folder / "duel.json").read_text(encoding="utf-8")))
    assert ends[0]["pairs"] == ends[1]["pairs"]


def pair(verdict: Any, low: float, high: float) -> Pair:
    return Pair("ace", "mid", (low,), (high,), verdict)


@pytest.mark.parametrize(
    ("found", "spent", "sentence"),
    [
        (
            pair("ahead", 0.02, 0.31),
            Spending(60, 0.3),
            "ace is clearly better than mid: by 0.020 to 0.310, after 60 of 200 games and $0.3000 of about $1.0000",
        ),
        (
            pair("behind", -0.31, -0.02),
            Spending(60, None),
            "mid is clearly better than ace: by 0.020 to 0.310, after 60 of 200 games (",
        ),
        (
            pair("alike", -0.05, 0.08),
            Spending(60, None),
            "no clear difference: ace minus mid is between -0.050 and +0.080, so not beyond 0.1 either way, after",
        ),
        (
            pair(None, -0.05, 0.2),
            Spending(200, 1.0),
            "no clear difference: ace minus mid is between -0.050 and +0.200, after all 200 games and $1.0000 (",
        ),
    ],
)
def test_the_sentence(found: Pair, spent: Spending, sentence: str) -> None:
    names = tuple(map(str, range(50)))
    duel = Duel(("ace", "mid"), names, 2, (0.0, 1.0), 0.1)
    assert told.sentences(duel, [found], spent, 15)[0].startswith(sentence)
