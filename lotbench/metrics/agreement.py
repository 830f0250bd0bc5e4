"""Agreement of verdicts with labels: accuracy, both error rates and Cohen's kappa, with 95 % intervals.

Verdicts on one sample are correlated (they share a causal chain). Shares have Wilson's interval at the effective number
of trials, and kappa has a bootstrap interval over clusters.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from lotbench.metrics.intervals import Floats, bootstrap, divided, wilson

DRAWS = 2000
"""The number of draws of a share from its posterior."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The share of `hits` among `n` trials, or a kappa over them, with its 95 % interval.

    `value` is None if it is undefined, `low` or `high` if that end is open.
    """

    value: float | None
    low: float | None
    high: float | None
    hits: int
    n: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of verdicts with labels.

    Attributes:
        n: The number of readable verdicts.
        accuracy: The share of verdicts that are equal to the label.
        fpr: The share of negatives that were accepted.
        fnr: The share of positives that were not accepted.
        kappa: Cohen's kappa; its value is None if chance agreement is 1. `hits` and `n` count agreements and verdicts.
    """

    n: int
    accuracy: Rate
    fpr: Rate
    fnr: Rate
    kappa: Rate


@dataclass(frozen=True, slots=True)
class Stratum:
    """The verdicts of one kind (such as accepted) in a run: how many there are, and how people labelled a sample of them.

    Attributes:
        accepted: Whether these verdicts accept the guess.
        size: The number of verdicts of this kind in the run.
        labelled: The number of these that have a label.
        true: The number of labelled ones whose guess is right.
    """

    accepted: bool
    size: int
    labelled: int
    true: int

    def draw_share(self, rng: np.random.Generator, size: int = DRAWS) -> Floats:
        """Return draws of the share of right guesses, [size], from its Beta posterior with Jeffreys' prior.

        All draws are 0 if the run has no verdicts of this kind.
        """
        if not self.size:
            return np.zeros(size)
        return np.asarray(rng.beta(self.true + 0.5, self.labelled - self.true + 0.5, size=size))

    @property
    def share(self) -> float:
        """The share of right guesses among the labelled; 0 without labels."""
        return self.true / self.labelled if self.labelled else 0.0


@dataclass(frozen=True, slots=True)
class Field:
    """Error rates of a run's own verdicts, from a stratified sample that people labelled, weighted by the sizes of the strata.

    The share of right guesses in a stratum has a Beta posterior; FPR and FNR follow from all strata by Bayes' rule.
    """

    strata: tuple[Stratum, ...]

    def point(self) -> tuple[float, float]:
        """Return the FPR and FNR; the FPR is NaN if no guess is wrong, the FNR if none is right."""
        fpr, fnr = self._rates(np.array([[stratum.share for stratum in self.strata]]))
        return float(fpr[0]), float(fnr[0])

    def kappa(self) -> float:
        """Return Cohen's kappa of verdicts and labels, estimated for all verdicts of the run; NaN if chance agreement is 1."""
        table = np.zeros((2, 2))
        for stratum in self.strata:
            right = stratum.size * stratum.share
            table[:, int(stratum.accepted)] += (stratum.size - right, right)
        return float(_kappa(table)) if table.any() else math.nan

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Floats, Floats]:
        """Return `size` draws of the FPR and as many of the FNR, from their posterior."""
        shares = [stratum.draw_share(rng, size) for stratum in self.strata]
        return self._rates(np.reshape(shares, (len(shares), size)).T)

    def _rates(self, shares: Floats) -> tuple[Floats, Floats]:
        sizes = np.array([float(stratum.size) for stratum in self.strata])
        accepted = np.array([stratum.accepted for stratum in self.strata], dtype=bool)
        right, wrong = shares * sizes, (1 - shares) * sizes
        return (
            divided(wrong[:, accepted].sum(axis=1), wrong.sum(axis=1)),
            divided(right[:, ~accepted].sum(axis=1), right.sum(axis=1)),
        )


def agreement(
    labels: Sequence[bool], verdicts: Sequence[bool], clusters: Sequence[str], seed: int = 0
) -> Agreement:
    """Return how well verdicts agree with labels over all rows; verdict i, label i and cluster i belong to one row.

    Raises:
        ValueError: The lengths differ.
    """
    rows = list(zip(labels, verdicts, clusters, strict=True))
    right = [(label is verdict, name) for label, verdict, name in rows]
    return Agreement(
        n=len(rows),
        accuracy=rate(right),
        fpr=rate([(verdict, name) for label, verdict, name in rows if not label]),
        fnr=rate([(not verdict, name) for label, verdict, name in rows if label]),
        kappa=kappa(labels, verdicts, clusters, seed),
    )


