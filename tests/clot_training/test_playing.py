"""Learning by playing, on a tiny model that was taught to win now and then: what is played, what is learned, what stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from clot_training.config import Config
from clot_training.playing import judges, measure, report
from clot_training.playing.samples import split
from lotbench import benchmarks
from lotbench.config.experiment import Config as RunConfig
from lotbench.config.experiment import Experiment, Limits
from lotbench.edge.files import adapter_texts
from lotbench.edge.files.traces import Traces
from lotbench.errors import UsageError
from lotbench.run import plan
from lotbench.types import Message, Reply, Request, Sampling
from tests.taught import taught
from tests.tiny import saved_llama

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ["lot-0002", "lot-0028", "lot-0034"]
PLAY = {
    "samples": SAMPLES,
    "settings": {"ask": False, "clues": False, "max_rounds": 2},
    "group": 6,
    "steps": 5,
    "save_steps": 3,
    "max_tokens": 24,
    "measured": 4,
    "learning_rate": 5e-3,
    "start_fillings": 6,
    "start_between": [0.01, 0.95],
}
TUNE = {"rank": 4, "max_steps": 1, "batch_size": 4, "dropout": 0.0, "learning_rate": 1e-5}


def config(model: str, out: Path, **play: Any) -> Config:
    return Config(model=model, out=str(out), seed=3, held_out=0.25, tune=TUNE, play={**PLAY, **play})


def items(folder: Path | None = None) -> dict[str, Any]:
    from lotbench.edge.files import datasets

    place = folder or datasets.data_folder("lotbench_easy", "")
    return {one.id: one for one in datasets.samples(place, benchmarks.get("lotbench").Item)}


# What needs no model.


def test_the_held_out_scenes_share_no_picture_and_no_answer_with_those_that_are_played() -> None:
    every = split(Config(model="m", out="o", held_out=0.3))
    assert not {one.id for one in every.train} & {one.id for one in every.held_out}
    assert 0.2 < len(every.held_out) / len(items()) < 0.4

    def answers(some: tuple[Any, ...]) -> set[str]:
        return {
            adapter_texts.fingerprint(text)
            for one in some
            for text in (one.response, one.key_text, *one.accept)
        }

    assert not answers(every.train) & answers(every.held_out)


def test_samples_of_one_picture_are_held_out_together(tmp_path: Path) -> None:
    from lotbench.edge.files import datasets

    folder = datasets.data_folder("lotbench_easy", "")
    lines = [json.loads(line) for line in (folder / "samples.jsonl").read_text("utf-8").splitlines()][:6]
    data = tmp_path / "data"
    (data / "images").mkdir(parents=True)
    pictures = [folder / line["image"] for line in lines]
    for at, line in enumerate(lines):
        # The second three are the first three's pictures, under other names.
        line["image"] = f"images/{at}.png"
        (data / line["image"]).write_bytes(pictures[at % 3].read_bytes())
    (data / "samples.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    whole = 0
    for seed in range(8):
        made = Config(
            model="m",
            out="o",
            seed=seed,
            held_out=0.4,
            play={"data": str(data), "settings": {"ask": False}},
        )
        try:
            apart = split(made)
        except UsageError:
            continue
        whole += 1
        places = {one.id: at for at, one in enumerate(items(data).values())}
        away = Counter(places[one.id] % 3 for one in apart.held_out)
        assert set(away.values()) == {2}
        # Naming one of two that hang together moves it to no other side.
        for one in (*apart.train, *apart.held_out):
            other = next(
                two for two in (*apart.train, *apart.held_out) if (two in apart.train) != (one in apart.train)
            )
            named = made.model_copy(
                update={"play": made.play.model_copy(update={"samples": (one.id, other.id)})}
            )
            assert (one in split(named).train) == (one in apart.train)
        # Who played the one has seen the other, as any run can tell.
        adapter_texts.write(tmp_path, [*apart.seen][-1:])
        asked = Experiment(model=f"hf:some/base+{tmp_path}", data=str(data))
        (shown,) = {
            places[name] % 3 for name in plan.make(RunConfig(experiment=asked, limits=Limits())).seen or ()
        }
        assert shown == places[apart.train[-1].id] % 3
    assert whole > 2


def test_too_few_scenes_or_unknown_ones_are_refused() -> None:
    for share, out in ((0.5, 0), (0.9, 1)):
        made = Config(
            model="m", out="o", held_out=share, play={"samples": ["lot-0002"], "settings": {"ask": False}}
        )
        with pytest.raises(UsageError, match=rf"of 1, held_out = {share} and seed = 0 hold out {out};"):
            split(made)
    with pytest.raises(UsageError, match="no sample 'x'"):
        split(Config(model="m", out="o", play={"samples": ["x"], "settings": {"ask": False}}))
    with pytest.raises(ValueError, match="nobody can ask"):
        Config(model="m", out="o", play={"settings": {}})
    with pytest.raises(ValueError, match="need a frame"):
        Config(model="m", out="o", play={"settings": {"ask": False, "frame": "hidden"}})


def test_a_start_of_other_settings_or_samples_is_not_gone_on_with(tmp_path: Path) -> None:
    """It may have seen what is held out now."""
    from clot_training.playing.start import start, started

    made, folder = config("m", tmp_path), tmp_path / "play" / "start"
    with pytest.raises(UsageError, match="no start yet; run `clot play-start` first"):
        started(made, split(made))
    folder.mkdir(parents=True)
    told = {"rewards": {"untrained": {"mean": 0.0}, "tuning 1": {"mean": 0.4}}, "adapter": "there"}
    (folder / "start.json").write_text(json.dumps(told), "utf-8")
    assert started(made, split(made)) == folder / "adapter"
    assert start(made) == told
    other = made.model_copy(update={"held_out": 0.3})
    assert split(other).train != split(made).train
    for changed in (other, config("m", tmp_path, start_right=0.4), config("n", tmp_path)):
        with pytest.raises(UsageError, match="other settings"):
            start(changed)
        with pytest.raises(UsageError, match="other settings"):
            started(changed, split(changed))
    assert start(config("m", tmp_path, steps=7, kl=0.5, learning_rate=1.0)) == told


def test_a_model_is_measured_in_the_precision_in_which_it_learns(tmp_path: Path) -> None:
    from clot_training.playing.start import measured

    made = config("m", tmp_path)
    four = made.model_copy(update={"tune": made.tune.model_copy(update={"quantize": "4bit"})})
    with pytest.raises(UsageError, match="needs a CUDA GPU"):
        measured(four, split(four), tmp_path / "games", None)


def test_replies_are_drawn_from_the_odds_that_are_learned_from(tmp_path: Path) -> None:
    """What a model's makers advise for drawing is left out: here a penalty that would change every reply."""
    from clot_training.playing.draws import at_rest, replies
    from clot_training.playing.talk import Talk
    from clot_training.tuning.weights import load

    saved_llama(tmp_path)
    loaded = load(str(tmp_path))
    said = []
    for penalty in (1.0, 50.0):
        loaded.model.generation_config.repetition_penalty = penalty
        talk = Talk(loaded)
        talk.hear([Message("user", ("What colour is the sky?",))])
        with at_rest(loaded, loaded.model) as resting:
            said.append(replies(resting, [talk] * 2, [Sampling(1.0, 1.0, seed, 12) for seed in (1, 2)]))
        assert loaded.model.generation_config.repetition_penalty == penalty
    assert said[0] == said[1]


