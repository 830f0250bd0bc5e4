"""The samples that `--limit` draws."""

from collections import Counter
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lotbench import benchmarks
from lotbench.cli.evaluate import configuration
from lotbench.cli.parser import parser
from lotbench.cli.people import _game
from lotbench.config.experiment import Config, Experiment, Limits
from lotbench.errors import UsageError
from lotbench.harness.selection import select, spread
from lotbench.run import plan
from tests.judging import data_set, shipped

STRATA = ("language", "tier")
samples = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), min_size=1, max_size=60).map(
    lambda cells: [
        SimpleNamespace(id=f"s{n}", language=language, tier=tier) for n, (language, tier) in enumerate(cells)
    ]
)


def within(drawn: Counter[str], every: Counter[str], size: int) -> bool:
    shares = {value: Fraction(count * size, every.total()) for value, count in every.items()}
    return all(floor(share) <= drawn[value] <= ceil(share) for value, share in shares.items())


@given(samples, st.integers(0, 5), st.data())
def test_every_draw_has_of_each_language_and_tier_its_share(
    data: list[SimpleNamespace], seed: int, more: st.DataObject
) -> None:
    limit = more.draw(st.integers(1, len(data)))
    drawn = select(data, (), limit, STRATA, seed)
    assert len(drawn) == limit
    assert list(drawn) == [sample for sample in data if sample in drawn]
    languages = Counter(one.language for one in drawn)
    assert within(languages, Counter(one.language for one in data), limit)
    for language, size in languages.items():
        tiers = Counter(one.tier for one in drawn if one.language == language)
        assert within(tiers, Counter(one.tier for one in data if one.language == language), size)
    assert set(map(id, drawn)) <= set(map(id, select(data, (), limit + 1, STRATA, seed)))


def test_a_draw_is_the_seeds() -> None:
    data = [SimpleNamespace(id=f"s{n}", language="ab"[n % 2], tier="x") for n in range(40)]
    draws = {tuple(one.id for one in select(data, (), 8, STRATA, seed)) for seed in range(20)}
    assert len(draws) > 15
    assert len({one.id for one in spread(data, STRATA, 1)}) == 40
    assert select(data, (), 8, STRATA, 3) == select(data, (), 8, STRATA, 3)


def test_named_samples_are_played_as_they_are_named() -> None:
    data = [SimpleNamespace(id=f"s{n}", language="a", tier="x") for n in range(5)]
    assert [one.id for one in select(data, ("s3", "s1", "s3", "s0"), 2, STRATA, 1)] == ["s3", "s1"]
    assert select(data, (), None, STRATA, 1) == tuple(data)
    assert select(data, (), 9, STRATA, 1) == tuple(data)
    with pytest.raises(UsageError, match="no sample s7, s8 in the data set"):
        select(data, ("s1", "s7", "s8"), None, STRATA, 1)


@pytest.mark.parametrize(
    ("name", "limit", "each"),
    [
        ("lotbench", 12, {"language": {"en": 7, "zh": 5}}),
        ("standard", 36, {"language": {"en": 12, "zh": 12, "ja": 12}}),
        ("hicbench", 10, {"field": 1}),
        ("liveideabench", 22, {"category": 1}),
        ("rinobench", 5, {"novelty_score": 1}),
    ],
)
def test_shipped_benchmarks_are_drawn_as_they_say(name: str, limit: int, each: dict[str, object]) -> None:
    roles = {role: ("human",) for role in benchmarks.get(name).roles if role == "judge"}
    data = "lotbench_easy" if name == "lotbench" else ""
    experiment = Experiment(benchmark=name, data=data, model="human", roles=roles, limit=limit)
    chosen = plan.make(Config(experiment=experiment, limits=Limits())).chosen
    for field, counts in each.items():
        drawn = Counter(getattr(sample, field) for sample in chosen)
        if isinstance(counts, dict):
            assert {value: drawn[value] for value in counts} == counts
        else:
            assert set(drawn.values()) == {counts}
            assert len(drawn) == limit


def test_a_run_plays_the_languages_that_are_named_and_says_which_there_are() -> None:
    def chosen(*languages: str, **more: Any) -> tuple[Any, ...]:
        asked = Experiment(model="human", languages=languages, **more)
        return plan.make(Config(experiment=asked, limits=Limits())).chosen

    assert {one.language for one in chosen()} == {"en", "zh"}
    assert {one.language for one in chosen("zh")} == {"zh"}
    assert len(chosen("en", "zh")) == len(chosen())
    assert [one.language for one in chosen("en", limit=5)] == ["en"] * 5
    with pytest.raises(UsageError, match=r"language 'fr': the data set has en, zh"):
        chosen("fr")
    with pytest.raises(UsageError, match="no sample lot-0063"):
        chosen("en", data="lotbench_easy", samples=("lot-0063",))


@pytest.mark.parametrize("command", ["evaluate", "play"])
def test_the_flag_for_languages_is_one_of_those_who_play(command: str) -> None:
    parsed = parser().parse_args([command, "--language", "en", "--language", "zh"])
    assert parsed.language == ["en", "zh"]
    asked = configuration(parsed) if command == "evaluate" else _game(parsed)
    assert asked.experiment.languages == ("en", "zh")


def test_a_draw_takes_one_of_the_samples_that_are_asked_alike_unless_they_are_named() -> None:
    data = [SimpleNamespace(id=f"s{n}", language="en", tier=1, image=f"p{n // 2}") for n in range(8)]
    drawn = select(data, (), None, STRATA, 1, lambda sample: sample.image)
    assert [one.image for one in drawn] == ["p0", "p1", "p2", "p3"]
    draws = [select(data, (), None, STRATA, seed, lambda sample: sample.image) for seed in range(9)]
    assert len({tuple(one.id for one in drawn) for drawn in draws}) > 1
    assert len(select(data, ("s0", "s1"), None, STRATA, 1, lambda sample: sample.image)) == 2


def test_a_run_that_hides_the_frame_plays_one_sample_a_picture(tmp_path: Path) -> None:
    items = shipped(4)
    data = data_set(tmp_path / "shared", [*items[:3], items[3].model_copy(update={"image": items[0].image})])

    def chosen(**settings: str) -> tuple[Any, ...]:
        asked = Experiment(model="human", data=str(data), settings=settings)
        return plan.make(Config(experiment=asked, limits=Limits())).chosen

    pictures = [one.image for one in chosen(frame="hidden")]
    assert sorted(pictures) == sorted({one.image for one in chosen()})
    assert len(pictures) < len(chosen(frame="earned")) == len(chosen())
