"""Problems built from rows: what is right, what stands in for what, what is left out and counted."""

from typing import Any

import pytest

from lotbench.benchmarks.standard.building import build
from lotbench.benchmarks.standard.oogiri import Ratings, Row
from lotbench.benchmarks.standard.oogiri.problems import Problem
from lotbench.benchmarks.standard.settings import Settings, cast
from lotbench.errors import UsageError
from tests.choosing import FOUR, liked
from tests.episodes import resolved


def made(
    rows: list[Row] | tuple[Row, ...], seed: int = 0, models: Any = None, **settings: Any
) -> list[Problem]:
    return list(build(rows, resolved(cast, Settings(**settings), **(models or {})), seed))


def rated(group: str, *votes: tuple[int, int, int]) -> list[Row]:
    rows = []
    for n, (unfunny, somewhat, funny) in enumerate(votes):
        ratings = Ratings(unfunny=unfunny, somewhat=somewhat, funny=funny)
        about = {"id": f"{group}-{n}", "text": f"caption {n} of {group}", "group": group}
        rows.append(Row(type="I2T", language="en", image=f"{group}.png", ratings=ratings, **about))
    return rows


def slots(one: Problem) -> list[tuple[str, str]]:
    return [(option.slot, option.origin) for option in one.options]


def test_each_kind_has_the_slots_of_the_paper() -> None:
    found = {one.kind: one for one in made(FOUR) if one.group == "ant"}
    right, caption = ("right", "response"), ("caption", "elsewhere")
    unrelated, rewrite = ("unrelated", "elsewhere"), ("rewrite", "low")
    assert slots(found["2t1"]) == [right, caption]
    assert slots(found["3t1"]) == [right, caption, unrelated]
    assert slots(found["4t1"]) == [right, caption, unrelated, rewrite]
    assert slots(found["5t2"]) == [right, right, caption, unrelated, rewrite]
    assert slots(found["rank"]) == [("ranked", "response")] * 5
    assert [found[kind].answer_size for kind in ("2t1", "5t2", "rank")] == [1, 2, 5]


def test_the_top_hundredth_of_rated_captions() -> None:
    group = rated("c1", *((400 - n, 50, n) for n in range(250))) + rated("c2", (90, 5, 5), (5, 5, 90))
    found = [one for one in made(group, kind="2t1", per_prompt=9) if one.group == "c1"]
    assert {one.options[0].row for one in found} == {"c1-249", "c1-248", "c1-247"}
    # There are three right ones, so six of the nine problems cannot be built.
    assert len(found) == 3


def test_votes_without_a_difference_are_not_apart_however_sure() -> None:
    sure = rated("sure", *[(10, 0, 0)] * 6) + rated(
        "far", *((8000 - 1000 * n, 9, 1000 * n) for n in range(6))
    )
    assert [one.group for one in made(sure, kind="rank")] == ["far"]
    # Nor are equal likes, whatever the factor: who ranked them by votes had .93.
    tied = liked("tied", *[9] * 5) + liked("told", 9, 8, 7, 6, 5)
    assert [one.group for one in made(tied, kind="rank", factor=1)] == ["told"]


def test_one_row_of_people_does_not_speak_for_all_writers() -> None:
    guesses = liked("a", 90, 1, writer="claude", guessed=True) + liked(
        "b", 90, 1, writer="claude", guessed=True
    )
    first = guesses[0].model_copy(
        update={"id": "a-0", "text": "mine", "writer": "people", "guessed": False, "star": None}
    )
    found = {one.group: one for one in made([first, *guesses], kind="2t1")}["a"]
    assert found.guessed and (found.writer, found.gold_writers) == ("people", ("claude",))
    elsewhere = liked("c", 9, 1, writer="gpt-4o")
    whole = {one.group: one for one in made([*liked("d", 90, 1, writer="people"), *elsewhere], kind="2t1")}
    assert whole["d"].gold_writers == ("gpt-4o",), "the wrong option is of another prompt"


def test_rows_without_votes_are_never_right_but_may_be_wrong_options() -> None:
    rows = liked("silent", None, None) + liked("loud", 50, 1)
    found = made(rows, kind="2t1")
    assert [(one.group, one.options[1].row) for one in found] == [("loud", found[0].options[1].row)]
    assert str(found[0].options[1].row).startswith("silent")


def test_the_unrelated_option_is_the_caption_of_another_picture_where_that_is_asked_for() -> None:
    about = {"type": "I2T", "question": None, "image": "p.png"}
    rows = liked("a", 90, 1, **about) + liked("b", 90, 1, caption="A cat sits.", writer="gpt-4o", **about)
    found = {one.group: one for one in made(rows, kind="3t1", unrelated="caption")}
    assert (found["a"].options[2].origin, found["a"].options[2].text) == ("other_caption", "A cat sits.")
    assert "gpt-4o" in found["a"].gold_writers
    assert found["b"].options[2].origin == "elsewhere"


def test_of_two_prompts_with_one_name_the_first_stays() -> None:
    alike = [liked(f"g{n}", 90, 1, question=f"Why {n}?") for n in (1632, 89817, 7)]
    found = made([row for rows in alike for row in rows], kind="2t1")
    assert sorted(one.group for one in found) == ["g1632", "g7"]
    assert len({one.id for one in found}) == len(found)


def test_a_model_that_is_asked_for_must_be_named() -> None:
    with pytest.raises(UsageError, match="captions=captioner needs a model: give --role captioner=MODEL"):
        made(FOUR, captions="captioner")


def test_the_arm_caption_without_captions_names_three_ways_out() -> None:
    rows = [
        row for name in ("a", "b") for row in liked(name, 90, 1, type="I2T", question=None, image="p.png")
    ]
    with pytest.raises(
        UsageError, match=r"`caption` in the rows, --role captioner=MODEL, or --set arm=blind"
    ):
        made(rows, kind="2t1", arm="caption")
    assert made(rows, kind="2t1", arm="blind")


def test_nothing_to_ask_is_an_error() -> None:
    with pytest.raises(UsageError, match="no problem of kind=rank can be made of 2 rows"):
        made(liked("a", 9, 1), kind="rank")
