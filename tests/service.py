"""What the fake server does with a request: checks it as a real one would, meets its fault, answers, logs.

Errors and bodies have the shapes that OpenAI's API sends, so a client that reads them here reads them there.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections import Counter, deque

from aiohttp import web

from lotbench.types import Reply
from tests.abilities import Abilities, Body, Refused, check
from tests.faults import FAULTS, Fault, Faults, Plan, Spoil, Status, Wire, mixture, name_of
from tests.prefixes import Prefixes
from tests.rules import GARBAGE, REFUSAL, Heard, Rule, chance, hear
from tests.sending import Cut, send, status_of, to_json

STEPS = {
    "guess": "respond", "question": "ask", "same_creative_point": "verdict", "chain": "chain",
    "answer": "answer",
}  # fmt: skip


class Service:
    """The state of a server: its rule, its faults, and the log of what came and went."""

    def __init__(
        self,
        rule: Rule,
        faults: Plan = None,
        latency: float | tuple[float, float] = 0.0,
        abilities: Abilities | None = None,
        keep_bodies: bool = False,
    ) -> None:
        self.rule = rule
        self.abilities = abilities or Abilities()
        self.bodies: deque[Body] = deque()
        self._keep = keep_bodies
        self._latency = (0.0, 0.0)
        self.change(faults, latency)
        self._known = Prefixes()
        self._counts: Counter[str] = Counter()
        self._by: dict[str, Counter[str]] = {
            name: Counter() for name in ("model", "form", "status", "fault", "seen", "finished", "spoilt")
        }
        self._open = self._peak = 0

    def change(self, faults: Plan, latency: float | tuple[float, float] | None = None) -> None:
        """Begin another plan of faults, with another latency if one is given."""
        self.faults = Faults(faults)
        if latency is not None:
            low, high = latency if isinstance(latency, tuple | list) else (latency, latency)
            self._latency = (low, high)

    def log(self) -> Body:
        """What came and went: totals, counts by name, and for each body what became of it.

        `repeated` holds the bodies that were answered in full more than once.
        """
        by = {f"by_{name}": dict(self._by[name]) for name in ("model", "form", "status", "fault")}
        seen, finished, spoilt = self._by["seen"], self._by["finished"], self._by["spoilt"]
        return {
            "requests": self._counts["requests"],
            "finished": finished.total(),
            "spoilt": spoilt.total(),
            "aborted": self._counts["aborted"],
            "in_flight": self._open,
            "peak": self._peak,
            **by,
            "repeated": {digest: count for digest, count in finished.items() if count > 1},
            "bodies": {
                digest: {"seen": count, "finished": finished[digest], "spoilt": spoilt[digest]}
                for digest, count in seen.items()
            },
        }

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer any request."""
        path = request.path.removeprefix("/v1")
        try:
            match request.method, path:
                case "POST", "/chat/completions":
                    return await self._counted(request)
                case "GET", "/models":
                    self._check_key(request)
                    names = self.abilities.models or sorted(self._by["model"])
                    data = [{"id": name, "object": "model", "owned_by": "tests"} for name in names]
                    return to_json({"object": "list", "data": data})
                case "GET", "/control/log":
                    return to_json(self.log())
                case "POST", "/control/rules":
                    return self._control(json.loads(await request.content.read()))
            raise Refused(404, f"Invalid URL ({request.method} {request.path})")
        except Refused as refused:
            return to_json({"error": refused.error}, refused.status)
        except Cut:
            # Nobody is there to read it: aiohttp finds the connection closed and forgets the request.
            return web.Response()

    def _control(self, wanted: Body) -> web.Response:
        plan = wanted.get("faults")
        if isinstance(plan, str):
            plan = mixture(plan, wanted.get("rate"), wanted.get("seed", 0))
        elif unknown := [name for name in plan or () if name not in (None, *FAULTS)]:
            raise Refused(400, f"unknown faults: {unknown}", param="faults")
        self.change(plan, wanted.get("latency"))
        return to_json({"ok": True})

    async def _counted(self, request: web.BaseRequest) -> web.StreamResponse:
        self._open += 1
        self._peak = max(self._peak, self._open)
        self._counts["requests"] += 1
        try:
            response = await self._chat(request)
            self._by["status"][str(response.status)] += 1
            return response
        except Refused as refused:
            self._by["status"][str(refused.status)] += 1
            raise
        except Cut:
            raise
        except (asyncio.CancelledError, ConnectionError):
            self._counts["aborted"] += 1
            raise
        finally:
            self._open -= 1

    async def _chat(self, request: web.BaseRequest) -> web.StreamResponse:
        raw = await request.content.read()
        self._check_key(request)
        try:
            body: Body = json.loads(raw)
            heard = hear(body)
        except (ValueError, LookupError, TypeError, AttributeError):
            raise Refused(400, "We could not parse the JSON body of your request.") from None
        self._by["model"][str(body.get("model"))] += 1
        self._by["form"][_step(heard)] += 1
        if self._keep:
            self.bodies.append(body)
        check(body, heard, self.abilities)
        digest = hashlib.blake2b(raw, digest_size=16).hexdigest()
        seen = self._by["seen"][digest]
        self._by["seen"][digest] += 1
        fault = self.faults.next(body, digest, seen)
        if fault is not None:
            self._by["fault"][name_of(fault)] += 1
        if isinstance(fault, Status):
            return status_of(fault)
        low, high = self._latency
        await asyncio.sleep(low + (high - low) * chance(digest) if high > low else low)
        if isinstance(fault, Wire) and fault.how == "hang":
            await asyncio.sleep(fault.seconds)
        # Half a character, which a reply or an id may hold, can only be sent as an escape.
        sent = json.dumps(self._completion(body, heard, fault)).encode()
        response = await send(request, sent, fault if isinstance(fault, Wire) else None)
        whole = fault is None or (isinstance(fault, Wire) and fault.how in ("drip", "hang"))
        if response.status == 200:
            self._by["finished" if whole else "spoilt"][digest] += 1
        return response

    def _check_key(self, request: web.BaseRequest) -> None:
        wanted, given = self.abilities.api_key, request.headers.get("Authorization", "")
        if wanted is not None and not hmac.compare_digest(given, f"Bearer {wanted}"):
            raise Refused(401, "Incorrect API key provided", code="invalid_api_key")

    def _completion(self, body: Body, heard: Heard, fault: Fault | None) -> Body:
        said = self.rule(body)
        if not isinstance(said, Reply):
            text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
            said = Reply(text, body["model"] + self.abilities.suffix)
        text, finish = _cut(said.text, body), said.finish
        message: Body = {"role": "assistant", "content": text, "refusal": said.refusal}
        if text != said.text:
            finish = "length"
        if said.refusal is not None:
            message["content"] = None
        thought = said.reasoning
        if self.abilities.reasoning and thought is None:
            thought = "Let me see. What would be funny here?"
        if self.abilities.reasoning == "think":
            message["content"] = f"<think>\n{thought}\n</think>\n\n{text}"
        elif thought is not None:
            message["reasoning_content"] = thought
        malformed = isinstance(fault, Spoil) and fault.how == "malformed"
        # Nobody has asked for them, and they are none.
        likely: Body = {"content": [{"token": "\ud800", "logprob": -(10**400), "top_logprobs": 5}]}
        choice: Body = {"index": 0, "message": message, "finish_reason": finish}
        choice |= {"logprobs": likely} if malformed else {}
        choices = _spoilt(choice, fault.how) if isinstance(fault, Spoil) else [choice]
        return {
            "id": "chatcmpl-fake",
            "object": "chat.completion",
            "created": 1_790_000_000,
            "model": str(body["model"]) + self.abilities.suffix,
            "choices": choices,
            "service_tier": body.get("service_tier", "default"),
            "usage": MALFORMED
            if malformed
            else self._usage(heard, str(message["content"] or said.refusal or ""), thought or ""),
        }

    def _usage(self, heard: Heard, text: str, thought: str) -> Body:
        asked, told, thinking = len(heard.text.split()), len(text.split()), len(thought.split())
        if self.abilities.reasoning == "field":
            told += thinking
        known = self._known.add(heard.model, heard.text) if self.abilities.caches else 0
        return {
            "prompt_tokens": asked,
            "completion_tokens": told,
            "total_tokens": asked + told,
            "prompt_tokens_details": {"cached_tokens": known},
            "completion_tokens_details": {"reasoning_tokens": thinking},
        }


