"""An episode as a thought trace, and what a request asks of a person."""

from dataclasses import replace
from typing import Any

import pytest

from lotbench.errors import UsageError
from lotbench.harness.episode import remark
from lotbench.prompting.person_form import Field, filled, interview, read_field
from lotbench.site.game_rounds import Node, calls, chain, fields, intervened, masked, nodes, thought
from lotbench.types import Image, Key, Message, Request, Sampling, Score, Trace, Usage
from tests import games

CHAIN = "fish swells -> fish shrinks -> it is a rhythm\nclock rings -> sleeper wakes -> it is a rhythm\n= swelling is ringing\n=> the night ends"
SCHEMA: dict[str, Any] = {
    "properties": {
        "point_reason": {"type": "string", "maxLength": 20, "description": "why"},
        "same_function": {"type": "boolean"},
        "answer": {"type": "string", "enum": ["Yes", "No"]},
        "rating": {"type": "integer"},
        "ideas": {"type": "array", "items": {"type": "string"}},
    }
}


def trace(*steps: dict[str, Any]) -> Trace:
    return Trace("s1", 1, "s1/1", "unsolved", Score(0.0), steps, None, {})


def test_a_chain_is_read_into_nodes() -> None:
    found = chain(CHAIN, 1)
    assert found.scene == ("fish swells", "fish shrinks", "it is a rhythm")
    assert found.caption == ("clock rings", "sleeper wakes", "it is a rhythm")
    assert (found.point, found.function, found.judge) == ("swelling is ringing", "the night ends", 1)
    assert nodes(" a→b => c -> ") == ("a", "b", "c")
    assert chain("").caption == ()


def test_what_the_intervention_changed_is_marked() -> None:
    before = ("clock rings", "sleeper wakes", "it is a rhythm")
    after = ("Drum rings", "Sleeper wakes", "it is a rhythm", "people dance")
    assert [one.changed for one in intervened(before, after)] == [True, False, False, True]
    assert intervened((), ("a",)) == (Node("a", False),)
    # Comparing these takes minutes.
    assert not any(one.changed for one in intervened(("a", "b") * 5_000, ("a", "c") * 5_000))


def test_a_game_is_told_round_by_round() -> None:
    used = {"k1": Usage(100, 0, 10)}
    made = thought(
        trace(
            remark("chain", 1, {"chain": CHAIN, "status": "ok", "judge": 0}),
            {**games.respond(1, "drum"), "call": "k1", "seconds": 1.5, "role": "candidate"},
            remark(
                "check",
                1,
                {
                    "accepted": True, "how": "judge", "judge": 0, "status": "ok",
                    "intervened_chain": "drum rings -> sleeper wakes", "same_function": False, "function_reason": "no",
                },
            ),
            games.check(1, False, step="confirm"),
            games.ask(1),
            games.answer(1),
            remark("reveal", 1, {"clues": ["It is an object."]}),
            games.respond(2, status="unparsed"),
            games.check(2, False, how="none"),
            games.respond(3, "drum"),
            games.unread(3),
        ),
        used,
    )  # fmt: skip
    first, second, third = made.leaps
    assert (first.round.guess, first.verdict) == ("drum", "not it")
    assert (first.round.question, first.round.answer) == ("Is it alive?", "No")
    assert first.round.clues == ("It is an object.",)
    _, changes, reasons = first.opinions[0]
    assert [node.changed for node in changes] == [True, False]
    assert reasons == (("same_function: no", "no"),)
    assert (second.round.guess, second.round.status, second.verdict) == (None, "unparsed", "unjudged")
    assert third.verdict == "unread"
    assert made.chains[0].point == "swelling is ringing"
    assert [one.step for one in made.setup] == ["chain"]


def test_an_episode_of_anything_is_told_step_by_step() -> None:
    found = calls(trace(remark("grade", 1, {"scores": {"a": 1}, "texts": ["x", "y"], "none": None})), {})
    assert found[0].texts == (("scores", "a: 1"), ("texts", "x\ny"))


def test_the_mask_is_where_the_key_text_stands() -> None:
    assert masked({"response": "a b a", "key_text": "a", "key_span": [4, 5]}) == ("a b ", "")
    assert masked({"response": "The drum.", "key_text": "drum"}) == ("The ", ".")
    assert masked({"keyword": "drum"}) is None


# What is asked of people


def asked(schema: dict[str, Any] | None = SCHEMA) -> Request:
    system = 'Rules.\nOUTPUT: {"guess": "a \\"b\\""}\nAnswer with one JSON object of this form:\n{\n  "x": ...\n}\n'
    user = "INPUT\nIMAGE: ", Image("ab"), "\nIMAGE CAPTION: A fish.\nA: Yes\nplain words: so\nOUTPUT:"
    messages = (Message("system", (system,)), Message("user", user))
    return Request(Key("s", 1, 1, "check", 0, 0, "d"), "human:Ann", messages, schema, Sampling())


def test_a_person_sees_no_json() -> None:
    made = interview(asked())
    assert made.rules == 'Rules.\nOUTPUT: a "b"'
    assert made.pictures == ("ab",)
    assert made.texts == (("", "INPUT"), ("scene", "A fish."), ("answer", "Yes"), ("", "plain words: so"))
    assert [(one.name, one.kind) for one in made.fields] == [
        ("point_reason", "line"), ("same_function", "yes_no"), ("answer", "choice"), ("rating", "number"), ("ideas", "lines"),
    ]  # fmt: skip


def test_what_a_person_gives_fills_the_form() -> None:
    given = {"point_reason": " so ", "same_function": "Y", "answer": "n", "rating": "4", "ideas": "a\n\n b"}
    assert filled(asked(), given) == (
        '{"point_reason": "so", "same_function": true, "answer": "No", "rating": 4, "ideas": ["a", "b"]}'
    )
    assert filled(asked(None), {"answer": "plain"}) == "plain"


@pytest.mark.parametrize(
    ("field", "given", "message"),
    [
        (Field("a_b", "line"), "  ", "a b: nothing is given"),
        (Field("a", "line", longest=3), "four", "4 characters, more than 3"),
        (Field("a", "yes_no"), "perhaps", "yes or no"),
        (Field("a", "choice", choices=("Yes", "Yesterday")), "Ye", "one of Yes, Yesterday"),
        (Field("a", "number"), "four", "a number"),
        (Field("a", "line"), ["x"], "nothing is given"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(field: Field, given: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_field(field, given)


def test_a_chinese_prompt_is_read_too() -> None:
    request = replace(asked(), messages=(Message("user", ("图片说明：一条鱼。\n输出：",)),))
    assert interview(request).texts == (("图片说明", "一条鱼。"),)


def test_numbers_are_told_as_people_read_them() -> None:
    parts = {"originality": 6.166666666666667, "ideas": 2, "ok": True, "by": {"judge": [0.1 + 0.2]}}
    assert fields(parts) == [("originality", "6.167"), ("ideas", "2"), ("ok", "yes"), ("by", "judge: 0.3")]
