"""Simulated duels and precisions on recorded and planted runs: false alarms, power, games saved, what intervals cover.

    LOTBENCH_REFERENCE_DATA=FOLDER python -m tests.bench.duels [--duels 2000] [--write 2026-11-22]

`--write DATE` writes the part of docs/duel.md below its mark anew. It takes about ten minutes. The verdicts of TurtleBench are
data of others: without them there is nothing to hold a duel on, and it ends with an error.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.random import Generator
from scipy import optimize, stats

from lotbench.metrics import planning
from lotbench.metrics.headline import mean_score
from lotbench.metrics.intervals import Floats
from lotbench.metrics.sequence import Band, sequence
from lotbench.metrics.variance import components
from tests.bench.truth_worlds import ROUNDS, WORTH

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "duel.md"
MARK = "<!-- Generated from here on: python -m tests.bench.duels --write DATE -->"
POINTS = 401
BLOCK = 250
"""Duels that are held at once."""


@dataclass(frozen=True, slots=True)
class World:
    """Two players of which the truth is known.

    Attributes:
        chances: Draws the chances of both on each sample, [2, duels, samples], so that the first is ahead by about so much;
            by nothing at all for 0, though on single samples they differ.
        worth: What a game is expected to be worth, by its chance.
        game: Draws games, [repeats, ...], by their chances.
    """

    name: str
    samples: int
    repeats: int
    chances: Callable[[Generator, int, float], Floats]
    worth: Callable[[Floats], Floats]
    game: Callable[[Generator, int, Floats], Floats]

    def truth(self, chances: Floats) -> Floats:
        """By how much the first is ahead, [duels]."""
        return np.asarray((self.worth(chances[0]) - self.worth(chances[1])).mean(axis=-1))


def planted(samples: int, repeats: int, base: float = -2.0) -> World:
    """Games of up to 15 rounds with the same chance in each; samples differ in ease, and players in what is easy."""

    def worth(chance: Floats) -> Floats:
        rounds = np.arange(ROUNDS)
        return np.asarray(((1 - chance[..., None]) ** rounds * chance[..., None]) @ WORTH)

    def chances(rng: Generator, duels: int, wanted: float) -> Floats:
        ease = rng.normal(base, 1.2, (duels, samples // 2))
        apart = rng.normal(0.0, 0.8, (duels, samples // 2)) / 2
        logits = _swapped(rng, np.repeat(np.stack([ease + apart, ease - apart]), 2, axis=-1), 1.0, exact=True)

        def short(lift: float) -> float:
            return wanted - float((worth(_logistic(logits[0] + lift)) - worth(_logistic(logits[1]))).mean())

        logits[0] += optimize.brentq(short, -1.0, 9.0, xtol=1e-4) if wanted else 0.0
        return _logistic(logits)

    def game(rng: Generator, times: int, chance: Floats) -> Floats:
        ended = rng.geometric(np.clip(chance, 1e-9, 1), (times, *chance.shape))
        return np.where(ended <= ROUNDS, WORTH[np.minimum(ended, ROUNDS) - 1], 0.0)

    return World("planted games" if base > -4 else "planted, hard", samples, repeats, chances, worth, game)


def _logistic(values: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-values)))


def _swapped(rng: Generator, both: Floats, share: float, *, exact: bool) -> Floats:
    """Players change places on single samples, and the samples their order.

    Args:
        both: [2, duels, samples], every sample twice, side by side.
        share: Of the samples on which they stay.
        exact: They change on exactly one of each two samples that are the same, so that nobody is ahead.
    """
    _, duels, n = both.shape
    first = rng.random((duels, n // 2)) < 0.5
    swap = np.stack([first, ~first], axis=-1).reshape(duels, n) if exact else rng.random((duels, n)) > share
    order = rng.permuted(np.tile(np.arange(n), (duels, 1)), axis=1)
    return np.take_along_axis(np.where(swap, both[::-1], both), np.stack([order, order]), axis=-1)


def _won(rng: Generator, times: int, chance: Floats) -> Floats:
    return (rng.random((times, *chance.shape)) < chance).astype(float)


def _recorded(name: str, one: Floats, other: Floats, repeats: int) -> World:
    """Shares of games won of two recorded players on the same samples; of samples with the same pair, an even number."""
    pairs, counts = np.unique(np.sort(np.stack([one, other]), axis=0), axis=1, return_counts=True)
    low, high = np.repeat(pairs, counts // 2 * 2, axis=1)
    most = float((high - low).mean())

    def chances(rng: Generator, duels: int, wanted: float) -> Floats:
        both = np.repeat(np.stack([high, low])[:, None], duels, axis=1)
        return _swapped(rng, both, 0.5 + wanted / most / 2, exact=not wanted)

    return World(name, len(low), repeats, chances, lambda chance: chance, _won)


def blind_plays(repeats: int) -> World:
    """First guesses of blind players on the samples of the game: with the frame, and without it."""
    rows = [
        json.loads(line)
        for line in (ROOT / "data/lotbench/calibration.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    arms: dict[str, dict[str, list[bool]]] = {}
    for row in rows:
        arms.setdefault(row["arm"], {}).setdefault(row["sample"], []).append(row["solved"] is not None)
    shown, hidden = arms["image+caption, max_rounds=1"], arms["image+caption, max_rounds=1, frame=hidden"]
    one, other = (np.array([np.mean(arm[name]) for name in sorted(shown)]) for arm in (shown, hidden))
    return _recorded("recorded blind plays", one, other, repeats)


def verdicts(folder: Path) -> World:
    """Verdicts of two models on every fifth guess of TurtleBench, right or wrong: one game, of whose noise nobody knows."""
    found = []
    for model in ("GPT_4o", "Claude_3_5_Sonnet"):
        path = folder / f"turtlebench/logs/logs_{model}_en_shot0_len1532.json"
        cases = json.loads(path.read_text(encoding="utf-8"))["cases"][::5]
        found.append(np.array([float(one["ground_truth"] == one["model_judge"]) for one in cases]))
    return _recorded("recorded verdicts", *found, repeats=1)


def values(world: World, chances: Floats, rng: Generator) -> tuple[Floats, Floats | None]:
    """What two players' games came to: the differences, [duels, samples], and their noise."""
    one, other = (world.game(rng, world.repeats, each) for each in chances)
    found = one.mean(axis=0) - other.mean(axis=0)
    if world.repeats == 1:
        return found, None
    return found, (one.var(axis=0, ddof=1) + other.var(axis=0, ddof=1)) / world.repeats


