"""DPO: its loss beside the formula and beside trl's, its reference, what it says of pairs, and a killed stage."""

from __future__ import annotations

import asyncio
import json
import math
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clot_training.cli import main
from clot_training.config import Config, Tune
from clot_training.records import Pair, Work, read_records
from clot_training.tuning import ranked
from lotbench.config.experiment import Config as RunConfig
from lotbench.config.experiment import Experiment, Limits
from lotbench.edge.files import adapter_texts
from lotbench.errors import UsageError
from lotbench.run import plan
from tests.judging import data_set, shipped
from tests.pairing import listed
from tests.tiny import llava, saved_llama, square

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
ITEMS = shipped(4)
TUNE = {
    "objective": "dpo",
    "rank": 4,
    "learning_rate": 1e-2,
    "batch_size": 2,
    "log_steps": 1,
    "schedule": "constant",
}


def pair(number: int, good: str, bad: str, **more: Any) -> Pair:
    turns = (
        {"role": "system", "content": "You name colours."},
        {"role": "user", "content": f"What is {number}?"},
    )
    return Pair(
        id=f"p{number}",
        sample=f"s{number}",
        language="en",
        **{"prompt": turns} | more,
        chosen=({"role": "assistant", "content": good},),
        rejected=({"role": "assistant", "content": bad},),
        chosen_by="judge",
        rejected_by="judge",
        runs=("run",),
        seen=(f"{number:016x}",),
        canary="",
    )


