"""Fields added later: what records of before had."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from lotbench.config.before import Before, as_before, completed


class Part(BaseModel):
    text: str
    weight: Annotated[float, Before(0.0)] = 1.0


class Whole(BaseModel):
    name: str
    tries: Annotated[int, Field(gt=0), Before(1)] = 3
    calm: bool = True
    part: Part | None = None
    parts: tuple[Part, ...] = ()
    left: dict[str, Part] = Field(default_factory=dict)


def test_a_recorded_table_is_completed_as_it_was_before() -> None:
    table = {"name": "a", "part": {"text": "b"}, "parts": [{"text": "c", "weight": 2.0}, {"text": "d"}]}
    read = Whole.model_validate(completed(Whole, table))
    assert (read.tries, read.calm) == (1, True)
    assert read.part == Part(text="b", weight=0.0)
    assert [part.weight for part in read.parts] == [2.0, 0.0]
    assert "tries" not in table
    assert Whole.model_validate(table).tries == 3


def test_what_is_as_before_leaves_no_trace_in_the_record() -> None:
    before = Whole(name="a", tries=1, parts=(Part(text="c", weight=0.0),))
    assert as_before(before) == {
        "name": "a",
        "calm": True,
        "part": None,
        "parts": [{"text": "c"}],
        "left": {},
    }
    now = Whole(name="a", parts=(Part(text="c"),))
    assert as_before(now) == now.model_dump(mode="json")


class Sourced(BaseModel):
    text: str
    writer: Annotated[str, Before("", counts=False)] = ""


def test_a_field_that_does_not_count_leaves_no_trace_whatever_it_says() -> None:
    assert as_before(Sourced(text="a", writer="claude")) == as_before(Sourced(text="a")) == {"text": "a"}