def detectable(world: World, rng: Generator) -> float:
    """The difference that a paired t test on all games shows with a power of 80 %."""
    found, _ = values(world, world.chances(rng, 200, 0.0), rng)
    return planning.detectable(world.samples) * float(np.sqrt(found.var(axis=1, ddof=1).mean()))


@dataclass(frozen=True, slots=True)
class Duels:
    """What came of many duels of one world and one difference.

    Attributes:
        right: Share in which the better model was named, and `wrong` in which the other was (either, if there is no
            difference).
        games: The share of the games that were played, one sample after the other.
        fixed: Power of the fixed design: a paired t test on all games.
        set_: Power of a fixed design that means this set alone: a z test with the noise of all games; NaN for one a sample.
        alike: Share of all games with which a fixed design has the power of the duel, for who knew the difference.
        after: Share of the intervals that cover the truth where the duel stopped, and `ever` after every sample.
    """

    truth: float
    right: float
    wrong: float
    games: float
    fixed: float
    set_: float
    alike: float
    after: float
    ever: float


def held(
    world: World, wanted: float, duels: int, seed: int, *, level: float = 0.05, delta: float | None = None
) -> Duels:
    """Hold many duels; with `delta`, `right` is how often it was excluded, and `wrong` how often though it was there."""
    rng = np.random.default_rng(seed)
    blocks: list[Floats] = []
    for at in range(0, duels, BLOCK):
        chances = world.chances(rng, min(BLOCK, duels - at), wanted)
        truth = world.truth(chances)
        differences, noise = values(world, chances, rng)
        band = sequence(differences, 1.0, world.samples, level=level, noise=noise, points=POINTS)
        blocks.append(np.stack([truth, *_judged(band, truth, delta), *_tested(differences, noise)]))
    truth, ahead, behind, alike, games, after, ever, fixed, of_set = np.concatenate(blocks, axis=1)
    right, wrong = (ahead, behind) if wanted else (ahead + behind, ahead + behind)
    if delta is not None:
        right, wrong = alike, alike * (np.abs(truth) >= delta)
    power = float(right.mean())
    return Duels(
        float(truth.mean()),
        power,
        float(wrong.mean()),
        float(games.mean()),
        float(fixed.mean()),
        float(of_set.mean()),
        _share_alike(world, wanted, power, rng) if wanted and delta is None else float("nan"),
        float(after.mean()),
        float(ever.mean()),
    )


