"""Rules: pure functions from what a model hears to what it says, so that a run has one right result.

A rule sees only what also travels over HTTP (model name, text, form, provider seed), never the call's key;
the same game therefore ends the same in process and over the wire, in any order of arrival.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from lotbench.types import Reply, Request

Said: TypeAlias = "str | Mapping[str, Any] | Reply"
Rule: TypeAlias = "Callable[[Any], Said]"
"""What a model says to a Request or to the body of a chat completion; `hear` reads both."""

SHAPE = re.compile(r'^\{\n((?:  "[^"\n]+": .*\n)+)\}', re.MULTILINE)
SHAPE_FIELD = re.compile(r'^  "([^"\n]+)": (.*?),?$', re.MULTILINE)
SHAPE_ENUM = re.compile(r'^"[^"]*"(?: or "[^"]*")+$')
RANGE = re.compile(r"(\d+)\s*(?:to|-|–|至|到)\s*(\d+)")
CJK = re.compile(r"[\u4e00-\u9fff]")
THINGS = tuple(
    """alarm clock|rubber duck|tax form|goldfish|ladder|parachute|casserole|lawnmower|doorbell|accordion|penguin
|snow globe|toaster|umbrella|pension|haircut|trampoline|passport|sandwich|lighthouse|vacuum cleaner|birthday cake
|hedgehog|lottery ticket|escalator|wedding dress|cactus|piano|kettle|volcano""".replace("\n", "").split("|")
)
KINDS = tuple(
    """second-hand|inflatable|nervous|invisible|frozen|borrowed|retired|enormous|edible|haunted|singing|unpaid
|left-handed|waterproof|famous|sleepy|wooden|illegal|portable|angry""".replace("\n", "").split("|")
)
THINGS_ZH = (
    "闹钟", "橡皮鸭", "税单", "金鱼", "梯子", "降落伞", "砂锅", "门铃", "手风琴", "企鹅", "雨伞", "退休金", "灯塔",
)  # fmt: skip
KINDS_ZH = (
    "二手的", "充气的", "紧张的", "隐形的", "冷冻的", "借来的", "退休的", "巨大的", "会唱歌的", "防水的", "有名的",
)  # fmt: skip
FIXED = re.compile(r"^(?:PART|LIKENESS|EFFECT|部分|相似处|效果)[:：] ?(.+)$", re.MULTILINE)
"""The lines of the point that a chain is to contain."""
SOBER = frozenset({"same_creative_point", "answer", "chain"})
"""Fields of those who answer at temperature 0: the provider's seed changes nothing for them."""
GARBAGE = "Well, that depends.\nOn the one hand there is much to be said for it.\nOn the other hand, not."
REFUSAL = "I'm sorry, but I can't help with that."


@dataclass(frozen=True, slots=True)
class Heard:
    """What a model hears: its name, the text of the conversation, the form to fill, the provider's seed.

    `form` maps the fields of the answer to their JSON schema; it is empty if any text will do.
    """

    model: str
    text: str
    form: Mapping[str, Mapping[str, Any]]
    seed: int | None = None
    pictures: int = 0


def hear(asked: Request | Mapping[str, Any]) -> Heard:
    """What a request, or the body of a chat completion, makes a model hear.

    Without a schema the form is read off the example that the prompt shows.
    """
    if isinstance(asked, Request):
        parts = [part for message in asked.messages for part in message.parts]
        lines = [part for part in parts if isinstance(part, str)]
        text, pictures = "\n".join(lines), len(parts) - len(lines)
        schema: Mapping[str, Any] | None = asked.schema
        name, seed = asked.model, asked.sampling.seed
    else:
        text, pictures = _body_text(asked)
        schema = (asked.get("response_format") or {}).get("json_schema", {}).get("schema")
        name, seed = str(asked.get("model")), asked.get("seed")
    form = schema["properties"] if schema is not None else _shown_form(text)
    return Heard(name.partition("@")[0].rpartition("/")[2], text, form, seed, pictures)


def _body_text(body: Mapping[str, Any]) -> tuple[str, int]:
    lines: list[str] = []
    pictures = 0
    for message in body["messages"]:
        content = message["content"]
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part["type"] == "text":
                lines.append(part["text"])
            else:
                pictures += 1
    return "\n".join(lines), pictures


def _shown_form(text: str) -> Mapping[str, Mapping[str, Any]]:
    shown = SHAPE.findall(text)
    return _read_shape(shown[-1]) if shown else {}


@lru_cache(maxsize=256)
def _read_shape(lines: str) -> Mapping[str, Mapping[str, Any]]:
    return {name: _kind(value) for name, value in SHAPE_FIELD.findall(lines)}


def _kind(shown: str) -> Mapping[str, Any]:
    if shown == "false or true":
        return {"type": "boolean"}
    if SHAPE_ENUM.match(shown):
        return {"enum": [option.strip('"') for option in shown.split(" or ")]}
    if numbers := RANGE.search(shown):
        return {"type": "integer", "minimum": int(numbers[1]), "maximum": int(numbers[2])}
    return {"type": "string"}


