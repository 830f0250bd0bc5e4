"""The makers of models, from their names. A model has an advantage on samples that it or a model of its maker wrote.

Makers are a wider relation than families of models (`model_names.related`).
"""

from __future__ import annotations

import re

PEOPLE = "people"
"""The `writer` of texts by people."""

_MAKERS = {
    "AI21": r"jamba|ai21",
    "Alibaba": r"qwen|qwq|qvq|tongyi|alibaba",
    "Allen AI": r"olmo|tulu|allenai",
    "Amazon": r"nova-(?:pro|lite|micro|premier)|titan-text|amazon",
    "Anthropic": r"claude|anthropic",
    "Baidu": r"ernie|baidu",
    "ByteDance": r"doubao|seed-(?:oss|\d)|bytedance",
    "Cohere": r"command-[ra]|aya-|cohere",
    "DeepSeek": r"deepseek",
    "Google": r"gemini|gemma|palm-2|google|deepmind",
    "Hugging Face": r"smol(?:lm|vlm)|zephyr",
    "IBM": r"granite|ibm-",
    "Meta": r"llama|meta-",
    "Microsoft": r"phi-?\d|microsoft|wizardlm",
    "MiniMax": r"minimax|abab",
    "Mistral": r"mistral|mixtral|ministral|codestral|pixtral|magistral|devstral",
    "Moonshot": r"kimi|moonshot",
    "NVIDIA": r"nemotron|nvidia",
    "OpenAI": r"gpt-?[3-9o]|gpt-oss|chatgpt|openai|davinci|o[134](?=-|$)",
    "Shanghai AI Lab": r"internlm|internvl",
    "StepFun": r"step-[\dr]|stepfun",
    "Tencent": r"hunyuan|tencent",
    "xAI": r"grok|xai",
    "01.AI": r"yi-(?:\d|large|lightning|vl)",
    "Zhipu": r"glm-?\d|chatglm|zhipu|z-ai",
}
_PATTERNS = {name: re.compile(rf"(?<![a-z])(?:{pattern})") for name, pattern in _MAKERS.items()}
_PROVIDERS = re.compile(r"^(?:openai|openrouter|ollama|vllm|anthropic|gemini|deepseek|dashscope)/(?=.)")
"""Prefixes for providers, which are not makers: `openai/` may precede any model that the API serves."""


def makers(name: str) -> frozenset[str]:
    """Return the makers of a model or family (`claude`) by its name: two for a distillation, none if unknown or no model."""
    text = name.partition("@http")[0].lower()
    if text == PEOPLE or text.startswith(("python:", "human")):
        return frozenset()
    model_name = _PROVIDERS.sub("", text)
    return frozenset(maker for maker, pattern in _PATTERNS.items() if pattern.search(model_name))


def one_maker(first: str, other: str) -> bool:
    """Return whether two models share a maker."""
    return bool(makers(first) & makers(other))
