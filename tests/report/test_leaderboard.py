"""Runs ranked together: who is refused, who ties, what is beside the ranking; and `lotbench compare` itself."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lotbench import benchmarks
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.cli import main
from lotbench.errors import DataError, RunFolderError, UsageError
from lotbench.report.comparison import Comparison, _rows, compare, correlation_section, to_json, to_markdown
from lotbench.report.html.comparison_page import page
from lotbench.report.leaderboard import Board, Entry, board, differing, sample_means, values
from lotbench.report.ranking_sections import sections, summed_up
from lotbench.report.sections import Section
from lotbench.run.evaluate import evaluate_sync
from lotbench.run.loading import Run, load_run
from lotbench.run.results import entry
from lotbench.storage.published_scores import read_published_scores
from lotbench.types import RUN_SCHEMA, Score
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


def test_traces_of_another_shape_are_named_in_a_ranking(monkeypatch: pytest.MonkeyPatch) -> None:
    """One folder whose repeats name two pictures for a sample took the whole home page away."""

    def pair(*compared: object) -> None:
        raise ValueError("shape-mismatch for sum")

    monkeypatch.setattr("lotbench.metrics.compare.of_primary_metrics", pair)
    with pytest.raises(RunFolderError, match=r"run-2/traces\.jsonl or run-1/traces\.jsonl: .*shape-mismatch"):
        board(THREE[:2])


def test_a_ranking_says_what_is_remarked_on_its_runs() -> None:
    made = board([replace(THREE[0], remarks=("Drawn with seed 7.",)), THREE[1]])
    assert "low: Drawn with seed 7." in section(made, "Ranking").notes


def test_a_samples_value_is_the_mean_of_its_scored_episodes() -> None:
    failed = replace(trace("a", 3, "judge_failed", []), score=Score(None, "no verdict"))
    half = replace(won("a", 2, 1), score=Score(0.5))
    assert sample_means([won("b", 1, 1), won("a", 1, 1), half, failed]) == ({"a": 0.75, "b": 1.0}, 1)


def test_means_are_over_shared_samples_and_pairs_over_their_own() -> None:
    made = board([*THREE, one("short", 0.3, 4, values=scored(0.3, 4, n=10), failed=2)])
    assert made.shared == 10
    both = [pair for pair in made.pairs if "short" not in (pair.better, pair.other)]
    assert {pair.difference.n for pair in both} == {30}
    row = next(row for row in section(made, "Ranking").tables[0].rows if row[0] == "short")
    assert row[5:8] == (10, 0, 2)
    with pytest.raises(UsageError, match="no sample has a score in every run"):
        board([*THREE, one("apart", 0.1, 5, values={"elsewhere": 1.0})])


def test_a_run_that_is_not_complete_or_failed_often_stands_last_however_high_its_score() -> None:
    made = board([*THREE, one("cut", 0.9, 4, complete=False)])
    assert [place.label for place in made.places][-1] == "cut"
    assert len(made.pairs) == 3
    assert "cut" not in values(made)
    said = "it is not complete; lotbench resume run-4."
    assert summed_up(made).endswith(f"; cut is not ranked: {said}")
    assert f"cut is paired with nobody: {said}" in section(made, "Ranking").notes
    broken = board(
        [*THREE, one("slow", 0.9, 4, failed=3, reasons=("3 of 24 tasks failed or have no score",))]
    )
    assert summed_up(broken).endswith("; slow is not ranked: 3 tasks failed or have no score.")


def test_a_judge_that_was_not_needed_is_no_difference_and_another_judge_is() -> None:
    first, both = {"judge": ("j1",)}, {"judge": ("j1", "j2")}
    assert differing(one("x", 0, 1, ids=first), one("y", 0, 2, ids=both)) == []
    assert differing(one("x", 0, 1, ids={"judge": ()}), one("y", 0, 2, ids=both)) == []
    assert differing(one("x", 0, 1, ids=first), one("y", 0, 2, ids={"judge": ("j3",)})) == [
        "judge: j1 and j3"
    ]


def test_the_models_of_a_panel_sit_out_in_turn_but_stay_the_same() -> None:
    """Two dates of one judge: identical ideas "beat" each other by 1.47."""
    old, new, other = ({"judge": ids} for ids in (("j-2024-05-13", "k"), ("j-2024-11-20", "k"), ("k", "l")))
    panel = replace(one("x", 0, 1).metric, may_differ=frozenset({"roles.judge"}))
    first, second, third = (
        replace(one("x", 0, 1, ids=ids), primary_metric=panel) for ids in (old, new, other)
    )
    assert differing(first, second) == ["judge: j-2024-05-13 and j-2024-11-20"]
    assert differing(first, third) == []


def test_an_id_that_is_another_runs_label_hides_no_run() -> None:
    names = {"a": "m1", "b": "m1", "c": "m1 (a)"}
    made = board([one(model, 0.1, 1, name=name) for name, model in names.items()])
    assert sorted(place.label for place in made.places) == ["m1 (a)", "m1 (a) (c)", "m1 (b)"]


def test_a_table_names_models_by_any_of_their_names() -> None:
    runs = [one("gpt-4o-mini-2024-07-18", 0.1, 4, asked="gpt-4o-mini"), *THREE]
    made = compare(runs, lambda *_: (), {"arena": {"maker/GPT-4o-mini": 7.0, "run-2": 3.0, "nobody": 1.0}})
    (plot,) = made.sections[-1].plots
    found = dict(zip(plot.labels["models"], plot.series["models"], strict=True))
    assert {name: y for name, (_, y) in found.items()} == {"gpt-4o-mini-2024-07-18": 7.0, "high": 3.0}


def test_a_table_gives_a_model_no_row_of_another_maker() -> None:
    for model, rows, row in (
        ("meta/llama-3", ["nous/llama-3", "x/meta/llama-3"], "x/meta/llama-3"),
        ("llama-3", ["nous/llama-3", "meta/llama-3"], None),
        ("meta/llama-3", ["nous/llama-3"], None),
        ("meta/llama-3@http://127.0.0.1:8000/v1", ["Meta/Llama-3"], "Meta/Llama-3"),
    ):
        run = one(model, 0.1, 4)
        assert _rows([run], {"arena": dict.fromkeys(rows, 1.0)}) == ([(run, row)] if row else [])
    table = {"arena": {"high": 1.0}, "mmlu": {"nobody/high": 2.0, "low": 3.0}}
    (plot,) = compare(THREE, lambda *_: (), table).sections[-1].plots
    assert plot.labels["models"] == ("low",)
    stopped = one("alike", 0.9, 4, name="stopped", complete=False, reasons=("the run is not complete",))
    runs = [
        replace(run, scores={"m": {"value": at + 0.0}}) for at, run in enumerate([*THREE, *THREE, stopped])
    ]
    about = correlation_section(runs, {"arena": {"low": 1.0, "high": 2.0, "alike": 9.0}})
    assert "n = 3" in str(about.tables[0].rows) and "Left out, as in the ranking: stopped." in about.notes


def test_hostile_names_stay_text_in_both_forms() -> None:
    made = sections(
        board([replace(entry, answered=(text,)) for entry, text in zip(THREE, HOSTILE, strict=False)])
    )
    comparison = Comparison("runs", tuple(HOSTILE), tuple(made))
    html = page(comparison)
    assert "<script" not in html and "<img" not in html and "&lt;script&gt;" in html
    text = to_markdown(comparison)
    assert SCRIPT not in text and "\u202e" not in text and "\x1b" not in text
    assert json.loads(to_json(comparison))["runs"] == list(HOSTILE)


def test_the_fpr_of_a_run_is_that_of_the_judges_who_decide(runs: list[Run], tmp_path: Path) -> None:
    place = Path(shutil.copytree(runs[0].path, tmp_path / "run"))
    validation = benchmarks.get("lotbench").validation
    assert validation

    def fpr(confirm: str, *roles: tuple[str, str]) -> float | None:
        records: list[dict[str, Any]] = []
        for role, way in roles:
            key = validation.depends(role, Settings(**SETTINGS, confirm=way))[0] | {
                "role": role,
                "models": [],
            }
            rate = {"value": len(records) / 10, "low": None, "high": None, "hits": 0, "n": 0}
            groups = {"all": dict.fromkeys(("fpr", "fnr", "kappa"), rate)}
            counts = {"unreadable": 0, "of": 0, "set": {}}
            records.append({"key": key, "names": [], "field": [], "groups": groups, **counts})
        (place / "judge.json").write_text(json.dumps({"schema": RUN_SCHEMA, "records": records}), "utf-8")
        run = load_run(place)
        settings = {**run.config.settings, "confirm": confirm}
        found = entry(replace(run, config=run.config.model_copy(update={"settings": settings}))).checked
        return found and found["value"]

    alone, oracle, joint = ("judge", "never"), ("oracle", "never"), ("judge", "other_judge")
    assert fpr("never", oracle) is None and fpr("other_judge", alone, oracle) is None
    assert fpr("never", oracle, alone) == 0.1 and fpr("other_judge", alone, oracle, joint) == 0.2


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Three models on three samples, judged alike, one of them with fewer rounds too, and one so with another seed."""
    out = tmp_path_factory.mktemp("runs")
    made = []
    models = (("strong", 0.9, 3), ("fair", 0.5, 3), ("weak", 0.0, 3), ("strong", 0.9, 2), ("short", 0.5, 2))
    for name, solve, rounds in models:
        rule = game_rule(solve=solve)
        models = {role: RuleModel(rule, model_id=f"{role}-model") for role in ("judge", "oracle")}
        settings = {**SETTINGS, "max_rounds": rounds}
        model = RuleModel(rule, model_id=name)
        other: Any = {"seed": 1} if name == "short" else {}
        made.append(
            evaluate_sync(model=model, roles=models, out=out, limit=3, repeats=1, settings=settings, **other)
        )
    return made


