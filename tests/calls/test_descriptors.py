"""Room for connections: the limit on open files is read, and raised or gone by, before the first call."""

import resource
from collections.abc import Callable, Iterator

import pytest

from lotbench.calls.descriptors import RESERVED, room

Limit = Callable[[int, int], None]


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Iterator[Limit]:
    """Says what the limits of this process are, and lets the soft one be raised as the system does."""
    now = [0, 0]

    def change(what: int, to: tuple[int, int]) -> None:
        if to[1] != resource.RLIM_INFINITY and to[0] > to[1]:
            raise ValueError("not allowed to raise maximum limit")
        now[:] = to

    monkeypatch.setattr(resource, "getrlimit", lambda what: tuple(now))
    monkeypatch.setattr(resource, "setrlimit", change)

    def given(soft: int, hard: int) -> None:
        now[:] = soft, hard

    yield given


def test_where_there_is_room_nothing_changes(limit: Limit) -> None:
    limit(1024, 4096)
    assert room(800) == 800
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (1024, 4096)
    limit(resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    assert room(100_000) == 100_000


@pytest.mark.parametrize("hard", [4096, resource.RLIM_INFINITY])
def test_the_limit_is_raised_as_far_as_it_must_be(limit: Limit, hard: int) -> None:
    limit(1024, hard)
    assert room(1000) == 1000
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (1000 + RESERVED, hard)


def test_where_it_cannot_be_raised_fewer_calls_are_in_flight(limit: Limit) -> None:
    limit(256, 1024)
    assert room(1000) == 1024 - RESERVED
    limit(100, 100)
    assert room(1000) == 1, "never none at all"
