"""The review page: what it shows, whom it listens to, and what it writes."""

import asyncio
import json
import re
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from lotbench import benchmarks
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.cli import main, people
from lotbench.errors import DataError, UsageError
from lotbench.site import serve
from lotbench.site.review import Review, past
from lotbench.site.review_page import Card, decision, sample_card, with_past
from lotbench.site.serve import application
from tests.benchmarks.lotbench.test_lints import EN, ZH, folder
from tests.full_disk import full_disk
from tests.site.test_view import TOKEN
from tests.site.test_view import sent as post


def item(**changed: Any) -> Item:
    return Item.model_validate(EN | changed)


def cards_of(*items: Item) -> list[Card]:
    return [sample_card(one) for one in items]


def shown(html: str) -> list[dict[str, Any]]:
    """The cards that a page holds."""
    [data] = re.findall(r'<script [^>]*id="cards">(.*?)</script>', html, re.DOTALL)
    made: list[dict[str, Any]] = json.loads(data)["cards"]
    return made


# What it sends back


@pytest.mark.parametrize(
    "sent",
    [
        None,
        [],
        {"decision": "accept"},
        {"card": 0},
        {"card": -1, "decision": "accept"},
        {"card": 1, "decision": "accept"},
        {"card": True, "decision": "accept"},
        {"card": "0", "decision": "accept"},
        {"card": 0, "decision": "yes"},
        {"card": 0, "decision": "accept", "path": "/etc/passwd"},
        {"card": 0, "decision": "edit"},
        {"card": 0, "decision": "edit", "changes": {"caption": EN["caption"]}},
        {"card": 0, "decision": "accept", "changes": {"caption": "A cat."}},
        {"card": 0, "decision": "edit", "changes": {"licence": "mine"}},
        {"card": 0, "decision": "edit", "changes": {"image": "/etc/passwd"}},
        {"card": 0, "decision": "edit", "changes": {"caption": "long " * 2_000}},
        {"card": 0, "decision": "accept", "note": "long " * 2_000},
    ],
)
def test_what_is_no_decision_is_refused(sent: object) -> None:
    with pytest.raises(UsageError):
        decision(cards_of(item()), sent)


# The server


def client(tmp_path: Path, *rows: dict[str, Any]) -> TestClient[Any, Any]:
    path = folder(tmp_path, *(rows or (EN, ZH | {"image": "s2.png"})))
    items = {row["id"]: Item.model_validate(row) for row in rows or (EN, ZH | {"image": "s2.png"})}
    site = Review(
        cards_of(*items.values()),
        items,
        path,
        benchmarks.get("lotbench"),
        out=tmp_path.parent / f"{tmp_path.name}.review.jsonl",
        name="Ada",
        now=lambda: "noon",
    )
    return TestClient(TestServer(application(site, TOKEN)))


def written(tmp_path: Path) -> list[dict[str, Any]]:
    path = tmp_path.parent / f"{tmp_path.name}.review.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


async def test_the_page_may_run_its_own_script_and_nothing_else(tmp_path: Path) -> None:
    async with client(tmp_path, EN | {"caption": "</script><script>x"}) as web:
        answer = await web.get(f"/{TOKEN}/")
        policy, text = answer.headers["Content-Security-Policy"], await answer.text()
    assert "default-src 'none'" in policy and "script-src 'sha256-" in policy and "unsafe" not in policy
    assert text.count("<script>") == 1 and "</script><script>x" not in text
    caption = next(one["text"] for one in shown(text)[0]["fields"] if one["name"] == "caption")
    assert caption == "</script><script>x"


async def test_pictures_come_by_number_only(tmp_path: Path) -> None:
    async with client(tmp_path) as web:
        answer = await web.get(f"/{TOKEN}/picture/1")
        assert answer.status == 200
        assert (await answer.read()).startswith(b"\x89PNG")
        for wrong in ("2", "999999", "..%2Fsamples.jsonl", "-1"):
            assert (await web.get(f"/{TOKEN}/picture/{wrong}")).status == 404


async def test_a_decision_is_appended_and_the_data_set_is_not_written(tmp_path: Path) -> None:
    async with client(tmp_path) as web:
        before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
        for sent in ({"card": 0, "decision": "accept"}, {"card": 1, "decision": "reject", "note": "太直白"}):
            await post(web, "decision", sent)
        assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    assert [(line["sample"], line["decision"], line["by"], line["at"]) for line in written(tmp_path)] == [
        ("s1", "accept", "Ada", "noon"),
        ("s2", "reject", "Ada", "noon"),
    ]


