"""Stepping games in tests: a policy that is also a candidate of `evaluate`, judges that count, traces without times."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from lotbench.environment.game import Game
from lotbench.storage.traces import trace_line
from lotbench.types import Trace
from tests.fakes import RuleModel
from tests.rules import Rule, game_rule

RULE = game_rule(solve=0.1, unreadable=0.1, refuse=0.05)


def policy(messages: list[dict[str, Any]], rule: Rule = RULE) -> str:
    """What the candidate says to these messages."""
    answer = rule({"model": "player", "messages": messages})
    if isinstance(answer, str):
        return answer
    # A whole Reply of the rule is a refusal without text, which a callable of text cannot say.
    return json.dumps(answer, ensure_ascii=False) if isinstance(answer, Mapping) else "I would rather not."


async def player(messages: list[dict[str, Any]]) -> str:
    """The policy as a candidate of `evaluate`."""
    return policy(messages)


class Counted:
    """A judge or oracle that knows how often it was asked.

    Args:
        name: What it is called in the records.
        answer: What it says to the messages; the rule's word if there is none.
    """

    def __init__(
        self, name: str, answer: Callable[[list[dict[str, Any]]], Awaitable[str]] | None = None
    ) -> None:
        self.__name__ = name
        self.calls = 0
        self._answer = answer

    async def __call__(self, messages: list[dict[str, Any]]) -> str:
        self.calls += 1
        return await self._answer(messages) if self._answer else policy(messages, game_rule(solve=0.1))


def judges() -> dict[str, Counted]:
    """A judge and an oracle that follow the rule."""
    return {"judge": Counted("judge"), "oracle": Counted("oracle")}


def ruled(name: str) -> RuleModel:
    """A model that fills any form, for any role."""
    model = RuleModel(model_id=name)
    model.__name__ = name  # type: ignore[attr-defined]
    return model


async def play(game: Game) -> Trace:
    """Step a game to its end by the policy."""
    while game.observation is not None:
        await game.step(policy(game.observation.messages))
    assert game.trace is not None
    return game.trace


def timeless(trace: Trace) -> str:
    """A trace as its line on disk, but for the times of its calls."""
    return trace_line(replace(trace, steps=tuple({**step, "seconds": 0.0} for step in trace.steps)))
