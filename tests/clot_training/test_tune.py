"""Tuning and the tuned policy, on tiny models with random weights: what the loss sees, what is tuned, what comes out."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clot_training.config import Config
from clot_training.records import Instruction, Prompt
from lotbench.edge.files import adapter_texts
from lotbench.errors import UsageError
from lotbench.types import Sampling
from tests.tiny import llava, saved_llama, square

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
COLOURS = ("red", "blue", "green", "yellow")
SETTINGS = {
    "rank": 8,
    "modules_to_save": ["lm_head"],
    "learning_rate": 5e-3,
    "batch_size": 4,
    "log_steps": 1,
    "schedule": "constant",
    "dropout": 0.0,
}


def instruction(number: int, asked: str, response: str, image: str | None = None) -> Instruction:
    content: Any = asked
    if image is not None:
        content = [{"type": "image", "image": image}, {"type": "text", "text": asked}]
    return Instruction(
        id=f"i{number}",
        kind="generation",
        type="I2T" if image else "T2T",
        language="en",
        group=f"g{number}",
        rows=(f"r{number}",),
        messages=({"role": "user", "content": content},),
        image=image,
        response=response,
    )


def written(folder: Path, made: list[Instruction]) -> list[Path]:
    """Instructions in two files, as a run would have them."""
    files = [folder / "train-00000.jsonl", folder / "train-00001.jsonl"]
    for half, file in enumerate(files):
        file.write_text("".join(one.model_dump_json() + "\n" for one in made[half::2]), encoding="utf-8")
    return files


@pytest.fixture(scope="module")
def text_base(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("text")
    saved_llama(folder)
    return str(folder)


@pytest.fixture(scope="module")
def seeing_base(tmp_path_factory: pytest.TempPathFactory) -> str:
    import torch

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("seeing")
    model, processor = llava()
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("pictures")
    for colour in COLOURS:
        (folder / f"{colour}.png").write_bytes(square(colour))
    return {colour: str(folder / f"{colour}.png") for colour in COLOURS}


def config(model: str, out: Path, **tune: Any) -> Config:
    return Config(model=model, data=("lotbench_easy",), out=str(out), tune=SETTINGS | tune)


def colours(pictures: dict[str, str]) -> list[Instruction]:
    """A picture and its colour, and one instruction without a picture among them."""
    made = [instruction(n, "colour?", colour, pictures[colour]) for n, colour in enumerate(COLOURS)]
    return [*made, instruction(9, "the sky?", "blue")]


def test_the_loss_sees_the_response_and_its_end_alone(seeing_base: str, pictures: dict[str, str]) -> None:
    from clot_training.tuning.examples import Collator
    from clot_training.tuning.weights import load

    loaded = load(seeing_base)
    batch = Collator(loaded)(colours(pictures))
    seen = [loaded.tokenizer.decode(row[row >= 0]) for row in batch["labels"]]
    assert seen == [f"{colour}<|im_end|>" for colour in (*COLOURS, "blue")]
    assert batch["labels"].shape == batch["input_ids"].shape
    assert batch["pixel_values"].shape[0] == len(COLOURS)
    at = batch["labels"] >= 0
    assert (batch["labels"][at] == batch["input_ids"][at]).all()


def test_a_token_that_spans_the_seam_is_the_responses(text_base: str) -> None:
    from clot_training.tuning.examples import written as added
    from clot_training.tuning.weights import load

    loaded = load(text_base)
    ids = loaded.tokenizer("the c" + "at sat")["input_ids"]
    assert loaded.tokenizer.decode(added(loaded, "the c", "at sat")) == " cat sat"
    assert added(loaded, "the cat", " sat") == ids[-len(added(loaded, "the cat", " sat")) :]


def test_lora_keeps_out_of_the_vision_tower(seeing_base: str, text_base: str) -> None:
    from peft import LoraConfig, get_peft_model

    from clot_training.tuning.weights import linear_layers, load

    for base, count in ((seeing_base, 14), (text_base, 14)):
        model = load(base).model
        tuned = get_peft_model(model, LoraConfig(target_modules=linear_layers(model)))
        places = [name for name, _ in tuned.named_parameters() if "lora_A" in name]
        assert len(places) == count, "seven layers in each of the two blocks"
        assert not any("vision" in place for place in places)


ARCHITECTURES = (
    "llava",
    "qwen2_vl",
    "qwen2_5_vl",
    "qwen3_vl",
    "smolvlm",
    "idefics3",
    "gemma3",
    "internvl",
    "mistral3",
)


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_the_layers_of_an_architecture_are_found(kind: str) -> None:
    """Every linear layer of the language model and no other; on models without weights, two blocks each."""
    import re

    import torch
    import transformers

    from clot_training.tuning.weights import linear_layers
    from lotbench.edge.models.transformers.loading import model_class

    shape = transformers.AutoConfig.for_model(kind)
    words = shape.get_text_config()
    words.num_hidden_layers = 2
    if getattr(words, "layer_types", None):
        words.layer_types = words.layer_types[:2]
    with torch.device("meta"):
        model = model_class(shape).from_config(shape)
    pattern = linear_layers(model)
    linear = [name for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)]
    found = [name for name in linear if re.fullmatch(pattern, name)]
    assert found == [name for name in linear if re.search(r"(language|text)_model\.layers\.", name)]
    assert len(found) == 14


@pytest.fixture(scope="module")
def tuned(seeing_base: str, pictures: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stage of the tiny vision model that learnt to name colours."""
    from clot_training.tuning.tune import tune

    work = tmp_path_factory.mktemp("work")
    files = written(work, colours(pictures))
    made = tune(config(seeing_base, work, epochs=150), files, work / "stage1")
    assert made.model == f"hf:{seeing_base}+{work / 'stage1' / 'adapter'}"
    assert made.after < 0.5 * made.before
    return work


