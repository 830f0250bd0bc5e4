"""What the fake server can and cannot do, and how it says so: status, `error` object, the words of a real one."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tests.rules import Heard

Body: TypeAlias = "dict[str, Any]"


@dataclass(frozen=True, slots=True)
class Abilities:
    """What the server can do.

    Attributes:
        structured: The kinds of response_format that it knows.
        rejects: Parameters that it answers with 400; `maxLength` is one of the schema.
        pictures: Whether image parts are read.
        api_key: The key that it wants, if any.
        models: The models that it knows; None knows every name.
        reasoning: Reasoning comes as a block before the text, or in a field of its own.
        caches: Whether it tells how much of a prompt it had heard before; then no two runs have equal usage.
        suffix: What the id of the model that answers has more than the name asked for.
    """

    structured: frozenset[str] | set[str] = frozenset({"json_schema", "json_object"})
    rejects: frozenset[str] | set[str] = frozenset()
    pictures: bool = True
    api_key: str | None = None
    models: Sequence[str] | None = None
    reasoning: Literal["think", "field"] | None = None
    caches: bool = True
    suffix: str = "-2026"


class Refused(Exception):
    """The server answers with an error: the status, and the `error` object of the body."""

    def __init__(
        self, status: int, message: str, *, code: str | None = None, param: str | None = None
    ) -> None:
        self.status = status
        kind = "invalid_request_error" if status < 429 else "requests" if status == 429 else "server_error"
        if code == "insufficient_quota":
            kind = code
        self.error = {"message": message, "type": kind, "param": param, "code": code}
        super().__init__(message)


def check(body: Body, heard: Heard, can: Abilities) -> None:
    """Refuse what this server cannot do, in the words of a real one."""
    if can.models is not None and body.get("model") not in can.models:
        message = f"The model `{body.get('model')}` does not exist or you do not have access to it."
        raise Refused(404, message, code="model_not_found")
    if body.get("stream"):
        raise Refused(400, "Streaming is not supported by this server.", param="stream")
    for name in sorted(can.rejects & body.keys()):
        message = f"Unsupported parameter: '{name}' is not supported with this model."
        if name == "max_tokens":
            message += " Use 'max_completion_tokens' instead."
        raise Refused(400, message, code="unsupported_parameter", param=name)
    if heard.pictures and not can.pictures:
        message = "Invalid content type. image_url is only supported by certain models."
        raise Refused(400, message, param="messages.[0].content.[0].type")
    if wanted := body.get("response_format"):
        _check_form(wanted, heard, can)


def _check_form(wanted: Body, heard: Heard, can: Abilities) -> None:
    kind, param = wanted["type"], "response_format"
    if kind not in can.structured and kind != "text":
        message = f"Invalid parameter: 'response_format' of type '{kind}' is not supported with this model."
        raise Refused(400, message, param=param)
    if kind == "json_object" and "json" not in heard.text.lower():
        message = "'messages' must contain the word 'json' in some form, to use 'response_format' of type"
        raise Refused(400, f"{message} 'json_object'.", param="messages")
    if kind != "json_schema":
        return
    name = wanted["json_schema"].get("name")
    if not name:
        message = "Missing required parameter: 'response_format.json_schema.name'."
        raise Refused(
            400, message, code="missing_required_parameter", param="response_format.json_schema.name"
        )
    if "maxLength" in can.rejects and '"maxLength"' in json.dumps(wanted["json_schema"]):
        message = f"Invalid schema for response_format '{name}': 'maxLength' is not permitted."
        raise Refused(400, message, param=param)
