"""The paper preset turns every setting that can be read in two ways to what the paper says to the letter."""

from collections import Counter
from typing import Any

import pytest

from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.lotbench.settings import Settings, cast, reveals
from lotbench.benchmarks.lotbench.task import benchmark
from lotbench.cli import people
from lotbench.cli.parser import parser
from lotbench.config.arm import score_settings
from lotbench.config.experiment import load
from lotbench.errors import UsageError
from lotbench.run.plan import reference
from lotbench.storage import datasets
from tests.episodes import resolved
from tests.fakes import text_of
from tests.pages import ROOT
from tests.play import GUESSES, NO, SAMPLE, YES, at, candidate, judge, oracle, play, said_to_candidate, shape

LITERAL: dict[str, Any] = {
    "max_rounds": 15, "arm": "image+caption", "ask": True, "clues": True, "feedback": True,
    "clue_interval": 5, "clue_reveal": "grouped", "framework": "direct", "wording": "paper",
    "judged": "every", "judge_mode": "causal", "chain": "per_call", "verdict": "first", "confirm": "never",
    "oracle_sees": "key_text", "oracle_says": "yes_no", "round_origin": 0, "unsolved": "cap", "alpha": 0.2,
    "beta": 1.0,
}  # fmt: skip
PAPER_SILENT = {"votes", "max_words", "max_characters"}
"""The paper says nothing of these: votes of CoT-SC here, length of a guess, rows judged again."""
ARMS_OF_OURS = {
    "frame": "shown", "frame_ladder": "half_whole", "encore": False, "conversation": "fresh",
    "max_response_words": 20, "max_response_characters": 30,
}  # fmt: skip
"""Arms that the paper does not have; their defaults are its game."""
OURS = {
    "clue_reveal", "wording", "judged", "chain", "verdict", "confirm", "oracle_sees", "oracle_says", "unsolved",
}  # fmt: skip
"""Where our default is another reading than the letter."""

PATH = datasets.shipped("configs", "paper", "lotbench.toml")


def test_the_preset_turns_every_setting_to_the_letter_of_the_paper_but_where_it_is_silent() -> None:
    assert load(PATH).experiment.settings == LITERAL
    assert set(LITERAL) | PAPER_SILENT | set(ARMS_OF_OURS) == set(Settings.model_fields)
    assert {name: getattr(Settings(), name) for name in ARMS_OF_OURS} == ARMS_OF_OURS
    assert not set(LITERAL) & PAPER_SILENT


def test_the_defaults_differ_from_the_letter_where_the_spec_settles_it_otherwise() -> None:
    differing = {name for name, value in LITERAL.items() if getattr(Settings(), name) != value}
    assert differing == OURS


def test_the_preset_is_the_one_that_reports_compare_with() -> None:
    name, settings = reference(benchmark, benchmark.Settings())
    assert name == "paper/lotbench"
    assert settings == Settings(**LITERAL)


def test_the_preset_names_the_papers_repeats_judge_and_oracle() -> None:
    experiment = load(PATH).experiment
    assert (experiment.benchmark, experiment.repeats) == ("lotbench", 3)
    assert (experiment.data, experiment.languages) == ("lotbench_easy", ("en",))
    assert experiment.roles == {"judge": ("gpt-4o-mini",), "oracle": ("gpt-4o-mini",)}
    assert experiment.sampling == {}


def test_the_preset_opens_with_the_command_that_runs_it() -> None:
    first = PATH.read_text(encoding="utf-8").splitlines()[0]
    assert first == "# lotbench evaluate --config configs/paper/lotbench.toml --model gpt-4o-mini"


def test_settings_that_change_the_score_alone_are_those_that_no_message_depends_on() -> None:
    scored = {"round_origin", "unsolved", "alpha", "beta"}
    assert score_settings(Settings()) == scored


def test_the_preset_hides_no_clue_of_any_shipped_sample() -> None:
    items = datasets.samples(datasets.data_folder("", "lotbench_easy"), Item)
    assert len(items) >= 106
    for item in items:
        shown = [clue for clues in reveals(item.clues, Settings(**LITERAL)) for clue in clues]
        assert shown == [*item.clues]


def lengths(name: str, language: str) -> Counter[int]:
    items = [
        one for one in datasets.samples(datasets.data_folder(name, name), Item) if one.language == language
    ]
    return Counter(len(one.key_text.split() if language == "en" else one.key_text) for one in items)


