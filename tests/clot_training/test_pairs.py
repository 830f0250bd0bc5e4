"""`clot pairs`: which answers of finished games become rows, how they are split, and what is said of them."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clot_training.cli import main
from clot_training.config import Config
from clot_training.data.pairs import make
from clot_training.data.preferences import Answer, Scene, fate
from clot_training.data.split import groups, held_out_samples
from clot_training.playing.samples import split
from clot_training.records import Pair, Work, read_records
from lotbench.benchmarks.lotbench.games import game
from lotbench.benchmarks.lotbench.words import same
from lotbench.checks.judge_check import judge_check
from lotbench.checks.judge_check_plan import Wanted
from lotbench.config.experiment import Config as RunConfig
from lotbench.config.experiment import Experiment, Limits
from lotbench.edge.files import adapter_texts, datasets
from lotbench.errors import UsageError
from lotbench.metrics.confusion import wrong_verdicts
from lotbench.run.results import Run
from tests.judging import PlantedJudge, asked, data_set, filled, shipped, write
from tests.old_runs import FOLDER
from tests.pairing import NONSENSE, Lister, Named, listed
from tests.rules import hear

ITEMS = shipped(4)
OLD = FOLDER / "20261122-0826-lotbench-python-candidate-aa37"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return data_set(tmp_path_factory.mktemp("data") / "lotbench_easy", ITEMS)


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Twelve games, in whose second round nonsense is said."""
    return asyncio.run(listed(ITEMS, data, tmp_path_factory.mktemp("runs"), spoilt=2))


def config(out: Path, **more: Any) -> Config:
    return Config(model="local", out=str(out), **{"held_out": 0.3, "seed": 1} | more)


def rows(out: Path) -> tuple[list[Pair], list[Pair]]:
    train, held_out = Work(out).preferences
    return list(read_records(train, Pair)), list(read_records(held_out, Pair))


def said(pair: Pair) -> tuple[str, str]:
    """What the two answers say."""
    chosen, rejected = (json.loads(side[0]["content"])["filling"] for side in (pair.chosen, pair.rejected))
    return chosen, rejected


def test_what_was_accepted_stands_against_what_was_refused_in_the_same_scene(
    run: Run, tmp_path: Path
) -> None:
    made = make(config(tmp_path), [str(run.path)])
    train, held_out = rows(tmp_path)
    assert train and held_out
    for pair in (*train, *held_out):
        item = next(one for one in ITEMS if one.id == pair.sample)
        chosen, rejected = said(pair)
        assert chosen in item.accept and rejected in [one.text for one in item.reject]
        assert item.caption in pair.prompt[-1]["content"] and item.frame in pair.prompt[-1]["content"]
        seen = (item.response, adapter_texts.picture(datasets.shipped("data", "lotbench_easy") / item.image))
        assert pair.seen == tuple(sorted(map(adapter_texts.fingerprint, seen)))
        assert (pair.canary, pair.language, pair.runs) == (item.canary, item.language, (run.path.name,))
    assert made["train"] == {"pairs": len(train), "samples": len({one.sample for one in train})}
    assert made == json.loads((tmp_path / "pairs" / "manifest.json").read_text())
    assert made["skipped"]["invalid"] == sum(
        one.status not in ("", "ok") for trace in run.traces for one in game(trace).rounds
    )


def test_every_verdict_of_the_games_is_counted_once(run: Run, tmp_path: Path) -> None:
    made = make(config(tmp_path), [str(run.path)])
    played = [(trace, one) for trace in run.traces for one in game(trace).rounds]
    fates = Counter(fate(game(trace), one) for trace, one in played)
    assert made["runs"][0]["answers"] == {
        "accepted by judge": fates["accepted"],
        "refused by judge": fates["refused"],
    }
    kept = {
        (trace.sample, same(one.filling or ""))
        for trace, one in played
        if fate(game(trace), one) == "accepted"
    }
    assert made["answers"]["accepted"] == len(kept)


def test_the_prompt_is_the_one_that_opens_a_game_in_its_variant(run: Run, data: Path, tmp_path: Path) -> None:
    heard: list[str] = []

    class Listening(Lister):
        def __call__(self, request: Any) -> Any:
            if (request.key.round, request.key.step) == (1, "respond"):
                heard.append("\n".join(str(part) for message in request.messages for part in message.parts))
            return super().__call__(request)

    player = Named(Listening(ITEMS), "listener")
    growing = asyncio.run(
        listed(ITEMS, data, tmp_path / "runs", model=player, settings={"conversation": "growing"})
    )
    make(config(tmp_path), [str(growing.path)])
    train, held_out = rows(tmp_path)
    prompts = {"\n".join(str(turn["content"]) for turn in pair.prompt) for pair in (*train, *held_out)}
    assert prompts <= set(heard)
    make(config(tmp_path / "both"), [str(growing.path), str(run.path), str(run.path)])
    both = [pair for side in rows(tmp_path / "both") for pair in side]
    assert len({pair.prompt[0]["content"] for pair in both}) > len(
        {pair.prompt[0]["content"] for pair in train}
    )
    assert all(len(pair.runs) == 1 for pair in both), "another variant is another prompt"


