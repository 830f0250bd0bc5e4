"""The rule of trust on whole runs: what they are told of themselves reaches it, and it says so in the summary."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lotbench import evaluate, load_run
from lotbench.benchmarks.lotbench.judge_quality import _others
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.calls.journal import Totals
from lotbench.checks import judge_rates as rates
from lotbench.config.experiment import Config, Experiment, Limits
from lotbench.errors import DataError
from lotbench.harness import judge_standing
from lotbench.harness.judge_validation import JudgePanel, JudgeQuality, Ruling
from lotbench.metrics.primary_metric import mean_score
from lotbench.report import trust
from lotbench.report.leaderboard import differing
from lotbench.run import plan, recorded
from lotbench.run.results import _case, _unread, entry
from lotbench.storage import adapter_texts, datasets
from lotbench.storage.run_folder import Folder, read_json
from tests.fakes import RuleModel
from tests.recorded import FOLDER
from tests.recorded import recorded as recorded_run
from tests.rules import game_rule

PLANTED = (
    ("en", "easy", False, 0, 150), ("en", "hard", False, 0, 150), ("en", None, True, 0, 60),
    ("zh", "easy", False, 10, 50), ("zh", "hard", False, 10, 50), ("zh", None, True, 0, 60),
)  # fmt: skip
"""Rows of a judge set by language and kind: the right answer, how many are judged falsely, how many there are."""
GAMES = datasets.samples(datasets.data_folder("", "lotbench"), Item)


def player(name: str) -> RuleModel:
    return RuleModel(game_rule(), model_id=name)


async def run(benchmark: str, out: Path, candidate: str = "gpt-x", limit: int | None = 3, **more: Any) -> Any:
    made = await evaluate(
        benchmark, model=player(candidate), out=out, limit=limit, repeats=more.pop("repeats", 1), **more
    )
    return made.summary


@pytest.mark.parametrize(
    ("benchmark", "judges"),
    [
        pytest.param("hicbench", ["j0", "j1"], marks=pytest.mark.slow),
        ("rinobench", ["j0"]),
        ("liveideabench", ["j0", "j1", "j2"]),
    ],
)
async def test_a_run_with_judges_that_were_never_checked_is_not_rankable(
    benchmark: str, judges: list[str], tmp_path: Path
) -> None:
    found = await run(benchmark, tmp_path, limit=1, roles={"judge": [player(name) for name in judges]})
    assert found["rankable"] is False
    assert f"the judge was never checked (unchecked: {', '.join(judges)})" in found["reasons"]


async def test_scores_without_a_judge_need_no_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"justification": False}
    few = await run("rinobench", tmp_path, settings=settings)
    assert few["reasons"] == ["the run is of 3 samples, fewer than 50"]
    monkeypatch.setattr(trust, "MIN_SAMPLES", 3)
    sampling = {"candidate": {"temperature": 0.2}}
    found = await run("rinobench", tmp_path, settings=settings | {"join": "position"}, sampling=sampling)
    assert found["rankable"] is True and found["arm"] == "justification=false"
    changed = "The settings are not the default ones (join = position, sampling.candidate.temperature = 0.2)."
    assert changed in found["remarks"]
    easy = await run("rinobench", tmp_path, settings=settings, data="rinobench_easy")
    assert "The settings are not the default ones (data = rinobench_easy)." in easy["remarks"]
    assert (found["data_set"], easy["data_set"]) == ("rinobench", "rinobench_easy")


async def test_a_run_in_one_language_says_so_and_is_ranked_apart(tmp_path: Path) -> None:
    """Who fails in Chinese had .758 instead of .435, without a word."""
    judges = [player("j"), player("k")]
    models = {"model": player("gpt-x"), "roles": {"judge": judges, "oracle": player("o")}}
    never = {"confirm": "never"}
    one, both = [
        await evaluate(**models, out=tmp_path, limit=1, repeats=1, languages=languages, settings=never)
        for languages in (("en",), ())
    ]
    remark = "The settings are not the default ones (confirm = never, languages = en)."
    assert remark in one.summary["remarks"]
    assert differing(entry(one), entry(both)) == ["languages: en and "]


def test_a_text_longer_than_asked_for_is_counted_beside_what_cannot_be_read() -> None:
    values = [{"status": "ok", "over_length": True}, {"status": "ok"}, {"status": "refused"}]
    steps = [{"role": "candidate", "value": value} for value in values]
    assert _unread([SimpleNamespace(steps=steps)]) == {"candidate": (1, 2, 3)}  # type: ignore[list-item]


def test_a_judge_that_decided_in_another_s_place_must_be_checked() -> None:
    """The confirmations of a checked judge were cut off, a third judge gave them, and the run was trusted."""
    traces = load_run(FOLDER / recorded_run("lotbench")).traces
    assert _others(traces, (0, 1)) == []
    assert _others(traces, (0,)) == [1]


def test_a_run_in_one_language_is_trusted_by_the_judge_s_rates_in_it() -> None:
    """Of 100 wrong Chinese guesses the judge took 20, of 300 English none: a Chinese run was trusted."""
    rulings = [
        Ruling("", f"{kind}{language}{at}", f"{kind}{language}{at}", kind, language, truth, said)
        for language, kind, truth, false, n in PLANTED
        for at, said in enumerate([truth] * (n - false) + [not truth] * false)
    ]
    record = {"set": {}, **rates.counted(rates.measure(rulings, JudgePanel("judge", (0,), "", {}), "", 0))}
    judged = {
        languages: judge_standing.tested(judge_standing.in_language(record, languages))
        for languages in (("en", "zh"), ("zh",), ("en",), ("ja",), ("en", "ja"))
    }
    assert [(one.fpr, one.negatives, one.hard) for one in judged.values()] == [
        (0.05, 400, 200), (0.2, 100, 50), (0.0, 300, 150), (None, 0, 0), (None, 0, 0)
    ]  # fmt: skip
    easy = judge_standing.tested({**record, "groups": {"all": record["groups"]["easy"]}})
    (none,) = [each for each in trust.faults(trust.Check("judge", "j", easy, bound="game")) if "hard" in each]
    assert "has no upper end" in none, "a judge set without a hard negative says nothing of them"
    (why,) = [each for each in trust.faults(trust.Check("judge", "j", judged["zh",])) if "FPR" in each]
    assert why == "the judge's FPR on the judge set's rows in zh is 0.200, above max_fpr 0.05"


@pytest.mark.parametrize(
    ("candidate", "barred"), [("claude-sonnet-4-5", True), ("anthropic/claude-x", True), ("gpt-x", False)]
)
async def test_a_candidate_of_the_writers_maker_is_not_rankable(
    candidate: str, barred: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "MIN_SAMPLES", 3)
    found = await run("rinobench", tmp_path, candidate, settings={"justification": False})
    assert found["reasons"] == (
        ["the candidate is of the family that wrote 3 of the 3 samples or their gold (claude)"]
        if barred
        else []
    )


def planned(benchmark: str, adapter: Path, **more: Any) -> plan.Plan:
    experiment = Experiment(benchmark=benchmark, model=f"hf:some/base+{adapter}", **more)
    return plan.make(Config(experiment=experiment, limits=Limits()))


def test_samples_that_an_adapter_was_trained_on_are_known_by_their_right_answers(tmp_path: Path) -> None:
    assert planned("lotbench", tmp_path).seen is None
    adapter_texts.write(
        tmp_path,
        adapter_texts.digests([GAMES[4].response.upper() + "!", GAMES[7].key_text, "something else"]),
    )
    made = planned("lotbench", tmp_path)
    assert made.seen == (GAMES[4].id,)
    assert plan.make(Config(experiment=Experiment(model="hf:some/base"), limits=Limits())).seen == ()
    # The run carries it, whatever becomes of the adapter.
    with Folder(tmp_path / "run") as folder:
        recorded.freeze(made, folder)
    adapter_texts.write(tmp_path, [])
    table = read_json(tmp_path / "run" / "run.json")
    again = recorded.plan_fields(
        tmp_path / "run", recorded.experiment(tmp_path / "run.json", table["experiment"]), table
    )
    assert again["seen"] == (GAMES[4].id,)


def test_a_merged_model_that_was_trained_on_samples_is_not_trusted(tmp_path: Path) -> None:
    def seen(name: str) -> tuple[str, ...] | None:
        experiment = Experiment(benchmark="standard", model=name)
        return plan.make(Config(experiment=experiment, limits=Limits())).seen

    merged, adapter = tmp_path / "stage1" / "merged", tmp_path / "adapter"
    first, *_, last = planned("standard", tmp_path).chosen
    adapter_texts.write(merged, adapter_texts.digests([first.options[0].text]))
    found = seen(f"hf:{merged}") or ()
    assert first.id in found and seen(f"hf:{merged}:4bit") == found
    made = plan.make(
        Config(experiment=Experiment(benchmark="standard", model=f"hf:{merged}"), limits=Limits())
    )
    case = _case(made, {}, Totals(), mean_score({}), (), JudgeQuality())
    assert "trained on samples" in trust.in_short(trust.reasons(case))
    with Folder(tmp_path / "run") as folder:
        recorded.freeze(made, folder)
    assert read_json(tmp_path / "run" / "run.json")["recorded"]["seen"] == list(found)
    # An adapter on top has seen both; without a list of its own, the base's still counts.
    assert seen(f"hf:{merged}+{adapter}") == found
    adapter_texts.write(adapter, adapter_texts.digests([last.options[0].text]))
    assert {first.id, last.id} <= set(seen(f"hf:{merged}+{adapter}") or ())


def test_samples_chosen_by_name_are_known_and_a_duels_are_not_among_them(tmp_path: Path) -> None:
    def picked(**fields: Any) -> bool:
        made = plan.make(Config(experiment=Experiment(model="gpt-x", **fields), limits=Limits()))
        return made.hand_picked and "samples were chosen by name, or by the program" in " ".join(
            trust.reasons(_case(made, {}, Totals(), mean_score({}), (), JudgeQuality()))
        )

    names = tuple(game.id for game in reversed(GAMES))
    english = tuple(game.id for game in reversed(GAMES) if game.language == "en")
    drawn = tuple(sample.id for sample in planned("lotbench", tmp_path, limit=60, seed=3).chosen)
    assert not picked() and not picked(limit=60, seed=3) and not picked(samples=names)
    assert not picked(samples=drawn[::-1], seed=3) and not picked(samples=english, languages=("en",))
    assert picked(samples=drawn, seed=4) and picked(samples=names[:-1]) and picked(samples=english)
    with Folder(tmp_path / "run") as folder:
        recorded.freeze(planned("lotbench", tmp_path, samples=english, languages=("en",)), folder)
    table = read_json(tmp_path / "run" / "run.json")
    config = recorded.experiment(tmp_path / "run.json", table["experiment"])
    assert recorded.plan_fields(tmp_path / "run", config, table)["hand_picked"] is False
    del table["recorded"]["hand_picked"]
    assert recorded.plan_fields(tmp_path / "run", config, table)["hand_picked"] is True


def test_ideas_of_one_block_and_problems_of_one_question_count_once(tmp_path: Path) -> None:
    ideas = planned("rinobench", tmp_path, settings={"justification": False})
    problems = planned("standard", tmp_path)
    case = _case(ideas, {}, Totals(), mean_score({}), (), JudgeQuality())
    assert (case.samples, case.units) == (120, len({sample.block for sample in ideas.chosen})) == (120, 30)
    assert set(units := plan.group_samples(problems.chosen)) == {problem.group for problem in problems.chosen}
    # Four shards paid for the caption of one picture each.
    shares = [replace(problems, share=(number, 4)).sequences() for number in range(4)]
    parts = [{episode.sample for sequence in share for episode in sequence} for share in shares]
    assert all(sum(not part.isdisjoint(unit) for part in parts) == 1 for unit in units.values())


def test_a_problem_is_seen_if_a_response_that_people_liked_in_it_was_trained_on(tmp_path: Path) -> None:
    adapter_texts.write(tmp_path, [])
    chosen = planned("standard", tmp_path).chosen[0]
    right, wrong = chosen.options[0], chosen.options[-1]
    adapter_texts.write(tmp_path, adapter_texts.digests([right.text]))
    assert chosen.id in (planned("standard", tmp_path).seen or ())
    adapter_texts.write(tmp_path, adapter_texts.digests([wrong.text]))
    assert chosen.id not in (planned("standard", tmp_path).seen or ())


def test_what_an_adapter_has_seen_is_read_as_it_was_written(tmp_path: Path) -> None:
    adapter_texts.write(tmp_path, adapter_texts.digests(["one", "two"]))
    assert adapter_texts.read_digests(tmp_path) == {
        adapter_texts.fingerprint(text) for text in ("One.", "two")
    }
    for text in ('{"schema": 1}', '{"texts": "abc"}', "[" * 100_000):
        (tmp_path / adapter_texts.FILE).write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=r"seen.json: not a list of digests"):
            planned("lotbench", tmp_path)


@pytest.mark.parametrize("folder", datasets.data_sets(), ids=lambda folder: folder.name)
def test_every_shipped_sample_says_who_wrote_it(folder: Path) -> None:
    rows = [json.loads(line) for line in (folder / "samples.jsonl").read_text(encoding="utf-8").splitlines()]
    assert rows and all(row["writer"] for row in rows)
