"""What a graph may change, as small plain JSON, and the reducers that join a node's update to it.

Pictures, models and settings are not here: a node reaches them through the runtime context. A key that
is not declared would be dropped without a word, so `joined` refuses it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeAlias, TypedDict, TypeVar

from lotbench.errors import LotbenchError
from lotbench.prompting.prompt import Pack, Prompt
from lotbench.types import JSON, Sample

State: TypeAlias = Mapping[str, Any]
Update: TypeAlias = dict[str, Any]


def plus(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """The sum of two counts, name by name."""
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


class WalkState(TypedDict, total=False):
    """The state of one walk through any of the graphs."""

    sample: str
    repeat: int
    lane: str
    round: int
    """The present round of a game, from 1."""
    turn: dict[str, Any]
    """What has come of the present round so far."""
    draft: dict[str, Any]
    """Half-finished work of the present node; empty when it is done."""
    history: Annotated[list[dict[str, Any]], operator.add]
    """The finished rounds."""
    shared: dict[str, Any]
    """What belongs to the sample and was found once for all walks (a causal chain)."""
    steps: Annotated[list[dict[str, Any]], operator.add]
    """The trace so far."""
    outcome: str | None
    why: str | None
    arrived: bool
    usage: Annotated[dict[str, int], plus]
    """Calls and tokens of this walk's own questions."""
    memory: Any
    """What the lane hands from one walk to the next."""


REDUCERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "history": operator.add,
    "steps": operator.add,
    "usage": plus,
}


DECLARED = frozenset(WalkState.__annotations__)


def start(sample: str, repeat: int, lane: str, memory: JSON = None) -> WalkState:
    """The state in which a walk begins."""
    return WalkState(
        sample=sample,
        repeat=repeat,
        lane=lane,
        round=1,
        turn={},
        draft={},
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
    """The state after an update, by the same rules as the graph's reducers.

    Raises:
        LotbenchError: The update has a key that no state has.
    """
    if unknown := update.keys() - DECLARED:
        raise LotbenchError(f"a node changed {sorted(unknown)}, which no state declares")
    made = dict(state)
    for name, value in update.items():
        made[name] = REDUCERS[name](made[name], value) if name in REDUCERS and name in made else value
    return made


Item = TypeVar("Item", bound=Sample, covariant=True)
Settings = TypeVar("Settings", covariant=True)


@dataclass(frozen=True, slots=True)
class Walk(Generic[Item, Settings]):
    """What a benchmark sees of a walk: the sample, the settings, and where the walk stands.

    Attributes:
        step: The node of the graph that asks.
        data: Every sample of the data set, in its order, with its id, its language and the fields that the
            benchmark names in `beside`; without `beside`, the samples that are played.
        seats: The number of models in each role.
        pictures: The picture of each sample that has one.
    """

    sample: Item
    repeat: int
    step: str
    settings: Settings
    state: State
    prompts: Pack
    data: Sequence[Any]
    seats: Mapping[str, int]
    seed: int
    pictures: Mapping[str, Any]

    @property
    def round(self) -> int:
        """The present round of a game, from 1."""
        return int(self.state["round"])

    def prompt(self, name: str) -> Prompt:
        """A prompt in the language of the sample."""
        return self.prompts.get(self.sample.language, name)


AnyWalk: TypeAlias = Walk[Any, Any]
"""A walk of any benchmark."""
