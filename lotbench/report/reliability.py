"""Would another draw of samples rank the models alike, and which samples show differences between models? Laid out as sections.

The first is about what each walk adds to the metric of the ranking, the second about the scores of the walks themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from lotbench.metrics import generalizability, items
from lotbench.metrics.generalizability import Study
from lotbench.metrics.items import SampleQuality
from lotbench.metrics.proportion import ends
from lotbench.report.leaderboard import Board, Place
from lotbench.report.sections import Plot, Section, Table
from lotbench.types import JSON

RELIABILITY, SAMPLES = "Reliability of the ranking", "Difficulty of samples"
WANTED = (0.8, 0.9)
"""Values of E rho² for which the samples are told: enough to rank by, and enough to decide by (Nunnally 1978)."""
NAMED = 12
"""Samples that a note names; the numbers of compare.json have all."""
Cell = str | float | int | None


def sections(board: Board) -> list[Section]:
    """Both sections on the models of a ranking; what they need where that is missing."""
    places = [place for place in board.places if not place.entry.abstained]
    return [_reliability(places), _samples(places)]


def needs() -> list[Section]:
    """The same in the report of one run, which cannot know."""
    return [_needs(RELIABILITY, generalizability.MODELS, 1), _needs(SAMPLES, items.MODELS, 1)]


def _needs(title: str, models: int, known: int) -> Section:
    name = "reliability" if title == RELIABILITY else "samples"
    why = f"needs {models} models that were measured alike, and there {'is' if known == 1 else 'are'} {known}"
    return Section(
        title, (f"{why[0].upper()}{why[1:]}: lotbench compare RUN RUN ...",), name=name, numbers={"why": why}
    )


def _reliability(places: Sequence[Place]) -> Section:
    """The coefficients of this comparison, its components, and what more samples or repeats would make of it."""
    if len(places) < generalizability.MODELS:
        return _needs(RELIABILITY, generalizability.MODELS, len(places))
    missing = [place.label for place in places if not place.entry.cells]
    found = None if missing else generalizability.study([place.entry.cells for place in places])
    if found is None:
        why = "the models share no samples that differ"
        why = f"no task of {', '.join(missing)} has a value" if missing else why
        return Section(RELIABILITY, (f"There is none: {why}.",), name="reliability", numbers={"why": why})
    tables = [_coefficients(found), _parts(found)]
    plots = []
    if found.components.model:
        tables.append(_decisions(found))
        plots.append(_forecast(found))
    numbers = _numbers(found)
    return Section(
        RELIABILITY,
        _reliability_notes(found),
        tuple(tables),
        tuple(plots),
        name="reliability",
        numbers=numbers,
    )


def _coefficients(found: Study) -> Table:
    rows = (
        ("relative (the order of the models): E rho²", found.relative, *found.relative_interval),
        ("absolute (the models' values): Phi", found.absolute, *found.absolute_interval),
    )
    caption = f"{found.models} models on {found.samples} samples, {found.repeats:.3g} repeats each"
    return Table(("decision", "coefficient", "low", "high"), rows, caption)


def _parts(found: Study) -> Table:
    """Each component, and what it adds to the error of a model's mean."""
    parts = found.components
    once = found.samples * found.repeats
    rows: tuple[tuple[Cell, ...], ...] = (
        ("model", parts.model, None),
        ("sample", parts.sample, parts.sample / found.samples),
        ("model x sample", parts.interaction, parts.interaction / found.samples),
        ("repeat", parts.repeat, None if parts.repeat is None else parts.repeat / once),
    )
    return Table(("component", "variance of a task", "in the variance of a model's mean"), rows)


def _decisions(found: Study) -> Table:
    rows = tuple(
        (repeats, *(found.needed(wanted, repeats) for wanted in WANTED)) for repeats in _repeats(found)
    )
    columns = ("repeats", *(f"samples for E rho² = {wanted:g}" for wanted in WANTED))
    return Table(columns, rows, "A comparison of such models that would rank them again")


def _repeats(found: Study) -> list[int]:
    """The repeats that decisions are told for; one alone where the repeats' part is not known."""
    own = max(1, round(found.repeats))
    return [own] if found.components.repeat is None else sorted({1, own, 3 * own})


def _forecast(found: Study) -> Plot:
    """E rho² over the number of samples."""
    steps = [found.samples * part for part in (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 4)]
    sizes = sorted({max(2, round(size)) for size in steps})
    series = {
        f"{repeats} repeat{'s' if repeats > 1 else ''}": tuple(
            (float(size), found.forecast(size, repeats)) for size in sizes
        )
        for repeats in _repeats(found)
    }
    return Plot("line", "samples", "E rho²", series, "The reliability of a ranking on more or fewer samples")