def test_compare_prints_a_ranking_and_writes_a_page(
    runs: list[Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table.csv"
    table.write_text("model,arena\nstrong,9\nfair,5\nweak,1\nelse,\n", encoding="utf-8")
    to = tmp_path / "made"
    names = [str(run.path) for run in runs[:3]]
    asked = ["--table", str(table), "--out", str(to), "--png", "--pdf", "--latex", "--full"]
    assert main(["compare", *names, *asked]) == 0
    told = capsys.readouterr().out
    lines = [line.strip("| ").split(" | ") for line in told.splitlines()]
    first = 1 + next(at for at, line in enumerate(lines) if line[:2] == ["model", "creativity_score"])
    *better, worst = [line[0] for line in lines[first + 1 : first + 4]]
    assert sorted(better) == ["fair", "strong"] and worst == "weak", "two may tie, as the rule draws"
    assert "lotbench and arena" in told
    *_, page, view = told.splitlines()
    assert page == f"page    {to / 'compare.html'} (and .md, .json)" and "next    lotbench view /" in view
    html = (to / "compare.html").read_text(encoding="utf-8")
    assert "Runs by model" in told and "Beside the table" in told
    assert html.count("<svg") == 2 and "arena by creativity_score, lotbench, a point a model" in html
    assert [len(list((to / "plots").glob(kind))) for kind in ("*.png", "*.csv")] == [2, 2]
    assert len(list((to / "plots").glob("*.pdf"))) == len(list((to / "plots").glob("*.png")))
    latex = (to / "compare.tex").read_text("utf-8")
    assert "\\toprule" in latex and "strong" in latex and "creativity\\_score" in latex
    caption = latex.partition("\\caption{")[2].partition("\n")[0]
    assert "Ranking, variant caption, max\\_rounds=3" in caption
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
    (tmp_path / "keyless").mkdir()
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "run.json").write_text("{}")
    others = [str(tmp_path / name) for name in ("keyless", "begun")]
    assert main(["compare", *names, *others, "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    left = f"{tmp_path / 'keyless'}, {tmp_path / 'begun'}"
    assert said.err == f"note: left out, as they are no runs, or are going on: {left}\nreading 3 runs ...\n"
    verdict, _, *told, _, page, _ = said.out.splitlines()
    heads = ["#", "model", "creativity_score", "ahead", "of", "the", "next", "by"]
    assert page.startswith("page    ") and page.endswith("; --full prints the tables")
    assert told[0].split() == heads
    assert told[1].startswith(" (1)  ") and told[1].count(" to ") == 2 and " weak " in told[3]
    assert "3 samples that all played" in told[4] and "brackets: a provisional place" in told[4]
    assert "The first two differ most on lot-" in "\n".join(told)
    assert told[-1].startswith(f"        lotbench replay {runs[0].path.parent}/")
    assert "strong" in verdict and verdict.startswith("Provisionally (") and max(map(len, told[:4])) <= 80
    assert main(["report", *names]) == 0
    assert capsys.readouterr().out == (tmp_path / "compare.md").read_text(encoding="utf-8")


def test_compare_refuses_what_cannot_be_compared(
    runs: list[Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(run.path) for run in runs]
    assert main(["compare", paths[0], paths[4], "--out", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert "\n  settings.max_rounds: 3 and 2\nlotbench view shows two runs side by side" in told
    assert main(["compare", paths[0], paths[0], "--out", str(tmp_path)]) == 2
    assert "named twice" in capsys.readouterr().err
    assert main(["compare", paths[0], "--out", str(tmp_path)]) == 2
    assert "two runs or more" in capsys.readouterr().err
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    assert main(["compare", *paths[:2], "--out", str(blocked)]) == 2
    assert str(blocked) in capsys.readouterr().err
    with pytest.raises(RunFolderError, match="lotbench resume"):
        entry(replace(runs[0], summary={}))
    cut = replace(runs[0], summary={**runs[0].summary, "complete": False})
    assert entry(runs[0]).complete and not entry(cut).complete


def test_compare_ranks_each_group_of_mixed_runs_and_says_what_it_left_out(
    runs: list[Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(run.path) for run in runs]
    assert main(["compare", *paths, "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out.splitlines()[0]
    assert said.startswith("group 1: ") and "weak" in said
    titles = [line for line in (tmp_path / "compare.md").read_text("utf-8").splitlines() if "## " in line]
    assert "## group 1: Ranking, variant caption, max_rounds=3, clue_interval=2" in titles
    assert "## group 2: Runs by seed" in titles
    assert main(["compare", *paths[:3], paths[4], "--out", str(tmp_path)]) == 0
    ranked, left, *_ = capsys.readouterr().out.splitlines()
    assert "weak" in ranked and "group" not in ranked
    assert left.startswith(f"{runs[4].path.name} is left out") and "settings.max_rounds: 3 and 2" in left


def test_a_report_is_drawn_on_demand(runs: list[Run], capsys: pytest.CaptureFixture[str]) -> None:
    path = runs[0].path
    before = (path / "report.html").read_text(encoding="utf-8")
    assert main(["report", str(path), "--png"]) == 0
    assert f"plots: {path / 'plots'} (1 as PNG" in capsys.readouterr().out
    assert next((path / "plots").glob("*.png")).read_bytes().startswith(b"\x89PNG")
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
