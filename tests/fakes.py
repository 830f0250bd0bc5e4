"""Models for tests, in process: a script that reads like a dialogue, and a rule that answers anything.

Each implements `lotbench.types.Model`. A script is heard whole by every episode, so episodes that run side by
side do not take each other's lines.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from lotbench.models.python_models import NAMED
from lotbench.types import Reply, Request, Usage
from tests.rules import Rule, Said, game_rule, same

__all__ = ["RuleModel", "ScriptedModel", "game_rule", "reply_from", "same", "text_of"]

Line: TypeAlias = "Said | BaseException"


def text_of(request: Request) -> str:
    """What a request says, a speaker a line, with `[picture]` where a picture stands."""
    return "\n".join(
        f"{message.speaker}: "
        + "".join(part if isinstance(part, str) else "[picture]" for part in message.parts)
        for message in request.messages
    )


def reply_from(said: Said, request: Request, model: str) -> Reply:
    """What a model said as a reply, with one token a word where it names no usage of its own."""
    if isinstance(said, Reply):
        return replace(said, usage=_usage(said.text, request)) if said.usage == Usage() else said
    text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    return Reply(text, model, usage=_usage(text, request))


def _usage(text: str, request: Request) -> Usage:
    heard = (part for message in request.messages for part in message.parts if isinstance(part, str))
    return Usage(input_tokens=sum(len(part.split()) for part in heard), output_tokens=len(text.split()))


class _Asked:
    """What every fake keeps: who it is, what it was asked, and how many calls stood open at once."""

    takes_requests = True

    def __init_subclass__(cls) -> None:
        """Given to `evaluate`, it is a `Model` like lotbench's own: fakes of one id are one model."""
        NAMED.add(cls)

    def __init__(self, model_id: str, latency: float) -> None:
        self.model_id = model_id
        self.latency = latency
        self.asked: list[Request] = []
        self.peak = 0
        self._open = 0

    def heard(self, step: str | None = None) -> list[str]:
        """The text of the requests in order, of one step or of all."""
        return [text_of(request) for request in self.asked if step in (None, request.key.step)]

    async def __call__(self, request: Request) -> Reply:
        self.asked.append(request)
        # Chosen before the first await: the order of replies is the order of asking.
        line = self._line(request)
        self._open += 1
        self.peak = max(self.peak, self._open)
        try:
            await asyncio.sleep(self.latency)
        finally:
            self._open -= 1
        if isinstance(line, BaseException):
            raise line
        return reply_from(line, request, self.model_id)

    def _line(self, request: Request) -> Line:
        raise NotImplementedError


class ScriptedModel(_Asked):
    """Says its lines in order: one script for all steps, or one for each step by name.

        ScriptedModel("alarm clock", "Is it alive?", {"answer": "Yes"}, CallFailed("timeout"))
        ScriptedModel(respond=["a", "b"], ask=["Is it alive?"])

    A line is a text, a mapping (sent as JSON), a whole Reply, or an exception to raise. When the script
    has run out, `loop` repeats its last line; without it, asking on is an AssertionError.
    """

    def __init__(
        self,
        *lines: Line,
        loop: bool = False,
        model_id: str = "scripted",
        latency: float = 0.0,
        **steps: Sequence[Line],
    ) -> None:
        if bool(lines) == bool(steps):
            raise TypeError("a script has lines for all steps, or lines for each step")
        super().__init__(model_id, latency)
        self._lines = lines
        self._steps: Mapping[str, Sequence[Line]] = steps
        self._loop = loop
        self._spoken: Counter[tuple[str, int, str]] = Counter()

    def _line(self, request: Request) -> Line:
        key = request.key
        script = self._lines or self._steps.get(key.step, ())
        episode = (key.sample, key.repeat, "" if self._lines else key.step)
        spoken = self._spoken[episode]
        self._spoken[episode] += 1
        if spoken < len(script):
            return script[spoken]
        if script and self._loop:
            return script[-1]
        raise AssertionError(
            f"{self.model_id}: the script has {len(script)} lines for episode {key.sample}/{key.repeat}"
            f"{'' if self._lines else f', step {key.step}'}; asked again at round {key.round}, step {key.step}:\n"
            f"{text_of(request)}"
        )


class RuleModel(_Asked):
    """Says what a rule says: `rule(request)` is a pure function, so order and time change nothing."""

    def __init__(self, rule: Rule | None = None, *, model_id: str = "ruled", latency: float = 0.0) -> None:
        super().__init__(model_id, latency)
        self._rule: Rule = rule or game_rule()

    def _line(self, request: Request) -> Any:
        return self._rule(request)
