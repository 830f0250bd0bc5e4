"""Transformers models in this process, with weights made here: two that learnt two replies, and one at random."""

import asyncio
import io
import json
import re
import shutil
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lotbench.config.model_names import parse, related
from lotbench.errors import Unescapable, UsageError
from lotbench.models import transformers
from lotbench.models.registry import reads_text_only
from lotbench.models.transformers import TransformersModel, loading
from lotbench.models.transformers.generation import answer
from lotbench.types import Image, Key, Message, Reply, Request, Sampling
from tests.tiny import TEMPLATE, llama, llava, square, tokenizer

NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + TEMPLATE
)
REFUSING = (
    "{{ raise_exception('never') }}",
    "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}",
    "{{ 1 / 0 }}",
)
ENDLESS = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
SLOW = r"([a-z_.0-9]+)+#"
PATTERNS: tuple[dict[str, Any], ...] = (
    *({name: SLOW} for name in ("target_modules", "exclude_modules")),
    *({name: {SLOW: 4}} for name in ("rank_pattern", "alpha_pattern")),
    {"rank_pattern": {"[a-z._0-9]?" * 40 + "#": 4}},
    {"modules_to_save": [SLOW]},
    {"layers_pattern": [SLOW], "layers_to_transform": [0]},
)
UNSLOTH = (
    r"(?:.*?(?:language|text).*?(?:self_attn|attention|attn|mixer|mlp|feed_forward|ffn|dense).*?(?:q_proj|v_proj))"
    r"|(?:\bmodel\.layers\.[\d]{1,}(?!.*\.experts\.\d)\.(?:self_attn|attention|attn|mixer|mlp)\.(?:(?:q_proj|v_proj)))"
)
"""As Unsloth writes `target_modules`."""
LEARNT = {"the sky": "blue", "a tomato": "red"}


def request(*parts: str | Image, system: str = "", **sampling: Any) -> Request:
    messages = (Message("system", (system,)),) if system else ()
    return Request(
        key=Key("s", 0, 1, "respond", 0, 0, "d"),
        model="hf:tiny",
        messages=(*messages, Message("user", parts)),
        schema=None,
        sampling=Sampling(**{"temperature": 0.0, "max_tokens": 8} | sampling),
    )


def no_picture(sha256: str) -> bytes:
    raise AssertionError("a model that reads text only asked for a picture")


def teach(model: Any, batch: dict[str, Any], steps: int, pad: int) -> None:
    """Fit the trainable weights to the last tokens of a batch of whole conversations, padded on the left."""
    import torch

    labels = batch["input_ids"].clone()
    labels[:, :-3] = -100
    labels[labels == pad] = -100
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=3e-3)
    model.train()
    for _ in range(steps):
        loss = model(**batch, labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    assert float(loss.detach()) < 0.1, "the tiny model has not learnt its replies"


@dataclass(frozen=True)
class Tiny:
    """Folders of a text model with random weights and of an adapter that knows two replies."""

    base: str
    adapter: str


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import LlamaForCausalLM

    torch.manual_seed(0)
    base, adapter = tmp_path_factory.mktemp("base"), tmp_path_factory.mktemp("adapter")
    words = tokenizer()
    model = LlamaForCausalLM(llama(len(words)))
    words.save_pretrained(base)
    model.save_pretrained(base)
    lora = LoraConfig(
        r=8, target_modules=["q_proj", "v_proj"], modules_to_save=["lm_head"], task_type="CAUSAL_LM"
    )
    tuned = get_peft_model(model, lora)
    words.padding_side = "left"
    texts = [
        words.apply_chat_template(
            [{"role": "user", "content": asked}], tokenize=False, add_generation_prompt=True
        )
        + f"{reply}<|im_end|>"
        for asked, reply in LEARNT.items()
    ]
    teach(tuned, dict(words(texts, padding=True, return_tensors="pt")), 150, words.pad_token_id)
    tuned.save_pretrained(adapter)
    return Tiny(str(base), str(adapter))


@pytest.fixture(scope="module")
def random(tiny: Tiny) -> TransformersModel:
    return TransformersModel(tiny.base, picture=no_picture)


@pytest.fixture(scope="module")
def tuned(tiny: Tiny) -> TransformersModel:
    return TransformersModel(tiny.base, tiny.adapter, picture=no_picture)


async def together(model: TransformersModel, *requests: Request) -> list[Reply]:
    return list(await asyncio.gather(*(model(one) for one in requests)))


def test_missing_packages_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "find_spec", lambda name: None)
    with pytest.raises(
        UsageError, match=r'hf:a/b\+c needs torch, .*peft: pip install -e "\.\[train\]" in a clone'
    ) as raised:
        TransformersModel("a/b", "c", picture=no_picture)
    assert raised.value.exit_code == 2


