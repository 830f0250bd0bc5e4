"""Runs whose panels differ, on one scale: what each judge adds is fitted over all runs together and taken away.

A candidate's siblings leave its panel, so candidates are judged by others; inside a run a judge can only be held
against its own panel. Over all runs together a judge is held against everybody who saw the same ideas, and panels
are tied to each other by the judges that they have in common. Without such a judge, runs say nothing about each other.

A judge is one whatever date its id bears (`gpt-4o` and `gpt-4o-2024-11-20`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lotbench.benchmarks.liveideabench.judged import FLUENCY, Comparison, Idea, Keyword
from lotbench.benchmarks.liveideabench.settings import Version
from lotbench.config.model_names import undated
from lotbench.errors import UsageError
from lotbench.metrics.intervals import Floats

Booleans = NDArray[np.bool_]
Walks = Sequence[Keyword]
Records = Mapping[str, Walks]
"""The walks of a run, by sample."""
DRAWS = 400
"""Of the severities, for what is not known of them."""


@dataclass(frozen=True, slots=True)
class Severities:
    """What each judge gives above the mean of all judges, fitted over several runs.

    Attributes:
        judges: Their names, without dates.
        values: By name of what is judged (fluency too), [J].
        draws: The same, [draws, J], from drawing keywords again: one draw holds for all runs.
        verdicts: How many each judge gave in each run, [R, J].
    """

    judges: tuple[str, ...]
    values: Mapping[str, Floats]
    draws: Mapping[str, Floats]
    verdicts: Floats

    def without(self, one: Keyword) -> Keyword:
        """A keyword as a judge of mean severity would have judged it."""
        return replace(
            one,
            ideas=tuple(self._idea(idea) for idea in one.ideas),
            comparisons=tuple(self._comparison(each) for each in one.comparisons),
        )

    def _idea(self, idea: Idea) -> Idea:
        rows = (
            replace(
                row,
                scores={
                    name: score - float(self.values[name][self._place(row.model)])
                    for name, score in row.scores.items()
                },
            )
            for row in idea.rows
        )
        return replace(idea, rows=tuple(rows))

    def _comparison(self, one: Comparison) -> Comparison:
        if one.identical or not one.model:
            return one
        return replace(one, severity=float(self.values[FLUENCY][self._place(one.model)]))

    def _place(self, model: str) -> int:
        return self.judges.index(undated(model))

    def noise(self, keywords: Sequence[Walks], version: Version) -> Floats:
        """Draws of how far the average of some keywords is off, for the severities are not known exactly, [draws]."""
        found = []
        for name in (*version.dimensions, FLUENCY):
            seen = np.array([self._seen(walks, name) for walks in keywords])
            kept = seen[seen.sum(axis=1) > 0]
            if len(kept):
                found.append((self.values[name] - self.draws[name]) @ kept.mean(axis=0))
        # Flexibility, the fifth part of the average, moves with the mean of the others.
        return np.asarray(np.mean(found, axis=0)) if found else np.zeros(DRAWS)

    def _seen(self, walks: Walks, name: str) -> Floats:
        """The share that each judge has in a keyword's score, [J]."""
        shares = [
            self._share([one.model for one in walk.comparisons if one.letters and one.model])
            if name == FLUENCY
            else _mean([self._share([row.model for row in idea.rows]) for idea in walk.ideas if idea.rows])
            for walk in walks
        ]
        return _mean([share for share in shares if share.any()], len(self.judges))

    def _share(self, models: Sequence[str]) -> Floats:
        counts = np.bincount([self._place(model) for model in models], minlength=len(self.judges))
        return np.asarray(counts / max(1, counts.sum()), dtype=float)


def fitted(runs: Mapping[str, Records], version: Version) -> Severities | None:
    """The severities of all judges over all runs; None for one judge, or where all runs have the same, who never met.

    Raises:
        UsageError: Some runs have no judge in common with the others, directly or through a third; which. Or their
            judges are not the same and cannot be told apart.
    """
    judges = tuple(sorted({model for records in runs.values() for model in _models(records)}))
    places = {judge: place for place, judge in enumerate(judges)}
    verdicts = np.zeros((len(runs), len(judges)))
    for row, records in enumerate(runs.values()):
        for model in _models(records):
            verdicts[row, places[model]] += 1
    _refuse_apart(tuple(runs), verdicts, judges)
    if len(judges) < 2:
        return None
    samples = sorted({sample for records in runs.values() for sample in records})
    weights = np.random.default_rng(0).multinomial(
        len(samples), np.full(len(samples), 1 / len(samples)), size=DRAWS
    )
    values, draws = {}, {}
    for name in (*version.dimensions, FLUENCY):
        normal, right, present = _equations(runs, samples, places, name, version)
        whole = _solved(normal.sum(axis=0), right.sum(axis=0), present)
        if whole is None:
            _refuse_different(runs, verdicts)
            return None
        values[name] = whole
        drawn = [
            _solved(np.tensordot(one, normal, axes=1), np.tensordot(one, right, axes=1), present)
            for one in weights
        ]
        draws[name] = np.array([whole if each is None else each for each in drawn])
    return Severities(judges, values, draws, verdicts)


