"""Verdicts that others recorded: published tables come out, and two judges' errors are counted together."""

import csv
import json
import math
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lotbench.checks.judge_check import judge_check
from lotbench.checks.judge_check_plan import Wanted, prepare, read_set
from lotbench.checks.judge_comparison import decided, named_apart, options, sections, tallies
from lotbench.cli import main
from lotbench.config.experiment import Config, Experiment, Limits
from lotbench.edge.files.recorded_verdicts import JudgeVerdicts, read_verdicts
from lotbench.errors import DataError, UsageError
from lotbench.harness.rated_uses import NONSENSE, USES
from tests.fakes import RuleModel
from tests.judging import QUESTION
from tests.rules import hear

GIVEN = os.environ.get("LOTBENCH_REFERENCE_DATA")
OTHERS = Path(GIVEN or "none")
WITH_OTHERS = pytest.mark.skipif(not GIVEN, reason="needs $LOTBENCH_REFERENCE_DATA: data of others")


@WITH_OTHERS
def test_turtlebench_logs_give_the_published_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = sorted((OTHERS / "turtlebench" / "logs").glob("*.json"))
    begun = time.monotonic()
    assert main(["judge-check", "--recorded", *map(str, logs), "--out", str(tmp_path)]) == 0
    assert time.monotonic() - begun < 60
    printed = capsys.readouterr().out
    (folder,) = tmp_path.iterdir()
    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    found = {(row["judge"], row["language"]): row for row in summary["tallies"]}
    table = (OTHERS / "turtlebench" / "stats_shot0.csv").read_text("utf-8").splitlines()
    published = list(csv.DictReader(line for line in table if line))
    assert len(published) == len(found) == 18
    for row in published:
        mine = found[row["Model"], row["Language"]]
        assert [mine[name] for name in ("n", "TP", "FP", "TN", "FN")] == [
            int(row[name]) for name in ("Total Samples", "TP", "FP", "TN", "FN")
        ]
        theirs = {
            "accuracy": "Accuracy",
            "mean accuracy of items": "Avg Story Accuracy",
            "precision": "Precision",
            "recall": "Recall",
            "F1": "F1 Score",
        }
        for name, column in theirs.items():
            assert mine[name] == pytest.approx(float(row[column]), abs=5.1e-7), (row["Model"], name)
            assert f"{float(row[column]):.6f}" in printed
        says = f"{row['Model']}, {row['Language']}: wrongly accepts {100 * mine['FP'] / (mine['FP'] + mine['TN']):.0f} in 100"
        assert says in printed
    together = summary["tables"]["Where two err together"][0]
    assert len(together) == 2 * math.comb(9, 2)
    assert all(row["correlation of false yes"] > 0 for row in together)


@WITH_OTHERS
def test_the_correlations_of_ocsai_are_scipys() -> None:
    judges = [one for name in ("gpt-4o", "gpt-4o-mini") for one in ocsai(name)]
    (section,) = sections(judges)
    rows = {str(row[0]): row for row in section.tables[0].rows}
    assert len(rows) == 6
    for model in ("gpt-4o", "gpt-4o-mini"):
        with (OTHERS / "ocsai" / f"logprobs_{model}.csv").open(encoding="utf-8", newline="") as file:
            table = list(csv.DictReader(file))
        people, first = ([float(row[column]) for row in table] for column in ("target", "score_1"))
        mine = rows[f"{model}, likeliest token"]
        assert mine[3:5] == (3030, 21)
        assert mine[5] == pytest.approx(stats.spearmanr(people, first).statistic, abs=1e-12)
        assert mine[7] == pytest.approx(stats.pearsonr(people, first).statistic, abs=1e-12)
        low, _, high = str(mine[6]).partition(" to ")
        assert float(low) < float(str(mine[5])) < float(high)
        lengths = [len(row["response"]) for row in table]
        assert rows["trivial: length"][5] == pytest.approx(stats.spearmanr(people, lengths).statistic)


def ocsai(model: str) -> list[Any]:
    return read_verdicts(OTHERS / "ocsai" / f"logprobs_{model}.csv")


