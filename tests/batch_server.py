"""A server with both batch APIs beside chat completions: files, batches and results, with faults by plan.

    with BatchServer(fates={3: "expired"}, troubles={"create": [429, "lost"]}) as server: server.url

A fate is what becomes of a line, by its number among all lines that ever came; a trouble is what a request to an endpoint
meets, consumed in order. Whoever speaks to it wrongly gets the refusal that the real one would give.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

from aiohttp import web

from tests.abilities import Abilities, Body, Refused, check
from tests.rules import Rule, game_rule, hear
from tests.sending import Cut, to_json
from tests.server import FakeServer
from tests.service import Service

Fates: TypeAlias = "Mapping[int, str] | Callable[[int, Body], str]"
ENDPOINTS = ("upload", "create", "retrieve", "content", "list")
NAMES = re.compile(r"[A-Za-z0-9_-]{1,64}")
KEY = "sk-batch-7f31"


@dataclass
class Batch:
    """One batch: its lines as they came, its results by file, how often it was looked at."""

    id: str
    api: str
    created: float
    metadata: Any
    lines: list[Body]
    results: dict[str, list[bytes]] = field(default_factory=dict)
    expired: bool = False
    cancelled: bool = False
    looks: int = 0


class BatchService(Service):
    """What the server does with a request.

    Attributes:
        asked: How often each endpoint was asked.
        answered: How many lines of batches were answered: paid for.
        held: Whether a batch does not end yet.
    """

    def __init__(self, rule: Rule, fates: Fates, troubles: Mapping[str, Sequence[Any]], refused: str) -> None:
        super().__init__(rule, abilities=Abilities(api_key=KEY, caches=False))
        self.fates, self.troubles = fates, {name: list(given) for name, given in troubles.items()}
        self.refused = refused
        self.asked: Counter[str] = Counter()
        self.answered = 0
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, Batch] = {}
        self.held: Callable[[Batch], bool] = lambda batch: False
        self.met = 0
        """Troubles met so far."""
        self._lines = 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer any request."""
        path = request.path.removeprefix("/v1").strip("/").split("/")
        api = "anthropic" if path[0] == "messages" else "openai"
        found = self._endpoint(request.method, [part for part in path if part != "messages"])
        if found is None:
            return await super().handle(request)
        name, act = found
        self.asked[name] += 1
        trouble = self.troubles.get(name, [])
        met = trouble.pop(0) if trouble else None
        self.met += met is not None
        try:
            if isinstance(met, int):
                raise Refused(met, "Not now")
            self._check_way(request, api)
            return await self._made(request, act, api, met)
        except Refused as refused:
            return to_json({"error": refused.error}, refused.status)
        except Cut:
            return web.Response()

    def _endpoint(self, method: str, path: list[str]) -> tuple[str, Any] | None:
        match method, path:
            case "POST", ["files"]:
                return "upload", self._upload
            case "POST", ["batches"]:
                return "create", self._create
            case "GET", ["batches"]:
                return "list", self._listed
            case "GET", ["batches", name]:
                return "retrieve", lambda request, api: self._look(name)
            case "GET", ["files", name, "content"]:
                return "content", lambda request, api: self._content(name)
            case "GET", ["batches", name, "results"]:
                return "content", lambda request, api: self._content(f"{name}-all")
        return None

    async def _made(self, request: web.BaseRequest, act: Any, api: str, met: Any) -> web.StreamResponse:
        """Do what was asked, and send the answer as far as the trouble lets it come."""
        if met == "deaf":
            await asyncio.sleep(3600)
        answer = act(request, api)
        answer = await answer if asyncio.iscoroutine(answer) else answer
        if met == "lost":
            assert request.transport is not None
            request.transport.close()
            raise Cut
        if met == "hang":
            await asyncio.sleep(3600)
        if isinstance(answer, bytes):
            return await self._sent(request, answer, met)
        return to_json(answer if met != "garbage" else [None])

    async def _sent(self, request: web.BaseRequest, content: bytes, met: Any) -> web.StreamResponse:
        lines = content.splitlines(keepends=True)
        if met == "short":
            content = b"".join(lines[: len(lines) // 2])
        headers = {"Content-Type": "application/jsonl", "Content-Length": str(len(content))}
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        await response.write(content if met is None or met == "short" else content[: len(content) // 2])
        if met == "half":
            await asyncio.sleep(3600)
        if met == "cut":
            assert request.transport is not None
            request.transport.close()
            raise Cut
        await response.write_eof()
        return response

    def _check_way(self, request: web.BaseRequest, api: str) -> None:
        headers = request.headers
        if api == "openai":
            self._check_key(request)
            return
        if "Authorization" in headers or headers.get("x-api-key") != KEY:
            raise Refused(401, "invalid x-api-key")
        if "anthropic-version" not in headers:
            raise Refused(400, "anthropic-version: header is required")

    async def _upload(self, request: web.BaseRequest, api: str) -> Body:
        assert isinstance(request, web.BaseRequest)
        purpose = content = None
        reader = await request.multipart()
        async for part in reader:
            if part.name == "purpose":
                purpose = (await part.read()).decode()
            else:
                content = bytes(await part.read())
        if purpose != "batch" or not content:
            raise Refused(400, "purpose must be batch")
        name = f"file-{len(self.files)}"
        self.files[name] = content
        return {"id": name, "object": "file", "purpose": purpose, "bytes": len(content)}

    async def _create(self, request: web.BaseRequest, api: str) -> Body:
        body = json.loads(await request.content.read())
        if api == "anthropic":
            lines = body["requests"]
            ways = [
                set(one) == {"custom_id", "params"} and NAMES.fullmatch(one["custom_id"]) for one in lines
            ]
        else:
            if body["endpoint"] != "/v1/chat/completions" or body["completion_window"] != "24h":
                raise Refused(400, "no such endpoint")
            lines = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
            ways = [(one["method"], one["url"]) == ("POST", "/v1/chat/completions") for one in lines]
            ways.append(len({one["body"]["model"] for one in lines}) == 1)
        if not all(ways) or len({one["custom_id"] for one in lines}) < len(lines):
            raise Refused(400, "a line is none of a batch")
        batch = Batch(f"batch_{len(self.batches)}", api, time.time(), body.get("metadata"), lines)
        self.batches[batch.id] = batch
        if not self.refused:
            self._carry_out(batch)
        return self._told(batch)

    def _carry_out(self, batch: Batch) -> None:
        """Answer the lines, in another order than they came."""
        ends: dict[str, list[bytes]] = {"out": [], "errors": []}
        for one in reversed(batch.lines):
            fate = self.fates(self._lines, one) if callable(self.fates) else self.fates.get(self._lines, "")
            self._lines += 1
            if fate == "missing":
                continue
            batch.expired |= fate == "expired"
            batch.cancelled |= fate == "cancelled"
            if fate == "garbage":
                ends["out"].append(b"{]")
                continue
            made = self._line(one, fate) if batch.api == "openai" else self._result(one, fate)
            whole = {"custom_id": one["custom_id"], **made}
            good = whole.get("error") is None and (whole.get("response") or {}).get("status_code", 200) == 200
            ends["out" if good or batch.api == "anthropic" else "errors"].append(json.dumps(whole).encode())
        batch.results = {f"{batch.id}-{name}": lines for name, lines in ends.items() if lines}
        batch.results[f"{batch.id}-all"] = ends["out"] + ends["errors"]

    def _line(self, one: Body, fate: str) -> Body:
        if fate in ("expired", "cancelled"):
            error = {"code": f"batch_{fate}", "message": "This request could not be executed in time."}
            return {"response": None, "error": error}
        try:
            status, body = 200, self._answer(one["body"], fate)
        except Refused as refused:
            status, body = refused.status, {"error": refused.error}
        return {
            "id": "r",
            "response": {"status_code": status, "request_id": "q", "body": body},
            "error": None,
        }

    def _result(self, one: Body, fate: str) -> Body:
        if fate in ("expired", "cancelled"):
            return {"result": {"type": {"cancelled": "canceled"}.get(fate, fate)}}
        params = one["params"]
        try:
            if not isinstance(params.get("max_tokens"), int) or params.get("temperature", 0) > 1:
                raise Refused(400, "max_tokens: Field required; temperature: range: 0..1")
            if extra := set(params) - {"model", "max_tokens", "messages", "system", "temperature", "top_p"}:
                raise Refused(400, f"{sorted(extra)[0]}: Extra inputs are not permitted")
            return {"result": {"type": "succeeded", "message": _message(self._answer(_chat(params), fate))}}
        except Refused as refused:
            kinds = {400: "invalid_request_error", 429: "rate_limit_error"}
            error = {"type": kinds.get(refused.status, "api_error"), "message": str(refused)}
            return {"result": {"type": "errored", "error": {"type": "error", "error": error}}}

    def _answer(self, body: Body, fate: str) -> Body:
        if fate.isdigit():
            raise Refused(int(fate), f"Not this one, {KEY}")
        heard = hear(body)
        check(body, heard, self.abilities)
        self.answered += 1
        return {"choices": []} if fate == "no_choices" else self._completion(body, heard, None)

    async def _listed(self, request: web.BaseRequest, api: str) -> Body:
        mine = [one for one in reversed(self.batches.values()) if one.api == api]
        start = request.query.get("after" if api == "openai" else "after_id")
        names = [one.id for one in mine]
        rest = mine[names.index(start) + 1 :] if start else mine
        page = rest[:2]
        return {
            "data": [self._told(one) for one in page],
            "has_more": len(rest) > 2,
            "last_id": page[-1].id if page else None,
        }

    def _look(self, name: str) -> Body:
        if name not in self.batches:
            raise Refused(404, "No such batch")
        self.batches[name].looks += 1
        return self._told(self.batches[name])

    def _told(self, batch: Batch) -> Body:
        ended = batch.looks > 1 and not self.held(batch)
        if batch.api == "anthropic":
            counts = {"processing": 0 if ended else len(batch.lines), "succeeded": len(batch.lines) * ended}
            created = datetime.fromtimestamp(batch.created, UTC).isoformat()
            status = "ended" if ended else "in_progress"
            return {
                "id": batch.id,
                "processing_status": status,
                "request_counts": counts,
                "created_at": created,
            }
        status = "expired" if batch.expired else "cancelled" if batch.cancelled else "completed"
        told: Body = {"id": batch.id, "created_at": batch.created, "metadata": batch.metadata, "errors": None}
        if self.refused:
            error = {"code": self.refused, "message": "The file was refused.", "line": None}
            return {**told, "status": "failed", "errors": {"data": [error]}}
        if ended:
            names = [f"{batch.id}-{end}" for end in ("out", "errors")]
            ids = [name if name in batch.results else None for name in names]
            told |= {"output_file_id": ids[0], "error_file_id": ids[1]}
        return {**told, "status": status if ended else "in_progress"}

    def _content(self, name: str) -> bytes:
        batch = self.batches[name.rpartition("-")[0]]
        return b"".join(line + b"\n" for line in batch.results[name])


class BatchServer(FakeServer):
    """The server in a thread of its own; `service` may be looked into when nothing is under way."""

    service: BatchService

    def __init__(
        self,
        rule: Rule | None = None,
        *,
        fates: Fates | None = None,
        troubles: Mapping[str, Sequence[Any]] | None = None,
        refused: str = "",
        port: int = 0,
    ) -> None:
        super().__init__(rule, port=port)
        self.service = BatchService(rule or game_rule(), fates or {}, troubles or {}, refused)


def _chat(params: Body) -> Body:
    """A Message's body as a chat body."""
    system = [{"role": "system", "content": params["system"]}] if "system" in params else []
    parts = {"text": lambda part: part, "image": _picture}
    messages = [
        {**one, "content": one["content"]}
        if isinstance(one["content"], str)
        else {**one, "content": [parts[part["type"]](part) for part in one["content"]]}
        for one in params["messages"]
    ]
    return {"model": params["model"], "messages": system + messages, "max_tokens": params["max_tokens"]}


def _picture(part: Body) -> Body:
    source = part["source"]
    assert source["type"] == "base64"
    return {"type": "image_url", "image_url": {"url": f"data:{source['media_type']};base64,{source['data']}"}}


def _message(completion: Body) -> Body:
    """A chat completion as a Message."""
    if not completion["choices"]:
        return {"content": None}
    choice, used = completion["choices"][0], completion["usage"]
    stop = {"length": "max_tokens", "content_filter": "refusal"}.get(choice["finish_reason"], "end_turn")
    return {
        "id": "msg",
        "type": "message",
        "role": "assistant",
        "model": completion["model"],
        "content": [{"type": "text", "text": choice["message"]["content"] or ""}],
        "stop_reason": stop,
        "usage": {
            "input_tokens": used["prompt_tokens"],
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
            "output_tokens": used["completion_tokens"],
        },
    }