def test_the_report_says_no_more_than_was_seen(tmp_path: Path) -> None:
    found = {"wrong": 9, "accepted": 0, "fpr": 0.0, "right": 8, "refused": 6, "fnr": 0.75}
    end = {"reward": {"mean": 0.3}, "listed": {"mean": 0.3}, "errors": found}
    table: dict[str, Any] = {"ends": {"first": end, "last": end}, "chance": {}, "max_fpr": 0.05, "best": 1.0}
    table["steps"] = [{"apart": True}]
    assert "yes to 0 of 9 guesses" in report._head(table) and "no to 6 of 8" in report._head(table)
    none = end | {"reward": {"mean": None}, "listed": {"mean": None}}
    assert "nothing is known" in report._head(table | {"ends": {"first": none, "last": none}})


def test_games_that_broke_off_are_counted_when_the_folder_has_lost_them(tmp_path: Path) -> None:
    """A killed training that goes on plays no game of its earlier steps again, and unanswered ones leave the folder."""
    from clot_training.playing.grpo import score

    told: dict[str, float] = {}
    assert score([1.0, None, 0.5, None], told.__setitem__, prompts=["x"] * 4) == [1.0, None, 0.5, None]
    logged = {"step": 1, "reward": 0.75, "frac_reward_zero_std": 0.0} | told
    (tmp_path / "steps.jsonl").write_text(json.dumps(logged) + "\n", "utf-8")
    rules = benchmarks.get("lotbench").Settings(max_rounds=1)
    (step,) = report._steps(_scripted([("sofa", "exact")]), rules, items(), tmp_path)
    assert (step["games"], step["broke_off"], step["apart"]) == (1, 2, True)


