"""Runs ranked together: who is refused, who ties, what is beside the ranking; and `lotbench compare` itself."""

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lotbench.cli import main
from lotbench.edge.files.published_scores import read_published_scores
from lotbench.errors import DataError, RunFolderError, UsageError
from lotbench.report import leaderboard
from lotbench.report.comparison import Comparison, compare, to_json, to_markdown
from lotbench.report.html.comparison_page import page, to_text
from lotbench.report.leaderboard import Board, Entry, alike, board, differing, walked
from lotbench.report.ranking_sections import correlations, sections
from lotbench.report.sections import Plot, Section
from lotbench.report.what_it_shows import detectable
from lotbench.run.evaluate import evaluate_sync
from lotbench.run.loading import Run, load_run
from lotbench.run.results import entry
from lotbench.types import Score
from tests.fakes import RuleModel, game_rule
from tests.games import trace, won
from tests.hostile import HOSTILE, SCRIPT
from tests.playing import SETTINGS

SAMPLES = [f"s{at:02}" for at in range(30)]
CONDITIONS = {"benchmark": "b", "data": "d", "roles": {"judge": ["j"]}, "settings": {"arm": "x", "n": 3}}


def scored(mean: float, seed: int, n: int = 30) -> dict[str, float]:
    """Scores about a mean, with what samples have in common."""
    easy = np.random.default_rng(0).normal(0, 0.3, len(SAMPLES))
    own = np.random.default_rng(seed).normal(0, 0.1, len(SAMPLES))
    return {name: mean + float(easy[at] + own[at]) for at, name in enumerate(SAMPLES[:n])}


def one(model: str, mean: float, seed: int, **other: Any) -> Entry:
    given: dict[str, Any] = {"values": scored(mean, seed), "name": f"run-{seed}", "conditions": CONDITIONS}
    given |= {"asked": model, "answered": (model,), "benchmark": "b", "failed": 0}
    return Entry(**given | other)


THREE = [one("low", 0.1, 1), one("high", 0.5, 2), one("alike", 0.51, 3)]


def section(made: Board, title: str) -> Section:
    (found,) = [part for part in sections(made) if title in part.title]
    return found


def test_a_samples_value_is_the_mean_of_its_scored_walks() -> None:
    failed = replace(trace("a", 3, "judge_failed", []), score=Score(None, "no verdict"))
    half = replace(won("a", 2, 1), score=Score(0.5))
    found = walked([won("b", 1, 1), won("a", 1, 1), half, failed])
    assert found.means == {"a": 0.75, "b": 1.0} and found.failed == 1
    assert found.scores == {"a": [1.0, 0.5], "b": [1.0]}


def test_a_ranking_has_letters_and_says_what_it_can_show() -> None:
    made = board(THREE)
    assert [place.entry.model for place in made.places[2:]] == ["low"]
    assert [place.ties for place in made.places] == ["a", "a", "b"]
    assert made.shared == 30 and len(made.pairs) == 3
    table = section(made, "Ranking").tables[0]
    assert [row[0] for row in table.rows] == [place.label for place in made.places]
    tied = [pair for pair in made.pairs if not pair.apart]
    assert [{pair.better, pair.other} for pair in tied] == [{"high", "alike"}]
    found = section(made, "Differences")
    assert found.notes[-1].startswith("Smaller differences than ")
    for pair, row in zip(made.pairs, found.tables[0].rows, strict=True):
        sd = pair.difference.sd
        assert sd is not None and row[-1] == pytest.approx(detectable(30, pair.level) * sd)


def test_pairs_are_corrected_for_their_number() -> None:
    for pair in board(THREE).pairs:
        assert pair.difference.p is not None
        assert pair.difference.p <= pair.p <= min(1, 3 * pair.difference.p + 1e-12)


