"""The nine metrics: two of the novelty score, seven of the justification (Sec. 4.2, Eq. 1-3).

Grading stores the counts in the trace. Every ratio is computed for one idea and then averaged over ideas. An idea
whose judge failed keeps its novelty score and has no justification scores; n shows how many have them.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lotbench.benchmarks.rinobench.answered import Answered, Check, read_answered
from lotbench.benchmarks.rinobench.claims import KINDS
from lotbench.benchmarks.rinobench.sample import LABELS
from lotbench.benchmarks.rinobench.settings import IdeaEpisode, Settings
from lotbench.harness.evidence import NOTHING, Evidence
from lotbench.metrics import classification
from lotbench.metrics.intervals import (
    Ends,
    Floats,
    Statistic,
    bounded,
    clustered_mean,
    estimated,
    studentised,
)
from lotbench.metrics.primary_metric import PrimaryMetric, Weighted, by_sample, of_sums
from lotbench.types import JSON, Metric, Score, Trace

Counts = Mapping[str, int]
"""The counts for one answer and one kind of claims, by name; `count` has the names."""

FARTHEST = (0.0, float(LABELS[-1] - LABELS[0]))
"""The smallest and the largest possible absolute error."""
LEAST_IDEAS = 12
"""The fewest ideas for an interval of macro F1."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One answer to one idea, as grading stored it.

    Attributes:
        gold: The gold score, 1 to 5.
        said: The predicted score; None if it is not one of 1 to 5.
        status: The status of the candidate's reply: ok, invalid, unparsed, refused or truncated.
        counts: The counts by kind of claims; None unless the justification was judged.
        alignment: The mean score of the alignment calls, 0..1; None unless the justification was judged.
        shortened: The number of abstracts that were cut in the prompt.
        works: The number of related works.
        block: The block of the idea; "" if its sample names none. See `sample.Item`.
    """

    sample: str
    repeat: int
    gold: int
    said: int | None
    status: str
    counts: Mapping[str, Counts] | None
    alignment: float | None
    shortened: int
    works: int
    block: str = ""

    @property
    def unit(self) -> str:
        """The unit of intervals: the block of the idea, else its sample id."""
        return self.block or self.sample


def grade(episode: IdeaEpisode) -> Score:
    """Return the score of one episode: 1 if the prediction equals the gold score, else 0.

    The value is None, with the reason, if the episode did not end as scored. The parts are fields of `Judged`.
    """
    outcome, gold = episode.state["outcome"], episode.sample.novelty_score
    answer = read_answered(episode.state["steps"])
    if answer is None or outcome == "candidate_failed":
        return Score(None, why=f"{outcome}: {episode.state.get('why')}", parts={"gold": gold, "status": None})
    block = {"block": episode.sample.block} if episode.sample.block else {}
    counts, aligned = (None, None) if outcome == "judge_failed" else _justification(answer)
    parts: dict[str, JSON] = {
        "gold": gold,
        "said": answer.novelty_score,
        "status": answer.status,
        "shortened": answer.shortened,
        "works": answer.works,
        "alignment": aligned,
        "counts": counts,
        **block,
    }
    if outcome != "scored":
        why = episode.state.get("why") or f"the answer is {answer.status}: no score of 1 to 5"
        return Score(None, why=f"{outcome}: {why}", parts=parts)
    return Score(float(answer.novelty_score == gold), parts=parts)


def _justification(answer: Answered) -> tuple[dict[str, JSON] | None, float | None]:
    """Return the counts by kind and the mean alignment; None for both if the justification was not judged."""
    if answer.gold is None or answer.claims is None or not answer.alignments:
        return None, None
    counts: dict[str, JSON] = {
        kind: count(answer.gold[kind], [answer.checks[claim] for claim in answer.claims[kind]])
        for kind in KINDS
    }
    return counts, float(np.mean(answer.alignments))


def count(gold: Iterable[str], checks: Sequence[Check]) -> dict[str, int]:
    """Return the counts of one kind of claims (Sec. 4.2.2).

    Args:
        gold: Ids of the gold arguments of this kind.
        checks: The check of each claim.

    Returns:
        `gold` arguments, `covered` ones (that a claim matches), `generated` claims; of these `in_gold` (that match a gold
        argument), `additional` (grounded, not in the gold), `ungrounded`, `unfounded` (neither grounded nor in the gold).
    """
    names = set(gold)
    return {
        "gold": len(names),
        "covered": len(names & {name for check in checks for name in check.gold}),
        "generated": len(checks),
        "in_gold": sum(bool(check.gold) for check in checks),
        "additional": sum(check.grounded and not check.gold for check in checks),
        "ungrounded": sum(not check.grounded for check in checks),
        "unfounded": sum(not check.grounded and not check.gold for check in checks),
    }


def recall(counts: Counts) -> float:
    """Return min(1, claims in the gold / gold arguments), 0 without gold arguments (Eq. 1)."""
    return min(1.0, counts["in_gold"] / counts["gold"]) if counts["gold"] else 0.0


def coverage(counts: Counts) -> float:
    """Return the share of gold arguments that at least one claim matches; 0 without gold arguments."""
    return counts["covered"] / counts["gold"] if counts["gold"] else 0.0


def additional(counts: Counts) -> float:
    """Return the number of grounded claims that are not in the gold, per gold argument (Eq. 2)."""
    return counts["additional"] / max(counts["gold"], 1)


def hallucination(counts: Counts, rule: str = "paper") -> float:
    """Return the share of claims that are not grounded (Eq. 3); by the rule `code`, neither grounded nor in the gold."""
    wrong = counts["ungrounded" if rule == "paper" else "unfounded"]
    return wrong / counts["generated"] if counts["generated"] else 0.0


def judged_answers(traces: Sequence[Trace]) -> list[Judged]:
    """Return the answers of a run; an episode in which the candidate never replied has none."""
    rows = []
    for trace in traces:
        parts: Mapping[str, Any] = trace.score.parts
        if parts.get("status"):
            rows.append(Judged(trace.sample, trace.repeat, **parts))
    return rows


def answers(trace: Trace, settings: Settings) -> list[str]:
    """Return the predicted score in words, as a list; empty without one."""
    return [f"novelty {answer.said}" for answer in judged_answers([trace]) if answer.said]


def tables(answers: Sequence[Judged]) -> Floats:
    """Return the answers of each unit by gold score and predicted score, as counts [units, 5, 6].

    Units are ideas or blocks, in order of their names. Column 0 counts answers without a score.
    """
    units: dict[str, list[Judged]] = {}
    for answer in answers:
        units.setdefault(answer.unit, []).append(answer)
    return np.array(
        [
            classification.table(
                [answer.gold for answer in units[name]], [answer.said for answer in units[name]], len(LABELS)
            )
            for name in sorted(units)
        ]
    )


def of_scores(answers: Sequence[Judged], statistic: Statistic, ends: Ends = (0.0, 1.0)) -> Metric:
    """Return a statistic of gold and predicted scores, with its interval over ideas or blocks.

    Args:
        answers: The answers of a run.
        statistic: Maps counts [..., 5, 6] of gold by predicted score (`tables`) to values [...].
        ends: The lowest and the highest possible value.
    """
    if not answers:
        return Metric(None, why="no idea has an answer, or none with a score of 1 to 5")
    counts = tables(answers)
    return estimated(counts, statistic, ends, "no answer has a score of 1 to 5", observations=len(answers))


def macro_f1(answers: Sequence[Judged]) -> Metric:
    """Return the mean F1 of the five scores, with its interval.

    A score that is the gold score of no idea counts with F1 0. Its F1 could be up to 1, so the upper end of the interval is
    raised by 1/5 for each such score. Fewer than 12 ideas lack too many scores, and have no interval.
    """
    metric = of_scores(answers, classification.macro_f1)
    if metric.high is None or metric.n < LEAST_IDEAS:
        return replace(metric, low=None, high=None)
    unseen = len(LABELS) - len({answer.gold for answer in answers})
    return replace(metric, high=min(1.0, metric.high + unseen / len(LABELS)))


def primary_metric(traces: Sequence[Trace], settings: Settings) -> PrimaryMetric:
    """Return macro F1 as the primary metric, with one record for each idea or block.

    An answer without a score of 1 to 5 counts as wrong. A record is named after the answered ideas of its block, so two
    runs are paired where these are the same.
    """
    played = {name: judged_answers(episodes) for name, episodes in by_sample(traces)}
    units: dict[str, list[str]] = {}
    for name, replies in played.items():
        units.setdefault(replies[0].unit if replies else name, []).append(name)
    records = {
        " ".join(names): replies
        for names in units.values()
        if (replies := [reply for name in names for reply in played[name]])
    }

    def weighted(ideas: Sequence[Sequence[Judged]]) -> Weighted:
        return of_sums(np.concatenate([tables(answers) for answers in ideas]), classification.macro_f1)

    def measure(ideas: Sequence[Sequence[Judged]]) -> Metric:
        return macro_f1([answer for answers in ideas for answer in answers])

    unanswered = sum(not replies for replies in played.values())
    return PrimaryMetric("macro_f1", records, measure, weighted, unanswered, played=len(played), weight=len)


def of_justifications(
    answers: Sequence[Judged],
    ratio: Callable[[Judged], float],
    *,
    most: float | None = 1.0,
    lower: bool = False,
) -> Metric:
    """Return the mean of a ratio over judged justifications, with its interval over ideas.

    Args:
        answers: The answers of a run.
        ratio: Computes the ratio of an answer that has counts.
        most: The highest possible value of the ratio; None if it has no bound.
        lower: Whether lower values are better.
    """
    rows = [answer for answer in answers if answer.counts is not None]
    if not rows:
        return Metric(None, better="lower" if lower else "higher", why="no justification was judged")
    units: dict[str, list[float]] = {}
    for answer in rows:
        units.setdefault(answer.unit, []).append(ratio(answer))
    values = [units[name] for name in sorted(units)]
    ends, interval = (0.0, math.inf if most is None else most), studentised if most is None else bounded
    return replace(clustered_mean(values, ends, interval), better="lower" if lower else "higher")


def by_kind(kind: str, ratio: Callable[[Counts], float]) -> Callable[[Judged], float]:
    """Return a function that applies `ratio` to the counts of an answer for one kind of claims."""

    def of_answer(answer: Judged) -> float:
        assert answer.counts is not None
        return ratio(answer.counts[kind])

    return of_answer


def metrics(traces: Sequence[Trace], settings: Settings, evidence: Evidence = NOTHING) -> dict[str, Metric]:
    """Return the nine metrics by name, with 95 % intervals over ideas; macro F1 and MAE have `baselines`."""
    return measured(judged_answers(traces), settings)


def measured(answers: Sequence[Judged], settings: Settings) -> dict[str, Metric]:
    """Return the metrics of these answers by name."""
    valid = [answer for answer in answers if answer.said is not None]
    trivial = baselines([answer.gold for answer in answers])
    by_name = {
        "macro_f1": replace(macro_f1(answers), baselines={name: pair[0] for name, pair in trivial.items()}),
        "mae": replace(
            of_scores(valid, classification.mae, FARTHEST),
            better="lower",
            baselines={name: pair[1] for name, pair in trivial.items()},
        ),
        "alignment": of_justifications(answers, lambda answer: answer.alignment or 0.0),
    }
    rule = settings.hallucination
    for name, ratio, most, lower in (
        ("recall", recall, 1.0, False),
        ("additional", additional, None, False),
        ("hallucination", lambda counts: hallucination(counts, rule), 1.0, True),
    ):
        for kind in KINDS:
            metric = of_justifications(answers, by_kind(kind, ratio), most=most, lower=lower)
            by_name[f"{kind}_{name}"] = metric
    return by_name


def baselines(gold: Sequence[int]) -> dict[str, tuple[float, float]]:
    """Return the expected macro F1 and MAE of guessing without reading the idea, by the name of the rule.

    The rules: always the most frequent gold score, always 3, each score with the same probability, or each with its
    frequency in the gold. Empty without answers.
    """
    if not gold:
        return {}
    support = [sum(score == label for score in gold) for label in LABELS]
    most = support.index(max(support))
    chances = {
        "always the majority": [float(place == most) for place in range(len(LABELS))],
        "always 3": [float(label == 3) for label in LABELS],
        "uniform guess": [1 / len(LABELS)] * len(LABELS),
        "prior guess": [n / len(gold) for n in support],
    }
    return {name: classification.guessing(support, chance) for name, chance in chances.items()}
