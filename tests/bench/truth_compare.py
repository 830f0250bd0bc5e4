"""Plants of comparisons and of runs that are not told all: equal models, judges that err unlike, failures that tell."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy import stats

from lotbench.benchmarks.lotbench.headline import by_labels, headline
from lotbench.benchmarks.lotbench.labelled import corrected
from lotbench.benchmarks.lotbench.score import estimate, with_bounds
from lotbench.benchmarks.lotbench.validation import drawn
from lotbench.benchmarks.rinobench.score import Judged, macro_f1, tables
from lotbench.metrics import classification
from lotbench.metrics.compare import of_headlines
from lotbench.metrics.headline import Headline, of_sums
from lotbench.types import Metric
from tests.bench.truth_games import failing, on_the_same_samples, played, traces
from tests.bench.truth_worlds import PLAYERS, ROUNDS, RUBRICS, Errors, Fixed, Player, Rubric
from tests.games import Rules

EXCHANGED = "The difference by exchanging samples"
UNLIKE = "Equal models, a judge whose FPR is .01 on one and .03 on the other"
TOLD = "A judge that errs, FPR .03: S_c corrected"
FAILS = "A judge that cannot read right fillings: S_c within its bounds"
FLAWLESS = Errors(0.0)
LABELS = 200
BREAKS = 0.02
"""The chance that a game breaks off in a round, whatever is in it."""


def exchanged_games(
    players: tuple[Player, Player], breaks: float, samples: int, seed: int
) -> tuple[Metric, float]:
    """The difference of S_c between two runs on the same samples, easy ones being easy for both; one breaks off."""
    rng = np.random.default_rng([seed, 5])
    easy = rng.random(samples)
    runs = []
    for player, broken in zip(players, (0.0, breaks), strict=True):
        same = Fixed(player.a, player.b, tuple(stats.beta(player.a, player.b).ppf(easy)))
        games, _ = failing(same, broken, broken, rng, samples)
        runs.append(headline(traces(games), Rules()))
    found = of_headlines(runs[0], runs[1], seed)
    return Metric(found.mean, found.low, found.high, found.n), players[0].truth() - players[1].truth()


def exchanged_ideas(answerer: Rubric, ideas: int, seed: int) -> tuple[Metric, float]:
    """The difference of macro F1 between two runs of one answerer on the same ideas."""
    rng = np.random.default_rng([seed, 6])
    gold, said = answerer.drawn(ideas, rng)
    found = of_headlines(*(_rubric(gold, one) for one in (said, answerer.said(gold, rng))), seed)
    return Metric(found.mean, found.low, found.high, found.n), 0.0


def _rubric(gold: list[int], said: list[int | None]) -> Headline:
    records = {
        f"i{at:02}": [Judged(f"i{at:02}", 1, one, other, "ok", None, None, 0, 0)]
        for at, (one, other) in enumerate(zip(gold, said, strict=True))
    }
    return Headline(
        "macro_f1",
        records,
        lambda some: macro_f1([one for each in some for one in each]),
        lambda some: of_sums(np.concatenate([tables(one) for one in some]), classification.macro_f1),
    )


def unlike(player: Player, seed: int) -> tuple[Metric, float]:
    """The corrected difference of two runs of one player on the same samples, 200 labels of each."""
    rng = np.random.default_rng([seed, 7])
    same, runs = on_the_same_samples(player, 106, rng), []
    for turn, fpr in enumerate((0.01, 0.03)):
        games, right = played(same, Errors(fpr), Errors(0.05), rng)
        labels = {at: right[at] for _, at in drawn(games, ROUNDS, LABELS, 2 * seed + turn)[1]}
        walks = traces(games)
        made = by_labels(walks, Rules(), labels)
        assert made is not None
        runs.append(made(walks, Rules()))
    found = of_headlines(runs[0], runs[1], seed)
    return Metric(found.mean, found.low, found.high, found.n), 0.0


def own_labels(player: Player, fpr: Errors, seed: int) -> tuple[Metric, float]:
    """S_c by 200 labels of the run's own verdicts."""
    games, right = played(player, fpr, Errors(0.05), np.random.default_rng([seed, 8]))
    labels = {at: right[at] for _, at in drawn(games, ROUNDS, LABELS, seed)[1]}
    return corrected(games, labels, Rules())[1], player.truth()


def informative(share: float, seed: int) -> tuple[Metric, float]:
    """S_c of a judge that cannot read so many right fillings; the interval is that of its bounds, with sampling error."""
    player = PLAYERS["strong"]
    games, _ = failing(player, share, 0.0, np.random.default_rng([seed, 9]), 106)
    found = with_bounds(estimate, games, Rules())
    low, high = (found.bounds["low"], found.bounds["high"]) if found.bounds else (found.low, found.high)
    return Metric(found.value, low, high, found.n), player.truth()


def plants() -> Iterator[tuple[str, str, partial[tuple[Metric, float]]]]:
    """Chapter, name and trial of every plant."""
    strong, weak = PLAYERS["strong"], PLAYERS["weak"]
    for samples in (20, 108):
        yield (
            EXCHANGED,
            f"S_c, equal, {samples} samples",
            partial(exchanged_games, (weak, weak), 0.0, samples),
        )
    yield EXCHANGED, "S_c, equal, one breaks off", partial(exchanged_games, (strong, strong), BREAKS, 108)
    yield EXCHANGED, "S_c, strong and weak, 108 samples", partial(exchanged_games, (strong, weak), 0.0, 108)
    for ideas in (20, 60):
        yield (
            EXCHANGED,
            f"macro F1, equal, {ideas} ideas",
            partial(exchanged_ideas, RUBRICS["fair answerer"], ideas),
        )
    for name, player in PLAYERS.items():
        yield UNLIKE, name, partial(unlike, player)
    for name, player in (("strong", strong), ("weak", weak)):
        yield (
            TOLD,
            f"in rounds 1 to 5 alone, FNR .05, {name}",
            partial(own_labels, player, Errors(0.03, "early")),
        )
        yield (
            TOLD,
            f"FPR .01, rates of another candidate (.03), {name}",
            partial(own_labels, player, Errors(0.01)),
        )
    for share in (0.1, 0.4):
        yield FAILS, f"{share:.0%} of them", partial(informative, share)


NOTES = {
    EXCHANGED: (
        "Easy samples are easy for both. *One breaks off*: in 2 of 100 rounds, whatever is in them. Before, differences were "
        "of mean scores (of the share of right answers), from which games that broke off were left out."
    ),
    UNLIKE: (
        "106 samples of three games, 200 labels of each run, FNR .05. One minus the coverage is how often equal models are told "
        "apart. The intervals are wider than they need be: they take the labels of stops for drawn sample by sample, not for "
        "a fixed number of all. Before, the judge's errors were left out of comparisons."
    ),
    FAILS: (
        "A strong player, 106 samples of three games. Bias is that of the score; coverage and width are those of its bounds "
        "with sampling error, which now stand beside it. Before, there was only the interval."
    ),
}
