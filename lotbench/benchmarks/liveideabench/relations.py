"""Correlations between measures of ideas: length, reasoning, quality, the dimensions and fluency.

The unit is one judge's verdict on one idea, as in the papers' figures (v1 Fig. S.2, S.4; v2 Supp. Fig. S2, S5, Note 8);
intervals resample whole keywords.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

import numpy as np

from lotbench.benchmarks.liveideabench.judged import FLUENCY, Idea, Keyword, whole
from lotbench.benchmarks.liveideabench.settings import Version
from lotbench.metrics.correlation import coefficient, spearman
from lotbench.metrics.intervals import Floats
from lotbench.report.sections import Cell, Section, Table

LENGTH, REASONING, QUALITY = "length of the idea", "length of the reasoning", "judged quality"
ALL = "quality and fluency"
COLUMNS = ("one", "other", "rho", "low", "high", "r", "verdicts")
ABOUT = (
    "Over verdicts, each with its idea's length and its keyword's fluency. Judged quality: the mean of a verdict's dimensions; "
    f"{ALL}: the mean of these and fluency. rho: Spearman's; low and high: 95 % interval, drawing keywords again with "
    "the ranks kept. r: Pearson's, of the logarithm of the reasoning's length (v1); its square is R²."
)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The measures of V verdicts.

    Attributes:
        samples: The id of each verdict's keyword, V of them.
        measures: [V] values by name of the measure, NaN where missing.
    """

    samples: Sequence[str]
    measures: Mapping[str, Floats]


def length(idea: Idea) -> float:
    """Return the length of an idea in words; a CJK character counts as half a word, as in the limits of an idea."""
    return idea.words + idea.characters / 2


def verdicts(keywords: Iterable[Keyword], version: Version) -> Verdicts:
    """Return the measures of every verdict on ideas of these keywords."""
    judged = [(keyword, idea, row) for keyword in keywords for idea in keyword.ideas for row in idea.rows]
    rows: list[list[float | None]] = []
    for keyword, idea, row in judged:
        marks, fluency = [float(row.scores[name]) for name in version.dimensions], keyword.fluency(version)
        rows.append([length(idea), idea.reasoning, fmean(marks), *marks, fluency, whole([*marks, fluency])])
    names = (LENGTH, REASONING, QUALITY, *version.dimensions, FLUENCY, ALL)
    columns = np.array(rows, dtype=float).reshape(-1, len(names)).T
    return Verdicts([keyword.sample for keyword, *_ in judged], dict(zip(names, columns, strict=True)))


def correlated(source: Verdicts, pairs: Iterable[tuple[str, str]]) -> list[tuple[Cell, ...]]:
    """Return a table row with the columns COLUMNS for each pair of names of measures."""
    rows: list[tuple[Cell, ...]] = []
    for first, other in pairs:
        present = ~np.isnan(source.measures[first] + source.measures[other])
        x, y = source.measures[first][present], source.measures[other][present]
        samples = [name for name, there in zip(source.samples, present, strict=True) if there]
        rho = spearman(x.tolist(), y.tolist(), samples)
        r = coefficient("pearson", (np.log1p(x) if first == REASONING else x).tolist(), y.tolist())
        rows.append((first, other, rho.value, rho.low, rho.high, r.value, rho.n))
    return rows


def lengths(keywords: Sequence[Keyword], version: Version) -> Section:
    """Return the section on correlations: of length and reasoning with quality and dimensions, and of dimensions."""
    source, dimensions = verdicts(keywords, version), version.dimensions
    pairs = [(LENGTH, each) for each in (QUALITY, *dimensions)]
    pairs += [(REASONING, each) for each in (QUALITY, *dimensions, FLUENCY, ALL)]
    rows = correlated(source, [*pairs, *combinations(dimensions, 2)])
    return Section("Length and quality", (ABOUT,), (Table(COLUMNS, tuple(rows)),), brief=True)
