"""A quick slice of `python -m tests.bench.truth`: intervals hold what they say, and no page says otherwise."""

import json
from pathlib import Path

import pytest

from tests.bench import truth, truth_components

QUICK = (
    "weak, 3 samples",
    "strong, 20 samples",
    "fair answerer, 20 ideas",
    "5 samples",
    "by round, FNR .05, weak",
    "by sample, FNR .05, never solving",
    "games, 30 samples x 3",
    "E rho², normal, 4 models, 40 samples",
    "Phi, games, 8 models, 108 samples",
    "pace, 30 samples x 3",
    "likeness, 10 samples x 2",
    "S_c, equal, 20 samples",
    "macro F1, equal, 20 ideas",
    "40% of them",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_intervals_hold_the_truth(name: str) -> None:
    (trial,) = [trial for _, plant, trial in truth.every() if plant == name]
    found = truth.run(trial, 60)
    # At a coverage of .95 fewer than 52 of 60 have a chance of 1 in 200.
    assert found.coverage >= 52 / 60, found


def test_the_page_has_every_plant_beside_the_figures_of_before() -> None:
    text = truth.PAGE.read_text("utf-8")
    before = json.loads(Path(truth.BEFORE).read_text("utf-8"))["plants"]
    for title, name, _ in truth.every():
        assert f"## {title}\n" in text and f"\n| {name} | " in text
        assert f"{title}: {name}" in before or title in truth_components.NOTES


def test_chapters_that_are_measured_anew_take_the_place_of_the_old_ones() -> None:
    page = "head\n\n## Kept\n\nold\n\n## Two\n\nstale\n"
    fresh = "head of today\n\n## One\n\nnew\n\n## Two\n\nfresh\n"
    assert truth.renewed(page, fresh) == "head\n\n## Kept\n\nold\n\n## Two\n\nfresh\n\n## One\n\nnew\n"
