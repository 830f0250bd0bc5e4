"""Models of inspect_ai as models of lotbench, called through inspect with its limits, retries and cache.

Exceptions of inspect pass through, so that its limits end a sample and `--retry-on-error` repeats it. Earlier replies of
the sample come from the journal.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    Content,
    ContentImage,
    ContentText,
    GenerateConfig,
    Model,
    ModelOutput,
    ResponseSchema,
)
from inspect_ai.model._generate_config import active_generate_config
from inspect_ai.util import JSONSchema

from lotbench.config.model_names import PROVIDERS, parse
from lotbench.errors import UsageError
from lotbench.types import Finish, Image, Message, Reply, Request, Usage

OURS = {"google": "gemini"}
"""Our names of providers, by inspect's."""
TRANSPORT = {
    *("max_retries", "timeout", "attempt_timeout", "stream_idle_timeout", "max_connections"),
    *("adaptive_connections", "cache", "batch"),
}
"""Options of inspect that change no request; all others would change what is measured, and no run folder has them."""
FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
}
"""Our finish reasons, by inspect's stop reasons."""
SPEAKERS: dict[str, Callable[..., ChatMessage]] = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}


class InspectModel:
    """A model of inspect_ai, as a model of lotbench.

    Args:
        model: The model of inspect.
        picture: Maps the sha256 of a picture to its data URL.
        forms: Whether to send the JSON schema of the reply as `response_schema`; some servers refuse it.
    """

    def __init__(self, model: Model, picture: Callable[[str], str], *, forms: bool) -> None:
        self._model = model
        self._picture = picture
        self._forms = forms

    async def __call__(self, request: Request) -> Reply:
        """Return the model's reply; exceptions of inspect pass through."""
        refuse_options(self._model)
        started = time.monotonic()
        messages = [self._message(message) for message in request.messages]
        output = await self._model.generate(messages, config=self._config(request))
        return _reply(output, round(time.monotonic() - started, 3))

    def _message(self, message: Message) -> ChatMessage:
        parts: str | Sequence[Content] = [
            ContentText(text=part)
            if isinstance(part, str)
            else ContentImage(image=self._picture(part.sha256))
            for part in message.parts
        ]
        if not any(isinstance(part, Image) for part in message.parts):
            parts = "".join(str(part) for part in message.parts)
        return SPEAKERS[message.speaker](content=parts)

    def _config(self, request: Request) -> GenerateConfig:
        sampling = request.sampling
        form = None
        if request.schema is not None and self._forms:
            schema = JSONSchema.model_validate(request.schema)
            form = ResponseSchema(
                name=str(request.schema.get("title", "answer")), json_schema=schema, strict=True
            )
        return GenerateConfig(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            seed=sampling.seed,
            max_tokens=sampling.max_tokens,
            response_schema=form,
        )


def name(model: Model) -> str:
    """Return lotbench's name for a model of inspect, such as `gemini/NAME`.

    It is `python:NAME` if lotbench has no such provider, and `python:NAME~HOST` if inspect asks another server than lotbench
    would.
    """
    provider, _, rest = str(model).partition("/")
    ours = OURS.get(provider, provider)
    if ours not in PROVIDERS or not rest:
        return f"python:{model}"
    variables = (f"{provider.upper()}_BASE_URL", "INSPECT_EVAL_MODEL_BASE_URL")
    urls = [model.api.base_url, *map(os.environ.get, variables)]
    # Without a password that stands before the host: the name is printed and written down.
    servers = {urlsplit(url).netloc.rpartition("@")[2] for url in urls if url}
    hosts = {server.replace("localhost", "127.0.0.1") for server in servers}
    if elsewhere := sorted(hosts - {urlsplit(parse(f"{ours}/{rest}").url).netloc}):
        return f"python:{model}~{'+'.join(elsewhere)}"
    # A service after the provider (openai/azure/NAME) has an address of its own.
    service = "/" in rest and ours in ("openai", "anthropic", "gemini")
    return f"python:{model}" if service else f"{ours}/{rest}"


def refuse_options(model: Model) -> None:
    """Refuse options of inspect that would change prompts or sampling.

    Raises:
        UsageError: There are such options; the message names them.
    """
    options = [*active_generate_config(), *model.config, *model.model_args.items()]
    if changed := sorted({key for key, value in options if value is not None} - TRANSPORT):
        raise UsageError(
            f"{', '.join(changed)}: the benchmark sets prompts and sampling (-T sampling.ROLE.NAME=...)"
        )


def inspects(model_name: str) -> str:
    """Return inspect's name for a model that lotbench names; a name without provider is a model of openai."""
    return model_name if "/" in model_name else f"openai/{model_name}"


def _reply(output: ModelOutput, seconds: float) -> Reply:
    choice: Any = output.choices[0] if output.choices else None
    used: Any = output.usage
    cached = (used.input_tokens_cache_read or 0) if used else 0
    # inspect counts cached tokens separately; here they are part of the input tokens.
    usage = (
        Usage(used.input_tokens + cached + (used.input_tokens_cache_write or 0), cached, used.output_tokens)
        if used
        else Usage()
    )
    return Reply(
        text=output.completion,
        model=output.model,
        finish=FINISHES.get(choice.stop_reason, "other") if choice else "other",
        reasoning=_reasoning(choice),
        usage=usage,
        seconds=seconds,
    )


def _reasoning(choice: Any) -> str | None:
    content = choice.message.content if choice else ""
    parts = content if isinstance(content, list) else ()
    return "\n".join(part.reasoning for part in parts if part.type == "reasoning" and part.reasoning) or None
