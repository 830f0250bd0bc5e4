"""Agreement of people with each other, as the ceiling for the agreement of a judge with people.

Two people are compared on rows that both labelled, and a judge is compared with each person in the same way, so the two
numbers compare. A judge against the mean of several people would look better only because the mean has less noise.
"""

from collections.abc import Hashable, Mapping
from itertools import combinations
from typing import TypeVar

from lotbench.metrics.agreement import Rate, kappa

Row = TypeVar("Row", bound=Hashable)
Value = TypeVar("Value")
Labels = Mapping[Row, Mapping[str, Value]]
"""The label of each person, by row and person."""


def between(labels: Labels[Row, Value]) -> list[tuple[Row, Value, Value]]:
    """Return (row, label, label) for every two people who labelled a row; the alphabetically first person's label is first."""
    return [
        (row, by_person[first], by_person[other])
        for row, by_person in labels.items()
        for first, other in combinations(sorted(by_person), 2)
    ]


def against(labels: Labels[Row, Value], judged: Mapping[Row, Value]) -> list[tuple[Row, Value, Value]]:
    """Return (row, person's label, judge's verdict) for each label of a judged row."""
    return [
        (row, marks[who], judged[row])
        for row, marks in labels.items()
        if row in judged
        for who in sorted(marks)
    ]


def ceiling(
    labels: Labels[Row, bool], judged: Mapping[Row, bool], clusters: Mapping[Row, str]
) -> tuple[Rate, Rate] | None:
    """Return Cohen's kappa over all pairs of two people, and of the judge and one person; None if no row has two labels.

    Args:
        labels: The decisions of people, by row and person.
        judged: The judge's verdicts, by row.
        clusters: The cluster of each row.
    """
    pairs = between(labels)
    if not pairs:
        return None
    people, judge = (
        kappa([a for _, a, _ in triples], [b for *_, b in triples], [clusters[row] for row, *_ in triples])
        for triples in (pairs, against(labels, judged))
    )
    return people, judge
