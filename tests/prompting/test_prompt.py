"""Prompts: sections and fields, filled once, refusing what is missing and what is unknown."""

import ast
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lotbench.errors import UsageError
from lotbench.prompting.prompt import Prompt, pack, parse
from lotbench.storage import datasets
from lotbench.types import Image, Message
from tests.pages import ROOT

PICTURE = Image("a" * 64)
TEXT = """[system]
You fill a gap. Braces such as {"a": {"b": 1}} stay.

{{shape}}
[user]
{{label}}
{{image}}
FRAME: {{frame}} and {{frame}}
{{tips}}
{{again}}
OUTPUT:
"""
ALL = {"shape": "{}", "label": "IMAGE:", "image": PICTURE, "frame": "x", "tips": "A\nB", "again": "Again."}


def user(**changes: str | Image | None) -> tuple[str | Image, ...]:
    return parse("t", TEXT).messages(**{**ALL, **changes})[1].parts


def test_a_section_for_each_speaker_is_a_message_in_order() -> None:
    messages = parse("t", "[user]\nHello.\n[assistant]\nHi.\n").messages()
    assert messages == (Message("user", ("Hello.",)), Message("assistant", ("Hi.",)))


def test_fields_are_filled_and_other_braces_stay() -> None:
    system, _ = parse("t", TEXT).messages(**ALL)
    assert system.parts == ('You fill a gap. Braces such as {"a": {"b": 1}} stay.\n\n{}',)


def test_a_picture_is_a_part_of_its_own() -> None:
    assert user() == ("IMAGE:", PICTURE, "FRAME: x and x\nA\nB\nAgain.\nOUTPUT:")


def test_a_line_of_emptied_fields_is_dropped_and_any_other_line_stays() -> None:
    assert user(label=None, image=None, tips="", again=None) == ("FRAME: x and x\nOUTPUT:",)
    assert user(label=None, image=None, frame="", tips=None, again=None) == ("FRAME:  and \nOUTPUT:",)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"a": "x", "b": None, "c": None}, "x  \nend"),
        ({"a": None, "b": "x", "c": None}, " x \nend"),
        ({"a": None, "b": None, "c": "x"}, "  x\nend"),
        ({"a": None, "b": "", "c": None}, "end"),
    ],
)
def test_a_line_stays_if_any_of_its_fields_has_a_value(values: dict[str, str | None], text: str) -> None:
    assert parse("t", "[user]\n{{a}} {{b}} {{c}}\nend\n").messages(**values)[0].parts == (text,)


def test_spaces_within_the_braces_make_no_other_field() -> None:
    assert parse("t", "[user]\n{{ name }}!\n").messages(name="x")[0].parts == ("x!",)


def test_what_is_filled_in_is_not_filled_again() -> None:
    assert user(frame="{{again}} {{shape}}")[-1].startswith("FRAME: {{again}} {{shape}} and {{again}}")  # type: ignore[union-attr]


@given(st.text("a{}\n ", max_size=20))
def test_any_value_stands_in_the_text_as_it_is(value: str) -> None:
    (message,) = parse("t", "[user]\nbegin {{a}} end\n").messages(a=value)
    assert message.parts == (f"begin {value} end",)


@pytest.mark.parametrize("missing", sorted(ALL))
def test_a_missing_field_is_refused_by_name(missing: str) -> None:
    values = {name: value for name, value in ALL.items() if name != missing}
    with pytest.raises(UsageError, match=f"'t': no value for {missing}"):
        parse("t", TEXT).messages(**values)


def test_an_unknown_field_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="'t': has no field caption, keyword"):
        parse("t", TEXT).messages(**ALL, keyword="x", caption="y")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[sytem]\nYou.\n[user]\nHello.", "[sytem], [user]"),
        ("[user]\nHello.\n[note]\nX.", "[user], [note]"),
        ("", "not none"),
    ],
)
def test_a_section_that_nobody_says_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        parse("t", text).messages()


@pytest.mark.parametrize(
    ("text", "words"), [("Hello.\n[user]\nx", "before the first"), ("[user]\nx\n[user]\ny", "comes twice")]
)
def test_a_file_that_is_no_prompt_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse("t", text)


def test_a_bracket_within_a_line_begins_no_section() -> None:
    assert parse("t", "[user]\nsee [note]\n [note]\n[note] x").sections.keys() == {"user"}


def test_single_lines_are_filled_by_section() -> None:
    lines = parse("lines", "[wrong]\nWRONG: {{text}}\n[none]\n\n[two]\na\nb")
    assert lines.line("wrong", text="{{x}}") == "WRONG: {{x}}"
    assert (lines.line("none"), lines.line("two")) == ("", "a\nb")
    for section, values in (("right", {}), ("wrong", {}), ("wrong", {"text": "a", "more": "b"})):
        with pytest.raises(UsageError):
            lines.line(section, **values)