def _judged(band: Band, truth: Floats, delta: float | None) -> Iterator[Floats]:
    """Ahead, behind, alike; the share of samples until then; whether the interval covers there, and whether always."""
    ahead, behind = band.low >= 0, band.high <= 0
    alike = np.zeros_like(ahead) if delta is None else (band.low >= -delta) & (band.high <= delta)
    ended = ahead | behind | alike
    at = np.where(ended.any(axis=1), ended.argmax(axis=1), ended.shape[1] - 1)
    rows = np.arange(len(at))
    for one in (ahead, behind & ~ahead, alike & ~ahead & ~behind):
        yield one[rows, at].astype(float)
    yield (at + 1) / ended.shape[1]
    held_ = (band.low < truth[:, None]) & (truth[:, None] < band.high)
    yield held_[rows, at].astype(float)
    yield held_.all(axis=1).astype(float)


def _tested(differences: Floats, noise: Floats | None) -> tuple[Floats, Floats]:
    """Whether all games show a difference at 5 %: by a paired t test over samples, and by a z test of this set alone."""
    n = differences.shape[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.nan_to_num(stats.ttest_1samp(differences, 0.0, axis=1).pvalue, nan=1.0)
        if noise is None:
            return p < 0.05, np.full(len(p), np.nan)
        z = np.abs(differences.mean(axis=1)) / np.sqrt(noise.sum(axis=1) / n**2)
    return p < 0.05, np.nan_to_num(z) > stats.norm.ppf(0.975)


def _share_alike(world: World, wanted: float, power: float, rng: Generator) -> float:
    """The share of the samples with which a t test would have this power."""
    if power >= 1:
        return float("nan")
    effect = planning.detectable(world.samples) * wanted / detectable(world, rng)
    count = 2
    while planning.power(count, effect) < power:
        count += 1
    return count / world.samples


def duel_rows(worlds: Sequence[World], duels: int) -> Iterator[str]:
    """The table of duels."""
    yield "| runs | samples x games | true difference | better one named | wrong | games played | fixed design | fixed, this set | same power | interval covers: at the end | always |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for seed, world in enumerate(worlds):
        least = detectable(world, np.random.default_rng([seed, 1]))
        for times in (0, 1, 2):
            one = held(world, times * least, duels, seed * 10 + times)
            print(world.name, world.samples, world.repeats, times, one, flush=True)
            named = "-" if not times else f"{one.right:.2f}"
            same = "-" if not times or np.isnan(one.alike) else f"{one.alike:.0%}"
            of_set = "-" if np.isnan(one.set_) else f"{one.set_:.2f}"
            yield (
                f"| {world.name} | {world.samples} x {world.repeats} | {times} x .{round(least * 1000):03} | {named} | "
                f"{one.wrong:.3f} | {one.games:.0%} | {one.fixed:.2f} | {of_set} | {same} | {one.after:.3f} | {one.ever:.3f} |"
            )


def delta_rows(worlds: Sequence[World], duels: int) -> Iterator[str]:
    """The table of differences that are to be excluded."""
    yield "| runs | samples x games | --delta | true difference | excluded | though it was there | games played |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for seed, world in enumerate(worlds):
        least = detectable(world, np.random.default_rng([seed, 1]))
        for factor in (1.0, 2.0):
            for wanted in (0.0, factor * least):
                one = held(world, wanted, duels, 500 + seed * 10 + round(factor), delta=factor * least)
                print(world.name, factor, wanted, one, flush=True)
                yield (
                    f"| {world.name} | {world.samples} x {world.repeats} | {factor * least:.3f} | {one.truth:.3f} | "
                    f"{one.right:.3f} | {one.wrong:.3f} | {one.games:.0%} |"
                )


def of_three(world: World, duels: int) -> float:
    """The share of duels of three models, all alike, in which any is named."""
    rng, alarms = np.random.default_rng(99), 0
    for at in range(0, duels, BLOCK):
        many = min(BLOCK, duels - at)
        chance = world.chances(rng, many, 0.0)[0]
        games = [world.game(rng, world.repeats, chance) for _ in range(3)]
        any_ = np.zeros(many, dtype=bool)
        for one, other in ((0, 1), (0, 2), (1, 2)):
            found = games[one].mean(axis=0) - games[other].mean(axis=0)
            noise = (games[one].var(axis=0, ddof=1) + games[other].var(axis=0, ddof=1)) / world.repeats
            band = sequence(found, 1.0, world.samples, level=0.05 / 3, noise=noise, points=POINTS)
            any_ |= (band.low >= 0).any(axis=1) | (band.high <= 0).any(axis=1)
        alarms += int(any_.sum())
    return alarms / duels


@dataclass(frozen=True, slots=True)
class Precise:
    """What came of runs of one model with a precision."""

    reached: float
    refused: float
    wrongly: float
    after: float
    repeats: float
    forecast: float
    coverage: float
    fixed: float


def precise(samples: int, wanted: float, runs: int, seed: int, most: int = 40) -> Precise:
    """Add repeats until the interval is as narrow as wanted, as `--precision` does; the samples are drawn anew for each run.

    `refused` is where it was said that repeats cannot, and `wrongly` where forty of them could. The forecast is that after two
    repeats, as a share of what it took; `fixed` is what the interval covers of runs that were given as many repeats beforehand.
    """
    world = planted(2, 1)
    rng = np.random.default_rng(seed)
    ease = np.random.default_rng(7).normal(-2.0, 1.4, 400_000)
    truth = float(world.worth(_logistic(ease)).mean())
    reached, refused, wrongly, after, took, told, covered, beside = [], [], [], [], [], [], [], []
    for _ in range(runs):
        chance = _logistic(rng.normal(-2.0, 1.4, samples))
        games, again = (world.game(rng, most, chance).T for _ in range(2))
        for repeats in range(2, most + 1):
            found, interval = _narrow(games[:, :repeats], wanted)
            if repeats == 2:
                first = found
            if found.half is not None and found.half <= wanted:
                reached.append(True)
                took.append(repeats)
                told.append((first.repeats or np.nan) / repeats)
                break
            if found.beyond or repeats == most:
                reached.append(False)
                break
        refused.append(found.beyond)
        after += [repeats] if found.beyond else []
        last = _narrow(games, wanted)[0].half
        wrongly.append(found.beyond and last is not None and last <= wanted)
        covered.append(interval[0] <= truth <= interval[1])
        other = _narrow(again[:, :repeats], wanted)[1]
        beside.append(other[0] <= truth <= other[1])
    said, repeats_taken, forecast = (
        float(np.nanmedian(each)) if each else float("nan") for each in (after, took, told)
    )
    shares = (float(np.mean(each)) for each in (reached, refused, wrongly))
    return Precise(*shares, said, repeats_taken, forecast, float(np.mean(covered)), float(np.mean(beside)))


def _narrow(games: Floats, wanted: float) -> tuple[planning.Narrowing, tuple[float, float]]:
    """What `--precision` makes of games, [samples, repeats], and the interval as it is."""
    names = [f"{at:04}" for at in range(len(games))]
    metric = mean_score(dict(zip(names, games.mean(axis=1), strict=True))).whole()
    parts = components(dict(zip(names, games.tolist(), strict=True)))
    assert metric.low is not None and metric.high is not None
    return planning.narrowing((metric.low, metric.high), parts, wanted), (metric.low, metric.high)


def precision_rows(runs: int) -> Iterator[str]:
    """The table of precisions."""
    yield "| samples | ± with any number | asked | reached | said that repeats cannot | wrongly | after | repeats | forecast after 2 | interval covers | of as many repeats, fixed |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    rng = np.random.default_rng(8)
    spread = float(planted(2, 1).worth(_logistic(rng.normal(-2.0, 1.4, 400_000))).std())
    for samples in (30, 100):
        floor = float(stats.t.ppf(0.975, samples - 1)) * spread / np.sqrt(samples)
        for times in (0.7, 0.85, 1.1, 1.25):
            one = precise(samples, times * floor, runs, round(samples + 100 * times))
            print(samples, times, one, flush=True)
            shown = ["-" if np.isnan(x) else f"{x:.1f}" for x in (one.after, one.repeats, one.forecast)]
            yield (
                f"| {samples} | {floor:.3f} | {times * floor:.3f} | {one.reached:.2f} | {one.refused:.2f} | {one.wrongly:.2f} | "
                f"{shown[0]} | {shown[1]} | {shown[2]} | {one.coverage:.3f} | {one.fixed:.3f} |"
            )


def main() -> None:
    """Measure, print, and write the page if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--duels", type=int, default=2000)
    parser.add_argument("--write", metavar="DATE")
    given = parser.parse_args()
    worlds = [
        planted(24, 3),
        planted(108, 1),
        planted(108, 3),
        planted(300, 3),
        planted(108, 3, base=-4.5),
        blind_plays(1),
        blind_plays(3),
        verdicts(Path(os.environ["LOTBENCH_REFERENCE_DATA"])),
    ]
    text = "\n".join(
        [
            *_told(given.duels, given.write or "today"),
            *duel_rows(worlds, given.duels),
            "",
            *_told_of_delta(of_three(planted(108, 3), given.duels)),
            *delta_rows([planted(108, 3), blind_plays(3)], given.duels),
            "",
            *_told_of_precision(),
            *precision_rows(given.duels),
            "",
        ]
    )
    print(text)
    if given.write:
        above = PAGE.read_text(encoding="utf-8").split(MARK)[0]
        PAGE.write_text(f"{above}{MARK}\n\n{text}", encoding="utf-8")


def _told(duels: int, date: str) -> Sequence[str]:
    return (
        "## What was measured",
        "",
        f"Measured on {date}: {duels:,} simulated duels a row, of two models on sets of which the truth is known. The true",
        "difference is 0, 1 and 2 times what the fixed design shows with a power of 80 %: a paired t test at 5 % on all games.",
        "*Planted games* have up to 15 rounds; samples differ in ease, and models in which samples are easy to them (*hard*: hardly",
        "anything is ever solved). *Recorded blind plays* are the first guesses beside the shipped set, with the frame and without;",
        "a game is drawn by the share that was right. *Recorded verdicts* are those of two models on guesses of TurtleBench, right or",
        "wrong, with no noise, of which the duel knows nothing. Where there is no difference, the models still differ on samples.",
        "",
        "*Games played* is the share of all games, where one sample is played after the other; several at a time add those in flight.",
        "The fixed design asks about samples like these; *fixed, this set* asks what a duel asks, by a z test with the noise of all",
        "games, where there is more than one a sample. *Same power* is the share of all games with which the fixed design would have",
        "had the power of the duel, for somebody who had known the difference beforehand. The last columns say how often the interval",
        "held the truth when the duel stopped, and how often it held it after each sample.",
        "",
    )


def _told_of_delta(alarms: float) -> Sequence[str]:
    return (
        f"Of three models that are all alike (planted games, 108 x 3) one was named better than another in {alarms:.3f} of the duels.",
        "",
        "With `--delta`, at 1 and 2 times the difference that the fixed design shows. A true difference of exactly `--delta` should",
        "be excluded in no more than 5 %.",
        "",
    )


def _told_of_precision() -> Sequence[str]:
    return (
        "`evaluate --precision`, on planted games, each run on samples drawn anew; the interval is Student's over samples, and what",
        "it is of is the mean over all samples there could be. *± with any number* is half its width if repeats had no end.",
        "*Wrongly* is where it was said that repeats cannot and forty would have done it; *after* is the median of the repeats there",
        "were when that was said, *repeats* of what it took where it was reached, *forecast* of what was said after two as a multiple",
        "of that. The last column has runs of as many repeats that were fixed beforehand.",
        "",
    )


if __name__ == "__main__":
    main()