def test_means_are_over_shared_samples_and_pairs_over_their_own() -> None:
    short = one("short", 0.3, 4, values=scored(0.3, 4, n=10), failed=2)
    made = board([*THREE, short])
    assert made.shared == 10
    both = [pair for pair in made.pairs if "short" not in (pair.better, pair.other)]
    assert {pair.difference.n for pair in both} == {30}
    row = next(row for row in section(made, "Ranking").tables[0].rows if row[0] == "short")
    assert row[5:8] == (10, 0, 2)
    with pytest.raises(UsageError, match="no sample has a score in every run"):
        board([*THREE, one("apart", 0.1, 5, values={"elsewhere": 1.0})])


def test_runs_that_were_not_measured_alike_are_refused_with_what_differs() -> None:
    other = one("x", 0.1, 9, conditions={**CONDITIONS, "data": "e", "settings": {"arm": "y", "n": 3}})
    with pytest.raises(
        UsageError, match=r"run-1 and run-9 cannot be compared: data: d and e; settings.arm: x and y"
    ):
        board([*THREE, other])
    assert [[entry.name for entry in group] for group in alike([THREE[0], other, THREE[1]])] == [
        ["run-1", "run-2"],
        ["run-9"],
    ]


def test_a_judge_that_was_not_needed_is_no_difference_and_another_judge_is() -> None:
    first, both = {"judge": ("j1",)}, {"judge": ("j1", "j2")}
    assert differing(one("x", 0, 1, ids=first), one("y", 0, 2, ids=both)) == []
    assert differing(one("x", 0, 1, ids={"judge": ()}), one("y", 0, 2, ids=both)) == []
    assert differing(one("x", 0, 1, ids=first), one("y", 0, 2, ids={"judge": ("j3",)})) == [
        "judge: j1 and j3"
    ]


def test_two_runs_that_are_like_a_third_and_not_like_each_other_are_never_ranked_together() -> None:
    # The first run needed no judge; the alias of the other two answered as one model and later as another.
    none, early, late = (
        one(name, mean, seed, ids={"judge": ids})
        for name, mean, seed, ids in (("x", 0.1, 1, ()), ("y", 0.2, 2, ("j-05",)), ("z", 0.3, 3, ("j-11",)))
    )
    for order in itertools.permutations((none, early, late)):
        with pytest.raises(UsageError, match=r"judge: j-(05 and j-11|11 and j-05)"):
            board(order)
        assert all(early not in group or late not in group for group in alike(order))


def test_runs_of_one_model_are_told_apart_by_name() -> None:
    made = board([one("m", 0.2, 1), one("m", 0.4, 2), one("n", 0.3, 3)])
    assert [place.label for place in made.places] == ["m (run-2)", "n", "m (run-1)"]
    assert leaderboard.values(made)["m"] == pytest.approx(
        sum(place.mean.value or 0 for place in made.places if place.entry.model == "m") / 2
    )


def test_curves_lie_over_each_other() -> None:
    plot = Plot(
        "step", "round", "S", {"S": ((0.0, 1.0), (1.0, 0.5))}, "Unsolved", bands={"S": ((1, 1), (0.4, 0.6))}
    )
    made = board([replace(entry, curves={"Survival: Unsolved": plot}) for entry in THREE])
    (over,) = section(made, "Survival").plots
    assert over.series.keys() == over.bands.keys() == {"low", "high", "alike"} and over.kind == "step"
    some = board([THREE[0], replace(THREE[1], curves={"Survival: Unsolved": plot})])
    assert not [part for part in sections(some) if "Survival" in part.title]


def test_people_stand_beside_the_ranking() -> None:
    people = [one("human", 0.1 * k, k, asked="human", answered=(f"person {k}",)) for k in range(1, 7)]
    made = board([*THREE, *people])
    assert len(made.places) == 3 and len(made.people) == 6
    lines, efficiency = section(made, "People").tables
    assert [row[0] for row in lines.rows] == ["people, high", "people, medium", "people, low"]
    values = [row[1] for row in lines.rows]
    assert values == sorted(values, key=lambda value: -float(value or 0))
    high = next(row for row in efficiency.rows if row[0] == "high")
    means = sorted(np.mean(list(person.values.values())) for person in people)
    ours = np.mean(list(THREE[1].values.values()))
    assert high[1] == pytest.approx(ours / ((means[2] + means[3]) / 2)) and high[4] == 30
    few = section(board([*THREE, *people[:4]]), "People").tables[1]
    assert {row[1] for row in few.rows} == {None} and "needs 5 people" in str(few.rows[0][-1])


