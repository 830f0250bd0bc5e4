"""A few simulations of the worlds of docs/appendix/truth.md: what they must never show, they do not show here either."""

from collections.abc import Callable

import numpy as np
import pytest

from lotbench.report.trust import reasons
from tests.bench.truth import duels, errors, families
from tests.bench.truth.arrays import clear, entry


@pytest.mark.parametrize("world", [errors.failed_games, errors.withheld, errors.silent])
def test_failing_is_never_trusted_or_clear(world: Callable[..., tuple[errors.Told, errors.Told]]) -> None:
    for seed in range(3):
        (honest, case), (other, told) = world(np.random.default_rng(seed), 1.0)
        assert reasons(case) == () and any(" of the " in why or " of 198 " in why for why in reasons(told))
        better = {pair.better for pair in clear([entry("honest", honest), entry("failing", other)])}
        assert "failing" not in better


@pytest.mark.parametrize(
    "world",
    [lambda rng: errors.silent(rng, 0.04), lambda rng: errors.withheld(rng, 0.04), errors.keywords_withheld],
)
def test_an_answer_that_did_not_come_may_have_been_the_worst(
    world: Callable[..., tuple[errors.Told, errors.Told]],
) -> None:
    (honest, _), (other, case) = world(np.random.default_rng(1))
    assert reasons(case) == () and other.least is not None and honest.least is not None
    values = list(other.records.values())
    assert other.measure(other.least(values, 0.0)).value < other.measure(values).value  # type: ignore[operator]
    told = other.whole()
    assert told.bounds["least"] < told.value < told.bounds["most"] and honest.whole().bounds == {}  # type: ignore[operator]
    whole = list(honest.records.values())
    assert all(now is before for now, before in zip(honest.least(whole, 0.0), whole, strict=True))


def test_near_misses_make_no_clear_lead_and_equal_models_hardly_any() -> None:
    told = errors.near_misses(15)
    assert [line.split("|")[4].strip()[:5] for line in told.splitlines()[2:]] == ["0.000"] * 4
    assert families.error(5, 54, 2, 20) <= 4


def test_a_duel_of_equal_models_names_few_and_one_of_unequal_ones_ends_early() -> None:
    rng = [np.random.default_rng([seed, 4]) for seed in range(200)]
    assert sum(duels.duel(*duels.WORLDS["games, strong"](66, one))[0] for one in rng) <= 22
    ends = [duels.duel(*duels.unequal(66, 3.0, one)) for one in rng[:30]]
    assert np.mean([found for found, _ in ends]) > 0.9 and np.mean([end for _, end in ends]) < 50
