"""HIC-Bench numbers: IFS, panel rules and classes, likeness of answers, agreement with people."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lotbench.benchmarks.hicbench import keywords, reviewing, similarity
from lotbench.benchmarks.hicbench.ratings import READINGS, RULES, ratings
from lotbench.benchmarks.hicbench.score import ifs, overlap, rescaled, sampling_part
from lotbench.benchmarks.hicbench.settings import SCORE_ONLY, Settings, also_walked
from lotbench.benchmarks.hicbench.task import benchmark
from lotbench.report.sections import Section
from tests.benchmarks.hicbench.test_hicbench import (
    DH,
    IH,
    NEUTRAL,
    counting,
    judge,
    steady,
    task,
    verdict,
    walked,
)
from tests.fakes import RuleModel
from tests.rules import chance
from tests.walking import Walked

BOTH = verdict(4, 3, 4, True)
HALF = verdict(5, 3, 4), verdict(3, 3, 4)


@pytest.mark.parametrize(
    ("ih", "dh", "expected"),
    [(0.134, 0.032, 0.4140), (0.029, 0.050, 0.3858), (0.526, 0.012, 0.5004), (0.711, 0.003, 0.5410)],
)
def test_ifs_has_the_values_of_the_paper(ih: float, dh: float, expected: float) -> None:
    assert ifs(ih, dh, 0.6) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(("w1", "most"), [(0.6, 0.6), (0.9, 0.9), (0.1, 0.9)])
def test_rescaled_ifs_is_0_for_all_dh_and_1_for_the_most(w1: float, most: float) -> None:
    assert rescaled(ifs(0, 1, w1), w1, "exclusive") == 0
    assert rescaled(most, w1, "exclusive") == pytest.approx(1)


def test_rescaled_ifs_of_overlapping_classes_can_be_lower_than_that_of_all_dh() -> None:
    assert rescaled(ifs(1, 1, 0.1), 0.1, "overlapping") == 0
    assert rescaled(ifs(0, 1, 0.1), 0.1, "overlapping") > 0
    assert rescaled(ifs(1, 1, 0.6), 0.6, "overlapping") == pytest.approx(1 / 3)


# Every rule and reading: verdicts of two or three judges on one answer each.


async def panel(*answers: Sequence[Any], **settings: Any) -> Walked:
    """One task, each answer given as the verdicts of all judges on it."""
    judges = [
        steady(*(one[seat] for one in answers), model_id=f"judge-{seat}") for seat in range(len(answers[0]))
    ]
    return await walked({"candidate": counting(), "judge": judges}, answers=len(answers), **settings)


TWO = [(IH, IH), (IH, NEUTRAL), (IH, DH), HALF, (BOTH, IH), (BOTH, BOTH), (DH, NEUTRAL), (NEUTRAL, NEUTRAL)]
THREE = [(IH, IH, NEUTRAL), (IH, NEUTRAL, NEUTRAL), (DH, DH, IH), (DH, NEUTRAL, NEUTRAL), (BOTH, IH, IH)]

# IH and DH of the answers above, worked out by hand.
EXPECTED: dict[tuple[int, str, str], tuple[float, float]] = {
    # Judge 1: IH a0 a1 a2 a3 (and a4 a5 overlapping), DH a4 a5 a6. Judge 2: IH a0 a4 (a5), DH a2 a5.
    (2, "mean_of_rates", "exclusive"): ((4 + 2) / 16, (3 + 2) / 16),
    (2, "mean_of_rates", "overlapping"): ((6 + 3) / 16, (3 + 2) / 16),
    # Mean marks 4 3 4 or more in a0, a3 (4 3 4), a4, a5; half say yes in a2, a4, a5, a6.
    (2, "mean_then_threshold", "exclusive"): (2 / 8, 4 / 8),
    (2, "mean_then_threshold", "overlapping"): (4 / 8, 4 / 8),
    # Both of two: IH a0 (a4, a5 overlapping), DH a5.
    (2, "majority", "exclusive"): (1 / 8, 1 / 8),
    (2, "majority", "overlapping"): (3 / 8, 1 / 8),
    # Judge 1: IH a0 a1 (a4), DH a2 a3 a4. Judge 2: IH a0 a4, DH a2. Judge 3: IH a2 a4.
    (3, "mean_of_rates", "exclusive"): ((2 + 2 + 2) / 15, (3 + 1) / 15),
    (3, "mean_of_rates", "overlapping"): ((3 + 2 + 2) / 15, (3 + 1) / 15),
    # a0 has originality 11/3 < 4; a4 has 4 3 4, and one of three sees a hallucination, less than half.
    (3, "mean_then_threshold", "exclusive"): (1 / 5, 1 / 5),
    (3, "mean_then_threshold", "overlapping"): (1 / 5, 1 / 5),
    # Two of three: IH a0 a4, DH a2.
    (3, "majority", "exclusive"): (2 / 5, 1 / 5),
    (3, "majority", "overlapping"): (2 / 5, 1 / 5),
}


@pytest.mark.parametrize("classes", READINGS)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("answers", [TWO, THREE], ids=["two judges", "three judges"])
async def test_every_panel_rule_and_reading(answers: Any, rule: Any, classes: Any) -> None:
    done = await panel(*answers, panel_rule=rule, classes=classes)
    ih, dh = EXPECTED[len(answers[0]), rule, classes]
    assert done.value("ih_ratio") == pytest.approx(ih)
    assert done.value("dh_ratio") == pytest.approx(dh)
    assert done.value("ifs") == pytest.approx(ifs(ih, dh, 0.6)) == done.traces[0].score.value
    rows = {row[:2]: row for row in done.section("readings").tables[0].rows}
    for reading in READINGS:
        assert rows[rule, reading][2:4] == pytest.approx(EXPECTED[len(answers[0]), rule, reading])
    assert rows[rule, classes][-1] == "this run" and sum(row[-1] == "this run" for row in rows.values()) == 1


@pytest.mark.parametrize(
    ("rule", "expected"), [("mean_of_rates", 3 / 16), ("mean_then_threshold", 2 / 8), ("majority", 1 / 8)]
)
async def test_the_overlap_is_what_is_ih_and_dh_at_once(rule: Any, expected: float) -> None:
    done = await panel(*TWO)
    rated = ratings(done.traces)
    assert overlap(rated, rule) == pytest.approx(expected)
    for row in done.section("readings").tables[0].rows:
        _, classes, ih, dh, both, neutral, *_ = row
        assert ih + dh + neutral - (both if classes == "overlapping" else 0) == pytest.approx(1)


@pytest.mark.parametrize("judges", [2, 3])
async def test_planted_rates_come_back(judges: int) -> None:
    """Each judge calls its own share of answers IH and DH, by the answer's words."""
    rates = [(0.5, 0.1), (0.3, 0.2), (0.1, 0.4)][:judges]

    def says(seat: int) -> Any:
        ih, dh = rates[seat]

        def of(answer: str) -> Any:
            drawn = chance(f"{seat}:{answer}")
            return IH if drawn < ih else DH if drawn < ih + dh else NEUTRAL

        return of

    items = [task(number) for number in range(1, 41)]
    panel = [judge(says(seat), f"judge-{seat}") for seat in range(judges)]
    done = await walked({"candidate": counting(), "judge": panel}, items)
    found = done.metrics()
    answers = [f"t{number} a{draw}" for number in range(1, 41) for draw in range(10)]
    for name, which, kind in (("ih_ratio", 0, IH), ("dh_ratio", 1, DH)):
        planted = np.mean([rate[which] for rate in rates])
        counted = np.mean([[says(seat)(answer) is kind for answer in answers] for seat in range(judges)])
        assert found[name].value == pytest.approx(counted)
        assert found[name].low <= planted <= found[name].high  # type: ignore[operator]
        assert (found[name].n, found[name].observations) == (40, 400)
    per_judge = done.section("judges").tables[0].rows
    for seat, (ih, dh) in enumerate(rates):
        assert per_judge[seat][-2:] == pytest.approx((ih, dh), abs=0.06)


