"""The OpenAI chat format: bodies of requests, replies from responses, and the meaning of errors.

The abilities of an endpoint are learned from its refusals: a request starts with all parameters, and each refusal that names
a parameter removes it.
"""

from __future__ import annotations

import email.utils
import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from lotbench.report.markdown import visible
from lotbench.types import JSON, MAX_CHARACTERS, MOST, Finish, Image, Message, Reply, Request, Usage

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

Structured: TypeAlias = Literal["json_schema", "json_schema_unbounded", "json_object", "text"]
LADDER: tuple[Structured, ...] = ("json_schema", "json_schema_unbounded", "json_object", "text")
"""The ways to request an answer in a form, from the strictest to a free text. `unbounded` leaves out string lengths."""
FINISHES: dict[Finish, re.Pattern[str]] = {
    "stop": re.compile(r"^(?:stop|end_turn)$"),
    "content_filter": re.compile(
        "filter|safety|toxic|block|blacklist|prohibit|refus|guardrail|recitation|spii|sensitive"
    ),
    "length": re.compile("length|max|limit|exceed|incomplete"),
}
"""What a provider's finish reason contains, by our finish reason: Bedrock says `content_filtered`, Gemini `MAX_TOKENS`."""
REASONS = ("finish_reason", "stop_reason", "stopReason", "done_reason", "status")
"""The names of the finish reason in LangChain's messages of OpenAI, Anthropic, Bedrock, Ollama and OpenAI's Responses API."""
BROKEN = ("error", "insufficient_system_resource", "network_error", "abort")
"""Finish reasons of OpenRouter, DeepSeek, Z.ai and vLLM if the server failed while the model wrote."""
PARAMETERS = ("temperature", "top_p", "seed")
LEAST_KEY = 16
MAX_ID = 200
"""The longest model id in a reply, in characters."""
_REFUSED = (
    r"[\"'`]{0}[\"'`]|\b(?:unsupported|unknown|unrecogni[sz]ed|unexpected|extra|invalid|deprecated)\W+(?:\w+\W+){{0,3}}{0}\b"
    r"|\b{0}\W+(?:\w+\W+){{0,4}}(?:support|allow|permit|deprecat|unsupported|unknown|extra|must|between|range|only|invalid)"
)
"""What a message says of a refused parameter; a message may also quote a prompt with its name."""
BOUNDS = ("max_tokens", "max_completion_tokens")
"""The two names of the parameter for the maximum length of a reply."""

_BLANK = re.compile(r"[^!-~]+")
_ESCAPED = re.compile(r"[^!-~]+|\\{1,8}(?:[bfnrt]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})")
"""Invisible characters within a key: blanks and non-ASCII, without and with those that are escaped, perhaps several times."""
_HEX = r"(2[1-9a-fA-F]|[3-6][0-9a-fA-F]|7[0-9a-eA-E])"
_VISIBLE = re.compile(
    rf"\\{{1,8}}(?:(?:u00|U0{{6}}|x){_HEX}|u\{{0{{0,6}}{_HEX}\}}|/|(?P<octal>04[1-7]|0[5-7][0-7]|1[0-6][0-7]|17[0-6]))"
    rf"|%(?:25){{0,8}}{_HEX}|&#(?:[xX]0{{0,6}}{_HEX}|0{{0,6}}(?P<decimal>3[3-9]|[4-9][0-9]|1[01][0-9]|12[0-6]));?"
)
"""Escapes of the characters that a key may have, in JSON, PHP, C, addresses and HTML; without a group: an escaped slash."""

_FILTER = (
    '"(?:code|type)": "(?:content_filter|content_policy_violation|ContentPolicyViolationError|data_?inspection_?failed'
    '|invalid_prompt|ResponsibleAIPolicyViolation)"|"flagged_input":'
)
"""Fields in the JSON of an error by which OpenAI, Azure, DashScope, LiteLLM and OpenRouter name a content filter."""

