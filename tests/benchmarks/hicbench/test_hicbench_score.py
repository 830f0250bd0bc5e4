"""HIC-Bench numbers: IFS, panel rules and classes, likeness of answers, agreement with people."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from lotbench.benchmarks.hicbench import reviewing
from lotbench.benchmarks.hicbench.score import ifs
from lotbench.benchmarks.hicbench.settings import Settings
from lotbench.benchmarks.hicbench.task import benchmark
from lotbench.config.arm import score_settings
from lotbench.harness.evidence import NOTHING
from lotbench.report.sections import Section
from tests.benchmarks.hicbench.test_hicbench import (
    DH,
    IH,
    NEUTRAL,
    counting,
    judge,
    played,
    steady,
    task,
    verdict,
)
from tests.episodes import Played
from tests.rules import chance

BOTH = verdict(4, 3, 4, True)


@pytest.mark.parametrize(
    ("ih", "dh", "expected"),
    [(0.134, 0.032, 0.4140), (0.029, 0.050, 0.3858), (0.526, 0.012, 0.5004), (0.711, 0.003, 0.5410)],
)
def test_ifs_has_the_values_of_the_paper(ih: float, dh: float, expected: float) -> None:
    assert ifs(ih, dh, 0.6) == pytest.approx(expected, abs=5e-5)


async def panel(*answers: Sequence[Any], **settings: Any) -> Played:
    """One task, each answer given as the verdicts of all judges on it."""
    judges = [
        steady(*(one[index] for one in answers), model_id=f"judge-{index}")
        for index in range(len(answers[0]))
    ]
    return await played({"candidate": counting(), "judge": judges}, answers=len(answers), **settings)


@pytest.mark.parametrize("judges", [2, 3])
async def test_planted_rates_come_back(judges: int) -> None:
    """Each judge calls its own share of answers IH and DH, by the answer's words."""
    rates = [(0.5, 0.1), (0.3, 0.2), (0.1, 0.4)][:judges]

    def says(index: int) -> Any:
        ih, dh = rates[index]

        def of(answer: str) -> Any:
            drawn = chance(f"{index}:{answer}")
            return IH if drawn < ih else DH if drawn < ih + dh else NEUTRAL

        return of

    items = [task(number) for number in range(1, 41)]
    panel = [judge(says(index), f"judge-{index}") for index in range(judges)]
    done = await played({"candidate": counting(), "judge": panel}, items)
    found = done.metrics()
    answers = [f"t{number} a{draw}" for number in range(1, 41) for draw in range(10)]
    for name, which, kind in (("ih_ratio", 0, IH), ("dh_ratio", 1, DH)):
        planted = np.mean([rate[which] for rate in rates])
        counted = np.mean([[says(index)(answer) is kind for answer in answers] for index in range(judges)])
        assert found[name].value == pytest.approx(counted)
        assert found[name].low <= planted <= found[name].high  # type: ignore[operator]
        assert (found[name].n, found[name].observations) == (40, 400)


def test_a_run_without_traces_has_a_report() -> None:
    assert [one.title for one in benchmark.sections([], Settings(), NOTHING)] == ["Replies"]
    assert {metric.value for metric in benchmark.metrics([], Settings(), NOTHING).values()} == {None}


@pytest.mark.parametrize("name", sorted(score_settings(Settings())))
async def test_settings_that_change_the_score_only_change_no_question(name: str) -> None:
    others = {
        "panel_rule": "mean_then_threshold",
        "classes": "overlapping",
        "w1": 0.5,
        "flexibility": "variance",
        "encoder": "other",
        "flips": 100,
    }
    other = others[name]
    candidate, changed = counting(), counting()
    one, two = judge(lambda _: BOTH), judge(lambda _: BOTH)
    # With dhp the classes choose the examples: that setting changes the score alone only without.
    dhp = name in score_settings(Settings(dhp=True), only=True)
    players = {"candidate": candidate, "judge": one, "dhp_judge": judge(lambda _: BOTH, "k")}
    tasks = [task(1), task(2)]
    await played(players, tasks, answers=2, dhp=dhp)
    await played(players | {"candidate": changed, "judge": two}, tasks, answers=2, dhp=dhp, **{name: other})
    assert candidate.heard() == changed.heard() and one.heard() == two.heard()


# Human review.


def labelled(done: Played, **verdicts: Any) -> list[dict[str, Any]]:
    """Labels of answers by their place in the task, as `export --for-review` and `score --labels` make them."""
    rows = reviewing.rows(done.traces, done.settings, done.evidence)
    return [
        reviewing.Label.model_validate({**row, **verdicts[f"a{number}"]}).model_dump(mode="json")
        for number, row in enumerate(rows)
        if f"a{number}" in verdicts
    ]


def review(done: Played, labels: Sequence[Any]) -> Section:
    (found,) = [one for one in done.sections(labels=tuple(labels)) if one.title == "Human review"]
    return found


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
