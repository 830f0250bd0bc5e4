"""Two runs on one page, rows to take away, the way back from a report, and duels on the page of runs."""

import csv
import io
import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lotbench.errors import UsageError
from lotbench.run.loading import load_run
from lotbench.site import compared
from lotbench.site.compared import duels
from lotbench.site.game_rounds import thought, until_given_up
from lotbench.site.home import badge
from lotbench.site.run_summary import EpisodeRow, Shelf
from lotbench.site.runs import Gallery
from tests.recorded import FOLDER, RUNS, recorded

GAME = recorded("lotbench")
ROWS = re.compile(r"<tr data-line.*?</tr>", re.DOTALL)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A game's run, and the same with one game that came out otherwise."""
    root = tmp_path_factory.mktemp("compared")
    for name in ("one", "other"):
        shutil.copytree(FOLDER / GAME, root / name)
    file = root / "other" / "traces.jsonl"
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    for line in lines:
        line.pop("crc")
    lines[4]["score"]["value"] = 0.5 - (lines[4]["score"]["value"] or 0.0)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return root


def text(gallery: Gallery, path: str) -> str:
    return gallery.get(path).body.decode()


def test_two_runs_stand_side_by_side_and_what_differs_comes_first(root: Path) -> None:
    page = text(Gallery(root), "compare/one/other.html")
    changed = load_run(root / "other").traces[4]
    first, *rest = ROWS.findall(page)
    assert 'data-differs="different"' in first and changed.sample in first
    assert all('data-differs="alike"' in row for row in rest) and len(rest) == 5
    assert "1 of 6 scored differently" in page
    # The two scores and their difference stand before the samples.
    head = page[: page.index("scored differently")]
    assert head.count('class="big"') == 3 and head.count("95 % interval 0.11 to 0.53</p>") == 2
    assert "neither is ahead" in head and 'aria-label="difference 0.00, against 0"' in head
    # What it says of both is what `compare` says, and its sections stand below.
    assert "candidate (one) and candidate (other) are not clearly different." in page
    assert ">Ranking, variant image" in page
    both = f"other/{changed.sample}-{changed.repeat}.html"
    assert f'href="{both}" data-row' in first and "____" in first, "the joke with its blank is what was asked"


def test_both_games_of_a_sample_stand_on_one_page_that_leads_on_and_back(root: Path) -> None:
    changed = load_run(root / "other").traces[4]
    both = f"other/{changed.sample}-{changed.repeat}.html"
    games = text(Gallery(root), f"compare/one/{both}")
    assert games.count("<img") <= 1 and "the largest difference first" in games
    assert games.count('id="r1"') == games.count('id="br1"') == 1 and ">Next: " in games
    for name in ("one", "other"):
        link = f'href="../../../game/{name}/{both.removeprefix("other/")}" data-pair="one/other">'
        assert f"{link}whole game</a>" in games
    assert 'href="../other.html" data-key="u"' in games and ">Previous: " not in games
    with pytest.raises(LookupError):
        Gallery(root).get("compare/one/other/nothing-1.html")
    with pytest.raises(UsageError, match="not compared with itself"):
        Gallery(root).get("compare/one/one.html")


def test_what_cannot_be_ranked_says_why_and_its_samples_stand_there_all_the_same(tmp_path: Path) -> None:
    shutil.copytree(FOLDER / GAME, tmp_path / "game")
    shutil.copytree(FOLDER / recorded("hicbench"), tmp_path / "ideas")
    (tmp_path / "ideas" / "summary.json").unlink()
    page = text(Gallery(tmp_path), "compare/game/ideas.html")
    assert "They cannot be ranked" in page and "go on with: lotbench resume" in page
    assert page.count("not played") == len(ROWS.findall(page)) == 9
    for file in re.findall(r'href="(ideas/[^"]*)" data-row', page):
        assert "<p>Not played.</p>" in text(Gallery(tmp_path), f"compare/game/{file}")


@pytest.mark.parametrize("name", sorted({*RUNS} - {GAME}))
def test_every_benchmark_says_what_was_asked_and_answered(name: str) -> None:
    gallery = Gallery(FOLDER)
    page, shelf = text(gallery, f"run/{name}.html"), gallery.shelf(name)
    assert all(shelf.asked_text(row.sample) for row in shelf.rows)
    assert len(ROWS.findall(page)) == len({row.sample for row in shelf.rows}), "repeats share a row"
    assert page.count(" data-row>") == len(shelf.rows)
    answered = [row for row in shelf.rows if row.answer]
    assert answered and all(row.answer.split()[0] in page for row in answered)


@pytest.mark.parametrize("what", ["rows", "steps"])
def test_rows_are_those_of_the_frame(root: Path, what: str) -> None:
    gallery, run = Gallery(root), load_run(root / "one")
    frame = run.to_frame() if what == "rows" else run.steps_frame()
    table = list(csv.DictReader(io.StringIO(text(gallery, f"{what}/one.csv"))))
    lines = [json.loads(line) for line in text(gallery, f"{what}/one.jsonl").splitlines()]
    assert len(table) == len(lines) == len(frame)
    assert set(table[0]) == set(frame.columns) and table[0]["sample"] == frame.loc[0, "sample"]
    assert f'href="../{what}/one.csv" download' in text(gallery, "run/one.html")


