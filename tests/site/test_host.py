"""Games without a key: judged by the lists of their sample and else by the player, answered by facts."""

import asyncio
import datetime
import io
import json
import re
import threading
import time
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from rich.console import Console

from lotbench.benchmarks.lotbench import player_view
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.cli import main
from lotbench.cli.people import KEYLESS
from lotbench.cli.play_terminal import play_here
from lotbench.config import experiment as config
from lotbench.config.experiment import Config
from lotbench.errors import Unescapable
from lotbench.run import results
from lotbench.run.loading import Run
from lotbench.site import facts, host, nouns, play
from lotbench.site.game_rounds import in_blank
from lotbench.site.host import OWN_WORD, answer, lists, stems, suggested, verdict
from lotbench.site.people_runs import ANSWERED, of_a_day, planned
from lotbench.site.play import PlaySite
from lotbench.site.player import CONSENT, Player
from lotbench.storage import datasets
from lotbench.types import Request
from tests.site.test_view import TOKEN, client, given, joined, sent, until

EASY = {item.id: item for item in datasets.samples(datasets.data_folder("", "lotbench_easy"), Item)}
SLOPE = EASY["lot-0034"]
SCHOOL = next(item for item in EASY.values() if item.key_text == "kindergarten")


def keyless(**asked: Any) -> Config:
    return config.load(None, (), {"benchmark": "lotbench", "model": "human", **KEYLESS, **asked})


@pytest.mark.parametrize("name", ["lotbench", pytest.param("lotbench_easy", marks=pytest.mark.slow)])
def test_the_lists_of_every_sample_are_told_apart(name: str) -> None:
    for sample in datasets.samples(datasets.data_folder("", name), Item):
        refused = [*(one.text for one in sample.reject), *sample.near]
        for counts, texts in ((True, (sample.key_text, *sample.accept)), (False, refused)):
            assert {text: verdict(sample, text)[0] for text in texts} == dict.fromkeys(texts, counts)


@pytest.mark.parametrize(
    ("guess", "counts"),
    [
        ("to ski", True), ("Snow boarding!", True), ("downhill skiing", True), ("sking", True),
        ("mountain climb", False), ("an ice fishing trip", False), ("banana", False),
        ("a large screen", False), ("sailing", None), ("My angry girlfriends", False), ("vampire party", False),
        ("a qwertic mother", None), ("kitesurfing", None),
    ],
)  # fmt: skip
def test_near_forms_of_a_guess(guess: str, counts: bool | None) -> None:
    assert verdict(SLOPE, guess)[0] is counts


def test_a_noun_of_another_kind_is_refused_and_hardly_ever_a_right_guess_that_was_on_no_list() -> None:
    common = ["mother", "girlfriend", "vampire", "noodle", "pizza", "wedding", "plumbers", "a prime minister"]
    english = [sample for sample in EASY.values() if sample.language == "en"]
    decided = [verdict(sample, word)[0] for sample in english for word in common]
    assert decided.count(None) < 0.12 * len(decided)
    refused: dict[bool, list[bool]] = {True: [], False: []}
    for sample in EASY.values():
        right, wrong = lists(sample)
        for counts, texts in ((True, [*right][1::12]), (False, [*wrong][::24])):
            for text in texts:
                others = [other for other in right if stems(other) != stems(text)]
                refused[counts].append(nouns.is_other_kind(sample.key_text, text, others))
    assert sum(refused[True]) < 0.02 * len(refused[True]) and sum(refused[False]) > 0.2 * len(refused[False])


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Is it a sport?", "Yes"), ("Is it not a sport?", "No"), ("Is it an animal or a plant?", "No"),
        ("Is it something that has to do with winter?", "Yes"), ("Can you eat it?", "No"),
        ("Is it bigger than a car?", "No"), ("Is it related to taxidermy?", "Unclear"),
        ("Is it something people do for fun?", "Yes"), ("Is it chess?", "No"), ("Is it an animal?", "No"),
        ("Is it it?", "Unclear"), (f"Is it {'not ' * 3000}a sport?", "Unclear"),
        ("lot-0002: Does it have four legs?", "Unclear"), ("lot-0025: Does it have four legs?", "No"),
        ("lot-0013: Is it a person?", "No"), ("lot-0005: Is it used indoors?", "Unclear"),
        ("lot-0033: Is it more than one person?", "Unclear"), ("lot-0050: Is it dangerous?", "Unclear"),
        ("lot-0062: Is it found outdoors?", "Yes"), ("lot-0025: Is it a man?", "Unclear"),
        ("lot-0046: is it somebody who has power over us?", "Unclear"), ("lot-0046: Can it sing?", "Unclear"),
        ("lot-0016: is it someone who has drunk too much?", "Unclear"), ("lot-0028: Does it give milk?", "Yes"),
        ("lot-0002: Is it somebody who sleeps?", "No"), ("lot-0058: Do you squeeze it with both hands?", "Yes"),
        ("lot-0036: Is it someone who teaches?", "Unclear"), ("lot-0045: Do several people take part?", "Yes"),
        ("lot-0057: Is it eaten with a fork?", "Yes"), ("lot-0002: Is it eaten with a fork?", "No"),
    ],
)  # fmt: skip
def test_a_question_is_answered_where_the_sample_decides(question: str, said: str) -> None:
    name, _, question = question.rpartition(": ")
    assert answer(EASY[name or SLOPE.id], question) == said


