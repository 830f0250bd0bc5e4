"""How often the 95 % intervals of reports hold the truth, at 5 to 66 units."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeAlias

import numpy as np

from lotbench.benchmarks.hicbench import score as hic
from lotbench.benchmarks.hicbench.ratings import Ratings
from lotbench.benchmarks.hicbench.settings import Settings as HicSettings
from lotbench.benchmarks.liveideabench.judged import Comparison, Idea, Keyword, Row
from lotbench.benchmarks.liveideabench.score import dimensions, sheet
from lotbench.benchmarks.liveideabench.settings import Settings as IdeaSettings
from lotbench.benchmarks.lotbench import leaps, score
from lotbench.benchmarks.lotbench.games import Game, Leap, Opinion, Round
from lotbench.benchmarks.rinobench import score as rino
from lotbench.metrics import classification, intervals
from lotbench.metrics.compare import of_primary_metrics
from lotbench.metrics.intervals import clustered_mean
from lotbench.types import Metric
from tests.bench.truth.arrays import RULES, of_pictures, played, primary_metric, table, tallies
from tests.bench.truth.worlds import PLAYERS, ROUNDS, WORTH

UNITS = (5, 8, 12, 24, 66)
Rng: TypeAlias = np.random.Generator
Measured: TypeAlias = Iterator[tuple[str, Metric, float]]


def games(n: int, rng: Rng) -> Measured:
    """S_c and solve rate of a strong and a weak player, three games a picture, and two samples on each."""
    for name in ("strong", "weak"):
        player = PLAYERS[name]
        for samples in (1, 2):
            own = np.repeat(of_pictures(player, n, samples, rng), 3, axis=1)
            counts = tallies(played(own, rng, own.shape[1]))
            found = score.of_tally(counts, own.size, score.creativity(RULES), score.score_ends(RULES))
            yield f"S_c, {name}, {samples} a picture", found, player.truth()


def differences(n: int, rng: Rng) -> Measured:
    """The difference of two players on the same pictures: equal ones, and one that is twice as likely to be right."""
    own = PLAYERS["strong"].chances(n, rng)
    for name, factor in (("equal", 1.0), ("half as good", 0.5)):
        one, other = (primary_metric(played(own * k, rng, 3)) for k in (1.0, factor))
        found = of_primary_metrics(one, other)
        yield f"difference, {name}", Metric(found.mean, found.low, found.high, n), _gap(factor)


@cache
def _gap(factor: float) -> float:
    own = np.random.default_rng(0).beta(PLAYERS["strong"].a, PLAYERS["strong"].b, 400_000)[:, None]
    one, other = ((k * own * (1 - k * own) ** np.arange(ROUNDS)) @ WORTH for k in (1.0, factor))
    return float((one - other).mean())


def encores(n: int, rng: Rng) -> Measured:
    """Leaps and leap score: in each round another answer with the sample's own chance."""
    own = PLAYERS["strong"].chances(n, rng)
    hits = rng.random((n, 3, ROUNDS)) < own[:, None, None]
    made = [_encore(f"p{at:03}", repeat, hits[at, repeat]) for at in range(n) for repeat in range(3)]
    truths = _leaps()
    for name, metric in leaps.metrics(made, RULES).items():
        yield f"encore, {name}", metric, truths[name]


def _encore(sample: str, repeat: int, hits: np.ndarray) -> Game:  # type: ignore[type-arg]
    rounds, failed = [], 0
    for at, hit in enumerate(hits, 1):
        said = Opinion("check", 0, bool(hit), "judge", "ok", {}, {})
        rounds.append(
            Round(at, f"w{at}", "ok", opinions=(said,), leap=Leap(at, failed, f"w{at}") if hit else None)
        )
        failed += not hit
    solved = int(hits.argmax()) + 1 if hits.any() else None
    return Game(sample, repeat + 1, "solved" if solved else "unsolved", solved, tuple(rounds), (), sample)


@cache
def _leaps() -> dict[str, float]:
    rng = np.random.default_rng(0)
    hits = rng.random((100_000, ROUNDS)) < PLAYERS["strong"].chances(100_000, rng)[:, None]
    failed = np.cumsum(~hits, axis=1) - ~hits
    return {
        "leaps": float(hits.sum(axis=1).mean()),
        "leap_score": float((hits * np.exp(-0.2 * failed)).sum(axis=1).mean()),
    }


