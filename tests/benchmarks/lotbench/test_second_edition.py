"""The second edition of the game's samples holds what its SOURCE.md and the issue's targets promise."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from lotbench import benchmarks
from lotbench.benchmarks.lotbench import words
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.edge.files import datasets
from lotbench.run import calibration

FOLDER = datasets.data_folder("", "lotbench")
FIRST = datasets.shipped("data", "lotbench_easy")
CANARY = "lotbench-canary-7d1e0f7c-5b1a-4a52-9a0e-3c8f5d2b6e41"


@pytest.fixture(scope="module")
def items() -> tuple[Item, ...]:
    return datasets.samples(FOLDER, Item)


def test_it_is_what_the_game_plays_when_nothing_is_said() -> None:
    assert benchmarks.get("lotbench").data_set == "lotbench" == FOLDER.name


def test_there_are_enough_samples_of_both_languages_and_at_most_two_a_picture(
    items: tuple[Item, ...],
) -> None:
    languages = Counter(item.language for item in items)
    assert len(items) >= 106 and languages["en"] >= 60 and languages["zh"] >= 40
    assert max(Counter(item.image for item in items).values()) <= 2
    assert all(re.fullmatch(r"lot-1\d{3}", item.id) for item in items)


def test_every_sample_has_what_the_game_needs_and_leaves_its_tier_to_blind_plays(
    items: tuple[Item, ...],
) -> None:
    for item in items:
        assert len(item.clues) == 4, item.id
        assert len(item.accept) >= 2 and len(item.reject) >= 4 and len(item.near) >= 2, item.id
        assert {filling.difficulty for filling in item.reject} == {"easy", "hard"}, item.id
        assert item.tier is None and item.writer and item.canary == CANARY, item.id
        assert (FOLDER / item.image).with_suffix(".svg").is_file(), item.id
    assert sum(bool(item.points) for item in items) > len(items) / 2


def test_no_response_is_one_of_the_first_edition_and_no_prompt_gives_one_away(
    items: tuple[Item, ...],
) -> None:
    first = {words.same(item.response) for item in datasets.samples(FIRST, Item)}
    pack = datasets.prompts("lotbench")
    for item in items:
        assert words.same(item.response) not in first, item.id
        for path, text in pack.files.items():
            shown = {words.same(filling) for filling in re.findall(r'"filling": "([^"]+)"', text)}
            assert words.same(item.key_text) not in shown and item.response not in text, (path, item.id)


def test_its_blind_plays_can_be_read_and_its_source_counts_its_samples(items: tuple[Item, ...]) -> None:
    plays = calibration.read(FOLDER)
    assert all(play.sample in {item.id for item in items} for play in plays)
    languages = Counter(item.language for item in items)
    told = (Path(FOLDER) / "SOURCE.md").read_text("utf-8")
    assert f"{len(items)}, {languages['en']} in English and {languages['zh']} in Chinese" in " ".join(
        told.split()
    )
    lines = (FOLDER / "samples.jsonl").read_text("utf-8").splitlines()
    assert all("tier" in json.loads(line) for line in lines)
