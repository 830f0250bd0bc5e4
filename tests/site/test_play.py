"""A person's game: what they see of it, what costs them nothing, giving up, the daily game, and how others did."""

import datetime
import re
from pathlib import Path
from typing import Any

import pytest

from lotbench.benchmarks.lotbench.player_view import around_blank, objection, view
from lotbench.benchmarks.lotbench.settings import Settings, cast
from lotbench.cli import main
from lotbench.harness.state import start
from lotbench.run.evaluate import begin
from lotbench.site.others import others
from lotbench.site.people_runs import of_the_day, play_next
from lotbench.site.play import PlaySite
from lotbench.site.play_result import result
from lotbench.site.runs import Gallery
from tests.episodes import resolved
from tests.games import ask, check, respond, trace
from tests.games import won as solved
from tests.play import SAMPLE, episode
from tests.rules import game_rule
from tests.server import FakeServer
from tests.site.test_view import Ready, client, game, given, joined, runs, sent, text, until

PAST = {"guess": "drum", "status": "ok", "verdict": False, "question": "Is it big?", "answer": "No"}


def seen(history: list[dict[str, Any]], turn: dict[str, Any] | None = None, **settings: Any) -> Any:
    state = start(SAMPLE.id, 1) | {"round": len(history) + 1, "history": history, "turn": turn or {}}
    return episode(resolved(cast, Settings(**settings), judge=1)).at(state)


def test_a_player_sees_the_blank_the_turns_and_when_clues_come_and_no_answer() -> None:
    shown = view(seen([PAST, {**PAST, "clues": ["It is an object."]}], {"guess": "gong", "verdict": False}))
    assert shown.joke == ("My neighbour keeps a(n) ", " in the tank.")
    turns = [(one.number, one.guess, one.counts) for one in shown.turns]
    assert turns == [(1, "drum", False), (2, "drum", False), (3, "gong", False)]
    assert shown.turns[1].clues == ("It is an object.",) and shown.round == 3
    plural = {"frame": "The <MASK> is/are here.", "response": "The drums are here."}
    assert around_blank(SAMPLE.model_copy(update=plural)) == ("The ", " are here."), "a person reads the verb"
    assert (shown.most, shown.clue_rounds, shown.next_clue) == (15, (5, 10), 5)
    assert SAMPLE.key_text not in repr(shown) and SAMPLE.explanation not in repr(shown)


def test_who_is_told_nothing_sees_no_turns_and_no_verdict() -> None:
    shown = view(seen([PAST], {"guess": "gong", "verdict": False}, feedback=False))
    assert [(one.number, one.guess, one.counts) for one in shown.turns] == [(2, "gong", None)]
    assert view(seen([], arm="caption")).picture is None and view(seen([], frame="hidden")).joke is None


@pytest.mark.parametrize(
    ("field", "said", "why"),
    [
        ("guess", "Drum!", "already tried that, in round 1"),
        ("guess", "a drum; a gong", "a list, not one guess"),
        ("guess", "gong " * 9, "longer than 8 words. "),
        ("guess", "锣" * 17, "longer than 16 characters. "),
        ("question", "What is it?", "what, who or how"),
        ("question", "Is it a plant or an animal?", "which of two"),
        ("question", "is it BIG?", "asked that before"),
        ("question", "Big", "not a yes/no question"),
        ("guess", "a gong", None),
        ("question", "Is it small?", None),
    ],
)
def test_what_cannot_be_used_is_said_before_any_is_used_up(field: str, said: str, why: str | None) -> None:
    found = objection(seen([PAST]), field, said)
    assert (found is None) if why is None else (why in str(found) and "Nothing is used up." in str(found))


async def test_a_miss_is_said_at_once_and_a_slip_costs_nothing(tmp_path: Path) -> None:
    with FakeServer(game_rule(solve=0.0)) as server:
        async with client(PlaySite(game(server), tmp_path)) as browser:
            index = await joined(browser, "Ann")
            await given(browser, index, guess="a wooden spoon")
            page = await until(browser, index, 'name="question"')
            assert "not it" in page and "a wooden spoon" in page
            version = re.findall(r'name="version" value="(\d+)"', page)[0]
            told = await sent(browser, f"{index}/answer", {"version": version, "question": "What is it?"})
            assert "Nothing is used up" in told["why"]
            await sent(browser, f"{index}/skip", {"version": version})
            page = await until(browser, index, 'name="guess"')
            version = re.findall(r'name="version" value="(\d+)"', page)[0]
            assert "Round 2 of 3" in page
            for word in ("WRONG-ANS", "&lt;MASK&gt;", "IMAGE CAPTION", "guess:"):
                assert word not in page
            told = await sent(browser, f"{index}/answer", {"version": version, "guess": "Wooden spoon"})
            assert told["why"] == "You already tried that, in round 1. Nothing is used up."
            told = await sent(browser, f"{index}/skip", {"version": version}, 400)
            assert "only a question" in told["error"]


