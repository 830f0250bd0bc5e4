"""Runs whose panels differ: severities fitted over all runs, panels that nothing ties, judges whose ids bear dates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lotbench.benchmarks.liveideabench.across_panels import on_one_scale
from lotbench.benchmarks.liveideabench.judged import Comparison, Idea, Keyword, Row
from lotbench.benchmarks.liveideabench.panels import fitted
from lotbench.benchmarks.liveideabench.score import levelled, of_keywords
from lotbench.benchmarks.liveideabench.settings import VERSIONS, Settings
from lotbench.config.model_names import undated
from lotbench.errors import UsageError
from lotbench.metrics.compare import of_headlines
from lotbench.report.leaderboard import Entry, alike, board
from tests.bench import truth, truth_panels

SEVERITY = {"a": 2.0, "b": 0.0, "c": -1.0, "d": -1.0}
V2 = VERSIONS["v2"]


def keyword(number: int, panel: Sequence[str], merit: float, judges: int = 2) -> Keyword:
    """A keyword whose scores are merit and severity, with nothing left to chance."""
    ideas = []
    for at in (1, 2):
        sit = [panel[(number * 2 + at + place) % len(panel)] for place in range(judges)]
        worth = 5 + merit + number % 3
        rows = (Row(0, name, dict.fromkeys(V2.dimensions, worth + SEVERITY[undated(name)])) for name in sit)
        ideas.append(Idea(at, "ok", "", None, tuple(rows), 0))
    pair = Comparison((1, 2), ("B", "B"), False, 0, panel[number % len(panel)])
    return Keyword(f"k{number:02}", 1, "Physics", tuple(ideas), (pair,))


def run(panel: Sequence[str], merit: float = 0.0, **more: Any) -> Mapping[str, list[Keyword]]:
    made = [keyword(number, panel, merit, **more) for number in range(12)]
    return {one.sample: [one] for one in made}


def entry(name: str, panel: Sequence[str], merit: float = 0.0, **more: Any) -> Entry:
    return Entry(
        name=name,
        asked=name,
        answered=(name,),
        benchmark="liveideabench",
        values={},
        failed=0,
        conditions={"roles": {"judge": list(panel)}, "settings": {"panel": "-".join(panel)}, "data": "d"},
        ids={"judge": list(panel)},
        headline=of_keywords(run(panel, merit, **more), Settings()),
    )


def test_severities_are_those_that_were_planted_and_the_gap_of_equal_candidates_is_gone() -> None:
    runs = {"one": run("ab"), "other": run("bc")}
    found = fitted(runs, V2)
    assert found is not None and found.judges == ("a", "b", "c")
    planted = np.array([SEVERITY[name] for name in "abc"])
    for name in V2.dimensions:
        np.testing.assert_allclose(found.values[name], planted - planted.mean())
    raw = {name: of_keywords(records, Settings()) for name, records in runs.items()}
    assert of_headlines(raw["one"], raw["other"]).mean == pytest.approx((3 * 1.5 + 0.75 * 1.5) / 5)
    level = levelled(raw, Settings())
    difference = of_headlines(level["one"], level["other"])
    assert difference.mean == pytest.approx(0.0, abs=1e-9)
    assert found.verdicts.tolist() == [[48 / 2 + 6, 48 / 2 + 6, 0], [0, 30, 30]]


def test_a_candidate_that_is_better_stays_so_by_as_much() -> None:
    raw = {"one": of_keywords(run("ab", 1.0), Settings()), "other": of_keywords(run("bc"), Settings())}
    level = levelled(raw, Settings())
    # Fluency, the fourth part of a keyword's mean, is alike in both.
    assert of_headlines(level["one"], level["other"]).mean == pytest.approx((3 * 1.0 + 0 + 0.75) / 5)


def test_panels_that_no_judge_ties_are_refused_by_name() -> None:
    with pytest.raises(UsageError, match=r"one and other have no judge in common.*: a, b and c, d"):
        fitted({"one": run("ab"), "other": run("cd")}, V2)
    # A third panel with a judge of each ties them.
    assert fitted({"one": run("ab"), "other": run("cd"), "third": run("bc")}, V2) is not None


def test_judges_that_never_meet_are_told_apart_nowhere_and_need_not_be_where_all_runs_have_the_same() -> None:
    same = {"one": run("ab", judges=1), "other": run("ab", judges=1)}
    assert fitted(same, V2) is None
    assert (
        levelled({name: of_keywords(r, Settings()) for name, r in same.items()}, Settings()).keys()
        == same.keys()
    )
    with pytest.raises(UsageError, match="the judges of one, other are not the same and too few"):
        fitted({"one": run("ab", judges=1), "other": run("bc", judges=1)}, V2)
    assert fitted({"one": run("a", judges=1), "other": run("a", judges=1)}, V2) is None


def test_a_judge_that_answers_under_several_dates_is_one() -> None:
    found = fitted({"one": run(("a-2024-05-13", "b")), "other": run(("a-2024-11-20", "b-latest"))}, V2)
    assert found is not None and found.judges == ("a", "b")


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("gpt-4o-2024-11-20", "gpt-4o"),
        ("chatgpt-4o-latest", "chatgpt-4o"),
        ("claude-3-5-sonnet-20241022", "claude-3-5-sonnet"),
        ("o3-mini-high", "o3-mini-high"),
        ("gpt-4o", "gpt-4o"),
    ],
)
def test_an_id_without_its_date(name: str, bare: str) -> None:
    assert undated(name) == bare


def test_runs_of_panels_with_a_judge_in_common_stand_in_one_ranking() -> None:
    one, other, apart = entry("x", "ab"), entry("y", "bc"), entry("z", ("d",), judges=1)
    made = board([one, other])
    assert [place.mean.value for place in made.places] == [pytest.approx(made.places[0].mean.value)] * 2
    assert made.pairs[0].difference.mean == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(UsageError, match="x and z have no judge in common"):
        board([one, apart])
    assert len(alike([one, other])) == 1
    # Whatever else differs still keeps runs apart.
    elsewhere = replace(other, conditions={**other.conditions, "data": "e"})
    with pytest.raises(UsageError, match="data: d and e"):
        board([one, elsewhere])


def test_the_comparison_says_who_judged_what_and_how_severely() -> None:
    settings = Settings()
    runs = {
        name: ([walk for walks in run(panel).values() for walk in walks], settings)
        for name, panel in (("x", "ab"), ("y", "bc"))
    }
    level, section = on_one_scale(runs)
    (table,) = section.tables
    assert [row[:3] for row in table.rows] == [("a", 30, 0), ("b", 30, 30), ("c", 0, 30)]
    means = [np.mean([one.mean("clarity") for one in keywords]) for keywords, _ in level.values()]
    assert means[0] == pytest.approx(means[1])
    apart = {"x": runs["x"], "z": ([keyword(n, "d", 0.0, 1) for n in range(9)], settings)}
    level, section = on_one_scale(apart)
    assert level is apart and "Scores are as they were given: x and z have no judge" in section.notes[0]


@pytest.mark.slow
def test_equal_candidates_of_other_panels_are_told_apart_no_more_often_than_chance_says() -> None:
    plants = {name: trial for _, name, trial in truth_panels.plants()}
    found = truth.run(plants["equal, two judges in common"], 40)
    assert found.coverage >= 0.85 and abs(found.bias) < 0.05
    before = {name: trial for _, name, trial in truth_panels.plants(level=False)}
    assert truth.run(before["equal, two judges in common"], 20).coverage < 0.5
