"""The Pareto front: what no other point beats on both axes."""

from __future__ import annotations

from collections.abc import Sequence


def front(points: Sequence[tuple[float, float]]) -> tuple[int, ...]:
    """Return the indices of the points that no other equals on one axis and beats on the other, or beats on both.

    Higher is better on both. In order of falling x; points that are equal are all in it, or none.
    """
    order = sorted(range(len(points)), key=lambda index: (-points[index][0], -points[index][1]))
    indices: list[int] = []
    for index in order:
        if not indices or points[index][1] > points[indices[-1]][1] or points[index] == points[indices[-1]]:
            indices.append(index)
    return tuple(indices)
