"""Which samples a run plays: those that are named, or a draw by the run's seed that is spread over kinds of samples."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lotbench.errors import UsageError


def select(
    data: Sequence[Any],
    ids: Sequence[str],
    limit: int | None,
    strata: Sequence[str],
    seed: int,
    group_of: Callable[[Any], str | None] = lambda sample: None,
) -> tuple[Any, ...]:
    """Return the samples that a run plays: those of the ids, each once, as they are named; else a draw, in data order.

    Args:
        data: All samples, in their order.
        ids: Those wanted; none means all.
        limit: How many at most: of ids the first, of all a draw.
        strata: Fields of samples over which the draw is spread, the most important first.
        seed: Of the draw; with one seed, a larger draw holds every smaller one.
        group_of: What samples have in common of which a draw takes one; None for a sample that is like no other.

    Raises:
        UsageError: There is no sample of an id.
    """
    by_id = {sample.id: sample for sample in data}
    if unknown := [name for name in ids if name not in by_id]:
        raise UsageError(f"no sample {', '.join(unknown)} in the data set")
    if ids:
        return tuple(by_id[name] for name in dict.fromkeys(ids))[:limit]
    first: dict[str, str] = {}
    for sample in spread(data, strata, seed):
        first.setdefault(group_of(sample) or sample.id, sample.id)
    sample_ids = set(list(first.values())[:limit])
    return tuple(sample for sample in data if sample.id in sample_ids)


def spread(data: Sequence[Any], strata: Sequence[str], seed: int | str) -> list[Any]:
    """Return all samples in an order of which every beginning is spread over the strata in proportion.

    The first field goes first: of any n samples each of its values has its share, rounded up or down, and
    within each value the next field alike. Inside a stratum the order is by hash, so that what is drawn
    hardly moves when a data set grows.
    """
    if not strata:
        return sorted(data, key=lambda sample: _chance(seed, sample.id))
    groups: dict[Any, list[Any]] = {}
    for sample in data:
        groups.setdefault(getattr(sample, strata[0], None), []).append(sample)
    orders = {
        str(value): iter(spread(group, strata[1:], f"{seed}:{value}")) for value, group in groups.items()
    }
    sizes = {str(value): len(group) for value, group in groups.items()}
    return [next(orders[value]) for value in _turns(sizes, seed)]


def _turns(sizes: Mapping[str, int], seed: int | str) -> list[str]:
    """Return whose turn it is, n times: Balinski and Young's quota method (1975), which shares out places.

    Every value has at any time its share of the turns, rounded up or down, and a later turn takes none away.
    """
    total, counts, turns = sum(sizes.values()), dict.fromkeys(sizes, 0), []
    # Between values of one size, chance says which is first, in every stratum anew.
    order = sorted(sizes, key=lambda value: _chance(seed, value))
    for turn in range(1, total + 1):
        open_ = [value for value in order if counts[value] * total < turn * sizes[value]]
        turns.append(max(open_, key=lambda value: sizes[value] / (counts[value] + 1)))
        counts[turns[-1]] += 1
    return turns


def _chance(seed: int | str, name: str) -> bytes:
    return hashlib.sha256(f"{seed}:limit:{name}".encode()).digest()