@WITH_OTHERS
async def test_the_oracle_is_checked_on_the_guesses_of_players(tmp_path: Path) -> None:
    folder = tmp_path / "tb"
    assert main(["data", "import", "turtlebench", str(OTHERS / "turtlebench"), str(folder)]) == 0
    assert main(["data", "check", str(folder)]) == 0
    read, _ = read_set(folder)
    rows = [row for _, row in read.rows["oracle.jsonl"]]
    # 1,532 in each language, less those that two players put in the same words.
    assert [sum(row.language == language for row in rows) for language in ("en", "zh")] == [1514, 1531]
    labels = {row.question: row.label for row in rows}

    def perfect(request: Any) -> dict[str, str]:
        return {"answer": "Yes" if labels[QUESTION.findall(hear(request).text)[-1]] else "No"}

    experiment = Experiment(roles={"oracle": ("python:o",)}, repeats=1)
    wanted = Wanted(
        Config(experiment=experiment, limits=Limits()), str(folder), limit=80, out=tmp_path, preflight=False
    )
    checked = await judge_check(wanted, own={"python:o": RuleModel(perfect, model_id="oracle")})
    scene = next(one for one in checked.measures if one.variant == "scene")
    assert scene.groups["all"].accuracy.value == 1.0 and set(scene.groups) >= {"en", "zh"}
    known = prepare(Wanted(wanted.config, str(folder), unknown="left_out", preflight=False))
    assert len(prepare(Wanted(wanted.config, str(folder))).probes) - len(known.probes) == sum(
        row.unknown for row in rows if not row.contested
    )


@WITH_OTHERS
@pytest.mark.parametrize("benchmark", ["liveideabench", "hicbench"])
async def test_judges_of_originality_are_checked_on_uses(benchmark: str, tmp_path: Path) -> None:
    assert main(["data", "import", "ocsai", str(OTHERS / "ocsai"), str(tmp_path / "oc")]) == 0
    folder = tmp_path / "oc" / benchmark
    assert main(["data", "check", str(folder)]) == 0
    read, _ = read_set(folder)
    rated = {row.use: row.rating for _, row in read.rows["uses.jsonl"]}

    def rule(request: Any) -> dict[str, Any]:
        text = hear(request).text
        use = max((use for use in rated if f"{use}\n" in text), key=len)
        mark = 5 if rated[use] is None else round(rated[use])
        return {"analysis": "so", "hallucination": "No", "value": 3, "clarity": 3} | dict.fromkeys(
            ("originality", "feasibility"), mark
        )

    experiment = Experiment(benchmark=benchmark, roles={"judge": ("python:j",)}, repeats=1)
    wanted = Wanted(
        Config(experiment=experiment, limits=Limits()), str(folder), limit=60, out=tmp_path, preflight=False
    )
    checked = await judge_check(wanted, own={"python:j": RuleModel(rule, model_id="judge")})
    by_criterion = {one.criterion: one.marks["all"] for one in checked.measures}
    assert (by_criterion[USES].spearman.value or 0) > 0.8
    assert by_criterion[NONSENSE].mean == 5.0 and by_criterion[NONSENSE].n == 30
    report = (checked.path / "report.md").read_text("utf-8")
    assert "originality of nonsense" in report and "trivial: length" in report


def log(path: Path, name: str, truth: list[str], said: list[str], language: str = "en") -> Path:
    """A log in TurtleBench's form: two guesses a story."""
    cases = [
        {"sample": n, "story_title": f"s{n // 2}", "input": f"guess {n}", "ground_truth": label, "model_judge": verdict}
        | {"total_tokens": 100, "time_usage": 0.5}
        for n, (label, verdict) in enumerate(zip(truth, said, strict=True))
    ]  # fmt: skip
    path.write_text(json.dumps({"info": {"model": name, "language": language}, "cases": cases}), "utf-8")
    return path


TRUTH = ["T", "F", "N", "F"] * 10


def test_unknown_counts_as_not_correct_or_not_at_all_and_no_answer_is_wrong(tmp_path: Path) -> None:
    path = log(tmp_path / "a.json", "a", TRUTH, ["T", "N", "F", "Invalid"] * 10, "zh")
    (one,) = tallies(decided(read_verdicts(path)))
    assert [one[name] for name in ("TP", "FP", "TN", "FN", "unread", "language")] == [10, 10, 20, 0, 10, "zh"]
    (left,) = tallies(decided(read_verdicts(path, "left_out")))
    assert [left[name] for name in ("n", "TP", "FP", "TN", "FN")] == [30, 10, 10, 10, 0]


def test_errors_of_two_are_counted_row_by_row(tmp_path: Path) -> None:
    # On 20 negatives each errs on 10, on 5 of them together; on the 20 others nobody errs.
    truth = ["F"] * 20 + ["T"] * 20
    right = ["T"] * 20
    one = log(tmp_path / "a.json", "a", truth, ["T"] * 10 + ["F"] * 10 + right)
    other = log(tmp_path / "b.json", "b", truth, ["T"] * 5 + ["F"] * 5 + ["T"] * 5 + ["F"] * 5 + right)
    judges = [judge for path in (one, other) for judge in read_verdicts(path)]
    together = next(part for part in sections(judges) if part.title == "Where two err together").tables[0]
    row = dict(zip(together.columns, together.rows[0], strict=True))
    assert (row["FPR of the first"], row["FPR of the second"], row["FPR of both"]) == (0.5, 0.5, 0.25)
    assert row["correlation of false yes"] == pytest.approx(0.0) and row["if they erred apart"] == 0.25
    assert row["of the first's false yes, the second's too"] == 0.5
    pair = next(option for option in options(decided(judges)) if option.names == ("a", "b"))
    # 30 of 40 get a yes from the first and so cost a second verdict of 100 tokens.
    assert (pair.fpr, pair.fnr, pair.tokens) == (0.25, 0.0, 100_000 + 0.75 * 100_000)