async def test_marks_are_means_over_judges_and_answers() -> None:
    done = await panel((IH, NEUTRAL), (DH, BOTH))
    assert done.value("originality") == pytest.approx((4 + 2 + 3 + 4) / 4)
    assert done.value("feasibility") == pytest.approx((3 + 2 + 4 + 3) / 4)
    assert done.value("value") == pytest.approx((4 + 2 + 3 + 4) / 4)
    assert done.traces[0].score.parts["originality"] == pytest.approx(13 / 4)


# Likeness.


def unit(*rows: Sequence[float]) -> np.ndarray:
    table = np.array(rows, dtype=np.float32)
    return table / np.linalg.norm(table, axis=1, keepdims=True)


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.lists(st.integers(-3, 3), min_size=3, max_size=3).filter(any)),
        min_size=2,
        max_size=12,
    )
)
def test_sums_of_vectors_give_the_mean_over_pairs(rows: list[tuple[int, list[int]]]) -> None:
    group = np.array([one for one, _ in rows])
    vectors = unit(*(row for _, row in rows)).astype(np.float64)
    pairs = list(itertools.combinations(range(len(rows)), 2))

    def mean(chosen: list[tuple[int, int]]) -> float | None:
        return float(np.mean([vectors[a] @ vectors[b] for a, b in chosen])) if chosen else None

    inside = similarity.within(vectors, group, 5)
    for one in range(5):
        expected = mean([(a, b) for a, b in pairs if group[a] == group[b] == one])
        assert np.isnan(inside[one]) if expected is None else inside[one] == pytest.approx(expected, abs=1e-6)
    assert similarity.across(vectors, group) == pytest.approx(
        mean([(a, b) for a, b in pairs if group[a] != group[b]]), abs=1e-6
    )
    assert similarity.every(vectors) == pytest.approx(mean(pairs), abs=1e-6)