def test_hardly_a_labelled_question_is_answered_wrongly() -> None:
    lines = (datasets.shipped("data", "judge_sets") / "oracle.jsonl").read_text("utf-8").splitlines()
    rows = list(map(json.loads, lines))
    said = [(row["language"], answer(EASY[row["sample"]], row["question"]), row["label"]) for row in rows]
    answered = [(language, (told == "Yes") == label) for language, told, label in said if told != "Unclear"]
    assert [language for language, _ in answered].count("en") > 0.54 * 272
    assert sum(not right for _, right in answered) <= 0.01 * len(answered)


def test_each_english_easy_sample_has_likely_guesses_of_both_kinds_and_none_of_both() -> None:
    table = tomllib.loads((datasets.shipped("data", "lotbench_easy") / "guesses.toml").read_text("utf-8"))
    assert set(table) == {sample.id for sample in EASY.values() if sample.language == "en"}
    for name, (right, wrong) in table.items():
        assert len(right.split(", ")) >= 7 and len(wrong.split(", ")) >= 30, name
        accepted, refused = ({stems(text) for text in of} for of in lists(EASY[name]))
        assert all(accepted | refused), name
        for counts, of in zip((True, False), lists(EASY[name]), strict=True):
            both = [text for text in of if stems(text) in accepted & refused]
            assert {verdict(EASY[name], text)[0] for text in both} <= {counts}, name
    men = [("lot-0042", "butler"), ("lot-0042", "father"), ("lot-0050", "grandma"), ("lot-0031", "customer")]
    assert {verdict(EASY[name], guess)[0] for name, guess in men} == {False}, "tapping her foot"
    assert {verdict(EASY["lot-0017"], guess)[0] for guess in ("donkey milk bath", "bath of lava")} == {True}
    # Other nouns with most letters of an accepted one were typing errors.
    slips = [("lot-0017", "waiter"), ("lot-0016", "feather"), ("lot-0013", "river"), ("lot-0002", "tablet")]
    assert not any(verdict(EASY[name], guess)[0] for name, guess in slips)


def test_each_easy_sample_has_facts_in_known_words_and_questions_to_pick() -> None:
    table = tomllib.loads((datasets.shipped("data", "lotbench_easy") / "facts.toml").read_text("utf-8"))
    named = {sample.key_text for sample in EASY.values()}
    assert named == set(table["key_texts"]) and set(table["asks"]) <= set(table["words"])
    assert {*table["implies"], *" ".join(table["implies"].values()).split()} <= set(table["words"])
    for sample in EASY.values():
        asked: list[str] = []
        while offered := suggested(sample, asked):
            asked += offered
        assert len(asked) >= 10 and {answer(sample, question) for question in asked} == {"Yes", "No"}, (
            sample.id
        )


