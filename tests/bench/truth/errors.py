"""Worlds in which a number could be had for nothing: a judge's near misses, failing on purpose, wrong labels, few voters."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from lotbench.benchmarks.hicbench import score as hic
from lotbench.benchmarks.hicbench.settings import Settings as HicSettings
from lotbench.benchmarks.liveideabench.judged import Keyword
from lotbench.benchmarks.liveideabench.score import of_keywords
from lotbench.benchmarks.liveideabench.settings import Settings as IdeaSettings
from lotbench.benchmarks.lotbench import primary_metric as game_primary_metric
from lotbench.benchmarks.lotbench.labelled import at_error, corrected
from lotbench.benchmarks.lotbench.validation import draw_verdicts
from lotbench.checks.field_labels import decided
from lotbench.harness.episode import remark
from lotbench.harness.judge_validation import Place
from lotbench.metrics.agreement import rate
from lotbench.metrics.bradley_terry import Votes, ratings
from lotbench.metrics.primary_metric import PrimaryMetric
from lotbench.report.leaderboard import sample_means
from lotbench.report.trust import Case, Check, Rates, faults, reasons
from lotbench.report.trust import Player as Asked
from lotbench.types import Score, Trace
from tests.bench.truth import games
from tests.bench.truth.arrays import RULES, clear, entry, played, primary_metric, share, table
from tests.bench.truth.coverage import keywords, rated
from tests.bench.truth.worlds import PLAYERS, ROUNDS, Errors, Floats
from tests.games import broken, unsolved, won

Rng = np.random.Generator
HARD, PICTURES = 332, 65
"""Hard negatives of the shipped judge set's test half, and the pictures that they are on."""


def near_misses(sims: int) -> str:
    """Equal models of which one's wrong guesses are near misses in 6 of 10 and the other's in 1 of 10; 66 pictures."""
    rows = []
    for near, spread in ((0.09, False), (0.03, False), (0.03, True), (0.015, False)):
        ahead = good = 0
        for sim in range(sims):
            rng = np.random.default_rng([sim, int(1000 * near), spread])
            own = PLAYERS["strong"].chances(66, rng)
            errs = rng.beta(0.5, 0.5 / near - 0.5, 66) if spread else np.full(66, near)
            runs = [primary_metric(played(own, rng, 3, _accepts(errs, part, rng))) for part in (0.6, 0.1)]
            checked = _check(near, rng)
            found = clear([entry(name, run, checked=checked) for name, run in zip("ab", runs, strict=True)])
            ahead += bool(found)
            good += _trusted(checked)
        rows.append((near, "by picture" if spread else "alike", sims, share(ahead, sims), share(good, sims)))
    return table(
        ("FPR on near misses", "errors", "simulations", "called clearly different", "judge good enough"), rows
    )


def _accepts(errs: Floats, part: float, rng: Rng) -> Floats:
    """The chance that the judge accepts each wrong guess, [pictures, 3, ROUNDS]."""
    near = rng.random((len(errs), 3, ROUNDS)) < part
    return np.where(near, errs[:, None, None], 0.005)


def _check(near: float, rng: Rng) -> Mapping[str, Any]:
    """A check of that judge on the shipped judge set's hard negatives."""
    hits = rng.random(HARD) < near
    return asdict(rate([(bool(hit), str(at % PICTURES)) for at, hit in enumerate(hits)]))


def _trusted(checked: Mapping[str, Any]) -> bool:
    rates = Rates(checked["value"], 0.1, 0.8, 600, 250, most_fpr=checked["high"])
    return not list(faults(Check("judge", "j", rates, bound="game")))


def failing(sims: int) -> str:
    """A candidate that brings nothing where it would do badly, beside its honest twin; 66 samples, 24 tasks of ten answers."""
    rows = []
    for name, world in {
        "game: every unsolved game fails": lambda rng: failed_games(rng, 1.0),
        "game: 4 % of games fail, all unsolved": lambda rng: failed_games(rng, 0.04),
        "LiveIdea: a second idea that is the worse is withheld": lambda rng: withheld(rng, 1.0),
        "LiveIdea: the worst 4 % of ideas are": lambda rng: withheld(rng, 0.04),
        "LiveIdea: both ideas are on the 3 keywords where they are worst": keywords_withheld,
        "HIC: silent instead of a false answer": lambda rng: silent(rng, 1.0),
        "HIC: silent in 4 % of answers, all false": lambda rng: silent(rng, 0.04),
        "HIC: the 3 tasks with the most false answers fail": lambda rng: silent(rng, 0.0, 3),
        "HIC: the 10 tasks with the most false answers fail": lambda rng: silent(rng, 0.0, 10),
    }.items():
        trusted = ahead = 0
        means = np.zeros(2)
        for sim in range(sims):
            (honest, case), (other, told) = world(np.random.default_rng([3, sim]))
            means += [one.whole().value or 0.0 for one in (honest, other)]
            trusted += not reasons(told)
            assert not reasons(case)
            found = clear([entry("honest", honest), entry("failing", other)])
            ahead += any(pair.better == "failing" for pair in found)
        told_means = (f"{mean / sims:.3f}" for mean in means)
        rows.append((name, sims, *told_means, share(trusted, sims), share(ahead, sims)))
    return table(
        ("world", "simulations", "honest", "failing", "failing one trusted", "called clearly better"), rows
    )


