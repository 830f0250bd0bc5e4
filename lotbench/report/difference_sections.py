"""The differences of a ranking's runs laid out: who was clearly different, and what it would take to show differences between the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lotbench.metrics import variance
from lotbench.metrics.planning import Needed, Separation, Way, separation
from lotbench.report.leaderboard import Board, Entry, Pair
from lotbench.report.markdown import number
from lotbench.report.sections import Section, Table

Cell = str | float | int | None
THINGS = ("samples", "repeats", "labels")


def sections(made: Board, wanted: float | None = None) -> list[Section]:
    """The pairs of a ranking, and the plan for those that were not told apart.

    Args:
        made: The ranking.
        wanted: The difference to plan for, in every pair; None plans for what was seen.
    """
    if not made.pairs:
        return []
    entries = {place.label: place.entry for place in made.places}
    plans = [(pair, _plan(pair, entries, wanted)) for pair in made.pairs]
    open_plans = [(pair, plan) for pair, plan in plans if plan and (wanted is not None or not pair.apart)]
    return [_differences(made, plans), *([_planned(open_plans, made, wanted)] if open_plans else [])]


def _plan(pair: Pair, entries: dict[str, Entry], wanted: float | None) -> Separation | None:
    one, other = entries[pair.better], entries[pair.other]
    components = variance.of_difference(one.cells, other.cells)
    seen = pair.difference
    if components is not None and seen.judgements:
        components = replace(components, judge=seen.noise * seen.judgements, judgements=seen.judgements)
    return separation(pair.difference, components, one.price + other.price, pair.level, wanted)


def _differences(made: Board, plans: Sequence[tuple[Pair, Separation | None]]) -> Section:
    entries = {place.label: place.entry for place in made.places}
    rivals = [_rival(pair, entries) for pair, _ in plans]
    told = any(rivals)
    rows = tuple(
        (
            pair.better,
            pair.other,
            pair.difference.n,
            pair.difference.mean,
            pair.difference.low,
            pair.difference.high,
            pair.difference.p,
            pair.p,
            "yes" if pair.apart else "no",
            plan.detectable if plan else None,
            _needed(plan.needed) if plan else None,
            *([rival] if told else []),
        )
        for (pair, plan), rival in zip(plans, rivals, strict=True)
    )
    columns = (
        "better", "than", "samples", "difference", "low", "high", "p", "p (Holm)", "clearly different", "detectable",
        "samples needed", *(["explained alone by"] if told else []),
    )  # fmt: skip
    notes = [
        "Paired by sample; p of a two-sided test that flips the signs of the samples' differences or, for a metric "
        "that is no mean, exchanges the samples of two runs; corrected after Holm for all pairs; clearly different: below 0.05. "
        "Low and high are the 95 % interval of a pair by itself, as p is: with several pairs it may leave out 0 for one that is "
        "not clearly different.",
        "Detectable: the difference that these very runs show with a power of 80 %, after Holm. Samples needed: those "
        "that show a true difference of the size that was seen, and of the ends of its 95 % interval.",
        *_judge(made, told=told),
        *_found([plan.detectable for _, plan in plans if plan]),
        *(_in_words(pair, plan.needed) for pair, plan in plans if plan and not pair.apart),
    ]
    return Section("Differences", tuple(notes), (Table(columns, rows),))


def _rival(pair: Pair, entries: dict[str, Entry]) -> str | None:
    """What beside the models would explain a difference."""
    one, other = entries[pair.better].metric, entries[pair.other].metric
    shared = [name for name in one.records if name in other.records]
    if one.rival is None or not (pair.difference.mean or 0) > 0:
        return None
    return one.rival([one.records[name] for name in shared], [other.records[name] for name in shared])


def _judge(made: Board, *, told: bool) -> list[str]:
    """What the judge's errors may have to do with differences of scores that are not corrected for them."""
    notes = []
    if told:
        notes.append(
            "Explained alone by: how much higher the judge's false positive rate would have to be on the guesses of the "
            "better run for equal models to show this difference. The scores are not corrected for it: that takes labels of "
            "each run's own guesses (lotbench judge-check --from-run RUN, then lotbench score RUN --labels FILE)."
        )
        known = {_rate(place.entry.checked) for place in made.places if place.entry.checked} - {""}
        notes += [f"The judge's FPR, checked on rows that are neither's: {rate}." for rate in sorted(known)]
    if made.unlabelled:
        notes.append(
            f"Some runs have labels of their own guesses, and these have none: {', '.join(made.unlabelled)}."
        )
    if any(pair.difference.judgements for pair in made.pairs):
        notes.append(
            "Scores are corrected by people's labels of each run's own guesses; what so few labels leave open is in "
            "the intervals and in p."
        )
    return notes


