"""Names of models and their makers in an idea, hidden from its judges: a judge must not know whose idea it reads.

Science has the same words, so a name counts only in a form that nothing else has: GPT2 is a gene, phi-29 a polymerase,
Gemini 8 a spacecraft, 月之暗面 the far side of the moon. A maker whose tools are in every laboratory (Google Earth
Engine, Baidu's index) counts where it is said to have made who speaks, or with a model beside it.
"""

from __future__ import annotations

import re

MASKED = "[name]"
_MORE = r"(?:[\w.-]*\w)?"
"""What may follow in one word: a version, a size."""
_SIZED = r"(?:nano|mini|small|medium|large|tiny|nemo|vision|moe|multimodal|reasoning|plus|instruct|\d+b)"
_MODELS = (
    r"(?<![\w-])(?i:"
    rf"chatgpt|gpt-\d{_MORE}|gpt\s?(?:3|4o?|5)(?:\.\d)?(?:\s?turbo)?|o[134]-(?:mini|preview|pro){_MORE}"
    rf"|claude(?:[ -]\d{_MORE}|[ -](?:opus|sonnet|haiku|instant){_MORE})"
    rf"|gemini[ -](?:(?:\d(?:\.\d)?[ -])?(?:pro|ultra|flash|nano){_MORE}|\d\.\d{_MORE})|gemma[ -]?\d{_MORE}"
    rf"|deepseek{_MORE}|qwen{_MORE}|qwq{_MORE}|tongyi\s+qianwen"
    rf"|llama[ -]?\d{_MORE}|mistral-(?:{_SIZED}|\d){_MORE}|mixtral{_MORE}"
    rf"|phi-\d(?:\.\d)?-{_SIZED}{_MORE}|nova-(?:pro|lite|micro){_MORE}|grok[ -]\d{_MORE}"
    rf"|chatglm{_MORE}|glm-(?:4|130b){_MORE}|kimi[ -]k\d{_MORE}|ernie\s+bot|hunyuan{_MORE}|doubao{_MORE}"
    r"|command[ -]r\+|command-r(?:-plus)?"
    r")(?![\w-])"
)
# As they are written, for "the anthropic principle" and "a meta AI" name nobody.
_MAKERS = (
    r"\b(?:Open ?AI(?! Gym\b)|(?:Google )?DeepMind|Google(?:'s)? (?:Gemini|Bard|Gemma|AI)|Meta AI|Mistral AI|Moonshot AI"
    r"|Zhipu(?: AI)?|Byte[Dd]ance|StepFun|Amazon Nova|Microsoft(?:'s)? (?:Phi|Copilot)(?:-\d\S*\b)?"
    r"|Anthropic(?!(?:ally)?\s+(?:[Pp]rinciple|[Rr]easoning|bias|landscape|selection|shadow|coincidence|argument|emission"
    r"|carbon|activit|impact|disturbance|pressure|influence|climate|source|noise|effect)))\b"
    r"|\bopenai\b"
)
# Where who speaks names itself, a first name or a lone number is one too.
_SELF = (
    r"(?:(?<=\bI am )|(?<=\bI'm )|(?<=\bI’m )|(?<=^As )|(?<=[.!?\n] As )|(?<=\bmy name is ))"
    r"(?:Claude|Gemini|Llama|Grok|Copilot|Mistral|Nova|Gemma|Phi-?\d\S*\b)(?= *(?:[,.;:!?]|$|an? |and |from |by |made ))"
    r"|(?:(?<=trained by )|(?<=developed by )|(?<=model by )|(?<=model of )|(?<=model from )|(?<=made by )|(?<=created by )"
    r"|(?<=assistant from )|(?<=assistant by ))(?:Google|Microsoft|Meta|Amazon|Alibaba(?: Cloud)?|Baidu|Tencent|xAI)\b"
)
_CHINESE = (
    r"通义千问|深度求索|文心一言|智谱(?:AI|清言)?|字节跳动|月之暗面(?:科技|公司)|豆包(?:大模型|AI)"
    r"|(?<=由)(?:百度|腾讯|阿里巴巴|月之暗面)|(?<=我是)(?:豆包|文心|通义|混元)"
)


_NAMES = re.compile("|".join((_SELF, _MAKERS, _MODELS, _CHINESE)))


def masked(text: str) -> tuple[str, tuple[str, ...]]:
    """A text with every name of a model or its maker hidden, and the names that were found."""
    return _NAMES.sub(MASKED, text), tuple(found[0] for found in _NAMES.finditer(text))
