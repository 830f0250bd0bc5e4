"""What the report says beside the metrics: categories, the front, judges, refusals, diversity, ideas to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations

from lotbench.benchmarks.liveideabench.idea import STATUSES
from lotbench.benchmarks.liveideabench.judged import FLUENCY, Idea, Keyword, mean, read
from lotbench.benchmarks.liveideabench.panelists import judges
from lotbench.benchmarks.liveideabench.people import agreement
from lotbench.benchmarks.liveideabench.score import Sheet, sheet
from lotbench.benchmarks.liveideabench.settings import Settings, Version
from lotbench.evidence import NOTHING, Evidence
from lotbench.metrics.correlation import spearman
from lotbench.metrics.diversity import distinct, spread
from lotbench.metrics.pareto import front
from lotbench.section import Grid, Metric, Plot, Reading, Section, Table
from lotbench.types import Trace

Cell = str | float | int | None
REFUSED_READ = 5


def sections(
    traces: Sequence[Trace], settings: Settings, evidence: Evidence = NOTHING
) -> tuple[Section, ...]:
    """The sections of a run's report."""
    version = settings.rules
    keywords = [read(trace, version) for trace in traces]
    made = [
        _replies(keywords),
        _categories(keywords, version),
        _front(keywords, evidence),
        _lengths(keywords, version),
        *judges(keywords, version),
        _diversity(keywords, settings, evidence),
        _names(keywords, settings),
        _readings(keywords, version, evidence),
    ]
    if settings.rules.fallback:
        made.insert(1, _refusals(keywords, evidence))
    if evidence.labels:
        made.append(agreement(keywords, version, evidence.labels))
    return tuple(made)


def texts(traces: Sequence[Trace], settings: Settings) -> list[str]:
    """The ideas, whose embeddings tell how unlike they are."""
    keywords = [read(trace, settings.rules) for trace in traces]
    return [idea.text for one in keywords for idea in one.ideas if idea.ok]


def _replies(keywords: Sequence[Keyword]) -> Section:
    ideas = [idea for one in keywords for idea in one.ideas]
    seen = Counter(str(idea.value["status"]) for idea in ideas)
    rows: list[tuple[Cell, ...]] = [
        (status, seen[status], _share(seen[status], len(ideas))) for status in STATUSES
    ]
    whole = sum(bool(idea.value.get("unmarked")) for idea in ideas)
    rows.append(("of the ok: judged as a whole, without the marker", whole, _share(whole, seen["ok"])))
    judged = sum(bool(idea.rows) for idea in ideas)
    rows.append(("of the ok: with a verdict", judged, _share(judged, seen["ok"])))
    note = "A reply that is not ok is no idea: it is left out of every mean, and shown here."
    return Section("Replies", (note,), (Table(("reply", "count", "share"), tuple(rows)),))


def _refusals(keywords: Sequence[Keyword], evidence: Evidence) -> Section:
    """Every refused keyword with both texts."""
    ideas = [(one, idea) for one in keywords for idea in one.ideas]
    asked_again = [(one, idea) for one, idea in ideas if idea.first is not None]
    still = sum(idea.value["status"] == "refused" for _, idea in asked_again)
    rows = tuple(
        (keyword(one, evidence), idea.number, str(idea.first["said"]), str(idea.value["status"]), _said(idea))
        for one, idea in asked_again
        if idea.first is not None
    )
    notes = (
        f"{_of(len(asked_again), len(ideas))} requests were refused and put again as an academic task; "
        f"{_of(still, len(asked_again))} of these were refused again.",
    )
    columns = ("keyword", "idea", "first reply", "then", "second reply")
    return Section("Refusals", notes, (Table(columns, rows),) if rows else ())


def _categories(keywords: Sequence[Keyword], version: Version) -> Section:
    """Means of each category, with intervals over its keywords."""
    names = sorted({one.category for one in keywords})
    columns = (*version.dimensions, FLUENCY, "composite")
    cells = tuple(category_row([one for one in keywords if one.category == name], version) for name in names)
    rows = tuple(
        (name, len({one.sample for one in keywords if one.category == name}), *(cell.value for cell in line))
        for name, line in zip(names, cells, strict=True)
    )
    note = (
        "Composite: the mean of the other columns, over the keywords that have them all. A category has few "
        "keywords; see the interval of a cell before two cells are compared."
    )
    grid = Grid("dimension", "category", columns, tuple(names), cells, "Means by category")
    return Section("By category", (note,), (Table(("category", "keywords", *columns), rows),), grids=(grid,))


