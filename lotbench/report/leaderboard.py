"""The ranking of runs of one benchmark by its primary metric: values, ties, paired differences.

Only runs measured under the same conditions are ranked together; others are refused, with a list of the differences. The
metric decides how an unreadable answer counts. A run that is not complete, in which more than 5 % of the episodes
failed, or whose metric leaves out more than 5 % of its samples, is not paired with other runs and stands last.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, zip_longest
from pathlib import Path
from statistics import fmean
from typing import Any

from lotbench.config.experiment import differences
from lotbench.config.model_names import base_model
from lotbench.errors import UsageError, shape_errors
from lotbench.metrics import compare
from lotbench.metrics.compare import ALPHA, Difference
from lotbench.metrics.primary_metric import PrimaryMetric, mean_score
from lotbench.report.likeness import Replies
from lotbench.report.trust import MOST_UNANSWERED, in_short
from lotbench.types import JSON, Metric, Trace

HUMAN = "human"
_WEIGHTS = re.compile(r"(\.Q\w+)?@[0-9a-f]{8}$")
_DIGEST = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{56}\b")


@dataclass(frozen=True, slots=True)
class Entry:
    """The data of a run for a ranking.

    Attributes:
        name: The name of the run's folder.
        asked: The candidate's name in the configuration.
        answered: The candidate's ids in the replies.
        values: The mean score of each sample's scored episodes, by sample id.
        failed: How many episodes failed or have no score.
        conditions: What must be equal for runs to be ranked together; `roles` holds the configured models of the other
            roles by index (`config.model_names.identity`).
        ids: The models that answered in each role that was called.
        setup: All settings, with the digests of data and prompts and the benchmark's version.
        scores: The metrics of the run's summary.
        reasons: Why the run is not trusted; empty if it is.
        remarks: What else a reader should know, see `trust.remarks`.
        arm: The variant (arm) of the benchmark; None if the benchmark has one arm only.
        primary_metric: The metric of the ranking; None for the mean of `values`.
        checked: The FPR on hard negatives of the judges that decide, from their latest check (`value`, `low`, `high`, `n`); None
            without a check.
        answers: The candidate's answers.
        data_set: The name of the data set.
        complete: Whether all planned episodes are finished. The unfinished ones of a stopped run are the long, often lost ones.
    """

    name: str
    asked: str
    answered: tuple[str, ...]
    benchmark: str
    values: Mapping[str, float]
    failed: int
    conditions: Mapping[str, JSON]
    ids: Mapping[str, Sequence[str]] = field(default_factory=dict)
    setup: Mapping[str, JSON] = field(default_factory=dict)
    scores: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    arm: str | None = None
    primary_metric: PrimaryMetric | None = None
    checked: Mapping[str, Any] | None = None
    answers: Replies = field(default_factory=Replies)
    complete: bool = True
    data_set: str = ""

    @property
    def metric(self) -> PrimaryMetric:
        """The metric of the ranking: `primary_metric`, or else the mean of `values`."""
        return self.primary_metric or mean_score(self.values)

    @property
    def abstained(self) -> bool:
        """Whether the run is not paired with others: it is not complete, or too many samples failed or are left out."""
        return (
            not self.complete or self.broken or self.metric.unanswered > MOST_UNANSWERED * self.metric.covered
        )

    @property
    def broken(self) -> bool:
        """Whether so many episodes failed or have no score that the run is not trusted."""
        return "failed tasks" in in_short(self.reasons)

    @property
    def most_fpr(self) -> float:
        """The upper end of the judge's FPR by its latest check; 0 if there was no check."""
        return float((self.checked or {}).get("high") or 0.0)

    @property
    def model(self) -> str:
        """The candidate's name on pages: its ids in the replies, or else its configured name."""
        return ", ".join(self.answered) or self.asked

    @property
    def person(self) -> bool:
        """Whether a person played."""
        return self.asked == HUMAN or self.asked.startswith(f"{HUMAN}:")