def test_differences_are_paired_and_their_intervals_draw_items(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = ["T", "F"] * 100
    one = log(tmp_path / "a.json", "a", truth, [t if rng.random() < 0.9 else "N" for t in truth])
    other = log(tmp_path / "b.json", "b", truth, [t if rng.random() < 0.7 else "N" for t in truth])
    judges = [judge for path in (one, other) for judge in read_verdicts(path)]
    table = next(part for part in sections(judges) if part.title == "Differences").tables[0]
    row = dict(zip(table.columns, table.rows[0], strict=True))
    first, second = tallies(decided(judges))
    assert row["accuracy: difference"] == pytest.approx(first["accuracy"] - second["accuracy"])
    low, _, high = str(row["accuracy: 95 %"]).partition(" to ")
    assert 0 < float(low) < float(str(row["accuracy: difference"])) < float(high)
    # Unknown is a no: nobody accepts what is wrong.
    assert row["FPR: difference"] == 0.0


def test_lines_of_anybody_are_read_and_those_that_are_none_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    rows: list[dict[str, Any]] = [
        {"row": "1", "truth": True, "said": True},
        {"row": "2", "truth": False, "said": None},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (judge,) = read_verdicts(path)
    assert judge.name == "mine" and judge.unread == 1 and tallies(decided([judge]))[0]["n"] == 1
    path.write_text('{"row": "1", "truth": "yes", "said": true}\n', "utf-8")
    with pytest.raises(DataError, match=r"mine\.jsonl:1: truth"):
        read_verdicts(path)
    path.write_text("a,b\n1,2\n", "utf-8")
    with pytest.raises(DataError, match="no verdicts"):
        read_verdicts(path)
    path.write_text(json.dumps({"info": {}, "cases": [{"ground_truth": "T"}]}), "utf-8")
    with pytest.raises(DataError, match="case 1"):
        read_verdicts(path)
    path.write_text("item,response,target,score_1\nbox,use,x,2\n", "utf-8")
    with pytest.raises(DataError, match=r"mine\.jsonl:2: target: 'x' is no number"):
        read_verdicts(path)
    path.write_text(" target,response,score_1\n1,a,2\n", "utf-8")
    with pytest.raises(DataError, match=r"mine\.jsonl:1: no column target"):
        read_verdicts(path)
    with pytest.raises(UsageError, match="No such file"):
        read_verdicts(tmp_path / "none.json")


def test_a_check_of_recorded_verdicts_ends_in_a_sentence_a_judge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """9 of 100 wrong ones accepted, 23 of 100 right ones missed; one line could not be read."""
    path = tmp_path / "mine.jsonl"
    rows = [{"row": f"w{n}", "truth": False, "said": n < 9} for n in range(100)]
    rows += [{"row": f"r{n}", "truth": True, "said": n >= 23} for n in range(100)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert main(["judge-check", "--recorded", str(path), "--out", str(tmp_path / "out")]) == 0
    *_, told, report = capsys.readouterr().out.splitlines()
    assert report.startswith("report: ")
    assert told.strip() == (
        "mine, en: wrongly accepts 9 in 100 and misses 23: not good enough, because the judge's FPR on the judge set is "
        "0.090, above max_fpr 0.05."
    )


def test_addresses_of_servers_are_left_out_of_names_that_tell_judges_apart_without_them() -> None:
    here, there = "@http://127.0.0.1:1/v1", "@https://example.org/v1"

    def shown(*names: str) -> list[str]:
        return [one.name for one in named_apart([JudgeVerdicts(name, ()) for name in names])]

    assert shown(f"a{here}, explained", f"b{there}") == ["a, explained", "b"]
    assert shown(f"a{here}", f"a{there}") == [f"a{here}", f"a{there}"]


def test_marks_stand_best_first_and_trivial_judges_beneath(tmp_path: Path) -> None:
    judges = []
    for name, wrong in (("poor", 9), ("good", 1)):
        path = tmp_path / f"{name}.csv"
        lines = [f"box,use {n} {'x' * n},{n},{n if n % 10 >= wrong else -n}" for n in range(1, 40)]
        path.write_text("\n".join(["item,response,target,score_1", *lines]) + "\n", "utf-8")
        judges += read_verdicts(path)
    (section,) = sections(judges)
    names = [str(row[0]) for row in section.tables[0].rows]
    assert [name.partition(",")[0] for name in names[:4]] == ["good", "good", "poor", "poor"]
    assert all(name.startswith("trivial: ") for name in names[4:]) and len(names) > 4