Picture: TypeAlias = Callable[[str], str]
"""Maps the sha256 of a picture to its data URL."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """The known abilities of an endpoint for one model.

    Attributes:
        structured: How the JSON schema of a reply is requested: the strictest entry of LADDER that was not refused.
        bounds: The names in BOUNDS that were not refused; the first is sent, and no maximum length if there is none.
        refused: The sampling parameters that were refused and are not sent again.
        detail: Whether pictures carry `detail: high`.
        tier: The requested service tier; empty for the server's default.
    """

    structured: Structured = "json_schema"
    bounds: tuple[str, ...] = BOUNDS
    refused: frozenset[str] = frozenset()
    detail: bool = False
    tier: str = ""


def body(request: Request, model: str, able: Abilities, picture: Picture) -> dict[str, Any]:
    """Return the body of a chat completion request, without parameters that the endpoint has refused."""
    table: dict[str, Any] = {
        "model": model,
        "messages": [_message(m, able, picture) for m in request.messages],
    }
    for name in PARAMETERS:
        value = getattr(request.sampling, name)
        if value is not None and name not in able.refused:
            table[name] = value
    if request.sampling.max_tokens is not None and able.bounds:
        table[able.bounds[0]] = request.sampling.max_tokens
    if request.schema is not None and able.structured != "text":
        table["response_format"] = _format(request.schema, able.structured)
    if able.tier:
        table["service_tier"] = able.tier
    return table


def messages(request: Request, picture: Picture) -> list[dict[str, Any]]:
    """Return the messages of a request in OpenAI's format, pictures as data URLs."""
    return [_message(message, Abilities(), picture) for message in request.messages]


def sent_parameters(request_body: Mapping[str, Any], able: Abilities) -> dict[str, JSON]:
    """Return the parameters that a request body holds, and how it requests the schema of a reply, for `Reply.sent`."""
    record: dict[str, JSON] = {
        name: request_body[name] for name in (*PARAMETERS, *BOUNDS, "service_tier") if name in request_body
    }
    return record | {"structured": able.structured if "response_format" in request_body else "text"}


def completion(answer: object, secret: str = "") -> dict[str, Any] | None:
    """Return the arguments of a LangChain AIMessage from the JSON of a response; None if it is no whole chat completion.

    The API key `secret` is masked in all texts: some servers repeat the headers of a request.
    """
    if not isinstance(answer, dict) or not isinstance(answer.get("choices"), list) or not answer["choices"]:
        return None
    choice = answer["choices"][0]
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict) or complaint(answer) or choice.get("finish_reason") in BROKEN:
        return None
    used, text = usage(answer.get("usage")), content_text(message.get("content"))
    reasoning = _optional(message.get("reasoning_content") or message.get("reasoning")) or ""
    tier = answer.get("service_tier")
    return {
        "content": keyless(text, secret),
        "additional_kwargs": {
            "reasoning_content": keyless(reasoning, secret),
            "refusal": keyless(_optional(message.get("refusal")) or "", secret),
        },
        "usage_metadata": {
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
            "total_tokens": used.input_tokens + used.output_tokens,
            "input_token_details": {"cache_read": used.cached_input_tokens},
        },
        "response_metadata": {
            "model_name": " ".join(masked(str(answer.get("model") or ""), secret).split())[:MAX_ID],
            "finish_reason": str(choice.get("finish_reason")),
            "service_tier": tier if tier in ("flex", "priority") else "default",
        },
    }


def broken(message: Any) -> bool:
    """Return whether the message of a LangChain chat model ends because the server failed."""
    return _reason(message.additional_kwargs | message.response_metadata) in BROKEN


def _reason(about: Mapping[str, Any]) -> str:
    return str(next((about[name] for name in REASONS if about.get(name)), "stop")).lower()


