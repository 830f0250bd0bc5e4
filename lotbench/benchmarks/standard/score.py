"""The score of an answer, and the metrics over problems (Sec. 4, 6.1).

An unreadable reply is a wrong answer; the report also shows the share of readable replies. An
episode that broke off has no score and is left out. Intervals are over pictures and questions.
"""

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
from lotbench.metrics.intervals import Ends, Floats, clustered_mean, estimated, ratio
from lotbench.metrics.primary_metric import PrimaryMetric, Weighted, of_sums
from lotbench.types import Metric, Score, Trace

CHOICES: Mapping[Kind, float] = {"2t1": 1 / 2, "3t1": 1 / 3, "4t1": 1 / 4, "5t2": 1 / 10}
"""The chance level of each kind of choice: one divided by the number of possible answers."""
AVERAGES: Mapping[str, tuple[Kind, ...]] = {
    "average": ("3t1", "4t1", "5t2", "rank"),
    "average_with_2t1": ("2t1", "3t1", "4t1", "5t2", "rank"),
}
"""The kinds whose accuracies and NDCG make up the column Avg. of the paper's tables. Tables 2 and 4 leave out 2T1, Table 3
has it."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A problem and the answer to it: the indices of the options named, in order; None for an unreadable answer."""

    problem: Problem
    answer: tuple[int, ...] | None


def grade(episode: ProblemEpisode) -> Score:
    """Return the score of one episode: 1 or 0 for a right or wrong choice, or the NDCG of a ranking.

    The value is None for a free response, or if the episode did not end as scored. The part `answers` is a list with one
    entry, the answer that combines all draws (`agreed`): a list of indices of options, or None if no draw could be read.
    """
    outcome, problem, settings = episode.state["outcome"], episode.sample, episode.settings
    parts: dict[str, Any] = {name: getattr(problem, name) for name in ("kind", "type", "language", "group")}
    if outcome != "scored":
        return Score(None, f"{outcome}: {episode.state.get('why') or 'no reason given'}", parts)
    by_draw = episode.state["turn"]["answers"]
    if problem.kind == "generate":
        return Score(
            None, "people vote on free responses: lotbench ballot", parts | {"response": by_draw["0"]}
        )
    answer = agreed([by_draw[str(draw)] for draw in range(draws(settings, problem))], problem.kind == "rank")
    return Score(_worth(problem, answer, settings), parts=parts | {"answers": [answer]})


def metrics(traces: Sequence[Trace], settings: Settings, evidence: Evidence = NOTHING) -> dict[str, Metric]:
    """Return the metrics of a run by name, with 95 % intervals over pictures and questions.

    The field `n` of a metric is the number of pictures and questions, `observations` that of problems.
    """
    return measured(answered(traces, evidence), settings)


def measured(all_of: Sequence[Answered], settings: Settings) -> dict[str, Metric]:
    """Return the metrics of answered problems by name."""
    of = {kind: [entry for entry in all_of if entry.problem.kind == kind] for kind in (*CHOICES, "rank")}
    by_name = {f"accuracy_{kind}": accuracy(of[kind]) for kind in CHOICES}
    by_name |= {"rank_top1": top1(of["rank"], settings), "rank_ndcg": ndcg(of["rank"], settings)}
    return by_name | {name: average(all_of, settings, kinds) for name, kinds in AVERAGES.items()}


def average(entries: Sequence[Answered], settings: Settings, kinds: Sequence[Kind]) -> Metric:
    """Return the column Avg. of the paper's tables: accuracy or NDCG averaged over kinds, then over types (Fig. 16).

    Types have equal weights, however many problems each has. The value is None if a type lacks one of the kinds. n counts
    pictures and questions.
    """
    chosen = [entry for entry in entries if entry.problem.kind in kinds]
    cells = [(type_, kind) for type_ in sorted({entry.problem.type for entry in entries}) for kind in kinds]
    groups: dict[str, Floats] = {}
    for entry in chosen:
        sums = groups.setdefault(entry.problem.group, np.zeros((len(cells), 2)))
        cell = cells.index((entry.problem.type, entry.problem.kind))
        sums[cell] += (_worth(entry.problem, entry.answer, settings), 1)
    counts = np.array(list(groups.values())) if groups else np.zeros((1, len(cells), 2))
    missing = [
        f"{kind.upper()} of {type_}"
        for (type_, kind), of in zip(cells, counts[..., 1].sum(axis=0), strict=True)
        if not of
    ]
    if missing or not cells:
        why = f"no {', '.join(missing) or 'problem'} was asked: the average is over {len(kinds)} of each type"
        return Metric(None, why=why)
    chance = [
        _chance([entry for entry in chosen if (entry.problem.type, entry.problem.kind) == place], settings)
        for place in cells
    ]
    metric = estimated(counts, _averaged, (0.0, 1.0), "", observations=len(chosen))
    return replace(metric, baselines={"chance": float(np.mean(chance))})


def _chance(entries: Sequence[Answered], settings: Settings) -> float:
    """Return the chance level of problems of one kind: of a right choice, or of the mean NDCG of rankings."""
    kind = entries[0].problem.kind
    return CHOICES.get(kind) or _over(entries, lambda problem: ranking.chance(gain(problem, settings))) or 0.0


def _averaged(sums: Floats) -> Floats:
    """Return the mean over cells of each cell's mean, [...]; NaN if a cell is empty.

    Args:
        sums: [..., cells, 2] sum of the scores, and number of problems, of each cell (a type and a kind).
    """
    return np.asarray(ratio(sums).mean(axis=-1))


