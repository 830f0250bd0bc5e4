"""What an answer is worth, and the metrics over problems (Sec. 4, 6.1).

A reply that came and could not be read is a wrong answer, and what the read ones are worth stands beside it
with their share; an episode that broke off has no score and is left out. Intervals are over pictures and questions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lotbench.benchmarks.standard.answers import agreed
from lotbench.benchmarks.standard.candidate import draws
from lotbench.benchmarks.standard.oogiri.problems import Kind, Problem
from lotbench.benchmarks.standard.settings import ProblemEpisode, Settings
from lotbench.harness.evidence import NOTHING, Evidence
from lotbench.metrics import ranking
from lotbench.metrics.intervals import Floats, bounded, clustered_mean, ratio
from lotbench.metrics.primary_metric import PrimaryMetric, Weighted, of_sums
from lotbench.types import Metric, Score, Trace

CHOICES: Mapping[Kind, float] = {"2t1": 1 / 2, "3t1": 1 / 3, "4t1": 1 / 4, "5t2": 1 / 10}
"""Chance of each kind of choice: one over the answers that can be given."""
AVERAGES: Mapping[str, tuple[Kind, ...]] = {
    "average": ("3t1", "4t1", "5t2", "rank"),
    "average_with_2t1": ("2t1", "3t1", "4t1", "5t2", "rank"),
}
"""What each table's Avg. is the mean of, type by type: its accuracies and NDCG. Tables 2 and 4 have no 2T1, Table 3 has it."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A problem with its answer; None where it could not be read."""

    problem: Problem
    answer: tuple[int, ...] | None


def grade(episode: ProblemEpisode) -> Score:
    """Return the score of one finished episode: 1 for the right choice, or the NDCG of the ranking.

    A part `answers` holds the options named, by index; a free response has no score.
    """
    outcome, one, settings = episode.state["outcome"], episode.sample, episode.settings
    parts: dict[str, Any] = {"kind": one.kind, "type": one.type, "language": one.language, "group": one.group}
    if outcome != "scored":
        return Score(None, f"{outcome}: {episode.state.get('why') or 'no reason given'}", parts)
    by_draw = episode.state["turn"]["answers"]
    if one.kind == "generate":
        return Score(
            None, "people vote on free responses: lotbench ballot", parts | {"response": by_draw["0"]}
        )
    answer = agreed([by_draw[str(draw)] for draw in range(draws(settings, one))], one.kind == "rank")
    return Score(_worth(one, answer, settings), parts=parts | {"answers": [answer]})


def metrics(traces: Sequence[Trace], settings: Settings, evidence: Evidence = NOTHING) -> dict[str, Metric]:
    """Return the metrics of a run, with 95 % intervals over pictures and questions, which n counts; observations are problems."""
    return measured(answered(traces, evidence), settings)


def measured(all_of: Sequence[Answered], settings: Settings) -> dict[str, Metric]:
    """Return the metrics of answered problems."""
    made = {
        f"accuracy_{kind}": accuracy([one for one in all_of if one.problem.kind == kind]) for kind in CHOICES
    }
    ranked = [one for one in all_of if one.problem.kind == "rank"]
    made |= {"rank_top1": top1(ranked, settings), "rank_ndcg": ndcg(ranked, settings)}
    return made | {name: average(all_of, settings, kinds) for name, kinds in AVERAGES.items()}


def average(found: Sequence[Answered], settings: Settings, kinds: Sequence[Kind]) -> Metric:
    """Return a table's Avg. of each type, the mean of its accuracies and of NDCG, and the mean over types; n counts pictures and questions.

    It is null where a type was not asked one of the kinds. Fig. 16 has types weigh alike, however many problems each has.
    """
    asked = [one for one in found if one.problem.kind in kinds]
    cells = [(type_, kind) for type_ in sorted({one.problem.type for one in found}) for kind in kinds]
    groups: dict[str, Floats] = {}
    for one in asked:
        sums = groups.setdefault(one.problem.group, np.zeros((len(cells), 2)))
        sums[cells.index((one.problem.type, one.problem.kind))] += (
            _worth(one.problem, one.answer, settings),
            1,
        )
    counts = np.array(list(groups.values())) if groups else np.zeros((1, len(cells), 2))
    missing = [
        f"{kind.upper()} of {type_}"
        for (type_, kind), of in zip(cells, counts[..., 1].sum(axis=0), strict=True)
        if not of
    ]
    if missing or not cells:
        why = f"no {', '.join(missing) or 'problem'} was asked: the average is over {len(kinds)} of each type"
        return Metric(None, why=why)
    low, high = bounded(counts, _averaged)
    chance = [
        _chance([one for one in asked if (one.problem.type, one.problem.kind) == cell], settings)
        for cell in cells
    ]
    return Metric(
        float(_averaged(counts.sum(axis=0))),
        low,
        high,
        n=len(counts),
        baselines={"chance": float(np.mean(chance))},
        observations=len(asked),
    )


def _chance(found: Sequence[Answered], settings: Settings) -> float:
    """Return what chance gets of problems of one kind: the right choice, or NDCG."""
    kind = found[0].problem.kind
    return CHOICES.get(kind) or _over(found, lambda one: ranking.chance(gain(one, settings))) or 0.0


def _averaged(sums: Floats) -> Floats:
    """Return the mean of what each kind of each type is worth, from sums and counts; nan where one is missing."""
    return np.asarray(ratio(sums).mean(axis=-1))