def reply(message: Any, seconds: float, how: Mapping[str, JSON]) -> Reply:
    """Return the reply in a message of any LangChain chat model.

    Args:
        message: The AIMessage.
        seconds: The duration of the call.
        how: The parameters that were sent.
    """
    about: Mapping[str, Any] = message.additional_kwargs | message.response_metadata
    counts: Mapping[str, Any] = message.usage_metadata or {}
    prompt_tokens = _count(counts.get("input_tokens"))
    cached = [
        _count(count)
        for name, count in (counts.get("input_token_details") or {}).items()
        # OpenAI prefixes the name with the service tier.
        if name.endswith("cache_read")
    ]
    reason = _reason(about)
    # The tier that was served decides the price; a project at OpenAI may be set to `priority`.
    tier = about.get("service_tier")
    served = {"service_tier": tier} if "service_tier" in how or tier == "priority" else {}
    return Reply(
        text=content_text(message.content),
        model=str(about.get("model_name") or ""),
        finish=next((ours for ours, words in FINISHES.items() if words.search(reason)), "other"),
        reasoning=_optional(about.get("reasoning_content")),
        refusal=_optional(about.get("refusal")),
        usage=Usage(prompt_tokens, min(prompt_tokens, sum(cached)), _count(counts.get("output_tokens"))),
        seconds=round(seconds, 3),
        sent=dict(how) | served,
    )


def callback_config(request: Request) -> RunnableConfig:
    """Return the LangChain config of a call, with its name and metadata (role and place in the episode) for callbacks."""
    key = request.key
    names = ("sample", "repeat", "round", "step", "draw", "attempt")
    return {
        "run_name": f"{request.role or 'model'} {key.step}",
        "metadata": {"role": request.role} | {name: getattr(key, name) for name in names},
    }


def usage(table: object) -> Usage:
    """Return the token counts in the `usage` table of a response; missing counts are 0.

    Output tokens include reasoning. Gemini bills reasoning but counts it only in the total, so it is taken from there.
    """
    if not isinstance(table, dict):
        return Usage()
    details = table.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    prompt_tokens, written = _count(table.get("prompt_tokens")), _count(table.get("completion_tokens"))
    thought = _count(table.get("total_tokens")) - prompt_tokens - written if prompt_tokens else 0
    return Usage(
        input_tokens=prompt_tokens,
        cached_input_tokens=min(
            prompt_tokens, _count(cached if cached is not None else table.get("prompt_cache_hit_tokens"))
        ),
        output_tokens=written + max(0, thought),
    )


def counted(answer: object) -> Usage | None:
    """Return the token counts in a response that is no chat completion; None if it has none."""
    used = usage(answer.get("usage")) if isinstance(answer, dict) else Usage()
    return used if used != Usage() else None


def lessened(able: Abilities, error: str, request_body: Mapping[str, Any]) -> Abilities | None:
    """Return the abilities without the parameter that an error message refuses; None if it names no parameter."""
    text = _without_model(error, request_body)
    bound = next((name for name in BOUNDS if name in request_body), None)
    if bound is not None:
        other = BOUNDS[1 - BOUNDS.index(bound)]
        named = re.search(rf"\b{bound}\b", text) is not None
        if named and re.search(
            rf"not support|unsupported|unknown|unrecogni|unexpected|extra|permitted|allowed|use.{{0,3}}{other}",
            text,
        ):
            return replace(able, bounds=able.bounds[1:])
        # The number is too large for this model: leave it to the server.
        if named or ("completion" in text and too_long(text)):
            return replace(able, bounds=())
    for name in PARAMETERS:
        if name in request_body and re.search(_REFUSED.format(name), text):
            return replace(able, refused=able.refused | {name})
    if "response_format" in request_body and re.search(
        r"response_?format|json.?(?:schema|object|mode)|\b(?:invalid|unsupported|compile|parse)\W+(?:the\W+)?(?:schema|grammar)\b"
        r"|structured.?output|maxlength",
        text,
    ):
        return replace(able, structured=LADDER[LADDER.index(able.structured) + 1])
    return None


