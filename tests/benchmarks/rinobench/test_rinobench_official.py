"""Files in the official shape: ideas, predictions, and the paper's table from the released ones."""

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import f1_score, mean_absolute_error

from lotbench import evaluate
from lotbench.benchmarks.rinobench.sample import Item
from lotbench.benchmarks.rinobench.sections import across
from lotbench.benchmarks.rinobench.settings import Settings
from lotbench.cli import main
from lotbench.errors import UsageError
from lotbench.models.predictions import PredictedModel
from lotbench.run.loading import Run
from lotbench.storage import datasets
from lotbench.types import Score, Trace
from tests.fakes import RuleModel
from tests.ideas import STEPS, SUPPORT, answer, official

NINE = [
    "macro_f1", "mae", "alignment", "known_recall", "novelty_recall", "known_additional", "novelty_additional",
    "known_hallucination", "novelty_hallucination",
]  # fmt: skip
RELEASED = ["DeepSeek-R1", "Llama-3.1-8B-Instruct", "Llama-3.3-70B-Instruct", "o3-2025-04-16"]


def imported(folder: Path, rows: Any = None, name: str = "test.json") -> Path:
    """A data set made by the command from official rows."""
    (folder / name).write_text(json.dumps(official() if rows is None else rows), encoding="utf-8")
    assert main(["data", "import", "rinobench", str(folder / name), str(folder / "data")]) == 0
    return folder / "data"


def judging() -> RuleModel:
    """A judge that finds one known and one new argument everywhere, in the gold and grounded."""
    said = {
        "gold_arguments": {"known": ["a"], "novelty": ["b"]},
        "claims": {"known": ["a"], "novelty": ["b"]},
        "alignment_steps": STEPS,
        "alignment": {"reason": "alike", "score": 8},
        "ground_known": {"k1_reason": "", "k1_gold": ["gk1"], "k1_works": ["w1"]},
        "ground_novelty": {"n1_reason": "", "n1_gold": [], "n1_in_idea": True},
        "preflight": {"word": "ready"},
    }
    return RuleModel(lambda request: said[request.key.step], model_id="judge")


async def play(model: str, data: Path, out: Path, **more: Any) -> Run:
    limits = {name: more.pop(name) for name in ("max_failed",) if name in more}
    settings = {"alignment_calls": 1, **more}
    return await evaluate(
        "rinobench", model=model, data=str(data), out=out, settings=settings, check=False,
        roles={"judge": judging()} if settings.get("justification", True) else None, **limits,
    )  # fmt: skip


def test_official_rows_become_a_data_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = datasets.samples(imported(tmp_path), Item)
    assert len(items) == 277
    assert "277 samples" in capsys.readouterr().out
    assert (items[0].id, items[276].id) == ("test-0001", "test-0277")
    assert [work.id for work in items[0].related_works] == ["w1", "w2", "w3"]
    assert items[0].gold_writers == ("gpt-oss-120b",)
    assert tuple(sum(item.novelty_score == label for item in items) for label in range(1, 6)) == SUPPORT
    assert main(["data", "check", str(tmp_path / "data"), "--benchmark", "rinobench"]) == 0
    own = {**official()[0], "writer": "claude", "gold_writers": ["o3"], "block": "b"}
    (one,) = datasets.samples(imported(tmp_path / "data", [own]), Item)
    assert (one.writer, one.gold_writers, one.block) == ("claude", ("o3",), "b")


def test_an_official_row_with_a_fault_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = official((0, 0, 3, 0, 0))
    rows[1]["novelty_score"] = 9
    del rows[2]["research_idea"]["objective"]
    rows.append("no row")
    (tmp_path / "train.json").write_text(json.dumps(rows), encoding="utf-8")
    assert main(["data", "import", "rinobench", str(tmp_path / "train.json"), str(tmp_path / "data")]) == 2
    told = capsys.readouterr().err
    assert "row 2: novelty_score" in told
    assert "row 3: research_idea.objective" in told
    assert "row 4: related_works" in told
    assert not (tmp_path / "data").exists()
    (tmp_path / "train.json").write_text('{"rows": []}', encoding="utf-8")
    assert main(["data", "import", "rinobench", str(tmp_path / "train.json"), str(tmp_path / "data")]) == 2
    assert "not a list of rows" in capsys.readouterr().err


def predictions(folder: Path, rows: list[dict[str, Any]]) -> str:
    path = folder / "predictions.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return f"file:{path}"