def liveideas(n: int, rng: Rng) -> Measured:
    """The average and each of its parts: two ideas on a keyword, three judges each, marks that a keyword shares."""
    settings = IdeaSettings()
    found = dimensions(keywords(n, rng), settings)
    truths = _liveidea()
    for name in ("average", "originality", "fluency", "flexibility"):
        yield f"LiveIdea, {name}", found[name], truths[name]


def keywords(n: int, rng: Rng) -> list[Keyword]:
    version = IdeaSettings().rules
    keyword = rng.normal(6.3, 0.8, (n, 1, 1, 1))
    idea, dim = rng.normal(0, 0.6, (n, 2, 1, 1)), rng.normal(0, 0.7, (n, 2, 1, len(version.dimensions)))
    marks = np.clip(
        np.rint(keyword + idea + dim + rng.normal(0, 0.8, (n, 2, 3, len(version.dimensions)))), 1, 10
    )
    letters = rng.choice(list("ABCD"), p=[0.25, 0.4, 0.25, 0.1], size=n)
    return [
        Keyword(
            f"k{at:03}",
            1,
            "",
            tuple(
                Idea(
                    number + 1, "ok", "", None,
                    tuple(Row(index, "j", dict(zip(version.dimensions, row, strict=True))) for index, row in enumerate(rows)),
                    0,
                )
                for number, rows in enumerate(marks[at])
            ),
            (Comparison((1, 2), (str(letters[at]),)),),
        )
        for at in range(n)
    ]  # fmt: skip


@cache
def _liveidea() -> dict[str, float]:
    made, every = (
        sheet(keywords(20_000, np.random.default_rng(0)), IdeaSettings().rules, "keyword"),
        np.ones(20_000),
    )
    found = {name: made.mean(name) for name in ("originality", "fluency")}
    return {
        name: float(of(every))
        for name, of in (found | {"average": made.average, "flexibility": made.flexibility}).items()
    }


def hics(n: int, rng: Rng) -> Measured:
    """IFS, originality and both flexibilities: ten answers to a task, two judges, marks that a task shares."""
    settings, made = HicSettings(), rated(n, rng)
    truths = _hic()
    found = {
        "IFS": hic._balance(hic._table(made, settings), settings, n),
        "originality": hic._marks(made, 0),
        "flexibility": hic.flexibility(made),
        "flexibility as in the paper": hic.flexibility(made, less=False),
    }
    for name, metric in found.items():
        yield f"HIC, {name}", metric, truths[name]


def rated(n: int, rng: Rng, answers: int = 10) -> Ratings:
    task = np.repeat(np.arange(n), answers)
    common = rng.normal(0, 0.35, (n, 1, 1))[task]
    own = 3.4 + common + rng.normal(0, 0.7, (len(task), 1, 3))
    marks = np.clip(np.rint(own + rng.normal(0, 0.5, (len(task), 2, 3))), 1, 5)
    false = rng.beta(1.2, 4, n)[task]
    seen = (rng.random(len(task)) < false)[:, None] ^ (rng.random((len(task), 2)) < 0.05)
    draw = np.tile(np.arange(answers), n)
    names = tuple(f"t{at:03}" for at in range(n))
    return Ratings(names, ("",) * len(task), task, task, draw, marks, seen.astype(float), ())


@cache
def _hic() -> dict[str, float]:
    """The truths over all tasks there could be; flexibility is of tasks with endless answers, in the paper of ten each."""
    settings, made = HicSettings(), rated(40_000, np.random.default_rng(0))
    many = rated(1500, np.random.default_rng(1), 600)
    found = {
        "IFS": hic._balance(hic._table(made, settings), settings, 1).value,
        "originality": hic._marks(made, 0).value,
    }
    flat = float(np.var(hic.task_originality(many)))
    return {name: value or 0.0 for name, value in found.items()} | {
        "flexibility": flat,
        "flexibility as in the paper": float(np.var(hic.task_originality(made))),
    }


