"""What holds for both editions of the game's samples: clean texts, and a picture for each."""

from pathlib import Path

import pytest

from lotbench.benchmarks.lotbench import lints
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.storage import datasets
from lotbench.storage.pictures import picture_facts


@pytest.fixture(scope="module", params=["lotbench_easy", "lotbench", "lotbench_extra"])
def folder(request: pytest.FixtureRequest) -> Path:
    return datasets.shipped("data", request.param)


@pytest.fixture(scope="module")
def items(folder: Path) -> tuple[Item, ...]:
    return datasets.samples(folder, Item)


def test_the_samples_are_clean_under_their_own_lints(folder: Path, items: tuple[Item, ...]) -> None:
    metadata = picture_facts.metadata(folder, items)[0]
    assert [finding for finding in lints.lints(items, Settings(), metadata) if finding.grave] == []


def test_no_picture_file_is_without_a_sample(folder: Path, items: tuple[Item, ...]) -> None:
    known = {(folder / item.image).with_suffix("") for item in items}
    assert {path.with_suffix("") for path in (folder / "images").iterdir()} == known