def test_two_measures_of_the_same_models_are_correlated() -> None:
    ours = {name: float(at) for at, name in enumerate("abcdef")}
    theirs = {name: -2.0 * at for at, name in enumerate("abcdeg")}
    made = correlations("title", ("ours", ours), ("theirs", theirs))
    assert [row[:3] for row in made.tables[0].rows] == [
        ("Pearson", 5, pytest.approx(-1)),
        ("Spearman", 5, pytest.approx(-1)),
    ]
    assert made.plots[0].labels == {"models": tuple("abcde")}
    assert (
        "2 models have both" in correlations("t", ("x", {"a": 1, "b": 2}), ("y", {"a": 1, "b": 2})).notes[0]
    )


def test_a_table_names_models_by_any_of_their_names() -> None:
    runs = [one("gpt-4o-mini-2024-07-18", 0.1, 4, asked="gpt-4o-mini"), *THREE]
    made = compare(runs, lambda *_: (), {"arena": {"maker/GPT-4o-mini": 7.0, "run-2": 3.0, "nobody": 1.0}})
    (plot,) = made.sections[-1].plots
    found = dict(zip(plot.labels["models"], plot.series["models"], strict=True))
    assert {name: y for name, (_, y) in found.items()} == {"gpt-4o-mini-2024-07-18": 7.0, "high": 3.0}