def test_a_line_takes_in_a_section_of_another_file_of_its_language() -> None:
    files = {
        "en/a.txt": "[user]\nOne.\n{{> shared.rules}}\nSee {{> shared.rules}} for {{thing}}.",
        "en/shared.txt": "[rules]\nTwo {{thing}}.\nThree.\n\n[more]\nNo.",
        "zh/a.txt": "[user]\n{{> shared.rules}}",
        "zh/shared.txt": "[rules]\n二。",
    }
    made = pack(files)
    assert made.get("en", "a").messages(thing="x")[0].parts == (
        "One.\nTwo x.\nThree.\nSee {{> shared.rules}} for x.",
    )
    assert made.get("zh", "a").messages()[0].parts == ("二。",)
    # What a run writes down is whole, and changes with what it takes in.
    assert made.files["zh/a.txt"] == "[user]\n二。"
    assert pack(made.files).digest == made.digest
    assert pack({**files, "en/shared.txt": "[rules]\nTwo."}).files["en/a.txt"] != made.files["en/a.txt"]


@pytest.mark.parametrize("named", ["other.rules", "shared.words", "shared", "shared.nested", ""])
def test_a_section_that_is_not_there_cannot_be_taken_in(named: str) -> None:
    shared = "[rules]\nTwo.\n[nested]\n{{> shared.rules}}"
    with pytest.raises(UsageError, match=r"'en/a.txt': \{\{> .*no section of text in en/"):
        pack({"en/a.txt": f"[user]\n{{{{> {named}}}}}", "en/shared.txt": shared})


def test_a_pack_has_its_prompts_by_language_and_a_digest_of_all_their_text() -> None:
    files = {"en/a.txt": "[user]\nHi", "zh/a.txt": "[user]\n你好"}
    one = pack(files)
    assert one.get("zh", "a").messages()[0].parts == ("你好",)
    assert one.files == files
    assert pack(dict(reversed(files.items()))).digest == one.digest
    assert pack({**files, "zh/a.txt": "[user]\n你好。"}).digest != one.digest
    assert pack({"en/a.txt": "[user]\nHi", "zh/b.txt": "[user]\n你好"}).digest != one.digest
    for language, name in (("fr", "a"), ("en", "b")):
        with pytest.raises(UsageError, match=f"{language}/{name}.txt"):
            one.get(language, name)


# ---- The shipped prompts ----

SHIPPED = datasets.prompts("lotbench")


def test_every_prompt_is_there_in_both_languages_with_the_same_fields() -> None:
    assert SHIPPED.prompts.keys() == {"en", "zh", "paper"}
    english, chinese = SHIPPED.prompts["en"], SHIPPED.prompts["zh"]
    # The code's own reasons are English.
    assert english.keys() == chinese.keys() - {"reasons"}
    for name in english:
        assert english[name].fields == chinese[name].fields, name
        assert english[name].sections.keys() == chinese[name].sections.keys(), name


def test_the_papers_prompts_take_what_ours_take_but_for_the_point_and_differ_in_their_tips() -> None:
    ours, papers = SHIPPED.prompts["en"], SHIPPED.prompts["paper"]
    assert papers.keys() == {"respond", "ask", "answer", "check_per_call", "tips"}
    assert {name: papers[name].fields for name in papers.keys() - {"tips"}} == {
        name: ours[name].fields - {"point"} for name in papers.keys() - {"tips"}
    }


PARTS = ("lines", "reasons", "criteria")
"""What stands within messages, and is none."""
TALKS = ("talk", "talk_whole")
"""How a conversation begins that grows: each later turn asks for its own form."""


def static(prompt: Prompt) -> str:
    return prompt.sections["system"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_changes_stands_in_the_last_message_and_a_form_that_is_wanted_is_shown(language: str) -> None:
    for name, prompt in SHIPPED.prompts[language].items():
        if name not in PARTS:
            assert set(re.findall(r"\{\{(\w+)\}\}", static(prompt))) <= {
                "shape",
                "method",
                "unclear",
                "max_words",
                "max_characters",
            }, name
            assert list(prompt.sections) == ["system", "user"], name
            assert prompt.sections["user"].endswith("OUTPUT:") or name in TALKS, name
            assert "JSON" in static(prompt), name
            assert "{{shape}}" in static(prompt) or name in TALKS, name


def reasons(*files: str) -> set[str]:
    """The names under which a pack has the reasons that these files give for asking again."""
    found = set()
    for file in files:
        tree = ast.parse((ROOT / "lotbench" / file).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Unread"):
                continue
            reason = node.args[1]
            parts = reason.values if isinstance(reason, ast.JoinedStr) else [reason]
            told = " ".join(str(one.value) for one in parts if isinstance(one, ast.Constant))
            found.add(re.sub(r"[^a-z]+", "_", told.lower()).strip("_"))
    # What a library says of a field is told as `other`.
    return (found - {""}) | {"other"}


@pytest.mark.parametrize(
    ("benchmark", "language", "files"),
    [
        ("lotbench", "zh", ("words.py", "questions.py", "responses.py")),
        ("standard", "zh", ("answers.py", "candidate.py")),
        ("standard", "ja", ("answers.py", "candidate.py")),
    ],
)
def test_every_reason_for_asking_again_is_there_in_the_language_of_the_sample(
    benchmark: str, language: str, files: tuple[str, ...]
) -> None:
    told = datasets.prompts(benchmark).prompts[language]["reasons"].sections
    wanted = reasons("prompting/reply.py", *(f"benchmarks/{benchmark}/{file}" for file in files))
    assert len(wanted) > 8
    assert wanted == told.keys()
    assert all(re.search("[\u3040-\u30ff\u4e00-\u9fff]", text) for text in told.values())