def test_no_question_is_offered_that_a_yes_or_a_clue_has_answered() -> None:
    assert answer(SCHOOL, "Is it a school?") == "Yes" and SCHOOL.clues[0] == "It is a place."
    assert "Is it related to school?" not in suggested(SCHOOL, ["Is it a school?"])
    assert "Is it an object?" not in suggested(SCHOOL, [], SCHOOL.clues[:1])
    several = "These are people, and there are usually more than one."
    assert "Does it involve a group of people?" in facts.mentioned(several)


def test_the_order_of_a_day_has_short_blanks_first_and_no_picture_twice_running() -> None:
    asked = keyless(data="lotbench", languages=["en"])
    given = ((1, "Ann"), (1, "ann"), (2, "Ann"), (1, "Bob"))
    days = [of_a_day(asked, datetime.date(2026, 11, day), name).experiment.samples for day, name in given]
    assert days[0] == days[1] and len({names[:5] for names in days}) == 3, "each has five games of their own"
    assert sorted(days[0]) == sorted(days[2])
    by_id = {item.id: item for item in planned(asked).data}
    shown = [by_id[name] for name in days[0]]
    assert {item.language for item in shown} == {"en"} and len(shown[0].key_text.split()) == 1
    assert all(one.image != other.image for one, other in pairwise(shown))


def test_the_first_games_of_a_day_are_none_whose_answer_is_told_elsewhere() -> None:
    for day in range(1, 29):
        names = of_a_day(keyless(languages=["en"]), datetime.date(2026, 2, day), "Ann").experiment.samples
        assert sorted(names[-len(ANSWERED) :]) == sorted(ANSWERED)


async def played(tmp_path: Path, lines: Iterator[str]) -> tuple[Run, str]:
    written = io.StringIO()
    console = Console(file=written, width=80, force_terminal=False)
    game = play_here(
        keyless(samples=["lot-0034"]),
        tmp_path,
        Player("", "Ann", day=datetime.date(2026, 1, 3)),
        console,
        lambda before: next(lines),
    )
    return await asyncio.wait_for(game, 60), written.getvalue()


async def test_the_player_decides_where_the_lists_cannot_tell(tmp_path: Path) -> None:
    lines = io.StringIO(
        "mountain climb\nIs it related to taxidermy?\n1\nsailing\njuggling\nkiting\nshow\n\nyes"
    )
    run, shown = await played(tmp_path, map(str.strip, lines))
    assert run.traces[0].outcome == "solved" and "Solved in round 2 of 6, by your own word" in shown
    flat = " ".join(shown.split())
    assert "I can't tell. Ask me in simpler words" in flat
    assert f"1 {suggested(SLOPE, [])[0]}" in flat
    assert f"host: {answer(SLOPE, suggested(SLOPE, [])[0])}" in flat
    assert "Yours: A terrible year for sales, but a splendid one for kiting." in flat.replace(
        "│ ", ""
    ).replace(" │", "")
    assert "Type yes or no." in shown and "not it: sailing" not in shown
    assert "“juggling” is not on my lists" in flat
    assert "✕ not it: mountain climb" in shown and "clue: It is something" in shown
    assert run.summary["rankable"] is False
    checks = [step["value"] for step in run.traces[0].steps if step["step"] == "check"]
    assert [OWN_WORD in repr(one) for one in checks] == [False, True]


async def test_a_word_of_the_caption_fails_and_quit_ends_anywhere(tmp_path: Path) -> None:
    with pytest.raises(Unescapable, match="lotbench play --daily --name Ann"):
        await played(tmp_path, iter(["screen", "q"]))
    with pytest.raises(Unescapable, match="lotbench play --daily --name Ann"):
        await played(tmp_path, iter(["", "quit"]))
    run, shown = await played(tmp_path, iter(["", "", "to ski"]))
    assert "Type a word or two. Nothing is used up." in shown
    assert "✕ not it: screen (that is in the picture already)" in shown
    assert run.traces[0].outcome == "solved" and "Solved in round 2 of 6" in shown


