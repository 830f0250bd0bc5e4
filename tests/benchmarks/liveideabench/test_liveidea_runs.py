"""Whole runs of LiveIdeaBench over HTTP: every shipped keyword, a run that is killed, the embedded model."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from lotbench import evaluate_sync
from lotbench.benchmarks.liveideabench.sample import Item
from lotbench.calls import embeddings
from lotbench.cli import main
from lotbench.config.judge_panel import panel_id
from lotbench.errors import UsageError
from lotbench.models import embedded
from lotbench.report.leaderboard import differing
from lotbench.run.loading import Run, load_run
from lotbench.run.results import entry, rewritten
from lotbench.storage import datasets
from tests.killing import ROOT, essence, serving, stop_at, the_run
from tests.rules import hear
from tests.server import FakeServer

pytestmark = pytest.mark.slow

SEVERITY = {"judge-0": -1, "judge-1": 0, "judge-2": 1}
IDEA = re.compile(r"study (.+?), first try (\d+)\.")


@pytest.fixture(autouse=True)
def no_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Embeddings are not what is looked at here, and loading an encoder takes longer than a run."""
    monkeypatch.setattr(embeddings, "find_spec", lambda name: None)


def worth(keyword: str) -> int:
    """What an idea on a keyword is worth before a judge's severity: 4, 5 or 6."""
    return 4 + len(keyword) % 3


def rule(asked: Any) -> Any:
    """Candidate and judges of the full run: each judge of its own severity, order deciding between A and C."""
    heard = hear(asked)
    if not heard.form:
        (keyword,) = re.findall(r'keyword that was drawn for you is "(.+?)"', heard.text)
        return f"To know more, study {keyword}, first try {heard.seed}."
    if "word" in heard.form:
        return {"word": "ready"}
    ideas = IDEA.findall(heard.text)
    if "grade" in heard.form:
        (_, one), (_, other) = ideas
        return {"grade": "A" if int(one) < int(other) else "C"}
    ((keyword, _),) = ideas
    harsh = SEVERITY[heard.model]
    return {"analysis": "well", "originality": worth(keyword) + harsh, "feasibility": 5 - harsh, "clarity": 8}


def played(
    server: FakeServer,
    out: Path,
    model: str = "candidate",
    limit: int | None = None,
    repeats: int = 1,
    **settings: str,
) -> Run:
    """A run of a model of the server, judged by the three judges there; `panel` names a panel of them."""
    judges = [f"{name}@{server.url}" for name in SEVERITY]
    if "panel" in settings:
        settings["panel"] = panel_id(settings["panel"], judges)
    return evaluate_sync(
        "liveideabench",
        model=f"{model}@{server.url}",
        roles={"judge": judges},
        out=out,
        limit=limit,
        repeats=repeats,
        settings={"encoder": "nobody/has-this", **settings},
    )


def test_the_full_run_over_all_shipped_keywords_has_the_values_worked_by_hand(tmp_path: Path) -> None:
    keywords = [item.keyword for item in datasets.samples(datasets.shipped("data", "liveideabench"), Item)]
    with FakeServer(rule) as server:
        run = played(server, tmp_path, panel="test")
        requests = server.log()["requests"]
    assert len(keywords) == len(run.traces) == 242
    # Two ideas, three judges each, one comparison in both orders; a connection test for each of the four models.
    assert requests == 242 * (2 + 6 + 2) + 4
    scores = run.summary["scores"]
    assert scores["originality"]["value"] == pytest.approx(fmean(map(worth, keywords)))
    assert (scores["feasibility"]["value"], scores["clarity"]["value"]) == (5, 8)
    # A one way round, C the other: (10 + 4) / 2.
    assert scores["fluency"]["value"] == 7
    # The composite is (worth + 5 + 8 + 7) / 4; in rising order, what stands 72.3 places up (0.3 of 241).
    ordered = sorted((worth(keyword) + 20) / 4 for keyword in keywords)
    flexibility = ordered[72] + 0.3 * (ordered[73] - ordered[72])
    assert scores["flexibility"]["value"] == pytest.approx(flexibility)
    assert scores["average"]["value"] == pytest.approx(
        (fmean(map(worth, keywords)) + 5 + 8 + 7 + flexibility) / 5
    )
    assert all(score["n"] == 242 for score in scores.values())
    models = Counter(
        step["value"]["model"] for one in run.traces for step in one.steps if step["step"] == "judge"
    )
    assert set(models.values()) == {484}
    report = rewritten(run, full=True)[0].report.read_text(encoding="utf-8")
    for name, severity in SEVERITY.items():
        (row,) = [line for line in report.splitlines() if line.startswith(f"| {name}") and "484" in line]
        found = [float(cell) for cell in row.split("|")[3:6]]
        assert found == pytest.approx([severity, -severity, 0], abs=1e-6)
    assert "never checked" in " ".join(run.summary["reasons"])
    assert run.summary["arm"] == "v2" and "panel = test@" in " ".join(run.summary["remarks"])


ENTRY = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); import sys; "
    "sys.modules['sentence_transformers'] = None; from lotbench.cli import main; sys.exit(main(sys.argv[1:]))"
)


