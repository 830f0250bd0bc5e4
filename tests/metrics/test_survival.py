"""Kaplan-Meier over rounds against scipy, against plain means, and at its edges."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lotbench.metrics.survival import Span, counts, curve, hazards, restricted_mean

LAST = 6
spans = st.lists(
    st.one_of(
        st.builds(Span, st.integers(1, LAST), st.just(True)),
        st.builds(Span, st.integers(0, LAST), st.just(False)),
    ),
    min_size=1,
    max_size=30,
)


@given(spans)
def test_scipy_draws_the_same_curve(episodes: list[Span]) -> None:
    ended = [episode.rounds for episode in episodes if episode.event]
    cut = [episode.rounds for episode in episodes if not episode.event]
    reference = stats.ecdf(stats.CensoredData(uncensored=ended, right=cut)).sf
    longest = max(episode.rounds for episode in episodes)
    found = curve(counts(episodes, LAST))
    watched = np.arange(longest + 1)
    assert found[: longest + 1] == pytest.approx(reference.evaluate(watched))


@given(st.lists(spans, min_size=2, max_size=5))
def test_many_tables_at_once_are_each_alone(groups: list[list[Span]]) -> None:
    tables = np.stack([counts(group, LAST) for group in groups])
    together, alone = curve(tables), [curve(table) for table in tables]
    np.testing.assert_array_equal(together, np.stack(alone))


def test_a_hand_worked_curve() -> None:
    # 5 episodes: events in rounds 1 and 3; cut after rounds 0 and 1; one played all 3 rounds.
    episodes = [Span(1, True), Span(3, True), Span(0, False), Span(1, False), Span(3, False)]
    table = counts(episodes, 3)
    np.testing.assert_array_equal(table, [[4, 2, 2], [1, 0, 1]])
    assert hazards(table) == pytest.approx([1 / 4, 0, 1 / 2])
    assert curve(table) == pytest.approx([1, 3 / 4, 3 / 4, 3 / 8])
    assert restricted_mean(curve(table)) == pytest.approx(2.5)


def test_nobody_left_to_watch_is_not_a_number_but_nobody_left_at_all_is_zero() -> None:
    cut = curve(counts([Span(1, True), Span(1, False)], 3))
    assert cut[1] == 0.5 and math.isnan(cut[2]) and math.isnan(restricted_mean(cut))
    assert curve(counts([Span(1, True), Span(1, True)], 3)).tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("span", [Span(4, False), Span(4, True), Span(0, True), Span(-1, False)])
def test_a_span_that_does_not_fit_is_refused(span: Span) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        counts([span], 3)