def _rate(rate: Mapping[str, Any]) -> str:
    if rate["value"] is None:
        return ""
    ends = "" if None in (rate["low"], rate["high"]) else f" ({rate['low']:.3f} to {rate['high']:.3f})"
    return f"{rate['value']:.3f}{ends}, n = {rate['n']}"


def _found(detectable: Sequence[float]) -> list[str]:
    """What a comparison can show at all."""
    if not detectable:
        return []
    low, high = number(min(detectable)), number(max(detectable))
    least = low if low == high else f"{low} (the surest pair) to {high} (the least sure)"
    return [f"Smaller differences than {least} are likely to stay unseen with these runs."]


def _needed(found: Needed) -> str:
    """A number of samples with its interval, in a cell."""
    if found.least is None:
        return "no number is enough"
    seen = "no number" if found.seen is None else f"{found.seen:,}"
    return f"{seen} ({found.least:,} to {'no number' if found.most is None else f'{found.most:,}'})"


def _in_words(pair: Pair, found: Needed) -> str:
    """What it would take to tell apart what was not, if more samples are to do it."""
    both = f"{pair.better} and {pair.other}"
    if found.least is None:
        return f"No number of samples separates {both} with labels as few as these."
    if found.most is not None:
        return f"To separate {both} you need {found.least:,} to {found.most:,} samples ({pair.difference.n:,} here)."
    return (
        f"To separate {both} you need at least {found.least:,} samples ({pair.difference.n:,} here); that they are equal "
        "is not excluded, and then no number is enough."
    )


def _planned(plans: Sequence[tuple[Pair, Separation]], made: Board, wanted: float | None) -> Section:
    """The ways to show a difference, pair by pair."""
    rows = tuple(_row(pair, plan) for pair, plan in plans)
    target = "the difference that was seen" if wanted is None else f"a difference of {number(wanted)}"
    notes = [
        f"What each run would have to have, the rest as it is, to show {target} with a power of 80 % after Holm. Calls "
        "and cost are those of all the tasks to be added in both runs, at what a task took here; labels are people's work.",
    ]
    if wanted is None:
        notes.append(
            "What was seen is uncertain itself (see the interval of the samples needed): say what difference matters "
            "with --difference."
        )
    sizes = [place.entry.of for place in made.places if place.entry.of]
    most = max((way.to for _, plan in plans for way in plan.ways if way.of == "samples"), default=0)
    if sizes and most > max(sizes):
        notes.append(f"The data set has {max(sizes):,} samples: more would have to be written.")
    columns = ("runs", "difference", *(f"{name} (now)" for name in THINGS), "cheapest", "calls", "cost (USD)")
    return Section("What would show differences between them", tuple(notes), (Table(columns, rows),))


def _row(pair: Pair, plan: Separation) -> tuple[Cell, ...]:
    by_name = {way.of: way for way in plan.ways}
    best = plan.ways[0] if plan.ways else None
    return (
        f"{pair.better} and {pair.other}",
        plan.wanted,
        *(_way(by_name.get(name)) for name in THINGS),
        "none alone" if best is None else _said(best),
        None if best is None else round(best.calls),
        None if best is None else _dollars(best),
    )


def _way(way: Way | None) -> str | None:
    return None if way is None else f"{way.to:,} ({_count(way.now)})"


def _said(way: Way) -> str:
    if way.to <= way.now:
        return "enough as it is"
    each = " of each sample" if way.of == "repeats" else " a run" if way.of == "labels" else ""
    return f"{way.to:,} {way.of}{each}"


def _dollars(way: Way) -> str:
    return "no price known" if way.dollars is None else f"{way.dollars:.2f}"


def _count(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"
