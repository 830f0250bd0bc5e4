"""Walks of the panel's benchmarks as people read them: no field of a record stands on the page for its own sake."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from lotbench.site.runs import Gallery
from lotbench.site.walk_story import story
from lotbench.types import Score, Trace
from tests.recorded import FOLDER

RUNS = {name.parent.name.split("-")[2]: name.parent.name for name in FOLDER.glob("*/run.json")}


def page(benchmark: str) -> str:
    gallery = Gallery(FOLDER)
    name = RUNS[benchmark]
    return html.unescape(gallery.get(f"game/{name}/{gallery.shelf(name).file(0)}").body.decode())


def trace(*steps: dict[str, Any]) -> Trace:
    return Trace("s", 1, "s/1", "scored", Score(1.0), tuple(steps), None, {})


@pytest.mark.parametrize("benchmark", ["rinobench", "liveideabench", "hicbench", "standard"])
def test_a_page_reads_as_prose_and_its_steps_are_folded(benchmark: str) -> None:
    shown = page(benchmark).split("Every step as it was taken")[0].split("<main")[1]
    for field in ("problem_statement", "<dt>status", "<dt>words", "unmarked", "over_length", "{'", '{"'):
        assert field not in shown, field
    run = Gallery(FOLDER).shelf(RUNS[benchmark])
    calls = [at for at, step in enumerate(run.traces[0].steps, 1) if step.get("call")]
    linked = {int(at) for at in re.findall(r"/said/[^\"]*#c(\d+)", page(benchmark))}
    assert linked == set(calls), "each call is one click away"


def test_an_idea_its_works_and_each_argument_with_what_grounds_it() -> None:
    shown = page("rinobench")
    for words in (
        " related works",
        "Problem statement",
        "novelty ",
        "experts: ",
        "Arguments that it is not new",
    ):
        assert words in shown
    sample = {
        "research_idea": {"objective": "Fewer steps."}, "novelty_score": 2, "novelty_reasoning": "Known.",
        "related_works": [{"id": "w1", "title": "A work", "abstract": "About it."}],
    }  # fmt: skip
    steps = (
        {"step": "respond", "value": {"novelty_score": 2, "reasoning": "It was done."}},
        {
            "step": "gold_arguments",
            "value": {"known": {"g1": "Done by A.", "g2": "Done by B."}, "novelty": {}},
        },
        {"step": "claims", "value": {"known": {"k1": "A did it.", "k2": "C did it."}, "novelty": {}}},
        {
            "step": "ground_known",
            "value": {
                "claims": {
                    "k1": {"gold": ["g1"], "grounded": True, "works": ["w1"], "reason": "So it says."},
                    "k2": {"gold": [], "grounded": False, "works": [], "reason": ""},
                }
            },
        },
    )
    told = story("rinobench", sample, trace(*steps))
    assert told is not None
    model = next(one for one in told.said if one.title == "What the model says")
    assert model.badges == (("novelty 2 of 5", "good"), ("experts: 2", "flat"))
    first, second = next(one for one in told.said if one.title == "Arguments that it is not new").points
    assert first.notes == (("experts", "Done by A."), ("grounded in", "A work"), ("the judge", "So it says."))
    assert ("not grounded", "bad") in second.badges
    missed = next(one for one in told.said if one.title.startswith("What experts say is not new"))
    assert [one.text for one in missed.points] == ["Done by B."]


def test_what_is_chosen_and_what_is_right_are_told_apart() -> None:
    sample = {"options": [{"slot": "right", "text": "good"}, {"slot": "caption", "text": "plain"}]}
    told = story(
        "standard",
        sample,
        trace({"step": "respond", "value": {"answer": "A", "picked": [1], "shown": [1, 0]}}),
    )
    assert told is not None
    (answer,) = told.said
    assert [(one.text, one.badges) for one in answer.points] == [
        ("A. plain", (("chosen", "bad"),)),
        ("B. good", (("right", "good"),)),
    ]


def test_a_step_that_says_nothing_is_told_as_far_as_it_goes_and_what_is_not_known_step_by_step() -> None:
    for benchmark in ("rinobench", "liveideabench", "hicbench", "standard"):
        told = story(
            benchmark, {}, trace({"step": "respond"}, {"step": "judge", "value": 3}, {"step": "compare"})
        )
        assert told is not None
    assert story("another", {}, trace()) is None