def test_turns_are_told_apart_in_a_growing_conversation() -> None:
    from clot_training.playing.talk import _news, last_turn

    first = (Message("system", ("rules",)), Message("user", ("scene\nATTEMPT: say",)))
    unread = (first[0], Message("user", ("scene\nATTEMPT: say\nthat was no object",)))
    wrong = (
        *first,
        Message("assistant", ('{"filling": "a"}',)),
        Message("user", ("WRONG-ANS: a\nATTEMPT: say",)),
    )
    lost = (first[0], Message("user", ("scene\nATTEMPT: say\nCLUE: c\nATTEMPT: say",)))
    assert _news(last_turn(first), last_turn(wrong)) == "WRONG-ANS: a\nATTEMPT: say"
    assert _news(last_turn(first), last_turn(unread)) == "that was no object"
    assert _news(last_turn(unread), last_turn(wrong)) == "WRONG-ANS: a\nATTEMPT: say"
    assert _news(last_turn(unread), last_turn(lost)) == "CLUE: c\nATTEMPT: say"


# With a model.


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny model that was taught the form and a few fillings, a right one among them."""
    folder = tmp_path_factory.mktemp("base")
    return taught(folder, config(str(folder), folder / "work"), ["a cloud", "two spoons"])


@pytest.fixture(scope="module")
def started(base: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work folder with a start adapter."""
    from clot_training.playing.start import start

    work = tmp_path_factory.mktemp("work")
    made = start(config(base, work))
    assert 0 < made["rewards"]["tuning 1"]["mean"] < 0.95
    assert start(config(base, work)) == made
    return work


def copied(started: Path, place: Path) -> Path:
    import shutil

    shutil.copytree(started / "play" / "start", place / "play" / "start")
    return place


