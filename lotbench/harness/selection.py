"""Selection of samples: by id, or by a seeded draw that is spread over strata."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lotbench.errors import UsageError, suggestion


def select(
    data: Sequence[Any],
    ids: Sequence[str],
    limit: int | None,
    strata: Sequence[str],
    seed: int,
    group_of: Callable[[Any], str | None] = lambda sample: None,
) -> tuple[Any, ...]:
    """Return the samples that a run plays: those with the given ids, each once, in that order; else a draw, in data order.

    Args:
        data: All samples, in their order.
        ids: The ids to take; empty means all.
        limit: The maximum number of samples: the first of `ids`, or the size of a draw; None for all.
        strata: Fields of samples over which the draw is spread, the most important first.
        seed: The seed of the draw; with the same seed, a larger draw contains every smaller one.
        group_of: Returns a key of a sample; a draw takes one sample for each key. With None, the sample has a key of its own.

    Raises:
        UsageError: An id is unknown.
    """
    by_id = {sample.id: sample for sample in data}
    if unknown := [name for name in ids if name not in by_id]:
        raise UsageError(f"no sample {', '.join(unknown)} in the data set{_meant(unknown[0], by_id)}")
    if ids:
        return tuple(by_id[name] for name in dict.fromkeys(ids))[:limit]
    first: dict[str, str] = {}
    for sample in spread(data, strata, seed):
        first.setdefault(group_of(sample) or sample.id, sample.id)
    sample_ids = set(list(first.values())[:limit])
    return tuple(sample for sample in data if sample.id in sample_ids)


def spread(data: Sequence[Any], strata: Sequence[str], seed: int | str) -> list[Any]:
    """Return all samples in an order in which every prefix is spread over the strata in proportion.

    `strata` names fields of the samples. Among the first n samples, each value of the first of these fields has its
    share, rounded up or down; within a value the same holds for the next field. Inside a stratum samples are ordered by hash, so a draw changes little when data are added.
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
    """Return the order in which values take turns, by Balinski and Young's quota method (1975).

    After any number of turns every value has had its share, rounded up or down.
    """
    total, counts, turns = sum(sizes.values()), dict.fromkeys(sizes, 0), []
    # Ties between values of one size are broken by chance, anew in every stratum.
    order = sorted(sizes, key=lambda value: _chance(seed, value))
    for turn in range(1, total + 1):
        open_ = [value for value in order if counts[value] * total < turn * sizes[value]]
        turns.append(max(open_, key=lambda value: sizes[value] / (counts[value] + 1)))
        counts[turns[-1]] += 1
    return turns


def _chance(seed: int | str, name: str) -> bytes:
    return hashlib.sha256(f"{seed}:limit:{name}".encode()).digest()


def _meant(name: str, ids: Iterable[str]) -> str:
    """Return `; did you mean ID?` with the id of the same number after the same letters, or else the most similar id."""
    stem = name.rstrip("0123456789")
    digits = name.removeprefix(stem)
    alike = {one.removeprefix(stem).lstrip("0"): one for one in ids if digits and one.startswith(stem)}
    meant = alike.get(digits.lstrip("0"))
    return f"; did you mean {meant}?" if meant else "" if alike else suggestion(name, ids)