def test_readme_and_the_page_of_the_game_say_how_long_masks_are() -> None:
    (new, easy), (new_zh, easy_zh) = (
        [lengths(name, language) for name in ("lotbench", "lotbench_easy")] for language in ("en", "zh")
    )
    readme, page = (
        " ".join((ROOT / name).read_text(encoding="utf-8").split())
        for name in ("README.md", "docs/lotbench.md")
    )
    assert f"{new.total()} in English and {new_zh.total()} in Chinese" in readme
    some, more = new[2] + new[3], new.total() - new[1] - new[2] - new[3]
    parts = f"{new[1]} samples hide one word, {some} hide two or three, {more} hide more."
    assert f"English samples hide {min(new)} to {max(new)} words: {parts}" in page
    assert f"Chinese samples hide {min(new_zh)} to {max(new_zh)} characters." in page
    assert (new[1] + new[2] + new[3]) / new.total() > 0.75 and max(new) == 8, "as the README has it"
    chinese = f"Its Chinese samples hide {min(easy_zh)} to {max(easy_zh)} characters."
    hide = f"hide {min(easy)} to {max(easy)} words ({easy[1]} hide one word). {chinese}"
    assert f"Its {easy.total()} English samples {hide}" in page
    assert f"Ours mask up to {max(new)} words or {max(new_zh)} characters" in page
    assert f"The preset plays the {easy.total()} English samples of `lotbench_easy`." in page


async def test_a_clue_of_the_preset_is_one_entry_with_several_facts() -> None:
    item = SAMPLE.model_copy(update={"clues": ("It rings.", "It is small.", "It stands.", "It wakes you.")})
    player = candidate(*({"WORD": one, "RESPONSE": f"My neighbour keeps a {one}."} for one in GUESSES))
    game = await play(player, sample=item, **{**LITERAL, "max_rounds": 12})
    assert game.read("reveal", "clues") == [["It rings. It is small."], ["It stands. It wakes you."]]
    clues = '"CLUE1": "It rings. It is small."\n"CLUE2": "It stands. It wakes you."\n'
    assert clues in said_to_candidate(player)[-1]


def word(text: str) -> dict[str, str]:
    return {"WORD": text, "RESPONSE": f"My neighbour keeps a {text} in the tank."}


async def test_the_candidate_is_told_in_three_blocks_and_answers_with_word_and_response() -> None:
    player = candidate(*map(word, GUESSES), asks=["Is it alive?", "Is it loud?"])
    game = await play(player, oracles=oracle("No", "Yes"), **{**LITERAL, "max_rounds": 3, "clue_interval": 2})
    assert game.read("respond", "guess") == list(GUESSES[:3])
    assert shape(at(player, "respond")[0]) == ["WORD", "RESPONSE"]
    tips = said_to_candidate(player)[-1].rpartition("TIPS:\n")[2]
    assert tips == (
        '"WRONG-ANS (<WORD> is none of these)":\n1: "thing number 1"\n2: "thing number 2"\n'
        '"SYSTEM CLUE":\n"CLUE1": "It is an object. Most bedrooms have one. Watch the rhythm. It ends the night."\n'
        '"Q&A (repeat none of these)":\n1: "Q1": "Is it alive?", "A1": "No"\n2: "Q2": "Is it loud?", "A2": "Yes"\n'
        "OUTPUT:"
    )
    assert "RESPONSE: My neighbour keeps a(n) <WORD> in the tank.\n" in said_to_candidate(player)[0]
    for text in player.heard():
        assert SAMPLE.key_text not in text and "<MASK>" not in text


async def test_the_judge_says_summary_before_explanation_and_sees_the_one_guess() -> None:
    checker = judge(NO, YES)
    game = await play(candidate(word("harp"), word("egg timer")), checker, **LITERAL)
    assert (game.outcome, game.attempts) == ("solved", 2)
    asked = at(checker, "check")[-1]
    assert shape(asked) == ["SUMMARY", "EXPLANATION"]
    told = text_of(asked)
    assert f"GTR: {SAMPLE.response}\nGTW: {SAMPLE.key_text}\nEXPLANATION: {SAMPLE.explanation}\n" in told
    assert 'RESPONSE: "egg timer"\n' in told and "harp" not in told


@pytest.mark.parametrize(("judged", "calls"), [("undecided", 1), ("every", 3)])
async def test_exact_copies_and_repeats_go_to_the_judge_as_well_where_every_round_is_measured(
    judged: str, calls: int
) -> None:
    checker = judge(NO, NO, NO)
    game = await play(candidate("harp", "harp", SAMPLE.key_text), checker, max_rounds=3, judged=judged)
    assert (game.calls("check"), game.outcome) == (calls, "unsolved" if judged == "every" else "solved")


@pytest.mark.parametrize("ours", [{"frame": "hidden"}, {"encore": True}, {"conversation": "growing"}])
def test_the_papers_words_have_none_for_games_of_ours(ours: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="wording=paper"):
        resolved(cast, Settings(wording="paper", **ours), judge=1)


def test_a_person_plays_the_preset_in_our_words_and_is_asked_for_the_guess_alone() -> None:
    settings = people._game(parser().parse_args(["play", "--config", "paper/lotbench"])).experiment.settings
    assert settings == {**LITERAL, "wording": "ours"}
