"""The export for the hub on recorded runs of all five benchmarks: each value survives, and no failed episode becomes a number."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from lotbench.cli import main
from lotbench.integrations.huggingface import PEOPLE, export
from lotbench.run.loading import load_run
from tests.recorded import FOLDER, RUNS, copied, recorded

FAILED = {"value": None, "why": "judge_failed: it said nothing", "parts": {}}


def summary(name: str) -> dict[str, Any]:
    return dict(json.loads((FOLDER / name / "summary.json").read_text()))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def exported(run: Path, out: Path) -> list[Path]:
    assert main(["export", str(run), "--to", "huggingface", "--out", str(out)]) == 0
    return sorted(path for path in out.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", RUNS)
def test_the_hub_gets_an_entry_episodes_and_a_card_that_can_be_read(name: str, tmp_path: Path) -> None:
    exported(FOLDER / name, tmp_path)
    [entry] = [yaml.safe_load(path.read_text()) for path in (tmp_path / "model_repository").rglob("*.yaml")]
    scores, metric = summary(name)["scores"], summary(name)["primary_metric"]
    assert entry[0]["value"] == scores[metric]["value"] and entry[0]["notes"].startswith(metric)
    assert entry[0]["dataset"]["id"] == f"lotbench/{summary(name)['data_set']}"
    assert all(remark in entry[0]["notes"] for remark in summary(name)["remarks"])
    # The hub refuses an entry whose source has no address.
    assert entry[0].keys() == {"dataset", "value", "notes"}
    [folder] = tmp_path.glob("episodes-*")
    head = yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])
    assert [one["data_files"] for one in head["configs"]] == ["episodes.jsonl", "steps.jsonl"]
    run = load_run(FOLDER / name)
    rows = lines(folder / "episodes.jsonl")
    assert [(row["sample"], row["repeat"], row["score"]) for row in rows] == [
        (trace.sample, trace.repeat, trace.score.value) for trace in run.traces
    ]
    steps = lines(folder / "steps.jsonl")
    assert len(steps) == sum(len(trace.steps) for trace in run.traces)
    # One type a column, or a data set cannot be read.
    for column in {key for row in steps for key in row}:
        kinds = {type(row[column]) for row in steps if row.get(column) is not None}
        assert len(kinds - {int, float}) <= 1, (column, kinds)


def test_what_cannot_be_exported_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, out = str(FOLDER / RUNS[0]), str(tmp_path / "out")
    for flags, said in (
        (["--to", "excel", "--out", out], "no such tool; there is: huggingface"),
        (["--to", "huggingface"], "needs --out FOLDER"),
        (["--to", "huggingface", "--steps", "--out", out], "goes without --for-review and --steps"),
        (["--for-review", "--out", f"{out}/labels.csv"], "labels come back as JSON lines"),
    ):
        assert main(["export", run, *flags]) == 2
        assert said in capsys.readouterr().err
    copy = copied(RUNS[0], tmp_path)
    (copy / "summary.json").unlink()
    assert main(["export", str(copy), "--to", "huggingface", "--out", out]) == 2
    assert "has no summary yet" in capsys.readouterr().err
    assert not Path(out).exists()


def test_an_export_names_the_versions_that_played_and_not_those_that_export(tmp_path: Path) -> None:
    run = copied(recorded("lotbench"), tmp_path)
    played = json.loads((run / "run.json").read_text(encoding="utf-8"))
    played["digests"]["code"] = "0.0.7"
    (run / "run.json").write_text(json.dumps(played), encoding="utf-8")
    exported(run, tmp_path / "hf")
    [entry] = (tmp_path / "hf" / "model_repository").rglob("*.yaml")
    assert "lotbench 0.0.7" in yaml.safe_load(entry.read_text())[0]["notes"]


REFERENCES = ("key_text", "response", "explanation", "novelty_reasoning")
JUDGED = "A text of a judge that tells what nobody may read."


@pytest.mark.parametrize("name", RUNS)
def test_what_is_to_be_published_tells_no_reference_and_has_the_canary(name: str, tmp_path: Path) -> None:
    copy = copied(name, tmp_path)
    rows = lines(copy / "traces.jsonl")
    rows[0] |= {"outcome": "judge_failed", "score": FAILED, "why": JUDGED}
    said = [step for row in rows for step in row["steps"] if step["role"] not in (None, "candidate")]
    for step in said:
        step["value"] |= {"chain": JUDGED, "known": {"gk1": JUDGED}, "steps": [JUDGED]}
    (copy / "traces.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    texts = [path.read_text(encoding="utf-8") for path in exported(copy, tmp_path / "out")]
    samples = list(load_run(copy).samples.values())
    told = {str(one[field]) for one in samples for field in REFERENCES if one.get(field)}
    assert not [one for one in {*told, JUDGED} for text in texts if one in text]
    assert all(any(one["canary"] in text for text in texts) for one in samples if one.get("canary"))
    [folder] = (tmp_path / "out").glob("episodes-*")
    scores = [row["score"] for row in lines(folder / "episodes.jsonl") if row["outcome"] == "judge_failed"]
    assert scores == [None], "an episode that broke off is a number nowhere"
    if said:
        made = lines(folder / "steps.jsonl")
        judged = [json.loads(row["value"]) for row in made if row["role"] == "judge"]
        assert all("status" in one or "accepted" in one for one in judged)


def test_where_somebody_serves_a_model_is_not_told_and_a_person_is_noted(tmp_path: Path) -> None:
    run = load_run(FOLDER / recorded("standard"))
    named = {"at home": "mine@http://10.1.2.3:8000/v1", "by hand": "human:Ann"}
    for how, name in named.items():
        config = run.config.model_copy(update={"model": name})
        _, notes = export(replace(run, config=config), tmp_path / how)
        assert (PEOPLE in notes) is (how == "by hand")
    texts = b"".join(path.read_bytes() for path in (tmp_path / "at home").rglob("*") if path.is_file())
    assert b"10.1.2.3" not in texts


def test_no_other_metric_stands_for_a_primary_metric_without_a_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = copied(RUNS[0], tmp_path)
    table = summary(RUNS[0])
    table["scores"][table["primary_metric"]] |= {"value": None, "low": None, "high": None}
    (copy / "summary.json").write_text(json.dumps(table))
    exported(copy, tmp_path / "hf")
    assert not list(tmp_path.rglob(".eval_results"))
    assert "no value of its primary metric" in capsys.readouterr().out