def _step(heard: Heard) -> str:
    known = [step for name, step in STEPS.items() if name in heard.form]
    return known[0] if known else "+".join(heard.form) or "text"


def _cut(text: str, body: Body) -> str:
    """The text up to the limit that was asked for, a word counting as a token."""
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    if limit is None or len(text) < limit or len(text.split()) <= limit:
        return text
    return " ".join(text.split()[:limit])


MALFORMED = {"prompt_tokens": 10**400, "completion_tokens": "many", "prompt_tokens_details": 5}
CALL = {"id": "call_1", "type": "function", "function": {"name": "answer", "arguments": "{}"}}
INSTEAD: dict[str, Body] = {
    "null": {"content": None},
    "tool_calls": {"content": None, "tool_calls": [CALL]},
    "content_filter": {"content": ""},
    "refusal": {"content": None, "refusal": REFUSAL},
    "huge": {"content": "word " * 200_000},
    "garbage": {"content": GARBAGE},
    "malformed": {},
    "unclosed": {"content": "<think>\nLet me see. What would be funny here?"},
}


def _spoilt(choice: Body, how: str) -> list[Body]:
    """The choices, with something else in them than the text asked for."""
    if how == "no_choices":
        return []
    message: Body = choice["message"]
    content = str(message["content"] or "")
    half = {"content": content[: len(content) // 2]}
    finish = how if how in ("tool_calls", "length", "content_filter") else choice["finish_reason"]
    return [choice | {"message": message | INSTEAD.get(how, half), "finish_reason": finish}]