def test_the_id_of_a_local_model_names_the_base_of_its_card(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text('---\nbase_model: "Qwen/Qwen2.5-7B"\n---\n')
    assert related(loading._id(str(tmp_path), None, None, loading.PLAIN), "qwen-max")


@pytest.mark.slow
def test_what_cannot_be_loaded_is_named(tiny: Tiny, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"hf:\S+absent cannot be loaded"):
        TransformersModel(str(tmp_path / "absent"), picture=no_picture)
    for path in ("runs/absent/stage1/merged", "./absent", "~/absent"):
        with pytest.raises(UsageError, match=f"{path}: there is no such folder"):
            loading.takes_pictures(path)
    with pytest.raises(UsageError, match=r"\+\S+absent cannot be loaded: \S+absent: there is no such folder"):
        TransformersModel(tiny.base, str(tmp_path / "absent"), picture=no_picture)


@pytest.mark.slow
async def test_an_adapter_replies_as_it_was_taught(tiny: Tiny, tuned: TransformersModel) -> None:
    replies = await together(tuned, *(request(asked) for asked in LEARNT))
    assert [reply.text for reply in replies] == list(LEARNT.values())
    assert {reply.finish for reply in replies} == {"stop"}
    model_id = replies[0].model
    # Other weights under the same path are another model.
    assert re.fullmatch(rf"{re.escape(tiny.base)}@\w{{8}}\+{re.escape(str(tiny.adapter))}@\w{{8}}", model_id)


@pytest.mark.slow
async def test_usage_counts_the_tokens(tuned: TransformersModel) -> None:
    short, long = await together(tuned, request("the sky"), request("a tomato on the mat", system="the cat"))
    words = tokenizer()
    written = words("<|im_start|>user\nthe sky<|im_end|>\n<|im_start|>assistant\n")["input_ids"]
    assert short.usage.input_tokens == len(written) < long.usage.input_tokens
    assert short.usage.output_tokens == len(words("blue<|im_end|>")["input_ids"])


@pytest.mark.slow
async def test_max_tokens_ends_each_row_at_its_own_length(random: TransformersModel) -> None:
    one, other = await together(random, request("the cat", max_tokens=3), request("the mat", max_tokens=7))
    assert [(r.finish, r.usage.output_tokens) for r in (one, other)] == [("length", 3), ("length", 7)]
    assert one.sent["max_tokens"] == 3


@pytest.mark.slow
async def test_a_prompt_without_room_is_cut_off_and_its_neighbour_is_not(tuned: TransformersModel) -> None:
    long, short = await together(tuned, request("sat " * 2100), request("the sky"))
    assert (long.text, long.finish, long.usage.output_tokens) == ("", "length", 0)
    assert long.usage.input_tokens > 2048
    assert short.text == "blue"
    alone = await tuned(request("sat " * 2100))
    assert (alone.text, alone.finish) == ("", "length")


@pytest.mark.slow
async def test_a_reply_stops_where_the_context_ends(random: TransformersModel) -> None:
    prompt = (await random(request("sat " * 2000, max_tokens=1))).usage.input_tokens
    reply = await random(request("sat " * 2000, max_tokens=500))
    assert (reply.finish, reply.usage.output_tokens) == ("length", 2048 - prompt)


@pytest.mark.slow
async def test_a_seed_gives_one_reply_alone_and_in_company(random: TransformersModel) -> None:
    drawn = request("the cat", temperature=1.0, seed=5, max_tokens=12)
    alone = await random(drawn)
    others = (request("the mat sat on the cat", temperature=0.3, seed=9), request("a"), drawn)
    company = await together(random, *others)
    assert company[2].text == alone.text
    assert (await random(request("the cat", temperature=1.0, seed=6, max_tokens=12))).text != alone.text


@pytest.mark.slow
def test_draws_follow_temperature_and_top_p() -> None:
    import torch
    from transformers import GenerationConfig

    from lotbench.models.transformers.generation import Draws

    odds = torch.tensor([0.5, 0.3, 0.15, 0.05])
    count = 4000

    def shares(**sampling: float) -> list[float]:
        draws = Draws([Sampling(seed=i, **sampling) for i in range(count)], GenerationConfig(), "cpu")
        taken = draws(None, odds.log().repeat(count, 1)).argmax(dim=-1)
        return [float(share) for share in torch.bincount(taken, minlength=4) / count]

    assert shares(temperature=1.0) == pytest.approx([0.5, 0.3, 0.15, 0.05], abs=0.03)
    squared = [0.25 / 0.365, 0.09 / 0.365, 0.0225 / 0.365, 0.0025 / 0.365]
    assert shares(temperature=0.5) == pytest.approx(squared, abs=0.03)
    assert shares(temperature=1.0, top_p=0.7) == pytest.approx([0.625, 0.375, 0.0, 0.0], abs=0.03)
    assert shares(temperature=0.0) == [1.0, 0.0, 0.0, 0.0]


@dataclass
class Counted:
    """Stands before the generation: how large each batch was, and how many ran at once."""

    sizes: list[int] = field(default_factory=list)
    running: int = 0
    most: int = 0

    def __call__(self, loaded: Any, batch: Sequence[Any], halt: Any) -> list[Reply]:
        self.sizes.append(len(batch))
        self.running += 1
        self.most = max(self.most, self.running)
        replies = answer(loaded, batch, halt)
        self.running -= 1
        return replies


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    count = Counted()
    monkeypatch.setattr(transformers, "answer", count)
    monkeypatch.setattr(transformers, "BATCH", 4)
    return count


@pytest.mark.slow
async def test_what_waits_together_is_one_batch(random: TransformersModel, counted: Counted) -> None:
    await together(random, *(request(f"cat {n}") for n in range(10)))
    assert (counted.sizes, counted.most) == ([4, 4, 2], 1)


@pytest.mark.slow
async def test_what_comes_in_a_batch_waits_for_the_next(random: TransformersModel, counted: Counted) -> None:
    first = asyncio.create_task(random(request("the cat", max_tokens=60)))
    await asyncio.sleep(0.02)
    await together(random, *(request(f"cat {n}") for n in range(3)))
    await first
    assert (counted.sizes, counted.most) == ([1, 3], 1)


@pytest.mark.slow
async def test_the_loop_lives_while_a_batch_runs(random: TransformersModel) -> None:
    ticks = 0
    work = asyncio.create_task(random(request("the cat", max_tokens=100)))
    while not work.done():
        await asyncio.sleep(0.005)
        ticks += 1
    assert ticks > 5


@pytest.mark.slow
async def test_a_caller_that_gives_up_leaves_the_others_their_replies(random: TransformersModel) -> None:
    given_up = asyncio.create_task(random(request("the cat", max_tokens=300)))
    stays = asyncio.create_task(random(request("the mat", max_tokens=4)))
    await asyncio.sleep(0.02)
    given_up.cancel()
    kept = await stays
    assert given_up.cancelled()
    assert kept.text == (await random(request("the mat", max_tokens=4))).text


@pytest.mark.slow
def test_an_interrupted_loop_ends_at_the_next_token(random: TransformersModel) -> None:
    async def interrupted() -> None:
        asyncio.get_running_loop().call_later(0.3, asyncio.current_task().cancel)  # type: ignore[union-attr]
        await random(request("the cat", max_tokens=2000))

    began = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupted())
    assert time.monotonic() - began < 2.0