def test_a_stage_says_what_it_was_made_of(tuned: Path, seeing_base: str, pictures: dict[str, str]) -> None:
    stage = tuned / "stage1"
    about = json.loads((stage / "tune.json").read_text())
    assert (about["examples"], about["left_out"], about["processes"]) == (5, {}, 1)
    assert set(about["instructions"]) == {"train-00000.jsonl", "train-00001.jsonl"}
    lines = [json.loads(line) for line in (stage / "loss.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == list(range(1, about["steps"] + 1))
    assert (stage / "loss.png").read_bytes().startswith(b"\x89PNG")
    seen = adapter_texts.read(stage / "adapter")
    assert seen == {adapter_texts.fingerprint(one.response) for one in colours(pictures)}
    frozen = json.loads((stage / "config.json").read_text())
    assert frozen["config"]["model"] == seeing_base
    assert all(len(digest) == 64 for digest in frozen["data"].values())


def test_a_finished_stage_is_not_tuned_again_and_never_mixed_with_another(
    tuned: Path, seeing_base: str
) -> None:
    from clot_training.tuning.tune import tune

    files = sorted(tuned.glob("train-*.jsonl"))
    before = (tuned / "stage1" / "adapter" / "adapter_model.safetensors").stat().st_mtime_ns
    again = tune(config(seeing_base, tuned, epochs=150), files, tuned / "stage1")
    assert again.after < 0.5 * again.before
    assert (tuned / "stage1" / "adapter" / "adapter_model.safetensors").stat().st_mtime_ns == before
    with pytest.raises(UsageError, match="other settings"):
        tune(config(seeing_base, tuned, epochs=1), files, tuned / "stage1")


def test_the_tuned_policy_names_what_it_sees(tuned: Path, seeing_base: str, pictures: dict[str, str]) -> None:
    from clot_training.exploring.policy import TransformersPolicy

    policy = TransformersPolicy(
        seeing_base, str(tuned / "stage1" / "adapter"), sampling=Sampling(temperature=0.0, max_tokens=8)
    )
    asked = [Prompt(one.messages, one.image, 1) for one in colours(pictures)]
    assert policy.generate(asked) == [*COLOURS, "blue"]
    mixed = [asked[4], asked[2], asked[0]]
    assert policy.generate(mixed) == ["blue", "green", "red"]
    assert policy.select(mixed, [("red", "blue"), ("red", "green"), ("red", "blue", "green")]) == [1, 1, 0]
    with pytest.raises(UsageError, match="do not set the labels"):
        policy.select(asked[:1], [("red", "red")])


def test_a_draw_does_not_depend_on_its_batch(seeing_base: str, pictures: dict[str, str]) -> None:
    from clot_training.exploring.policy import TransformersPolicy

    policy = TransformersPolicy(seeing_base, sampling=Sampling(temperature=1.0, max_tokens=12))
    prompts = [Prompt(one.messages, one.image, seed) for seed, one in enumerate(colours(pictures))]
    together = policy.generate(prompts)
    assert [policy.generate([prompt])[0] for prompt in prompts] == together
    assert policy.generate(prompts[::-1]) == together[::-1]


async def test_an_adapter_that_sees_meets_the_benchmark(tuned: Path, pictures: dict[str, str]) -> None:
    """`lotbench evaluate --model hf:BASE+ADAPTER`, with pictures, plays what was tuned here."""
    import asyncio

    from lotbench.config.model_names import parse
    from lotbench.edge.models.transformers import TransformersModel
    from lotbench.types import Image
    from tests.edge.test_transformers_model import request

    named = parse(json.loads((tuned / "stage1" / "tune.json").read_text())["model"])
    model = TransformersModel(
        named.model, named.adapter, picture=lambda sha: Path(pictures[sha]).read_bytes()
    )
    replies = await asyncio.gather(*(model(request(Image(colour), "colour?")) for colour in COLOURS))
    assert [reply.text for reply in replies] == list(COLOURS)


def test_a_killed_stage_goes_on_where_it_was(
    text_base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped after a checkpoint and begun again, it ends with the weights of an unbroken one."""
    import torch
    from safetensors.torch import load_file

    from clot_training.tuning import tune as module

    made = [instruction(n, f"number {n}?", "red" if n % 2 else "blue") for n in range(12)]
    files = written(tmp_path, made)
    chosen = config(text_base, tmp_path, epochs=4, save_steps=5, dropout=0.1)
    module.tune(chosen, files, tmp_path / "whole")

    class Killed(Exception):
        pass

    steps = 0
    step = module.InOrder.training_step

    def dying(self: Any, *rest: Any, **more: Any) -> Any:
        nonlocal steps
        steps += 1
        if steps == 8:
            raise Killed
        return step(self, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(module.InOrder, "training_step", dying)
        with pytest.raises(Killed):
            module.tune(chosen, files, tmp_path / "broken")
    # Killed once more, in the middle of writing a checkpoint.
    whole, half = (tmp_path / "broken" / "checkpoints" / f"checkpoint-{step}" for step in (5, 6))
    shutil.copytree(whole, half, ignore=shutil.ignore_patterns("trainer_state.json", "optimizer.pt"))
    steps = 100
    module.tune(chosen, files, tmp_path / "broken")
    whole, broken = (
        load_file(tmp_path / stage / "adapter" / "adapter_model.safetensors") for stage in ("whole", "broken")
    )
    assert whole.keys() == broken.keys()
    assert all(torch.equal(whole[name], broken[name]) for name in whole)
    losses = [(tmp_path / stage / "loss.jsonl").read_text().splitlines() for stage in ("whole", "broken")]
    assert [json.loads(a)["loss"] for a in losses[0]] == [json.loads(b)["loss"] for b in losses[1]]


def test_checkpointed_activations_change_no_weight(text_base: str, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    from clot_training.tuning.tune import tune

    files = written(tmp_path, [instruction(n, f"number {n}?", "red") for n in range(4)])
    for stage, checkpointed in (("plain", False), ("checkpointed", True)):
        chosen = config(text_base, tmp_path, max_steps=3, gradient_checkpointing=checkpointed)
        tune(chosen, files, tmp_path / stage)
    plain, checkpointed = (
        load_file(tmp_path / stage / "adapter" / "adapter_model.safetensors")
        for stage in ("plain", "checkpointed")
    )
    assert all(float((plain[name] - checkpointed[name]).abs().max()) < 1e-6 for name in plain)


def test_what_is_not_here_is_named(text_base: str, tmp_path: Path) -> None:
    from clot_training.tuning.tune import tune

    files = written(tmp_path, [instruction(0, "number?", "red")])
    for settings, told in (
        ({"quantize": "4bit"}, "needs a CUDA GPU"),
        ({"target_modules": "no_such_layer"}, "tune.target_modules"),
        ({"track": ["wandb"]}, "pip install wandb"),
    ):
        with pytest.raises(UsageError, match=told):
            tune(config(text_base, tmp_path, **settings), files, tmp_path / "stage")
        (tmp_path / "stage" / "identity").unlink()
    with pytest.raises(UsageError, match="cannot be loaded"):
        tune(config(str(tmp_path / "absent"), tmp_path), files, tmp_path / "stage")


def test_a_model_that_reads_text_only_leaves_pictures_out_and_says_so(
    text_base: str, pictures: dict[str, str], tmp_path: Path
) -> None:
    from clot_training.tuning.tune import tune

    made = [*colours(pictures), instruction(10, "the sea " * 60, "blue")]
    done = tune(config(text_base, tmp_path, max_length=100), written(tmp_path, made), tmp_path / "stage1")
    assert done.left_out == {"picture": 4, "too long": 1}
    with pytest.raises(UsageError, match="nothing to train on"):
        tune(config(text_base, tmp_path), written(tmp_path, colours(pictures)[:4]), tmp_path / "other")


def test_two_processes_give_the_adapter_of_one(text_base: str, tmp_path: Path) -> None:
    """torchrun on CPU, through gloo: two processes with half a batch each take the steps of one with a whole."""
    import torch
    from safetensors.torch import load_file

    from clot_training.tuning.tune import tune

    made = [instruction(n, f"number {n}?", "red" if n % 2 else "blue") for n in range(16)]
    (tmp_path / "instructions").mkdir()
    files = written(tmp_path / "instructions", made)
    # Without it a process would take the folder for one that is still being written.
    (tmp_path / "instructions" / "manifest.json").write_text("{}", encoding="utf-8")
    steps = {"max_steps": 6, "group_by_length": False, "learning_rate": 1e-3}
    tune(config(text_base, tmp_path, **steps, batch_size=8), files, tmp_path / "one")
    table = "\n".join(f"{key} = {json.dumps(value)}" for key, value in (SETTINGS | steps).items())
    file = tmp_path / "run.toml"
    file.write_text(
        f'model = "{text_base}"\ndata = ["lotbench_easy"]\nout = "{tmp_path}"\n[tune]\n{table}\n',
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    done = subprocess.run(
        [*command, "-m", "clot_training.cli", "tune", "--config", str(file)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("hf:") == 1, "one process speaks"
    about = json.loads((tmp_path / "stage1" / "tune.json").read_text())
    assert (about["processes"], about["steps"]) == (2, 6)
    one, two = (
        load_file(tmp_path / stage / "adapter" / "adapter_model.safetensors") for stage in ("one", "stage1")
    )
    moved = max(float(weight.abs().max()) for name, weight in two.items() if "lora_B" in name)
    assert moved > 1e-3, "it was trained"
    for name, weight in one.items():
        torch.testing.assert_close(two[name], weight, atol=1e-5, rtol=1e-3)
