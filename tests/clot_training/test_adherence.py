"""What counts as a reply of the form asked for: exactly what the training instructions answer, and little else."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from clot_training.adherence import follows
from clot_training.data import templates
from clot_training.records import Instruction
from lotbench.benchmarks.standard.oogiri import Row
from lotbench.types import Reply

TEXTS = ("A cat in a hat.", "Two: of them", "C. is a letter")


def instruction(kind: str, language: str, type_: str, **more: Any) -> Instruction:
    image, question = (None if type_ == "T2T" else "p.png"), (None if type_ == "I2T" else "Why?")
    row = Row(id="r", type=type_, language=language, group="g", question=question, image=image, text="t")
    if kind == "generation":
        chat = templates.generation(row, more.get("condition"), Random(0))
    else:
        chat = getattr(templates, kind)(row, TEXTS, Random(0))
    fields = {"id": "i", "group": "g", "rows": ("r",), "response": "t", "messages": chat, "image": image}
    return Instruction(kind=kind, language=language, type=type_, **fields, **more)


def said(text: str, finish: Any = "stop") -> Reply:
    return Reply(text=text, model="m", finish=finish)


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
@pytest.mark.parametrize("type_", ["I2T", "T2T", "IT2T"])
def test_what_training_answers_has_the_form(language: str, type_: str) -> None:
    selection = instruction("selection", language, type_)
    for place, text in enumerate(TEXTS):
        assert follows(selection, said(templates.option(place, text)))
    assert follows(instruction("ranking", language, type_), said(templates.ordered([2, 0, 1])))
    assert follows(instruction("generation", language, type_), said("A hat on a cat."))


@pytest.mark.parametrize(
    "text", ["A", "A cat in a hat.", "B. A cat in a hat.", "I choose A. A cat in a hat.", ""]
)
def test_a_selection_is_an_option_as_it_stands(text: str) -> None:
    assert not follows(instruction("selection", "en", "T2T"), said(text))


@pytest.mark.parametrize("text", ["A > B", "A > B > B", "A, B, C", "A > B > C > D", "C > A > B\nbecause"])
def test_a_ranking_has_every_letter_once(text: str) -> None:
    assert not follows(instruction("ranking", "en", "I2T"), said(text))


def test_a_generation_is_one_whole_line_with_its_keyword() -> None:
    asked = instruction("generation", "en", "T2T", condition="hat")
    assert follows(asked, said("The HATS of Rome."))
    assert not follows(asked, said("The cats of Rome."))
    assert not follows(asked, said("The hats\nof Rome."))
    assert not follows(asked, said("The hats of", "length"))
    assert not follows(asked, said("A. The hats of Rome."))