@pytest.fixture(scope="module")
def trained(base: str, started: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work folder with a finished training, on one thread: how many sum decides the last bits."""
    import torch

    from clot_training.playing.train import train

    work, threads = copied(started, tmp_path_factory.mktemp("trained")), torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        made = train(config(base, work))
    finally:
        torch.set_num_threads(threads)
    assert made.model == f"hf:{base}+{work / 'play/train/adapter'}"
    return work


@pytest.mark.slow
def test_a_game_is_one_sequence_with_the_models_own_tokens(base: str, tmp_path: Path) -> None:
    from clot_training.playing.rollouts import Rollouts
    from clot_training.tuning.weights import load

    settings = config(base, tmp_path)
    apart, loaded = split(settings), load(base)
    words = loaded.tokenizer
    name = apart.train[0].id
    with Rollouts(settings.play, apart.train, apart, tmp_path / "games", 0) as rollouts:
        played = rollouts.play(loaded, loaded.model, [name] * 8, 0)
        # Each game is drawn by itself: who plays beside it changes nothing.
        alone = rollouts.play(loaded, loaded.model, [name], 100)
    turns = [json.loads(line) for line in (tmp_path / "games/turns.jsonl").read_text("utf-8").splitlines()]
    for one in played:
        mine = [turn for turn in turns if turn["seed"] == one.trace.repeat]
        drawn = [token for token, own in zip(one.talk.completion, one.talk.mask, strict=True) if own]
        assert drawn == [token for turn in mine for token in turn["said"]]
        assert one.talk.mask[0] == 1 and one.talk.mask[-1] == 1
        assert len(one.talk.mask) == len(one.talk.completion)
    long = next(one for one in played if len([t for t in turns if t["seed"] == one.trace.repeat]) == 2)
    first, second = (turn for turn in turns if turn["seed"] == long.trace.repeat)
    assert words.decode(long.talk.prompt) == words.decode(first["heard"])
    reply = words.decode(first["said"], skip_special_tokens=True)
    filling = json.loads(reply)["filling"]
    told = words.apply_chat_template(
        [
            {"role": "user", "content": "?"},
            {"role": "assistant", "content": reply},
            {"role": "user", "content": second["text"]},
        ],
        tokenize=False,
        add_generation_prompt=True,
    )
    assert words.decode(first["said"] + second["heard"]) == told.partition("<|im_start|>assistant\n")[2]
    assert second["text"].startswith(f"WRONG-ANS: {filling}")
    assert alone[0].reward is not None


@pytest.mark.slow
def test_reading_the_shared_beginning_once_gives_the_same_odds_and_gradients(
    base: str, tmp_path: Path
) -> None:
    import torch
    from trl import GRPOTrainer

    from clot_training.playing.grpo import GameTrainer, arguments
    from clot_training.tuning.tune import with_lora
    from clot_training.tuning.weights import load

    settings = config(base, tmp_path)
    loaded = load(base)
    model = with_lora(loaded, settings.tune, None)
    trainer = GameTrainer(
        model, loaded.tokenizer, arguments(settings, loaded, tmp_path), SAMPLES, lambda *_: []
    )
    torch.manual_seed(1)
    ids = torch.randint(5, 400, (4, 30))
    ids[1], ids[3] = torch.cat([ids[0, :20], ids[1, 20:]]), torch.cat([ids[2, :20], ids[3, 20:]])
    there = torch.ones_like(ids)
    there[2:, :5] = 0
    there[0, 26:] = 0
    found = []
    for kind in (GameTrainer, GRPOTrainer):
        model.zero_grad()
        logps, entropies, _ = kind._get_per_token_logps_and_entropies(
            trainer, model, ids, there, 10, compute_entropy=True
        )
        real = there[:, -10:].bool()
        (logps * real).sum().backward()
        grads = [weight.grad.clone() for weight in model.parameters() if weight.grad is not None]
        found.append((logps[real], entropies[real], grads))
    (ours, doubt, mine), (theirs, other, grads) = found
    assert torch.allclose(ours, theirs, atol=1e-4)
    assert torch.allclose(doubt, other, atol=1e-4)
    assert mine and all(torch.allclose(a, b, atol=1e-3) for a, b in zip(mine, grads, strict=True))


@pytest.mark.slow
def test_a_training_leaves_an_adapter_that_knows_what_it_saw_and_a_report(trained: Path, base: str) -> None:
    out = trained / "play/train"
    apart = split(config(base, trained))
    asked = Experiment(model=f"hf:{base}+{out / 'adapter'}", data="lotbench_easy", samples=tuple(SAMPLES))
    seen = plan.make(RunConfig(experiment=asked, limits=Limits())).seen
    assert set(seen or ()) == {one.id for one in apart.train}
    assert apart.held_out and seen is not None
    table = json.loads((out / "report.json").read_text())
    assert [one["step"] for one in table["steps"]] == [1, 2, 3, 4, 5]
    assert all(one["KL"] is not None and one["games"] + one["broke_off"] == 6 for one in table["steps"])
    assert (out / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert table["held_out_score"]["after"]["games"] == 4
    after = json.loads((Path(table["held_out_score"]["after"]["run"]) / "summary.json").read_text())
    assert not [why for why in after["reasons"] if "trained on" in why]
    # The accept list judges by the labels themselves.
    assert table["ends"]["last"]["errors"]["fpr"] in (0.0, None)
    assert table["ends"]["last"]["reward"] == table["ends"]["last"]["listed"]
    text = (out / "report.md").read_text()
    assert "won by a judge's yes" in text and "Do not trust" not in text
    assert table["compared"] == 2 and "| first 2 steps | last 2 |" in text


@pytest.mark.slow
def test_a_step_makes_rewarded_games_likelier_than_the_others(
    base: str, started: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One step up the objective at a small rate, whatever was drawn; a curve of so small a model is mostly noise."""
    from clot_training.playing.train import train

    monkeypatch.setattr(report, "write", lambda *_: "")
    work = copied(started, tmp_path)
    made = config(base, work, group=16, steps=1, kl=0.0, learning_rate=1e-4)
    train(made)
    games = measure.watched(Traces(work / "play/train/games/traces.jsonl"), 16)
    rewards = {one.game.repeat: one.reward or 0.0 for one in games}
    middle = sum(rewards.values()) / len(rewards)
    assert len(rewards) == 16 and len(set(rewards.values())) > 1
    before, after = (
        _odds(made, work / place / "adapter", work / "play/train/games/turns.jsonl")
        for place in ("play/start", "play/train")
    )
    assert before.keys() == rewards.keys()
    assert sum((rewards[seed] - middle) * (after[seed] - before[seed]) for seed in rewards) > 0


def _odds(made: Config, adapter: Path, turns: Path) -> dict[int, float]:
    """The log-odds of all that the model drew in each game, by its seed."""
    import torch

    from clot_training.tuning.tune import with_lora
    from clot_training.tuning.weights import load

    games: dict[int, list[tuple[int, bool]]] = {}
    for line in turns.read_text("utf-8").splitlines():
        turn = json.loads(line)
        mine = games.setdefault(turn["seed"], [])
        mine += [(token, False) for token in turn["heard"]] + [(token, True) for token in turn["said"]]
    model = with_lora(load(made.model), made.tune, adapter).eval()
    found = {}
    for seed, tokens in games.items():
        ids = torch.tensor([[token for token, _ in tokens]])
        drawn = torch.tensor([own for _, own in tokens])[1:]
        with torch.no_grad():
            logs = model(input_ids=ids).logits[0, :-1].float().log_softmax(-1)
        found[seed] = float(logs.gather(1, ids[0, 1:, None])[drawn].sum())
    return found


@pytest.mark.slow
def test_a_game_whose_judge_failed_is_no_reward_and_teaches_nothing(
    base: str, started: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from safetensors.torch import load_file

    from clot_training.playing.train import train

    class Mute(judges.AcceptList):
        async def __call__(self, request: Request) -> Reply:
            return Reply("I had rather not say.", "mute")

    monkeypatch.setattr(judges, "JUDGES", {"accept-list": Mute})
    monkeypatch.setattr(report, "write", lambda *_: "")
    work = copied(started, tmp_path)
    # The key text needs no judge: those who say it are rewarded without one, so nobody may.
    monkeypatch.setattr(
        "clot_training.playing.rollouts.Played.reward",
        property(lambda one: one.trace.score.value if one.trace.outcome.endswith("failed") else None),
    )
    train(config(base, work, steps=2, kl=0.0))
    games = measure.watched(Traces(work / "play/train/games/traces.jsonl"), 6)
    broken = [one for one in games if one.game.outcome == "judge_failed"]
    assert broken and all(one.reward is None for one in broken)
    before, after = (
        load_file(work / "play" / stage / "adapter/adapter_model.safetensors") for stage in ("start", "train")
    )
    assert all(torch.equal(before[name], after[name]) for name in before)


def clot(work: Path, base: str, **more: Any) -> subprocess.Popen[bytes]:
    """A training in a process of its own."""
    (work / "play.toml").write_text(_toml(config(base, work)), "utf-8")
    command = [sys.executable, "-m", "clot_training.cli", "play-train", "--config", str(work / "play.toml")]
    settings = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=work, env=os.environ | settings, **more)


def _toml(made: Config) -> str:
    import tomli_w

    return tomli_w.dumps(made.model_dump(mode="json"))


@pytest.mark.slow
def test_a_training_that_is_killed_goes_on_to_the_same_adapter_and_asks_nothing_twice(
    base: str, started: Path, trained: Path, tmp_path: Path
) -> None:
    work = copied(started, tmp_path)
    turns = work / "play/train/games/turns.jsonl"
    unbroken = (trained / "play/train/games/turns.jsonl").read_bytes().count(b"\n")
    with clot(work, base) as process:
        until = time.monotonic() + 120
        # In the fifth step: past the checkpoint of the third, in the middle of an epoch, with games of the fourth over.
        while not (turns.exists() and turns.read_bytes().count(b"\n") > 0.85 * unbroken):
            assert process.poll() is None and time.monotonic() < until
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    saved = work / "play/train/checkpoints/checkpoint-3"
    assert adapter_texts.read(saved)
    assert not (work / "play/train/play.json").exists()
    with clot(work, base) as process:
        assert process.wait(240) == 0
    weights = [
        (place / "play/train/adapter/adapter_model.safetensors").read_bytes() for place in (work, trained)
    ]
    assert weights[0] == weights[1]
    calls = [
        [
            json.loads(line)["key"]
            for line in (place / "play/train/games/calls.jsonl").read_text("utf-8").splitlines()
        ]
        for place in (work, trained)
    ]
    assert len(set(map(str, calls[0]))) == len(calls[0])
    assert sorted(map(str, calls[0])) == sorted(map(str, calls[1]))
    # Another configuration does not go on in this folder.
    from clot_training.playing.train import train

    with pytest.raises(UsageError, match="other settings"):
        train(config(base, work, learning_rate=1e-3))


@pytest.mark.slow
def test_a_judge_that_is_fooled_is_told_of(base: str, started: Path, tmp_path: Path) -> None:
    """The weak judge against the samples' lists, on games played by hand."""
    named = items()
    one = named["lot-0002"]
    weak = judges.Echo({one.id: one})
    assert "cracker" in judges.nouns(one)
    assert weak.accepts(one, "my huge cracker") and not weak.accepts(one, "sofa")
    games = _scripted([("a cracker", "accepted"), ("sofa", "exact"), ("a cloud", "refused")])
    found = measure.errors(games, named)
    assert (found["wrong"], found["accepted"], found["fpr"]) == (2, 1, 0.5)
    rules = benchmarks.get("lotbench").Settings(max_rounds=1)
    made = measure.parts(games, rules, named)
    assert made["reward"]["mean"] == pytest.approx(2 / 3)
    assert made["listed"]["mean"] == pytest.approx(1 / 3)
    assert (made["key_text"], made["judged"]) == (1 / 3, 1 / 3)
    table = {
        "ends": {
            "first": made | {"reward": {"mean": 0.2}, "listed": {"mean": 0.2}, "errors": found},
            "last": made | {"errors": found},
        },
        "chance": {"parrot": {"mean": 0.9}, "placebo": {"mean": 0.0}},
        "max_fpr": 0.05,
        "best": 1.0,
        "steps": [{"apart": False}, {"apart": True}],
    }
    told = " ".join(report.warnings(table))
    assert "accepted 1 of 2" in told and "went up by 0.467" in told and "parrot" in told
    assert "no weight" not in told
    assert report.warnings(table | {"steps": [{"apart": False}] * 2})[0].startswith(
        "no weight was moved by it"
    )
    assert report.corrected(0.95, 0.9, 1.0) == pytest.approx(0.5)
    assert report.corrected(0.95, 1.0, 1.0) is None


def _scripted(said: list[tuple[str, str]]) -> list[measure.Watched]:
    from lotbench.benchmarks.lotbench.games import Game, Opinion, Round

    made = []
    for at, (filling, how) in enumerate(said):
        yes = how != "refused"
        opinion = Opinion("check", 0, yes, "exact" if how == "exact" else "judge", "ok", {}, {})
        game = Game(
            "lot-0002",
            at,
            "solved" if yes else "unsolved",
            1 if yes else None,
            (Round(1, filling, "ok", opinions=(opinion,)),),
            (),
        )
        made.append(measure.Watched(0, 1.0 if yes else 0.0, game))
    return made
