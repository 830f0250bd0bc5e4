"""Tuning and the tuned policy, on tiny models with random weights: what the loss sees, what is tuned, what comes out."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from clot_training.config import Config
from clot_training.records import Instruction, Prompt
from lotbench.errors import UsageError
from lotbench.storage import adapter_texts
from lotbench.types import Sampling
from tests.tiny import llava, saved_llama, square

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
COLOURS = ("red", "blue", "green", "yellow")
LORA = {"r": 8, "modules_to_save": ["lm_head"], "lora_dropout": 0.0}
TRAINER = {
    "learning_rate": 5e-3,
    "per_device_train_batch_size": 4,
    "logging_steps": 1,
    "lr_scheduler_type": "constant_with_warmup",
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


def config(
    model: str,
    out: Path,
    lora: Mapping[str, Any] | None = None,
    weights: Mapping[str, Any] | None = None,
    **trainer: Any,
) -> Config:
    table = {"trainer": TRAINER | trainer, "lora": LORA | dict(lora or {})}
    return Config(model=model, data=("lotbench_easy",), out=str(out), tune=table, weights=weights or {})


def colours(pictures: dict[str, str]) -> list[Instruction]:
    """A picture and its colour, and one instruction without a picture among them."""
    made = [instruction(n, "colour?", colour, pictures[colour]) for n, colour in enumerate(COLOURS)]
    return [*made, instruction(9, "the sky?", "blue")]


def labelled(base: str, made: list[Instruction], folder: Path, **trainer: Any) -> tuple[Any, list[str]]:
    """The trainer of a stage, and what its loss sees of the rows, as text."""
    from clot_training.tuning import examples, settings, tune
    from clot_training.tuning.weights import base_model

    chosen = config(base, folder, **trainer)
    loaded = base_model(chosen)
    examples.write(chosen, written(folder, made), loaded, folder)
    rows = examples.dataset(folder / "train.jsonl", loaded.sees, chosen.weights.max_pixels)
    args = settings.arguments(chosen, folder)
    trainer_made = tune._trainer(chosen, args, loaded, (rows, None), None)
    batch = trainer_made.data_collator([trainer_made.train_dataset[n] for n in range(len(rows))])
    at = batch["labels"] >= 0
    assert (batch["labels"][at] == batch["input_ids"][at]).all()
    return batch, [loaded.tokenizer.decode(row[row >= 0]) for row in batch["labels"]]


def test_the_loss_sees_the_response_and_its_end_alone(
    seeing_base: str, text_base: str, pictures: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "seeing").mkdir()
    batch, seen = labelled(seeing_base, colours(pictures), tmp_path / "seeing")
    assert sorted(seen) == sorted(f"{colour}<|im_end|>\n" for colour in (*COLOURS, "blue"))
    assert batch["pixel_values"].shape[0] == len(COLOURS)
    (tmp_path / "text").mkdir()
    _, seen = labelled(text_base, [instruction(n, "the sky?", "blue") for n in range(2)], tmp_path / "text")
    assert seen == ["blue<|im_end|>\n"] * 2


def test_picture_tokens_count_as_length(seeing_base: str, pictures: dict[str, str], tmp_path: Path) -> None:
    """What is counted before training is what the collator makes, for a picture and for none."""
    from clot_training.tuning import examples
    from clot_training.tuning.weights import base_model

    (tmp_path / "rows").mkdir()
    batch, _ = labelled(seeing_base, colours(pictures), tmp_path / "rows")
    counted = json.loads((tmp_path / "rows" / "examples.json").read_text())
    assert counted == {"examples": 5, "tokens": int(batch["attention_mask"].sum()), "left_out": {}}
    loaded = base_model(config(seeing_base, tmp_path))
    (length,) = examples._lengths(loaded, colours(pictures)[:1], 1 << 20)
    short = config(seeing_base, tmp_path, max_length=length - 1)
    left = examples.write(short, written(tmp_path, colours(pictures)), loaded, tmp_path)
    assert left["left_out"]["too long"] >= 1 and left["examples"] >= 1


def test_pictures_are_scaled_down_to_so_many_pixels(tmp_path: Path) -> None:
    import PIL.Image

    from clot_training.tuning.examples import _scaled, picture

    turned = PIL.Image.Exif()
    turned[0x0112] = 6
    PIL.Image.new("RGB", (400, 100)).save(tmp_path / "wide.jpg", exif=turned)
    for most, size in ((1 << 20, (100, 400)), (10_000, (50, 200))):
        wide = str(tmp_path / "wide.jpg")
        assert picture(wide, most).size == size == _scaled(wide, most)


def test_a_token_that_spans_the_seam_is_the_responses(text_base: str) -> None:
    from clot_training.tuning.examples import written as added
    from lotbench.models.transformers.loading import load

    loaded = load(text_base, None)
    ids = loaded.tokenizer("the c" + "at sat")["input_ids"]
    assert loaded.tokenizer.decode(added(loaded, "the c", "at sat")) == " cat sat"
    assert added(loaded, "the cat", " sat") == ids[-len(added(loaded, "the cat", " sat")) :]


def test_lora_keeps_out_of_the_vision_tower(seeing_base: str, text_base: str) -> None:
    from peft import LoraConfig, get_peft_model

    from clot_training.tuning.weights import linear_layers
    from lotbench.models.transformers.loading import load

    for base, count in ((seeing_base, 14), (text_base, 14)):
        model = load(base, None).model
        tuned = get_peft_model(model, LoraConfig(target_modules=linear_layers(model)))
        places = [name for name, _ in tuned.named_parameters() if "lora_A" in name]
        assert len(places) == count, "seven layers in each of the two blocks"
        assert not any("vision" in place for place in places)


ARCHITECTURES = (
    "llava", "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "smolvlm", "idefics3", "gemma3", "internvl", "mistral3",
)  # fmt: skip


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_the_layers_of_an_architecture_are_found(kind: str) -> None:
    """Every linear layer of the language model and no other; on models without weights, two blocks each."""
    import re

    import torch
    import transformers

    from clot_training.tuning.weights import linear_layers

    shape = transformers.AutoConfig.for_model(kind)
    words = shape.get_text_config()
    words.num_hidden_layers = 2
    if getattr(words, "layer_types", None):
        words.layer_types = words.layer_types[:2]
    with torch.device("meta"):
        model = transformers.AutoModelForImageTextToText.from_config(shape)
    linear = [name for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)]
    found = linear_layers(model)
    assert found == [name for name in linear if re.search(r"(language|text)_model\.layers\.", name)]
    assert len(found) == 14


@pytest.fixture(scope="module")
def tuned(seeing_base: str, pictures: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stage of the tiny vision model that learnt to name colours."""
    from clot_training.tuning.tune import tune

    work = tmp_path_factory.mktemp("work")
    files = written(work, colours(pictures))
    made = tune(config(seeing_base, work, num_train_epochs=150), files, work / "stage1")
    assert made["model"] == f"hf:{seeing_base}+{work / 'stage1' / 'adapter'}"
    assert made["loss"]["after"] < 0.5 * made["loss"]["before"]
    return work