def test_many_predictions_are_joined_in_time() -> None:
    started = time.process_time()
    PredictedModel(Path("p.json"), [{"id": f"i-{number}"} for number in range(60_000)], ())
    assert time.process_time() - started < 3


async def test_predictions_find_their_idea_by_id(tmp_path: Path) -> None:
    data = imported(tmp_path, official((1, 1, 1, 1, 1)))
    gold = {item.id: item.novelty_score for item in datasets.samples(data, Item)}
    rows = [{"id": name, **answer(gold[name])} for name in reversed(sorted(gold))]
    run = await play(predictions(tmp_path, rows), data, tmp_path, justification=False)
    assert run.score("macro_f1") == 1.0
    assert run.score("mae") == 0.0
    run = await play(predictions(tmp_path, rows[:4]), data, tmp_path, justification=False, max_failed=0.5)
    assert run.summary["outcomes"] == {"candidate_failed": 1, "scored": 4}


@pytest.mark.parametrize(
    ("rows", "settings", "fault"),
    [
        ([answer(3)] * 5, {}, "have no id; --set join=position"),
        ([answer(3)] * 4, {"join": "position"}, "4 predictions for 5 samples"),
        ([{"id": "test-0001", **answer(3)}, answer(3)], {}, "prediction 2 has no id"),
        (
            [{"id": "test-0001", **answer(3)}] * 2,
            {"join": "position"},
            "prediction 2: id 'test-0001' comes twice",
        ),
        (["x"], {}, "neither a line of calls.jsonl nor of traces.jsonl"),
    ],
)
async def test_unjoinable_predictions_fail(tmp_path: Path, rows: Any, settings: Any, fault: str) -> None:
    data = imported(tmp_path, official((1, 1, 1, 1, 1)))
    with pytest.raises(UsageError, match=fault):
        await play(predictions(tmp_path, rows), data, tmp_path / "runs", justification=False, **settings)
    assert not (tmp_path / "runs").exists()


