"""The state of an episode: plain JSON that LangGraph passes from node to node.

Pictures, models and settings are in the runtime context instead (`harness.episode`).
"""

import operator
from collections.abc import Mapping
from typing import Annotated, Any, Protocol, TypeAlias, TypedDict, TypeVar

from lotbench.types import JSON

State: TypeAlias = Mapping[str, Any]
Update: TypeAlias = dict[str, Any]
Context = TypeVar("Context", covariant=True)


class Runtime(Protocol[Context]):
    """What a node gets beside the state. It is LangGraph's Runtime, whose import takes long and is needed only to play."""

    @property
    def context(self) -> Context:
        """The episode."""
        ...


def plus(first: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Return the sum of two counts, name by name."""
    return {name: first.get(name, 0) + other.get(name, 0) for name in {**first, **other}}


class EpisodeState(TypedDict, total=False):
    """The state of one episode in any of the graphs."""

    sample: str
    repeat: int
    round: int
    """The current round of a game, from 1."""
    turn: dict[str, Any]
    """The current round so far."""
    history: Annotated[list[dict[str, Any]], operator.add]
    """The finished rounds."""
    shared: dict[str, Any]
    """Data of the sample that all its episodes share, such as a causal chain."""
    steps: Annotated[list[dict[str, Any]], operator.add]
    """The trace so far."""
    outcome: str | None
    """The outcome of the episode; None while it runs."""
    why: str | None
    arrived: bool
    usage: Annotated[dict[str, int], plus]
    """Calls and tokens of this episode's own questions."""
    memory: Any
    """The memory that is passed on to the next episode of the sequence."""


REDUCED = {"history": operator.add, "steps": operator.add, "usage": plus}
"""The reducers of EpisodeState, which join old and new value of a key; for running a single node without a graph."""


def start(sample: str, repeat: int, memory: JSON = None) -> EpisodeState:
    """Return the initial state of an episode."""
    return EpisodeState(
        sample=sample,
        repeat=repeat,
        round=1,
        turn={},
        history=[],
        shared={},
        steps=[],
        outcome=None,
        why=None,
        arrived=True,
        usage={},
        memory=memory,
    )


def joined(state: State, update: Update) -> dict[str, Any]:
    """Return the state after a node's update, with the same reducers as the graph."""
    result = dict(state)
    for name, value in update.items():
        result[name] = REDUCED[name](result[name], value) if name in REDUCED and name in result else value
    return result
