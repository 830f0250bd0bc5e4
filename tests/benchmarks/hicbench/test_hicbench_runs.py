"""HIC-Bench from the command line: runs, export and labels, comparison, import of the official file."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lotbench import evaluate_sync, load_run
from lotbench.benchmarks.hicbench.official import published
from lotbench.benchmarks.hicbench.settings import Settings
from lotbench.benchmarks.hicbench.task import benchmark
from lotbench.calls import embeddings
from lotbench.cli import main
from lotbench.config import experiment as config
from lotbench.errors import DataError, UsageError
from lotbench.run import plan, results
from lotbench.run.loading import Run
from lotbench.storage.importers.published import Files
from tests.benchmarks.hicbench.test_hicbench import DH, IH, NEUTRAL, judged
from tests.benchmarks.hicbench.test_hicbench_score import BOTH
from tests.fakes import RuleModel, text_of
from tests.killing import essence, finish, journaled, killed_at, lost, serving, the_run
from tests.rules import chance


class Player(RuleModel):
    """Answers and judges: the verdict follows from the answer."""

    def __init__(self, name: str = "player") -> None:
        super().__init__(_said, model_id=name)
        self.__name__ = name


def _said(request: Any) -> Any:
    if request.key.step == "preflight":
        return {"word": "ready"}
    if request.key.step != "respond":
        drawn = chance(judged(request))
        return IH if drawn < 0.4 else DH if drawn < 0.6 else NEUTRAL
    return f"a membrane that hums {chance(text_of(request), request.key.draw):.6f}"


@pytest.fixture(autouse=True)
def embedding(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An encoder of the letters of a text; returns every text that it embedded."""
    seen: list[str] = []

    class Letters:
        def __init__(self, name: str) -> None:
            self.name = name

        def __call__(self, texts: list[str]) -> np.ndarray:
            seen.extend(texts)
            table = np.array([[text.count(c) + 1 for c in "0123456789"] for text in texts], dtype=np.float32)
            return table / np.linalg.norm(table, axis=1, keepdims=True)

    monkeypatch.setattr(embeddings, "load_encoder", Letters)
    return seen


def play(out: Path, **fields: Any) -> Run:
    settings = {"answers": 3} | fields.pop("settings", {})
    roles = {"judge": [Player("one"), Player("two")], "dhp_judge": Player("chooses")}
    return evaluate_sync(
        "hicbench",
        model=Player(),
        roles=roles,
        out=out,
        **{"limit": 4, "settings": settings, "check": False} | fields,
    )


@pytest.mark.parametrize(
    ("dhp", "changes"), [(False, "the score only (both values above)"), (True, "the task")]
)
def test_the_papers_column_scores_by_the_papers_classes(tmp_path: Path, dhp: bool, changes: str) -> None:
    """An answer that is IH and DH to every judge: no IH in this run, one in the paper's reading."""
    judges = [Player(name) for name in ("one", "two", "chooses")]
    for judge in judges:
        judge._rule = lambda _: BOTH
    run = evaluate_sync(
        "hicbench",
        model=Player(),
        roles={"judge": judges[:2], "dhp_judge": judges[2]},
        out=tmp_path,
        limit=2,
        settings={"answers": 2, "dhp": dhp},
        check=False,
    )
    text = run.report.read_text(encoding="utf-8")
    (row,) = [line for line in text.splitlines() if line.startswith("| ih_ratio")]
    header = next(line for line in text.splitlines() if "as paper/hicbench scores" in line)
    columns = dict(zip(header.split("|"), row.split("|"), strict=True))
    assert float(columns[" value "]) == 0 and float(columns[" as paper/hicbench scores "]) == 1
    assert f"| classes | exclusive | overlapping | yes, changes {changes} |" in text


@pytest.mark.parametrize("name", ["somebody/encoder", "{place}", "{place}#pooler"])
def test_the_encoder_of_a_foreign_run_is_loaded_when_it_is_asked_for_alone(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    embedding: list[str],
) -> None:
    encoder = name.format(place=tmp_path / "weights")
    run = play(tmp_path / "runs", settings={"encoder": encoder})
    before, count = run.summary["scores"], len(embedding)
    assert before["fluency"]["value"] is not None
    monkeypatch.setenv("LOTBENCH_HOME", str(tmp_path / "elsewhere"))
    assert main(["score", str(run.path)]) == 0
    assert load_run(run.path).summary["scores"] == before
    (run.path / "vectors.npz").unlink()
    for command in ("score", "report"):
        assert main([command, str(run.path)]) == 0
        command = f"what loads {encoder} and does it: lotbench score {run.path} --embed"
        fluency = load_run(run.path).summary["scores"]["fluency"]
        assert fluency["value"] is None and fluency["why"].endswith(command)
        assert command in capsys.readouterr().out
    assert results.entry(load_run(run.path), answers=True)
    assert len(embedding) == count
    assert main(["score", str(run.path), "--embed"]) == 0
    assert load_run(run.path).summary["scores"] == before
    assert len(embedding) == 2 * count