def test_a_stage_says_what_it_was_made_of(tuned: Path, seeing_base: str, pictures: dict[str, str]) -> None:
    stage = tuned / "stage1"
    about = json.loads((stage / "tune.json").read_text())
    assert (about["examples"], about["left_out"], about["processes"]) == (5, {}, 1)
    assert about["precision"] == {"frozen": "float32", "adapter": "float32", "autocast": "no"}
    card = (stage / "adapter" / "README.md").read_text()
    assert "base_model" not in card
    assert "others cannot load this adapter" in card
    assert "(trust_remote_code): no" in card
    assert set(about["instructions"]) == {"train-00000.jsonl", "train-00001.jsonl"}
    lines = [json.loads(line) for line in (stage / "loss.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == list(range(1, about["steps"] + 1))
    seen = adapter_texts.read_digests(stage / "adapter")
    assert seen == {adapter_texts.fingerprint(one.response) for one in colours(pictures)}
    frozen = json.loads((stage / "config.json").read_text())
    assert frozen["config"]["model"] == seeing_base
    assert all(len(digest) == 64 for digest in frozen["data"].values())


def test_a_finished_stage_is_not_tuned_again_nor_mixed_with_another(tuned: Path, seeing_base: str) -> None:
    from clot_training.tuning.tune import tune

    files = sorted(tuned.glob("train-*.jsonl"))
    before = (tuned / "stage1" / "adapter" / "adapter_model.safetensors").stat().st_mtime_ns
    again = tune(config(seeing_base, tuned, num_train_epochs=150), files, tuned / "stage1")
    assert again["loss"]["after"] < 0.5 * again["loss"]["before"]
    assert (tuned / "stage1" / "adapter" / "adapter_model.safetensors").stat().st_mtime_ns == before
    with pytest.raises(UsageError, match="other settings"):
        tune(config(seeing_base, tuned, num_train_epochs=1), files, tuned / "stage1")


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
    from lotbench.models.transformers import TransformersModel
    from lotbench.types import Image
    from tests.models.test_transformers_model import request

    named = parse(json.loads((tuned / "stage1" / "tune.json").read_text())["model"])
    model = TransformersModel(
        named.model, named.adapter, picture=lambda sha: Path(pictures[sha]).read_bytes()
    )
    replies = await asyncio.gather(*(model(request(Image(colour), "colour?")) for colour in COLOURS))
    assert [reply.text for reply in replies] == list(COLOURS)


SMALLER = {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 2}


@pytest.mark.parametrize("after", [{}, SMALLER], ids=["the same", "smaller batches"])
def test_a_killed_stage_goes_on_where_it_was(
    text_base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: Mapping[str, Any]
) -> None:
    """Stopped after a checkpoint and begun again, it ends with the weights of an unbroken one.

    Half the batch and twice the accumulation are taken by the same folder: they change what fits, not what is learned.
    """
    import torch
    import trl
    from safetensors.torch import load_file

    from clot_training.tuning import tune as module

    made = [instruction(n, f"number {n}?", "red" if n % 2 else "blue") for n in range(12)]
    files = written(tmp_path, made)
    settings = {"num_train_epochs": 4, "save_steps": 5}
    lora = {"lora_dropout": 0.0 if after else 0.1}
    chosen = config(text_base, tmp_path, lora, **settings)
    module.tune(chosen, files, tmp_path / "whole")

    class Killed(Exception):
        pass

    steps = 0
    step = trl.SFTTrainer.training_step

    def dying(self: Any, *rest: Any, **more: Any) -> Any:
        nonlocal steps
        steps += 1
        if steps == 8:
            raise Killed
        return step(self, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(trl.SFTTrainer, "training_step", dying)
        with pytest.raises(Killed):
            module.tune(chosen, files, tmp_path / "broken")
    # Killed once more, in the middle of writing a checkpoint.
    whole, half = (tmp_path / "broken" / "checkpoints" / f"checkpoint-{step}" for step in (5, 6))
    shutil.copytree(whole, half, ignore=shutil.ignore_patterns("trainer_state.json", "optimizer.pt"))
    # A power cut lost the end of another.
    shutil.copytree(whole, damaged := whole.with_name("checkpoint-7"))
    (damaged / "optimizer.pt").write_bytes(b"half")
    with pytest.raises(UsageError, match=r"checkpoint-7: cannot be read \(\w+\); without this folder"):
        module.tune(chosen, files, tmp_path / "broken")
    shutil.rmtree(damaged)
    module.tune(config(text_base, tmp_path, lora, **settings, **after), files, tmp_path / "broken")
    whole, broken = (
        load_file(tmp_path / stage / "adapter" / "adapter_model.safetensors") for stage in ("whole", "broken")
    )
    assert whole.keys() == broken.keys()
    for name, weight in whole.items():
        torch.testing.assert_close(
            broken[name], weight, **({"atol": 1e-4, "rtol": 1e-2} if after else {"atol": 0, "rtol": 0})
        )
    logged = [(tmp_path / stage / "loss.jsonl").read_text().splitlines() for stage in ("whole", "broken")]
    losses = [[json.loads(line)["loss"] for line in lines] for lines in logged]
    assert losses[1] == pytest.approx(losses[0], rel=1e-3 if after else 0)


def test_files_of_a_stage_that_others_changed_are_named(tmp_path: Path) -> None:
    from clot_training.tuning import tune as module

    (tmp_path / "checkpoints" / "checkpoint-foo").mkdir(parents=True)
    (half := tmp_path / "checkpoints" / "checkpoint-6").mkdir()
    (half / "trainer_state.json").write_text('{"epoch": ')
    assert module._last_checkpoint(tmp_path / "checkpoints") is None
    for text in ("[" * 100_000, "3"):
        (tmp_path / "tune.json").write_text(text, "utf-8")
        with pytest.raises(UsageError, match=r"tune\.json: damaged"):
            module.tune(config("tiny", tmp_path), [], tmp_path)


@pytest.mark.parametrize("bits", ["4bit", "8bit"])
def test_fewer_bits_are_tuned_and_played(text_base: str, tmp_path: Path, bits: str) -> None:
    """By bitsandbytes on this CPU; where it is not installed, it is named before anything is loaded."""
    from importlib.util import find_spec

    from clot_training.exploring.policy import TransformersPolicy
    from clot_training.tuning.tune import tune

    files = written(tmp_path, [instruction(n, f"number {n}?", "red") for n in range(4)])
    chosen = config(text_base, tmp_path, {"modules_to_save": []}, {"quantize": bits}, num_train_epochs=6)
    if find_spec("bitsandbytes") is None:
        with pytest.raises(UsageError, match="needs bitsandbytes"):
            tune(chosen, files, tmp_path / "stage")
        return
    made = tune(chosen, files, tmp_path / "stage")
    assert made["loss"]["after"] < made["loss"]["before"]
    # Decided before the weights are packed, and kept: no autocast here, where there is no bfloat16.
    assert made["precision"]["autocast"] == "no"
    drawn = Sampling(temperature=0.0, max_tokens=4)
    policy = TransformersPolicy(
        text_base, str(tmp_path / "stage" / "adapter"), sampling=drawn, weights=chosen.weights
    )
    assert f":{bits}" in policy.id
    assert len(policy.generate([Prompt(({"role": "user", "content": "number 1?"},), None, 1)])) == 1


def test_an_adapter_is_merged_into_its_base(text_base: str, tmp_path: Path) -> None:
    import torch

    from clot_training.tuning.publish import merge
    from clot_training.tuning.tune import tune
    from lotbench.models.transformers.loading import load

    files = written(tmp_path, [instruction(n, f"number {n}?", "red") for n in range(4)])
    chosen = config(text_base, tmp_path, num_train_epochs=6)
    tune(chosen, files, tmp_path / "stage1")
    ids = torch.tensor([[5, 6, 7]])
    target = merge(chosen)
    merged = load(str(target), None).model(input_ids=ids).logits
    apart = load(text_base, str(tmp_path / "stage1" / "adapter")).model(input_ids=ids).logits
    torch.testing.assert_close(merged, apart, atol=1e-4, rtol=1e-3)
    adapter = tmp_path / "stage1" / "adapter"
    assert adapter_texts.read_digests(target) == adapter_texts.read_digests(adapter)
    assert "library_name: transformers" in (target / "README.md").read_text("utf-8")
    assert (target / "config.toml").read_bytes() == (adapter / "config.toml").read_bytes()


def test_the_loss_of_rows_that_are_not_trained_on_chooses_the_best(text_base: str, tmp_path: Path) -> None:
    from clot_training.tuning.tune import tune

    files = written(tmp_path, [instruction(n, f"number {n}?", "red") for n in range(40)])
    best = {"eval_strategy": "steps", "eval_steps": 2, "save_steps": 2, "load_best_model_at_end": True}
    made = tune(config(text_base, tmp_path, **best, max_steps=4), files, tmp_path / "stage")
    assert made["evaluated"] >= 1 and made["examples"] + made["evaluated"] == 40


@pytest.mark.parametrize(
    ("table", "field", "value", "told"),
    [
        (
            "trainer",
            "learning_rat",
            1,
            "tune.trainer.learning_rat: SFTConfig has no such field; did you mean learning_rate?",
        ),
        ("lora", "use_dor", True, "tune.lora.use_dor: LoraConfig has no such field; did you mean use_dora?"),
        ("trainer", "output_dir", "x", "tune.trainer.output_dir: is said by `out`"),
        ("trainer", "hub_token", "x", "hf auth login"),
        ("trainer", "eval_strategy", "sometimes", "tune.trainer: sometimes is not a valid"),
        ("lora", "target_modules", "no_such_layer", "tune: No modules were targeted"),
    ],
)
def test_a_setting_that_the_library_refuses_is_named(
    text_base: str, tmp_path: Path, table: str, field: str, value: Any, told: str
) -> None:
    from clot_training.tuning.tune import tune

    files = written(tmp_path, [instruction(0, "number?", "red")])
    chosen = (
        config(text_base, tmp_path, {field: value})
        if table == "lora"
        else config(text_base, tmp_path, **{field: value})
    )
    with pytest.raises(UsageError) as caught:
        tune(chosen, files, tmp_path / "stage")
    assert told in str(caught.value)


def test_a_base_that_is_not_there_is_named(tmp_path: Path) -> None:
    from clot_training.tuning.tune import tune

    files = written(tmp_path, [instruction(0, "number?", "red")])
    with pytest.raises(UsageError, match="cannot be loaded"):
        tune(config(str(tmp_path / "absent"), tmp_path), files, tmp_path / "stage")


def test_a_model_that_reads_text_only_leaves_pictures_out_and_says_so(
    text_base: str, pictures: dict[str, str], tmp_path: Path
) -> None:
    from clot_training.tuning.tune import tune

    made = [*colours(pictures), instruction(10, "the sea " * 60, "blue")]
    done = tune(config(text_base, tmp_path, max_length=100), written(tmp_path, made), tmp_path / "stage1")
    assert done["left_out"] == {"picture": 4, "too long": 1}
    with pytest.raises(UsageError, match="nothing to train on"):
        tune(config(text_base, tmp_path), written(tmp_path, colours(pictures)[:4]), tmp_path / "other")


def test_two_processes_give_the_adapter_of_one(text_base: str, tmp_path: Path) -> None:
    """torchrun on CPU, through gloo: two processes with half a batch each take the steps of one with a whole."""
    import torch
    from safetensors.torch import load_file

    from clot_training.tuning.tune import tune

    made = [instruction(n, f"number {n}?", "red" if n % 2 else "blue") for n in range(16)]
    (tmp_path / "instructions").mkdir()
    files = [tmp_path / "instructions" / "train.jsonl"]
    files[0].write_text("".join(one.model_dump_json() + "\n" for one in made), encoding="utf-8")
    # Without it a process would take the folder for one that is still being written.
    (tmp_path / "instructions" / "manifest.json").write_text("{}", encoding="utf-8")
    steps = {"max_steps": 6, "learning_rate": 1e-3, "save_steps": 3}
    tune(config(text_base, tmp_path, **steps, per_device_train_batch_size=8), files, tmp_path / "one")
    trainer = "\n".join(f"{key} = {json.dumps(value)}" for key, value in (TRAINER | steps).items())
    lora = "\n".join(f"{key} = {json.dumps(value)}" for key, value in LORA.items())
    table = f"trainer]\n{trainer}\n[tune.lora]\n{lora}"
    file = tmp_path / "run.toml"
    file.write_text(
        f'model = "{text_base}"\ndata = ["lotbench_easy"]\nout = "{tmp_path}"\n[tune.{table}\n',
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    command += ["-m", "clot_training.cli", "tune", "--config", str(file)]

    def launched() -> Any:
        return subprocess.run(
            command,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    done = launched()
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
    # Begun again after a kill behind the first checkpoint, two processes end where they ended.
    (tmp_path / "stage1" / "tune.json").unlink()
    shutil.rmtree(tmp_path / "stage1" / "adapter")
    shutil.rmtree(tmp_path / "stage1" / "checkpoints" / "checkpoint-6")
    done = launched()
    assert done.returncode == 0, done.stderr[-3000:]
    assert "step 4 of 6" in done.stderr and "step 3 of 6" not in done.stderr
    again = load_file(tmp_path / "stage1" / "adapter" / "adapter_model.safetensors")
    assert all(torch.equal(again[name], weight) for name, weight in two.items())
