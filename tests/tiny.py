"""Tiny models with random weights, made here: a byte-level tokenizer, a text model, a vision-language model."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CORPUS = ["What colour is it? red blue the cat sat on the mat", "user assistant system colour of the sky"]


def tokenizer(template: str | None = TEMPLATE) -> Any:
    """Byte-level BPE trained on a few words, with the special tokens of a chat."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<image>"]
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    raw.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(
            vocab_size=320, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
        ),
    )
    made = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    made.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<image>"]})
    made.chat_template = template
    return made


def llama(vocabulary: int, **more: Any) -> Any:
    from transformers import LlamaConfig

    shape = {"hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4}
    return LlamaConfig(
        vocab_size=vocabulary,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        eos_token_id=None,
        **shape,
        **more,
    )


def saved_llama(folder: Path) -> None:
    """Write a text model and its tokenizer into a folder; always the same weights."""
    import torch
    from transformers import LlamaForCausalLM

    words = tokenizer()
    torch.manual_seed(0)
    LlamaForCausalLM(llama(len(words))).save_pretrained(folder)
    words.save_pretrained(folder)


def llava() -> tuple[Any, Any]:
    """A vision-language model of 150 thousand parameters with random weights, and its processor."""
    from transformers import (
        CLIPImageProcessor,
        CLIPVisionConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    words = tokenizer()
    words.padding_side = "left"
    sight = CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    processor = LlavaProcessor(
        sight,
        words,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    )
    tower = CLIPVisionConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=32,
        patch_size=8,
    )
    config = LlavaConfig(
        vision_config=tower,
        text_config=llama(len(words)),
        image_token_index=words.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-2,
    )
    return LlavaForConditionalGeneration(config), processor


def square(colour: str) -> bytes:
    from PIL import Image as pil

    out = io.BytesIO()
    pil.new("RGB", (40, 32), colour).save(out, "PNG")
    return out.getvalue()