async def two_tasks(**settings: Any) -> tuple[Walked, dict[str, Any]]:
    """Two tasks of two answers with known embeddings, judged IH and DH in turn."""
    done = await walked(
        {"candidate": counting(), "judge": [steady(IH, DH), steady(IH, DH, model_id="other")]},
        [task(1), task(2)],
        answers=2,
        encoder="tiny",
        **settings,
    )
    vectors = dict(
        zip(["t1 a0", "t1 a1", "t2 a0", "t2 a1"], unit((1, 0), (1, 0), (1, 0), (0, 1)), strict=True)
    )
    return done, {"vectors": vectors, "encoder": "tiny"}


async def test_fluency_is_the_mean_cosine_within_a_task_over_tasks() -> None:
    done, beside = await two_tasks()
    found = done.metrics(**beside)["fluency"]
    assert (found.value, found.better, found.instrument) == (pytest.approx(0.5), "lower", "tiny")


async def test_fluency_without_embeddings_says_why() -> None:
    done, _ = await two_tasks()
    assert done.metrics(why="pip install x")["fluency"].why == "pip install x"
    assert done.metrics()["fluency"].value is None


async def test_repeats_of_a_task_are_compared_walk_by_walk() -> None:
    candidate = RuleModel(lambda request: f"r{request.key.repeat} a{request.key.draw}")
    done = await walked({"candidate": candidate, "judge": judge(lambda _: IH)}, repeats=2, answers=2)
    vectors = dict(
        zip(["r1 a0", "r1 a1", "r2 a0", "r2 a1"], unit((1, 0), (1, 0), (0, 1), (0, 1)), strict=True)
    )
    assert done.metrics(vectors=vectors, encoder="minilm")["fluency"].value == pytest.approx(1)


async def test_embeddings_by_one_encoder_give_no_fluency_by_another() -> None:
    done, beside = await two_tasks()
    other = benchmark.metrics(
        done.traces, done.settings.model_copy(update={"encoder": "other"}), replace(done.evidence, **beside)
    )
    assert (other["fluency"].value, other["fluency"].instrument) == (None, "other")
    assert other["fluency"].why == "the answers are not embedded by other"


async def test_likeness_of_all_ih_and_dh_over_different_tasks_and_over_all_pairs() -> None:
    done, beside = await two_tasks()
    (section,) = [one for one in done.sections(**beside) if one.title == "Similarity of answers"]
    rows = {row[0]: row[1:] for row in section.tables[0].rows}
    assert rows["all"] == (4, pytest.approx(0.5), pytest.approx(0.5))
    assert rows["IH"] == (2, pytest.approx(1), pytest.approx(1))
    assert rows["DH"] == (2, pytest.approx(0), pytest.approx(0))
    assert "tiny" in section.notes[0]


async def test_likeness_of_a_class_in_one_task_only_has_no_pairs_of_different_tasks() -> None:
    one = judge(lambda answer: IH if answer.startswith("t1") else NEUTRAL)
    done = await walked({"candidate": counting(), "judge": one}, [task(1), task(2)], answers=2)
    vectors = dict.fromkeys(["t1 a0", "t1 a1", "t2 a0", "t2 a1"], unit((1, 0))[0])
    (section,) = [s for s in done.sections(vectors=vectors) if s.title == "Similarity of answers"]
    assert section.tables[0].rows[1:] == (("IH", 2, None, pytest.approx(1)), ("DH", 0, None, None))


