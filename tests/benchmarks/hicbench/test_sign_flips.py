"""Runs against each other: the permutation test of the paper, and the table of runs that differ in one thing."""

from dataclasses import replace
from typing import Any

import pytest

from lotbench.benchmarks.hicbench.comparing import across
from lotbench.benchmarks.hicbench.settings import Settings
from lotbench.errors import UsageError
from lotbench.report.comparison import Comparison, compare, run_labels
from lotbench.report.leaderboard import Entry
from tests.benchmarks.hicbench.test_hicbench import IH, NEUTRAL, counting, judge, played, task


async def test_runs_are_compared_task_by_task_by_field_and_under_three_weights() -> None:
    items = [task(number) for number in range(1, 9)]
    runs = {}
    for name, said in (("good", IH), ("dull", NEUTRAL)):
        done = await played(
            {"candidate": counting(), "judge": judge(lambda _, said=said: said)}, items, answers=2
        )
        runs[name] = (done.traces, done.settings)
    flips, fields, weights = across(runs)
    # Of 2^8 flips two have a mean as far from 0 as 1.
    assert flips.tables[0].rows[0] == ("good", "dull", 1.0, 0.0, pytest.approx(2 / 2**8), "***", 8)
    assert [grid.caption for grid in fields.grids] == [
        f"{measure} by field"
        for measure in ("originality", "feasibility", "value", "mean of the three", "IH", "DH")
    ]
    ih = fields.grids[4]
    assert (ih.columns, ih.rows) == (("Acoustics", "Optics"), ("good", "dull"))
    assert [[cell.value for cell in line] for line in ih.cells] == [[1, 1], [0, 0]]
    assert ih.cells[0][0].n == 4 and ih.cells[0][0].low < 1
    assert fields.grids[3].cells[0][0].value == pytest.approx(11 / 3)
    good, dull = weights.tables[0].rows
    # All IH: w1; all neutral: 1 - w1 (Eq. 3).
    assert good == ("good", 1.0, 0.0, *map(pytest.approx, (0.9, 0.6, 0.1)))
    assert dull == ("dull", 0.0, 0.0, *map(pytest.approx, (0.1, 0.4, 0.9)))


async def test_only_tasks_that_both_runs_have_are_compared() -> None:
    runs = {}
    for name, numbers in (("one", (1, 2, 3)), ("two", (2, 3, 4))):
        done = await played(
            {"candidate": counting(), "judge": judge(lambda _: IH)}, [task(n) for n in numbers]
        )
        runs[name] = (done.traces, Settings())
    (row,) = across(runs)[0].tables[0].rows
    assert row[-1] == 2 and row[4] == 1.0


# The table.


def run(name: str, score: float | None = 0.5, reasons: tuple[str, ...] = (), **experiment: object) -> Entry:
    table = {
        "model": "m",
        "roles": {"judge": ["j"]},
        "settings": {"strategy": "scp", "dhp": False},
        "data": "d",
    } | experiment
    scores = {
        "ifs": {"value": score, "low": score and score - 0.1, "high": score and score + 0.1, "n": 3},
        "fluency": {"value": None, "low": None, "high": None, "n": 3},
    }
    alike: Any = {key: value for key, value in table.items() if key != "model"}
    return Entry(
        name, str(table["model"]), (), "b", {"s": 0.5}, 0, alike, setup=table, scores=scores, reasons=reasons
    )  # type: ignore[arg-type]


def compared(*runs: Entry) -> Comparison:
    return compare(runs, lambda *_: ())


def test_runs_that_differ_in_one_setting_are_rows_of_one_table() -> None:
    runs = [run("a"), run("b", 0.25, ("no judge",), settings={"strategy": "rcp", "dhp": False})]
    likeness, found = compared(*runs).sections
    assert (found.title, likeness.title) == ("Runs by settings.strategy", "Likeness of answers")
    (table,) = found.tables
    assert table.columns == ("run", "settings.strategy", "ifs", "fluency")
    assert table.rows == (
        ("a", "scp", "0.50 (0.40 to 0.60)", None),
        ("b", "rcp", "0.25 (0.15 to 0.35)", None),
    )
    assert found.notes[0] == "Not ranked: a and b cannot be compared: settings.strategy: scp and rcp."
    assert found.notes[1] == "b: not trusted: no judge"


def test_runs_of_different_models_are_named_by_them() -> None:
    runs = [run("a"), run("b", model="n"), run("c", model="o")]
    assert run_labels(runs) == {"a": "m", "b": "n", "c": "o"}
    assert [section.title for section in compared(*runs).sections] == [
        "Ranking",
        "Differences",
        "Likeness of answers",
        "Runs by model",
    ]


def test_runs_of_one_experiment_are_ranked_and_go_by_their_folders() -> None:
    runs = [run("a"), run("b")]
    assert run_labels(runs) == {"a": "a", "b": "b"}
    (found,) = [one for one in compared(*runs).sections if one.title == "Runs by model"]
    assert found.tables[0].rows[0][:2] == ("a", "m")


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"model": "n", "roles": {"judge": ["k"]}}, "roles.judge: j and k"),
        (
            {"settings": {"strategy": "rcp", "dhp": True}},
            "settings.dhp: False and True\n  settings.strategy: scp and rcp",
        ),
        ({"data": "e", "model": "n"}, "data: d and e"),
    ],
)
def test_other_runs_are_refused_with_what_differs(other: dict[str, object], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        compared(run("a"), run("b", **other))


def test_runs_that_cannot_be_ranked_stand_side_by_side() -> None:
    runs = [replace(run("a"), values={}), run("b", model="n")]
    _, found = compared(*runs).sections
    assert (found.title, found.notes[0]) == (
        "Runs by model",
        "Not ranked: no sample has a score in every run.",
    )


def test_one_run_is_no_comparison() -> None:
    with pytest.raises(UsageError, match="two or more"):
        compared(run("a"))
    with pytest.raises(UsageError, match="named twice"):
        compared(run("a"), run("a", model="n"))
