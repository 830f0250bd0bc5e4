"""The home page as records: which table a run stands in, in which place, how far it is trusted, and what it cost."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from lotbench.edge.files.traces import Traces
from lotbench.edge.serve import Served
from lotbench.report.html.page import harmless
from lotbench.report.leaderboard import Entry
from lotbench.run import results
from lotbench.run.loading import load_run
from lotbench.site.home import Badge, badge, boards
from lotbench.site.run_summary import read_run
from lotbench.site.run_tables import WalkRow
from lotbench.site.runs import REPORT_POLICY, Gallery
from tests.recorded import FOLDER, RUNS
from tests.report.test_leaderboard import CONDITIONS, THREE

UNCHECKED = "the judge was never checked (unchecked: j)"


def run(name: str, *values: float, reasons: tuple[str, ...] = (), **more: object) -> Entry:
    by_sample = {f"s{at}": value for at, value in enumerate(values)}
    given = {
        "answered": (name.partition("-b-")[2] or name,),
        "benchmark": "b",
        "failed": 0,
        "conditions": CONDITIONS,
    }
    return Entry(name=name, asked=name, values=by_sample, reasons=reasons, **{**given, **more})  # type: ignore[arg-type]


def test_places_are_for_trusted_runs_and_all_stand_in_one_table() -> None:
    best, second, third = THREE
    untrusted = replace(second, name="untrusted", answered=("untrusted",), reasons=(UNCHECKED,))
    (board,) = boards([third, untrusted, best, second])
    ours = {row.label: row.place for row in board.rows}
    assert ours.pop("untrusted") is None
    assert sorted(filter(None, ours.values())) == [1, 2, 3]
    values = [row.mean for row in board.rows]
    assert values == sorted(values, reverse=True)
    assert "2 of 3 pairs are clear" in board.groups[0].said


def test_runs_that_were_not_measured_alike_are_never_numbered_together() -> None:
    other = {**CONDITIONS, "data": "other"}
    (board,) = boards([run("a", 0.5, 0.6, 0.7), run("b", 0.1, 0.2, 0.3, conditions=other)])
    assert [[row.place for row in group.rows] for group in board.groups] == [[1], [1]]
    assert len({group.about for group in board.groups}) == 2


def test_each_variant_has_a_table_of_its_own() -> None:
    made = boards([run("a", 0.5, arm="caption"), run("b", 0.5, arm="image"), run("c", 0.5, arm="image")])
    assert [(board.variant, len(board.rows)) for board in made] == [("image", 2), ("caption", 1)]


@pytest.mark.parametrize(
    ("reason", "name"),
    [
        (UNCHECKED, "not checked"),
        ("an embedded model played: it is for trying the tool, and its score means nothing", "embedded"),
        ("the run is of 3 samples, fewer than 50", "partial"),
        ("the run is not complete: 3 of 9 tasks are done", "partial"),
        ("the candidate and the judge are one model or siblings", "not trusted"),
    ],
)
def test_a_badge_says_why(reason: str, name: str) -> None:
    assert badge([reason]) == Badge(name, (reason,))


def test_a_run_without_a_reason_is_trusted_unless_it_is_not_complete() -> None:
    assert badge(()) == Badge("trusted")
    assert badge((), complete=False) == Badge("partial")


def test_of_several_reasons_the_gravest_is_the_badge_and_all_are_said() -> None:
    few, kin = (
        "the run is of 3 samples, fewer than 50",
        "the candidate and the judge are siblings",
    )
    assert badge([UNCHECKED, few]) == Badge("partial", (UNCHECKED, few))
    assert badge([UNCHECKED, few, kin]) == Badge("not trusted", (UNCHECKED, few, kin))
    told = "an embedded model played: it is for trying the tool"
    assert badge([UNCHECKED, few, kin, told]).name == "embedded"


def test_a_row_says_when_it_was_begun_and_what_a_game_cost() -> None:
    name = "20261122-0826-lotbench-b-ace"
    (board,) = boards([run(name, 0.5)], {name: {"usage": {"cost_usd": 3.0}, "n_traces": 12}})
    (row,) = board.rows
    assert (row.date, row.cost, row.each) == ("2026-11-22 08:26", 3.0, 0.25)
    (board,) = boards([run("x", 0.5)])
    assert (board.rows[0].date, board.rows[0].each) == ("", None)


def test_every_benchmark_shows_the_metric_by_which_its_runs_are_ranked() -> None:
    gallery = Gallery(FOLDER)
    page = gallery.get("index.html").body.decode()
    for metric in ("creativity score", "accuracy 2t1", "macro f1", "average", "ifs"):
        assert f">{metric}</button>" in page
    for name in RUNS:
        assert f"run/{name}.html" in page


@pytest.mark.parametrize("name", [name for name in RUNS if "-killed-" not in name])
def test_a_run_that_is_not_trusted_stands_as_its_summary_has_it_and_no_trace_is_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(FOLDER / name, tmp_path / name)
    run, _ = results.rewritten(load_run(tmp_path / name))
    assert run.summary["reasons"]
    whole = results.entry(run)
    shelf = read_run(run.path)
    monkeypatch.setattr(Traces, "_read", None)
    alone = shelf.entry
    assert alone.abstained == whole.abstained
    [one], [other] = boards([alone], {name: run.summary}), boards([whole], {name: run.summary})
    assert one.metric == other.metric and one.better == other.better
    assert one.rows == other.rows


@pytest.mark.parametrize(
    ("outcome", "score", "graded", "said"),
    [
        ("scored", 1.0, False, "right"),
        ("scored", 0.0, False, "wrong"),
        ("scored", 0.4, True, "scored"),
        ("solved", 1.0, False, "solved"),
        ("judge_failed", None, False, "judge_failed"),
    ],
)
def test_right_and_wrong_are_told_apart(outcome: str, score: float | None, graded: bool, said: str) -> None:
    assert WalkRow("s", 1, outcome, score, None, "", "en", "").verdict(graded) == said


def test_a_report_is_shown_only_if_nothing_in_it_can_run(tmp_path: Path) -> None:
    name = next(one for one in RUNS if "-rinobench-" in one)
    place = tmp_path / name
    place.mkdir()
    for file in (FOLDER / name).iterdir():
        if file.is_file() and file.suffix in (".json", ".jsonl"):
            (place / file.name).write_bytes(file.read_bytes())
    gallery = Gallery(tmp_path)
    assert "report/" not in gallery.get("index.html").body.decode()
    (place / "report.html").write_text("<html><script>alert(1)</script></html>", encoding="utf-8")
    with pytest.raises(LookupError):
        gallery.get(f"report/{name}.html")
    ours = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'sha256-abc='; base-uri 'none'; form-action 'none'\">\n"
    )
    assert harmless(ours) and not harmless(ours.replace("'none'; style", "*; style"))
    (place / "report.html").write_text(ours + "<p>Told.</p>", encoding="utf-8")
    served = gallery.get(f"report/{name}.html")
    assert isinstance(served, Served) and b"Told." in served.body and served.policy == REPORT_POLICY
    assert "script" not in REPORT_POLICY and "sandbox" in REPORT_POLICY
    assert f"report/{name}.html" in gallery.get("index.html").body.decode()
    assert f"report/{name}.html" in list(gallery.addresses())


def test_a_run_that_never_ended_stands_apart(tmp_path: Path) -> None:
    name = next(one for one in RUNS if "-standard-" in one)
    place = tmp_path / name
    place.mkdir()
    for file in ("run.json", "samples.jsonl", "traces.jsonl"):
        (place / file).write_bytes((FOLDER / name / file).read_bytes())
    assert json.loads((place / "run.json").read_text("utf-8"))
    page = Gallery(tmp_path).get("index.html").body.decode()
    assert "Not ended yet" in page and name in page
