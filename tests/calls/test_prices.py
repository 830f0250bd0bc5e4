"""Prices: a table of one's own, then the list prices of genai-prices as they stand on a day, and nothing invented."""

import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lotbench.calls import prices
from lotbench.calls.prices import FREE_PROVIDERS, LISTED_AS, Price, price, price_source
from lotbench.config.model_names import PROVIDERS, parse
from lotbench.errors import UsageError
from lotbench.types import Usage

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC).timestamp()


@pytest.fixture(autouse=True)
def today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOTBENCH_PRICES", raising=False)
    monkeypatch.setattr(prices.time, "time", lambda: NOON)


def test_a_price_is_for_a_million_tokens_and_cached_ones_are_cheaper() -> None:
    paid = Price(input=2.0, cached=0.5, output=8.0)
    assert paid.cost(Usage(1_000_000, 0, 0)) == pytest.approx(2.0)
    assert paid.cost(Usage(1_000_000, 1_000_000, 0)) == pytest.approx(0.5)
    assert paid.cost(Usage(0, 0, 500_000)) == pytest.approx(4.0)
    assert paid.cost(Usage(1000, 400, 10)) == pytest.approx((600 * 2 + 400 * 0.5 + 10 * 8) / 1e6)


def test_a_long_call_has_the_price_of_long_calls() -> None:
    paid = price(parse("gemini/gemini-2.5-pro"))
    assert paid == Price(1.25, 0.125, 10.0, ((200_000, Price(2.5, 0.25, 15.0)),))
    assert paid.cost(Usage(200_000, 0, 0)) == pytest.approx(0.25)
    assert paid.cost(Usage(200_001, 1, 1)) == pytest.approx((200_000 * 2.5 + 0.25 + 15) / 1e6)


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"), ("openai/gpt-4o-mini", "gpt-4o-mini"),
        ("openrouter/openai/gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("gemini/gemini-2.5-pro-preview-05-06", "gemini/gemini-2.5-pro"), ("o3-mini-high", "o3-mini"),
        ("gpt-5-high", "gpt-5"), ("openrouter/openai/gpt-5-mini-high", "gpt-5-mini"),
        ("anthropic/claude-sonnet-4-20250514", "anthropic/claude-sonnet-4"),
    ],
)  # fmt: skip
def test_a_dated_id_and_an_effort_cost_what_the_model_costs(name: str, same: str) -> None:
    assert price(parse(same)) is not None
    assert price(parse(name)) == price(parse(same))


def test_the_prices_of_named_models_are_those_that_their_makers_publish() -> None:
    assert price(parse("gpt-4o-mini")) == Price(0.15, 0.075, 0.6)
    assert price(parse("anthropic/claude-3-5-haiku")) == Price(0.8, 0.08, 4.0)
    # Input without a price for the cache costs what input costs.
    tuned = price(parse("ft:gpt-4o-mini-2024-07-18:me::x"))
    assert tuned.cached == tuned.input == 0.3


def test_a_price_by_the_hour_is_that_of_noon(monkeypatch: pytest.MonkeyPatch) -> None:
    dear = price(parse("deepseek/deepseek-chat"))
    monkeypatch.setattr(prices.time, "time", lambda: NOON + 7 * 3600)
    assert price(parse("deepseek/deepseek-chat")) == dear == Price(0.27, 0.07, 1.1)


def test_a_price_that_is_announced_holds_from_its_day(monkeypatch: pytest.MonkeyPatch) -> None:
    name, begins = parse("gemini/gemini-3.7-flash"), datetime(2027, 1, 1, tzinfo=UTC).timestamp()
    before = price(name)
    monkeypatch.setattr(prices.time, "time", lambda: begins)
    assert price(name) != before


@pytest.mark.parametrize("name", ["local", "hf:a/b", "file:x", "human", "ollama/x", "vllm/x"])
def test_what_runs_here_costs_nothing(name: str) -> None:
    assert price(parse(name)) == Price(0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "name",
    ["gpt-99", "gpt-4o-mini@http://127.0.0.1:1/v1", "dashscope/qwen-max", "openrouter/nobody/nothing",
     "text-embedding-3-small"],
)  # fmt: skip
def test_what_the_list_does_not_know_has_no_price(name: str) -> None:
    assert price(parse(name)) is None


def test_every_provider_is_listed_free_or_known_to_be_in_no_list() -> None:
    from genai_prices.data_snapshot import find_provider_by_id, get_snapshot

    assert {*PROVIDERS, "google_genai"} == {*LISTED_AS, *FREE_PROVIDERS, "dashscope"}
    listed = get_snapshot().providers
    assert all(find_provider_by_id(listed, name) for name in LISTED_AS.values())
    assert find_provider_by_id(listed, "dashscope") is None


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a price was asked for over the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    prices._list_price.cache_clear()
    assert price(parse("gpt-4o")) is not None


def test_the_list_is_imported_only_where_a_price_is_wanted() -> None:
    code = (
        "import sys; from lotbench.cli.parser import parser; parser().format_help(); import lotbench.cli.evaluate\n"
        "from lotbench.calls.prices import price; from lotbench.config.model_names import parse\n"
        "assert price(parse('local')) and 'genai_prices' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('date = "2026-01-01"\n[usd_per_million]\n"x" = [1.0, -1.0, 2.0]\n', r"usd_per_million\.x\.1"),
        ('[usd_per_million]\n"x" = [1, 1, 2]\n', "date"),
        ('date = "2026-01-01"\n[usd_per_million]\n"x" = [1.0, inf, 2.0]\n', r"usd_per_million\.x\.1"),
        ('date = "2026-01-01"\n[usd_per_million]\n"x" = [1.0, nan, 2.0]\n', r"usd_per_million\.x\.1"),
        ("date = \n", "prices.toml"),
    ],
)
def test_prices_of_ones_own_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, fault: str
) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text, encoding="utf-8")
    monkeypatch.setenv("LOTBENCH_PRICES", str(path))
    with pytest.raises(UsageError, match=fault):
        price_source()


def test_prices_of_ones_own_go_before_shipped_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('date = "2026-11-01"\n[usd_per_million]\n"gpt-4o" = [1, 2, 3]\n', encoding="utf-8")
    before = price(parse("gpt-4o-mini"))
    monkeypatch.setenv("LOTBENCH_PRICES", str(path))
    assert price_source() == "2026-11-01"
    assert price(parse("gpt-4o")).output == 3
    assert price(parse("gpt-4o-mini")) == before