def rinos(n: int, rng: Rng) -> Measured:
    """Macro F1, MAE and recall: an idea with its gold score, a prediction beside it."""
    answers = _ideas(n, rng)
    truths = _rino()
    valid = [one for one in answers if one.said is not None]
    yield "RINo, macro F1", rino.macro_f1(answers), truths["f1"]
    yield "RINo, MAE", rino.of_scores(valid, classification.mae, rino.FARTHEST), truths["mae"]
    yield (
        "RINo, recall",
        rino.of_justifications(answers, rino.by_kind("known", rino.recall)),
        truths["recall"],
    )


def _ideas(n: int, rng: Rng) -> list[rino.Judged]:
    gold = rng.choice(5, p=[0.1, 0.25, 0.3, 0.25, 0.1], size=n) + 1
    said = np.clip(gold + np.rint(rng.normal(0.3, 1.0, n)), 1, 5).astype(int)
    of = rng.integers(2, 7, n)
    hits = rng.binomial(of, rng.beta(3, 2, n))
    return [
        rino.Judged(
            f"i{at:05}", 1, int(gold[at]), int(said[at]), "ok",
            {kind: {"gold": int(of[at]), "in_gold": int(hits[at])} for kind in ("known", "novelty")}, 0.5, 0, 1,
        )
        for at in range(n)
    ]  # fmt: skip


@cache
def _rino() -> dict[str, float]:
    many = _ideas(60_000, np.random.default_rng(0))
    sums = rino.tables(many).sum(axis=0)
    return {
        "f1": float(classification.macro_f1(sums)),
        "mae": float(classification.mae(sums)),
        "recall": float(np.mean([rino.recall(one.counts["known"]) for one in many if one.counts])),
    }


def standards(n: int, rng: Rng) -> Measured:
    """A choice of two, four problems on a picture, at chances that a picture shares."""
    for name, (a, b) in {"middling": (6, 4), "nearly all right": (19, 1)}.items():
        hits = rng.random((n, 4)) < rng.beta(a, b, n)[:, None]
        yield f"standard, {name}", clustered_mean(hits), a / (a + b)


WORLDS: tuple[tuple[Callable[[int, Rng], Measured], float], ...] = (
    (games, 1.0), (differences, 1.0), (encores, 0.4), (liveideas, 0.4), (hics, 0.5), (rinos, 1.0), (standards, 1.0),
)  # fmt: skip
"""Each world, and the part of the simulations that it gets: some take longer."""


def coverage(sims: int) -> str:
    """The share of intervals that hold the truth; one that is open on a side holds what lies there, one on both is none."""
    rows = []
    for world, part in WORLDS:
        held: dict[str, dict[int, list[bool]]] = {}
        for n in UNITS:
            for sim in range(round(sims * part)):
                for name, metric, truth in world(n, np.random.default_rng([n, sim])):
                    low, high = metric.low, metric.high
                    given = held.setdefault(name, {at: [] for at in UNITS})[n]
                    if not low is high is None:
                        given.append((low is None or low <= truth) and (high is None or truth <= high))
        for name, by_n in held.items():
            shares = (f"{np.mean(given):.3f}" if given else "open" for given in by_n.values())
            rows.append((name, round(sims * part), *shares))
    return table(("number", "simulations", *(f"{n} units" for n in UNITS)), rows)


def few_units(sims: int) -> str:
    """Coverage and mean width of S_c's interval with few pictures, for three parts of a trial that is added to the variance."""
    rows, reported = [], intervals.ADDED
    statistic, ends = score.creativity(RULES), score.score_ends(RULES)
    parts = (reported, 1.0, 1e-9)
    for name in ("strong", "weak"):
        for n in (5, 8, 12):
            seen = np.zeros((len(parts), 2))
            for sim in range(sims):
                rng = np.random.default_rng([n, sim, 77])
                own = np.repeat(of_pictures(PLAYERS[name], n, 1, rng), 3, axis=1)
                counts = tallies(played(own, rng, 3))
                for at, part in enumerate(parts):
                    intervals.ADDED = part
                    low, high = intervals.bounded(counts, statistic, ends)
                    low, high = ends if low is None or high is None else (low, high)
                    seen[at] += (low <= PLAYERS[name].truth() <= high, high - low)
            intervals.ADDED = reported
            seen /= sims
            rows.append((name, n, *(f"{held:.3f}, {wide:.3f} wide" for held, wide in seen)))
    return table(("player", "pictures", "a twentieth, as reported", "a whole trial", "none"), rows)