async def test_a_guess_in_the_place_of_a_question_is_one_and_a_letter_is_none(tmp_path: Path) -> None:
    run, shown = await played(tmp_path, iter(["chess", "y", "4", "banana", "它是动物吗", "n", "2", "to ski"]))
    assert "✕ not it: banana" in shown and "not a yes/no question" not in shown
    assert shown.count("That is no word. Nothing is used up.") == 4
    assert "to share: lotbench #3  Solved in round 3 of 6" in shown and run.summary["scores"]


@pytest.mark.parametrize(
    ("text", "is_question"),
    [
        ("is it something red", True), ("Does the answer fly", True), ("can you eat it", True), ("它是动物吗", True),
        ("isn't it red", True), ("is broke", False), ("can opener", False), ("did the dishes", False),
    ],
)  # fmt: skip
def test_a_question_needs_no_question_mark_and_a_guess_may_begin_like_one(
    text: str, is_question: bool
) -> None:
    assert (facts.may_ask(text) and player_view.is_question(text)) is is_question


def test_a_question_that_names_what_counts_is_never_answered_no() -> None:
    """ "I think it is a coat" was answered No, and then the guess coat won."""
    english = [item for item in EASY.values() if item.language == "en"][::4]
    denied = [text for item in english for text in lists(item)[0] if answer(item, f"Is it {text}?") == "No"]
    assert denied == []


def test_a_statement_amounts_to_a_question() -> None:
    asked = {"it is something you wear": "Is it something you wear?", "maybe an animal": "Is it an animal?"}
    asked |= {"It’s a person.": "Is it a person?", "its a sport": "Is it a sport?", "you eat": "you eat"}
    asked |= {text: text for text in ("Is it red", "its owner", "an animal")}
    assert {text: facts.as_question(text) for text in asked} == asked
    # A post of 98 kB held up the server for 48 s.
    began, longest = time.process_time(), "maybe " * 16_400 + "\nx"
    assert facts.as_question(longest) == longest and facts._STATEMENT.fullmatch(longest) is None
    assert time.process_time() - began < 1


def test_a_question_that_names_the_answer_is_one() -> None:
    asking: Any = SimpleNamespace(phase="ask", _game=SimpleNamespace(sample=SLOPE))
    assert Player._asks(asking, "Is it skiing?") and Player._asks(asking, "is it skiing")
    assert not Player._asks(asking, "skiing")


async def test_the_field_of_the_question_takes_a_guess_too_and_enter_leaves_the_question_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    phases: list[str] = []
    answer_of = Player.answer

    def answering(self: Player, version: int, fields: dict[str, str]) -> str | None:
        phases.append(f"{self.phase}: {fields}")
        return answer_of(self, version, fields)

    monkeypatch.setattr(Player, "answer", answering)
    async with client(PlaySite(keyless(samples=["lot-0034"]), tmp_path)) as browser:
        index = await joined(browser, "Ann")
        await until(browser, index, 'name="guess"')
        assert "That is a question." in str(await given(browser, index, guess="it is red"))
        await given(browser, index, guess="mother")
        page = await until(browser, index, "Ask a yes/no question, or type your next guess")
        assert SLOPE.clues[0] == "It is something people do for fun." and "related to fun?" not in page
        first = await given(browser, index, question="is it qwertic")
        assert "Ask me in simpler words" in str(first)
        assert "can't tell that either" in str(await given(browser, index, question="is it blorby"))
        assert "Type a question or your next guess." in str(await given(browser, index, question="mother"))
        await given(browser, index, question="vampire")
        page = await until(browser, index, "Round 2 of 6")
        page = await until(browser, index, 'name="question"')
        assert page.count(">not it<") == 2 and ">vampire<" in page and SLOPE.clues[0] in page
        assert phases[-2:] == ["ask: {'question': 'vampire'}", "judge: {'guess': 'vampire'}"]
        await given(browser, index, question="it is something you eat")
        assert "Is it something you eat?" in await until(browser, index, "Round 3 of 6")
        await given(browser, index, guess="noodle")
        await until(browser, index, 'name="question"')
        await given(browser, index, question="kiting")
        page = await until(browser, index, "not on my lists")
        assert "Round 4 of 6" in page, "a guess that nobody can judge is free there, too"
        await given(browser, index, guess="to ski")
        await until(browser, index, "Solved in round 4")


