"""The released ideas and critiques come in as runs, with the numbers that their rows have."""

import csv
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from lotbench import load_run
from lotbench.benchmarks.liveideabench.released import Critique, Idea, _scores, leaderboard
from lotbench.benchmarks.liveideabench.settings import Settings
from lotbench.benchmarks.liveideabench.task import benchmark
from lotbench.cli import main
from lotbench.config import experiment as config
from lotbench.run import plan
from lotbench.storage import datasets

COLUMNS = (
    "keywords", "idea_model", "critic_model", "idea", "raw_critique", "parsed_scores", "full_response",
    "first_was_rejected", "first_reject_response",
)  # fmt: skip
CRITICS = ("openai/o3-mini-high", "qwen/qwq-32b", "deepseek/deepseek-r1")
CATEGORIES = "keyword,category,similarity_score\nmoss,Biology,0.9\nsarin,Chemistry,0.8\n"


def critiques(
    model: str, keyword: str, idea: str, scores: Sequence[int], **fields: Any
) -> list[Mapping[str, Any]]:
    """An idea with three critics, who give it one more from each to the next."""
    return [
        dict.fromkeys(COLUMNS, "")
        | {
            "keywords": keyword,
            "idea_model": model,
            "critic_model": critic,
            "idea": idea,
            "raw_critique": "so so",
            "parsed_scores": json.dumps(
                dict(zip(("originality", "feasibility", "clarity"), (s + at for s in scores), strict=True))
            ),
            "full_response": idea,
            "first_was_rejected": 0,
        }
        | fields
        for at, critic in enumerate(CRITICS)
    ]


def rows() -> list[Mapping[str, Any]]:
    declined = {"first_was_rejected": 1, "first_reject_response": "I cannot help with that."}
    return [
        *critiques("openai/gpt-4o-mini", "moss", "Moss clocks tell the hour.", (3, 4, 5)),
        *critiques("openai/gpt-4o-mini", "moss", "Moss maps show the wind.", (5, 4, 3)),
        *critiques("openai/gpt-4o-mini", "sarin", "Detect it by bees.", (7, 6, 5), **declined),
        *critiques("openai/gpt-4o-mini", "sarin", "Detect it by moths.", (7, 6, 5)),
        *critiques("qwen/qwen-max", "moss", "Moss drinks fog.", (1, 2, 3)),
        *critiques("qwen/qwen-max", "moss", "Moss " * 201, (1, 2, 3)),
        *critiques(
            "qwen/qwen-max", "sarin", "Enzymes eat it.", (2, 2, 2), parsed_scores="{'originality': 'N/A'}"
        ),
    ]


def put(
    folder: Path, table: Sequence[Mapping[str, Any]], categories: str = CATEGORIES, name: str = "view.csv"
) -> Path:
    with (folder / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, table[0].keys())
        writer.writeheader()
        writer.writerows(table)
    (folder / "keyword_classifications.csv").write_text(categories, encoding="utf-8")
    return folder / name


def test_released_rows_become_comparable_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = str(put(tmp_path, rows()))
    assert main(["data", "import", "liveideabench-ideas", given, str(tmp_path / "v2")]) == 0
    assert "2 runs" in capsys.readouterr().out
    runs = sorted((tmp_path / "v2" / "runs").iterdir())
    small, large = (
        load_run(next(path for path in runs if name in path.name)) for name in ("gpt-4o-mini", "qwen-max")
    )
    # Means over keywords of means over ideas of means over critics, who gave s, s + 1 and s + 2.
    assert small.score("originality") == pytest.approx(((4 + 6) / 2 + 8) / 2)
    assert small.score("clarity") == pytest.approx(((6 + 4) / 2 + 6) / 2)
    assert small.summary["scores"]["fluency"]["value"] is None and not small.summary["rankable"]
    assert small.summary["usage"]["calls"] == 0
    # However long, an idea is one; a verdict without scores is a gap, and a keyword without any failed.
    assert large.score("originality") == 2
    assert sum(step["step"] == "judge" for one in large.traces for step in one.steps) == 9
    assert large.summary["outcomes"] == {"judge_failed": 1, "scored": 1}
    text = small.report.read_text(encoding="utf-8")
    assert "deepseek/deepseek-r1" in text
    command = ["compare", *map(str, (small.path, large.path)), "--out", str(tmp_path / "compared")]
    assert main(command) == 0
    compared = (tmp_path / "compared" / "compare.md").read_text(encoding="utf-8")
    for title in (
        "Runs by category",
        "Quality and length of ideas",
        "Length and quality over runs",
        "Refusals of runs",
    ):
        assert title in compared
    # Raw scores are ranked, on one scale; severity is a table of the full report alone.
    assert "everit" not in compared and "everit" not in text
    assert main(["report", str(small.path), "--full"]) == 0
    assert "## Severity of judges" in small.report.read_text(encoding="utf-8")
    assert main(["report", str(small.path)]) == 0