async def test_giving_up_counts_as_unsolved_and_shows_the_answer(tmp_path: Path) -> None:
    with FakeServer(game_rule(solve=0.0)) as server:
        table = PlaySite(game(server, limit=1), tmp_path)
        async with client(table) as browser:
            index = await joined(browser, "Ann")
            await given(browser, index, guess="a wooden spoon")
            page = await until(browser, index, 'name="question"')
            version = re.findall(r'name="version" value="(\d+)"', page)[0]
            await sent(browser, f"{index}/give-up", {"version": version})
            page = await until(browser, index, "Given up after round 1")
            assert table._plan.chosen[0].key_text in page
            [shared] = re.findall(r"<textarea id=\"shared\"[^>]*>([^<]*)<", page)
            assert table._plan.chosen[0].key_text not in shared and "🏳️" in shared
    [run] = runs(tmp_path)
    [episode] = run.traces
    assert (episode.outcome, episode.score.value) == ("unsolved", 0.0)
    journal = (run.path / "calls.jsonl").read_text("utf-8")
    assert journal.count("The player gave up.") == 4, "one question and two guesses with one question"


async def test_a_daily_game_that_was_played_is_shown_again_and_not_played_again(tmp_path: Path) -> None:
    with FakeServer(game_rule(solve=0.0)) as server:
        asked = game(server, samples=(), **{"settings.max_rounds": 1})
        day = datetime.date(2026, 11, 22)
        run = await play_next(of_the_day(asked, day), tmp_path, "Ann", Ready())
        async with client(PlaySite(asked, tmp_path, today=lambda: day)) as browser:
            assert "The game of 22 November 2026" in await text(browser, "")
            index = await joined(browser, "Ann")
            page = await until(browser, index, "Come back tomorrow")
            [sample] = run.samples
            assert f"result/{sample}.html" in page
            shown = await text(browser, f"{index}/result/{sample}.html")
            assert "lotbench, the game of 22 November 2026" in shown
            day += datetime.timedelta(days=1)
            assert "The game of 23 November 2026" in await text(browser, "")
            assert await joined(browser, "Ann") == index
            page = await until(browser, index, 'name="guess"')
            assert "The game of 23 November 2026" in page
            day += datetime.timedelta(days=1)
            page = await text(browser, f"{index}/index.html")
            assert "The game of 23 November 2026" in page, "a game goes on over midnight as what it is"


async def test_others_are_those_who_were_judged_alike(tmp_path: Path) -> None:
    with FakeServer(game_rule(solve=0.0)) as server:
        asked = game(server, **{"settings.max_rounds": 2})
        mine = await play_next(asked, tmp_path, "Ann", Ready())
        await play_next(asked, tmp_path, "Bob", Ready())
        for name, rounds in (("nova", 2), ("other", 1)):
            with_rounds = {"settings.max_rounds": rounds, "repeats": 2}
            await begin(game(server, model=f"{name}@{server.url}", **with_rounds), out=tmp_path)
        found = others(Gallery(tmp_path), "lot-0001", mine.path)
    assert [(one.name, one.rounds) for one in found] == [("", (1,)), ("nova", (None, None))]
    assert (found[0].round, found[1].round, found[1].solved) == (1, None, [])


def test_a_result_in_dots_and_words() -> None:
    won = result(solved("s", 1, 3), 15)
    assert [dot for dot, _ in won.dots] == ["miss", "miss", "found"]
    assert won.words == "Solved in round 3 of 15"
    assert won.text("lotbench") == "lotbench\nSolved in round 3 of 15\n⚪⚪🟢"
    steps = [respond(1), check(1, False), ask(1), *(respond(k, None, "refused") for k in (2, 3))]
    lost = result(trace("s", 1, "unsolved", steps), 3)
    assert (lost.words, lost.given_up, len(lost.dots)) == ("Given up after round 1", True, 1)


def test_a_missing_key_is_said_before_the_page_is_served(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    asked = ["--browser", "--no-browser", "--judge", "gpt-4o-mini", "--out", str(tmp_path)]
    assert main(["play", *asked]) == 2
    told = capsys.readouterr()
    assert "OPENAI_API_KEY" in told.err and "open http" not in told.out


async def test_one_budget_holds_for_all_who_play(tmp_path: Path) -> None:
    with FakeServer(game_rule(solve=0.0)) as server:
        table = PlaySite(
            game(server, **{"settings.judge_mode": "explained", "limits.token_limit": 6_000}), tmp_path
        )
        async with client(table) as browser:
            for name, wanted in (("Ann", 'name="question"'), ("Bob", "the token limit of 6,000 is used up")):
                player = await joined(browser, name)
                await given(browser, player, guess="a wooden spoon")
                await until(browser, player, wanted)