def test_a_dynamic_run_scored_again_episodes_the_same_prompts(tmp_path: Path) -> None:
    run = play(tmp_path, settings={"dhp": True}, repeats=2)
    sequences = [(trace.sample, trace.sequence) for trace in run.traces]
    assert len({sequence for _, sequence in sequences}) == 2 and run.config.repeats == 2
    memories = [trace.memory for trace in run.traces]
    assert main(["score", str(run.path)]) == 0
    again = load_run(run.path)
    assert [trace.memory for trace in again.traces] == memories
    assert [(trace.sample, trace.sequence) for trace in again.traces] == sequences


def test_examples_are_read_from_a_file_and_frozen(tmp_path: Path) -> None:
    file = tmp_path / "examples.toml"
    file.write_text('[settings.examples]\npositive = "by people"\nnegative = "no good"\n', encoding="utf-8")
    flags = {"benchmark": "hicbench", "model": "m", "roles.judge": ["j"], "roles.dhp_judge": ["k"]}
    made = plan.make(config.load(file, ["dhp=true", "dhp_policy=text"], flags))
    file.unlink()
    assert made.settings.examples == {"positive": "by people", "negative": "no good"}
    assert made.experiment.settings["examples"] == {"positive": "by people", "negative": "no good"}
    with pytest.raises(UsageError, match="--config"):
        config.load(None, [f"examples=@{file}"])


def test_the_papers_preset_turns_every_setting_to_its_letter() -> None:
    _, theirs = plan.reference(benchmark, benchmark.Settings())
    turned = {name for name, value in Settings() if getattr(theirs, name) != value}
    assert theirs.rag_source == "knowledge"
    assert turned == {
        "answer_cap",
        "exclude_self",
        "judges",
        "panel_rule",
        "classes",
        "flexibility",
        "encoder",
        "dhp_judge",
        "order",
    }


def test_a_dry_run_counts_the_calls(capsys: pytest.CaptureFixture[str]) -> None:
    players = "--model gpt-4o-mini --judge qwen3 --judge deepseek/deepseek-chat --role dhp_judge=gemini/gemini-2.5-pro"
    arguments = f"evaluate hicbench {players} --set dhp=true --repeats 2 --dry-run"
    assert main(arguments.split()) == 0
    shown = capsys.readouterr().out
    assert "tasks     200 (2 repeats), 2 side by side" in shown
    calls = {words[0]: words[1] for words in map(str.split, shown.splitlines()[::-1]) if len(words) > 1}
    assert (calls["candidate"], calls["judge"], calls["dhp_judge"]) == ("2,000", "4,000", "2,000")


@pytest.mark.parametrize(
    ("players", "told"),
    [
        ([], "hicbench has no default judge: give --judge NAME"),
        (["--judge", "gpt-4o-mini-2024-07-18"], "may not judge itself"),
        (["--judge", "qwen3", "--set", "dhp=true"], "--role dhp_judge=NAME"),
        (["--judge", "qwen3", "--set", "judges=2"], "judges=2, and 1 sit"),
    ],
)
def test_a_panel_that_cannot_sit_is_refused_before_any_call(
    players: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "hicbench", "--model", "gpt-4o-mini", *players, "--dry-run"]) == 2
    assert told in capsys.readouterr().err


# Export and labels.