def first(keyword: str, idea: str, marks: Sequence[tuple[int, int]], flue: float) -> list[Mapping[str, Any]]:
    """An idea of v1 with its critics, in the columns of Table S.1."""
    return [
        {
            "keyword": keyword,
            "idea_model": "o1-preview",
            "critic_model": CRITICS[at],
            "idea": idea,
            "raw_critique": "so so",
            "parsed_score": str({"originality": originality, "feasibility": feasibility}),
            "full_response": idea,
            "orig": originality,
            "feas": feasibility,
            "flue": flue,
        }
        for at, (originality, feasibility) in enumerate(marks)
    ]


def table_of_v1() -> list[Mapping[str, Any]]:
    refusal = "I cannot and will not provide ideas about data fabrication."
    return [
        *first("moss", "Moss clocks.", ((8, 6), (7, 7), (9, 5)), 6.666666),
        *first("moss", "Moss maps.", ((6, 6), (6, 5), (5, 6)), 6.666666),
        *first("sarin", refusal, ((0, 1), (1, 1), (0, 0)), 10),
        *first("sarin", "Bees find it." + " Truly." * 1_000, ((9, 8), (8, 8), (8, 9)), 10),
    ]


def written_v1(folder: Path) -> Path:
    return put(folder, table_of_v1(), name="rows.csv")


@pytest.mark.parametrize(("version", "unit"), [("v1", "row"), ("v2", "keyword")])
def test_the_presets_have_the_papers_refusals_marker_and_flexibility(version: str, unit: str) -> None:
    preset = config.load(datasets.config_file(f"paper/liveideabench-{version}")).experiment
    settings = Settings(**preset.settings)
    assert (settings.version, settings.flexibility_unit) == (version, unit)
    assert (settings.refusals, settings.no_final) == ("score", "judge_all") and Settings().refusals == "score"
    assert plan.reference(benchmark, Settings(version=version))[0] == f"paper/liveideabench-{version}"


def test_rows_of_v1_come_in_as_they_are_refusals_and_marks_of_0_too(tmp_path: Path) -> None:
    out = tmp_path / "v1"
    assert main(["data", "import", "liveideabench-ideas", str(written_v1(tmp_path)), str(out)]) == 0
    (run,) = [load_run(path) for path in (out / "runs").iterdir()]
    assert run.summary["arm"] == "v1"
    # Over keywords of the mean over ideas of the mean over critics.
    assert run.score("originality") == pytest.approx(((24 / 3 + 17 / 3) / 2 + (1 / 3 + 25 / 3) / 2) / 2)
    assert run.score("fluency") == pytest.approx((20 / 3 + 10) / 2)
    assert run.score("flexibility") is not None and run.score("average") is not None
    verdicts = [step for one in run.traces for step in one.steps if step["step"] == "judge"]
    assert len(verdicts) == 12 and {step["value"]["status"] for step in verdicts} == {"ok"}
    (row,) = csv.DictReader((out / "leaderboard.csv").read_text(encoding="utf-8").splitlines())
    marks = [(int(one["orig"]), int(one["feas"]), float(one["flue"])) for one in table_of_v1()]
    originality, feasibility, fluency = (fmean(column) for column in zip(*marks, strict=True))
    composites = sorted(fmean(each) for each in marks)
    # 30 % of 11 steps up: 3.3.
    flexibility = composites[3] + 0.3 * (composites[4] - composites[3])
    shown = {name: float(value) for name, value in row.items() if name != "model"}
    assert shown["originality"] == originality and shown["feasibility"] == feasibility
    assert shown["fluency"] == pytest.approx(fluency, abs=1e-12)
    assert shown["flexibility"] == pytest.approx(flexibility, abs=1e-12)
    assert shown["average"] == pytest.approx(
        (originality + feasibility + fluency + flexibility) / 4, abs=1e-12
    )
    assert shown["critiques"] == 12


