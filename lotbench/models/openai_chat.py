"""LangChain's ChatOpenAI for any server that speaks the OpenAI chat API, however loosely.

It sends what it is told to and no more, and says what other servers have beyond OpenAI's own (reasoning) in the message;
callbacks hear of each try, with errors from which the key is taken out.
"""

from __future__ import annotations

import json
from typing import Any

import httpx2
import openai
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from langchain_openai.chat_models.base import BaseChatOpenAI
from pydantic import SecretStr

from lotbench.models import chat_format
from lotbench.models.connections import Connections
from lotbench.models.retrying import MALFORMED_TRIES, PassingError


class RefusedError(Exception):
    """A status other than 200.

    Attributes:
        text: What the server said of it, for us to read; a person is shown the error's own text, without the key.
    """

    def __init__(self, response: httpx2.Response, secret: str) -> None:
        self.status = response.status_code
        self.headers = response.headers
        self.text = chat_format.error_message(response.content)
        super().__init__(f"{self.status}: {chat_format.short(self.text, secret)}")


class Chat(ChatOpenAI):
    """A chat model at an address.

    Raises from `ainvoke`:
        RefusedError: The server refuses.
        PassingError: Nothing came that can be read.
        Unescapable: The server sends elsewhere.
    """

    @classmethod
    def at(cls, url: str, model: str, secret: str, connections: Connections) -> Chat:
        """Return the chat model of this name at an address."""
        return cls(
            model=model,
            api_key=SecretStr(secret),
            base_url=url,
            timeout=None,
            max_retries=0,
            http_async_client=openai.DefaultAioHttpClient(transport=connections, timeout=None),
            http_socket_options=(),
            use_responses_api=False,
            # Draws must differ, and replies are journaled; neither is for another cache to undo.
            cache=False,
            disable_streaming=True,
        )

    def _get_request_payload(
        self, input_: LanguageModelInput, *, stop: list[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        # ChatOpenAI's own renames `max_tokens`, which is all that some servers know, and adds defaults.
        payload = BaseChatOpenAI._get_request_payload(self, input_, stop=stop, **kwargs)
        return {name: payload[name] for name in ("model", "messages", *kwargs)}

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        payload = self._get_request_payload(messages, stop=stop, **kwargs)
        client: openai.AsyncOpenAI = self.root_async_client
        secret = self.openai_api_key.get_secret_value() if isinstance(self.openai_api_key, SecretStr) else ""
        headers = {
            "Authorization": f"Bearer {secret}",
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": client.user_agent,
        }
        try:
            # The body as it stands: `create` looks through every message, for more CPU than all else here.
            response = await client.post(
                "/chat/completions", body=payload, cast_to=httpx2.Response, options={"headers": headers}
            )
        except openai.APIStatusError as error:
            raise RefusedError(error.response, secret) from None
        except openai.APIConnectionError as error:
            raise (error.__cause__ or error) from None
        message = AIMessage(**_read(response.content, secret))
        used = {"token_usage": message.usage_metadata, "model_name": message.response_metadata["model_name"]}
        return ChatResult(generations=[ChatGeneration(message=message)], llm_output=used)


def _read(content: bytes, secret: str) -> dict[str, Any]:
    """Return a message from the body of a response.

    Raises:
        PassingError: It is none.
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
