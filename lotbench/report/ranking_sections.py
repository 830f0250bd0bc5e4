"""The sections of a ranking: places, paired differences, people, and correlations."""

from collections.abc import Mapping
from itertools import pairwise
from statistics import fmean

from lotbench.metrics import people
from lotbench.metrics.correlation import coefficient
from lotbench.report import bounds, difference_sections, trust
from lotbench.report.leaderboard import Board, Entry, Place, labels_of
from lotbench.report.markdown import counted, number, places
from lotbench.report.sections import Cell, Plot, Section, Table, band

REASONS = "not trusted because"
"""The column of a ranking that says why a run is not trusted."""


def sections(ranking: Board) -> list[Section]:
    """Return the sections of a ranking: places, paired differences, people."""
    places = [_ranking(ranking)] if ranking.places else []
    differences = [difference_sections.section(ranking)] if ranking.pairs else []
    persons = [_people(ranking)] if ranking.people else []
    return [*places, *differences, *persons]


def correlations(
    title: str, x: tuple[str, Mapping[str, float]], y: tuple[str, Mapping[str, float]]
) -> Section:
    """Return the section on the correlation of two measures of models.

    Args:
        title: The title of the section.
        x: The name of the first measure, and its values by model.
        y: The name of the second measure, and its values by model.
    """
    models = sorted(x[1].keys() & y[1].keys())
    ours, second = [x[1][name] for name in models], [y[1][name] for name in models]
    coefficients = (coefficient("pearson", ours, second), coefficient("spearman", ours, second))
    named = zip(("Pearson", "Spearman"), coefficients, strict=True)
    rows = tuple((name, each.n, each.value, each.low, each.high, each.p) for name, each in named)
    plot = Plot(
        "scatter", x[0], y[0], {"models": tuple(zip(ours, second, strict=True))},
        f"{y[0]} by {x[0]}, a point a model", labels={"models": tuple(models)},
    )  # fmt: skip
    notes = [
        "Intervals: Fisher's z for Pearson, Bonett and Wright's for Spearman; they take the models for a random "
        "draw of all models.",
    ]
    if len(models) < 3:
        notes.insert(0, f"{len(models)} models have both; a correlation needs three.")
    columns = ("coefficient", "models", "value", "low", "high", "p")
    return Section(title, tuple(notes), (Table(columns, rows),), (plot,))


def _ranking(ranking: Board) -> Section:
    means = {place.label: place.mean for place in ranking.places}
    broken = any(mean.bounds for mean in means.values())
    rows: list[tuple[Cell, ...]] = []
    for place in ranking.places:
        mean, run = place.mean, place.entry
        counts = place.ties, mean.n, run.metric.unanswered, run.failed
        limits = [bounds.in_words(mean.bounds)] if broken else []
        why = ", ".join(trust.in_short(run.reasons)) or None
        rows.append((place.label, mean.value, mean.low, mean.high, *counts, *limits, why))
    points = tuple((float(at), place.mean.value or 0.0) for at, place in enumerate(ranking.places))
    bands = tuple(band(place.mean) for place in ranking.places)
    plot = Plot(
        "scatter",
        "",
        ranking.metric,
        {ranking.metric: points},
        f"{ranking.benchmark}: {ranking.metric} with its 95 % interval",
        tuple(f"{place.label} ({place.ties})" for place in ranking.places),
        {ranking.metric: bands},
    )
    notes = (
        f"Ranked by {ranking.metric}, as the benchmark counts it, over the {ranking.shared} samples that every run has. "
        "Models that share a letter were not clearly different; intervals that overlap do not say so, since the samples "
        "are the same.",
        *([bounds.ABOUT] if broken else []),
        *filter(
            None, (bounds.moving(name, mean.bounds, mean.low, mean.high) for name, mean in means.items())
        ),
        *filter(None, (_unpaired(place, ranking) for place in ranking.places)),
        *remarked(ranking),
    )
    columns = (
        "model", ranking.metric, "low", "high", "ties", "samples", "unanswered", "failed tasks",
        *(["bounds"] if broken else []), REASONS,
    )  # fmt: skip
    title = ", ".join(["Ranking", *variants(ranking)])
    return Section(title, notes, (Table(columns, tuple(rows)),), (plot,))


