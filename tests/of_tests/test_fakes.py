"""What the fakes promise: scripts are heard whole by every walk, and a rule says the same on every wire."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

import pytest
from pydantic import Field

from lotbench.errors import CallFailed
from lotbench.prompting.reply import Form, YesNo, read_form, schema, shape
from lotbench.types import Image, Key, Message, Reply, Request, Sampling, Usage
from tests.fakes import RuleModel, ScriptedModel, game_rule, same, text_of
from tests.rules import hear


class Filling(Form):
    filling: str = Field(max_length=80)


class Question(Form):
    question: str = Field(max_length=200)


class Answer(Form):
    answer: Literal["Yes", "No"]


class Verdict(Form):
    intervened_chain: str = Field(max_length=300)
    same_creative_point: YesNo
    same_function: YesNo


class Rating(Form):
    originality: int = Field(ge=1, le=10, description="from 1 to 10")


FORMS: tuple[type[Form], ...] = (Filling, Question, Answer, Verdict, Rating)


def request(
    text: str = "What is missing?",
    *,
    step: str = "respond",
    sample: str = "lot-1",
    repeat: int = 0,
    form: type[Form] | None = None,
    seed: int | None = None,
    model: str = "openai/gpt-4o-mini",
) -> Request:
    message = Message("user", (Image("0" * 64), text))
    key = Key(sample, repeat, 1, step, 0, 0, "d")
    return Request(key, model, (message,), schema(form) if form else None, Sampling(seed=seed))


def body(asked: Request) -> dict[str, Any]:
    """The request as a chat completion would carry it."""
    parts = [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
        for message in asked.messages
        for part in message.parts
    ]
    sent: dict[str, Any] = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": parts}]}
    if asked.schema is not None:
        sent["response_format"] = {"type": "json_schema", "json_schema": {"schema": asked.schema}}
    return sent | ({} if asked.sampling.seed is None else {"seed": asked.sampling.seed})


async def said(model: ScriptedModel | RuleModel, asked: Request) -> str:
    return (await model(asked)).text


async def test_a_script_reads_like_a_dialogue() -> None:
    model = ScriptedModel("alarm clock", {"answer": "Yes"}, CallFailed("timeout"), Reply("x", "other-2026"))
    assert await said(model, request()) == "alarm clock"
    assert await said(model, request(step="answer")) == '{"answer": "Yes"}'
    with pytest.raises(CallFailed, match="timeout"):
        await model(request())
    assert (await model(request())).model == "other-2026"
    assert [asked.key.step for asked in model.asked] == ["respond", "answer", "respond", "respond"]


async def test_a_script_by_step_serves_each_step_and_each_walk_whole() -> None:
    model = ScriptedModel(respond=["a", "b"], ask=["Is it alive?"])
    for repeat in (0, 1):
        assert await said(model, request(repeat=repeat)) == "a"
        assert await said(model, request(repeat=repeat, step="ask")) == "Is it alive?"
        assert await said(model, request(repeat=repeat)) == "b"


async def test_walks_side_by_side_each_hear_the_whole_script() -> None:
    model = ScriptedModel("a", "b", latency=0.01)
    texts = await asyncio.gather(*(said(model, request(sample=f"s{i % 3}")) for i in range(6)))
    assert texts == ["a", "a", "a", "b", "b", "b"]
    assert model.peak == 6


@pytest.mark.parametrize("model", [ScriptedModel("a"), ScriptedModel(respond=["a"], ask=["b"])])
async def test_a_script_that_ran_out_says_where(model: ScriptedModel) -> None:
    await model(request())
    with pytest.raises(AssertionError, match=r"1 lines for walk lot-1/0.*round 1, step respond"):
        await model(request())


async def test_a_step_without_lines_is_an_error_even_in_a_loop() -> None:
    model = ScriptedModel(respond=["a"], loop=True)
    assert [await said(model, request()) for _ in range(3)] == ["a"] * 3
    with pytest.raises(AssertionError, match=r"0 lines .* step ask"):
        await model(request(step="ask"))


def test_a_script_is_of_one_kind() -> None:
    with pytest.raises(TypeError):
        ScriptedModel("a", respond=["b"])
    with pytest.raises(TypeError):
        ScriptedModel()


async def test_words_are_tokens_unless_the_reply_counts_its_own() -> None:
    counted = Usage(100, 90, 7)
    model = ScriptedModel("two words", Reply("x", "m", usage=counted))
    assert (await model(request("three words here"))).usage == Usage(3, 0, 2)
    assert (await model(request())).usage == counted


async def test_the_text_of_a_request_shows_speakers_and_pictures() -> None:
    model = ScriptedModel("a", loop=True)
    await model(request("first"))
    await model(request("second", step="ask"))
    assert text_of(model.asked[0]) == "user: [picture]first"
    assert model.heard("ask") == ["user: [picture]second"]
    assert len(model.heard()) == 2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("language", ["a caption", "一张图片"])
async def test_a_rule_fills_every_form(form: type[Form], language: str) -> None:
    reply = await RuleModel(game_rule())(request(language, form=form))
    assert read_form(reply, form).model_fields_set == set(form.model_fields)


@pytest.mark.parametrize("form", FORMS)
def test_a_form_shown_in_the_prompt_is_filled_like_one_that_is_sent(form: type[Form]) -> None:
    text = f"Answer in this form:\n{shape(form)}\nNothing else."
    with_schema, without = request(text, form=form), request(text)
    assert hear(with_schema).form.keys() == hear(without).form.keys()
    assert game_rule()(with_schema) == game_rule()(without)


@pytest.mark.parametrize("form", FORMS)
def test_a_rule_says_the_same_in_process_and_over_http(form: type[Form]) -> None:
    asked = request("What is missing?", form=form, seed=3)
    assert hear(asked) == hear(body(asked))
    assert game_rule()(asked) == game_rule()(body(asked))


def filling(asked: Request) -> str:
    made = game_rule()(asked)
    assert isinstance(made, Mapping)
    return str(made["filling"])


def test_fillings_differ_by_history_seed_and_model_and_by_nothing_else() -> None:
    asked = request(form=Filling, seed=1)
    assert filling(asked) == filling(request(form=Filling, seed=1, sample="another", repeat=2))
    histories = {filling(request(f"round {n}", form=Filling, seed=1)) for n in range(50)}
    seeds = {filling(request(form=Filling, seed=n)) for n in range(50)}
    models = {filling(request(form=Filling, seed=1, model=f"m{n}")) for n in range(50)}
    # 600 possible fillings: 50 draws repeat about twice.
    assert min(len(histories), len(seeds), len(models)) > 40


def accepted(made: Any) -> bool:
    return bool(made["same_creative_point"] and made["same_function"])


def test_verdicts_accept_at_the_rate_asked_for() -> None:
    rule = game_rule(solve=0.2)
    made = [rule(request(f"filling {n}", form=Verdict)) for n in range(2000)]
    # Four standard errors of a share of 0.2 over 2000 are 0.036.
    assert abs(sum(map(accepted, made)) / 2000 - 0.2) < 0.036
    assert len({json.dumps(verdict) for verdict in made}) > 100


def test_a_verdict_does_not_depend_on_the_seed_and_can_be_decided() -> None:
    rule = game_rule(solve=0.5)
    assert len({json.dumps(rule(request("f", form=Verdict, seed=n))) for n in range(20)}) == 1
    keyed = game_rule(solve=0.0, accepts=same(r"^Filling: (.*)$", r"^Key: (.*)$"))
    assert accepted(keyed(request("Key: alarm clock\nFilling: Alarm clock", form=Verdict)))
    assert not accepted(keyed(request("Key: alarm clock\nFilling: ladder", form=Verdict)))
    assert not accepted(game_rule(solve=1.0, accepts=lambda text: False)(request(form=Verdict)))


def test_spoilt_replies_come_at_the_rates_asked_for() -> None:
    rule = game_rule(unreadable=0.1, refuse=0.2)
    kinds: Counter[str] = Counter()
    for n in range(2000):
        made = rule(request(f"round {n}", form=Filling))
        if isinstance(made, Mapping):
            kinds["filled"] += 1
        else:
            refused = isinstance(made, Reply) or made.startswith("I'm sorry")
            kinds["refused" if refused else "unreadable"] += 1
    # Four standard errors: 0.027 at 0.1, 0.036 at 0.2.
    assert abs(kinds["unreadable"] / 2000 - 0.1) < 0.027
    assert abs(kinds["refused"] / 2000 - 0.2) < 0.036
    assert all(isinstance(rule(request(f"q {n}", form=Verdict)), Mapping) for n in range(200))