def lost(able: Abilities, less: Abilities, request_body: Mapping[str, Any]) -> set[str]:
    """Return what a request body has and would lose with lesser abilities: parameters by name, the form as text."""
    names = {*(less.refused - able.refused)} | ({*able.bounds[:1]} if less.bounds != able.bounds else set())
    return names | (
        {str(request_body.get("response_format"))} if less.structured != able.structured else set()
    )


def too_long(error: str) -> bool:
    """Return whether an error message says that the prompt is too long."""
    return _says(
        error, r"context.{0,20}(?:length|size|window)|exceed_context|maximum context|too many tokens"
    )


def withheld(error: str) -> bool:
    """Return whether an error message has a code of a content filter.

    Words do not count: "flagged" may be said of the account that asks, and then holds for every request.
    """
    return _says(error, _FILTER)


def out_of_credit(error: str) -> bool:
    """Return whether an error message has the code of a used-up quota; its words may be quoted from a request."""
    return _says(error, '"(?:code|type)": "insufficient_quota"')


def no_pictures(error: str, request_body: Mapping[str, Any]) -> bool:
    """Return whether a request body has a picture and the error message says that the model takes none."""
    return has_picture(request_body) and _says(
        _without_model(error, request_body), r"image|\bvision\b|multimodal|mmproj|modalit"
    )


def has_picture(request_body: Mapping[str, Any]) -> bool:
    """Return whether a message of a request body has a picture."""
    return any(isinstance(message["content"], list) for message in request_body["messages"])


def error_message(content: bytes) -> str:
    """Return the message in the body of an error response, followed by its JSON; `no reason given` if it is no JSON."""
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        return "no reason given"
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    message = error.get("message") if isinstance(error, dict) else None
    text = _dumped(error) or "no reason given"
    return f"{message} {text}" if isinstance(message, str) else text


def complaint(answer: object) -> str:
    """Return the `error` of a response as JSON text, or "" without one; some servers send errors with status 200.

    OpenRouter sends one beside the choices, or in the first.
    """
    choices = answer.get("choices") if isinstance(answer, dict) else None
    places = [answer, *(choices[:1] if isinstance(choices, list) else ())]
    error = next((each["error"] for each in places if isinstance(each, dict) and each.get("error")), None)
    return (_dumped(error) or "no reason given") if error else ""


def _dumped(value: object) -> str:
    """Return a value as JSON text; "" if it is nested too deeply, which a text that could be read may be."""
    try:
        return json.dumps(value, default=str, ensure_ascii=False)
    except RecursionError:
        return ""


def keyless(text: str, *secrets: str) -> str:
    """Return a text of a reply with `***` in place of each API key of LEAST_KEY characters or more; shorter ones may be words.

    What `masked` leaves out of a very long text stays.
    """
    keys = sorted((secret for secret in secrets if len(secret) >= LEAST_KEY), key=len, reverse=True)
    # Here a key is found across the limit too.
    for key in keys:
        text = text.replace(key, "***")
    return masked(text, *keys) + text[MAX_CHARACTERS:] if keys else text


def masked(text: str, *secrets: str) -> str:
    """Return a text with `***` in place of each API key.

    Keys are found also if they are escaped, in base64 after `Bearer `, or broken by invisible characters; a text without one
    stays as it is. Of a text longer than MAX_CHARACTERS the rest is left out.
    """
    text = text[:MAX_CHARACTERS]
    # One key may begin with another.
    for secret in sorted({*secrets} - {"", "none"}, key=len, reverse=True):
        text = text.replace(secret, "***")
        plain = _VISIBLE.sub(_unescaped, text)
        hidden = plain.replace(secret, "***")
        hidden = hidden.replace(b64encode(f"Bearer {secret}".encode()).decode().rstrip("="), "***")
        # The letter of an escape may be the first one of a key, so blanks are taken out alone first.
        for unseen in (_BLANK, _ESCAPED):
            if not unseen.search(secret):
                hidden = _masked_within(hidden, secret, unseen)
        if hidden != plain:
            text = hidden
    return text


