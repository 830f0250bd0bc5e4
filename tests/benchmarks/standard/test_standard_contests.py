"""Standard evaluation on nine real caption contests: perfect is 1, a lottery is at chance, and so is the first letter.

The data is others' and not in the repository: $LOTBENCH_REFERENCE_DATA is the folder that has it.
"""

import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from scipy import stats

from lotbench.benchmarks.standard.oogiri import Row
from lotbench.benchmarks.standard.oogiri.problems import Problem
from lotbench.benchmarks.standard.score import CHOICES, Answered, accuracy, answered, ndcg, spearman, top1
from lotbench.benchmarks.standard.settings import Settings
from lotbench.benchmarks.standard.task import benchmark
from lotbench.storage import datasets
from lotbench.storage.importers import caption_contest, importing
from tests.choosing import always_first, by_lot, chooser, perfect
from tests.episodes import Played, resolved, run_episodes

PER_PROMPT = 20
REFERENCE = os.environ.get("LOTBENCH_REFERENCE_DATA")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not REFERENCE, reason="LOTBENCH_REFERENCE_DATA is not set"),
]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[Row, ...]:
    dest = tmp_path_factory.mktemp("contests") / "data"
    found = caption_contest.rows(Path(str(REFERENCE), "caption_contest"), importing.PictureFiles(dest))
    done = importing.bring("contests", found, dest)
    assert (done.read, done.imported, dict(done.skipped)) == (40_139, 40_136, {"no caption": 3})
    return datasets.samples(dest, Row)


def built(rows: tuple[Row, ...]) -> list[Problem]:
    settings = resolved(benchmark.cast, benchmark.Settings(per_prompt=PER_PROMPT))
    return list(benchmark.samples(rows, settings, 0))


async def play(rows: tuple[Row, ...], policy: object, **settings: object) -> Played:
    model = chooser(policy, built(rows))  # type: ignore[arg-type]
    return await run_episodes(benchmark, rows, {"candidate": model}, per_prompt=PER_PROMPT, **settings)


def test_every_kind_is_built_on_every_contest_and_right_options_are_the_best(rows: tuple[Row, ...]) -> None:
    problems = built(rows)
    by_id = {row.id: row for row in rows}
    groups: dict[str, list[float]] = {}
    for row in sorted(rows, key=lambda row: -(row.preference or 0)):
        groups.setdefault(row.group, []).append(row.preference or 0)
    for kind in ("2t1", "3t1", "4t1", "5t2", "rank"):
        assert {one.group for one in problems if one.kind == kind} == {row.group for row in rows}
    for one in problems:
        if one.kind == "rank":
            means = [option.relevance for option in one.options]
            assert means == sorted(means, reverse=True)
            continue
        group = groups[one.group]
        for option in one.options:
            if option.slot == "right":
                assert by_id[str(option.row)].preference >= group[-(-len(group) // 100) - 1]  # type: ignore[operator]
        assert {option.origin for option in one.options} <= {"response", "elsewhere", "low"}


async def test_a_perfect_candidate_gets_1_everywhere(rows: tuple[Row, ...]) -> None:
    played = await play(rows, perfect)
    for name, metric in played.metrics().items():
        assert metric.value == pytest.approx(1.0), name
        print(name, metric.value, metric.n, metric.baselines)


def at_chance(played: Played) -> None:
    """Every score against chance: hits are binomial, since each problem is drawn by itself; five at once."""
    for name, metric in played.metrics().items():
        chance = metric.baselines["chance"]
        print(
            f"{name} {metric.value:.3f} [{metric.low:.3f}, {metric.high:.3f}] n {metric.n} chance {chance:.3f}"
        )
        if name != "rank_ndcg":
            hits = round(metric.value * metric.n)  # type: ignore[operator]
            assert stats.binomtest(hits, metric.n, chance).pvalue > 0.05 / 5, (name, hits)  # type: ignore[arg-type]
    ranked = [one for one in answered(played.traces, played.evidence) if one.problem.kind == "rank"]
    order = spearman(ranked)
    print(f"{order.value:.3f} [{order.low:.3f}, {order.high:.3f}] chance 0")


async def test_a_lottery_is_at_chance(rows: tuple[Row, ...]) -> None:
    at_chance(await play(rows, by_lot))


async def test_naming_the_first_letters_is_at_chance(rows: tuple[Row, ...]) -> None:
    at_chance(await play(rows, always_first))


def test_chance_lies_within_the_intervals_of_lotteries_as_often_as_it_should(rows: tuple[Row, ...]) -> None:
    problems, settings, lotteries = built(rows), Settings(), 200
    within: Counter[str] = Counter()
    for lottery in range(lotteries):
        rng = Random(f"lottery {lottery}")
        found = [
            Answered(one, tuple(rng.sample(range(len(one.options)), one.answer_size))) for one in problems
        ]
        by_kind = {kind: [one for one in found if one.problem.kind == kind] for kind in (*CHOICES, "rank")}
        measured = {kind: accuracy(by_kind[kind]) for kind in CHOICES}  # type: ignore[index]
        measured |= {"top-1": top1(by_kind["rank"], settings), "NDCG": ndcg(by_kind["rank"], settings)}  # type: ignore[dict-item]
        measured["Spearman"] = spearman(by_kind["rank"])  # type: ignore[index]
        for name, metric in measured.items():
            within[name] += metric.low <= metric.baselines["chance"] <= metric.high  # type: ignore[operator]
    print({name: count / lotteries for name, count in within.items()})
    # Of 200 intervals at 95 %, fewer than 179 hold chance once in a thousand times.
    assert min(within.values()) >= 179
