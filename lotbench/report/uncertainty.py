"""Where the uncertainty of a run's score comes from, and what more money would buy, laid out as a section."""

from __future__ import annotations

import math
from dataclasses import replace

import scipy

from lotbench.metrics import planning
from lotbench.metrics.intervals import Interval
from lotbench.metrics.judge_part import JudgePart
from lotbench.metrics.planning import Cost
from lotbench.metrics.proportion import ends
from lotbench.metrics.variance import Components
from lotbench.report.markdown import number
from lotbench.report.sections import Section, Table
from lotbench.types import JSON

TITLE = "Where the uncertainty comes from"
NAME = "variance"
PART = 0.10
"""The share of the run that more is told of where a dollar buys no walk, or nobody knows what a walk costs."""
LABELS = 100
"""Labels of which it is told what they would add."""
Cell = str | float | int | None


def section(
    metric: str, found: Components | None, judge: JudgePart, price: Cost, of: int | None = None
) -> Section:
    """The section of a run's report.

    Args:
        metric: What the components are of.
        found: The components, without the judges; None if there are none.
        judge: The judges' part.
        price: Of a walk, on the average.
        of: How many samples the data set has; None if that is not known.
    """
    if found is None or not found.error():
        why = "needs 2 samples with a value" if found is None else f"all samples have the same {metric}"
        return Section(TITLE, (f"There is nothing to take apart: {why}.",), name=NAME, numbers={"why": why})
    parts = replace(found, judge=judge.differ or 0.0, judgements=judge.count)
    tables = (_sources(metric, parts, judge), _more(parts, judge, price))
    return Section(
        TITLE, _notes(parts, judge, of), tables, name=NAME, numbers=_numbers(metric, parts, judge, price)
    )


def intraclass(parts: Components) -> tuple[float, Interval]:
    """The share of the variance of a walk that lies between samples, with its exact interval for normal values.

    (Searle, Casella and McCulloch 1992, Sec. 3.6.) No interval where no sample has two walks.
    """
    whole, n, r = parts.sample + parts.repeat, parts.samples, parts.repeats
    share = parts.sample / whole if whole else 0.0
    if not parts.split or not parts.repeat or r <= 1:
        return share, (None, None)
    ratio = r * (parts.sample + parts.repeat / r) / parts.repeat
    scaled = [ratio / float(scipy.special.fdtri(n - 1, n * (r - 1), p)) for p in (0.975, 0.025)]
    low, high = (max(0.0, (one - 1) / (one + r - 1)) for one in scaled)
    return share, (low, high)


def _sources(metric: str, parts: Components, judge: JudgePart) -> Table:
    """Each source: how much a single one of it varies, how many the run has, and what is left of it."""
    total = parts.error() ** 2
    sample, repeat, judges = parts.parts()
    walks = parts.samples * parts.repeats
    found: list[tuple[str, float | None, str, float | None]] = [
        ("samples", parts.sample, f"{parts.samples}", sample),
        ("repeats", parts.repeat, f"{parts.repeats:.3g} each", repeat)
        if parts.split
        else ("repeats", None, "1 each", None),
    ]
    if judge.wavers:
        part = min(judge.wavers / walks, repeat if parts.split else sample)
        found.append(("of these, the judge's wavering", judge.wavers, f"{walks:.6g} tasks", part))
    if parts.judgements:
        found.append((judge.of, parts.judge, f"{parts.judgements}", judges))
    rows = tuple(
        (name, one, has, None if part is None else math.sqrt(part), None if part is None else part / total)
        for name, one, has, part in found
    )
    caption = f"{metric}: standard error {number(parts.error())}"
    columns = (
        "source",
        "variance of one",
        "the run has",
        "standard error by it alone",
        "share of the square",
    )
    return Table(columns, rows, caption)