def command(home: Path, *arguments: str) -> subprocess.Popen[str]:
    """A lotbench command in a process of its own, with a store of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", ENTRY, *arguments],
        cwd=ROOT,
        env=os.environ | {"LOTBENCH_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> None:
    told, _ = process.communicate(timeout=120)
    assert process.returncode == 0, told


def test_a_killed_run_makes_no_new_idea_for_a_judged_one_and_keeps_its_judges(tmp_path: Path) -> None:
    with serving(0, "--latency", "0.02") as server:
        asked = f"evaluate liveideabench --model m@{server.url} --limit 12 --concurrency 4".split()
        asked += [part for place in range(5) for part in ("--judge", f"j{place}@{server.url}")]
        asked += ["--set", "encoder=nobody/has-this", "--no-preflight"]
        ended(command(tmp_path, *asked, "--out", str(tmp_path / "whole")))
        with command(tmp_path, *asked, "--out", str(tmp_path / "killed")) as process:
            lines = stop_at(process, tmp_path / "killed", 40, signal.SIGKILL)
        path = the_run(tmp_path / "killed")
        before = [
            json.loads(line)
            for line in (path / "calls.jsonl").read_text(encoding="utf-8").splitlines()[:lines]
        ]
        ended(command(tmp_path, "resume", str(path), "--no-preflight"))
    after = [json.loads(line) for line in (path / "calls.jsonl").read_text(encoding="utf-8").splitlines()]
    assert 40 <= lines < len(after)
    # What was answered stands as it was, and no key is asked twice: no second idea, no other judge.
    assert after[: len(before)] == before
    places = Counter(tuple(str(line["key"]).split("/")[:6]) for line in after)
    assert set(places.values()) == {1}
    (summary, traces), (others, whole) = essence(path), essence(the_run(tmp_path / "whole"))
    assert traces == whole
    assert summary["scores"] == others["scores"]


def test_labels_of_people_come_into_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeServer(rule) as server:
        run = played(server, tmp_path, limit=6)
    rows = tmp_path / "rows.jsonl"
    assert main(["export", str(run.path), "--for-review", "--out", str(rows)]) == 0
    made = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
    assert len(made) == 12 and "judge" not in rows.read_text(encoding="utf-8")
    filled = [row | {"originality": 3 + len(row["keyword"]) % 3} for row in made]
    rows.write_text("".join(json.dumps(row) + "\n" for row in filled), encoding="utf-8")
    assert main(["score", str(run.path), "--labels", str(rows)]) == 0
    assert "labels kept: 12 of 12" in capsys.readouterr().out
    report = run.report.read_text(encoding="utf-8")
    assert "## People and judges" in report and "| originality | 12 |" in report


def test_runs_of_two_models_on_one_panel_compare_and_stand_beside_a_table(tmp_path: Path) -> None:
    with FakeServer(rule) as server:
        asked: Any = {"limit": 4, "panel": "test", "exclude": "self"}
        runs = [played(server, tmp_path, name, **asked) for name in ("one", "two", "judge-2")]
    table = tmp_path / "general.csv"
    table.write_text("Model,General\none,70\ntwo,80\njudge-2,90\n", encoding="utf-8")
    places = ["--table", str(table), "--out", str(tmp_path / "compare")]
    assert main(["compare", *(str(run.path) for run in runs[:2]), *places]) == 0
    told = (tmp_path / "compare" / "compare.md").read_text("utf-8")
    assert "# liveideabench: 2 runs" in told
    assert "## Runs by category" in told and "## Beside the table" in told and "2 pairs are too few" in told
    # A model of the panel is judged by the others.
    third = load_run(runs[2].path)
    assert {s["value"]["model"] for t in third.traces for s in t.steps if s["step"] == "judge"} == {
        "judge-0-2026",
        "judge-1-2026",
    }
    assert any("2 of the 3 judges" in reason for reason in third.summary["reasons"])


def test_a_sibling_on_the_panel_keeps_a_run_out_of_the_ranking(tmp_path: Path) -> None:
    with FakeServer(rule) as server:
        run = played(server, tmp_path, "judge-2-high", limit=2, panel="test", exclude="self")
        twice = played(server, tmp_path, "judge-2-high", limit=2, panel="test", exclude="self", repeats=2)
    # The quantile of flexibility is higher where each mean is of more ideas: 6.17 for one repeat, 6.58 for eight.
    assert differing(entry(run), entry(twice)) == ["repeats: 1 and 2"]
    assert any("repeats = 2" in remark for remark in twice.summary["remarks"])
    assert run.summary["reasons"][0] == "the candidate and the judge are of one family of models"


def test_the_embedded_model_plays_to_the_end(tmp_path: Path) -> None:
    try:
        weights = embedded.weights("local")
    except UsageError as error:
        pytest.skip(str(error))
    judges = [tmp_path / f"judge-{place}.gguf" for place in "ab"]
    for path in judges:
        os.link(weights, path) if weights.stat().st_dev == tmp_path.stat().st_dev else shutil.copy(
            weights, path
        )
    run = evaluate_sync(
        "liveideabench",
        model="local",
        roles={"judge": [f"local:{path}" for path in judges]},
        out=tmp_path,
        limit=1,
        settings={"encoder": "nobody/has-this", "judges": 1, "fluency_orders": "one"},
        sampling={"candidate": {"max_tokens": 80}},
        concurrency=2,
        max_failed=1.0,
    )
    assert len(run.traces) == 1
    assert run.summary["complete"] and not run.summary["rankable"]
    assert "an embedded model played" in run.summary["reasons"][0]
    assert set(run.summary["outcomes"]) <= {"scored", "judge_failed"}
    assert "## Severity of judges" in rewritten(run, full=True)[0].report.read_text(encoding="utf-8")