def primary_metric(traces: Sequence[Trace], settings: Settings) -> PrimaryMetric:
    """Return the first metric that the run has problems for, by picture or question; an unread answer is wrong.

    A picture goes by the problems on it that were played: two runs are paired where these are the same.
    """
    found: dict[str, dict[str, list[float]]] = {}
    played: dict[str, dict[str, set[str]]] = {}
    for trace in traces:
        kind, group = str(trace.score.parts.get("kind")), str(trace.score.parts.get("group"))
        played.setdefault(kind, {}).setdefault(group, set()).add(trace.sample)
        if "answers" in trace.score.parts:
            found.setdefault(kind, {}).setdefault(group, []).append(_mark(trace))
    kind = next((each for each in (*CHOICES, "rank") if each in found), "rank")
    problems, marks = played.get(kind, {}), found.get(kind, {})
    records = {" ".join(sorted(problems[group])): marks[group] for group in sorted(marks)}

    def measure(groups: Sequence[Sequence[float]]) -> Metric:
        return clustered_mean(groups) if groups else Metric(None, why="no problem was answered")

    def weighted(groups: Sequence[Sequence[float]]) -> Weighted:
        counts = np.array([[sum(group), len(group)] for group in groups])
        return of_sums(counts, ratio)

    name = "rank_top1" if kind == "rank" else f"accuracy_{kind}"
    return PrimaryMetric(name, records, measure, weighted, len(problems) - len(records))


def _mark(trace: Trace) -> float:
    """Return whether the choice was right, or the best was put first."""
    parts: Mapping[str, Any] = trace.score.parts
    if parts["kind"] == "rank":
        (answer,) = parts["answers"]
        return float(bool(answer) and answer[0] == 0)
    return trace.score.value or 0.0


def answers(trace: Trace, settings: Settings) -> list[str]:
    """Return what was answered to a problem, as words: the response written, or the options named, by number."""
    parts: Mapping[str, Any] = trace.score.parts
    if parts.get("response"):
        return [str(parts["response"])]
    ranked = parts.get("kind") == "rank"
    named = [picked if ranked else sorted(picked) for picked in parts.get("answers", ()) if picked]
    return [f"option {'-'.join(str(at + 1) for at in picked)}" for picked in named]


def answered(traces: Sequence[Trace], evidence: Evidence) -> list[Answered]:
    """Return the problems that were answered, in data order; free responses and broken episodes left out."""
    return [
        Answered(evidence.samples[trace.sample], _answer(trace.score.parts["answers"]))
        for trace in traces
        if "answers" in trace.score.parts
    ]


def accuracy(found: Sequence[Answered], *, parsed: bool = False) -> Metric:
    """Return the share of answers that name the right options and no other, of all or of those that were read."""
    chance = CHOICES[found[0].problem.kind] if found else None
    return replace(_mean(found, right, parsed), baselines={"chance": chance})


def top1(found: Sequence[Answered], settings: Settings, *, parsed: bool = False) -> Metric:
    """Return the share of rankings that put the best first."""
    made = _mean(found, lambda one, answer: float(answer[0] == 0), parsed)
    chance = _over(found, lambda one: 1 / len(one.options))
    return replace(made, baselines={"chance": chance})


def ndcg(found: Sequence[Answered], settings: Settings, *, parsed: bool = False) -> Metric:
    """Return the mean NDCG of the rankings; a reply that could not be read ranks nothing and is worth 0."""
    made = _mean(found, lambda one, answer: float(ranking.ndcg(answer, gain(one, settings))), parsed)
    chance = _over(found, lambda one: ranking.chance(gain(one, settings)))
    return replace(made, baselines={"chance": chance})


def spearman(found: Sequence[Answered]) -> Metric:
    """Return mean rank correlation with the human order, over the rankings that were read (Fig. 14, left)."""
    made = _mean(found, lambda one, answer: ranking.spearman(answer), True, (-1.0, 1.0))
    return replace(made, baselines={"chance": 0.0})


def right(one: Problem, answer: Sequence[int]) -> float:
    """Return 1 if an answer names all right options and no other, else 0."""
    return float(set(answer) == set(range(one.wanted)))


def gain(one: Problem, settings: Settings) -> Floats:
    """Return the gains of a ranking's options, best first."""
    return ranking.gains([option.relevance for option in one.options], settings.gain)


def _worth(one: Problem, answer: Sequence[int] | None, settings: Settings) -> float:
    if answer is None:
        return 0.0
    return float(ranking.ndcg(answer, gain(one, settings))) if one.kind == "rank" else right(one, answer)


def _mean(
    found: Sequence[Answered],
    value: Callable[[Problem, Sequence[int]], float],
    parsed: bool,
    ends: tuple[float, float] = (0.0, 1.0),
) -> Metric:
    """Return the mean of a value over answers, an unread one being worth 0 or left out; observations are problems."""
    groups: dict[str, list[float]] = {}
    for one in found:
        if one.answer is not None:
            groups.setdefault(one.problem.group, []).append(value(one.problem, one.answer))
        elif not parsed:
            groups.setdefault(one.problem.group, []).append(0.0)
    if not groups:
        return Metric(None, why="no answers that could be read" if found else "no such problems were asked")
    return clustered_mean(groups.values(), ends)


def _over(found: Sequence[Answered], value: Callable[[Problem], float]) -> float | None:
    """Return the mean of a value over problems."""
    return sum(value(one.problem) for one in found) / len(found) if found else None


def _answer(told: Any) -> tuple[int, ...] | None:
    (answer,) = told
    return None if answer is None else tuple(answer)