async def test_who_is_shown_the_answer_and_says_no_has_ended_the_game(tmp_path: Path) -> None:
    run, shown = await played(tmp_path, iter(["sailing", "show", "no"]))
    assert run.traces[0].outcome == "unsolved"
    assert "Not solved: you looked at the answer" in shown
    assert "splendid one" in shown


async def test_the_end_shows_before_the_report_is_written_and_more_can_be_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, may_write = results.write, threading.Event()
    monkeypatch.setattr(results, "write", lambda *of, **how: may_write.wait(60) and write(*of, **how))
    table = PlaySite(keyless(samples=[SCHOOL.id, "lot-0034"], limit=1), tmp_path, private=True)
    async with client(table) as browser:
        index = str((await sent(browser, "join", {"name": "you"}))["go"]).removesuffix("/index.html")
        await given(browser, index, guess=next(iter(lists(SCHOOL)[1])))
        assert "The next clue tells you that." in str(await given(browser, index, question="it's a place"))
        await given(browser, index, question="kindergarden")
        assert "That's it (spelled kindergarten)." in await until(browser, index, "Solved in round 2")
        await sent(browser, f"{index}/next", {})
        page = await until(browser, index, "Play 1 more")
        assert "1 of 1 solved with 2 guesses" in page and "You said <b>kindergarden</b>" in page
        may_write.set()
        await sent(browser, f"{index}/more", {})
        await until(browser, index, 'name="guess"')
    assert not list(tmp_path.glob("*/consent.json")), "nobody was asked"


async def test_a_game_that_ends_while_its_page_is_made_shows_its_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, made_slowly, judge = play.screen, threading.Event(), host.Host.__call__

    def slow(name: str, *rest: Any, **values: Any) -> Any:
        if name == "play" and values["player"].phase == "judge":
            made_slowly.set()
            while values["player"].phase == "judge":
                time.sleep(0.01)
        return made(name, *rest, **values)

    async def late(self: host.Host, request: Request) -> Any:
        if request.key.step != "preflight":
            await asyncio.to_thread(made_slowly.wait, 60)
        return await judge(self, request)

    monkeypatch.setattr(play, "screen", slow)
    monkeypatch.setattr(host.Host, "__call__", late)
    table = PlaySite(keyless(samples=[SCHOOL.id, "lot-0034"]), tmp_path, private=True)
    async with client(table) as browser:
        index = str((await sent(browser, "join", {"name": "you"}))["go"]).removesuffix("/index.html")
        await given(browser, index, guess="kindergarten")
        async with browser.get(f"/{TOKEN}/{index}/index.html") as got:
            assert "Solved in round 1" in await got.text()