Told = tuple[PrimaryMetric, Case]


def _case(found: PrimaryMetric, samples: int, missing: int = 0, episodes: int = 0) -> Told:
    case = Case(
        Asked(("c",)), samples=samples, whole=samples, unanswered=found.unanswered, covered=found.covered,
        missing=missing,
        episodes=(episodes or samples, episodes or samples),
    )  # fmt: skip
    return found, case


def failed_games(rng: Rng, most: float) -> tuple[Told, Told]:
    told = []
    own = PLAYERS["strong"].chances(66, rng)
    for part in (0.0, most):
        yes = played(own, rng, 3)
        left = round(part * yes.shape[0] * yes.shape[1])
        traces = []
        for at, repeat in np.ndindex(yes.shape[:2]):
            name = f"s{at:02}"
            if yes[at, repeat].any():
                traces.append(won(name, repeat + 1, int(yes[at, repeat].argmax()) + 1))
            elif left > 0:
                left -= 1
                traces.append(broken(name, repeat + 1, 1, "candidate_failed"))
            else:
                traces.append(unsolved(name, repeat + 1))
        found = game_primary_metric.primary_metric(traces, RULES)
        told.append(_case(found, 66, sample_means(traces)[1] if part else 0, len(traces)))
    return told[0], told[1]


def withheld(rng: Rng, most: float) -> tuple[Told, Told]:
    honest, other = keywords(66, rng), keywords(66, rng)
    version = IdeaSettings().rules
    worst = sorted((idea.quality(version), one.sample, idea.number) for one in other for idea in one.ideas)
    gone = {(name, number) for _, name, number in worst[: round(most * len(worst))]}
    if most == 1.0:
        low = ((one.sample, min(one.ideas, key=lambda idea: idea.quality(version)).number) for one in other)
        gone = {(name, number) for name, number in low if number == 2}
    cut = [_without(one, gone) for one in other]
    runs = [of_keywords({one.sample: [one] for one in each}, IdeaSettings()) for each in (honest, cut)]
    return _case(runs[0], 66), _case(runs[1], 66)


def keywords_withheld(rng: Rng) -> tuple[Told, Told]:
    honest, other = keywords(66, rng), keywords(66, rng)
    worst = sorted(other, key=lambda one: one.composite(IdeaSettings().rules) or 0.0)[:3]
    cut = [_without(one, {(one.sample, idea.number) for idea in one.ideas if one in worst}) for one in other]
    runs = [of_keywords({one.sample: [one] for one in each}, IdeaSettings()) for each in (honest, cut)]
    return _case(runs[0], 66), _case(runs[1], 66)


def _without(one: Keyword, gone: set[tuple[str, int]]) -> Keyword:
    ideas = tuple(
        replace(idea, status="failed", rows=()) if (one.sample, idea.number) in gone else idea
        for idea in one.ideas
    )
    return replace(one, ideas=ideas, comparisons=one.comparisons if all(idea.ok for idea in ideas) else ())


def silent(rng: Rng, most: float, whole: int = 0) -> tuple[Told, Told]:
    """HIC-Bench with 60 tasks; the other run withholds this share of its answers, and this number of whole tasks."""
    runs = []
    for part, fail in ((0.0, 0), (most, whole)):
        of = rated(60, rng)
        wrong = np.bincount(of.task, of.hallucinated.sum(axis=1))
        left = round(part * len(of.task))
        traces = []
        for task, name in enumerate(of.tasks):
            if task in np.argsort(wrong)[60 - fail :]:
                traces.append(
                    Trace(name, 1, name, "candidate_failed", Score(None, why="no reply"), (), None, {})
                )
                continue
            steps: list[dict[str, Any]] = []
            for at in np.flatnonzero(of.task == task):
                silent = left > 0 and bool(of.hallucinated[at].any())
                left -= silent
                steps += _answer(int(of.draw[at]), silent, of.marks[at], of.hallucinated[at])
            traces.append(Trace(name, 1, name, "scored", Score(0.5), tuple(steps), None, {}))
        runs.append(_case(hic.primary_metric(traces, HicSettings()), 60, sample_means(traces)[1]))
    return runs[0], runs[1]


