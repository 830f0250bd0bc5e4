"""The Pareto front of points in two dimensions."""

from collections.abc import Sequence


def front(points: Sequence[tuple[float, float]]) -> tuple[int, ...]:
    """Return the indices of the points on the Pareto front, by descending x; higher is better on both axes.

    Equal points are all on the front or all off it.
    """
    order = sorted(range(len(points)), key=lambda index: (-points[index][0], -points[index][1]))
    indices: list[int] = []
    for index in order:
        if not indices or points[index][1] > points[indices[-1]][1] or points[index] == points[indices[-1]]:
            indices.append(index)
    return tuple(indices)
