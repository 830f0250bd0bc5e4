"""Macro F1, MAE and kappa beside scikit-learn, and guessing beside drawing a great many guesses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, mean_absolute_error

from lotbench.metrics import classification
from tests.ideas import SUPPORT

LABELS = [1, 2, 3, 4, 5]
ANSWERS = st.lists(
    st.tuples(st.sampled_from(LABELS), st.none() | st.sampled_from(LABELS)), min_size=1, max_size=60
)


@given(ANSWERS)
def test_figures_agree_with_scikit_learn_with_fixed_labels_and_answers_that_are_none(
    answers: list[tuple[int, int | None]],
) -> None:
    gold, said = [one for one, _ in answers], [one for _, one in answers]
    counts = classification.table(gold, said, 5)
    filled = [one or 0 for one in said]
    each = f1_score(gold, filled, labels=LABELS, average=None, zero_division=0)
    assert classification.f1(counts) == pytest.approx(each)
    macro = f1_score(gold, filled, labels=LABELS, average="macro", zero_division=0)
    assert float(classification.macro_f1(counts)) == pytest.approx(macro)
    valid = [(true, one) for true, one in answers if one]
    if valid:
        assert float(classification.mae(counts)) == pytest.approx(
            mean_absolute_error(*zip(*valid, strict=True))
        )
    else:
        assert np.isnan(classification.mae(counts))


def test_guessing_on_the_official_support_gives_the_known_lines() -> None:
    n = sum(SUPPORT)
    constant = classification.guessing(SUPPORT, [0, 0, 1, 0, 0])
    uniform = classification.guessing(SUPPORT, [0.2] * 5)
    prior = classification.guessing(SUPPORT, [one / n for one in SUPPORT])
    assert constant == (pytest.approx(0.0956, abs=5e-5), pytest.approx(0.8628, abs=5e-5))
    assert uniform[0] == pytest.approx(0.184, abs=1e-3)
    assert prior[0] == pytest.approx(0.199, abs=5e-4)


def test_the_expectation_of_guessing_is_what_many_guesses_come_to() -> None:
    support, chances = (2, 0, 5, 3, 1), (0.1, 0.2, 0.3, 0.3, 0.1)
    gold = np.repeat(LABELS, support)
    drawn = np.random.default_rng(3).choice(LABELS, size=(4000, len(gold)), p=chances)
    tables = np.array([classification.table(gold.tolist(), guess.tolist(), 5) for guess in drawn])
    expected = classification.guessing(support, chances)
    assert expected[0] == pytest.approx(classification.macro_f1(tables).mean(), abs=0.005)
    assert expected[1] == pytest.approx(classification.mae(tables).mean(), abs=0.02)