def test_hostile_names_stay_text_in_both_forms() -> None:
    made = sections(
        board([replace(entry, answered=(text,)) for entry, text in zip(THREE, HOSTILE, strict=False)])
    )
    text = to_text(made)
    assert SCRIPT in text and "\u202e" not in text and "\x1b" not in text
    comparison = Comparison("runs", tuple(HOSTILE), tuple(made))
    html = page(comparison)
    assert "<script" not in html and "<img" not in html and "&lt;script&gt;" in html
    assert SCRIPT not in to_markdown(comparison) and json.loads(to_json(comparison))["runs"] == list(HOSTILE)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Three models on three samples, judged alike, one of them with fewer rounds too, and one so with another seed."""
    out = tmp_path_factory.mktemp("runs")
    made = []
    models = (("strong", 0.9, 3), ("fair", 0.5, 3), ("weak", 0.0, 3), ("strong", 0.9, 2), ("short", 0.5, 2))
    for name, solve, rounds in models:
        rule = game_rule(solve=solve)
        seats = {role: RuleModel(rule, model_id=f"{role}-model") for role in ("judge", "oracle")}
        settings = {**SETTINGS, "max_rounds": rounds}
        model = RuleModel(rule, model_id=name)
        other: Any = {"seed": 1} if name == "short" else {}
        made.append(
            evaluate_sync(model=model, roles=seats, out=out, limit=3, repeats=1, settings=settings, **other)
        )
    return made


def test_compare_prints_a_ranking_and_writes_a_page(
    runs: list[Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table.csv"
    table.write_text("model,arena\nstrong,9\nfair,5\nweak,1\nelse,\n", encoding="utf-8")
    to = tmp_path / "made"
    names = [str(run.path) for run in runs[:3]]
    assert main(["compare", *names, "--table", str(table), "--out", str(to), "--png"]) == 0
    told = capsys.readouterr().out
    lines = [line.split() for line in told.splitlines()]
    first = next(at for at, line in enumerate(lines) if line[:2] == ["model", "creativity_score"])
    assert [line[0] for line in lines[first + 1 : first + 4]] == ["strong", "fair", "weak"]
    assert "Survival by round: Games not yet solved" in told and "lotbench and arena" in told
    assert f"page: {to / 'compare.html'}, and the same as .md and .json" in told
    html = (to / "compare.html").read_text(encoding="utf-8")
    assert "Runs by model" in told and "Beside the table" in told
    assert html.count("<svg") == 3 and "arena by creativity_score, lotbench, a point a model" in html
    # Beside the three plots there are two heat maps: how alike answers are, as a whole and by their words.
    assert len(list((to / "plots").glob("*.png"))) == 5 == len(list((to / "plots").glob("*.csv")))
    table = json.loads((to / "compare.json").read_text(encoding="utf-8"))
    assert table["schema"] == 1 and table["runs"] == [run.path.name for run in runs[:3]]
    titles = [section["title"] for section in table["sections"]]
    markdown = (to / "compare.md").read_text(encoding="utf-8")
    assert [line[3:] for line in markdown.splitlines() if line.startswith("## ")] == titles
    assert "Drawn in compare.html" in markdown and "report.html" not in markdown


def test_report_of_several_runs_prints_what_compare_writes(
    runs: list[Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [str(run.path) for run in runs[:3]]
    assert main(["compare", *names, "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["report", *names]) == 0
    assert capsys.readouterr().out == (tmp_path / "compare.md").read_text(encoding="utf-8")


def test_runs_that_differ_in_one_setting_stand_side_by_side_and_are_not_ranked(
    runs: list[Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(runs[0].path), str(runs[3].path), "--out", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "Runs by settings.max_rounds" in told and "settings.max_rounds: 3 and 2" in told
    assert "Ranking" not in told and "Differences" not in told


def test_compare_refuses_what_cannot_be_compared(
    runs: list[Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(run.path) for run in runs]
    assert main(["compare", paths[0], paths[4], "--out", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert (
        "settings.max_rounds: 3 and 2" in told
        and "these differ in seed (0, 1); settings.max_rounds (3, 2)" in told
    )
    assert main(["compare", paths[0], paths[0], "--out", str(tmp_path)]) == 2
    assert "named twice" in capsys.readouterr().err
    assert main(["compare", paths[0], "--out", str(tmp_path)]) == 2
    assert "two runs or more" in capsys.readouterr().err
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    assert main(["compare", *paths[:2], "--out", str(blocked)]) == 2
    assert "--out" in capsys.readouterr().err
    with pytest.raises(RunFolderError, match="lotbench resume"):
        entry(replace(runs[0], summary={}))


def test_a_report_is_drawn_on_demand(runs: list[Run], capsys: pytest.CaptureFixture[str]) -> None:
    path = runs[0].path
    before = (path / "report.html").read_text(encoding="utf-8")
    assert main(["report", str(path), "--png"]) == 0
    assert f"plots: {path / 'plots'} (2 as PNG" in capsys.readouterr().out
    assert (path / "plots" / "headline.png").read_bytes().startswith(b"\x89PNG")
    assert (path / "report.html").read_text(encoding="utf-8") == before
    assert load_run(path).summary == runs[0].summary


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("model\na\n", UsageError, "needs a header"),
        ("model,x\na,one\n", UsageError, "needs a header"),
        ("", UsageError, "needs a header"),
        ("model,x\na,1\na,2\n", DataError, "table.csv:3: x: a second row of a"),
        ("model,x\na,one\nb,inf\n", DataError, "table.csv:2: x: not a number: 'one'"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_by_line(
    tmp_path: Path, text: str, error: type[Exception], said: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(error, match=said.replace(".", r"\.")):
        read_published_scores(path)


def test_a_table_is_read_by_column(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("\ufeffmodel,x,y\na,1,\nb,2.5,-3\n", encoding="utf-8")
    assert read_published_scores(path) == {"x": {"a": 1.0, "b": 2.5}, "y": {"b": -3.0}}
    path.write_text("Maker,Model,x\nm,a,1\nm,b,-\n", encoding="utf-8")
    assert read_published_scores(path) == {"x": {"a": 1.0}}
    path.write_text("who,x\na,1\n", encoding="utf-8")
    assert read_published_scores(path) == {"x": {"a": 1.0}}
    with pytest.raises(UsageError, match="No such file"):
        read_published_scores(tmp_path / "none.csv")