def number(*parts: object) -> int:
    """A number below 2**64 that depends on the parts and on nothing else."""
    text = "\0".join(map(str, parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def chance(*parts: object) -> float:
    """A number in [0, 1) that depends on the parts and on nothing else."""
    return number(*parts) / 2**64


def same(guess: str, key: str) -> Callable[[str], bool | None]:
    """For `game_rule(accepts=)`: accept a verdict's text where two patterns capture the same words.

    Elsewhere it says None, which leaves the verdict to chance. Each pattern has one group.
    """
    first, second = re.compile(guess, re.MULTILINE), re.compile(key, re.MULTILINE)

    def accepts(text: str) -> bool | None:
        one, other = first.search(text), second.search(text)
        if one is None or other is None:
            return None
        return True if one[1].strip().casefold() == other[1].strip().casefold() else None

    return accepts


@dataclass(frozen=True, slots=True)
class GameRule:
    """Plays every role by the form that it is asked to fill; see `game_rule`."""

    solve: float
    unreadable: float
    refuse: float
    judge_unreadable: float
    accepts: Callable[[str], bool | None] | None
    seed: int

    def __call__(self, asked: Request | Mapping[str, Any]) -> Said:
        """What the model says."""
        heard = hear(asked)
        drawn = not SOBER & heard.form.keys()
        draw = number(self.seed, heard.model, heard.text, heard.seed if drawn else None)
        spoilt = self.unreadable if drawn else self.judge_unreadable
        luck = chance(draw, "luck")
        if luck < spoilt:
            return GARBAGE
        if drawn and luck < spoilt + self.refuse:
            return REFUSAL if draw % 2 else Reply("", heard.model, refusal=REFUSAL)
        if not heard.form:
            return _thing(draw, heard.text)
        return self._fill(heard, draw)

    def _fill(self, heard: Heard, draw: int) -> Mapping[str, Any]:
        filled = {name: _value(name, field, draw, heard.text) for name, field in heard.form.items()}
        decisions = [name for name, field in heard.form.items() if field.get("type") == "boolean"]
        if "same_creative_point" in heard.form:
            said = self.accepts(heard.text) if self.accepts else None
            accepted = chance(draw, "solved") < self.solve if said is None else said
            wrong = decisions[draw % len(decisions)]
            filled |= {name: accepted or (name != wrong and bool(filled[name])) for name in decisions}
        return filled


def game_rule(
    solve: float = 0.05,
    unreadable: float = 0.0,
    refuse: float = 0.0,
    *,
    judge_unreadable: float = 0.0,
    accepts: Callable[[str], bool | None] | None = None,
    seed: int = 0,
) -> GameRule:
    """A rule that plays all roles of the game, and fills any other flat form with something that fits.

    Args:
        solve: The share of verdicts that accept.
        unreadable: The share of the candidate's replies that are not of the form.
        refuse: The share of the candidate's replies that decline, in the text or in the refusal field.
        judge_unreadable: The share of the judge's and the oracle's replies that are not of the form.
        accepts: Decides a verdict from the whole text that the judge heard; None leaves it to chance.
        seed: Another seed, another world.
    """
    return GameRule(solve, unreadable, refuse, judge_unreadable, accepts, seed)


def _thing(draw: int, text: str) -> str:
    if CJK.search(text):
        return KINDS_ZH[draw % len(KINDS_ZH)] + THINGS_ZH[draw // 97 % len(THINGS_ZH)]
    return f"{KINDS[draw % len(KINDS)]} {THINGS[draw // 97 % len(THINGS)]}"


def _value(name: str, field: Mapping[str, Any], draw: int, text: str) -> Any:
    mine = number(draw, name)
    if "enum" in field:
        return field["enum"][mine % len(field["enum"])]
    if field.get("type") == "boolean":
        return mine % 2 == 0
    if field.get("type") in ("integer", "number"):
        low, high = int(field.get("minimum", 1)), int(field.get("maximum", 10))
        return low + mine % (high - low + 1)
    if field.get("type") == "array":
        items = field.get("items", {"type": "string"})
        length = max(field.get("minItems", 2), min(2, field.get("maxItems", 2)))
        return [_value(f"{name}{index}", items, draw, text) for index in range(length)]
    return _words(name, mine, text)[: field.get("maxLength", 10_000)]


def _words(name: str, mine: int, text: str) -> str:
    thing = _thing(mine, text)
    chinese = CJK.search(text) is not None
    if name in ("guess", "WORD"):
        return thing
    if name in ("creative_point", "function") and (point := FIXED.findall(text)):
        return point[-1] if name == "function" else " ".join(point[:-1])
    if name == "answer":
        return ("是", "否")[mine % 2] if chinese else ("Yes", "No")[mine % 2]
    if name == "question":
        return f"它和{thing}有关吗？" if chinese else f"Does it have to do with a {thing}?"
    return f"因为{thing}，所以好笑。" if chinese else f"It rests on a {thing}, which leads to the last link."
