"""Tiny models with random weights, made here: a byte-level tokenizer, a text model, a vision-language model."""

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

    # Multiples of 32: bitsandbytes packs 4-bit weights in blocks of 32 rows on CPUs with AVX512-BF16.
    shape = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
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
    """A vision-language model of 150 thousand parameters, always the same weights, and its processor."""
    import torch
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
    torch.manual_seed(0)
    return LlavaForConditionalGeneration(config), processor


def qwen2_vl() -> tuple[Any, Any]:
    """A Qwen2-VL of 130 thousand parameters with random weights, and its processor: a token is 16 x 16 pixels."""
    from transformers import (
        Qwen2VLConfig,
        Qwen2VLForConditionalGeneration,
        Qwen2VLImageProcessor,
        Qwen2VLProcessor,
        Qwen2VLVideoProcessor,
    )

    marks = ["<|vision_start|>", "<|image_pad|>", "<|video_pad|>", "<|vision_end|>"]
    template = TEMPLATE.replace("<image>", "<|vision_start|><|image_pad|><|vision_end|>")
    words = tokenizer(template)
    words.add_special_tokens({"additional_special_tokens": ["<|im_start|>", *marks]})
    size = {"patch_size": 8, "merge_size": 2, "min_pixels": 256, "max_pixels": 64 * 64}
    processor = Qwen2VLProcessor(
        Qwen2VLImageProcessor(**size), words, Qwen2VLVideoProcessor(**size), chat_template=template
    )
    text = llama(len(words)).to_dict()
    shape = {name: text[name] for name in ("hidden_size", "intermediate_size", "num_hidden_layers")}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 2048}
    rope = {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [4, 2, 2]}
    start, image, video, end = (words.convert_tokens_to_ids(mark) for mark in marks)
    config = Qwen2VLConfig(
        text_config={"vocab_size": len(words), "rope_parameters": rope, **shape, **heads},
        vision_config={
            "depth": 2,
            "embed_dim": 32,
            "hidden_size": 64,
            "num_heads": 2,
            "mlp_ratio": 2,
            "patch_size": 8,
            "spatial_merge_size": 2,
        },
        vision_start_token_id=start,
        image_token_id=image,
        video_token_id=video,
        vision_end_token_id=end,
    )
    return Qwen2VLForConditionalGeneration(config), processor


def square(colour: str) -> bytes:
    from PIL import Image as pil

    out = io.BytesIO()
    pil.new("RGB", (40, 32), colour).save(out, "PNG")
    return out.getvalue()