def test_whole_responses_are_paired_in_their_own_form(data: Path, tmp_path: Path) -> None:
    def likes(request: Any) -> Any:
        heard = hear(request)
        yes = f"Wanted: a {ITEMS[0].accept[0]}" in heard.text
        return {
            name: yes if field.get("type") == "boolean" else "a -> b" for name, field in heard.form.items()
        }

    one = asyncio.run(
        listed(ITEMS[:1], data, tmp_path / "runs", likes, settings={"frame": "hidden"}, repeats=6)
    )
    make(config(tmp_path), [str(one.path)])
    for pair in (pair for side in rows(tmp_path) for pair in side):
        assert ITEMS[0].accept[0] in json.loads(pair.chosen[0]["content"])["response"]
        assert ITEMS[0].frame not in str(pair.prompt)


def test_pictures_are_named_and_stand_where_the_game_shows_them(data: Path, tmp_path: Path) -> None:
    shown = asyncio.run(listed(ITEMS, data, tmp_path / "runs", settings={"arm": "image"}))
    make(config(tmp_path), [str(shown.path)])
    train, _ = rows(tmp_path)
    for pair in train:
        item = next(one for one in ITEMS if one.id == pair.sample)
        assert pair.images == ((data / item.image).as_posix(),)
        assert isinstance(pair.prompt[0]["content"], list), "one column has one shape"
        kinds = [part["type"] for turn in pair.prompt for part in turn["content"]]
        assert kinds.count("image") == 1 and item.caption not in str(pair.prompt)
    (data / ITEMS[0].image).rename(tmp_path / "gone.png")
    try:
        with pytest.raises(UsageError, match="the picture is not there"):
            make(config(tmp_path / "again"), [str(shown.path)])
    finally:
        (tmp_path / "gone.png").rename(data / ITEMS[0].image)


def test_replies_that_the_rules_refused_are_a_choice(run: Run, tmp_path: Path) -> None:
    without = make(config(tmp_path / "without"), [str(run.path)])
    made = make(config(tmp_path / "with", pairs={"invalid": True}), [str(run.path)])
    pairs = [pair for side in rows(tmp_path / "with") for pair in side]
    spoilt = [pair for pair in pairs if pair.rejected_by == "rules"]
    assert spoilt and {pair.rejected[0]["content"] for pair in spoilt} == {NONSENSE}
    assert "invalid" in without["skipped"] and "invalid" not in made["skipped"]
    assert not any(pair.rejected_by == "rules" for side in rows(tmp_path / "without") for pair in side)


def test_a_judge_that_says_both_or_against_the_lists_gives_no_row(data: Path, tmp_path: Path) -> None:
    judge = PlantedJudge(ITEMS, fpr=0.3, fnr=0.3)
    one = asyncio.run(listed(ITEMS, data, tmp_path / "runs", judge, repeats=6))
    made = make(config(tmp_path), [str(one.path)])
    assert made["skipped"]["against the sample's lists"] > 0
    for pair in (pair for side in rows(tmp_path) for pair in side):
        item = next(one for one in ITEMS if one.id == pair.sample)
        assert said(pair)[0] in item.accept and said(pair)[1] not in item.accept


def test_a_verdict_that_could_not_be_read_gives_no_row(data: Path, tmp_path: Path) -> None:
    mute = {words for item in ITEMS for words in (item.accept[0], item.reject[0].text)}
    judge = PlantedJudge(ITEMS, unreadable=lambda filling: filling in mute)
    one = asyncio.run(listed(ITEMS, data, tmp_path / "runs", judge, max_failed=1.0))
    assert any(trace.outcome == "judge_failed" for trace in one.traces)
    made = make(config(tmp_path), [str(one.path)])
    assert made["skipped"]["no verdict"] == sum(trace.outcome == "judge_failed" for trace in one.traces)
    assert not mute & {text for side in rows(tmp_path) for pair in side for text in said(pair)}