def variants(ranking: Board) -> list[str]:
    """Return the variant of the benchmark that ranked runs played, in words; empty if it has one only."""
    return [f"variant {arm}" for arm in dict.fromkeys(place.entry.arm for place in ranking.places) if arm]


def remarked(ranking: Board) -> list[str]:
    """Return the remarks on the runs of a ranking, each with the labels of its runs."""
    by_remark: dict[str, list[str]] = {}
    for place in ranking.places:
        for remark in place.entry.remarks:
            by_remark.setdefault(remark, []).append(place.label)
    return [f"{', '.join(labels)}: {remark}" for remark, labels in by_remark.items()]


def summed_up(ranking: Board) -> str:
    """Return a ranking in one sentence: who beats whom, the number of clear pairs, and why runs are not ranked.

    If ranked runs are not trusted, it begins with the reasons in short. It is "" if there is nothing to say, as for a single run.
    """
    sentences = []
    for both in pairwise(place.label for place in ranking.places):
        if pair := ranking.pair(*both):
            a, b = (pair.better, pair.other) if pair.apart else both
            sentences.append(
                f"{a} beats {b} by {pair.difference.mean:.{places(pair.difference.n)}f}"
                if pair.apart
                else f"{a} and {b} are not clearly different"
            )
    parts = [", ".join(sentences)] if sentences else []
    clear, n = sum(pair.apart for pair in ranking.pairs), len(ranking.pairs)
    if n > 1 and clear:
        parts.append("all pairs are clear" if clear == n else f"{clear} of {n} pairs are clear")
    elif n > 1:
        parts.append(f"none of {n} pairs is clear")
    parts += [
        f"{place.label} is not ranked: {_why_last(place.entry, ranking.metric)}"
        for place in ranking.places
        if place.entry.abstained
    ]
    ranked = [place.entry for place in ranking.places if not place.entry.abstained]
    why = trust.in_short(reason for entry in ranked for reason in entry.reasons)
    start = f"Provisionally ({', '.join(why)}): " if why and ranking.pairs else ""
    return f"{start}{'; '.join(parts)}." if parts else ""


def _why_last(entry: Entry, metric: str) -> str:
    if not entry.complete:
        return f"it is not complete; lotbench resume {entry.name}"
    if entry.broken:
        return f"{counted(entry.failed, 'task')} failed or have no score"
    return f"{metric} knows nothing of {entry.metric.unanswered} of its {entry.metric.covered} samples"


def _unpaired(place: Place, ranking: Board) -> str:
    """Return a note on the samples of a run that the ranking leaves out; "" if there are none."""
    own = place.entry.metric
    if place.entry.abstained:
        return f"{place.label} is paired with nobody: {_why_last(place.entry, ranking.metric)}."
    if not (alone := len(own.records) - ranking.shared):
        return ""
    whole = number(own.whole().value or 0.0)
    return f"{place.label}: {alone} samples that not every run has are left out; with them {whole}."


def _people(ranking: Board) -> Section:
    """Return the section on the mean scores of people: best, middle and last third (Fig. 10 of LoTbench's paper)."""
    label = dict(zip(labels_of(ranking.people), ranking.people, strict=True))
    means = {name: fmean(entry.values.values()) for name, entry in label.items() if entry.values}
    rows = tuple(
        (f"people, {name}", metric.value, metric.low, metric.high, metric.n, metric.why)
        for name, metric in people.thirds(means).items()
    )
    note = "High, medium and low are the best, the middle and the last third of people by mean score."
    table = Table(
        ("third", "mean", "low", "high", "n", "why none"), rows, "What people reach; n counts people"
    )
    return Section("People", (note,), (table,))
