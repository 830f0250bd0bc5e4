"""One question to one model over HTTP: what tests of the client share."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any

from langchain_core.messages import AIMessage

from lotbench.config.experiment import Limits
from lotbench.config.model_names import parse
from lotbench.models import chat_format
from lotbench.models.chat import ChatModel
from lotbench.models.retrying import Waiting
from lotbench.prompting.reply import Form, prose, schema, shape
from lotbench.types import Image, Key, Message, Reply, Request, Sampling


class Guess(Form):
    """The shortest form that the fake server knows a step for."""

    guess: Annotated[str, prose(120, "what stands in the place of the mask")]


ALL = Sampling(temperature=0.5, top_p=0.9, seed=7, max_tokens=64)
TEXT = f"Fill the mask. Answer in JSON:\n{shape(Guess)}"


def question(
    text: str = TEXT,
    *,
    image: Image | None = None,
    number: int = 0,
    form: type[Form] | None = Guess,
    sampling: Sampling = ALL,
) -> Request:
    """A question; `number` makes another body of it."""
    parts = (text,) if image is None else (image, text)
    messages = (Message("system", (f"Game {number}.",)), Message("user", parts))
    key = Key("lot-0001", 1, number, "respond", 0, 0, "0123456789abcdef")
    return Request(key, "m", messages, schema(form) if form else None, sampling)


def reply_of(answer: object, how: Mapping[str, Any] | None = None) -> Reply | None:
    """What the client makes of the JSON of a response."""
    read = chat_format.completion(answer)
    return None if read is None else chat_format.reply(AIMessage(**read), 0.12345, how or {})


@asynccontextmanager
async def asked(
    url: str, *, picture: Any = None, waiting: Waiting | None = None, name: str = "", **limits: Any
) -> AsyncIterator[ChatModel]:
    """A model at that address, or of that name."""
    connections: dict[str, Any] = {}
    model = ChatModel(
        parse(name or f"m@{url}"),
        picture or (lambda sha256: f"data:image/png;base64,{sha256}"),
        Limits(**limits),
        waiting or Waiting(),
        connections=connections,
    )
    try:
        yield model
    finally:
        for connection in connections.values():
            await connection.aclose()