async def test_the_error_rates_of_judges_stand_beside_the_rows(data: Path, tmp_path: Path) -> None:
    judge = PlantedJudge(ITEMS, fpr=0.2, fnr=0.1)
    unchecked = await listed(ITEMS, data, tmp_path / "runs", judge)
    made = make(config(tmp_path / "before"), [str(unchecked.path)])
    assert made["runs"][0]["judges"] == [{"who": "judge-0", "error_rates": "not measured"}]
    assert "the judge was never checked (unchecked: judge-0)" in made["runs"][0]["reasons"]
    sets = write(tmp_path / "set", daeso=filled(ITEMS), oracle=asked(ITEMS))
    experiment = Experiment(
        data=str(data), roles={"judge": ("python:judge-0",)}, repeats=1, settings=unchecked.config.settings
    )
    wanted = Wanted(
        RunConfig(experiment=experiment, limits=Limits()), judge_set=str(sets), out=tmp_path / "check"
    )
    await judge_check(wanted, own={"python:judge-0": Named(judge, "judge-0")})
    known = make(config(tmp_path / "after"), [str(unchecked.path)])["runs"][0]["judges"][0]
    responses = {item.id: item.response for item in ITEMS}
    wrong = Counter(
        row["label"]
        for row in filled(ITEMS)
        if judge.verdict(responses[row["sample"]], row["filling"]) != row["label"]
    )
    of = Counter(row["label"] for row in filled(ITEMS))
    rates = known["error_rates"]
    assert (rates["fpr"], rates["fnr"]) == (
        pytest.approx(wrong[False] / of[False]),
        pytest.approx(wrong[True] / of[True]),
    )
    assert (rates["negatives"], rates["positives"], rates["labels"]) == (of[False], of[True], "author")
    judged = made["runs"][0]["answers"]
    expected = wrong_verdicts(
        judged["accepted by judge"], judged["refused by judge"], rates["fpr"], rates["fnr"]
    )
    assert expected is not None
    assert known["expected_wrong"] == {"accepted": expected[0], "refused": expected[1]}


def test_what_error_rates_let_expect_is_bayes_rule() -> None:
    # 1,000 answers, 300 of them right; of 10 and of 20 per cent the judge errs.
    accepted, refused = 240 + 70, 60 + 630
    assert wrong_verdicts(accepted, refused, 0.1, 0.2) == pytest.approx((70 / 310, 60 / 690))
    assert wrong_verdicts(10, 90, 0.0, 0.0) == (0.0, 0.0)
    assert wrong_verdicts(1, 99, 0.1, 0.0) == (1.0, 0.0), "no more were accepted than a judge errs"
    assert (
        wrong_verdicts(10, 90, None, 0.1)
        is wrong_verdicts(0, 9, 0.1, 0.1)
        is wrong_verdicts(9, 9, 0.6, 0.4)
        is None
    )


# What cannot be read.


