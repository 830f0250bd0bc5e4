"""A preview of a benchmark's questions, filled with a sample but sent to no model; for `show` and dry runs."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from lotbench.errors import LotbenchError
from lotbench.harness.episode import AnyEpisode, nobody, visit
from lotbench.harness.state import start
from lotbench.run.plan import Plan
from lotbench.run.session import graph, synchronously
from lotbench.types import JSON, Answer, Key, Question, Reply

WORDS = " ".join(["word"] * 100)
DECLINED = "I'm sorry, but I cannot do that."
STEPS = 10
"""The number of graph nodes to visit; enough for two rounds of a game."""


class _StopError(LotbenchError):
    """Ends the visit of a node at its first question."""


def previewed(plan: Plan) -> Sequence[Question]:
    """Return one question of each step that the settings can reach, filled with the first sample.

    The graph is played twice with made-up answers. The first time, each field of an answer has its last option (no); the
    second time, its first (yes). The longest question of each step is returned, since it includes the most text of earlier
    rounds.
    """
    episode = plan.episode(plan.chosen[0].id, 1, nobody)
    longest: dict[tuple[str, str], Question] = {}
    for choice in (-1, 0):
        for question in synchronously(_collect_questions(plan, episode, choice)):
            place = question.role, question.step
            if place not in longest or _length(question) > _length(longest[place]):
                longest[place] = question
    return tuple(longest.values())


def first_question(plan: Plan, sample: str, **settings: Any) -> Question | None:
    """Return the first question of an episode of a sample; None if the first node asks nothing.

    Args:
        plan: The plan.
        sample: The id of the sample.
        **settings: Settings that override those of the plan.
    """
    heard: list[Question] = []

    async def call(episode: AnyEpisode, question: Question) -> Answer:
        heard.append(question)
        raise _StopError(question.step)

    episode = plan.episode(sample, 1, call)
    episode = replace(episode, settings=plan.settings.model_copy(update=settings))
    with suppress(_StopError):
        synchronously(visit(plan.benchmark.nodes["respond"], start(sample, 1), episode))
    return heard[0] if heard else None


async def _collect_questions(plan: Plan, episode: AnyEpisode, choice: int) -> list[Question]:
    """Return the questions of an episode in which each field is answered with its first (`choice` 0) or last (-1) option."""
    heard: list[Question] = []
    marker = getattr(plan.settings, "final_marker", "")

    async def call(episode: AnyEpisode, question: Question) -> Answer:
        heard.append(question)
        free = f"{marker} An answer: {WORDS} {len(heard)}" if choice == 0 else DECLINED
        text = _example(question, choice, len(heard)) if question.schema else free
        return Answer(question, Key("", 0, 0, question.step, 0, 0, ""), Reply(text, "nobody"))

    with suppress(RecursionError):
        config = {"recursion_limit": STEPS}
        begun = start(episode.sample.id, 1)
        await graph(plan.benchmark).ainvoke(begun, config, context=replace(episode, call=call))
    return heard


def _example(question: Question, choice: int, number: int) -> str:
    """Return a made-up reply in JSON that fits the schema of a question; texts in it contain `number`.

    Each field has its first (`choice` 0) or last (-1) option.
    """
    fields: Any = (question.schema or {}).get("properties", {})
    return json.dumps({name: _value(name, field, choice, number) for name, field in fields.items()})


def _value(name: str, field: Any, choice: int, number: int) -> JSON:
    if "enum" in field:
        chosen: JSON = field["enum"][choice]
        return chosen
    kind = field.get("type")
    if kind == "array":
        return [_value(name, field.get("items", {}), choice, number)]
    if kind in ("integer", "number"):
        bound: JSON = field.get("minimum" if choice else "maximum", 1)
        return bound
    if kind == "boolean":
        return choice == 0
    return f"Is it number {number}?" if name == "question" else f"try number {number}"


def _length(question: Question) -> int:
    return sum(len(part) for message in question.messages for part in message.parts if isinstance(part, str))
