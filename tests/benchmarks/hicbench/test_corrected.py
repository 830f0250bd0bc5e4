"""IH, DH and IFS corrected by people's labels: by hand, with every answer labelled, and where the judges err as planted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lotbench.benchmarks.hicbench.corrected import by_people
from lotbench.benchmarks.hicbench.ratings import Floats, Ratings
from lotbench.benchmarks.hicbench.score import ends, ifs
from lotbench.benchmarks.hicbench.settings import Settings
from lotbench.types import Metric
from tests.bench import truth, truth_verdicts

SETTINGS = Settings()
IS, IS_NOT, FALSE = (4.0, 4.0, 4.0, 0.0), (3.0, 3.0, 3.0, 0.0), (3.0, 3.0, 3.0, 1.0)
NOTHING = (np.nan,) * 4


def rated(rows: list[tuple[float, ...]], tasks: int) -> Ratings:
    """One judge's ratings of answers, as many of each task."""
    table, each = np.array(rows)[:, None], len(rows) // tasks
    at = np.repeat(np.arange(tasks), each)
    return Ratings(
        tasks=tuple(f"t{task}" for task in range(tasks)),
        texts=("",) * len(rows),
        task=at,
        walk=at,
        draw=np.tile(np.arange(each), tasks),
        marks=table[..., :3],
        hallucinated=table[..., 3],
        walks=(),
    )


def corrected(judges: Ratings, people: Floats) -> dict[str, Metric]:
    return by_people(judges, people, SETTINGS, ends(SETTINGS.w1, SETTINGS.classes))


def test_the_ratio_over_all_answers_is_moved_by_what_people_found_of_the_labelled() -> None:
    """Judges say IH of 6 of 8; of the four labelled people say it of 1 and judges of 2, one of them rightly."""
    judges = rated([IS, IS_NOT, IS, IS, IS, IS, IS_NOT, IS], 4)
    people = np.array([[IS], [IS_NOT], [NOTHING], [NOTHING], [IS_NOT], [NOTHING], [IS_NOT], [NOTHING]])
    made = corrected(judges, people)
    # In the labelled: mean of people .25, of judges .5; covariance .25 - .125, variance .25, slope .5.
    assert made["ih_ratio_corrected"].value == pytest.approx(0.25 + 0.5 * (6 / 8 - 0.5))
    assert made["dh_ratio_corrected"].value == 0.0
    assert made["ifs_corrected"].value == pytest.approx(ifs(0.375, 0.0, SETTINGS.w1))
    assert (made["ih_ratio_corrected"].n, made["ih_ratio_corrected"].observations) == (3, 4)
    assert made["dh_ratio_corrected"].better == "lower"


def test_with_every_answer_labelled_people_decide() -> None:
    judges, said = truth_verdicts.world(0.2, False, 2, 0)
    everything, _ = truth_verdicts.world(0.0, False, 1, 0)
    people = np.concatenate([everything.marks, everything.hallucinated[..., None]], axis=-1)
    made = corrected(judges, people)
    ih = ((people[:, 0, :3] == 4).all(axis=1) & (people[:, 0, 3] == 0)).mean()
    assert made["ih_ratio_corrected"].value == pytest.approx(ih)
    assert made["dh_ratio_corrected"].value == pytest.approx(people[:, 0, 3].mean())
    one = made["ifs_corrected"]
    assert one.low is not None and one.high is not None and one.low < (one.value or 0) < one.high
    # Labels of a fifth leave more open than labels of all.
    few = corrected(judges, said)["ih_ratio_corrected"]
    all_of_them = made["ih_ratio_corrected"]
    assert (few.high or 1) - (few.low or 0) > (all_of_them.high or 1) - (all_of_them.low or 0)


def test_judges_whose_verdicts_say_nothing_count_for_nothing() -> None:
    people = np.array([[IS], [IS_NOT], [IS], [IS_NOT], [NOTHING], [NOTHING]])
    made = corrected(rated([IS, IS, IS, IS, IS_NOT, IS_NOT], 3), people)
    assert made["ih_ratio_corrected"].value == pytest.approx(0.5)


def test_a_correction_takes_two_labelled_answers_with_a_verdict() -> None:
    judges = rated([IS, IS_NOT, FALSE, NOTHING], 2)
    made = corrected(judges, np.array([[IS], [NOTHING], [NOTHING], [IS]]))
    assert {one.value for one in made.values()} == {None}
    assert (
        made["ifs_corrected"].why == "1 labelled answers have a verdict of the judges; a correction takes 2"
    )


def test_people_who_differ_are_one_as_judges_are() -> None:
    people = np.array([[IS, FALSE], [IS_NOT, IS_NOT], [IS, IS], [IS_NOT, NOTHING]])
    made = corrected(rated([IS, IS_NOT, IS, IS_NOT], 2), people)
    # Mean marks of the first are 3.5, and half see a hallucination: a DH, and no IH.
    assert made["ih_ratio_corrected"].value == pytest.approx(0.25)
    assert made["dh_ratio_corrected"].value == pytest.approx(0.25)


def test_the_order_of_answers_changes_nothing() -> None:
    judges, people = truth_verdicts.world(0.1, False, 2, 3)
    turned = replace(
        judges, task=judges.task[::-1], marks=judges.marks[::-1], hallucinated=judges.hallucinated[::-1]
    )
    one, other = corrected(judges, people)["ifs_corrected"], corrected(turned, people[::-1])["ifs_corrected"]
    assert other.value == pytest.approx(one.value) and other.low == pytest.approx(one.low)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["IFS, 20% of IH verdicts, 2 judges", "IH, 20% of IH verdicts, 1 judge"])
def test_intervals_hold_the_truth(name: str) -> None:
    (trial,) = [trial for _, plant, trial in truth_verdicts.plants() if plant == name]
    assert truth.run(trial, 60).coverage >= 52 / 60
