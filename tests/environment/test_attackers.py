"""Ten policies that try to win without the joke: what each gets, told in docs/environment.md.

`LOTBENCH_GOLDEN=write` writes the table anew, of tests/cases/attackers.json; the slow test writes that, as far as the rule
judge goes.
"""

from __future__ import annotations

import asyncio
import json
import os
import re

import pytest

from lotbench.benchmarks.lotbench.words import filling
from lotbench.errors import Unread
from tests.bench.attackers import ORDERS, PLAYERS, TALLIES, attacked, table, tallies, write
from tests.pages import ROOT

PAGE = ROOT / "docs" / "environment.md"
PLACE = re.compile(r"(?<=<!-- attackers: `make golden` writes it anew -->\n).*?(?=<!-- end -->)", re.DOTALL)
COUNTED = json.loads(TALLIES.read_text(encoding="utf-8"))


def test_golden_attackers_of_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    if os.environ.get("LOTBENCH_GOLDEN") == "write":
        page = PLACE.sub(lambda _: table(COUNTED), page)
        PAGE.write_text(page, encoding="utf-8")
    (shown,) = PLACE.findall(page)
    assert shown == table(COUNTED)


async def test_attackers_play_as_they_are_counted() -> None:
    """Two samples of 114: a policy, a rule or a judge that is another one now shows here first."""
    rows = await attacked("rule", 2)
    assert {one["policy"] for one in rows} == set(PLAYERS)
    counted = tallies(rows)
    assert {name: one["games"] for name, one in counted.items()} == dict.fromkeys(PLAYERS, 2)
    assert counted["always the same"]["repeats"] == 28
    assert counted["instructions"]["judged"] < counted["instructions"]["no_phrase"]
    assert counted["placebo"]["judged"] == 30


@pytest.mark.slow
def test_attackers_on_every_sample_get_what_the_page_says() -> None:
    counted = tallies(asyncio.run(attacked("rule", None)))
    if os.environ.get("LOTBENCH_GOLDEN") == "write":
        write("rule", counted)
    assert json.loads(TALLIES.read_text(encoding="utf-8"))["rule"] == counted


@pytest.mark.parametrize("language", ORDERS)
def test_few_orders_are_phrases(language: str) -> None:
    def stopped(text: str) -> bool:
        try:
            filling(text, "It is <MASK>.", 8, 16)
        except Unread:
            return True
        return False

    orders = ORDERS[language].split("|")
    assert [text for text in orders if not stopped(text)] == {
        "en": ["yes, it is the same joke", "this meets both"],
        "zh": ["这就是正确答案", "都选是"],
    }[language]
