"""Names of models and their makers in an idea, hidden from its judges: a judge must not know whose idea it reads.

Only names that mean nothing else are looked for: Gemini is a constellation, a llama an animal, and minimax a
theorem, so these count only with a version number or their maker beside them.
"""

from __future__ import annotations

import re

MASKED = "[name]"
_NAMES = re.compile(
    r"(?<![\w-])(?:"
    r"open\s?ai|chatgpt|gpt-?\s?\d[\w.-]*|o[134]-(?:mini|preview|pro)"
    r"|anthropic|claude(?:[ -]\d[\w.-]*|[ -](?:opus|sonnet|haiku|instant)[\w.-]*)"
    r"|google(?:\s+(?:deepmind|gemini|bard|ai))?|deepmind|gemini[ -](?:\d[\w.-]*|pro|ultra|flash|nano)|gemma[ -]?\d[\w.-]*"
    r"|deepseek[\w.-]*|alibaba(?:\s+cloud)?|qwen[\w.-]*|qwq[\w.-]*|tongyi"
    r"|meta\s+ai|llama[ -]?\d[\w.-]*|mistral\s+ai|mistral-[\w.-]+|mixtral[\w.-]*"
    r"|microsoft|phi-\d[\w.-]*|amazon\s+(?:nova|bedrock|web\s+services)|nova-(?:pro|lite|micro)[\w.-]*"
    r"|grok(?:[ -]\d[\w.-]*)|zhipu(?:\s+ai)?|chatglm[\w.-]*|glm-\d[\w.-]*|moonshot\s+ai|kimi[ -]k\d[\w.-]*"
    r"|baidu|ernie\s+bot|tencent|hunyuan[\w.-]*|bytedance|doubao[\w.-]*|stepfun|command[ -]r\+?"
    r")(?![\w-])",
    re.IGNORECASE,
)
# Where "I am" stands before it, Claude is nobody's first name; xAI is a name only as it is written.
_SELF = re.compile(
    r"(?<=\bI am )(?:Claude|Gemini|Llama|Grok|Copilot)\b|(?<=\bI'm )(?:Claude|Gemini|Llama|Grok)\b|\bxAI\b"
)
_CHINESE = re.compile(r"通义千问|阿里巴巴|深度求索|文心一言|百度|腾讯|智谱|月之暗面|豆包|字节跳动")


def masked(text: str) -> tuple[str, tuple[str, ...]]:
    """A text with every name of a model or its maker hidden, and the names that were found."""
    found: list[str] = []

    def hide(match: re.Match[str]) -> str:
        found.append(match[0])
        return MASKED

    for pattern in (_SELF, _NAMES, _CHINESE):
        text = pattern.sub(hide, text)
    return text, tuple(found)
