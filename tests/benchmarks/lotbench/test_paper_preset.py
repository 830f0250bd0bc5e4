"""The paper preset turns every setting that can be read in two ways to what the paper says to the letter."""

from __future__ import annotations

from typing import Any

import pytest

from lotbench.benchmarks.lotbench.lints import faults
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.lotbench.settings import SCORE_ONLY, Settings
from lotbench.benchmarks.lotbench.task import benchmark
from lotbench.config.experiment import load
from lotbench.edge.files import datasets
from lotbench.run.plan import reference
from tests.play import SAMPLE, candidate, play, said_to_candidate

LITERAL: dict[str, Any] = {
    "max_rounds": 15,
    "arm": "image+caption",
    "ask": True,
    "clues": True,
    "feedback": True,
    "clue_interval": 5,
    "clue_reveal": "grouped",
    "framework": "direct",
    "judge_mode": "causal",
    "chain": "per_call",
    "verdict": "first",
    "confirm": "never",
    "oracle_sees": "key_text",
    "oracle_says": "yes_no",
    "round_origin": 0,
    "unsolved": "cap",
    "alpha": 0.2,
    "beta": 1.0,
}
PAPER_SILENT = {"votes", "max_words", "max_characters", "anchors"}
"""The paper says nothing of these: votes of CoT-SC here, length of a filling, rows judged again."""
ARMS_OF_OURS = {
    "frame": "shown",
    "frame_ladder": "half_whole",
    "encore": False,
    "conversation": "fresh",
    "max_response_words": 20,
    "max_response_characters": 30,
}
"""Arms that the paper does not have; their defaults are its game."""
OURS = {"clue_reveal", "chain", "verdict", "confirm", "oracle_sees", "oracle_says", "unsolved"}
"""Where our default is another reading than the letter."""

PATH = datasets.shipped("configs", "paper", "lotbench.toml")


def test_every_setting_is_in_the_preset_or_one_that_the_paper_is_silent_on() -> None:
    assert set(load(PATH).experiment.settings) == set(LITERAL)
    assert set(LITERAL) | PAPER_SILENT | set(ARMS_OF_OURS) == set(Settings.model_fields)
    assert {name: getattr(Settings(), name) for name in ARMS_OF_OURS} == ARMS_OF_OURS
    assert not set(LITERAL) & PAPER_SILENT


@pytest.mark.parametrize("name", LITERAL)
def test_the_preset_turns_each_setting_to_the_letter_of_the_paper(name: str) -> None:
    assert load(PATH).experiment.settings[name] == LITERAL[name]


def test_the_defaults_differ_from_the_letter_where_the_spec_settles_it_otherwise() -> None:
    differing = {name for name, value in LITERAL.items() if getattr(Settings(), name) != value}
    assert differing == OURS


def test_the_preset_is_the_one_that_reports_compare_with() -> None:
    name, settings = reference(benchmark)
    assert name == "paper/lotbench"
    assert settings == Settings(**LITERAL)


def test_the_preset_names_the_papers_repeats_judge_and_oracle() -> None:
    experiment = load(PATH).experiment
    assert (experiment.benchmark, experiment.repeats) == ("lotbench", 3)
    assert experiment.roles == {"judge": ("gpt-4o-mini",), "oracle": ("gpt-4o-mini",)}
    assert experiment.sampling == {}


def test_the_preset_opens_with_the_command_that_runs_it() -> None:
    first = PATH.read_text(encoding="utf-8").splitlines()[0]
    assert first == "# lotbench evaluate --config configs/paper/lotbench.toml --model gpt-4o-mini"


def test_settings_that_change_the_score_alone_are_those_that_no_message_depends_on() -> None:
    scored = {"round_origin", "unsolved", "alpha", "beta"}
    assert scored | {"anchors"} == SCORE_ONLY
    assert benchmark.comparison.score_only == SCORE_ONLY


def test_the_preset_hides_no_clue_of_any_shipped_sample() -> None:
    items = datasets.samples(datasets.data_folder("", "lotbench_easy"), Item)
    assert len(items) >= 106
    assert faults(items, Settings(**LITERAL)) == []
    assert faults(items, Settings(**{**LITERAL, "clue_reveal": "next"})) != []


async def test_a_clue_of_the_preset_is_one_entry_with_several_facts() -> None:
    item = SAMPLE.model_copy(update={"clues": ("It rings.", "It is small.", "It stands.", "It wakes you.")})
    player = candidate()
    game = await play(player, sample=item, **{**LITERAL, "max_rounds": 12})
    assert game.read("reveal", "clues") == [["It rings. It is small."], ["It stands. It wakes you."]]
    assert "CLUE: It rings. It is small.\n" in said_to_candidate(player)[-1]
