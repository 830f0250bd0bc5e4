"""The home page as records: which table a run stands in, in which place, how far it is trusted, and what it cost."""

import json
from pathlib import Path

import pytest

from lotbench.benchmarks import metric_words
from lotbench.report.html.page import harmless
from lotbench.report.leaderboard import Entry
from lotbench.site.home import Badge, across, badge, boards
from lotbench.site.page import Served
from lotbench.site.runs import REPORT_POLICY, Gallery
from lotbench.storage.run_folder import Folder
from tests.recorded import FOLDER, RUNS, copied, recorded
from tests.report.test_leaderboard import CONDITIONS


def run(name: str, *values: float, reasons: tuple[str, ...] = (), **more: object) -> Entry:
    by_sample = {f"s{at}": value for at, value in enumerate(values)}
    given = {
        "answered": (name.partition("-b-")[2] or name,),
        "benchmark": "b",
        "failed": 0,
        "conditions": CONDITIONS,
    }
    return Entry(name=name, asked=name, values=by_sample, reasons=reasons, **{**given, **more})  # type: ignore[arg-type]


def test_runs_that_were_not_measured_alike_are_never_numbered_together() -> None:
    other = {**CONDITIONS, "data": "other"}
    (board,) = boards([run("a", 0.5, 0.6, 0.7), run("b", 0.1, 0.2, 0.3, conditions=other)])
    assert [[row.place for row in group.rows] for group in board.groups] == [[1], [1]]
    assert len({group.about for group in board.groups}) == 2


def test_runs_of_chosen_samples_or_without_a_score_are_tries_beside_other_groups() -> None:
    chosen = {"reasons": ("the samples were chosen by name",), "conditions": {**CONDITIONS, "data": "other"}}
    tried = [run(name, 0.1, 0.2, data_set="mine", **chosen) for name in ("b", "c")]  # type: ignore[arg-type]
    (board,) = boards([run("a", 0.5, 0.6), *tried])
    assert [group.tries for group in board.groups] == [False, True]
    (board,) = boards([run("a", 0.5, 0.6), run("no-score")])
    assert [(group.tries, group.rows[0].label) for group in board.groups] == [
        (False, "a"),
        (True, "no-score"),
    ]
    (board,) = boards(tried)
    assert [(group.tries, group.about, group.data) for group in board.groups] == [
        (False, "judge j; mine", "other")
    ]


def test_a_run_that_is_scored_over_shared_samples_says_of_how_many() -> None:
    (board,) = boards([run("a", 0.5, 0.6, 0.7), run("b", 0.1, 0.2)])
    assert [(row.label, row.n, row.of) for row in board.rows] == [("a", 2, 3), ("b", 2, 2)]


@pytest.mark.parametrize("name", RUNS)
def test_every_metric_is_said_in_plain_words(name: str) -> None:
    summary = json.loads((FOLDER / name / "summary.json").read_text("utf-8"))
    assert summary["scores"].keys() <= metric_words(summary["benchmark"]).keys()


def test_weights_are_named_without_their_digest() -> None:
    (board,) = boards([run("a", 0.5, answered=("SmolLM2-135M-Instruct.Q4_1@b179c952",))])
    assert board.rows[0].label == "SmolLM2-135M-Instruct"


UNCHECKED = ("the judge was never checked (unchecked: m)",)


def test_where_nobody_is_trusted_places_are_provisional_and_the_sentence_says_why() -> None:
    few = [run(name, *values, reasons=UNCHECKED) for name, values in (("a", [0.9] * 9), ("b", [0.1] * 9))]
    (board,) = boards([*few, run("c", *[0.95] * 9, reasons=("the candidate and the judge are siblings",))])
    (group,) = board.groups
    assert [(row.label, row.place, row.provisional) for row in group.rows if row.place] == [
        ("a", 1, True),
        ("b", 2, True),
    ]
    assert group.said.startswith("Provisionally (judge not checked): a beats b")
    (board,) = boards([*few, run("t", *[0.5] * 9)])
    assert [(row.label, row.place) for row in board.rows if row.place] == [("t", 1)]


def test_models_that_played_several_benchmarks_stand_across_them() -> None:
    made = boards([run("x-b-a", 0.5), run("y-b-a", 0.25, benchmark="c"), run("z-b-z", 0.1)])
    [(label, rows)] = across(made).items()
    assert label == "a" and [row and row.value for row in rows] == [0.5, 0.25]


def test_a_run_without_a_reason_is_trusted_and_reasons_have_short_forms() -> None:
    assert badge(()) == Badge("trusted")
    assert badge(("the run is of 24 samples, fewer than 50", *UNCHECKED)).in_short == (
        "few samples",
        "judge not checked",
    )


def test_models_that_are_not_clearly_different_share_a_place() -> None:
    ace, pro = ([0.9, 0.8] * 5, [0.8, 0.9] * 5)
    (board,) = boards([run("ace", *ace), run("pro", *pro), run("dud", *[0.1, 0.15] * 5)])
    assert [(row.label, row.place) for row in board.rows] == [("ace", 1), ("pro", 1), ("dud", 3)]
    same = [run(f"20261122-082{at}-b-ace-{at}f", *ace, answered=("ace",)) for at in (6, 7)]
    assert {row.label for row in boards(same)[0].rows} == {"ace (0826)", "ace (0827)"}


def test_a_row_says_when_it_was_begun_and_what_it_cost() -> None:
    name = "20261122-0826-lotbench-b-ace"
    (board,) = boards([run(name, 0.5)], {name: {"usage": {"cost_usd": 3.0}, "n_traces": 12}})
    (row,) = board.rows
    assert (row.date, row.cost) == ("2026-11-22 08:26", 3.0)
    (board,) = boards([run("x", 0.5)])
    assert board.rows[0].date == ""


def test_a_report_is_shown_only_if_nothing_in_it_can_run(tmp_path: Path) -> None:
    place = copied(name := recorded("rinobench"), tmp_path)
    (place / "report.html").unlink()
    gallery = Gallery(place.parent)
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
    place = copied(recorded("standard"), tmp_path)
    (place / "summary.json").unlink()
    page = Gallery(place.parent).get("index.html").body.decode()
    assert "Not ended yet" in page and f"stopped: <code>lotbench resume {place}</code>" in page
    with Folder(place):
        assert ">running<" in Gallery(place.parent).get("index.html").body.decode()
