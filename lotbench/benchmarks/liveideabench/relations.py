"""How the numbers of a run go together: length and quality."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from lotbench.benchmarks.liveideabench.judged import Keyword
from lotbench.benchmarks.liveideabench.settings import Version
from lotbench.metrics.correlation import spearman
from lotbench.report.sections import Plot, Section, Table


def lengths(keywords: Sequence[Keyword], version: Version) -> Section:
    """What goes with what: length and reasoning with quality, clarity with the other dimensions."""
    ideas = [(one, idea) for one in keywords for idea in one.ideas if idea.rows]
    clusters = [one.sample for one, _ in ideas]

    # A CJK character counts as half a word, as the limits of an idea have it.
    length = [idea.words + idea.characters / 2 for _, idea in ideas]
    reasoning = [float(idea.reasoning) for _, idea in ideas]
    scores = {name: [idea.score(name) for _, idea in ideas] for name in version.dimensions}
    quality = [idea.quality(version) for _, idea in ideas]
    pairs = [("length of the idea", length, "judged quality", quality)]
    pairs += [("length of the idea", length, name, scores[name]) for name in version.dimensions]
    pairs += [("length of the reasoning", reasoning, "judged quality", quality)]
    pairs += [(one, x, other, y) for (one, x), (other, y) in combinations(scores.items(), 2)]
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
    return Section("Length and quality", (note,), (Table(columns, rows),), (plot,), brief=True)