def told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(arguments)
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_the_command_says_what_it_made(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["pairs", str(run.path), "--out", str(tmp_path), "--set", "held_out=0.3", "--set", "seed=1"]
    code, out, _ = told(arguments, capsys)
    made = json.loads((tmp_path / "pairs" / "manifest.json").read_text())
    assert code == 0
    assert out.startswith(
        f"{made['train']['pairs']} pairs of {made['train']['samples']} samples to train on, "
    )
    assert "error rates not measured: judge-0 (lotbench judge-check)" in out
    everything = ["pairs", str(run.path), "--out", str(tmp_path), "--set", "held_out=0.001"]
    assert "no sample is held out" in told(everything, capsys)[1]


def test_what_is_no_finished_run_of_the_game_is_refused_by_name(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(name: Path, *more: str) -> str:
        code, out, err = told(
            ["pairs", str(run.path), str(name), "--out", str(tmp_path / "out"), *more], capsys
        )
        assert code == 2 and not out
        assert not (tmp_path / "out").exists()
        return err

    assert f"{tmp_path / 'nowhere'}: not a run folder" in refused(tmp_path / "nowhere")
    assert f"{tmp_path}: not a run folder" in refused(tmp_path)
    other = FOLDER / "20261122-0826-rinobench-python-candidate-ab45"
    assert f"{other}: a run of rinobench" in refused(other)
    half = tmp_path / "half"
    shutil.copytree(run.path, half)
    lines = (half / "traces.jsonl").read_bytes().splitlines(keepends=True)
    (half / "traces.jsonl").write_bytes(b"".join(lines[:5]))
    assert f"{half}: not finished (5 of 12 games)" in refused(half)
    arguments = ["pairs", str(half), "--out", str(tmp_path / "some"), "--set", "pairs.unfinished=true"]
    assert told(arguments, capsys)[0] == 0
    (half / "traces.jsonl").write_bytes(b"".join(lines[:4]) + b"{}\n")
    assert f"{half / 'traces.jsonl'}:5: damaged" in refused(half, "--set", "pairs.unfinished=true")
    shutil.copytree(run.path, tmp_path / "changed")
    (tmp_path / "changed" / "samples.jsonl").write_text("", encoding="utf-8")
    assert "changed since the run began" in refused(tmp_path / "changed")
    assert "pairs.no_such" in refused(run.path, "--set", "pairs.no_such=1")
    assert told(["pairs", str(run.path)], capsys)[0] == 2


def test_games_without_verdicts_or_without_both_sides_are_refused_by_name(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def spoilt(request: Any) -> Any:
        return NONSENSE if request.key.step != "preflight" else {"word": "ready"}

    mute = asyncio.run(listed(ITEMS, data, tmp_path / "mute", model=Named(spoilt, "mute")))
    code, _, err = told(["pairs", str(mute.path), "--out", str(tmp_path / "out")], capsys)
    assert code == 2 and f"{mute.path}: none of its answers has a verdict" in err
    never = asyncio.run(listed(ITEMS, data, tmp_path / "never", PlantedJudge([])))
    code, _, err = told(["pairs", str(never.path), "--out", str(tmp_path / "out")], capsys)
    assert code == 2 and f"{never.path}: no scene has an accepted and a refused answer (0 accepted, " in err
    assert not (tmp_path / "out").exists()


def test_a_run_recorded_by_an_earlier_version_gives_rows(tmp_path: Path) -> None:
    made = make(config(tmp_path), [str(OLD)])
    assert made["answers"] == {"accepted": 1, "refused": 33}
    assert made["skipped"] == {"disputed": 3, "invalid": 1, "scene without both": 2}


def test_pairs_without_a_manifest_are_none(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(config(tmp_path), [str(run.path)])
    first = {path.name: path.read_bytes() for path in (tmp_path / "pairs").iterdir()}
    (tmp_path / "pairs" / "manifest.json").unlink()
    (tmp_path / "pairs" / ".train.jsonl.x.lotbench-part").write_bytes(b'{"half')
    with pytest.raises(UsageError, match=r"pairs: no pairs yet; run `clot pairs RUN\.\.\.` first"):
        assert Work(tmp_path).preferences
    make(config(tmp_path), [str(run.path)])
    assert {path.name: path.read_bytes() for path in (tmp_path / "pairs").iterdir()} == first


# Laws.


def scene(accepted: set[str], refused: set[str]) -> Scene:
    made = Scene(ITEMS[0], None, ({"role": "user", "content": "a scene"},), (), ())
    for texts, side in ((accepted, True), (refused, False)):
        for text in sorted(texts):
            made.hear(text, Answer(json.dumps({"filling": text}), "judge", {"run"}), accepted=side)
    return made


TEXTS = st.sets(st.text("abcABC !", min_size=1, max_size=4).filter(same), max_size=9)


@given(TEXTS, TEXTS, st.integers(1, 40), st.integers(0, 5))
def test_no_pair_stands_twice_and_no_answer_on_both_sides(
    accepted: set[str], refused: set[str], most: int, seed: int
) -> None:
    made = scene(accepted, refused)
    both = {same(text) for text in accepted} & {same(text) for text in refused}
    assert made.contradicted() == ["judged both ways"] * len(both)
    good, bad = len(made.accepted), len(made.refused)
    assert good == len({same(text) for text in accepted} - both)
    pairs = list(made.pairs(most, seed))
    assert len(pairs) == min(most, good * bad)
    assert (
        len({pair.id for pair in pairs})
        == len({tuple(map(same, said(pair))) for pair in pairs})
        == len(pairs)
    )
    assert {same(said(pair)[0]) for pair in pairs}.isdisjoint(made.refused)
    for side in (0, 1):
        times = Counter(said(pair)[side] for pair in pairs)
        of = (good, bad)[side]
        assert not times or max(times.values()) - min([*times.values(), *([0] * (len(times) < of))]) <= 1
    assert pairs == list(scene(accepted, refused).pairs(most, seed)) or both


SCENES = st.sets(
    st.tuples(
        st.integers(0, 30).map("s{}".format), st.frozensets(st.integers(0, 12).map("p{}".format), max_size=2)
    )
)


@given(SCENES, st.floats(0.01, 0.99), st.integers(0, 9))
def test_what_hangs_together_is_never_parted(
    scenes: set[tuple[str, frozenset[str]]], share: float, seed: int
) -> None:
    # A sample may be played in several variants, which share its marks.
    def out(order: list[tuple[str, frozenset[str]]]) -> frozenset[str]:
        marked: dict[str, set[str]] = {}
        for name, marks in order:
            marked.setdefault(name, set()).update(marks)
        found = groups(marked)
        assert sorted(one for group in found for one in group) == sorted(marked)
        return held_out_samples(marked, share=share, seed=seed)

    away = out(sorted(scenes, key=str))
    for one, its in scenes:
        for other, theirs in scenes:
            assert not its & theirs or (one in away) == (other in away)
    assert away == out(sorted(scenes, key=str, reverse=True))


def test_about_the_share_is_held_out_and_another_run_moves_no_sample() -> None:
    marked = {f"lot-{n:04d}": {str(n)} for n in range(2000)}
    out = held_out_samples(marked, share=0.2, seed=3)
    assert 0.17 < len(out) / len(marked) < 0.23
    some = dict(list(marked.items())[:500])
    assert held_out_samples(some, share=0.2, seed=3) == some.keys() & out


def test_pairs_and_games_hold_out_the_same_samples(run: Run, data: Path, tmp_path: Path) -> None:
    """Who is trained by both is tested on nothing that either saw."""
    met = 0
    for seed in range(8):
        made = config(tmp_path, held_out=0.5, seed=seed, play={"data": str(data), "settings": {"ask": False}})
        try:
            apart = split(made)
        except UsageError as error:
            assert "at least one is to be held out, and one played" in str(error)
            continue
        make(made, [str(run.path)])
        train, held_out = ({pair.sample for pair in side} for side in rows(tmp_path))
        assert train <= {one.id for one in apart.train} and held_out <= {one.id for one in apart.held_out}
        met += bool(train and held_out)
    assert met


def test_a_sample_stays_on_its_side_whichever_others_were_played(data: Path, tmp_path: Path) -> None:
    """The first two share a picture; a run that has only the second of them holds out what one of both does."""
    shutil.copytree(data, tmp_path / "lotbench_easy")
    tied = [ITEMS[0], ITEMS[1].model_copy(update={"image": ITEMS[0].image}), *ITEMS[2:]]
    lines = "".join(one.model_dump_json() + "\n" for one in tied)
    (tmp_path / "lotbench_easy" / "samples.jsonl").write_text(lines, encoding="utf-8")
    every, some = (
        asyncio.run(listed(played, tmp_path / "lotbench_easy", tmp_path / name))
        for name, played in (("every", tied), ("some", tied[1:]))
    )
    sides = set()
    for seed in range(12):
        out = []
        for run in (every, some):
            make(config(tmp_path / "out", held_out=0.5, seed=seed), [str(run.path)])
            out.append(tied[1].id in {pair.sample for pair in rows(tmp_path / "out")[1]})
        assert out[0] == out[1]
        sides.add(out[0])
    assert sides == {True, False}


def test_a_row_has_the_same_id_wherever_the_pictures_lie(data: Path, tmp_path: Path) -> None:
    ids = []
    for place in ("here", "there"):
        shutil.copytree(data, tmp_path / place / "lotbench_easy")
        one = asyncio.run(
            listed(ITEMS, tmp_path / place / "lotbench_easy", tmp_path / place, settings={"arm": "image"})
        )
        make(config(tmp_path / place, pairs={"per_scene": 3}), [str(one.path)])
        ids.append([pair.id for side in rows(tmp_path / place) for pair in side])
    assert ids[0] == ids[1]


def test_samples_of_one_scene_or_answer_are_held_out_together(data: Path, tmp_path: Path) -> None:
    """Each of a chain of samples has something in common with the next: a picture, a caption, an answer."""
    shutil.copytree(data, tmp_path / "lotbench_easy")
    first, second, third, fourth = ITEMS
    chained = [
        first,
        second.model_copy(update={"image": first.image}),
        third.model_copy(update={"caption": second.caption}),
        fourth.model_copy(update={"accept": (*fourth.accept, third.accept[0].upper())}),
    ]
    lines = "".join(one.model_dump_json() + "\n" for one in chained)
    (tmp_path / "lotbench_easy" / "samples.jsonl").write_text(lines, encoding="utf-8")
    one = asyncio.run(listed(chained, tmp_path / "lotbench_easy", tmp_path / "runs"))
    sizes = set()
    for seed in range(8):
        make(config(tmp_path / "out", held_out=0.5, seed=seed), [str(one.path)])
        sizes.add(tuple(bool(side) for side in rows(tmp_path / "out")))
    assert sizes == {(True, False), (False, True)}, "all of them on one side, whichever"
