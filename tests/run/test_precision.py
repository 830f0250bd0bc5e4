"""`--precision`: repeats are added until the interval is as narrow as asked, and it is said what that takes, or that it cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lotbench.cli import main
from lotbench.errors import LimitReached, UsageError
from lotbench.metrics.planning import narrowing
from lotbench.metrics.variance import components
from lotbench.run import precision
from lotbench.run.evaluate import begin, resume
from lotbench.run.precision import Progress
from lotbench.run.results import Run, load_run
from tests.dueling import skilled
from tests.run.test_duel import asked
from tests.server import FakeServer

SKILLS = {"ace": 0.4}
FIELDS: dict[str, Any] = {"limit": 12, "repeats": 0}


async def precise(out: Path, wanted: float, said: list[Progress] | None = None, **fields: Any) -> Run:
    by_sample = fields.pop("by_sample", False)
    with FakeServer(rule=skilled(SKILLS, by_sample=by_sample), caches=False) as server:
        given = {**FIELDS, "model": f"ace@{server.url}", "limits.precision": wanted, **fields}
        return await begin(asked(server.url, **given), out=out, say=(said if said is not None else []).append)


def half(run: Run) -> float:
    found = run.summary["scores"]["creativity_score"]
    return float(found["high"] - found["low"]) / 2


def repeats(run: Run) -> set[tuple[str, int]]:
    return {(trace.sample, trace.repeat) for trace in run.traces}


async def test_repeats_are_added_for_all_samples_until_it_is_as_narrow_as_asked(tmp_path: Path) -> None:
    said: list[Progress] = []
    run = await precise(tmp_path, 0.13, said)
    table = json.loads((run.path / "run.json").read_text(encoding="utf-8"))
    number = table["experiment"]["repeats"]
    assert number > 2
    assert half(run) <= 0.13 < said[-2].narrowing.half  # type: ignore[operator]
    assert len(repeats(run)) == 12 * number
    assert [one.repeats for one in said] == list(range(2, number + 1))
    assert f"± 0.13 takes about {said[0].narrowing.repeats} repeats, " in said[0].said
    assert said[0].said.endswith(f"{12 * ((said[0].narrowing.repeats or 0) - 2)} games more")
    assert said[-1].ended == "as narrow as asked (± 0.13)"
    # The run is one of so many repeats, like any other.
    assert run.summary["complete"] is True
    again = load_run(run.path)
    assert again.config.repeats == number


async def test_that_repeats_alone_cannot_is_said_at_once(tmp_path: Path) -> None:
    said: list[Progress] = []
    run = await precise(tmp_path, 0.1, said, by_sample=True)
    assert len(said) == 1
    assert said[0].ended.startswith("repeats alone cannot make it ± 0.1, about ± 0.")
    assert said[0].ended.endswith("with any number of them: only more samples can")
    assert len(repeats(run)) == 24
    assert run.summary["complete"] is True


async def test_no_repeat_is_begun_for_which_a_limit_has_no_room(tmp_path: Path) -> None:
    whole = await precise(tmp_path / "first", 0.5)
    usage = whole.summary["usage"]
    tokens = usage["input_tokens"] + usage["output_tokens"]
    said: list[Progress] = []
    run = await precise(tmp_path, 0.13, said, **{"limits.token_limit": round(tokens * 1.4)})
    limited = said[-1].ended
    assert limited.startswith("the token limit of") and limited.endswith("no room for another repeat")
    assert run.summary["complete"] is True


async def test_a_repeat_that_was_broken_off_is_gone_on_with(tmp_path: Path) -> None:
    unbroken = await precise(tmp_path / "unbroken", 0.13)
    with FakeServer(rule=skilled(SKILLS), caches=False) as server:
        given = {**FIELDS, "model": f"ace@{server.url}", "limits.precision": 0.13}
        calls = 0

        def stop(progress: Progress) -> None:
            nonlocal calls
            calls += 1
            if calls == 2:
                raise LimitReached("here")

        with pytest.raises(LimitReached):
            await begin(asked(server.url, **given), out=tmp_path, say=stop)
        (path,) = tmp_path.glob("*-lotbench-*")
        assert len(repeats(load_run(path))) == 36
        done = await resume(path)
    assert repeats(done) == repeats(unbroken)
    assert done.summary["scores"] == unbroken.summary["scores"]


async def test_what_says_its_own_repeats_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="says itself how often"):
        await begin(
            asked(
                "http://127.0.0.1:1/v1",
                benchmark="hicbench",
                data="hicbench",
                model="local",
                settings={"dhp": True},
                **{"roles.dhp_judge": ["judge"], "roles.oracle": None, "limits.precision": 0.1, **FIELDS},
            ),
            out=tmp_path,
        )
    with pytest.raises(UsageError, match="goes without --shards"):
        await begin(
            asked("http://127.0.0.1:1/v1", model="ace", **FIELDS, **{"limits.precision": 0.1}),
            out=tmp_path,
            shards=2,
        )
    assert not list(tmp_path.iterdir())


def test_the_command_says_what_it_will_take(tmp_path: Path, capsys: Any) -> None:
    with FakeServer(rule=skilled(SKILLS), caches=False) as server:
        url = server.url
        line = f"evaluate --model ace@{url} --judge judge@{url} --oracle oracle@{url} --data lotbench_easy --limit 8"
        sets = "--set max_rounds=4 --set arm=caption --no-preflight --precision 0.4"
        assert main([*line.split(), *sets.split(), "--out", str(tmp_path)]) == 0
    told = capsys.readouterr().err
    assert "each repeat of all samples: 8 games; cost at most, about:" in told
    assert "after 2 repeats: as narrow as asked (± 0.4)" in told


def test_the_forecast_is_right_where_samples_and_repeats_are_known() -> None:
    """Samples of variance 1/4 whose repeats have variance 1: with r of them, the error is that of (1/4 + 1/r) / n."""
    cells = {str(at): [0.5 * sign + 1.0, 0.5 * sign - 1.0] for at, sign in enumerate([1, -1] * 50)}
    parts = components(cells)
    assert parts is not None and parts.repeat == pytest.approx(0.25 / 99 * 100 * 2, rel=0.01)
    known = type(parts)(0.25, 1.0, 100, 2.0)
    now = narrowing((-0.2, 0.2), known, 0.15)
    assert now.floor == pytest.approx(0.2 * (0.25 / 0.75) ** 0.5)
    assert now.repeats == 6  # 0.25 + 1 / r <= 0.75 * (0.15 / 0.2) ** 2
    out = narrowing((-0.2, 0.2), known, 0.11)
    assert out.repeats is None and not out.beyond, "samples may differ less than they seem to"
    assert narrowing((-0.2, 0.2), known, 0.05).beyond
    assert narrowing((-0.2, 0.2), known, 0.2).repeats == 2
    assert narrowing((None, 0.2), known, 0.2).half is None


def test_two_repeats_are_the_first_unless_a_number_is_named() -> None:
    url = "http://127.0.0.1:1/v1"
    assert precision.first(asked(url, repeats=0, **{"limits.precision": 0.1})).experiment.repeats == 2
    assert precision.first(asked(url, repeats=4, **{"limits.precision": 0.1})).experiment.repeats == 4
    assert precision.first(asked(url, repeats=0)).experiment.repeats == 0