def _unescaped(found: re.Match[str]) -> str:
    base = {"octal": 8, "decimal": 10}.get(found.lastgroup or "", 16)
    return chr(int(found[found.lastindex], base)) if found.lastindex else "/"


def _masked_within(text: str, secret: str, unseen: re.Pattern[str]) -> str:
    """Return a text with `***` in place of a key within which characters that `unseen` matches may stand."""
    if secret not in unseen.sub("", text):
        return text
    blanked = unseen.sub(lambda found: "\0" * len(found[0]), text)
    places = [place for place, character in enumerate(blanked) if character != "\0"]
    pieces, end = list[str](), 0
    for found in re.finditer(re.escape(secret), blanked.replace("\0", "")):
        pieces += [text[end : places[found.start()]], "***"]
        end = places[found.end() - 1] + 1
    return "".join([*pieces, text[end:]])


def short(text: str, *secrets: str) -> str:
    """Return an error message on one line of at most 300 characters, without API keys and without trailing JSON."""
    clean = masked(text, *secrets)
    clean = clean.partition(' {"')[0] or clean
    return " ".join(visible(clean).split())[:300]


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that the headers of a response ask to wait; None if they do not.

    A date is compared with the server's own `Date` header, since our clock may be wrong. Without that header it is compared
    with `now`, in seconds since 1970.
    """
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        return max(0.0, seconds) if seconds == seconds else None
    until = _date(headers, "retry-after")
    return None if until is None else max(0.0, until - (_date(headers, "date") or now))


def _date(headers: Mapping[str, str], name: str) -> float | None:
    """Return the date in a header in seconds since 1970; None if the header is missing or no date."""
    try:
        return email.utils.parsedate_to_datetime(headers[name]).timestamp()
    except (KeyError, ValueError, OverflowError):
        return None


def _says(error: str, pattern: str) -> bool:
    return re.search(pattern, error, re.IGNORECASE) is not None


def _without_model(error: str, request_body: Mapping[str, Any]) -> str:
    """Return an error message in lower case without the model's name, which may contain words that are searched for."""
    return re.sub(rf"(?<!\w){re.escape(str(request_body['model']).lower())}(?!\w)", "", error.lower())


def _message(message: Message, able: Abilities, picture: Picture) -> dict[str, Any]:
    if all(isinstance(part, str) for part in message.parts):
        return {"role": message.speaker, "content": "".join(cast(tuple[str, ...], message.parts))}
    parts = [_content_part(part, able, picture) for part in message.parts]
    return {"role": message.speaker, "content": parts}


def _content_part(part: str | Image, able: Abilities, picture: Picture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    url: dict[str, str] = {"url": picture(part.sha256)}
    return {"type": "image_url", "image_url": url | ({"detail": "high"} if able.detail else {})}


def _format(schema: Mapping[str, JSON], structured: Structured) -> dict[str, Any]:
    if structured == "json_object":
        return {"type": "json_object"}
    name = str(schema.get("title", "answer"))
    sent_schema = schema if structured == "json_schema" else _unbounded(schema)
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": sent_schema}}


def _unbounded(schema: Any) -> Any:
    """Return a schema without its bounds on string lengths, which strict servers refuse."""
    if isinstance(schema, Mapping):
        return {
            name: _unbounded(value)
            for name, value in schema.items()
            if name not in ("maxLength", "minLength")
        }
    return schema


def content_text(content: object) -> str:
    """Return the text of a message's content, which may be a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = (part.get("text") if isinstance(part, dict) else part for part in content)
        return "".join(text for text in texts if isinstance(text, str))
    return "" if content is None else _dumped(content)


def _optional(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: object) -> int:
    return value if isinstance(value, int) and value is not True and 0 < value <= MOST else 0
