"""The second edition of the game's samples holds what its SOURCE.md and the issue's targets promise."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from lotbench import benchmarks
from lotbench.benchmarks.lotbench import lints, words
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.storage import datasets
from lotbench.storage.jsonl import tables

FOLDER = datasets.data_folder("", "lotbench")
EXTRA = datasets.shipped("data", "lotbench_extra")
FIRST = datasets.shipped("data", "lotbench_easy")


@pytest.fixture(scope="module")
def items() -> tuple[Item, ...]:
    return datasets.samples(FOLDER, Item)


def test_it_is_what_the_game_plays_and_has_enough_samples_and_one_a_picture(items: tuple[Item, ...]) -> None:
    assert benchmarks.get("lotbench").data_set == "lotbench" == FOLDER.name
    languages = Counter(item.language for item in items)
    assert len(items) >= 100 and languages["en"] >= 60 and languages["zh"] >= 40
    assert max(Counter(item.image for item in items).values()) == 1
    assert all(re.fullmatch(r"lot-1\d{3}", item.id) for item in items)
    # Forty English masks are as short as the paper's.
    short = [item.id for item in items if item.language == "en" and len(item.key_text.split()) <= 3]
    assert len(short) >= 40


@pytest.mark.parametrize("folder", [FOLDER, EXTRA, FIRST], ids=lambda folder: folder.name)
def test_every_response_has_the_point_that_its_author_fixed(folder: Path) -> None:
    for item in datasets.samples(folder, Item):
        for one in (item, *item.points):
            assert one.point, item.id
            # The schema of a chain has room for part and likeness in one field, and for the effect in another.
            assert len(one.point.part) + len(one.point.likeness) <= 200, item.id
            assert len(one.point.effect) <= 140, item.id
        assert list(lints.likeness_in_effect(item)) == []


@pytest.mark.parametrize("folder", [FOLDER, EXTRA], ids=lambda folder: folder.name)
def test_every_sample_has_a_near_miss_a_line_and_three_guesses_that_its_mask_lets_fail(folder: Path) -> None:
    for item in datasets.samples(folder, Item):
        missed = Counter(guess.fails for guess in item.reject if guess.difficulty == "hard")
        assert missed["likeness"] == missed["effect"] == 1, item.id
        assert all(guess.why for guess in item.reject), item.id
        assert len(item.near) >= 3, item.id


def test_the_extra_samples_are_others_of_pictures_that_the_game_shows(items: tuple[Item, ...]) -> None:
    extra = datasets.samples(EXTRA, Item)
    assert not {item.id for item in extra} & {item.id for item in items}
    assert {item.image for item in extra} <= {item.image for item in items}
    assert max(Counter(item.image for item in extra).values()) == 1
    assert {play["sample"] for _, play in tables(EXTRA / "calibration.jsonl")} <= {item.id for item in extra}


def test_every_sample_names_its_writer_and_leaves_tiers_to_blind_plays(items: tuple[Item, ...]) -> None:
    assert all(item.tier is None and item.writer for item in items)
    assert sum(bool(item.points) for item in items) > len(items) / 2


def test_no_response_is_of_the_first_edition(items: tuple[Item, ...]) -> None:
    first = {words.same(item.response) for item in datasets.samples(FIRST, Item)}
    assert [item.id for item in items if words.same(item.response) in first] == []


def test_its_blind_plays_can_be_read_and_its_source_counts_its_samples(items: tuple[Item, ...]) -> None:
    plays = [play for _, play in tables(FOLDER / "calibration.jsonl")]
    assert {play["sample"] for play in plays} <= {item.id for item in items}
    assert {play["edition"] for play in plays} == {"2"}
    languages = Counter(item.language for item in items)
    told = (Path(FOLDER) / "SOURCE.md").read_text("utf-8")
    assert f"{len(items)}, {languages['en']} in English and {languages['zh']} in Chinese" in " ".join(
        told.split()
    )
    lines = (FOLDER / "samples.jsonl").read_text("utf-8").splitlines()
    assert all("tier" in json.loads(line) for line in lines)