@pytest.mark.slow
async def test_a_blind_model_names_the_other_arm(random: TransformersModel, tiny: Tiny) -> None:
    assert reads_text_only(parse(f"hf:{tiny.base}"))
    with pytest.raises(Unescapable, match="--set arm=caption"):
        await random(request("what is it? ", Image("0" * 64)))


@pytest.fixture
def variant(tiny: Tiny, tmp_path: Path) -> Any:
    """Makes a folder with the tiny weights and another chat template."""
    import shutil

    def make(template: str | None) -> str:
        folder = tmp_path / "variant"
        shutil.copytree(tiny.base, folder)
        (folder / "chat_template.jinja").unlink()
        tokenizer(template).save_pretrained(folder)
        return str(folder)

    return make


@pytest.mark.slow
async def test_a_template_without_system_gets_its_words_first(variant: Any) -> None:
    model = TransformersModel(variant(NO_SYSTEM), picture=no_picture)
    reply = await model(request("the mat", system="the cat"))
    same = await model(request("the cat\n\nthe mat"))
    assert reply.usage.input_tokens == same.usage.input_tokens
    assert reply.text == same.text


@pytest.mark.slow
@pytest.mark.parametrize("template", REFUSING)
async def test_a_template_that_refuses_everything_ends_the_run(variant: Any, template: str) -> None:
    model = TransformersModel(variant(template), picture=no_picture)
    with pytest.raises(Unescapable, match="chat template refuses"):
        await model(request("the mat"))