def rate(trials: Sequence[tuple[bool, str]]) -> Rate:
    """Return the share of hits among clustered trials, with Wilson's interval (open for one cluster).

    The interval is that of n / d independent trials (Wilson 1927). The design effect d >= 1 is the variance of the share
    between clusters over that of independent trials (Kish 1965). The variance is estimated, so the quantile is Student's.

    Args:
        trials: For each trial, whether it is a hit, and the name of its cluster.
    """
    n, hits = len(trials), sum(hit for hit, _ in trials)
    if n == 0:
        return Rate(None, None, None, 0, 0)
    share, clusters = hits / n, len({name for _, name in trials})
    if clusters < 2:
        return Rate(share, None, None, hits, n)
    quantile = float(scipy.special.stdtrit(clusters - 1, 0.975))
    low, high = wilson(share, n / _design_effect(trials, share), quantile)
    return Rate(share, low, high, hits, n)


def kappa(first: Sequence[bool], other: Sequence[bool], clusters: Sequence[str], seed: int = 0) -> Rate:
    """Return Cohen's kappa of two raters' decisions on the same rows, with a bootstrap interval over the clusters of rows."""
    places = {name: index for index, name in enumerate(dict.fromkeys(clusters))}
    counts = np.zeros((len(places), 2, 2))
    for a, b, name in zip(first, other, clusters, strict=True):
        counts[places[name], int(a), int(b)] += 1
    agreed, n = int(counts[:, [0, 1], [0, 1]].sum()), len(first)
    if n == 0:
        return Rate(None, None, None, 0, 0)
    value = float(_kappa(counts.sum(axis=0)))
    if math.isnan(value):
        return Rate(None, None, None, agreed, n)
    low, high = bootstrap(counts, _kappa, seed)
    return Rate(value, low, high, agreed, n)


def flips(verdicts: Sequence[Sequence[bool]]) -> tuple[int, int]:
    """Return the number of differing pairs of verdicts on the same row, and the number of all such pairs.

    `verdicts` has the verdicts on each row; k verdicts make k(k-1)/2 pairs.
    """
    differing = pairs = 0
    for row in verdicts:
        yes = sum(row)
        differing += yes * (len(row) - yes)
        pairs += len(row) * (len(row) - 1) // 2
    return differing, pairs


def icc(ratings: Floats) -> float:
    """Return ICC(2,1): the agreement of single ratings, if items and raters are both random draws (Shrout and Fleiss 1979).

    Args:
        ratings: The rating of each item by each rater, [items, raters], without gaps.

    Returns:
        The ICC, at most 1; NaN for fewer than two items or raters, or if all ratings are equal.
    """
    n, k = ratings.shape
    if n < 2 or k < 2:
        return math.nan
    rows, columns, middle = ratings.mean(axis=1), ratings.mean(axis=0), ratings.mean()
    between = k * float(((rows - middle) ** 2).sum()) / (n - 1)
    raters = n * float(((columns - middle) ** 2).sum()) / (k - 1)
    residuals = ratings - rows[:, None] - columns[None, :] + middle
    error = float((residuals**2).sum()) / ((n - 1) * (k - 1))
    whole = between + (k - 1) * error + k * (raters - error) / n
    return (between - error) / whole if whole else math.nan


def _kappa(table: Floats) -> Floats:
    """Return Cohen's kappa [...] of counts [..., 2, 2] (decision of one rater by that of the other); NaN if chance agreement is 1."""
    n = table.sum(axis=(-2, -1))
    agreed = (table[..., 0, 0] + table[..., 1, 1]) / n
    chance = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1) / n**2
    return divided(agreed - chance, 1 - chance)


def _design_effect(trials: Sequence[tuple[bool, str]], share: float) -> float:
    """Return the design effect of clustered trials: the variance of their share over that of independent trials, at least 1."""
    totals: dict[str, list[int]] = {}
    for hit, name in trials:
        total = totals.setdefault(name, [0, 0])
        total[0] += hit
        total[1] += 1
    k, n = len(totals), len(trials)
    if share in (0.0, 1.0):
        return 1.0
    between = sum((hits - share * size) ** 2 for hits, size in totals.values()) * k / (k - 1) / n**2
    return max(1.0, between / (share * (1 - share) / n))