def _refuse_different(runs: Mapping[str, Records], verdicts: Floats) -> None:
    """See that runs whose judges cannot be told apart have the same: each had them by turns.

    Raises:
        UsageError: The judges are not the same.
    """
    if len({tuple(row) for row in verdicts > 0}) > 1:
        raise UsageError(
            f"the judges of {', '.join(runs)} are not the same and too few of them judged one idea together to be told "
            "apart"
        )


def _models(records: Records) -> list[str]:
    """The judge of each verdict and of each comparison."""
    found = []
    for walk in (walk for walks in records.values() for walk in walks):
        found += [undated(row.model) for idea in walk.ideas for row in idea.rows]
        found += [undated(one.model) for one in walk.comparisons if one.letters and one.model]
    return found


def _refuse_apart(names: Sequence[str], verdicts: Floats, judges: Sequence[str]) -> None:
    """See that judges in common tie all runs to each other.

    Raises:
        UsageError: They do not, with the panels of two that nothing ties.
    """
    judged = [row for row in range(len(names)) if verdicts[row].any()]
    tied = set(judged[:1])
    while grown := [
        row
        for row in judged
        if row not in tied and (verdicts[row] * verdicts[sorted(tied)].sum(axis=0)).any()
    ]:
        tied.update(grown)
    if alone := [row for row in judged if row not in tied]:
        one, other = judged[0], alone[0]
        panels = (
            ", ".join(judge for judge, given in zip(judges, verdicts[row], strict=True) if given)
            for row in (one, other)
        )
        raise UsageError(
            f"{names[one]} and {names[other]} have no judge in common, so nothing tells a severe panel from a weak "
            f"candidate: {' and '.join(panels)}"
        )


def _equations(
    runs: Mapping[str, Records],
    samples: Sequence[str],
    places: Mapping[str, int],
    name: str,
    version: Version,
) -> tuple[Floats, Floats, Booleans]:
    """The normal equations of score = item + judge, by sample: [S, J + R, J + R], [S, J + R], and who judged, [J].

    The item is the idea, whose own effect is taken out of both sides; of fluency, whose pairs have one judge each, it
    is the run, which has an unknown of its own.
    """
    size, judges = len(places) + len(runs), len(places)
    normal, right = np.zeros((len(samples), size, size)), np.zeros((len(samples), size))
    present = np.zeros(judges, dtype=bool)
    at = {sample: index for index, sample in enumerate(samples)}
    for number, records in enumerate(runs.values()):
        for sample, walks in records.items():
            for rows, scores in _rows(walks, places, name, version):
                design = np.zeros((len(rows), size))
                design[np.arange(len(rows)), rows] = 1
                present[rows] = True
                if name == FLUENCY:
                    design[:, judges + number] = 1
                else:
                    design, scores = design - design.mean(axis=0), scores - scores.mean()
                normal[at[sample]] += design.T @ design
                right[at[sample]] += design.T @ scores
    return normal, right, present


def _rows(
    walks: Walks, places: Mapping[str, int], name: str, version: Version
) -> list[tuple[list[int], Floats]]:
    """The judges and the scores of each idea; of fluency, of each pair."""
    if name != FLUENCY:
        return [
            (
                [places[undated(row.model)] for row in idea.rows],
                np.array([float(row.scores[name]) for row in idea.rows]),
            )
            for walk in walks
            for idea in walk.ideas
            if idea.rows
        ]
    return [
        ([places[undated(one.model)]], np.array([score]))
        for walk in walks
        for one in walk.comparisons
        if one.model and (score := one.score(version)) is not None
    ]


def _solved(normal: Floats, right: Floats, present: Booleans) -> Floats | None:
    """The effects of the judges [J], which add up to zero; None if those who judged cannot be told apart."""
    judges = np.flatnonzero(present)
    others = len(present) + np.flatnonzero(normal[len(present) :, len(present) :].any(axis=0))
    used = np.concatenate([judges, others])
    if not len(judges):
        return np.zeros(len(present))
    found, _, rank, _ = np.linalg.lstsq(normal[np.ix_(used, used)], right[used], rcond=1e-10)
    if rank < len(used) - 1:
        return None
    effects = np.zeros(len(present))
    effects[judges] = (found[: len(judges)] - found[: len(judges)].mean()).round(12) + 0.0
    return effects


def _mean(rows: Sequence[Floats], size: int = 0) -> Floats:
    return np.asarray(np.mean(rows, axis=0)) if rows else np.zeros(size)