@pytest.mark.slow
@pytest.mark.parametrize("template", [ENDLESS, NO_SYSTEM + ENDLESS])
async def test_a_template_without_end_is_refused_by_name(
    variant: Any, monkeypatch: pytest.MonkeyPatch, template: str
) -> None:
    monkeypatch.setattr(loading, "LONGEST_S", 0.3)
    model = TransformersModel(variant(template), picture=no_picture)
    with pytest.raises(UsageError, match=r"chat template takes more than 0\.3 s"):
        await model(request("the mat", system="the cat"))
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def with_config(adapter: str, folder: Path, **fields: Any) -> str:
    """A copy of an adapter with other fields in its adapter_config.json."""
    shutil.copytree(adapter, folder)
    about = json.loads((folder / "adapter_config.json").read_text("utf-8"))
    (folder / "adapter_config.json").write_text(json.dumps(about | fields), "utf-8")
    return str(folder)


@pytest.mark.slow
@pytest.mark.parametrize("fields", PATTERNS)
def test_an_adapter_with_a_pattern_without_end_is_refused_by_name(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any]
) -> None:
    monkeypatch.setattr(loading, "LONGEST_S", 0.3)
    hostile = with_config(tiny.adapter, tmp_path / "hostile", **fields)
    with pytest.raises(
        UsageError, match=r"hostile: to match .* adapter_config\.json takes more than"
    ) as raised:
        loading.load(tiny.base, hostile)
    assert raised.value.exit_code == 2


@pytest.mark.slow
async def test_an_adapter_of_unsloth_is_loaded(tiny: Tiny, tuned: TransformersModel, tmp_path: Path) -> None:
    theirs = with_config(tiny.adapter, tmp_path / "theirs", target_modules=UNSLOTH)
    model = TransformersModel(tiny.base, theirs, picture=no_picture)
    assert [(await one(request("a tomato"))).text for one in (model, tuned)] == ["red", "red"]


