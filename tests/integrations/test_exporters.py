"""Every exporter on recorded runs of all five benchmarks: each value survives, and no failed walk becomes a number."""

from __future__ import annotations

import asyncio
import json
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from lotbench.cli import main
from lotbench.integrations import EXPORTERS, PEOPLE, export
from lotbench.integrations.conversations import model_id
from lotbench.run import recorded
from lotbench.run.results import load_run
from tests.old_runs import FOLDER, RUNS

FAILED = {"value": None, "why": "judge_failed: it said nothing", "parts": {}}


def summary(name: str) -> dict[str, Any]:
    return dict(json.loads((FOLDER / name / "summary.json").read_text()))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def exported(tool: str, run: Path, out: Path) -> list[Path]:
    assert main(["export", str(run), "--to", tool, "--out", str(out)]) == 0
    return sorted(path for path in out.rglob("*") if path.is_file())


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A recorded run in which one game broke off."""
    copy = tmp_path / "run" / next(name for name in RUNS if "-lotbench-" in name)
    shutil.copytree(FOLDER / copy.name, copy)
    rows = lines(copy / "traces.jsonl")
    rows[1] |= {"outcome": "judge_failed", "score": FAILED, "why": "it said nothing"}
    (copy / "traces.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return copy


@pytest.mark.parametrize("name", RUNS)
def test_every_eval_ever_has_each_metric_with_its_interval(name: str, tmp_path: Path) -> None:
    about, walks = exported("every-eval-ever", FOLDER / name, tmp_path)
    made, scores = json.loads(about.read_text()), summary(name)["scores"]
    by_name = {one["metric_config"]["metric_name"]: one for one in made["evaluation_results"]}
    assert set(by_name) == {metric for metric, score in scores.items() if score["value"] is not None}
    for metric, one in by_name.items():
        score, details = scores[metric], one["score_details"]
        assert details["score"] == score["value"]
        assert one["metric_config"]["lower_is_better"] == (score["better"] == "lower")
        interval = details["uncertainty"].get("confidence_interval")
        told = (interval["lower"], interval["upper"]) if interval else (None, None)
        assert told == (score["low"], score["high"]) or None in (score["low"], score["high"])
    detailed = made["detailed_evaluation_results"]
    assert tmp_path / detailed["file_path"] == walks
    run = load_run(FOLDER / name)
    values = {f"{trace.sample}/{trace.repeat}": trace.score.value for trace in run.traces}
    rows = {row["sample_id"]: row["evaluation"]["score"] for row in lines(walks)}
    assert rows == {place: value for place, value in values.items() if value is not None}
    assert detailed["total_rows"] == len(rows)


def test_a_game_is_a_conversation_in_order_and_one_answer_is_an_output(tmp_path: Path) -> None:
    game = next(name for name in RUNS if "-lotbench-" in name)
    _, walks = exported("every-eval-ever", FOLDER / game, tmp_path / "game")
    first = lines(walks)[0]
    assert first["interaction_type"] == "multi_turn" and "output" not in first
    turns = first["messages"]
    assert [turn["turn_idx"] for turn in turns] == list(range(len(turns)))
    assert turns[-1]["role"] == "assistant"
    trace = load_run(FOLDER / game).traces[0]
    asked = sum(step["role"] == "candidate" for step in trace.steps)
    assert sum(turn["role"] == "assistant" for turn in turns) == asked
    standard = next(name for name in RUNS if "-standard-" in name)
    _, walks = exported("every-eval-ever", FOLDER / standard, tmp_path / "standard")
    first = lines(walks)[0]
    assert first["interaction_type"] == "single_turn" and len(first["output"]["raw"]) == 1


def test_a_game_that_broke_off_is_a_number_nowhere(
    broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = "{sample}/{repeat}".format(**lines(broken / "traces.jsonl")[1])
    _, walks = exported("every-eval-ever", broken, tmp_path / "eee")
    assert place not in {row["sample_id"] for row in lines(walks)}
    assert "1 tasks have no score and are no lines" in capsys.readouterr().out
    [spans] = exported("otel", broken, tmp_path / "otel")
    [failed] = [line for line in spans.read_text().splitlines() if "judge_failed" in line]
    assert "gen_ai.evaluation.score.value" not in failed and "it said nothing" in failed
    exported("huggingface", broken, tmp_path / "hf")
    rows = lines(next((tmp_path / "hf").glob("walks-*")) / "walks.jsonl")
    assert [row["score"] for row in rows if row["outcome"] == "judge_failed"] == [None]


@pytest.mark.parametrize("name", RUNS)
def test_every_walk_is_a_trace_and_every_call_a_span_that_a_collector_can_read(
    name: str, tmp_path: Path
) -> None:
    [path] = exported("otel", FOLDER / name, tmp_path)
    run, calls = load_run(FOLDER / name), 0
    for line, trace in zip(path.read_text().splitlines(), run.traces, strict=True):
        told = json_format.Parse(line, ExportTraceServiceRequest())
        root, *spans = told.resource_spans[0].scope_spans[0].spans
        assert all(span.parent_span_id == root.span_id for span in spans)
        assert all(root.start_time_unix_nano <= span.start_time_unix_nano for span in spans)
        attributes = {one.key: one.value for one in root.attributes}
        assert attributes["lotbench.sample"].string_value == trace.sample
        [event] = root.events
        value = {one.key: one.value for one in event.attributes}.get("gen_ai.evaluation.score.value")
        assert (value.double_value if value else None) == trace.score.value
        calls += len(spans)
    if "killed" not in name:
        used = summary(name)["usage"]["calls"]
        checks = (FOLDER / name / "calls.jsonl").read_bytes().count(b'"step":"preflight"')
        assert calls == used - checks


@pytest.mark.parametrize("name", RUNS)
def test_the_hub_gets_an_entry_walks_and_a_card_that_can_be_read(name: str, tmp_path: Path) -> None:
    exported("huggingface", FOLDER / name, tmp_path)
    [entry] = [yaml.safe_load(path.read_text()) for path in (tmp_path / "model_repository").rglob("*.yaml")]
    scores = summary(name)["scores"]
    metric = next(metric for metric, score in scores.items() if score["value"] is not None)
    assert entry[0]["value"] == scores[metric]["value"] and entry[0]["notes"].startswith(metric)
    # The hub refuses an entry whose source has no address.
    assert entry[0].keys() == {"dataset", "value", "notes"}
    [folder] = tmp_path.glob("walks-*")
    card = (folder / "README.md").read_text()
    head = yaml.safe_load(card.split("---\n")[1])
    assert [one["data_files"] for one in head["configs"]] == ["walks.jsonl", "steps.jsonl"]
    run = load_run(FOLDER / name)
    rows = lines(folder / "walks.jsonl")
    assert [(row["sample"], row["repeat"], row["score"]) for row in rows] == [
        (trace.sample, trace.repeat, trace.score.value) for trace in run.traces
    ]
    steps = lines(folder / "steps.jsonl")
    assert len(steps) == sum(len(trace.steps) for trace in run.traces)
    # One type a column, or a data set cannot be read.
    for column in {key for row in steps for key in row}:
        kinds = {type(row[column]) for row in steps if row.get(column) is not None}
        assert len(kinds - {int, float}) <= 1, (column, kinds)
    assert yaml.safe_load((tmp_path / "benchmark_repository" / "eval.yaml").read_text())["tasks"]


def test_what_cannot_be_exported_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, out = str(FOLDER / RUNS[0]), str(tmp_path / "out")
    for flags, said in (
        (["--to", "excel", "--out", out], f"no such tool; there are: {', '.join(EXPORTERS)}"),
        (["--to", "otel"], "needs --out FOLDER"),
        (["--to", "otel", "--steps", "--out", out], "goes without --for-review and --steps"),
        (["--to", "huggingface", "--held-out", "--out", out], "--held-out goes without --to"),
        (["--for-review", "--out", f"{out}/labels.csv"], "labels come back as JSON lines"),
    ):
        assert main(["export", run, *flags]) == 2
        assert said in capsys.readouterr().err
    copy = tmp_path / RUNS[0]
    shutil.copytree(FOLDER / RUNS[0], copy)
    (copy / "summary.json").unlink()
    assert main(["export", str(copy), "--to", "otel", "--out", out]) == 2
    assert "has no summary yet" in capsys.readouterr().err
    assert not Path(out).exists()


def test_models_have_the_name_of_their_maker() -> None:
    assert model_id("gpt-4o-mini") == "openai/gpt-4o-mini"
    assert model_id("openrouter/anthropic/claude-3.5-sonnet").endswith("/claude-3.5-sonnet")
    assert model_id("mine@http://127.0.0.1:8000/v1") == "unknown/mine"
    assert model_id("python:candidate") == "unknown/python-candidate"


def altered(name: str, place: Path, **fields: Any) -> Path:
    """A copy of a recorded run whose run.json says something else."""
    shutil.copytree(FOLDER / name, place / name)
    path = place / name / "run.json"
    table = json.loads(path.read_text(encoding="utf-8"))
    for field, value in fields.items():
        table[field] = {**table[field], **value} if isinstance(value, dict) else value
    path.write_text(json.dumps(table), encoding="utf-8")
    return place / name


def test_an_export_names_the_versions_that_played_and_not_those_that_export(tmp_path: Path) -> None:
    game = next(name for name in RUNS if "-lotbench-" in name)
    run = altered(game, tmp_path, digests={"code": "0.0.7"})
    [log] = exported("inspect", run, tmp_path / "inspect")
    with zipfile.ZipFile(log) as packed:
        about = json.loads(packed.read("header.json"))["eval"]
    assert about["packages"] == {"lotbench": "0.0.7"} and about["task_version"] == "1"
    made = json.loads(exported("every-eval-ever", run, tmp_path / "eee")[0].read_text())
    assert made["eval_library"]["version"] == "0.0.7"
    [spans] = exported("otel", run, tmp_path / "otel")
    assert '"service.version", "value": {"stringValue": "0.0.7"}' in spans.read_text().splitlines()[0]
    exported("huggingface", run, tmp_path / "hf")
    [entry] = (tmp_path / "hf" / "model_repository").rglob("*.yaml")
    assert "lotbench 0.0.7" in yaml.safe_load(entry.read_text())[0]["notes"]
    about = yaml.safe_load((tmp_path / "hf" / "benchmark_repository" / "eval.yaml").read_text())
    assert about["version"] == "1"


def test_correct_is_what_has_the_highest_score_of_its_own_scale(tmp_path: Path) -> None:
    ideas = next(name for name in RUNS if "-liveideabench-" in name)
    _, walks = exported("every-eval-ever", FOLDER / ideas, tmp_path)
    told = [row["evaluation"] for row in lines(walks)]
    # Marks are 1 to 10: any answer that was judged has 1 or more.
    assert told and all(1 < one["score"] < 10 and not one["is_correct"] for one in told)


REFERENCES = ("key_text", "response", "explanation", "novelty_reasoning")
JUDGED = "A text of a judge that tells what nobody may read."


@pytest.mark.parametrize("tool", ["every-eval-ever", "huggingface"])
@pytest.mark.parametrize("name", RUNS)
def test_what_is_made_to_be_published_tells_no_reference_and_has_the_canary(
    name: str, tool: str, tmp_path: Path
) -> None:
    copy = tmp_path / name
    shutil.copytree(FOLDER / name, copy)
    rows = lines(copy / "traces.jsonl")
    said = [step for row in rows for step in row["steps"] if step["role"] not in (None, "candidate")]
    for step in said:
        step["value"] |= {"chain": JUDGED, "known": {"gk1": JUDGED}, "steps": [JUDGED]}
    (copy / "traces.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    texts = [path.read_text(encoding="utf-8") for path in exported(tool, copy, tmp_path / "out")]
    samples = list(load_run(copy).samples.values())
    told = {str(one[field]) for one in samples for field in REFERENCES if one.get(field)}
    assert not [one for one in {*told, JUDGED} for text in texts if one in text]
    assert all(any(one["canary"] in text for text in texts) for one in samples if one.get("canary"))
    if tool == "huggingface" and said:
        made = lines(next((tmp_path / "out").glob("walks-*")) / "steps.jsonl")
        judged = [json.loads(row["value"]) for row in made if row["role"] == "judge"]
        assert all("status" in one or "accepted" in one for one in judged)


@pytest.mark.parametrize("tool", EXPORTERS)
def test_where_somebody_serves_a_model_is_not_told_and_a_person_is_noted(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The recorded run was begun under another name of its model.
    monkeypatch.setattr(recorded, "changed_experiment", lambda *about: [])
    run = load_run(next(FOLDER / name for name in RUNS if "-standard-" in name))
    named = {"at home": "mine@http://10.1.2.3:8000/v1", "by hand": "human:Ann"}
    for how, name in named.items():
        config = run.config.model_copy(update={"model": name})
        made = asyncio.run(export(tool, replace(run, config=config), tmp_path / how))
        assert (PEOPLE in made.left_out) is (how == "by hand")
    texts = b"".join(path.read_bytes() for path in (tmp_path / "at home").rglob("*") if path.is_file())
    assert b"10.1.2.3" not in texts


def test_a_temperature_of_0_is_told(tmp_path: Path) -> None:
    candidate = {"candidate": {"temperature": 0.0, "top_p": None, "max_tokens": 64}}
    run = altered(RUNS[0], tmp_path, sampling=candidate)
    made = json.loads(exported("every-eval-ever", run, tmp_path / "eee")[0].read_text())
    told = made["evaluation_results"][0]["generation_config"]["generation_args"]
    assert told == {"temperature": 0.0, "max_tokens": 64}


def test_no_other_metric_stands_for_a_headline_without_a_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / RUNS[0]
    shutil.copytree(FOLDER / RUNS[0], copy)
    table = summary(RUNS[0])
    first = next(iter(table["scores"]))
    table["scores"][first] |= {"value": None, "low": None, "high": None}
    (copy / "summary.json").write_text(json.dumps(table))
    exported("huggingface", copy, tmp_path / "hf")
    assert not list(tmp_path.rglob(".eval_results"))
    assert "no value of its headline metric" in capsys.readouterr().out
