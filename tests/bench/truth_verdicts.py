"""Plants of judges whose IH verdicts err: what IH, DH and IFS come to with 200 of a run's answers labelled."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from lotbench.benchmarks.hicbench.corrected import by_people
from lotbench.benchmarks.hicbench.ratings import Floats, Ratings
from lotbench.benchmarks.hicbench.score import ends, ifs
from lotbench.benchmarks.hicbench.settings import Settings
from lotbench.types import Metric

TITLE = "HIC-Bench judges that err: IFS, IH and DH corrected"
NOTE = (
    "100 tasks of ten answers, 200 answers at random labelled; an answer is a DH in one case of seven, else an IH as often "
    "as its task\nhas it, a fifth of the time on the average. The judge's IH verdict is turned round in 10 or 20 % of the "
    "answers, or in twice as many where\nan IH is (*misses*). Before, there was no correction, with labels or without."
)
TASKS, ANSWERS, LABELS = 100, 10, 200
IH, DH = (1.5, 6.0), (2.0, 12.0)
"""Beta distributions over tasks: of IH among the answers that are no DH, and of DH."""
IS, IS_NOT = (4.0, 4.0, 4.0), (3.0, 3.0, 3.0)


def truth(name: str) -> float:
    """What a metric is over all tasks there could be."""
    dh = DH[0] / sum(DH)
    ih = (1 - dh) * IH[0] / sum(IH)
    return {"ih_ratio": ih, "dh_ratio": dh, "ifs": ifs(ih, dh, Settings().w1)}[name]


def world(error: float, misses: bool, judges: int, seed: int) -> tuple[Ratings, Floats]:
    """A run as judges rated it, and what people said of some of its answers."""
    rng = np.random.default_rng([seed, 30])
    n = TASKS * ANSWERS
    task = np.repeat(np.arange(TASKS), ANSWERS)
    is_dh = rng.random(n) < rng.beta(*DH, TASKS)[task]
    is_ih = ~is_dh & (rng.random(n) < rng.beta(*IH, TASKS)[task])
    chance = np.where(is_ih, 2 * error, 0.0) if misses else np.full(n, error)
    wrong = rng.random((n, judges)) < chance[:, None]
    said = is_ih[:, None] ^ (wrong & ~is_dh[:, None])
    marks = np.where(said[..., None], IS, IS_NOT)
    people = np.full((n, 1, 4), np.nan)
    chosen = rng.choice(n, LABELS, replace=False)
    people[chosen, 0, :3] = np.where(is_ih[chosen, None], IS, IS_NOT)
    people[chosen, 0, 3] = is_dh[chosen]
    return Ratings(
        tasks=tuple(f"t{at:03}" for at in range(TASKS)),
        texts=("",) * n,
        task=task,
        walk=task,
        draw=np.tile(np.arange(ANSWERS), TASKS),
        marks=marks,
        hallucinated=np.repeat(is_dh[:, None].astype(float), judges, axis=1),
        walks=(),
    ), people


def corrected(name: str, error: float, misses: bool, judges: int, seed: int) -> tuple[Metric, float]:
    """A corrected metric, and the truth."""
    rated, people = world(error, misses, judges, seed)
    settings = Settings()
    made = by_people(rated, people, settings, ends(settings.w1, settings.classes))
    return made[f"{name}_corrected"], truth(name)


def plants() -> Iterator[tuple[str, str, partial[tuple[Metric, float]]]]:
    """Chapter, name and trial of every plant."""
    for error in (0.1, 0.2):
        for misses in (False, True):
            for judges in (1, 2):
                said = f"{error:.0%} of IH verdicts, {judges} judge{'s' * (judges - 1)}{', misses' * misses}"
                yield TITLE, f"IFS, {said}", partial(corrected, "ifs", error, misses, judges)
    yield TITLE, "IH, 20% of IH verdicts, 1 judge", partial(corrected, "ih_ratio", 0.2, False, 1)
    yield TITLE, "DH, 20% of IH verdicts, 1 judge", partial(corrected, "dh_ratio", 0.2, False, 1)