@pytest.mark.slow
def test_a_base_with_an_adapter_in_its_folder_is_refused(tiny: Tiny, tmp_path: Path) -> None:
    shutil.copytree(tiny.base, tmp_path / "both")
    shutil.copy(Path(tiny.adapter) / "adapter_config.json", tmp_path / "both")
    with pytest.raises(UsageError, match=r"it has an adapter, which is to be named, too"):
        loading.load(str(tmp_path / "both"), None)


@pytest.mark.slow
def test_a_model_without_template_is_refused(variant: Any) -> None:
    with pytest.raises(UsageError, match="no chat template"):
        TransformersModel(variant(None), picture=no_picture)


@dataclass(frozen=True)
class Album:
    """Pictures by sha256, and which were asked for."""

    pictures: dict[str, bytes]
    asked: list[str] = field(default_factory=list)

    def png(self, sha256: str) -> bytes:
        self.asked.append(sha256)
        return self.pictures[sha256]


@pytest.fixture(scope="module")
def seeing(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a tiny LLaVA that learnt to name the colour of a picture."""
    from PIL import Image as pil

    folder = tmp_path_factory.mktemp("seeing")
    model, processor = llava()
    chat = [{"role": "user", "content": [{"type": "text", "text": "colour? "}, {"type": "image"}]}]
    opening = processor.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    colours = ("red", "blue")
    batch = processor(
        text=[f"{opening}{colour}<|im_end|>" for colour in colours],
        images=[[pil.open(io.BytesIO(square(colour))).convert("RGB")] for colour in colours],
        padding=True,
        return_tensors="pt",
    )
    teach(model, dict(batch), 60, processor.tokenizer.pad_token_id)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return str(folder)


@pytest.mark.slow
async def test_a_batch_of_pictures_keeps_each_with_its_question_apart_from_words(seeing: str) -> None:
    album = Album({"r" * 64: square("red"), "b" * 64: square("blue")})
    model = TransformersModel(seeing, picture=album.png)
    order = "rbbr"
    replies = await together(model, *(request("colour? ", Image(letter * 64)) for letter in order))
    assert [reply.text for reply in replies] == ["red", "blue", "blue", "red"]
    assert album.asked == [letter * 64 for letter in order]
    assert {reply.finish for reply in replies} == {"stop"}
    words = await model(request("colour?"))
    assert words.usage.input_tokens < replies[0].usage.input_tokens, "pictures are tokens, too"
    # Pictures and words wait apart.
    none, one, two, again = await together(
        model,
        request("colour? the cat"),
        request("colour? ", Image("r" * 64)),
        request("colour? ", Image("b" * 64), Image("r" * 64)),
        request("colour? ", Image("b" * 64)),
    )
    assert (one.text, again.text) == ("red", "blue")
    assert none.usage.input_tokens < one.usage.input_tokens < two.usage.input_tokens


@pytest.mark.slow
def test_an_adapter_of_another_base_is_not_loaded_in_part(tiny: Tiny, tmp_path: Path) -> None:
    """peft alone loads what fits and leaves the rest as it was."""
    from transformers import LlamaForCausalLM

    # What it says of its base is text of others, and goes to a terminal.
    about = {"base_model_name_or_path": "makers/first\x1b[2J\n-1B"}
    named = with_config(tiny.adapter, tmp_path / "named", **about)
    with pytest.warns(
        UserWarning, match=rf"was made for makers/first\ufffd\[2J -1B, and is used with {tiny.base}"
    ):
        loading.load(tiny.base, named)
    words = tokenizer()
    words.save_pretrained(tmp_path / "other")
    for layers in (1, 3):
        shape = llama(len(words))
        shape.num_hidden_layers = layers
        LlamaForCausalLM(shape).save_pretrained(tmp_path / "other")
        with pytest.raises(
            UsageError,
            match=r"no adapter of this model, but of makers/first\ufffd\[2J -1B: 8 matrices for \d+",
        ):
            loading.load(str(tmp_path / "other"), named)