def test_a_folder_of_files_has_no_ticks(root: Path) -> None:
    gallery = Gallery(root)
    assert text(gallery, "index.html").count("data-tick=") == 2
    gallery.live = False
    assert "data-tick=" not in text(gallery, "index.html").split("<script>")[0]


def test_words_that_only_we_know_are_gone(root: Path) -> None:
    assert badge(("an embedded model played: its numbers mean nothing",)).in_short == ("tiny model",)
    page = text(Gallery(root), f"game/one/{load_run(root / 'one').traces[0].sample}-1.html").split(
        "<script>"
    )[0]
    assert "test of the chain, draw 5" in page and "trial of the chain" not in page
    assert "host" not in re.sub(r"<[^>]*>", "", page)


def test_rounds_after_giving_up_are_none() -> None:
    rounds: Any = [SimpleNamespace(status=status) for status in ("ok", "refused", "ok", "refused", "refused")]
    assert until_given_up(rounds) == 3 and until_given_up(rounds[-2:]) == 0


def test_a_game_says_how_it_ended_who_judged_it_and_why_each_guess_missed(root: Path) -> None:
    shelf = Gallery(root).shelf("one")
    for row, trace in zip(shelf.rows, shelf.run.traces, strict=True):
        page = text(Gallery(root), f"game/one/{row.file}")
        ended = f"Solved in round {row.solved} of 7" if row.solved else f"Not solved in {row.rounds} rounds"
        assert f">{ended}</h1>" in page
        assert "judged by judge-0, judge-1" in page
        assert ">not trusted</span>" in page
        for leap in thought(trace, {}).leaps:
            shown = page.partition(f' id="r{leap.round.number}"')[2].partition("</section>")[0]
            [why] = re.findall('<p class="reason quiet" dir="auto">([^<]+)', shown) or [""]
            last, _, reasons = leap.opinions[-1] if leap.opinions else (None, (), ())
            if last and last.how == "judge" and last.accepted is not None:
                assert (why, last.accepted) in [(told, ": no" not in name) for name, told in reasons]
            else:
                assert why == ("guessed before" if last and last.how == "repeat" else "")


def test_a_persons_game_ends_in_one_line_where_they_gave_up(root: Path, tmp_path: Path) -> None:
    for name, model in (("person", "human:Ann"), ("model", "gpt-4o-mini")):
        shutil.copytree(root / "other", tmp_path / name)
        table = json.loads((tmp_path / name / "run.json").read_text("utf-8"))
        table["experiment"]["model"] = model
        (tmp_path / name / "run.json").write_text(json.dumps(table), "utf-8")
        lines = (tmp_path / name / "traces.jsonl").read_text("utf-8").splitlines()
        traces = [json.loads(line) for line in lines]
        first = next(trace for trace in traces if trace["outcome"] == "unsolved")
        for step in first["steps"]:
            if step["step"] == "respond" and step["round"] > 3:
                step["value"] = {"guess": None, "status": "refused"}
        (tmp_path / name / "traces.jsonl").write_text("\n".join(map(json.dumps, traces)) + "\n", "utf-8")
    pages = [
        text(Gallery(tmp_path), f"game/{name}/{first['sample']}-{first['repeat']}.html").split("<script>")[0]
        for name in ("person", "model")
    ]
    assert [page.count('class="leap"') for page in pages] == [3, 7]
    assert " for round 4<" in pages[0], "a clue after the last round says which round it was for"
    assert ["Ended by the player after round 3." in page for page in pages] == [True, False]


def test_of_two_games_the_one_with_a_score_alone_differs() -> None:
    def row(score: float | None, outcome: str = "scored") -> EpisodeRow:
        return EpisodeRow("a", 1, outcome, score, None, None, "", "")

    def line(*rows: EpisodeRow | None) -> compared.Line:
        return compared.Line("a", 1, rows)  # type: ignore[arg-type]

    assert not line(row(1.0), row(1.0)).differs and line(row(1.0), row(0.5)).gap == 0.5
    assert line(row(1.0), None).differs and line(row(None), row(None, "judge_failed")).differs


def test_runs_that_name_one_duel_are_a_duel_and_others_with_one_order_are_none(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelves = [Gallery(root).shelf(name) for name in ("one", "other")]

    def named(*duels: str) -> list[Shelf]:
        asked = {"samples": ("lot-0070", "lot-0001", "lot-0003")}
        return [
            replace(
                shelf, run=replace(shelf.run, duel=duel, config=shelf.run.config.model_copy(update=asked))
            )
            for shelf, duel in zip(shelves, duels, strict=True)
        ]

    def look(runs: Sequence[object]) -> SimpleNamespace:
        return SimpleNamespace(at=2, of=4, level=0.003, lines=["a beats b"])

    monkeypatch.setattr(compared, "last_look", look)
    [(about, both, lines)] = duels(named("d", "d"))
    assert about == "lotbench, comparison 2 of 4" and len(both) == 2 and lines == ["a beats b"]
    assert duels(named("", "")) == duels(named("d", "e")) == []