def _reliability_notes(found: Study) -> tuple[str, ...]:
    low, high = found.relative_interval
    known = "" if low is None or high is None else f" (95 % interval {100 * low:.0f} to {100 * high:.0f} %)"
    notes = [
        f"Of the variance of the models' means {100 * found.relative:.0f} %{known} is between models: the correlation to be "
        "expected between this ranking and one on other samples as many.",
        "A generalizability study of what each task adds to the metric of the ranking (of a metric that is no mean, by "
        "the jackknife): models by samples, repeats within both, all taken for random draws. A variance that comes out "
        "below 0 is 0. Intervals: Feldt's and McGraw and Wong's.",
    ]
    if not found.components.model:
        notes.insert(
            1,
            "The models vary no more than samples and repeats alone would let them: what more of these would do is not known.",
        )
    if found.components.repeat is None:
        notes.append("Needs 2 repeats: with one, the repeats' part cannot be told from model x sample.")
    return tuple(notes)


def _numbers(found: Study) -> dict[str, JSON]:
    parts = found.components
    return {
        "models": found.models,
        "samples": found.samples,
        "repeats": found.repeats,
        "relative": {"value": found.relative, **ends(found.relative_interval)},
        "absolute": {"value": found.absolute, **ends(found.absolute_interval)},
        "variance": {
            "model": parts.model,
            "sample": parts.sample,
            "interaction": parts.interaction,
            "repeat": parts.repeat,
        },
    }


def _samples(places: Sequence[Place]) -> Section:
    """How hard each sample is and whether it tells models apart, the worst first; those that all or none solve."""
    if len(places) < items.MODELS:
        return _needs(SAMPLES, items.MODELS, len(places))
    found = items.qualities([place.entry.walked.means for place in places])
    if not found:
        why = "there is no sample of which every model has a score"
        return Section(SAMPLES, (f"There is none: {why}.",), name="samples", numbers={"why": why})
    solved = [place.entry.walked.solved for place in places]
    shares = {
        one.sample: fmean(run[one.sample] for run in solved) for one in found if _in_all(solved, one.sample)
    }
    rows = tuple(
        (one.sample, one.mean, shares.get(one.sample), one.discrimination)
        for one in sorted(found, key=lambda one: (one.discrimination is not None, one.discrimination or 0.0))
    )
    caption = f"{len(found)} samples by {len(places)} models, those that show differences between models the least first"
    known = tuple((one.mean, one.discrimination) for one in found if one.discrimination is not None)
    labels = tuple(one.sample for one in found if one.discrimination is not None)
    plot = Plot(
        "scatter", "mean score of the models", "discrimination", {"samples": known},
        "Every sample: how hard it is, and how well it shows differences between models", labels={"samples": labels},
    )  # fmt: skip
    table = Table(("sample", "mean score", "share of tasks solved", "discrimination"), rows, caption)
    all_solve, none_solve = ([name for name, share in shares.items() if share == end] for end in (1.0, 0.0))
    numbers: dict[str, JSON] = {
        "models": len(places),
        "all_solve": all_solve,
        "none_solve": none_solve,
        "samples": {
            one.sample: {
                "mean": one.mean,
                "solved": shares.get(one.sample),
                "discrimination": one.discrimination,
            }
            for one in found
        },
    }
    notes = _sample_notes(found, shares, all_solve, none_solve)
    return Section(SAMPLES, notes, (table,), (plot,), name="samples", numbers=numbers)


def _in_all(solved: Sequence[Mapping[str, float]], sample: str) -> bool:
    return all(sample in run for run in solved)


def _sample_notes(
    found: Sequence[SampleQuality],
    shares: Mapping[str, float],
    all_solve: Sequence[str],
    none_solve: Sequence[str],
) -> tuple[str, ...]:
    backwards = [one.sample for one in found if (one.discrimination or 0.0) < 0]
    notes = [
        *([f"Every task of every model solves: {_listed(all_solve)}."] if shares else []),
        *([f"No task of any model solves: {_listed(none_solve)}."] if shares else []),
        f"Worse models do better on {len(backwards)} of {len(found)} samples: {_listed(backwards)}. Look at these first; "
        "with few models it is often chance.",
        "Discrimination: the correlation over models of their mean score on a sample with their mean on all others (the "
        "corrected item-total correlation). None where all models are alike there.",
    ]
    if not shares:
        notes.insert(
            0, "Tasks of this benchmark are scored, not solved: hard samples are those with a low mean."
        )
    return tuple(notes)


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "none"
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"
