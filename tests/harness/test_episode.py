"""Asking: once more with the reason, steps in the order of the items, and what a failure leaves behind."""

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from lotbench.errors import CallFailed, EpisodeFailed, LotbenchError, Unescapable
from lotbench.harness.episode import AnyEpisode, Episode, nobody, visit
from lotbench.harness.state import start
from lotbench.prompting.prompt import pack
from lotbench.prompting.reply import Form, prose, read_form
from lotbench.types import Answer, Key, Question, Reply, Usage

PACK = pack(
    {"en/guess.txt": "[user]\nGuess. {{again}} {{shape}}", "en/lines.txt": "[again]\nWrong: {{reason}}"}
)


GARBAGE = "Hard to say.\nReally."


class Guess(Form):
    """A guess."""

    guess: str = prose(40)


@dataclass
class Server:
    """Says these things one after the other; an exception is raised."""

    says: list[Any]
    heard: list[Question] = field(default_factory=list)

    async def __call__(self, episode: AnyEpisode, question: Question) -> Answer:
        self.heard.append(question)
        said = self.says.pop(0)
        # Whoever asked first is answered last.
        await asyncio.sleep(0.001 * len(self.says))
        if isinstance(said, Exception):
            raise said
        key = Key("s", 1, question.round, question.step, question.draw, question.attempt, "")
        return Answer(question, key, Reply(said, "m", usage=Usage(10, 0, 2)))


def episode(*says: Any) -> tuple[AnyEpisode, Server]:
    server = Server(list(says))
    sample: Any = SimpleNamespace(id="s", language="en")
    return Episode(sample, 1, None, PACK, (), {}, 0, {}, server, start("s", 1)), server


async def guess(asking: AnyEpisode, draw: int = 0, **more: Any) -> Any:
    return await asking.ask(
        "candidate",
        "respond",
        asking.prompt("guess"),
        Guess,
        read=lambda answer: read_form(answer.reply, Guess).guess,
        value=lambda said: {"guess": said},
        missing=lambda error: {"status": error.kind},
        draw=draw,
        **more,
    )


def values(asking: AnyEpisode) -> list[Any]:
    return [step["value"] for step in asking.steps]


async def test_what_cannot_be_read_is_asked_for_once_more_with_the_reason() -> None:
    asking, server = episode(GARBAGE, '{"guess": "bell"}')
    assert (await guess(asking)).value == "bell"
    assert values(asking) == [{"status": "unparsed"}, {"guess": "bell"}]
    assert [question.attempt for question in server.heard] == [0, 1]
    first, second = (str(question.messages[0].parts[0]) for question in server.heard)
    assert "Wrong" not in first and "Wrong: " in second and '"guess"' in first
    assert asking.usage == {"calls": 2, "input_tokens": 20, "cached_input_tokens": 0, "output_tokens": 4}


async def test_after_the_second_time_there_is_a_reason_instead_of_a_value() -> None:
    asking, server = episode(GARBAGE, GARBAGE)
    found = await guess(asking)
    assert (found.value, found.status) == (None, "unparsed") and found.reason
    assert len(server.heard) == 2


@pytest.mark.parametrize("how", [{"once": True}, {"refusal_stands": True}])
async def test_what_stands_is_not_asked_for_again(how: dict[str, bool]) -> None:
    asking, server = episode("I'm sorry, but I can't help with that.", '{"guess": "bell"}')
    assert (await guess(asking, **how)).status == "refused"
    assert len(server.heard) == 1


async def test_steps_stand_in_the_order_of_the_items_whoever_answers_first() -> None:
    asking, _ = episode(*(f'{{"guess": "{name}"}}' for name in "abc"))
    found = await asking.each(guess, range(3))
    assert [one.value for one in found] == ["a", "b", "c"]
    assert [step["draw"] for step in asking.steps] == [0, 1, 2]
    assert asking.usage["calls"] == 3


async def test_a_reply_that_never_came_ends_the_episode_for_its_role() -> None:
    asking, _ = episode(CallFailed("gone"))
    with pytest.raises(EpisodeFailed) as failed:
        await guess(asking)
    assert (failed.value.role, failed.value.why, failed.value.arrived) == ("candidate", "gone", False)


async def test_of_several_failures_the_one_that_ends_the_run_is_told() -> None:
    asking, _ = episode(CallFailed("gone"), '{"guess": "bell"}', Unescapable("wrong key"))
    with pytest.raises(Unescapable, match="wrong key"):
        await asking.each(guess, range(3))
    assert asking.steps == []


async def test_a_node_whose_call_fails_is_an_outcome_and_no_error() -> None:
    async def respond(state: Any, runtime: Any) -> dict[str, Any]:
        await guess(runtime.context)
        return {"turn": await guess(runtime.context)}

    asking, _ = episode('{"guess": "bell"}', CallFailed("gone"))
    update = await visit(respond, start("s", 1), asking)
    assert (update["outcome"], update["why"], update["arrived"]) == ("candidate_failed", "gone", False)
    assert [step["value"] for step in update["steps"]] == [{"guess": "bell"}]


async def test_a_key_that_no_state_declares_is_refused() -> None:
    async def respond(state: Any, runtime: Any) -> dict[str, Any]:
        return {"colour": "red", "shape": 1}

    with pytest.raises(LotbenchError, match=r"\['colour', 'shape'\]"):
        await visit(respond, start("s", 1), episode()[0])


async def test_where_nobody_is_to_be_asked_asking_is_an_error() -> None:
    asking, _ = episode()
    with pytest.raises(LotbenchError, match="nobody is here"):
        await nobody(asking, Question("judge", "check", ()))