def to_label(run: Run, file: Path) -> list[dict[str, Any]]:
    assert main(["export", str(run.path), "--for-review", "--out", str(file)]) == 0
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def put(file: Path, rows: list[Any]) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def test_two_people_label_one_answer_and_their_agreement_is_the_ceiling(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = play(tmp_path)
    rows = to_label(run, tmp_path / "to-label.jsonl")
    assert all(row["who"] is None for row in rows)
    ann = put(tmp_path / "ann.jsonl", [{**row, **(IH if at % 2 else DH)} for at, row in enumerate(rows)])
    ben = put(tmp_path / "ben.jsonl", [{**row, **(IH if at % 3 else DH)} for at, row in enumerate(rows[:6])])
    assert main(["export", str(run.path), "--for-review", "--out", str(ann)]) == 2
    assert "people label it" in capsys.readouterr().err
    assert main(["score", str(run.path), "--labels", str(ann), "--labels", str(ben)]) == 0
    assert "labels kept: 18 labels by 2 people on 12 of 12 answers" in capsys.readouterr().out
    report = run.report.read_text(encoding="utf-8")
    assert "12 of 12 answers are labelled" in report
    # Of six answers that both labelled, ann has IH in 1, 3, 5 and ben in 1, 2, 4, 5.
    assert "| IH | one person and another | 3 | 6 |" in report
    assert "| IH | the judges and one person |" in report and "| 18 |" in report
    # In one file, the rows say who.
    both = [{**row, **IH, "who": who} for row in rows[:2] for who in ("ann", "ben")]
    assert main(["score", str(run.path), "--labels", str(put(ann, both))]) == 0
    assert "labels kept: 4 labels by 2 people on 2 of 12 answers" in capsys.readouterr().out
    assert main(["score", str(run.path), "--labels", str(put(ann, [*both, both[0]]))]) == 2
    assert f"ann.jsonl:5: row: {rows[0]['row']!r} comes twice by 'ann'" in capsys.readouterr().err


def test_labels_that_do_not_fit_the_run_are_named_by_line_and_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, file = play(tmp_path), tmp_path / "labels.jsonl"
    rows = to_label(run, file)
    wrong = [
        {**rows[0], **IH, "originality": 6},
        {**rows[1], **IH, "answer": "another"},
        {**rows[2], **IH, "row": "hic-999/1/1"},
        {**rows[3], "value": 3},
        {**rows[4], **IH},
        {**rows[4], **IH},
        {**rows[5], **IH, "remark": "x"},
        {**rows[6], **IH, "hallucination": "maybe"},
        {**rows[7], **IH, "spans": [{"text": "no such words", "note": ""}]},
    ]
    assert main(["score", str(run.path), "--labels", str(put(file, wrong))]) == 2
    told = capsys.readouterr().err
    for place in (
        "1: originality",
        "2: answer",
        "3: row",
        "4: originality",
        "6: row",
        "7: remark",
        "8: hall",
    ):
        assert f"labels.jsonl:{place}" in told
    assert "labels.jsonl:9: spans: the answer does not say 'no such words'" in told
    assert "labels.jsonl:5" not in told
    assert not (run.path / "labels.jsonl").exists()


def test_rows_without_a_label_are_no_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, file = play(tmp_path), tmp_path / "labels.jsonl"
    put(file, to_label(run, file))
    assert main(["score", str(run.path), "--labels", str(file)]) == 2
    assert "no row has a label yet" in capsys.readouterr().err


# Comparison.


def test_runs_with_two_differences_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [play(tmp_path), play(tmp_path, settings={"strategy": "rcp", "w1": 0.5})]
    assert main(["report", *(str(run.path) for run in runs)]) == 2
    told = capsys.readouterr().err
    assert "settings.strategy: scp and rcp" in told and "settings.w1: 0.6 and 0.5" in told


# A run that is killed.


@pytest.mark.slow
def test_a_dynamic_run_killed_in_the_middle_goes_on_with_the_same_prompts(tmp_path: Path) -> None:
    with serving(0, "--latency", "0.01") as server:
        finish(tmp_path / "home-1", "dynamic", server.url, tmp_path / "whole")
        port = server.port
    whole = load_run(the_run(tmp_path / "whole"))
    calls = journaled(tmp_path / "whole")
    assert calls == 8 * 2 * 3 * 4 + 4
    with serving(port, "--latency", "0.01") as server:
        out = tmp_path / "killed"
        killed_at((30, 90, 150), tmp_path / "home-2", out, "dynamic", server.url, out)
        log = server.log()
    # A call's key holds the digest of its prompt: the same keys are the same prompts.
    assert essence(the_run(out)) == essence(whole.path)
    memories = [trace.memory for trace in whole.traces]
    assert any(memory and memory["positive"] for memory in memories), "no example was ever chosen"  # type: ignore[call-overload,index]
    assert len({json.dumps(memory) for memory in memories}) > 2
    assert journaled(out) == calls
    # In each of two sequences nine verdicts may have been on their way.
    assert log["finished"] - calls == lost(log) <= 3 * 2 * 9


# The official file.

HEAD = "ID,Field,Question,Principle,Challenge,Knowledge Base,Source\n"


def test_faults_of_the_official_file_are_named_by_line_and_column(tmp_path: Path) -> None:
    source = tmp_path / "CDID.csv"
    source.write_text(HEAD + "1,A,Q,P,C,K,S\n2,A,,P,C,K,S\n,A,Q,P,C,,S\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"CDID.csv:3: Question.*\n.*CDID.csv:4: Knowledge Base"):
        published(Files(source))
    source.write_text("ID,Field\n", encoding="utf-8")
    with pytest.raises(DataError, match="Question: the column is missing"):
        published(Files(source))


def test_the_published_tasks_are_read() -> None:
    place = os.environ.get("LOTBENCH_REFERENCE_DATA")
    if not place:
        pytest.skip("needs the published file: set $LOTBENCH_REFERENCE_DATA")
    found = published(Files(Path(place) / "hic_bench" / "CDID.csv"))
    assert len(found) == 100 and len({item.field for item in found}) == 10  # type: ignore[attr-defined]
