"""Prices of models: the user's own table first, then the list prices in the package genai-prices.

Nothing is downloaded: prices are those of the installed package for today's date.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import NonNegativeFloat

from lotbench.config.experiment import Limits, read_toml, validate
from lotbench.config.model_names import ModelName, base_model, without_address
from lotbench.types import FrozenModel, Message, Reply, Usage

FREE_KINDS = ("hf", "local", "file", "human")
FREE_PROVIDERS = ("ollama", "vllm")
TIERS = {"flex": 0.5, "priority": 2.0}
"""Factors on the price of a call at OpenAI's service tiers; `priority` costs 1.75 to 2 times the price."""
LISTED_AS = {name: name for name in ("openai", "openrouter", "deepseek", "anthropic")} | dict.fromkeys(
    ("gemini", "google_genai"), "google"
)
"""Names of providers in genai-prices, by our names; it does not list the others."""
BYTES_A_TOKEN = 3
"""Estimated bytes of UTF-8 in one token: three letters, or one Chinese character."""
PICTURE_TOKENS = {"gpt-4o-mini": 25_501, "gpt-4.1-nano": 2_520, "gpt-5-nano": 2_520}
"""Input tokens of a picture of 1,024 by 1,024 pixels at models that count most: by tiles with `detail: high`, by patches.

They hold for every model whose id has this part, such as a fine-tune.
"""
OTHER_PICTURE_TOKENS = 1_800
"""Estimate for all other models; some may count more."""


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model in US dollars for a million tokens.

    Attributes:
        input: For input tokens that are not cached.
        cached: For cached input tokens.
        output: For output tokens.
        above: Pairs (n, price), largest n first: a call with more than n input tokens costs that price for all its tokens.
    """

    input: float
    cached: float
    output: float
    above: tuple[tuple[int, Price], ...] = ()

    def cost(self, usage: Usage) -> float:
        """Return the cost of one call in US dollars."""
        for tokens, longer in self.above:
            if usage.input_tokens > tokens:
                return longer.cost(usage)
        fresh = usage.input_tokens - usage.cached_input_tokens
        cost = (
            fresh * self.input + usage.cached_input_tokens * self.cached + usage.output_tokens * self.output
        )
        return cost / 1e6


def total_cost(costs: Iterable[float | None]) -> float | None:
    """Return the sum of costs; None if any cost is unknown."""
    costs = list(costs)
    return None if None in costs else sum(filter(None, costs))


def cost(price: Price | None, reply: Reply) -> float | None:
    """Return the cost of a reply in US dollars, by the service tier at which the server answered.

    Without a price it is None; it is 0 if the reply has no tokens, as of a function.
    """
    if price is None:
        return 0.0 if reply.usage == Usage() else None
    return price.cost(reply.usage) * TIERS.get(str(reply.sent.get("service_tier")), 1.0)


def asked_cost(name: ModelName, usage: Usage, limits: Limits) -> float | None:
    """Return the expected cost of a call in US dollars at the requested service tier; None without a known price."""
    model_price = price(name)
    if model_price is None:
        return None
    return model_price.cost(usage) * (
        TIERS["flex"] if name.kind == "api" and limits.service_tier == "flex" else 1.0
    )


def prompt_tokens(messages: Iterable[Message], name: str) -> int:
    """Return an upper estimate of the input tokens of messages to a model, by its name."""
    parts = [part for message in messages for part in message.parts]
    return sum(
        len(p.encode(errors="replace")) // BYTES_A_TOKEN + 1 if isinstance(p, str) else picture_tokens(name)
        for p in parts
    )


@cache
def picture_tokens(name: str) -> int:
    """Return an upper estimate of the input tokens of a picture of 1,024 by 1,024 pixels, by the name of a model."""
    model_id = without_address(name).lower()
    return next((tokens for part, tokens in PICTURE_TOKENS.items() if part in model_id), OTHER_PICTURE_TOKENS)


class PriceTable(FrozenModel):
    """A price table: its date, and by model the prices of input, cached input and output (US dollars a million tokens)."""

    date: str
    usd_per_million: dict[str, tuple[NonNegativeFloat, NonNegativeFloat, NonNegativeFloat]]


def price(name: ModelName) -> Price | None:
    """Return the price of a model; a price of 0 for models that run locally, None if it is unknown, as of Python objects.

    The user's table can name a model in full (`my-model@http://host/v1`) or by its base model.

    Raises:
        UsageError: The file in `$LOTBENCH_PRICES` cannot be read or has an invalid field; the message names both.
    """
    own = own_table()
    table = own.usd_per_million if own else {}
    if name.text in table:
        return Price(*table[name.text])
    if name.kind in FREE_KINDS or name.provider in FREE_PROVIDERS:
        return Price(0.0, 0.0, 0.0)
    if name.provider == "url" or name.kind == "python":
        return None
    base = base_model(name.model)
    return Price(*table[base]) if base in table else _list_price(name.provider, name.model, _today())


def price_source() -> str:
    """Return the date of the user's table, else the name and the version of the package with the list prices.

    Raises:
        UsageError: See `price`.
    """
    own = own_table()
    return own.date if own else f"genai-prices {metadata.version('genai-prices')}"


def own_table() -> PriceTable | None:
    """Return the price table that `$LOTBENCH_PRICES` names; None if the variable is not set.

    Raises:
        UsageError: See `price`.
    """
    own = os.environ.get("LOTBENCH_PRICES", "")
    return read_table(own) if own else None


@cache
def read_table(path: str) -> PriceTable:
    """Read a price table from a TOML file.

    Raises:
        UsageError: It cannot be read, or a field is invalid; the message names file and field.
    """
    return validate(PriceTable, read_toml(Path(path)), Path(path))


def _today() -> date:
    return datetime.fromtimestamp(time.time(), UTC).date()


@cache
def _list_price(provider: str, model: str, day: date) -> Price | None:
    """Return the list price of a model id, or else of its base model (without date or variant); None without either."""
    import genai_prices

    if provider not in LISTED_AS:
        return None
    # At noon, since discounts of some hours are at night.
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    maker = model.rpartition("/")[0]
    for name in (model, f"{maker}/{base_model(model)}".lstrip("/")):
        with suppress(LookupError):
            calculation = genai_prices.calc_price(
                genai_prices.Usage(), name, provider_id=LISTED_AS[provider], genai_request_timestamp=noon
            )
            return _read_listed(vars(calculation.model_price))
    return None


def _read_listed(listed: Mapping[str, Any]) -> Price | None:
    """Return a Price from fields of genai-prices; without a cached price, cached input costs as much as other input."""
    fresh, output = listed.get("input_mtok"), listed.get("output_mtok")
    if fresh is None or output is None:
        return None
    cached = listed.get("cache_read_mtok")
    rows = (fresh, fresh if cached is None else cached, output)
    starts = {tier.start for row in rows for tier in getattr(row, "tiers", ())}
    above = tuple((start, _above(rows, start)) for start in sorted(starts, reverse=True))
    return replace(_above(rows, -1), above=above)


def _above(rows: tuple[Any, Any, Any], start: int) -> Price:
    """Return the price of calls with more than `start` input tokens.

    `rows` are the list prices of input, cached input and output: each a number, or an object with ascending tiers.
    """
    fresh, cached, output = (
        [
            getattr(row, "base", row),
            *(tier.price for tier in getattr(row, "tiers", ()) if tier.start <= start),
        ][-1]
        for row in rows
    )
    return Price(float(fresh), float(cached), float(output))


def priced(provider: str) -> list[str]:
    """Return the ids of a provider's models that have a list price."""
    from genai_prices.data_snapshot import get_snapshot

    listed = LISTED_AS.get(provider)
    return [model.id for each in get_snapshot().providers if each.id == listed for model in each.models]
