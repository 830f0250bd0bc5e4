"""The makers of models, from their names. A model may favour, or have an advantage on, what a model of its maker wrote."""

import re
from pathlib import Path

from lotbench.config.experiment import read_toml

PEOPLE = "people"
"""The `writer` of texts by people."""

_FILE = Path(__file__).with_suffix(".toml")
_PATTERNS = {name: re.compile(rf"(?<![a-z])(?:{pattern})") for name, pattern in read_toml(_FILE).items()}
SERVED_BY = re.compile(
    r"^(?:(?:openai|openrouter|ollama|vllm|anthropic|gemini|deepseek|dashscope)/|langchain:\w+:)(?=.)"
)
"""Prefixes for providers, which are not makers: `openai/` may precede any model that the API serves."""


def makers(name: str) -> frozenset[str]:
    """Return the makers of a model or family (`claude`) by its name: two for a distillation, none if unknown or no model."""
    text = name.partition("@http")[0].lower()
    if text == PEOPLE or text.startswith(("python:", "human")):
        return frozenset()
    model_name = SERVED_BY.sub("", text)
    return frozenset(maker for maker, pattern in _PATTERNS.items() if pattern.search(model_name))