reference = pytest.mark.skipif(not os.environ.get("LOTBENCH_REFERENCE_DATA"), reason="data of others")
LETTERS = (0.0, 3.333333, 6.666666, 10.0)


def published() -> list[dict[str, str]]:
    """The authors' table of v1."""
    path = Path(os.environ["LOTBENCH_REFERENCE_DATA"], "liveideabench", "LiveIdeaBench-202412.csv")
    return list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))


def fewest_critiques(row: Mapping[str, str]) -> int:
    """The fewest critiques of which both printed means are means of whole numbers."""
    means = float(row["Originality"]), float(row["Feasibility"])
    return next(n for n in range(1, 20_000) if all(abs(m * n - round(m * n)) < 2e-9 for m in means))


def marks_of(mean: float, n: int) -> list[int]:
    """n whole marks of that mean."""
    low, more = divmod(round(mean * n), n)
    return [low + (at < more) for at in range(n)]


@reference
def test_the_published_table_of_v1_has_the_digits_that_rows_give_it() -> None:
    """Marks are means over critiques, flexibility is one critique's, the average is the mean of four: all 20 rows."""
    for row in published():
        n = fewest_critiques(row)
        feasibility, originality = (marks_of(float(row[name]), n) for name in ("Feasibility", "Originality"))
        critiques = [
            Critique("critic", "", {"originality": one, "feasibility": other}, None)
            for one, other in zip(originality, feasibility, strict=True)
        ]
        (made,) = leaderboard("v1", {row["Model"]: {"moss": [Idea("Moss clocks.", "", "", critiques)]}})
        assert made["feasibility"] == float(row["Feasibility"])
        assert made["originality"] == float(row["Originality"])
        four = [float(row[name]) for name in ("Fluency", "Feasibility", "Originality", "Flexibility")]
        assert fmean(four) == pytest.approx(float(row["Average"]), abs=1e-14)
        one_critique = {(marks + letter) / 3 for marks in range(21) for letter in LETTERS}
        assert min(abs(float(row["Flexibility"]) - value) for value in one_critique) < 1e-12


@reference
def test_the_published_fluency_is_a_mean_over_pairs_of_ideas_which_the_rows_do_not_list() -> None:
    """3 x 3.333333 falls short of 10 by a millionth, so the digits of a mean of letters tell of how many it is."""
    for row in published():
        fluency = float(row["Fluency"])
        thirds = ((m, 3 * fluency * m / 10) for m in range(1, 6000))
        short = ((m, (round(tens) - tens) * 1e7) for m, tens in thirds)
        pairs = next(m for m, by in short if 0 <= by <= 2 * m and abs(by - round(by)) < 0.02)
        assert pairs != fewest_critiques(row) and 1000 < pairs < 6000


def test_faults_of_released_rows_have_their_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = [dict(row) for row in rows()[:2]]
    wrong[0]["idea"] = wrong[1]["idea"] = ""
    wrong[1]["critic_model"] = " "
    given = str(put(tmp_path, wrong))
    assert main(["data", "import", "liveideabench-ideas", given, str(tmp_path / "v2")]) == 2
    assert "view.csv:3: critic_model: empty" in capsys.readouterr().err
    (tmp_path / "view.csv").write_text("keywords,idea\nmoss,Moss clocks.\n", encoding="utf-8")
    assert main(["data", "import", "liveideabench-ideas", given, str(tmp_path / "v2")]) == 2
    assert "critic_model: the column is missing" in capsys.readouterr().err
    assert not (tmp_path / "v2").exists()


@pytest.mark.parametrize(
    "text",
    [
        '{"originality": 1' + "0" * 400 + "}",
        '{"originality":' + "[" * 50_000,
        "{'originality':" + "-" * 60_000 + "1}",
        "{'originality': 1" + " + 1" * 30_000 + "}",
    ],
    ids=("great integer", "deep JSON", "deep signs", "deep sums"),
)
def test_scores_that_no_reader_takes_are_none(text: str) -> None:
    assert _scores(text, ["originality"]) is None
