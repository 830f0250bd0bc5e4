"""How well people agree with each other, which is the ceiling of what a judge can agree with them.

One person is held against another on what both labelled; a judge is held against each person in the same way, so that
the two numbers compare. The mean of several people against a judge says less noise, not more agreement.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import combinations
from typing import TypeVar

from lotbench.metrics.agreement import Rate, kappa

Row = TypeVar("Row", bound=Hashable)
Value = TypeVar("Value")
Labels = Mapping[Row, Mapping[str, Value]]
"""What each person said of each row."""


def between(labels: Labels[Row, Value]) -> list[tuple[Row, Value, Value]]:
    """Return what every two people said of a row that both labelled, the person whose name is first in the alphabet first."""
    return [
        (row, by_person[first], by_person[other])
        for row, by_person in labels.items()
        for first, other in combinations(sorted(by_person), 2)
    ]


def against(labels: Labels[Row, Value], judged: Mapping[Row, Value]) -> list[tuple[Row, Value, Value]]:
    """Return what each person said of a row that was judged, and what the judge said."""
    return [
        (row, by_person[who], judged[row])
        for row, by_person in labels.items()
        if row in judged
        for who in sorted(by_person)
    ]


def ceiling(
    labels: Labels[Row, bool], judged: Mapping[Row, bool], clusters: Mapping[Row, str]
) -> tuple[Rate, Rate] | None:
    """Return Cohen's kappa of one person and another, and of the judge and one person; None if no row has two people.

    Args:
        labels: The decisions of people.
        judged: That of the judge on each row that has one.
        clusters: What rows belong together.
    """
    pairs = between(labels)
    if not pairs:
        return None
    people, judge = (
        kappa(
            [first for _, first, _ in triples],
            [other for *_, other in triples],
            [clusters[row] for row, *_ in triples],
        )
        for triples in (pairs, against(labels, judged))
    )
    return people, judge