def _answer(number: int, silent: bool, marks: Floats, false: Floats) -> list[dict[str, Any]]:
    status = "failed" if silent else "ok"
    said = remark("respond", 1, {"status": status, "answer": "" if silent else "x", "over_length": False})
    steps = [{**said, "draw": number}]
    for index in range(0 if silent else 2):
        value = {"status": "ok", "index": index, "answer": number, "hallucination": bool(false[index])}
        value |= dict(zip(("originality", "feasibility", "value"), map(float, marks[index]), strict=True))
        steps.append({**remark("judge", 1, value), "role": "judge"})
    return steps


def labels(sims: int) -> str:
    """200 labels of a run of 106 samples by three games, of which some are wrong; FPR .02 and FNR .1 of the judge."""
    rows = []
    for name in ("weak", "strong"):
        truth = PLAYERS[name].truth()
        for error in (0.0, 0.01, 0.02):
            for people in (1, 2):
                seen = np.array(
                    [_labelled(name, error, people, np.random.default_rng([5, sim])) for sim in range(sims)]
                )
                low, high = seen[:, 1], seen[:, 2]
                holds = int(((low <= truth) & (truth <= high)).sum())
                means = seen.mean(axis=0)
                rule = (
                    "one, taken as it is (before)" if people == 1 else "two, refused ones only if both say so"
                )
                score, at_1, at_2 = (f"{means[at]:.3f}" for at in (0, 3, 4))
                about = (name, f"{truth:.3f}", f"{error:.0%}", rule, sims)
                rows.append((*about, score, share(holds, sims), at_1, at_2))
    columns = "player, truth, wrong labels, labellers, simulations, corrected score, coverage, at 1 %, at 2 %"
    return table(columns.split(", "), rows)


def _labelled(name: str, error: float, people: int, rng: Rng) -> tuple[float, ...]:
    made, right = games.played(PLAYERS[name], Errors(0.02), Errors(0.1), rng)
    said: dict[Place, bool] = {}
    for kind, place in draw_verdicts(made, ROUNDS, 200, int(rng.integers(1 << 30)))[1]:
        each = [bool(right[place] ^ (rng.random() < error)) for _ in range(people)]
        found = each[0] if people == 1 else decided(each, kind == "accepted")
        if found is not None:
            said[place] = found
    metric = corrected(made, said, RULES)[1]
    ends = (metric.low if metric.low is not None else 0.0, metric.high if metric.high is not None else 1.0)
    return (metric.value or 0.0, *ends, *(at_error(made, said, RULES, one) or 0.0 for one in (0.01, 0.02)))


def voters(sims: int) -> str:
    """Ratings of four players by voters with tastes of their own (SD .7), 40 prompts; the truth is what all voters there are say."""
    strength = np.array([1.0, 0.2, -0.4, -0.8])
    many = np.array(
        [one.value for one in ratings(votes(strength, 400, 200, np.random.default_rng(0)))], dtype=float
    )
    rows = []
    for people in (2, 4, 5, 8, 12):
        held = of = 0
        for sim in range(sims):
            for one, truth in zip(
                ratings(votes(strength, people, 40, np.random.default_rng([9, sim]))), many, strict=True
            ):
                if one.low is not None and one.high is not None:
                    held, of = held + (one.low <= truth <= one.high), of + 1
        rows.append((people, sims, share(held, of) if of else "no interval"))
    return table(("voters", "simulations", "coverage"), rows)


def votes(strength: Floats, people: int, prompts: int, rng: Rng, taste: float = 0.7) -> Votes:
    """A vote of each person on each prompt, on a pair by chance, by Bradley and Terry's model; tastes are per person."""
    own = strength + rng.normal(0, taste, (people, len(strength)))
    voter, prompt = (each.ravel() for each in np.meshgrid(range(people), range(prompts)))
    pair = np.array([rng.permutation(len(strength))[:2] for _ in voter])
    ahead = own[voter, pair[:, 0]] - own[voter, pair[:, 1]]
    return Votes(
        voter, prompt, pair, (rng.random(len(voter)) < 1 / (1 + np.exp(-ahead))) * 1.0, len(strength)
    )