@dataclass(frozen=True, slots=True)
class Place:
    """A run in a ranking.

    Attributes:
        label: The model's name, with the run's name if the model has several runs.
        mean: The metric over the samples that all ranked runs share; over the run's own samples if it abstained.
        ties: Letters; runs that share a letter are not clearly different. "" if the run abstained.
    """

    label: str
    entry: Entry
    mean: Metric
    ties: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs of a ranking, the better one first.

    Attributes:
        difference: The score of `better` minus that of `other`, paired by sample.
        p: The p value after Holm's correction for the number of pairs.
        level: The corrected level at which the uncorrected p value is tested.
    """

    better: str
    other: str
    difference: Difference
    p: float
    level: float = ALPHA

    @property
    def apart(self) -> bool:
        """Whether the two are significantly different."""
        return self.p < ALPHA


@dataclass(frozen=True, slots=True)
class Board:
    """A ranking of runs by `metric`, best first.

    Attributes:
        people: Runs played by people; they are not ranked.
        shared: How many samples all ranked runs share.
    """

    benchmark: str
    metric: str
    places: tuple[Place, ...]
    pairs: tuple[Pair, ...]
    people: tuple[Entry, ...]
    shared: int

    def pair(self, label: str, other: str) -> Pair | None:
        """Return the pair of two runs by label; None if one of them abstained."""
        return next((pair for pair in self.pairs if {pair.better, pair.other} == {label, other}), None)

    def number(self, place: Place) -> int | None:
        """Return a place as a number from 1, the same for runs that are not clearly different; None for one that abstained."""
        beaten = sum(pair.apart and pair.other == place.label for pair in self.pairs)
        return None if place.entry.abstained else 1 + beaten


def sample_means(traces: Iterable[Trace]) -> tuple[dict[str, float], int]:
    """Return the mean score of each sample's episodes, in order of id, and how many episodes failed or have no score."""
    scores: dict[str, list[float]] = {}
    failed = 0
    for trace in traces:
        failed += trace.outcome.endswith("_failed") or trace.score.value is None
        if trace.score.value is not None:
            scores.setdefault(trace.sample, []).append(trace.score.value)
    return {name: fmean(scores[name]) for name in sorted(scores)}, failed


def differing(entry: Entry, other: Entry) -> list[str]:
    """Return a line for each condition in which two runs differ, with both values.

    Of a role that their metrics allow to differ (`may_differ`), other models than in the other run may have answered.
    """
    may_differ = entry.metric.may_differ & other.metric.may_differ
    names = differences(dict(entry.conditions), dict(other.conditions))
    lines = [
        f"{name}: {_short(at(entry.conditions, name))} and {_short(at(other.conditions, name))}"
        for name in names
        if not _answered_alike(entry, other, name)
    ]
    for role in sorted(
        role for role in entry.ids.keys() & other.ids.keys() if f"roles.{role}" not in may_differ.union(names)
    ):
        ours, other_ids = set(entry.ids[role]), set(other.ids[role])
        # A second judge that was never needed has no id, so a subset of the other's ids is no difference.
        if not (ours <= other_ids or other_ids <= ours):
            lines.append(f"{role}: {', '.join(sorted(ours))} and {', '.join(sorted(other_ids))}")
    for role in sorted(
        entry.ids.keys() & other.ids.keys() & {name.removeprefix("roles.") for name in may_differ}
    ):
        # A panel's models sit out in turn, but each must be the same model in both runs.
        first, second = ({base_model(each): each for each in run.ids[role]} for run in (entry, other))
        lines += [
            f"{role}: {first[base]} and {second[base]}"
            for base in sorted(first.keys() & second.keys())
            if first[base] != second[base]
        ]
    return lines


def _short(value: JSON) -> str:
    """Return a condition's value for a message: a list as its texts, and a digest as its first eight digits."""
    return _DIGEST.sub(r"\1", ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))


def _answered_alike(entry: Entry, other: Entry, name: str) -> bool:
    """Return whether a condition (`roles.judge`) differs only in the name of one model (`gpt-4o-mini` and its dated id)."""
    part, _, role = name.partition(".")
    if part != "roles":
        return False
    role_names: list[Any] = [at(each.conditions, name) for each in (entry, other)]
    ours, other_ids = list(entry.ids.get(role, ())), list(other.ids.get(role, ()))
    alone = all(role_names) and [len(names) for names in role_names] == [1, 1]
    return alone and len(ours) == 1 and ours == other_ids