async def test_on_a_page_the_answer_comes_only_when_it_is_asked_for(tmp_path: Path) -> None:
    async with client(PlaySite(keyless(samples=["lot-0034"]), tmp_path)) as browser:
        index = await joined(browser, "Ann")
        await given(browser, index, guess="sailing")
        page = await until(browser, index, "I cannot tell: it is not on my lists.")
        assert "A clue comes after each of your first 4 misses." in page, "six rounds, four clues"
        assert "for skiing" not in page and "See the answer and decide" in page
        assert page.index('name="guess"') < page.index("Call it a miss"), "the next guess is the free one"
        await given(browser, index, guess="kiting")
        page = await until(browser, index, "not on my lists")
        assert "Round 1 of 6" in page and "sailing" not in page and "Give up and show me" in page
        assert "That is a question." in str(await given(browser, index, guess="Is it a sport?"))
        told = await sent(browser, f"{index}/says", {"said": "counts"}, 400)
        assert "answered already" in told["error"]
        await sent(browser, f"{index}/says", {"said": "miss"})
        page = await until(browser, index, "or pick one:")
        assert "Round 1 of 6" in page and "not it" in page and suggested(SLOPE, [])[0] in page
        await given(browser, index, question="Is it a sport?")
        page = await until(browser, index, "Round 2 of 6")
        assert SLOPE.clues[0] in page
        await given(browser, index, guess="juggling")
        await until(browser, index, "not on my lists")
        await sent(browser, f"{index}/says", {"said": "show"})
        page = await until(browser, index, "It does not")
        assert page.index("Is yours the same idea") < page.index(SLOPE.explanation[:30])
        version = re.findall(r'data-version="(\d+)-', page)[0]
        told = await sent(browser, f"{index}/answer", {"version": version, "guess": "skiing"}, 400)
        assert "answered already" in told["error"], "the answer is known: no other guess is taken"
        assert "<mark>skiing</mark>" in page and SLOPE.explanation[:30] in page
        await sent(browser, f"{index}/says", {"said": "counts"})
        page = await until(browser, index, "by your own word")
        assert "⚪💡🟡" in page and ">Yours<" in page
        assert page.index(">juggling<") < page.index(">The original<")


def test_a_blank_repeats_no_word_before_it() -> None:
    pairs = [("the planets", "Behold the "), ("his mom", "Only his "), ("a", "a "), ("his mom", "")]
    assert [in_blank(guess, (before, ".")) for guess, before in pairs] == ["planets", "mom", "a", "his mom"]


def test_a_pipe_may_play_without_a_key_and_a_consent_is_short_until_more_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    assert main(["play", "--sample", "lot-9999"]) == 2
    assert "lot-9999" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO("skiing:\n\nto ski\n"))
    assert main(["play", "--sample", "lot-0034"]) == 0
    shown = capsys.readouterr().out
    assert "human:you" in shown and "name: 1 to 40 letters" in shown and "not trusted" not in shown
    assert "the lists of the samples judge" in shown and "stays on this machine" in shown
    assert "Do you agree?" not in shown and not list(tmp_path.rglob("consent.json"))
    monkeypatch.setattr("sys.stdin", io.StringIO("help\nQuit\n"))
    assert main(["play", "--sample", "lot-0034"]) == 0
    assert capsys.readouterr().out.count("“quit” leaves") == 1, "neither is a name"
    monkeypatch.setattr("sys.stdin", io.StringIO("Bob\nmore\nyes\nto ski\n"))
    assert main(["play", "--sample", "lot-0034", "--host", "0.0.0.0"]) == 0
    shown = capsys.readouterr().out
    assert f"{CONSENT}\njudge: python:lists\noracle: python:lists" in shown
    assert "Solved in round 1 of 6" in shown
    assert "may be published.\nDo you agree?" in shown

    for said in ("Given up at once", "Today's game is done; the next one is tomorrow, in "):
        monkeypatch.setattr("sys.stdin", io.StringIO("give up\n"))
        assert main(["play", "--daily", "--name", "Cy"]) == 0 and said in capsys.readouterr().out

    async def stopped(*_: Any) -> None:
        raise asyncio.CancelledError

    assert main(["play", "--name", "Ann", "--judge", "gpt-4o-mini"]) == 2
    assert "without a key: lotbench play" in capsys.readouterr().err
    monkeypatch.setattr("lotbench.cli.play_terminal.play_here", stopped)
    assert main(["play", "--name", "Ann"]) == 130 and "lotbench play --name Ann\n" in capsys.readouterr().out


def test_of_a_long_text_only_the_head_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Letters are compared in quadratic time, and the page of all players waits meanwhile."""
    compared = Mock(wraps=host.SequenceMatcher)
    monkeypatch.setattr(host, "SequenceMatcher", compared)
    verdict(SLOPE, "skiing \ufdfa" * 12_000)
    assert compared.called and max(len(call.args[1]) for call in compared.call_args_list) < 5_000
    assert lists(SLOPE) is lists(SLOPE), "they take longer to make than the guess to judge"