def category_row(keywords: Sequence[Keyword], version: Version) -> tuple[Metric, ...]:
    """The dimensions and the composite of some keywords."""
    table = sheet(keywords, version, "keyword")
    found = [_cell(table, name) for name in table.names]
    n = len(table.composites)
    return (*found, table.metric(table.composite, n, "no keyword has every dimension judged"))


def _cell(table: Sheet, name: str) -> Metric:
    column = table.values[:, table.names.index(name)]
    return table.metric(table.mean(name), int((column == column).sum()), f"nothing was judged for {name}")


def _front(keywords: Sequence[Keyword], evidence: Evidence) -> Section:
    """Originality against feasibility, idea by idea, and the ideas that none beats on both."""
    ideas = [(one, idea) for one in keywords for idea in one.ideas if idea.rows]
    points = [(idea.mean("feasibility") or 0.0, idea.mean("originality") or 0.0) for _, idea in ideas]
    best = front(points)
    rows = tuple(
        (keyword(ideas[i][0], evidence), ideas[i][1].number, points[i][1], points[i][0]) for i in best
    )
    series = {"ideas": tuple(points), "front": tuple(points[i] for i in best)}
    note = (
        "The front: ideas of which none is more original and as feasible, or more feasible and as original."
    )
    return Section(
        "Originality and feasibility",
        (note,),
        (Table(("keyword", "idea", "originality", "feasibility"), rows, "The Pareto front"),),
        (Plot("scatter", "feasibility (1 to 10)", "originality (1 to 10)", series),),
    )


def _lengths(keywords: Sequence[Keyword], version: Version) -> Section:
    """What goes with what: length and reasoning with quality, clarity with the other dimensions."""
    ideas = [(one, idea) for one in keywords for idea in one.ideas if idea.rows]
    clusters = [one.sample for one, _ in ideas]

    def values(of: Callable[[Idea], float | None]) -> list[float]:
        return [of(idea) or 0.0 for _, idea in ideas]

    # A CJK character counts as half a word, as the limits of an idea have it.
    length = values(lambda idea: idea.value["words"] + idea.value["characters"] / 2)
    reasoning = values(lambda idea: idea.value["reasoning"])
    scores = {name: values(lambda idea, name=name: idea.mean(name)) for name in version.dimensions}  # type: ignore[misc]
    quality = values(lambda idea: mean(idea.mean(name) for name in version.dimensions))
    pairs = [("length of the idea", length, "judged quality", quality)]
    pairs += [("length of the idea", length, name, scores[name]) for name in version.dimensions]
    pairs += [("length of the reasoning", reasoning, "judged quality", quality)]
    named = [(name, scores[name]) for name in version.dimensions]
    pairs += [(one, x, other, y) for (one, x), (other, y) in combinations(named, 2)]
    found = [(one, other, spearman(x, y, clusters)) for one, x, other, y in pairs]
    rows = tuple((one, other, rho.value, rho.low, rho.high, rho.n) for one, other, rho in found)
    note = (
        "Spearman's rho over ideas; low and high: 95 % interval, drawing keywords again with the ranks kept."
    )
    plot = Plot(
        "scatter",
        "length (words)",
        "mean of the judged dimensions",
        {"ideas": tuple(zip(length, quality, strict=True))},
    )
    columns = ("one", "other", "rho", "low", "high", "ideas")
    return Section("Length and quality", (note,), (Table(columns, rows),), (plot,))