async def test_flexibility_is_a_population_variance_less_its_sampling_part() -> None:
    by_task = {
        "t1": (verdict(1, 3, 3), verdict(3, 3, 3)),
        "t2": (verdict(4, 3, 3), verdict(4, 3, 3)),
        "t3": (verdict(5, 3, 3), verdict(3, 3, 3)),
    }
    one = judge(lambda answer: by_task[answer[:2]][int(answer[-1])])
    done = await walked({"candidate": counting(), "judge": one}, [task(n) for n in (1, 2, 3)], answers=2)
    expected = float(np.var([2, 4, 4]))
    assert done.value("flexibility") == pytest.approx(expected)
    noise = sampling_part(ratings(done.traces))
    # Variances within 2, 0 and 2, over two answers each.
    assert noise == pytest.approx((2 + 0 + 2) / 3 / 2)
    rows = dict(done.section("flexibility").tables[0].rows)
    assert rows["flexibility less sampling"] == pytest.approx(expected - noise)


def test_kwprec_is_the_share_of_stems_that_the_knowledge_has() -> None:
    assert keywords.precision("The waves are standing in a pipe", "A standing wave in pipes") == 1.0
    assert keywords.precision("Waves of marble", "A standing wave") == 0.5
    assert keywords.precision("and then", "A standing wave") is None


# Sections.


async def test_fields_have_a_row_and_a_bar_each() -> None:
    done, beside = await two_tasks()
    (section,) = [one for one in done.sections(**beside) if one.title == "Fields"]
    assert [row[0] for row in section.tables[0].rows] == ["Acoustics", "Optics"]
    assert [row[1] for row in section.tables[0].rows] == [2, 2]
    assert len(section.plots) == 7
    for plot in section.plots:
        assert plot.names == ("Acoustics", "Optics")
        (points,) = plot.series.values()
        assert [x for x, _ in points] == [0.0, 1.0]


async def test_weights_of_ifs_are_shown_as_variants_and_as_a_curve() -> None:
    done, _ = await two_tasks()
    section = done.section("IFS by weight")
    rows = {row[0]: row[1:] for row in section.tables[0].rows}
    assert rows["IFS"] == pytest.approx((0.6, 0.4, 0.3, 0.5))
    assert rows["IIFS"][:3] == pytest.approx((0.9, 0.1, 0.45))
    assert rows["RIFS"][:3] == pytest.approx((0.1, 0.9, 0.05))
    assert section.tables[1].rows[0] == pytest.approx((0.0, 0.0))
    assert section.tables[1].rows[10] == pytest.approx((1.0, 0.5))


async def test_answers_are_shown_with_their_questions() -> None:
    done, _ = await two_tasks()
    titles = [one.title for one in done.section("to read").readings]
    assert titles == ["IH: t1/1/1", "IH: t2/1/1", "DH: t1/1/2", "DH: t2/1/2"]


async def test_two_judges_are_compared_by_kappa() -> None:
    done = await panel((IH, IH), (NEUTRAL, NEUTRAL), (DH, NEUTRAL))
    rows = {row[1]: row for row in done.section("judges").tables[1].rows}
    assert rows["IH"][2:5] == (3, 3, pytest.approx(1))
    assert rows["DH"][2:4] == (2, 3)


def test_a_run_without_traces_has_a_report() -> None:
    assert [one.title for one in benchmark.sections([], Settings(), done_evidence())] == ["Replies"]
    assert {metric.value for metric in benchmark.metrics([], Settings(), done_evidence()).values()} == {None}


def done_evidence() -> Any:
    from lotbench.harness.evidence import NOTHING

    return NOTHING


@pytest.mark.parametrize("name", sorted(SCORE_ONLY))
async def test_settings_that_change_the_score_only_change_no_question(name: str) -> None:
    others = {
        "panel_rule": "majority",
        "classes": "overlapping",
        "w1": 0.5,
        "encoder": "other",
        "flips": 100,
    }
    other = others[name]
    candidate, changed = counting(), counting()
    one, two = judge(lambda _: BOTH), judge(lambda _: BOTH)
    # With dhp the classes choose the examples: that setting changes the score alone only without.
    dhp = name not in also_walked(Settings(dhp=True))
    players = {"candidate": candidate, "judge": one, "dhp_judge": judge(lambda _: BOTH, "k")}
    tasks = [task(1), task(2)]
    await walked(players, tasks, answers=2, dhp=dhp)
    await walked(players | {"candidate": changed, "judge": two}, tasks, answers=2, dhp=dhp, **{name: other})
    assert candidate.heard() == changed.heard() and one.heard() == two.heard()