PAIRS = [
    pair(1, '{"filling": "red"}', '{"filling": "the cat sat on the mat"}'),
    pair(2, '{"filling": "blue sky"}', '{"filling": "it"}'),
    pair(3, '{"filling": "a sky of red"}', '{"filling": "mat"}'),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("base")
    saved_llama(folder)
    return str(folder)


@pytest.fixture(scope="module")
def work(base: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work folder with the pairs of a finished run, and the file of its configuration."""
    root = tmp_path_factory.mktemp("work")
    data = data_set(root / "lotbench_easy", ITEMS)
    run = asyncio.run(listed(ITEMS, data, root / "runs"))
    table = "\n".join(f"{key} = {json.dumps(value)}" for key, value in (TUNE | {"epochs": 4}).items())
    (root / "run.toml").write_text(
        f'model = "{base}"\nout = "{root / "out"}"\nheld_out = 0.3\nseed = 1\n[pairs]\nper_scene = 6\n'
        f"[tune]\nsave_steps = 4\nmax_length = 2048\n{table}\n",
        encoding="utf-8",
    )
    assert main(["pairs", str(run.path), "--config", str(root / "run.toml")]) == 0
    for file in Work(root / "out").preferences:
        # The tiny tokenizer makes two thousand tokens of the rules of the game.
        short = [one.model_copy(update={"prompt": one.prompt[1:]}) for one in read_records(file, Pair)]
        lines = (one.model_dump_json(exclude={"images"}) + "\n" for one in short)
        file.write_text("".join(lines), encoding="utf-8")
    return root


DYING = """
import os, signal, sys
from clot_training.cli import main
from clot_training.tuning import tune
step, taken = tune.InOrder.training_step, []
def dying(self, *rest, **more):
    taken.append(1)
    if len(taken) == 6:
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self, *rest, **more)
tune.InOrder.training_step = dying
main(sys.argv[1:])
"""
"""`clot`, killed in the sixth step of tuning."""


def staged(base: str, adapter: Path | None = None, moved: float = 1.0) -> tuple[Any, Any]:
    """The objective and its model, whose adapter has gone some way from its reference."""
    import torch

    from clot_training.tuning.objectives import Preferred, Stage
    from clot_training.tuning.tune import with_lora
    from clot_training.tuning.weights import load

    settings = Tune(**TUNE | {"dropout": 0.2, "beta": 0.3})
    loaded = load(base)
    torch.manual_seed(1)
    model = with_lora(loaded, settings, adapter)
    made = Preferred(Stage(loaded, model, adapter, settings))
    model.train()
    moved_on(model, moved)
    return made, model


def moved_on(model: Any, far: float) -> None:
    """Change what an adapter says."""
    import torch

    torch.manual_seed(2)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B.default" in name:
                weight.add_(torch.randn_like(weight) * far)


def read(objective: Any, pairs: list[Pair]) -> list[Any]:
    return [objective.read(one.model_dump_json().encode()) for one in pairs]


def log_probability(model: Any, words: Any, prompt: str, answer: str) -> float:
    """The sum over an answer's tokens, one at a time and without a batch."""
    import torch

    before, ids = (words(text, add_special_tokens=False)["input_ids"] for text in (prompt, prompt + answer))
    with torch.no_grad():
        scores = torch.log_softmax(model(input_ids=torch.tensor([ids])).logits[0].double(), -1)
    return float(sum(scores[place - 1, ids[place]] for place in range(len(before), len(ids))))


def test_the_loss_is_equation_7(base: str) -> None:
    """By hand: each answer alone, in double precision, from the templates on."""
    objective, model = staged(base)
    words, beta, losses = objective._chats._loaded.tokenizer, 0.3, []
    for one in PAIRS:
        turns = [dict(turn) for turn in one.prompt]
        prompt = words.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        ratios = []
        for side in (one.chosen, one.rejected):
            answer = side[0]["content"] + "<|im_end|>"
            with model.disable_adapter():
                reference = log_probability(model, words, prompt, answer)
            ratios.append(log_probability(model, words, prompt, answer) - reference)
        losses.append(-math.log(1 / (1 + math.exp(-beta * (ratios[0] - ratios[1])))))
        assert abs(ratios[0] - ratios[1]) > 0.1
    batch = objective.batch(read(objective, PAIRS))
    assert "labels" not in batch
    assert objective.loss(model, batch).item() == pytest.approx(sum(losses) / 3, abs=1e-5)
    for one, expected in zip(PAIRS, losses, strict=True):
        alone = objective.loss(model, objective.batch(read(objective, [one])))
        assert alone.item() == pytest.approx(expected, abs=1e-5)
    assert objective._spare, "logits of prompts are not computed"
    objective._spare = False
    assert objective.loss(model, batch).item() == pytest.approx(sum(losses) / 3, abs=1e-5)
    objective.loss(model, batch).backward()
    trained = {name for name, weight in model.named_parameters() if weight.grad is not None}
    assert trained and all("lora_" in name for name in trained)


def test_trl_comes_to_the_same_loss_and_reads_the_rows(base: str, tmp_path: Path) -> None:
    """trl's DPOTrainer on the same file, model, adapter and batch."""
    pytest.importorskip("trl")
    import torch
    from datasets import load_dataset
    from trl import DPOConfig, DPOTrainer

    objective, model = staged(base, moved=0.0)
    file = tmp_path / "train.jsonl"
    file.write_text(
        "".join(one.model_dump_json(exclude={"images"}) + "\n" for one in PAIRS), encoding="utf-8"
    )
    data = load_dataset("json", data_files=str(file), split="train", cache_dir=str(tmp_path / "cache"))
    settings = DPOConfig(
        output_dir=str(tmp_path / "trl"),
        beta=0.3,
        use_cpu=True,
        bf16=False,
        report_to="none",
        max_length=None,
        per_device_train_batch_size=3,
        activation_checkpointing=False,
    )
    trainer = DPOTrainer(
        model=model, args=settings, train_dataset=data, processing_class=objective._chats._loaded.tokenizer
    )
    # It keeps a copy of the adapter as it is: only now may that go on.
    moved_on(model, 1.0)
    ours = objective.loss(model, objective.batch(read(objective, PAIRS))).item()
    assert abs(ours - math.log(2)) > 1e-3
    batch = trainer.data_collator([trainer.train_dataset[place] for place in range(3)])
    # A template's line break behind the mark is one more token to trl; ours ends with the mark.
    newline = objective._chats._loaded.tokenizer("\n")["input_ids"]
    for row, length in enumerate(batch["attention_mask"].sum(1).tolist()):
        assert batch["input_ids"][row, length - 1 : length].tolist() == newline
        batch["completion_mask"][row, length - 1] = 0
    with torch.no_grad():
        theirs = float(trainer.compute_loss(trainer.model, batch))
    assert theirs == pytest.approx(ours, abs=1e-5)


def test_a_new_adapter_is_its_own_reference_and_dropout_is_off(base: str) -> None:
    objective, model = staged(base, moved=0.0)
    batch = objective.batch(read(objective, PAIRS))
    assert objective.loss(model, batch).item() == pytest.approx(math.log(2), abs=1e-6)
    moved, model = staged(base)
    assert model.training
    batch = moved.batch(read(moved, PAIRS))
    assert moved.loss(model, batch).item() == moved.loss(model, batch).item()


def test_an_adapter_to_start_from_is_the_reference_and_stays_it(base: str, tmp_path: Path) -> None:
    import torch

    _, model = staged(base)
    model.save_pretrained(tmp_path / "started")
    objective, going = staged(base, tmp_path / "started", moved=0.0)
    batch = objective.batch(read(objective, PAIRS))
    assert objective.loss(going, batch).item() == pytest.approx(math.log(2), abs=1e-6)
    before = objective._reference(batch)
    with torch.no_grad(), going.disable_adapter():
        bare = {name: tensor for name, tensor in batch.items() if name != "answers"}
        assert (going(**bare).logits - model(**bare).logits).abs().max() > 1e-3, "it is not the base"
    step = torch.optim.SGD([one for one in going.parameters() if one.requires_grad], lr=0.02)
    objective.loss(going, batch).backward()
    step.step()
    assert objective.loss(going, batch).item() < math.log(2) - 1e-4
    assert torch.equal(objective._reference(batch), before)


def test_what_is_said_of_pairs_is_what_their_likelihoods_come_to(base: str) -> None:
    objective, model = staged(base)
    found = objective.measured(read(objective, PAIRS))
    assert model.training, "as it was"
    losses = [objective.loss(model, objective.batch(read(objective, [one]))).item() for one in PAIRS]
    assert found["loss"]["after"] == pytest.approx(sum(losses) / 3, abs=1e-5)
    right = [loss < math.log(2) for loss in losses]
    assert (found["pairs"], found["ranked_right"]["value"]) == (3, pytest.approx(sum(right) / 3))
    assert found["margin"]["after"] == pytest.approx(
        sum(-math.log(math.expm1(loss)) for loss in losses) / 3, abs=1e-5
    )
    assert objective.measured([]) == {}
    assert ranked.loss(-900.0) == 900.0 and ranked.loss(900.0) == 0.0 and ranked.loss(0.0) == math.log(2)


def test_a_stage_learns_its_pairs_and_says_how_it_ranks_others(
    work: Path, base: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", "--config", str(work / "run.toml")]) == 0
    out = capsys.readouterr().out
    stage = work / "out" / "dpo"
    about = json.loads((stage / "tune.json").read_text())
    train, held_out = (list(read_records(file, Pair)) for file in Work(work / "out").preferences)
    assert about["examples"] == len(train) and about["left_out"] == {}
    mine, others = about["measured"]["train"], about["measured"]["held_out"]
    assert (mine["pairs"], others["pairs"]) == (len(train), len(held_out))
    assert mine["loss"]["after"] < 0.5 < mine["loss"]["before"] and mine["ranked_right"]["value"] > 0.9
    assert f"held out: {len(held_out)} pairs, loss {others['loss']['after']:.3f}" in out
    assert f"hf:{base}+{stage / 'adapter'}" in out


def test_an_adapter_of_pairs_is_not_trusted_on_their_samples(work: Path) -> None:
    stage = work / "out" / "dpo" / "adapter"
    train, held_out = (list(read_records(file, Pair)) for file in Work(work / "out").preferences)
    marks = adapter_texts.read(stage)
    assert marks is not None and {mark for one in train for mark in one.seen} <= marks
    chosen = {json.loads(one.chosen[0]["content"])["filling"] for one in train}
    assert {adapter_texts.fingerprint(text) for text in chosen} <= marks
    saved = list((stage.parent / "checkpoints").iterdir())
    assert saved and all(adapter_texts.read(one) == marks for one in saved)
    experiment = Experiment(model=f"hf:some/base+{stage}", data=str(work / "lotbench_easy"), roles={})
    made = plan.make(
        RunConfig(
            experiment=experiment.model_copy(update={"roles": {"judge": ("j",), "oracle": ("o",)}}),
            limits=Limits(),
        )
    )
    assert set(made.seen or ()) == {one.sample for one in train}
    assert not set(made.seen or ()) & {one.sample for one in held_out}


def test_a_stage_killed_in_the_middle_goes_on_to_the_same_adapter(work: Path, tmp_path: Path) -> None:
    """kill -9 after a checkpoint: no adapter is there, and the same command ends with the weights of an unbroken run."""
    import torch
    from safetensors.torch import load_file

    shutil.copytree(work / "out" / "pairs", tmp_path / "pairs")
    arguments = ["tune", "--config", str(work / "run.toml"), "--set", f"out={tmp_path}"]
    how: dict[str, Any] = {"cwd": ROOT, "env": os.environ | {"PYTHONPATH": str(ROOT)}, "capture_output": True}
    killed = subprocess.run([sys.executable, "-c", DYING, *arguments], timeout=300, check=False, **how)
    assert killed.returncode == -signal.SIGKILL
    assert list((tmp_path / "dpo" / "checkpoints").iterdir())
    assert not (tmp_path / "dpo" / "tune.json").exists() and not (tmp_path / "dpo" / "adapter").exists()
    command = [sys.executable, "-m", "clot_training.cli", *arguments]
    done = subprocess.run(command, timeout=300, check=False, **how)
    assert done.returncode == 0, done.stderr[-2000:]
    one, other = (
        load_file(root / "dpo" / "adapter" / "adapter_model.safetensors") for root in (work / "out", tmp_path)
    )
    assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_pairs_are_held_out_only_if_they_can_be_read_and_were_never_seen(base: str, tmp_path: Path) -> None:
    """A model that reads text only, begun from an adapter that saw one of the samples."""
    from clot_training.tuning.tune import tune

    files = []
    (tmp_path / "red.png").write_bytes(square("red"))
    parts = ({"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "colour?"}]},)
    blind = pair(4, "red", "blue", prompt=parts, images=(str(tmp_path / "red.png"),))
    far = pair(5, "red", " ".join(["blue"] * 400))
    for name, some in (
        ("first", PAIRS[:1]),
        ("second", PAIRS[1:2]),
        ("out", [PAIRS[0], PAIRS[2], blind, far]),
    ):
        files.append(tmp_path / f"{name}.jsonl")
        files[-1].write_text("".join(one.model_dump_json() + "\n" for one in some), encoding="utf-8")
    made = Config(model=base, out=str(tmp_path), tune=TUNE | {"max_steps": 1, "max_length": 200})
    tune(made, files[:1], tmp_path / "before")
    found = tune(
        made, files[1:2], tmp_path / "after", adapter=tmp_path / "before" / "adapter", held_out=files[2:]
    ).measured["held_out"]
    assert found["pairs"] == 1
    assert found["left_out"] == {"picture": 1, "too long": 1, "seen before": 1}


def test_pairs_with_pictures_are_seen(tmp_path: Path) -> None:
    import torch

    torch.manual_seed(0)
    model, processor = llava()
    model.save_pretrained(tmp_path / "base")
    processor.save_pretrained(tmp_path / "base")
    made = []
    for number, (colour, other) in enumerate((("red", "blue"), ("blue", "red"))):
        (tmp_path / f"{colour}.png").write_bytes(square(colour))
        parts = [{"type": "text", "text": "IMAGE: "}, {"type": "image"}, {"type": "text", "text": "colour?"}]
        prompt = ({"role": "user", "content": parts},)
        made.append(pair(number, colour, other, prompt=prompt, images=(str(tmp_path / f"{colour}.png"),)))
    objective, tuned = staged(str(tmp_path / "base"), moved=0.0)
    batch = objective.batch(read(objective, made))
    assert batch["pixel_values"].shape[0] == 4
    tokens = objective._chats._loaded.tokenizer
    said = [tokens.decode(row[mask]) for row, mask in zip(batch["input_ids"], batch["answers"], strict=True)]
    assert said == [f"{colour}<|im_end|>" for colour in ("red", "blue", "blue", "red")]
    assert objective.loss(tuned, batch).item() == pytest.approx(math.log(2), abs=1e-5)


def test_what_is_not_there_is_named(
    base: str, work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from clot_training.tuning.refine import refine
    from clot_training.tuning.tune import tune

    assert main(["tune", "--config", str(work / "run.toml"), "--set", f"out={tmp_path}"]) == 2
    assert "no pairs yet; run `clot pairs RUN...` first" in capsys.readouterr().err
    nowhere = ["--set", f"tune.start={tmp_path / 'nowhere'}", "--set", f"out={tmp_path / 'other'}"]
    shutil.copytree(work / "out" / "pairs", tmp_path / "other" / "pairs")
    assert main(["tune", "--config", str(work / "run.toml"), *nowhere]) == 2
    assert f"{tmp_path / 'nowhere'}: no adapter" in capsys.readouterr().err
    assert not (tmp_path / "other" / "dpo").exists()
    with pytest.raises(UsageError, match="clot refine trains on instructions"):
        refine(Config(model=base, out=str(tmp_path), tune=TUNE))
    train, held_out = Work(work / "out").preferences
    short = Config(model=base, out=str(tmp_path), tune=TUNE | {"max_length": 20})
    with pytest.raises(UsageError, match=r"nothing to train on; left out: .*too long"):
        tune(short, [train], tmp_path / "short", held_out=[held_out])