def _diversity(keywords: Sequence[Keyword], settings: Settings, evidence: Evidence) -> Section:
    """How unlike the ideas are by words and by embeddings, beside what the judge of fluency says."""
    version, vectors = settings.rules, evidence.vectors
    ideas = [[idea.text for idea in one.ideas if idea.ok] for one in keywords]
    everything = [text for texts in ideas for text in texts]
    rows: list[tuple[Cell, ...]] = []
    for n in (1, 2):
        within = mean(distinct(texts, n) for texts in ideas if len(texts) > 1)
        rows.append((f"distinct-{n}", within, distinct(everything, n)))
    known = [[vectors[text] for text in texts if text in vectors] for texts in ideas]
    apart = [spread(some) for some in known]
    rows.append(
        (f"embedding distance ({settings.encoder})", mean(apart), spread([v for some in known for v in some]))
    )
    both = [
        (fluency, distance, one.sample)
        for one, distance in zip(keywords, apart, strict=True)
        if (fluency := one.fluency(version)) is not None and distance is not None
    ]
    rho = spearman([one[0] for one in both], [one[1] for one in both], [one[2] for one in both])
    notes = [
        "Between the ideas of one keyword (mean over keywords), and between all ideas of the run. distinct-n: "
        "different n-grams among all; it falls with the amount of text, so compare runs of one size. Distance: "
        "1 - cosine, mean over pairs.",
        f"Fluency and embedding distance go together by Spearman's rho {_interval(rho)} over {rho.n} keywords.",
    ]
    if evidence.why:
        notes.append(f"No embeddings: {evidence.why}")
    table = Table(("measure", "ideas of one keyword", "all ideas"), tuple(rows))
    return Section("Diversity", tuple(notes), (table,))


def _names(keywords: Sequence[Keyword], settings: Settings) -> Section:
    """The names of models and makers that ideas gave away."""
    found = [idea.value["names"] for one in keywords for idea in one.ideas if idea.ok]
    if not settings.mask_names:
        return Section("Names", ("Names of models and makers were not looked for (mask_names = false).",))
    seen = Counter(str(name).casefold() for names in found for name in names)
    note = f"{_of(sum(map(bool, found)), len(found))} ideas named a model or its maker; judges did not see the name."
    rows = tuple((name, count) for name, count in seen.most_common())
    return Section("Names", (note,), (Table(("name", "times"), rows),) if rows else ())


def _readings(keywords: Sequence[Keyword], version: Version, evidence: Evidence) -> Section:
    """The best, the median and the worst idea by the mean of the judged dimensions, and what was refused."""
    judged = [(one, idea) for one in keywords for idea in one.ideas if idea.rows]
    judged.sort(key=lambda pair: -(_quality(pair[1], version) or 0.0))
    places = {"Best": 0, "Median": (len(judged) - 1) // 2, "Worst": len(judged) - 1} if judged else {}
    made = [_reading(title, *judged[place], version, evidence) for title, place in places.items()]
    refused = [(one, idea) for one in keywords for idea in one.ideas if idea.value["status"] == "refused"]
    made += [
        Reading(f"Refused: {keyword(one, evidence)}", (("reply", _said(idea)),), one.sample, one.repeat)
        for one, idea in refused[:REFUSED_READ]
    ]
    return Section("Ideas to read", readings=tuple(made))


def _reading(title: str, one: Keyword, idea: Idea, version: Version, evidence: Evidence) -> Reading:
    quality = _quality(idea, version)
    scores = "; ".join(
        f"{row.model}: " + ", ".join(f"{name} {row.scores[name]}" for name in version.dimensions)
        for row in idea.rows
    )
    return Reading(
        f"{title}: {keyword(one, evidence)} ({quality:.2f})",
        (("idea", idea.text), ("scores", scores)),
        one.sample,
        one.repeat,
    )


def keyword(one: Keyword, evidence: Evidence) -> str:
    """The keyword itself, or its sample's id where the data set is not at hand."""
    sample = evidence.samples.get(one.sample)
    return sample.keyword if sample is not None else one.sample


def _quality(idea: Idea, version: Version) -> float | None:
    return mean(idea.mean(name) for name in version.dimensions)


def _said(idea: Idea) -> str:
    return str(idea.value["idea"] if idea.ok else idea.value["said"])


def _share(count: int, of: int) -> float | None:
    return count / of if of else None


def _of(count: int, of: int) -> str:
    return f"{count} of {of}" + (f" ({100 * count / of:.1f} %)" if of else "")


def _interval(metric: Metric) -> str:
    if metric.value is None:
        return f"none ({metric.why})"
    low, high = (f"{end:.2f}" if end is not None else "open" for end in (metric.low, metric.high))
    return f"{metric.value:.2f} (95 % interval {low} to {high})"