def alike(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Return the runs in groups: each run joins the first group whose members all have its conditions."""
    groups: list[list[Entry]] = []
    for entry in entries:
        for group in groups:
            if not any(differing(member, entry) for member in group):
                group.append(entry)
                break
        else:
            groups.append([entry])
    return groups


def board(entries: Sequence[Entry]) -> Board:
    """Rank runs with equal conditions.

    Raises:
        UsageError: Two runs differ in conditions, with a line for each difference; or the runs have no metric or sample in common.
        RunFolderError: A run's traces have another shape than its benchmark writes.
    """
    # The relation is not transitive (`may_differ`), so each pair is checked.
    for member, other in combinations(entries, 2):
        if lines := differing(member, other):
            raise UsageError("\n  ".join([f"{member.name} and {other.name} cannot be compared:", *lines]))
    if len(names := {entry.metric.name for entry in entries}) > 1:
        raise UsageError(f"the runs have no metric in common: {', '.join(sorted(names))}")
    models = [entry for entry in entries if not entry.person]
    named = dict(zip(labels_of(models), models, strict=True))
    paired = {label: entry for label, entry in named.items() if not entry.abstained}
    shared = (
        sorted(set.intersection(*(set(entry.metric.records) for entry in paired.values()))) if paired else []
    )
    if paired and not shared:
        raise UsageError("no sample has a score in every run")
    scores = {
        label: entry.metric.over(shared) if label in paired else entry.metric.whole()
        for label, entry in named.items()
    }
    order = sorted(named, key=lambda label: (label not in paired, *_rank(scores[label]), label))
    pairs = _pairs([label for label in order if label in paired], paired)
    letters = compare.ties(order[: len(paired)], {(pair.better, pair.other) for pair in pairs if pair.apart})
    places = tuple(Place(label, named[label], scores[label], letters.get(label, "")) for label in order)
    people = tuple(entry for entry in entries if entry.person)
    return Board(entries[0].benchmark, names.pop(), places, pairs, people, len(shared))


def _rank(score: Metric) -> tuple[bool, float]:
    """Return a sort key by descending value, a missing value last."""
    return score.value is None, -(score.value or 0.0)


def values(ranking: Board) -> dict[str, float]:
    """Return the metric of each ranked model by name; the mean if a model has several runs."""
    by_model: dict[str, list[float]] = {}
    for place in ranking.places:
        if place.mean.value is not None and not place.entry.abstained:
            by_model.setdefault(place.entry.model, []).append(place.mean.value)
    return {name: fmean(means) for name, means in by_model.items()}


def _pairs(order: Sequence[str], entries: Mapping[str, Entry]) -> tuple[Pair, ...]:
    def pair(name: str, other: str) -> tuple[str, str, Difference]:
        own, better = entries[name], entries[other]
        with shape_errors(Path(own.name), Path(better.name)):
            ahead = compare.of_primary_metrics(own.metric, better.metric, own.most_fpr)
            if (ahead.mean or 0.0) >= 0:
                return name, other, ahead
            # On the samples that these two share, the order may differ from that on the samples that all share.
            return other, name, compare.of_primary_metrics(better.metric, own.metric, better.most_fpr)

    triples = [pair(name, other) for name, other in combinations(order, 2)]
    ps = [1.0 if difference.p is None else difference.p for *_, difference in triples]
    corrected = zip(triples, compare.holm(ps), compare.levels(ps), strict=True)
    return tuple(Pair(*triple, p, level) for triple, p, level in corrected)


def labels_of(entries: Sequence[Entry]) -> list[str]:
    """Return a label of each run: the model's name, with what tells its runs apart if the model has several runs."""
    return told_apart([(entry.model, entry.name) for entry in entries])


def told_apart(runs: Sequence[tuple[str, str]]) -> list[str]:
    """Return a label of each run, from pairs of its model's name and its own name.

    Runs of one model get the first part of their names that differs among all of them (the day, the time, the digest).
    """
    labels = []
    runs = [(short_name(model), name) for model, name in runs]
    for model, name in runs:
        names = [other for other_model, other in runs if other_model == model]
        columns = zip_longest(*(other.split("-") for other in names), fillvalue="1")
        parts = next((column for column in columns if len({*column}) == len(names)), names)
        label = model if len(names) == 1 else f"{model} ({parts[names.index(name)]})"
        # A server may give a model the label of another one's run as its id.
        while label in labels:
            label += f" ({name})"
        labels.append(label)
    return labels


def short_name(model: str) -> str:
    """Return the name of a model without the digest and the quantization of its weights, for tables."""
    return _WEIGHTS.sub("", model)


def at(table: JSON | Mapping[str, JSON], name: str) -> Any:
    """Return a field of a nested table by its dotted name; None if it is missing."""
    value: Any = table
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
