"""A model of inspect_ai's as one of ours: it is asked through inspect, with the limits, retries and cache that inspect has.

Whatever inspect raises passes through, so that its limits end a sample and its `--retry-on-error` takes it again; what
came before is in the journal and is not asked twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

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
from inspect_ai.util import JSONSchema

from lotbench.config.model_names import PROVIDERS
from lotbench.types import Finish, Image, Message, Reply, Request, Usage

OURS = {"google": "gemini"}
"""Providers that inspect knows by another name."""
FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
}
"""How an answer ended, from inspect's words for it."""
SPEAKERS: dict[str, Callable[..., ChatMessage]] = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}


class InspectModel:
    """Answers a request with what inspect's model generates.

    Args:
        model: The model, with its role.
        picture: The data URL of a picture.
        forms: Whether the form of an answer is asked for (`response_schema`); some servers refuse it.
    """

    def __init__(self, model: Model, picture: Callable[[str], str], *, forms: bool) -> None:
        self._model = model
        self._picture = picture
        self._forms = forms

    async def __call__(self, request: Request) -> Reply:
        """Return the reply; raises what inspect raises."""
        started = time.monotonic()
        messages = [self._message(message) for message in request.messages]
        output = await self._model.generate(messages, config=self._config(request))
        return _reply(output, round(time.monotonic() - started, 3))

    def _message(self, message: Message) -> ChatMessage:
        parts: str | Sequence[Content] = [self._part(part) for part in message.parts]
        if not any(isinstance(part, Image) for part in message.parts):
            parts = "".join(str(part) for part in message.parts)
        return SPEAKERS[message.speaker](content=parts)

    def _part(self, part: str | Image) -> Content:
        return (
            ContentImage(image=self._picture(part.sha256))
            if isinstance(part, Image)
            else ContentText(text=part)
        )

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
    """Return a model's name in our form; of a provider that we do not know, that of a Python object."""
    provider, _, rest = str(model).partition("/")
    ours = OURS.get(provider, provider)
    return f"{ours}/{rest}" if ours in PROVIDERS and rest else f"python:{model}"


def inspects(model_name: str) -> str:
    """Return the name by which inspect knows a model that a benchmark has as its default."""
    return model_name if "/" in model_name else f"openai/{model_name}"


def _reply(output: ModelOutput, seconds: float) -> Reply:
    choice: Any = output.choices[0] if output.choices else None
    used: Any = output.usage
    cached = (used.input_tokens_cache_read or 0) if used else 0
    # inspect counts tokens from its provider's cache apart; here they are input tokens too.
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
