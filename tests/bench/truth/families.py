"""Equal models: how often a ranking calls any two of them clearly different; and what it finds where they differ."""

import numpy as np

from tests.bench.truth.arrays import clear, entry, of_pictures, played, primary_metric, share, table
from tests.bench.truth.worlds import PLAYERS, Floats

GAMES = 3


def chances(pictures: int, samples: int, rng: np.random.Generator) -> Floats:
    """Of each game on each picture; two samples of one picture are nearly one."""
    return np.repeat(of_pictures(PLAYERS["strong"], pictures, samples, rng), GAMES, axis=1)


def error(models: int, pictures: int, samples: int, sims: int, seed: int = 0) -> int:
    """In how many of so many rankings of equal models some pair is clear."""
    found = 0
    for sim in range(sims):
        rng = np.random.default_rng([seed, models, pictures, samples, sim])
        own = chances(pictures, samples, rng)
        runs = [entry(f"m{at:02}", primary_metric(played(own, rng, own.shape[1]))) for at in range(models)]
        found += bool(clear(runs))
    return found


ROWS = ((2, 5), (2, 8), (2, 12), (2, 24), (2, 66), (5, 54), (12, 54), (30, 54))
"""Models and pictures."""


def families(sims: int) -> str:
    """Family-wise error by models and samples a picture, and of two models by pictures; many models take longer, and have fewer."""
    rows = []
    for models, pictures in ROWS:
        times = max(1, min(sims, 6 * sims // models))
        for samples in (1, 2):
            hits = error(models, pictures, samples, times)
            rows.append((models, pictures, samples, times, share(hits, times)))
    return table(("equal models", "pictures", "samples a picture", "simulations", "some pair clear"), rows)


def power(sims: int) -> str:
    """How often a better model is called clearly better, beside a paired t test of the samples' plain means."""
    from scipy.stats import ttest_rel

    rows = []
    for pictures in (24, 66, 108):
        for factor in (1.5, 2.0, 3.0):
            ours = theirs = 0
            for sim in range(sims):
                rng = np.random.default_rng([7, pictures, int(10 * factor), sim])
                own = PLAYERS["weak"].chances(pictures, rng)
                better, worse = (played(np.minimum(1, own * k), rng, GAMES) for k in (factor, 1.0))
                found = clear(
                    [entry("better", primary_metric(better)), entry("worse", primary_metric(worse))]
                )
                ours += any(pair.better == "better" for pair in found)
                one, other = (means(yes) for yes in (better, worse))
                theirs += ttest_rel(one, other).pvalue < 0.05 and one.mean() > other.mean()
            rows.append((pictures, factor, sims, share(ours, sims), share(theirs, sims)))
    return table(("pictures", "chance times", "simulations", "compare", "paired t test"), rows)


def means(yes: np.ndarray) -> Floats:  # type: ignore[type-arg]
    """The mean score of the games on each picture."""
    first = np.where(yes.any(axis=-1), yes.argmax(axis=-1), np.inf)
    return np.asarray(np.exp(-0.2 * first).mean(axis=1))