async def test_an_edit_must_leave_a_sample_and_is_told_what_the_lints_say(tmp_path: Path) -> None:
    async with client(tmp_path) as web:
        sent = {"card": 0, "decision": "edit", "changes": {"response": "No key in here"}}
        assert "key_text" in (await post(web, "decision", sent, 400))["error"]
        assert written(tmp_path) == []
        sent = {"card": 0, "decision": "edit", "changes": {"caption": "A fish beside a clock."}}
        assert "caption" in (await post(web, "decision", sent))["notes"][0]
        await post(web, "decision", {"card": 0, "decision": "accept"})
        [card, *_] = shown(await (await web.get(f"/{TOKEN}/")).text())
        assert card["before"] == "accept"
        assert [one["edited"] for one in card["fields"] if one["edited"]] == ["A fish beside a clock."]
        for changes in ({"caption": EN["caption"]}, {"accept": ""}):
            await post(web, "decision", {"card": 0, "decision": "edit", "changes": changes})
            await post(web, "decision", {"card": 0, "decision": "accept"})
        [card, *_] = shown(await (await web.get(f"/{TOKEN}/")).text())
        assert {one["name"]: one["edited"] for one in card["fields"]}["accept"] == ""
    edited = {"caption": "A fish beside a clock."}
    assert [line.get("changes") for line in written(tmp_path)] == [edited] * 2 + [None] * 2 + [
        {"accept": []}
    ] * 2


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Content-Type": "text/plain"}, '{"card": 0, "decision": "accept"}', 415),
        ({"Content-Type": "application/json", "Origin": "http://evil.example"}, "{}", 403),
        ({"Content-Type": "application/json", "Origin": "null"}, "{}", 403),
        ({"Content-Type": "application/json"}, "{", 400),
        ({"Content-Type": "application/json"}, "[" * 50_000, 400),
        ({"Content-Type": "application/json"}, '"' + "x" * 200_000 + '"', 413),
    ],
)
async def test_a_message_of_another_page_or_kind_is_refused(
    tmp_path: Path, headers: Mapping[str, str], body: str, status: int
) -> None:
    async with client(tmp_path) as web:
        assert (await web.post(f"/{TOKEN}/decision", data=body, headers=headers)).status == status
    assert written(tmp_path) == []


async def test_a_decision_on_a_full_disk_is_refused_and_can_be_made_later(tmp_path: Path) -> None:
    out = tmp_path.parent / f"{tmp_path.name}.review.jsonl"
    async with client(tmp_path) as web:
        for status in (200, 400, 200):
            with full_disk(out.stat().st_size + 9) if status == 400 else nullcontext():
                await post(web, "decision", {"card": 0, "decision": "accept"}, status)
    assert len(written(tmp_path)) == 2


# The command


def test_what_was_decided_before_is_shown_to_the_same_person(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert past(out, "Ada") == {}
    lines = [
        {"kind": "sample", "sample": "s1", "decision": "reject", "by": "Ada"},
        {"kind": "sample", "sample": "s1", "decision": "accept", "by": "Ada"},
        {
            "kind": "sample",
            "sample": "s9",
            "decision": "edit",
            "by": "Bea",
            "changes": {"caption": "A fish."},
        },
    ]
    out.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    last, own = past(out), past(out, "Ada")
    cards = [with_past(one, last.get(one.id), own.get(one.id)) for one in cards_of(item(), item(id="s9"))]
    assert [card.before for card in cards] == ["accept", ""]
    assert [[one.edited for one in card.fields if one.edited] for card in cards] == [[], ["A fish."]]
    out.write_text("[1]\n", encoding="utf-8")
    with pytest.raises(DataError, match=":1"):
        past(out, "Ada")


def served(monkeypatch: pytest.MonkeyPatch) -> list[Review]:
    """The sites that the command would serve; each ends as if by Ctrl-C."""
    sites: list[Review] = []

    async def serve_one(site: Review, port: int, ready: Any, host: str) -> None:
        sites.append(site)
        ready("http://127.0.0.1:1/t/")
        raise KeyboardInterrupt

    monkeypatch.setattr(serve, "serve", serve_one)
    monkeypatch.setattr(people.webbrowser, "open", lambda address: pytest.fail("no browser was asked for"))
    return sites


def test_the_command_writes_beside_the_data_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "mine"
    place.mkdir()
    folder(place, EN)
    sites = served(monkeypatch)
    assert main(["data", "review", str(place), "--no-browser"]) == 0
    asyncio.run(sites[0].post("decision", {"card": 0, "decision": "accept"}))
    assert (tmp_path / "mine.review.jsonl").is_file()
    assert main(["data", "review", str(place), "--no-browser"]) == 0
    assert "1 to review, 1 decided" in capsys.readouterr().out
    assert shown(sites[1].get("").body.decode())[0]["before"] == "accept"


def test_decisions_never_go_into_the_data_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder(tmp_path, EN)
    assert main(["data", "review", str(path), "--out", str(path / "review.jsonl")]) == 2
    assert "never written" in capsys.readouterr().err