async def test_classes_change_the_prompts_of_a_dynamic_run_and_no_other() -> None:
    heard = []
    for classes in READINGS:
        candidate, players = (
            counting(),
            {"judge": judge(lambda _: BOTH), "dhp_judge": judge(lambda _: BOTH, "k")},
        )
        await walked(
            {"candidate": candidate, **players}, [task(1), task(2)], answers=1, dhp=True, classes=classes
        )
        heard.append(candidate.heard())
    assert heard[0] != heard[1]
    assert also_walked(Settings(dhp=True)) == {"classes"} and not also_walked(Settings())


# Human review.


def labelled(done: Walked, **verdicts: Any) -> list[dict[str, Any]]:
    """Labels of answers by their place in the task, as `export --for-review` and `score --labels` make them."""
    rows = reviewing.rows(done.traces, done.settings, done.evidence)
    return [
        reviewing.Label.model_validate({**row, **verdicts[f"a{number}"]}).model_dump(mode="json")
        for number, row in enumerate(rows)
        if f"a{number}" in verdicts
    ]


def review(done: Walked, labels: Sequence[Any]) -> Section:
    (found,) = [one for one in done.sections(labels=tuple(labels)) if one.title == "Human review"]
    return found


async def test_rows_for_review_say_nothing_of_verdicts() -> None:
    done = await panel((IH, DH), (NEUTRAL, IH))
    rows = reviewing.rows(done.traces, done.settings, done.evidence)
    assert [row["row"] for row in rows] == ["t1/1/1", "t1/1/2"]
    for row in rows:
        assert {name for name, value in row.items() if value is None} == {
            "originality",
            "feasibility",
            "value",
            "hallucination",
            "spans",
        }
        assert set(row) - {"row", "field", "question", "answer"} == {n for n, v in row.items() if v is None}


async def test_precision_and_recall_of_the_judges_against_people() -> None:
    # Judges: IH, IH, IH, DH, neutral, DH; people: IH, IH, neutral, DH, IH, (not labelled).
    done = await panel((IH,), (IH,), (IH,), (DH,), (NEUTRAL,), (DH,))
    labels = labelled(done, a0=IH, a1=IH, a2=NEUTRAL, a3=DH, a4=IH)
    section = review(done, labels)
    rows = {row[:2]: row[2:] for row in section.tables[0].rows}
    assert rows["IH", "precision"][0] == pytest.approx(2 / 3)
    assert rows["IH", "recall"][0] == pytest.approx(2 / 3)
    assert rows["DH", "precision"][::3] == (1.0, 1) and rows["DH", "recall"][0] == 1.0
    # All are answers to one task, which says nothing of others.
    assert rows["IH", "precision"][1:3] == (None, None)
    people, judges = section.tables[1].rows
    assert people[0] == "people" and people[-2:] == pytest.approx((3 / 5, 1 / 5))
    assert judges[-2:] == pytest.approx((3 / 5, 1 / 5))
    assert section.notes[0].startswith("5 of 6 answers are labelled, 5 of them")


async def test_the_recall_of_the_papers_table_is_76_of_78() -> None:
    """89 IH by the judges, 78 by people, 76 of both: precision 85.4 %, and recall 97.4 %, not 87.4 %."""
    both, only_judges, only_people = 76, 13, 2
    says = [IH] * (both + only_judges) + [NEUTRAL] * only_people
    people = [IH] * both + [NEUTRAL] * only_judges + [IH] * only_people
    done = await panel(*([one] for one in says))
    labels = labelled(done, **{f"a{number}": one for number, one in enumerate(people)})
    rows = {row[:2]: row[2] for row in review(done, labels).tables[0].rows}
    assert rows["IH", "precision"] == pytest.approx(0.854, abs=5e-4)
    assert rows["IH", "recall"] == pytest.approx(0.974, abs=5e-4)


async def test_spans_are_counted_and_must_stand_in_the_answer() -> None:
    done = await panel((IH,))
    spans = [{"text": "a0", "note": "no such thing"}]
    assert "1 spans" in review(done, labelled(done, a0={**IH, "spans": spans})).notes[1]
    with pytest.raises(ValueError, match="does not say 'b9'"):
        labelled(done, a0={**IH, "spans": [{"text": "b9", "note": ""}]})
