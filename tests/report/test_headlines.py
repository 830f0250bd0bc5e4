"""Runs are ranked by what their benchmark headlines: no gain in giving no answer, none in games that break off."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from lotbench.benchmarks.lotbench import headline as lotbench
from lotbench.benchmarks.rinobench import score as rinobench
from lotbench.benchmarks.rinobench.settings import Settings
from lotbench.metrics.compare import difference, of_headlines, of_metric
from lotbench.metrics.headline import Headline, of_sums
from lotbench.report.comparison import compare, to_markdown
from lotbench.report.html.comparison_page import page
from lotbench.report.leaderboard import Entry, board
from lotbench.report.ranking_sections import sections, summed_up
from lotbench.run.loading import load_run
from lotbench.run.results import entry
from lotbench.site.home import boards
from lotbench.types import Score, Trace
from tests.games import Rules, lost, respond, trace, unread, unsolved, won
from tests.recorded import FOLDER, RUNS
from tests.report.test_leaderboard import CONDITIONS, THREE

IDEAS = 62
GOLD = [1 + at % 5 for at in range(IDEAS)]
HEADLINES = {
    "lotbench": "creativity_score",
    "rinobench": "macro_f1",
    "hicbench": "ifs",
    "liveideabench": "average",
}


def judgment(at: int, said: int | None, status: str = "ok") -> Trace:
    parts: dict[str, Any] = {"gold": GOLD[at], "said": said, "status": status, "shortened": 0, "works": 1}
    parts |= {"alignment": None, "counts": None}
    if status == "no reply":
        parts = {"gold": GOLD[at], "status": None}
    score = Score(None if said is None else float(said == GOLD[at]), parts=parts)
    outcome = "candidate_failed" if status == "no reply" else "scored" if said else status
    return Trace(f"i{at:02}", 1, "l", outcome, score, (), None, {})


def run(name: str, traces: Sequence[Trace], headline: Headline) -> Entry:
    values = {one.sample: one.score.value for one in traces if one.score.value is not None}
    given: dict[str, Any] = {"asked": name, "answered": (name,), "benchmark": "b", "failed": 0}
    given |= {"conditions": CONDITIONS}
    return Entry(name=name, values=values, headline=headline, **given)


def ideas(name: str, right: int, status: str = "ok") -> Entry:
    """Right on the first ideas; of the rest nothing but a status, or a score that is one off."""
    traces = [
        judgment(at, GOLD[at])
        if at < right
        else judgment(at, 1 + GOLD[at] % 5 if status == "ok" else None, status)
        for at in range(IDEAS)
    ]
    return run(name, traces, rinobench.headline(traces, Settings(justification=False)))


@pytest.mark.parametrize("status", ["unparsed", "refused", "no reply"])
def test_who_gives_no_answer_stands_last(status: str) -> None:
    made = board([ideas("silent", 14, status), ideas("invalid", 11, "invalid"), ideas("honest", 34)])
    assert made.places[0].label == "honest" and made.metric == "macro_f1"
    assert made.places[0].mean.value == pytest.approx(34 / 62, abs=0.02)
    apart = {(one.better, one.other) for one in made.pairs if one.apart}
    assert ("honest", "invalid") in apart and not any(better == "silent" for better, _ in apart)
    (shown,) = boards([place.entry for place in made.places])
    assert [row.label for row in shown.rows] == [place.label for place in made.places]
    if status == "no reply":
        assert summed_up(made) == (
            "honest beats invalid; silent stands last: its score rests on 14 of 62 samples."
        )
        assert "silent is paired with nobody: macro_f1 knows nothing of 48 of its 62 samples." in [
            note for part in sections(made) for note in part.notes
        ]


@pytest.mark.parametrize("name", RUNS)
def test_the_ranking_has_the_value_of_the_summary(name: str) -> None:
    recorded = load_run(FOLDER / name)
    if not recorded.summary:
        pytest.skip("a run that never ended is in no ranking")
    found = entry(recorded)
    benchmark = recorded.config.benchmark
    assert not found.abstained
    assert found.metric.name == HEADLINES.get(benchmark, found.metric.name)
    summary = recorded.summary["scores"][found.metric.name]
    assert found.metric.whole().value == pytest.approx(summary["value"], abs=1e-12)
    (place,) = board([found]).places
    (row,) = boards([Entry(**{name: getattr(found, name) for name in Entry.__slots__} | {"reasons": ()})])[
        0
    ].rows
    assert place.mean.value == row.mean == pytest.approx(summary["value"], abs=1e-12)


def games(rng: np.random.Generator, hardness: np.ndarray, breaks: float) -> list[Trace]:
    """Games of one model, a sample each, that a judge fails in with the same chance every round."""
    made = []
    for at, chance in enumerate(hardness):
        solved, broken = rng.geometric(chance), rng.geometric(breaks) if breaks else 99
        name = f"s{at:02}"
        if broken <= min(solved, 15):
            steps = [*lost(broken - 1), respond(broken), unread(broken)]
            made.append(trace(name, 1, "judge_failed", steps))
        else:
            made.append(won(name, 1, solved) if solved <= 15 else unsolved(name, 1))
    return made


def test_games_that_break_off_make_no_model_better() -> None:
    rng, trials, false, shifts, naive = np.random.default_rng(5), 60, 0, [], []
    for _ in range(trials):
        hardness = np.clip(rng.beta(0.6, 3, 60), 0.005, 0.9)
        pair = [games(rng, hardness, breaks) for breaks in (0.0, 0.02)]
        one, other = (lotbench.headline(traces, Rules()) for traces in pair)
        found = of_headlines(one, other)
        assert found.p is not None and found.mean is not None
        false += found.p < 0.05
        shifts.append(found.mean)
        means = [np.mean([g.score.value for g in traces if g.score.value is not None]) for traces in pair]
        naive.append(float(means[1] - means[0]))
    assert np.mean(naive) > 3 * abs(np.mean(shifts))
    assert abs(float(np.mean(shifts))) < 0.012
    # Of 60 trials at 5 %, more than seven are false in one of a hundred.
    assert false <= 7


@pytest.mark.parametrize("n", [3, 5, 7])
def test_few_samples_are_exchanged_in_every_way(n: int) -> None:
    counts = np.random.default_rng(2).integers(0, 5, (2 * n, 2)).astype(float) + 1
    found = of_metric(of_sums(counts, lambda sums: sums[..., 0] / sums[..., 1]), n)

    def ahead(flips: Sequence[int]) -> float:
        sides = np.array([counts[at + n * flip] for at, flip in enumerate(flips)])
        others = np.array([counts[at + n * (1 - flip)] for at, flip in enumerate(flips)])
        return float(sides[:, 0].sum() / sides[:, 1].sum() - others[:, 0].sum() / others[:, 1].sum())

    every = np.abs([ahead(flips) for flips in product((0, 1), repeat=n)])
    assert found.mean == pytest.approx(ahead([0] * n)) and found.p is not None
    assert found.p >= (every >= abs(ahead([0] * n)) - 1e-9).mean() - 1e-9


@pytest.mark.parametrize("n", [5, 6, 12, 40])
def test_a_mean_as_a_ratio_differs_as_the_mean_does(n: int) -> None:
    rng = np.random.default_rng(n)
    for shift in np.linspace(0, 1.2, 5):
        one, other = rng.normal(shift, 1, n), rng.normal(0, 1, n)
        both = np.stack([np.concatenate([one, other]), np.ones(2 * n)], axis=1)
        found = of_metric(of_sums(both, lambda sums: sums[..., 0] / sums[..., 1]), n)
        paired = difference(by_number(one), by_number(other))
        for name in ("mean", "low", "high", "p", "sd"):
            assert getattr(found, name) == pytest.approx(getattr(paired, name)), name


def test_of_two_runs_the_better_is_so_on_what_they_share() -> None:
    names = [f"s{at:02}" for at in range(40)]
    first, second = (
        {name: float((at < 10) == top) for at, name in enumerate(names)} for top in (True, False)
    )
    given: dict[str, Any] = {"answered": (), "benchmark": "b", "failed": 0, "conditions": CONDITIONS}
    short = Entry(name="short", asked="short", values={name: 0.0 for name in names[:10]}, **given)
    entries = [Entry(name=n, asked=n, values=v, **given) for n, v in (("first", first), ("second", second))]
    made = board([*entries, short])
    assert made.places[0].label == "first"
    assert summed_up(board(entries)) == "second beats first."
    (pair,) = [one for one in made.pairs if "short" not in (one.better, one.other)]
    assert pair.better == "second" and pair.difference.mean == pytest.approx(0.5)


def by_number(values: np.ndarray) -> dict[str, float]:
    return {f"{at:02}": float(value) for at, value in enumerate(values)}


def test_a_ranking_is_summed_up_in_a_sentence_above_it() -> None:
    made = board(THREE)
    best, second = (place.label for place in made.places[:2])
    assert summed_up(made) == (
        f"{best} and {second} are not clearly different, {second} beats low; 2 of 3 pairs are clear."
    )
    everybody = compare(THREE, lambda name, called: ())
    assert everybody.said == (summed_up(made),)
    assert to_markdown(everybody).split("\n\n")[1] == summed_up(made)
    shown = page(everybody)
    assert shown.index("2 of 3 pairs are clear") < shown.index("Ranking")


def test_many_pairs_are_compared_without_a_table_of_all_of_them() -> None:
    rng, n = np.random.default_rng(3), 2_500
    counts = np.stack([rng.random(2 * n), np.ones(2 * n)], axis=1)
    ratio = of_sums(counts, lambda sums: sums[..., 0] / sums[..., 1])
    tracemalloc.start()
    found = of_metric(ratio, n)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # One table of n x n numbers would be 50 MB, and there were four.
    assert peak < 30e6
    apart = counts[:n, 0] - counts[n:, 0]
    assert found.sd == pytest.approx(apart.std(ddof=1)) and found.mean == pytest.approx(apart.mean())
