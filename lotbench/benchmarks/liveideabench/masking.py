"""Names of models and their makers in an idea, hidden from its judges: a judge must not know whose idea it reads.

Only names that mean nothing else are looked for: Gemini is a constellation, a llama an animal, and minimax a
theorem, so these count only with a version number or their maker beside them.
"""

from __future__ import annotations

import re

MASKED = "[name]"
_MORE = r"(?:[\w.-]*\w)?"
"""What may follow in one word: a version, a size."""
_NAMES = re.compile(
    r"(?<![\w-])(?:"
    rf"open\s?ai|chatgpt|gpt-?\s?\d{_MORE}|o[134]-(?:mini|preview|pro)"
    rf"|anthropic|claude(?:[ -]\d{_MORE}|[ -](?:opus|sonnet|haiku|instant){_MORE})"
    rf"|google(?:\s+(?:deepmind|gemini|bard|ai))?|deepmind|gemini[ -](?:\d{_MORE}|pro|ultra|flash|nano)"
    rf"|gemma[ -]?\d{_MORE}|deepseek{_MORE}|alibaba(?:\s+cloud)?|qwen{_MORE}|qwq{_MORE}|tongyi"
    rf"|meta\s+ai|llama[ -]?\d{_MORE}|mistral\s+ai|mistral-\w{_MORE}|mixtral{_MORE}"
    rf"|microsoft|phi-\d{_MORE}|amazon\s+(?:nova|bedrock|web\s+services)|nova-(?:pro|lite|micro){_MORE}"
    rf"|grok[ -]\d{_MORE}|zhipu(?:\s+ai)?|chatglm{_MORE}|glm-\d{_MORE}|moonshot\s+ai|kimi[ -]k\d{_MORE}"
    rf"|baidu|ernie\s+bot|tencent|hunyuan{_MORE}|bytedance|doubao{_MORE}|stepfun|command[ -]r\+?"
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