def primary_metric(traces: Sequence[Trace], settings: Settings) -> PrimaryMetric:
    """Return the accuracy of one kind of choice, or the top-1 share of rankings, as the primary metric.

    The kind is the first in CHOICES that was answered. An unreadable answer is wrong. A record is the marks of a picture or
    question. It is named after the problems on it that were played, so two runs are paired where these are the same.
    """
    by_kind: dict[str, dict[str, list[float]]] = {}
    played: dict[str, dict[str, set[str]]] = {}
    for trace in traces:
        kind, group = str(trace.score.parts.get("kind")), str(trace.score.parts.get("group"))
        played.setdefault(kind, {}).setdefault(group, set()).add(trace.sample)
        if "answers" in trace.score.parts:
            by_kind.setdefault(kind, {}).setdefault(group, []).append(_mark(trace))
    kind = next((each for each in (*CHOICES, "rank") if each in by_kind), "rank")
    problems, marks = played.get(kind, {}), by_kind.get(kind, {})
    records = {" ".join(sorted(problems[group])): marks[group] for group in sorted(marks)}

    def measure(groups: Sequence[Sequence[float]]) -> Metric:
        return clustered_mean(groups) if groups else Metric(None, why="no problem was answered")

    def weighted(groups: Sequence[Sequence[float]]) -> Weighted:
        counts = np.array([[sum(group), len(group)] for group in groups])
        return of_sums(counts, ratio)

    name = "rank_top1" if kind == "rank" else f"accuracy_{kind}"
    unanswered = len(problems) - len(records)
    return PrimaryMetric(name, records, measure, weighted, unanswered, weight=len, lacks=settings.lacks)


def _mark(trace: Trace) -> float:
    """Return 1 if the choice was right or, in a ranking, the best response was first; else 0."""
    parts: Mapping[str, Any] = trace.score.parts
    if parts["kind"] == "rank":
        (answer,) = parts["answers"]
        return float(bool(answer) and answer[0] == 0)
    return trace.score.value or 0.0


def answers(trace: Trace, settings: Settings) -> list[str]:
    """Return the answers of an episode as texts: the free response, or the numbers of the options named, from 1.

    Empty if the answer could not be read.
    """
    parts: Mapping[str, Any] = trace.score.parts
    if parts.get("response"):
        return [str(parts["response"])]
    ranked = parts.get("kind") == "rank"
    named = [picked if ranked else sorted(picked) for picked in parts.get("answers", ()) if picked]
    return [f"option {'-'.join(str(at + 1) for at in picked)}" for picked in named]


def answered(traces: Sequence[Trace], evidence: Evidence) -> list[Answered]:
    """Return the answered problems in the order of the traces, without free responses and episodes that broke off."""
    return [
        Answered(evidence.samples[trace.sample], _answer(trace.score.parts["answers"]))
        for trace in traces
        if "answers" in trace.score.parts
    ]


def accuracy(entries: Sequence[Answered]) -> Metric:
    """Return the share of answers that name exactly the right options."""
    chance = CHOICES[entries[0].problem.kind] if entries else None
    return replace(_mean(entries, right), baselines={"chance": chance})


def top1(entries: Sequence[Answered], settings: Settings) -> Metric:
    """Return the share of rankings that put the best response first."""
    metric = _mean(entries, lambda problem, answer: float(answer[0] == 0))
    chance = _over(entries, lambda problem: 1 / len(problem.options))
    return replace(metric, baselines={"chance": chance})


def ndcg(entries: Sequence[Answered], settings: Settings) -> Metric:
    """Return the mean NDCG of rankings; an unreadable one has NDCG 0."""
    metric = _mean(entries, lambda problem, answer: _worth(problem, answer, settings))
    chance = _over(entries, lambda problem: ranking.chance(gain(problem, settings)))
    return replace(metric, baselines={"chance": chance})


def spearman(entries: Sequence[Answered]) -> Metric:
    """Return the mean of Spearman's rank correlation with people's order over the readable rankings (Fig. 14, left)."""
    read = [entry for entry in entries if entry.answer is not None]
    metric = _mean(read, lambda problem, answer: ranking.spearman(answer), (-1.0, 1.0))
    return replace(metric, baselines={"chance": 0.0})


def right(problem: Problem, answer: Sequence[int]) -> float:
    """Return 1 if an answer names exactly the right options, in any order; else 0."""
    return float(set(answer) == set(range(problem.answer_size)))


def gain(problem: Problem, settings: Settings) -> Floats:
    """Return the gains for NDCG of the options of a ranking, [options], best first."""
    return ranking.gains([option.relevance for option in problem.options], settings.gain)


def _worth(problem: Problem, answer: Sequence[int] | None, settings: Settings) -> float:
    if answer is None:
        return 0.0
    if problem.kind != "rank":
        return right(problem, answer)
    return float(ranking.ndcg(answer, gain(problem, settings)))


def _mean(
    entries: Sequence[Answered], value: Callable[[Problem, Sequence[int]], float], ends: Ends = (0.0, 1.0)
) -> Metric:
    """Return the mean of a value over answers, with its interval over pictures and questions.

    An unreadable answer has the value 0. `ends` are the bounds of the value.
    """
    groups: dict[str, list[float]] = {}
    for entry in entries:
        number = 0.0 if entry.answer is None else value(entry.problem, entry.answer)
        groups.setdefault(entry.problem.group, []).append(number)
    if not groups:
        return Metric(None, why="no such problems were asked")
    return clustered_mean(groups.values(), ends)


def _over(entries: Sequence[Answered], value: Callable[[Problem], float]) -> float | None:
    """Return the mean of a value over problems; None without problems."""
    return sum(value(entry.problem) for entry in entries) / len(entries) if entries else None


def _answer(values: Any) -> tuple[int, ...] | None:
    (answer,) = values
    return None if answer is None else tuple(answer)
