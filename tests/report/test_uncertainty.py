"""Where the uncertainty of a run comes from: every number by hand, and what the judges add."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from lotbench.benchmarks.lotbench.games import game
from lotbench.benchmarks.lotbench.rules import worth
from lotbench.benchmarks.lotbench.wavering import judge_part, variance
from lotbench.metrics.judge_part import NO_JUDGE, JudgePart, panel
from lotbench.metrics.planning import Cost
from lotbench.metrics.variance import Components, components
from lotbench.report.uncertainty import intraclass, section
from tests.games import Rules, broken, check, lost, respond, trace, unsolved, won

PARTS = Components(sample=0.06, repeat=0.12, samples=100, repeats=3)
SMALL = Rules(max_rounds=2)


def test_the_sources_and_what_a_dollar_buys_by_hand() -> None:
    found = section("score", PARTS, NO_JUDGE, Cost(10, 0.05), 100)
    sources, more = found.tables
    total = 0.06 / 100 + 0.12 / 300
    assert sources.caption == f"score: standard error {math.sqrt(total):.4g}"
    assert [row[0] for row in sources.rows] == ["samples", "repeats"]
    assert [row[3] for row in sources.rows] == pytest.approx([math.sqrt(0.06 / 100), math.sqrt(0.12 / 300)])
    assert [row[4] for row in sources.rows] == pytest.approx([0.6, 0.4])
    # A dollar buys 20 walks: 6.67 samples of three, or .2 repeats of each of a hundred.
    assert more.caption == "What 1 USD more would buy: 20 tasks, 200 calls"
    assert [row[1:3] for row in more.rows] == [(100, 3), (106.7, 3), (100, 3.2)]
    errors = [total, 0.06 / (320 / 3) + 0.12 / 320, 0.06 / 100 + 0.12 / 320]
    assert [row[3] for row in more.rows] == pytest.approx([math.sqrt(one) for one in errors])
    assert [row[4] for row in more.rows] == pytest.approx([math.sqrt(0.12 / n) for n in (300, 320, 320)])
    assert "The run has all 100 samples of its data set: more would have to be written." in found.notes
    assert found.numbers["standard_error"] == pytest.approx(math.sqrt(total)) and found.name == "variance"


def test_judges_and_labels_are_a_source_of_their_own() -> None:
    judges = section("score", PARTS, JudgePart("three judges", None, 0.03, 3), Cost(10, None))
    total = 0.06 / 100 + 0.12 / 300 + 0.03 / 3
    assert judges.tables[0].rows[-1][:2] == ("judges", 0.03)
    assert judges.tables[0].rows[-1][4] == pytest.approx(0.01 / total)
    assert judges.tables[1].caption == "What 10 % (no price is known) more would buy: 30 tasks, 300 calls"
    last = judges.tables[1].rows[-1]
    assert last[0] == "one more judge, whatever it costs"
    assert last[3] == pytest.approx(math.sqrt(total - 0.03 / 3 + 0.03 / 4))
    labels = section("score", PARTS, JudgePart("labels", None, 0.5, 200, "labels"), Cost(10, 2.0)).tables[1]
    assert labels.caption.startswith("What 60.00 USD more would buy: 30 tasks")
    assert labels.rows[-1][0] == "100 more labels, which are people's work"
    assert labels.rows[-1][3] == pytest.approx(math.sqrt(0.001 + 0.5 / 300))


def test_the_judges_wavering_is_a_part_of_what_repeats_add() -> None:
    found = section("score", PARTS, JudgePart("wavers", 0.03), Cost(1, 0.0)).tables[0]
    name, _, _, alone, share = found.rows[2]
    assert name == "of these, the judge's wavering"
    assert alone == pytest.approx(math.sqrt(0.03 / 300)) and share == pytest.approx(1e-4 / 1e-3)
    # More than all that repeats add cannot be the judge's.
    assert section("score", PARTS, JudgePart("", 9.0), Cost(1, 0.0)).tables[0].rows[2][4] == pytest.approx(
        0.4
    )


def test_with_one_repeat_and_with_one_sample_it_says_what_it_needs() -> None:
    alone = section("score", replace(PARTS, repeat=0.0, repeats=1, split=False), NO_JUDGE, Cost(1, 0.5))
    assert alone.notes[0].startswith("Needs 2 repeats") and alone.numbers["repeat"] is None
    assert [row[0] for row in alone.tables[1].rows] == ["as it is", "samples"]
    none = section("score", components({"a": [1.0]}), NO_JUDGE, Cost(1, 0.5))
    assert (
        none.notes == ("There is nothing to take apart: needs 2 samples with a value.",) and not none.tables
    )
    flat = section("score", components({"a": [1.0], "b": [1.0]}), NO_JUDGE, Cost(1, 0.5))
    assert flat.numbers == {"why": "all samples have the same score"}


def test_the_share_between_samples_has_the_exact_interval() -> None:
    # By the analysis of variance: F = MSB / MSW, and (F / q - 1) / (F / q + r - 1) at the quantiles q.
    values = np.random.default_rng(1).normal(size=(30, 1)) + np.random.default_rng(2).normal(size=(30, 4))
    found = components({f"s{at}": list(row) for at, row in enumerate(values)})
    assert found is not None
    ratio = float(stats.f_oneway(*values).statistic)
    share, (low, high) = intraclass(found)
    assert share == pytest.approx((ratio - 1) / (ratio + 3))
    for end, p in ((low, 0.975), (high, 0.025)):
        scaled = ratio / stats.f.ppf(p, 29, 90)
        assert end == pytest.approx((scaled - 1) / (scaled + 3))


def test_wavering_by_hand() -> None:
    """Two rounds, four games; one verdict in ten flips."""
    traces = (won("a", 1, 1), won("a", 2, 2), unsolved("b", 1, 2), broken("b", 2, 2))
    one, two = worth(0, SMALL), worth(1, SMALL)
    # S: of four at risk one solved in round 1, of two whose verdict in 2 is known one.
    left = 0.75 * 0.5
    gone_on = (0.75 - left) / 0.75
    first = 0.1 * (gone_on * (two - one) ** 2 + (1 - gone_on) * one**2)
    second = 0.1 * (one - two) ** 2 + 0.9 * 0.1 * two**2
    third = 0.1 * one**2 + 0.9 * 0.1 * two**2
    expected = (first + second + third) / 3 / 2
    assert variance([game(each) for each in traces], SMALL, 0.1) == pytest.approx(expected)
    part = judge_part(traces, SMALL, (5, 50))
    assert part.wavers == pytest.approx(expected) and part.differ is None
    assert part.about.startswith("The judge's wavering: 5 of 50 rows of its check")


def test_the_very_key_text_does_not_waver() -> None:
    exact = trace("a", 1, "solved", [respond(1, "key"), check(1, True, how="exact")])
    assert variance([game(exact)], SMALL, 0.5) == 0
    assert variance([game(broken("a", 1, 1))], SMALL, 0.5) is None


def test_a_judge_asked_to_confirm_its_own_yes_tells_how_it_wavers() -> None:
    rules = replace(SMALL, confirm="same_judge")
    sure = trace("a", 1, "solved", [respond(1), check(1, True), check(1, True, "confirm")])
    unsure = trace("a", 2, "unsolved", [respond(1), check(1, True), check(1, False, "confirm"), *lost(2)[2:]])
    assert judge_part((sure, unsure), rules, None).about.startswith(
        "The judge's wavering: 1 of 2 first yeses"
    )
    unknown = judge_part((won("a", 1, 1),), SMALL, None)
    assert unknown.wavers is None and "is not known: no verdict was asked for twice" in unknown.about


def test_a_panel_needs_judges_who_met() -> None:
    rng = np.random.default_rng(3)
    items, judges = np.repeat(np.arange(200), 3), np.tile([5, 7, 9], 200)
    severity = {5: -0.5, 7: 0.1, 9: 0.4}
    scores = rng.normal(size=200)[items] + [severity[j] for j in judges] + rng.normal(0, 0.1, 600)
    found = panel(items.tolist(), judges.tolist(), scores.tolist(), weight=0.5)
    assert found.count == 3 and found.differ == pytest.approx(
        0.25 * np.var([-0.5, 0.1, 0.4], ddof=1), rel=0.05
    )
    assert panel([1, 2], [4, 4], [1.0, 2.0]).differ is None
    assert "did not meet" in panel([1, 2], [4, 5], [1.0, 2.0]).about


@pytest.mark.slow
@pytest.mark.parametrize(("fpr", "fnr"), [(0.01, 0.05), (0.05, 0.2)])
def test_a_planted_wavering_is_found_again(fpr: float, fnr: float) -> None:
    """Every verdict is drawn anew at each asking; the truth is what judging the same fillings again changes."""
    rng, rules = np.random.default_rng(5), Rules()
    samples, again = 1500, 200
    chances = rng.beta(1.0, 6.0, (samples, 1))
    right = rng.random((samples, rules.max_rounds)) < chances
    yes = np.where(right, 1 - fnr, fpr)
    stops = rng.random((again, samples, rules.max_rounds)) < yes
    worths = np.array([worth(at, rules) for at in range(rules.max_rounds)])
    scores = np.where(stops.any(axis=2), worths[stops.argmax(axis=2)], 0.0)
    truth = float(scores.var(axis=0, ddof=1).mean())
    first = [int(one.argmax()) + 1 if one.any() else None for one in stops[0]]
    traces = [
        won(f"s{at}", 1, stop) if stop else unsolved(f"s{at}", 1, rules.max_rounds)
        for at, stop in enumerate(first)
    ]
    seen = [yes[at, : stop or rules.max_rounds] for at, stop in enumerate(first)]
    flip = float(np.concatenate([2 * one * (1 - one) for one in seen]).mean())
    found = variance([game(each) for each in traces], rules, flip)
    assert found is not None and 0.8 < found / truth < 1.25, (found, truth)