def _more(parts: Components, judge: JudgePart, price: Cost) -> Table:
    """The standard error with more samples, more repeats, or more judgements."""
    walks, budget = _budget(parts, price)
    n, r = parts.samples, parts.repeats
    rows = [_row("as it is", parts, parts.samples, parts.repeats, parts.judgements)]
    rows.append(_row("samples", parts, n + walks / r, r, parts.judgements))
    if parts.split:
        rows.append(_row("repeats", parts, n, r + walks / n, parts.judgements))
    if parts.judgements:
        more = 1 if judge.of == "judges" else LABELS
        what = (
            "one more judge, whatever it costs"
            if more == 1
            else f"{more} more labels, which are people's work"
        )
        rows.append(_row(what, parts, n, r, parts.judgements + more))
    columns = ("spent on", "samples", "repeats", "standard error", "on these very samples")
    return Table(
        columns,
        tuple(rows),
        f"What {budget} more would buy: {walks:.3g} tasks, {walks * price.calls:.3g} calls",
    )


def _budget(parts: Components, price: Cost) -> tuple[float, str]:
    """The walks that are told of, and what they cost in words."""
    if price.dollars and price.dollars <= 1:
        return 1 / price.dollars, "1 USD"
    walks = PART * parts.samples * parts.repeats
    if price.dollars is None:
        return walks, f"{100 * PART:.0f} % (no price is known)"
    return walks, f"{walks * price.dollars:.2f} USD" if price.dollars else f"{100 * PART:.0f} % (at no cost)"


def _row(what: str, parts: Components, n: float, r: float, judges: int) -> tuple[Cell, ...]:
    own, error = _errors(parts, n, r, judges)
    return (what, round(n, 1), round(r, 2), error, own)


def _errors(parts: Components, n: float, r: float, judges: int) -> tuple[float | None, float]:
    """The standard error on these very samples, and for all samples there could be."""
    judge = parts.judge / judges if judges else 0.0
    repeat = parts.repeat / (n * r)
    return math.sqrt(repeat + judge) if parts.split else None, math.sqrt(parts.sample / n + repeat + judge)


def _notes(parts: Components, judge: JudgePart, of: int | None) -> tuple[str, ...]:
    share, (low, high) = intraclass(parts)
    notes = []
    if parts.split:
        known = (
            "" if low is None or high is None else f" (95 % interval {100 * low:.0f} to {100 * high:.0f} %)"
        )
        notes.append(
            f"Of the variance of a task {100 * share:.0f} %{known} lies between samples, the rest between the repeats of one."
        )
    else:
        notes.append("Needs 2 repeats: with one, what repeats add cannot be told from what samples do.")
    notes += [
        judge.about,
        "The score is the mean of what its tasks add (of a metric that is no mean, by the jackknife). Its squared standard "
        "error is the sum of the squares that each source alone would leave. On these very samples: for comparing runs "
        "on them, where only repeats and judges count.",
        "New samples narrow the interval more than as many tasks on the old ones, since each of them is a new repeat too. "
        "What the judge's errors shift is in no variance: labels take it out.",
    ]
    least, most = planning.against_alike(parts)
    known = (
        f"{number(least)} (a model that finds the same samples easy) to {number(most)}"
        if parts.split
        else number(most)
    )
    notes.append(
        f"Against another run of as many samples and repeats it shows, with a power of {planning.POWER:.0%}, differences "
        f"of at least {known} (one that has nothing in common with it)."
    )
    if of is not None and of <= parts.samples:
        notes.append(f"The run has all {of:,} samples of its data set: more would have to be written.")
    return tuple(notes)


def _numbers(metric: str, parts: Components, judge: JudgePart, price: Cost) -> dict[str, JSON]:
    share, interval = intraclass(parts)
    walks, _ = _budget(parts, price)
    n, r = parts.samples, parts.repeats
    return {
        "metric": metric,
        "standard_error": parts.error(),
        "samples": n,
        "repeats": r,
        "sample": parts.sample,
        "repeat": parts.repeat if parts.split else None,
        "between_samples": {"value": share if parts.split else None, **ends(interval)},
        "judge": {
            "wavers": judge.wavers, "differ": judge.differ, "count": judge.count, "of": judge.of, "about": judge.about,
        },
        "walk": {"calls": price.calls, "cost_usd": price.dollars},
        "more": {
            "walks": walks,
            "as_samples": _errors(parts, n + walks / r, r, parts.judgements)[1],
            "as_repeats": _errors(parts, n, r + walks / n, parts.judgements)[1] if parts.split else None,
        },
    }  # fmt: skip
