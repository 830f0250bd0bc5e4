"""What can go wrong between a client and a model server, each by name, and plans that say when it does.

A mixture draws from the seed, the body and how often that body came, never from time or order: the same
run meets the same faults, each retry has a draw of its own, and no body fails for ever.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from tests.rules import chance, number


@dataclass(frozen=True, slots=True)
class Status:
    """An HTTP error; `retry_after` is the header's value as it is sent."""

    status: int
    message: str
    code: str | None = None
    retry_after: str | None = None
    html: bool = False


Slow: TypeAlias = Literal["hang", "drip"]
Cut: TypeAlias = Literal["cut_before", "cut_within", "truncated", "invalid_json", "html"]
Odd: TypeAlias = Literal["wrong_type", "bomb", "elsewhere"]


@dataclass(frozen=True, slots=True)
class Wire:
    """A reply that does not arrive as it should; `seconds` is how long a hang or a drip lasts."""

    how: Slow | Cut | Odd
    seconds: float = 0.0


Empty: TypeAlias = Literal["no_choices", "null", "tool_calls", "length", "content_filter", "refusal"]
Unusable: TypeAlias = Literal["huge", "garbage", "unclosed", "malformed"]


@dataclass(frozen=True, slots=True)
class Spoil:
    """A well-formed response in which there is something else than the text asked for."""

    how: Empty | Unusable


Fault: TypeAlias = "Status | Wire | Spoil"

FAULTS: Mapping[str, Fault] = {
    "429": Status(429, "Rate limit reached for requests", "rate_limit_exceeded"),
    "429_soon": Status(429, "Rate limit reached for requests", "rate_limit_exceeded", retry_after="0.05"),
    "429_second": Status(429, "Rate limit reached for requests", "rate_limit_exceeded", retry_after="1"),
    "429_late": Status(429, "Rate limit reached for requests", "rate_limit_exceeded", retry_after="121"),
    "429_quota": Status(429, "You exceeded your current quota, please check your plan", "insufficient_quota"),
    "500": Status(500, "The server had an error while processing your request"),
    "502": Status(502, "Bad gateway", html=True),
    "503": Status(503, "Service Unavailable", html=True),
    "401": Status(401, "Incorrect API key provided", "invalid_api_key"),
    "403": Status(403, "Country, region, or territory not supported", "unsupported_country_region_territory"),
    "404": Status(404, "The model does not exist or you do not have access to it", "model_not_found"),
    "hang": Wire("hang", 3600.0),
    "drip": Wire("drip", 0.5),
    **{how: Wire(how) for how in (*get_args(Cut), *get_args(Odd))},
    **{how: Spoil(how) for how in (*get_args(Empty), *get_args(Unusable))},
}

TRANSPORT = ("429", "429_soon", "500", "502", "503", "cut_before", "cut_within")
"""Passing troubles that a client with retries never shows to anyone."""
BROKEN = ("truncated", "invalid_json", "html", "no_choices")
"""Responses with status 200 that hold no reply."""
CONTENT = ("null", "tool_calls", "length", "content_filter", "refusal", "garbage", "unclosed")
"""Replies that came and cannot be read as the answer asked for."""


def name_of(fault: Fault) -> str:
    """The name of a fault; one made for the occasion is named by its status or its manner."""
    for name, known in FAULTS.items():
        if known == fault:
            return name
    return str(fault.status) if isinstance(fault, Status) else fault.how


@dataclass(frozen=True, slots=True)
class Mixed:
    """A seeded mixture: a share `rate` of the requests meets one of `kinds`.

    Attributes:
        most: The most faults for one body; after that it is answered.
    """

    rate: float = 0.3
    seed: int = 0
    kinds: Sequence[str] = TRANSPORT + BROKEN
    most: int = 3

    def draw(self, digest: str, seen: int) -> Fault | None:
        """The fault for a body that has come `seen` times before."""
        if seen >= self.most or chance(self.seed, digest, seen) >= self.rate:
            return None
        return FAULTS[self.kinds[number(self.seed, digest, seen, "kind") % len(self.kinds)]]


Plan: TypeAlias = "str | Mixed | Sequence[Fault | str | None] | Callable[[int, Mapping[str, Any]], Fault | str | None] | None"
"""When which fault comes: a mixture (or its name), a list consumed in order, a function of (index, body).

The index counts the requests that the server would have answered: one that it refuses meets no fault.
"""


def asking(field: str, fault: str, role: str = "") -> Callable[[int, Mapping[str, Any]], str | None]:
    """A plan by which every call whose form has this field meets a fault; of one role, if it is named."""
    return lambda index, body: fault if asks(body, field) and role in ("", body["model"]) else None


def asks(body: Mapping[str, Any], field: str) -> bool:
    """Whether the form that a request wants has this field."""
    return f'"{field}"' in json.dumps(body.get("response_format", {}))


MIXTURES: Mapping[str, Mixed | None] = {
    "none": None,
    "transport": Mixed(kinds=TRANSPORT),
    "mixed": Mixed(),
    "content": Mixed(kinds=CONTENT),
    "all": Mixed(kinds=TRANSPORT + BROKEN + CONTENT),
    "hang": Mixed(rate=0.02, kinds=("hang",)),
}


def mixture(
    name: str, rate: float | None = None, seed: int = 0
) -> Mixed | Sequence[Fault | str | None] | None:
    """A plan by name: of `MIXTURES`, or the names of faults, with commas between, to consume in order."""
    if name not in MIXTURES:
        return [FAULTS[fault] if fault else None for fault in name.split(",")]
    found = MIXTURES[name]
    return found and replace(found, seed=seed, rate=found.rate if rate is None else rate)


class Faults:
    """A plan being carried out."""

    def __init__(self, plan: Plan) -> None:
        self.plan = mixture(plan) if isinstance(plan, str) else plan
        self._index = 0

    def next(self, body: Mapping[str, Any], digest: str, seen: int) -> Fault | None:
        """The fault for the next request, whose body has come `seen` times before."""
        index, self._index = self._index, self._index + 1
        plan = self.plan
        if plan is None:
            return None
        if isinstance(plan, Mixed):
            return plan.draw(digest, seen)
        listed = None if callable(plan) or index >= len(plan) else plan[index]
        found = plan(index, body) if callable(plan) else listed
        return FAULTS[found] if isinstance(found, str) else found
