"""The reliability of a ranking, hard samples and likeness in `compare`; what they need, where a user would look."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lotbench.report import likeness
from lotbench.report.comparison import compare, to_json, to_markdown
from lotbench.report.html.comparison_page import page
from lotbench.report.leaderboard import Entry, Walked
from lotbench.report.likeness import Said
from lotbench.report.sections import Section

SAMPLES = [f"s{at:02}" for at in range(24)]
REPEATS = 3


def entries(models: int, spread: float = 0.35) -> list[Entry]:
    """Runs of models of different skill on samples of different hardness; s00 is solved by all and s01 by none."""
    rng = np.random.default_rng(models)
    hard = rng.normal(0, 0.8, len(SAMPLES))
    hard[0], hard[1] = -99, 99
    made = []
    for at in range(models):
        chance = 1 / (1 + np.exp(hard - spread * (at - models / 2)))
        hits = rng.random((REPEATS, len(SAMPLES))) < chance
        scores = {name: [float(hit) for hit in hits[:, place]] for place, name in enumerate(SAMPLES)}
        solved = {name: float(np.mean(values)) for name, values in scores.items()}
        said = {
            name: ["cat" if hit else f"{at} {place}" for hit in hits[:, place]]
            for place, name in enumerate(SAMPLES)
        }
        made.append(
            Entry(
                name=f"run-{at}",
                asked=f"m{at}",
                answered=(f"m{at}",),
                benchmark="b",
                values=solved,
                failed=0,
                conditions={"benchmark": "b"},
                setup={"model": f"m{at}"},
                walked=Walked(scores, solved),
                cells=scores,
                said=Said(said),
            )
        )
    return made


def sections(models: int) -> dict[str, Section]:
    found = compare(entries(models), lambda name, called: ())
    return {one.title: one for one in found.sections}


@pytest.mark.parametrize(("models", "known", "items"), [(2, False, False), (4, True, False), (8, True, True)])
def test_what_a_section_needs_stands_where_it_would_be(models: int, known: bool, items: bool) -> None:
    found = sections(models)
    reliability, samples = found["Reliability of the ranking"], found["Difficulty of samples"]
    assert bool(reliability.tables) is known and bool(samples.tables) is items
    if not known:
        assert reliability.notes == (
            "Needs 4 models that were measured alike, and there are 2: lotbench compare RUN RUN ...",
        )
        assert reliability.numbers == {"why": "needs 4 models that were measured alike, and there are 2"}
    if not items:
        assert samples.notes[0].startswith(f"Needs 8 models that were measured alike, and there are {models}")


def test_the_study_of_a_ranking() -> None:
    found = sections(8)["Reliability of the ranking"]
    relative: Any = found.numbers["relative"]
    assert 0 < relative["low"] < relative["value"] < relative["high"] <= 1
    coefficients, parts, decisions = found.tables
    assert coefficients.rows[0][1:] == (relative["value"], relative["low"], relative["high"])
    assert [row[0] for row in parts.rows] == ["model", "sample", "model x sample", "repeat"]
    assert [row[0] for row in decisions.rows] == [1, 3, 9]
    one, three, nine = [row[1] for row in decisions.rows]
    assert isinstance(one, int) and isinstance(three, int) and isinstance(nine, int) and one > three >= nine
    assert list(found.plots[0].series) == ["1 repeat", "3 repeats", "9 repeats"]


def test_samples_that_all_or_none_solve_are_named() -> None:
    found = sections(8)["Difficulty of samples"]
    assert found.numbers["all_solve"] == ["s00"] and found.numbers["none_solve"] == ["s01"]
    assert found.notes[0] == "Every task of every model solves: s00."
    assert found.notes[1] == "No task of any model solves: s01."
    told = {row[0]: row[1:] for row in found.tables[0].rows}
    assert told["s00"] == (1.0, 1.0, None) and told["s01"] == (0.0, 0.0, None) and len(told) == len(SAMPLES)
    known = [row[3] for row in found.tables[0].rows if row[3] is not None]
    assert known == sorted(known) and found.tables[0].rows[0][0] in ("s00", "s01")


def test_walks_that_are_scored_and_not_solved_are_told_by_their_mean() -> None:
    runs = [replace(run, walked=Walked(run.walked.scores)) for run in entries(8)]
    found = {one.title: one for one in compare(runs, lambda name, called: ()).sections}[
        "Difficulty of samples"
    ]
    assert found.notes[0].startswith("Tasks of this benchmark are scored, not solved")
    assert found.tables[0].rows[0][2] is None and found.numbers["all_solve"] == []


def test_a_run_without_a_scored_walk_has_no_study() -> None:
    runs = entries(4)
    runs[2] = replace(runs[2], cells={}, walked=Walked())
    found = {one.title: one for one in compare(runs, lambda name, called: ()).sections}
    assert found["Reliability of the ranking"].notes == ("There is none: no task of m2 has a value.",)


def test_likeness_of_models_stands_in_every_form() -> None:
    made = compare(entries(3), lambda name, called: ())
    (found,) = [one for one in made.sections if one.title == likeness.TITLE]
    # In the order of the ranking.
    assert found.grids[0].rows == ("m2", "m1", "m0") and len(found.tables[0].rows) == 6
    assert found.notes[0].startswith("Two models, same: 0.") and "a model with itself 0." in found.notes[0]
    # All solve s00, and say the same there.
    assert found.tables[1].rows[0] == ("s00", "cat", 3, 3)
    written = json.loads(to_json(made))
    (kept,) = [one for one in written["sections"] if one["title"] == likeness.TITLE]
    assert kept["numbers"]["same"][0]["models"] == ["m2", "m2"]
    for text in (to_markdown(made), page(made)):
        assert "Likeness of answers" in text and "Reliability of the ranking" in text


def test_longer_answers_are_compared_by_words_and_by_meaning_where_there_is_a_vector_of_each() -> None:
    texts = {"a": ["a cat on a mat", "a dog in the fog"], "b": ["the cow jumps over"]}
    vectors = {text: np.eye(3, dtype=np.float32)[at] for at, text in enumerate([*texts["a"], *texts["b"]])}
    whole, part = (
        Said(texts, vectors, "minilm"),
        Said(texts, {"a cat on a mat": vectors["a cat on a mat"]}, "minilm"),
    )
    assert [row[0] for row in likeness.alone(whole).tables[0].rows] == ["same", "words", "meaning"]
    found = likeness.alone(part)
    assert [row[0] for row in found.tables[0].rows] == ["same", "words"]
    assert any(note.startswith("No meaning: not every answer was embedded") for note in found.notes)
    assert likeness.across({"one": whole, "two": Said()}).notes == (
        "Needs 2 models with answers to the same samples.",
    )
    # Vectors of two encoders are of two spaces.
    other = Said(texts, vectors, "other")
    captions = [one.caption for one in likeness.across({"one": whole, "two": other}).grids]
    assert [caption.rpartition(": ")[2] for caption in captions] == ["same", "words"]
