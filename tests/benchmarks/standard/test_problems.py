"""Problems built from rows: what is right, what stands in for what, what is left out and counted."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from lotbench.benchmarks.standard.oogiri import Ratings, Row, held_out
from lotbench.benchmarks.standard.oogiri.problems import Problem, same
from lotbench.benchmarks.standard.settings import Settings, build, resolve
from lotbench.edge.files import datasets
from lotbench.errors import UsageError
from tests.choosing import FOUR, liked


def made(
    rows: list[Row] | tuple[Row, ...], seed: int = 0, seats: Any = None, **settings: Any
) -> list[Problem]:
    return list(build(rows, resolve(Settings(**settings), seats or {}), seed))


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
    assert [found[kind].wanted for kind in ("2t1", "5t2", "rank")] == [1, 2, 5]


def test_the_right_response_is_the_most_liked_and_the_low_one_the_least() -> None:
    for one in made(FOUR):
        stars = [option.star or 0 for option in one.options]
        if one.kind == "rank":
            assert stars == sorted(stars, reverse=True)
            continue
        assert stars[: one.wanted] == [100, 40][: one.wanted] or set(stars[:2]) == {100, 40}
        for option in one.options:
            if option.origin == "low":
                assert option.star == 0
            if option.origin == "elsewhere":
                assert not str(option.row).startswith(one.group)
        assert len({same(str(option.text)) for option in one.options}) == len(one.options)


def test_the_top_tenth_of_many_and_five_likes_at_least() -> None:
    many = liked("many", *range(100, 60, -1)) + liked("other", 9, 4, 2, 1)
    right = {one.options[0].star for one in made(many, kind="2t1", per_prompt=4) if one.group == "many"}
    assert right == {100, 99, 98, 97}
    unloved = liked("one", 4, 3) + liked("two", 50, 1)
    found = made(unloved, kind="2t1")
    assert [one.group for one in found] == ["two"]
    assert found[0].left_out == {"too few responses that enough people like": 1}


def test_the_top_hundredth_of_rated_captions() -> None:
    group = rated("c1", *((400 - n, 50, n) for n in range(250))) + rated("c2", (90, 5, 5), (5, 5, 90))
    found = [one for one in made(group, kind="2t1", per_prompt=9) if one.group == "c1"]
    assert {one.options[0].row for one in found} == {"c1-249", "c1-248", "c1-247"}
    assert found[0].left_out == {"too few responses that enough people like": 6 + 8}


def test_neighbours_of_a_ranking_are_apart_by_a_factor_or_two_errors() -> None:
    close = liked("close", 10, 9, 8, 7, 6, 5) + liked("far", 100, 50, 25, 12, 6, 3)
    found = made(close, kind="rank")
    assert [one.group for one in found] == ["far"]
    assert found[0].left_out == {"no five responses whose votes are apart": 1}
    stars = [option.star or 0 for option in found[0].options]
    assert all(more >= 2 * less for more, less in pairwise(stars))
    few = rated("few", *((8 - n, 1, n) for n in range(6)))
    many = rated("many", *((8000 - 1000 * n, 1000, 1000 * n) for n in range(6)))
    assert [one.group for one in made(few + many, kind="rank")] == ["many"]


def test_votes_without_a_difference_are_not_apart_however_sure() -> None:
    sure = rated("sure", *[(10, 0, 0)] * 6) + rated(
        "far", *((8000 - 1000 * n, 9, 1000 * n) for n in range(6))
    )
    assert [one.group for one in made(sure, kind="rank")] == ["far"]


def test_rows_without_votes_are_never_right_but_may_be_wrong_options() -> None:
    rows = liked("silent", None, None) + liked("loud", 50, 1)
    found = made(rows, kind="2t1")
    assert [(one.group, one.options[1].row) for one in found] == [("loud", found[0].options[1].row)]
    assert str(found[0].options[1].row).startswith("silent")
    assert found[0].left_out == {"nobody voted on the responses": 1}


def test_models_take_the_slots_of_caption_and_rewrite_where_they_are_named() -> None:
    rows = [
        row for name in ("a", "b") for row in liked(name, 90, 40, 1, type="I2T", question=None, image="p.png")
    ]
    seats = {"captioner": 1, "rewriter": 1}
    (one, _) = made(rows, seats=seats, kind="4t1")
    assert slots(one)[1:] == [("caption", "captioner"), ("unrelated", "elsewhere"), ("rewrite", "rewriter")]
    assert one.options[1].text is None and one.options[3].row == one.options[0].row
    (one, _) = made(rows, seats=seats, kind="4t1", unrelated="caption")
    assert slots(one)[2] == ("unrelated", "other_captioner")
    assert (one.other_image, one.other_group) == ("p.png", "b" if one.group == "a" else "a")
    # A question alone has no caption.
    (first, *_) = made(FOUR, seats=seats, kind="2t1")
    assert slots(first)[1] == ("caption", "elsewhere")


def test_the_unrelated_option_is_the_caption_of_another_picture_where_that_is_asked_for() -> None:
    about = {"type": "I2T", "question": None, "image": "p.png"}
    rows = liked("a", 90, 1, **about) + liked("b", 90, 1, caption="A cat sits.", **about)
    found = {one.group: one for one in made(rows, kind="3t1", unrelated="caption")}
    assert (found["a"].options[2].origin, found["a"].options[2].text) == ("other_caption", "A cat sits.")
    assert found["b"].options[2].origin == "elsewhere"


def test_the_rows_own_caption_comes_before_what_stands_in() -> None:
    about = {"type": "I2T", "question": None, "image": "p.png"}
    rows = liked("a", 90, 1, caption="A dog sits.", **about) + liked("b", 90, 1, **about)
    found = {one.group: one for one in made(rows, kind="2t1")}
    assert found["a"].options[1].text == found["a"].caption == "A dog sits."
    assert slots(found["b"])[1] == ("caption", "elsewhere")


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


def test_only_held_out_rows_are_used_where_that_is_asked_for() -> None:
    rows = [row for n in range(60) for row in liked(f"g{n}", 100, 40, 16, 6, 2, 0)]
    found = made(rows, part="held_out", share=0.3, kind="2t1")
    by_id = {row.id: row for row in rows}
    used = [by_id[str(option.row)] for one in found for option in one.options]
    assert used and all(held_out(row, share=0.3) for row in used)
    assert len(found) < 60


def test_five_responses_of_a_prompt_are_held_out_together_so_that_they_can_be_ranked() -> None:
    rows = [row for n in range(400) for row in liked(f"g{n}", 100, 40, 16, 6, 2)]
    kinds = Counter(one.kind for one in made(rows, part="held_out"))
    assert kinds["rank"] == kinds["2t1"] > 10


def test_the_seed_and_nothing_else_decides() -> None:
    assert made(FOUR, seed=3) == made(FOUR, seed=3)
    assert made(FOUR, seed=3) != made(FOUR, seed=4)
    # A prompt's right option does not hang on which other kinds are asked.
    alone, among = made(FOUR, kind="3t1"), [one for one in made(FOUR) if one.kind == "3t1"]
    assert alone == among


def test_one_picture_with_two_questions_is_two_prompts() -> None:
    about = {"type": "IT2T", "image": "p.png"}
    rows = [
        row.model_copy(update={"id": f"{row.id}-{asked}"})
        for asked in ("Why?", "Who?")
        for row in liked("x", 90, 1, question=asked, **about)
    ] + liked("y", 90, 1, type="IT2T", image="q.png", question="Where?")
    found = made(rows, kind="2t1")
    assert len({one.id for one in found}) == 3
    for one in found:
        # Nothing that answers the same picture is taken for unrelated.
        assert {str(option.row)[0] for option in one.options} == {"x", "y"}


def test_the_first_problems_are_one_of_each_kind() -> None:
    assert [one.kind for one in made(FOUR)[:5]] == ["2t1", "3t1", "4t1", "5t2", "rank"]


def test_the_shipped_rows_make_every_kind_in_every_type_and_language() -> None:
    rows = datasets.samples(datasets.shipped("data", "oogiri"), Row)
    found = made(rows)
    cells = {(one.kind, one.type, one.language) for one in found}
    assert len(cells) == 5 * 3 * 3
    assert len(found) == 5 * 42
    assert all(one.left_out == {} for one in found)