def test_joining_by_position_is_said_in_sight(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = imported(tmp_path, official((1, 1, 1, 1, 1)))
    rows = predictions(tmp_path, [answer(item.novelty_score) for item in datasets.samples(data, Item)])
    code = main(
        [
            "evaluate", "rinobench", "--model", rows, "--data", str(data), "--out", str(tmp_path / "runs"),
            "--set", "join=position", "--set", "justification=false", ]
    )  # fmt: skip
    told = capsys.readouterr()
    assert code == 0
    assert "warning: " in told.err
    assert "5 predictions joined to the samples by position" in told.err
    (report,) = (tmp_path / "runs").glob("*/report.md")
    assert "WARNING: predictions were joined to ideas by position" in report.read_text(encoding="utf-8")


async def test_the_whole_table_of_the_paper_comes_out(tmp_path: Path) -> None:
    data = imported(tmp_path)
    items = datasets.samples(data, Item)
    said = [4 if place % 3 else 3 for place in range(len(items))]
    said[5] = 0
    path = predictions(tmp_path, [answer(one) for one in said])
    run = await play(path, data, tmp_path, join="position")
    assert list(run.summary["scores"]) == NINE
    gold = [item.novelty_score for item in items]
    macro = f1_score(gold, said, labels=[1, 2, 3, 4, 5], average="macro", zero_division=0)
    assert run.score("macro_f1") == pytest.approx(macro)
    valid = [place for place in range(277) if place != 5]
    error = mean_absolute_error([gold[place] for place in valid], [said[place] for place in valid])
    assert run.score("mae") == pytest.approx(error)
    assert run.summary["scores"]["mae"]["n"] == 276
    assert run.summary["outcomes"] == {"invalid": 1, "scored": 276}
    beside = run.summary["scores"]["macro_f1"]["baselines"]
    assert beside["always 3"] == pytest.approx(0.0956, abs=5e-5)
    assert beside["always the majority"] == beside["always 3"]
    assert beside["uniform guess"] == pytest.approx(0.184, abs=1e-3)
    assert beside["prior guess"] == pytest.approx(0.199, abs=5e-4)
    assert run.summary["scores"]["mae"]["baselines"]["always 3"] == pytest.approx(0.8628, abs=5e-5)
    (header,) = [
        line for line in run.report.read_text("utf-8").splitlines() if line.startswith("| F1 macro |")
    ]
    assert [cell.strip() for cell in header.strip("|").split("|")] == [
        "F1 macro", "F1 1", "F1 2", "F1 3", "F1 4", "F1 5", "MAE", "ALI", "recall KA", "recall NA", "add. KA",
        "add. NA", "hall. KA", "hall. NA",
    ]  # fmt: skip
    assert [run.score(name) for name in NINE[2:]] == [
        pytest.approx(value) for value in (0.8, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    ]


async def test_table_3_stands_across_models_with_f1_by_score(tmp_path: Path) -> None:
    data = imported(tmp_path, official((3, 3, 3, 3, 3)))
    items = datasets.samples(data, Item)
    runs = []
    for name, said in (("right", [item.novelty_score for item in items]), ("threes", [3] * len(items))):
        (tmp_path / name).mkdir()
        path = predictions(tmp_path / name, [answer(one) for one in said])
        runs.append(await play(path, data, tmp_path / "runs", join="position"))
    assert main(["compare", *(str(run.path) for run in runs), "--out", str(tmp_path / "compared")]) == 0
    text = (tmp_path / "compared" / "compare.md").read_text(encoding="utf-8")
    assert "## Table 3 of the paper" in text and "| 100 | 100 | 100 |" in text


def test_the_columns_of_table_3_are_the_papers() -> None:
    def judged(said: Sequence[int]) -> tuple[list[Trace], Settings]:
        parts = {"status": "ok", "counts": None, "alignment": None, "shortened": 0, "works": 5}
        traces = [
            Trace(
                f"s{place}",
                1,
                "l",
                "scored",
                Score(float(one == gold), parts={**parts, "gold": gold, "said": one}),
                (),
                None,
                {},
            )
            for place, (gold, one) in enumerate(zip((1, 2, 3, 4, 5) * 2, said, strict=True))
        ]
        return traces, Settings()

    (section,) = across({"right": judged((1, 2, 3, 4, 5) * 2), "threes": judged([3] * 10)})
    assert section.tables[0].columns[:8] == ("run", "F1 macro", "F1 1", "F1 2", "F1 3", "F1 4", "F1 5", "MAE")
    assert section.tables[0].rows[0][:8] == ("right", 100, 100, 100, 100, 100, 100, 0)
    # Always 3: F1 of 3 is 2 * 2 / (2 + 10), macro a fifth of it; MAE (2 + 1 + 0 + 1 + 2) / 5.
    assert section.tables[0].rows[1][1:8] == pytest.approx((100 / 15, 0, 0, 100 / 3, 0, 0, 1.2))
    assert across({"silent": ([], Settings())}) == ()


@pytest.fixture
def released() -> Path:
    root = os.environ.get("LOTBENCH_REFERENCE_DATA")
    if not root:
        pytest.skip("the released predictions are not here: set LOTBENCH_REFERENCE_DATA")
    return Path(root) / "rinobench"


@pytest.mark.parametrize("model", RELEASED)
async def test_released_predictions_give_the_whole_table(tmp_path: Path, released: Path, model: str) -> None:
    data = imported(tmp_path)
    path = released / f"novelty_predictions-{model}.json"
    run = await play(f"file:{path}", data, tmp_path, join="position")
    assert run.summary["outcomes"] == {"scored": 277}
    # Predictions in the order of another gold: the figures are not the paper's, the table is.
    said = [row["novelty_score"] for row in json.loads(path.read_text(encoding="utf-8"))]
    gold = [item.novelty_score for item in datasets.samples(data, Item)]
    macro = f1_score(gold, said, labels=[1, 2, 3, 4, 5], average="macro", zero_division=0)
    assert run.score("macro_f1") == pytest.approx(macro)
    assert run.score("mae") == pytest.approx(mean_absolute_error(gold, said))
    assert all(run.score(name) is not None for name in NINE)


@pytest.mark.parametrize("model", RELEASED)
def test_the_released_tables_count_as_we_do(released: Path, model: str) -> None:
    """Each published F1 is 2 hits / (support + predictions) for a whole number of hits; macro is the mean of five."""
    said = [
        row["novelty_score"]
        for row in json.loads((released / f"novelty_predictions-{model}.json").read_text(encoding="utf-8"))
    ]
    told = json.loads((released / f"novelty_pred_evaluation-{model}.json").read_text(encoding="utf-8"))
    scores = told["f1_scores"]
    hits = [
        scores[str(label)] * (support + said.count(label)) / 2 for label, support in enumerate(SUPPORT, 1)
    ]
    assert hits == pytest.approx([round(one) for one in hits], abs=1e-9)
    assert scores["macro"] == pytest.approx(sum(scores[str(label)] for label in range(1, 6)) / 5)
    errors = told["mean_absolute_error"] * len(said)
    assert errors == pytest.approx(round(errors), abs=1e-6)
