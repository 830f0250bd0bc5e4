"""Episodes that broke off: what the score may be is printed with it as the primary metric, with sampling error."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lotbench.benchmarks.lotbench.games import game
from lotbench.benchmarks.lotbench.labelled import corrected
from lotbench.benchmarks.lotbench.primary_metric import primary_metric
from lotbench.benchmarks.lotbench.score import metrics
from lotbench.cli.evaluate import print_result
from lotbench.report import bounds
from lotbench.report.html.run_report import page
from lotbench.report.leaderboard import Entry, board
from lotbench.report.ranking_sections import sections
from lotbench.report.report import build, laid_out, to_markdown, to_summary
from lotbench.run.loading import Run
from lotbench.site.home import boards
from lotbench.types import Trace
from tests.games import Rules, broken, unsolved, won
from tests.report.test_leaderboard import CONDITIONS
from tests.report.test_report import FACTS, TRACES, report, row

RULES = Rules(max_rounds=3)


def entry(name: str, run: Sequence[Trace], **other: Any) -> Entry:
    fields: dict[str, Any] = {"asked": name, "answered": (name,), "benchmark": "b", "failed": 0, "values": {}}
    fields |= {"conditions": CONDITIONS, "primary_metric": primary_metric(run, Rules())}
    return Entry(name=name, **fields | other)


def test_bounds_are_the_score_if_a_broken_game_was_solved_at_once_or_never() -> None:
    found = metrics(TRACES, RULES)["creativity_score"].bounds
    # Worth 1 and exp(-.2) for sure; the game that broke off in round 2 is worth exp(-.2), or nothing.
    assert found["least"] == pytest.approx((1 + math.exp(-0.2)) / 4)
    assert found["most"] == pytest.approx((1 + 2 * math.exp(-0.2)) / 4)
    assert (found["broken"], found["of"]) == (1, 4)
    rounds = metrics(TRACES, RULES)["mean_rounds"].bounds
    assert rounds["least"] == pytest.approx((1 + 2 + 2 + 3) / 4) and rounds["most"] == pytest.approx(
        (1 + 3 + 2 + 3) / 4
    )
    assert metrics([won("a", 1, 1), unsolved("b", 1, 3)], RULES)["creativity_score"].bounds == {}


def failing(rng: np.random.Generator, samples: int, fails: float) -> list[Trace]:
    """Games of a judge that cannot read so many of the right guesses, and reads every wrong one."""
    made = []
    for at, chance in enumerate(rng.beta(1, 6, samples)):
        for repeat in (1, 2, 3):
            solved = int(rng.geometric(chance))
            if solved > 15:
                made.append(unsolved(f"s{at:03}", repeat))
            else:
                end = broken if rng.random() < fails else won
                made.append(end(f"s{at:03}", repeat, solved))
    return made


@pytest.fixture(scope="module")
def informative() -> list[Trace]:
    return failing(np.random.default_rng(3), 60, 0.4)


def test_a_score_that_failures_bend_further_than_its_interval_says_so(informative: list[Trace]) -> None:
    found = metrics(informative, Rules())["creativity_score"]
    truth = metrics(failing(np.random.default_rng(3), 60, 0.0), Rules())["creativity_score"].value
    assert truth is not None and found.high is not None and truth > found.high
    low, high = found.bounds["low"], found.bounds["high"]
    assert low is not None and high is not None and low < truth < high
    said = bounds.moving("creativity_score", found.bounds, found.low, found.high)
    assert said is not None and "of 180 tasks broke off" in said
    few = metrics(failing(np.random.default_rng(3), 60, 0.05), Rules())["creativity_score"]
    assert few.bounds and bounds.moving("creativity_score", few.bounds, few.low, few.high) is None
    assert bounds.moving("creativity_score", {}, 0.1, 0.2) is None and bounds.in_words({}) is None
    assert bounds.in_words({**few.bounds, "low": None}).endswith("(open to " + f"{few.bounds['high']:.4g})")  # type: ignore[union-attr]


def test_bounds_stand_beside_the_score_in_every_primary_metric_place(
    informative: list[Trace],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = build(informative, metrics(informative, Rules()), (), replace(FACTS, n_episodes=180))
    shown = bounds.in_words(made.scores["creativity_score"].bounds)
    assert shown is not None and shown.count(" to ") == 2
    summary = to_summary(made)
    text, html = to_markdown(made), page(made)
    assert row(text, "metric")[3] == "bounds" and row(text, "creativity_score")[3] == shown
    assert f"bounds {shown}, whatever broke off" in html
    for told in (text, html):
        assert "creativity\\_score may move further" in told or "creativity_score may move further" in told
        assert bounds.ABOUT.split(";")[0] in told
    why = ["the candidate \x1b]0;owned\x07 and the judge are siblings"]
    asked = SimpleNamespace(model="broken", roles={}, benchmark="lotbench")
    run = Run(tmp_path, asked, {}, {}, (), {**summary, "rankable": False, "reasons": why})  # type: ignore[arg-type]
    monkeypatch.setenv("COLUMNS", "60")
    print_result(run)
    told = capsys.readouterr().out
    assert all(len(line) <= 60 or str(tmp_path) in line for line in told.splitlines())
    told = " ".join(told.split())
    assert f"bounds {shown}" in told and "creativity_score may move further" in told
    assert "not trusted: other reasons; the report says why" in told and not set("\x1b\x07") & set(told)
    assert "bounds" not in to_markdown(replace(made, scores=metrics([won("a", 1, 1)], Rules())))


def test_rankings_have_bounds_too(informative: list[Trace]) -> None:
    runs = [entry("broken", informative), entry("whole", failing(np.random.default_rng(4), 60, 0.0))]
    ranking = sections(board(runs))[0]
    place = next(row for row in ranking.tables[0].rows if row[0] == "broken")
    shown = bounds.in_words(metrics(informative, Rules())["creativity_score"].bounds)
    assert place[ranking.tables[0].columns.index("bounds")] == shown
    assert any(note.startswith("broken may move further") for note in ranking.notes)
    assert shown is not None and shown in "".join(laid_out(ranking))
    (page_of_runs,) = boards(runs)
    assert {row.label: row.bounds for row in page_of_runs.rows} == {"broken": shown, "whole": ""}
    assert bounds.ABOUT in page_of_runs.groups[0].notes


def test_a_corrected_score_has_the_bounds_of_its_games_by_hand() -> None:
    # a/2 broke off in round 2. Never: right stops 1 of 4, 1 of 3, none of 2; at once: two of three in round 2.
    labels = {("a", 0, 1): True, ("b", 0, 2): True, ("a", 1, 1): False, ("b", 1, 1): False}
    found = corrected([game(trace) for trace in TRACES], labels, RULES)[1].bounds
    assert found["least"] == pytest.approx((1 + math.exp(-0.2)) / 4)
    assert found["most"] == pytest.approx((1 + 2 * math.exp(-0.2)) / 4)
    assert found["broken"] == 1 and report().scores["creativity_score"].bounds["of"] == 4


def test_differences_say_what_is_known_of_the_judge(informative: list[Trace]) -> None:
    checked = {"value": 0.021, "low": 0.012, "high": 0.034, "hits": 12, "n": 571}
    runs = [entry("one", informative, checked=checked), entry("other", informative)]
    section = next(part for part in sections(board(runs)) if part.title == "Differences")
    rate = "The judge's FPR, checked on hard negatives: 0.021 (0.012 to 0.034), n = 571"
    assert f"{rate}; p allows for its upper end." in section.notes
    unchecked = [entry("one", informative), runs[1]]
    section = next(part for part in sections(board(unchecked)) if part.title == "Differences")
    assert any("The judge was not checked" in note for note in section.notes)
