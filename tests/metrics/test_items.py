"""Samples as items: discrimination is the plain corrected item-total correlation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lotbench.metrics.items import qualities


def runs(table: np.ndarray) -> list[dict[str, float]]:
    return [{f"s{at}": float(value) for at, value in enumerate(row)} for row in table]


@given(st.integers(0, 10_000), st.integers(3, 12), st.integers(2, 9))
def test_discrimination_is_the_corrected_item_total_correlation(seed: int, models: int, samples: int) -> None:
    table = np.random.default_rng(seed).normal(size=(models, samples))
    for at, one in enumerate(qualities(runs(table))):
        others = np.delete(table, at, axis=1).sum(axis=1)
        mine = table[:, at]
        # Written out, without the sum over all samples that the code takes the sample from again.
        top = ((mine - mine.mean()) * (others - others.mean())).sum()
        bottom = np.sqrt(((mine - mine.mean()) ** 2).sum() * ((others - others.mean()) ** 2).sum())
        assert one.discrimination == pytest.approx(top / bottom)
        assert one.mean == pytest.approx(mine.mean())


def test_a_sample_that_tells_nobody_apart_has_none_and_one_that_is_backwards_is_below_0() -> None:
    able = np.linspace(0, 1, 8)
    found = qualities(runs(np.column_stack([able, able, 3 * able, np.ones(8), -able])))
    able_ones, flat, backwards = found[:3], found[3], found[4]
    assert [one.discrimination for one in able_ones] == pytest.approx([1.0, 1.0, 1.0])
    assert flat.discrimination is None and backwards.discrimination == pytest.approx(-1.0)


def test_only_samples_that_all_models_have_are_told() -> None:
    assert [one.sample for one in qualities([{"a": 1.0, "b": 0.0}, {"b": 1.0, "c": 1.0}])] == ["b"]
    assert qualities([]) == []
    # Of one sample alone there are no others to correlate with.
    assert qualities([{"a": 1.0}, {"a": 0.0}])[0].discrimination is None
