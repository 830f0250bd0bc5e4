"""LangChain's ChatOpenAI for any server with an OpenAI-compatible chat API.

It sends the given body unchanged, and puts fields of other servers (reasoning) into the message. Callbacks see every
attempt; the API key is removed from errors.
"""

import json
from typing import Any, Self

import httpx2
import openai
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from lotbench.models import chat_format
from lotbench.models.connections import Connections
from lotbench.models.retrying import MALFORMED_TRIES, PassingError

ROLES = {"system": "system", "human": "user", "ai": "assistant"}
"""OpenAI's names of the speakers, by LangChain's."""


class RefusedError(Exception):
    """The server answered with a status other than 200.

    Attributes:
        status: The HTTP status.
        headers: The headers of the response.
        text: The server's message with its JSON, without the API key, for parsing; the error's own text is short.
    """

    def __init__(self, response: httpx2.Response, secret: str) -> None:
        self.status = response.status_code
        self.headers = response.headers
        self.text = chat_format.masked(chat_format.error_message(response.content), secret)
        super().__init__(f"{self.status}: {chat_format.short(self.text)}")


class Chat(ChatOpenAI):
    """LangChain's chat model for a server at any address, with this module's changes.

    Raises from `ainvoke`:
        RefusedError: The server answered with an error status.
        PassingError: No readable response came.
        Unescapable: The server redirects to another host.
    """

    @classmethod
    def at(cls, url: str, model: str, secret: str, connections: Connections) -> Self:
        """Return the client of a model: `url` is the server's base URL, `model` the model id, `secret` the API key."""
        return cls(
            model=model,
            api_key=SecretStr(secret),
            base_url=url,
            timeout=None,
            max_retries=0,
            http_async_client=openai.DefaultAioHttpClient(
                transport=connections, timeout=None, trust_env=False
            ),
            http_socket_options=(),
            use_responses_api=False,
            # LangChain's cache would repeat a reply where the same request asks for another one.
            cache=False,
            disable_streaming=True,
        )

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        # The messages are those of the given body. ChatOpenAI would look up LangChain's types for each part of them, which
        # takes a tenth of a game's CPU time, and rename `max_tokens`, the only name that some servers know.
        sent = [{"role": ROLES[message.type], "content": message.content} for message in messages]
        client: openai.AsyncOpenAI = self.root_async_client
        secret = self.openai_api_key.get_secret_value() if isinstance(self.openai_api_key, SecretStr) else ""
        headers = {
            "Authorization": f"Bearer {secret}",
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": client.user_agent,
        }
        failure: BaseException | None = None
        try:
            # Post the body directly: `create` looks through every message, which takes most of the CPU time.
            response = await client.post(
                "/chat/completions",
                body={"model": self.model_name, "messages": sent, **kwargs},
                cast_to=httpx2.Response,
                options={"headers": headers},
            )
        except openai.APIStatusError as error:
            failure = RefusedError(error.response, secret)
        except openai.APIConnectionError as error:
            failure = error.__cause__ or error
        # Raised out here: the context of an error would be openai's, which has the headers with the key.
        if failure is not None:
            raise failure
        message = AIMessage(**_parse_body(response.content, secret))
        used = {"token_usage": message.usage_metadata, "model_name": message.response_metadata["model_name"]}
        return ChatResult(generations=[ChatGeneration(message=message)], llm_output=used)


def _parse_body(content: bytes, secret: str) -> dict[str, Any]:
    """Return the arguments of an AIMessage from the body of a response.

    Raises:
        PassingError: The body is no chat completion.
    """
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        raise PassingError("the server's answer is not JSON", tries=MALFORMED_TRIES, billed=True) from None
    read = chat_format.completion(answer, secret)
    if read is None:
        error_text = chat_format.complaint(answer)
        about = f": {chat_format.short(error_text, secret)}" if error_text else ""
        raise PassingError(
            f"the server's answer is no chat completion{about}",
            tries=MALFORMED_TRIES,
            billed=not error_text or chat_format.counted(answer) is not None,
            usage=chat_format.counted(answer),
        )
    return read
