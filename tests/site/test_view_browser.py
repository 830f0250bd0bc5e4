"""The viewer and the play pages in a real browser: by keyboard, in the dark, and against hostile text."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from lotbench import benchmarks
from lotbench.benchmarks.lotbench.games import game
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.config import experiment as config
from lotbench.run.loading import load_run
from lotbench.site.play import PlaySite
from lotbench.site.review import Review
from lotbench.site.review_page import sample_card
from lotbench.site.runs import Gallery, export
from lotbench.site.vote import Polls
from lotbench.storage import datasets
from tests import hostile
from tests.benchmarks.lotbench.test_lints import EN, folder
from tests.browsing import PHONE, opened, overflow, serious
from tests.playing import SETTINGS
from tests.recorded import FOLDER, recorded
from tests.rules import game_rule
from tests.server import FakeServer
from tests.site.test_view import ballot
from tests.viewing import serving
from tests.views import made_runs, retold

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of fifteen rounds, measured alike, and one whose every text is hostile."""
    root = tmp_path_factory.mktemp("viewed") / "runs"
    made_runs(root, "ember", "quill", "hostile")
    retold(root, "hostile", (*hostile.HOSTILE, hostile.LONG))
    return root


BOARD = tuple(f"lot-{number:04}" for number in range(1, 13))
ASKS = re.compile("^Your question|^Ask a yes/no question")


def test_from_the_leaderboard_to_round_fifteen_by_keyboard(chromium: Browser, runs: Path) -> None:
    with serving(Gallery(runs)) as address, opened(chromium, address) as (page, faults):
        assert (page.locator("main h2").first.text_content() or "").startswith("lotbench image+caption")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_url("**/run/**")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_url("**/game/**")
        assert page.locator("[aria-current]").get_attribute("data-step") == "15", "a game opens at its end"
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.id") == "r1", "the first step is to the first round"
        page.click("#r3 > .fold > summary")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.id") == "r4", "one is where one opens"
        page.keyboard.press("End")
        assert page.evaluate("document.activeElement.id") == "r15"
        assert page.locator("[aria-current]").get_attribute("data-step") == "15"
        said = page.locator("#r15 [data-guess]").text_content()
        assert page.locator(".live mark").text_content() == said
        box = page.locator("#r15").bounding_box()
        assert box and 0 <= box["y"] < 900
        page.keyboard.press("ArrowLeft")
        assert page.evaluate("document.activeElement.id") == "r14"
        page.keyboard.press("u")
        page.wait_for_url("**/run/**")
        assert faults == []


@pytest.mark.parametrize("look", [{"width": 1280, "height": 800}, {"width": 390, "height": 844}])
def test_a_guess_is_read_in_its_sentence_and_a_round_in_its_order(
    chromium: Browser, runs: Path, look: dict[str, Any]
) -> None:
    gallery = Gallery(runs)
    shelf = next(one for one in gallery.readable_runs()[0] if "ember" in one.name)
    path = f"game/{shelf.name}/{shelf.rows[0].file}"
    with serving(gallery) as address, opened(chromium, address + path, viewport=look) as (page, faults):
        sentence, picture = page.locator(".frame").first, page.locator(".scene img")
        assert sentence.evaluate(IN_SIGHT) and picture.evaluate(IN_SIGHT), "nobody has to scroll"
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        # Not wait_for_function: what it evaluates again, the page's policy refuses.
        picture.evaluate(
            f"async (one) => {{ while (!({IN_SIGHT})(one)) await new Promise(requestAnimationFrame); }}"
        )
        assert sentence.evaluate(IN_SIGHT), "the picture stays beside it, on a phone small"
        page.locator("#r5 > details > summary").click()
        parts = ("[data-guess]", ".badge", ".reason", "p.talk", ".clue", ".opinion")
        boxes = [page.locator(f"#r5 {part}").first.bounding_box() for part in parts]
        ends = [box["y"] + box["height"] for box in boxes if box]
        assert len(ends) == len(parts) and ends[2:] == sorted(ends[2:]) and max(ends[:2]) < ends[2]
        page.keyboard.press("End")
        page.get_by_role("button", name="Watch").click()
        assert page.locator("#r1").is_visible() and not page.locator("#r2").is_visible()
        assert not page.locator(".original").is_visible()
        page.locator("#r2").wait_for()
        box, head = page.locator("#r2").bounding_box(), sentence.bounding_box()
        assert box and head and (look["width"] > 1000 or box["y"] >= head["y"] + head["height"])
        assert page.locator(".live mark").text_content() == page.locator("#r2 [data-guess]").text_content()
        page.keyboard.press("Space")
        hidden = page.locator("#r4, #r15, .original, .reason, .ending, .funny, .rest, .opinion, .log")
        shown, all_shown = hidden.locator("visible=true"), page.get_by_role("button", name="Show all")
        assert shown.count() == 0 and all_shown.is_visible(), "a pause gives nothing away"
        page.get_by_role("button", name="→").click()
        assert page.locator("[aria-current]").get_attribute("data-step") == "3" and shown.count() == 0
        page.locator("#r3").press("Enter")
        assert page.locator("#r3 > details").get_attribute("open") is not None and shown.count() == 0
        page.keyboard.press("ArrowLeft")
        assert page.locator(".leap.now").get_attribute("id") == "r2" and page.locator("#r3").is_visible()
        page.keyboard.press("Space")
        assert page.get_by_role("button", name="Pause").is_visible() and shown.count() == 0, "it goes on"
        all_shown.click()
        assert page.locator("#r15, .original, #r3 .opinion").locator("visible=true").count() >= 3
        assert page.locator(".leap.now").get_attribute("id") == "r2" and not all_shown.is_visible()
        page.keyboard.press("End")
        page.keyboard.press("Space")
        assert shown.count() == 0
        for _ in range(14):
            page.keyboard.press("ArrowRight")
        assert page.locator("#r15").is_visible() and page.locator(".original").is_visible()
        page.keyboard.press("Space")
        page.reload()
        assert page.locator("#r1").is_visible() and shown.count() == 0 and all_shown.is_visible()
        assert serious(page) == [] and overflow(page) == 0 and faults == []


def test_a_short_game_uses_its_room_and_two_games_stand_in_columns_on_a_phone(
    chromium: Browser, tmp_path: Path
) -> None:
    for name, solve in (("ace", 1.0), ("dud", 0.0)):
        made_runs(tmp_path, name, solve=solve, samples=BOARD[:1])
    dud, ace = sorted(Gallery(tmp_path).names(), key=lambda name: "ace" in name)
    with serving(Gallery(tmp_path)) as address:
        with opened(chromium, f"{address}game/{ace}/lot-0001-1.html") as (page, _):
            box = page.locator(".scene img").bounding_box()
            assert box and box["width"] > 450 and page.locator("#r1 .opinion").is_visible()
            assert page.locator(".scene").evaluate("(one) => one.scrollHeight <= one.clientHeight")
            assert page.locator(".rest .funny").evaluate(IN_SIGHT)
        with opened(chromium, f"{address}compare/{ace}/{dud}/lot-0001-1.html", viewport=PHONE) as (page, _):
            page.locator(".tab").nth(1).click()
            assert page.locator(".tab[aria-current=true]").count() == 1
            assert not page.locator("#r1").is_visible()
            page.locator("#side2 .guesses a").first.click()
            assert page.evaluate("document.activeElement.id") == "br1", "a guess leads to its own game"
            page.locator("#br1 > .fold > summary").click()
            assert page.locator("#br1 .opinion").first.is_visible() and page.url.endswith("#br1")
            assert not page.evaluate(SMALL), "40 pixels for a finger"
            assert serious(page) == [] and overflow(page) == 0
        with opened(chromium, f"{address}compare/{ace}/{dud}/lot-0001-1.html") as (page, _):
            boxes = [page.locator(part).first.bounding_box() for part in ("#r1", "#br1", ".ended", "#br15")]
            ace_first, dud_first, over, last = [box for box in boxes if box]
            assert ace_first["y"] == dud_first["y"], "a round of both games is a row"
            assert over["y"] + over["height"] > last["y"], "the end of the shorter game fills its column"
            page.keyboard.press("Home")
            page.get_by_role("button", name="Watch").click()
            assert page.locator("#br1").is_visible() and not page.locator("#br2").is_visible()
            page.keyboard.press("Space")
            assert page.locator("#br2, .original, .ended").locator("visible=true").count() == 0
            page.keyboard.press("End")
            assert page.locator(".original").is_visible()
            guesses = [page.locator(f"{one} [data-guess]").text_content() for one in ("#r1", "#br15")]
            assert page.locator(".live mark").all_text_contents() == guesses
            page.keyboard.press("Home")
            page.locator("#br1 > .fold > summary").click()
            assert page.locator("#r1 .opinion").first.is_visible(), "the same round of both"
            page.keyboard.press("?")
            assert page.locator("#keys").is_visible() and serious(page) == []


def test_a_board_of_three_models_is_searched_sorted_and_filtered(chromium: Browser, tmp_path: Path) -> None:
    root = tmp_path / "runs"
    for name, solve in (("ace", 0.9), ("mid", 0.2), ("dud", 0.0)):
        made_runs(root, name, solve=solve, samples=BOARD)
    for file in root.glob("*/run.json"):
        # One judge judged them all, at the address of one server.
        file.write_text(re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:1", file.read_text("utf-8")), "utf-8")
    [place] = root.glob("*-dud-*")
    summary = json.loads((place / "summary.json").read_text("utf-8"))
    why = "the judge was never checked (unchecked: judge)"
    (place / "summary.json").write_text(json.dumps({**summary, "rankable": False, "reasons": [why]}), "utf-8")
    for look in ({"viewport": {"width": 1000, "height": 900}}, {"viewport": PHONE, "color_scheme": "dark"}):
        with serving(Gallery(root)) as address, opened(chromium, address, **look) as (page, faults):
            page.wait_for_selector("tr[data-entry]")
            names = page.locator("tr[data-entry] a[data-row]")
            assert names.all_text_contents() == ["ace-2026", "mid-2026", "dud-2026"]
            assert page.locator("td.place").all_text_contents() == ["1", "2", "–"]
            assert "ace-2026 beats mid-2026 by 0." in (page.locator(".said").text_content() or "")
            assert page.locator(".strip img").first.evaluate(WIDTH)
            page.locator("details.why summary").click()
            assert why in (page.locator("details.why[open]").text_content() or "")
            assert serious(page) == [] and overflow(page) == 0
            page.locator("button[data-sort=model]").click()
            assert names.all_text_contents() == ["ace-2026", "dud-2026", "mid-2026"]
            page.locator("button[data-sort=score]").click()
            page.locator("button[data-sort=score]").click()
            assert names.all_text_contents()[0] == "dud-2026"
            page.keyboard.press("/")
            page.keyboard.type("mid")
            assert page.locator("tr[data-entry]:visible").count() == 1
            assert page.locator("#shown").text_content() == "1 of 3 runs"
            page.keyboard.type("less")
            page.get_by_text("No run matches").get_by_role("button", name="Clear").click()
            assert page.locator("tr[data-entry]:visible").count() == 3
            page.keyboard.press("c")
            assert "No run is ticked" in page.locator("#pair").inner_text()
            page.locator("[data-show=trust]").select_option("not trusted")
            assert page.locator("tr[data-entry]:visible a[data-row]").all_text_contents() == ["dud-2026"]
            page.locator("[data-show=trust]").select_option("")
            report = page.get_by_label("report of ace-2026")
            if not report.is_visible():
                # A phone has room for who leads; the report is a page further.
                page.get_by_role("link", name="ace-2026", exact=True).click()
                report = page.get_by_text("Read the report")
            report.click()
            page.wait_for_url("**/report/**")
            assert "creativity_score" in (page.locator("body").text_content() or "")
            page.get_by_text("Back to the run").click()
            page.wait_for_url("**/run/**")
            ace, mid = (
                next(name for name in Gallery(root).names() if part in name) for part in ("ace", "mid")
            )
            page.goto(f"{address}run/{mid}.html")
            bar, shown = page.locator("[data-bar]").first, page.locator("tr[data-line]:visible")
            bar.click()
            assert f"the {shown.count()} solved" in str(bar.get_attribute("aria-label")), (
                "a bar leaves its games"
            )
            assert bar.get_attribute("aria-pressed") == "true" and serious(page) == []
            bar.press("Enter")
            assert shown.count() == len(BOARD)
            page.goto(f"{address}compare/{ace}/{mid}.html")
            if look["viewport"] != PHONE:
                page.locator("[data-sort=gap]").click()
                page.locator("[data-sort=gap]").click()
            gaps = [float(text or 0) for text in page.locator("td.gap").all_text_contents()]
            assert gaps == sorted(gaps, reverse=look["viewport"] == PHONE) and serious(page) == []
            assert faults == []


def test_filters_leave_what_was_asked_for(chromium: Browser, runs: Path) -> None:
    gallery = Gallery(runs)
    shelf = next(one for one in gallery.readable_runs()[0] if "ember" in one.name)
    with serving(gallery) as address, opened(chromium, f"{address}run/{shelf.name}.html") as (page, faults):
        page.locator("select[data-filter=language]").select_option("zh")
        shown = page.locator("tbody tr:visible")
        chinese = [row for row in shelf.rows if shelf.value(row, "language") == "zh"]
        assert shown.count() == len(chinese) > 0
        assert page.locator("#count").text_content() == f"{shown.count()} of {len(shelf.rows)} shown"
        page.locator("button[data-sort=sample]").click()
        page.locator("button[data-sort=sample]").click()
        page.reload()
        names = page.locator("tr[data-line]").evaluate_all("(rows) => rows.map((row) => row.dataset.sample)")
        assert names == sorted(names, reverse=True) and shown.count() == len(chinese)
        width = page.locator(".scroll").evaluate("(one) => one.scrollWidth - one.clientWidth")
        assert width == 0, "nothing is cut at 1280 pixels"
        page.goto(f"{page.url.split('#')[0]}#sort=%2Ftier%2Fup")
        tiers = page.locator("tr[data-line]").evaluate_all("(rows) => rows.map((row) => row.dataset.tier)")
        assert tiers == sorted(tiers, key=["easy", "medium", "hard"].index)
        page.goto(f"{page.url.split('#')[0]}#language=en")
        assert page.locator("select[data-filter=language]").input_value() == "en", "the address is read again"
        first, second = names = [name for name in names if name in page.locator("tbody").inner_text()]
        page.get_by_role("link", name=first, exact=True).click()
        page.wait_for_url(f"**/game/**/{first}-1.html*")
        assert page.locator(".neighbours a:visible").count() == 1, "the game in Chinese is passed over"
        asks = shelf.asked_text(second)
        assert page.locator("a[rel=next]").inner_text().replace("\n", " ") == f"n Next: {asks}"
        page.keyboard.press("n")
        page.wait_for_url(f"**/game/**/{second}-1.html*")
        assert page.locator(".neighbours .quiet").text_content() == "2 of 2 shown"
        page.keyboard.press("u")
        page.wait_for_url("**/run/**language=en*")
        assert shown.count() == len(names)
        assert faults == []


@pytest.mark.parametrize("look", [{}, {"viewport": PHONE, "color_scheme": "dark"}])
def test_two_runs_are_ticked_compared_and_searched_and_the_address_keeps_it(
    chromium: Browser, runs: Path, look: dict[str, Any]
) -> None:
    with serving(Gallery(runs)) as address, opened(chromium, address, **look) as (page, faults):
        page.locator("[data-search]").fill("2026")
        page.locator("button[data-sort=model]").first.click()
        one, other = page.get_by_label("compare ember").first, page.get_by_label("compare quill").first
        one.press("Enter")
        assert "Tick a second run" in (page.locator("#pair").text_content() or "")
        page.locator("tr", has=other).locator("[data-row]").press("Space")
        page.locator("[data-tick]:not(:checked):enabled").first.check()
        assert page.locator("#pair a:visible").count() == 3, "of three runs each two are compared"
        page.keyboard.press("c")
        assert page.locator("#pair a:focus").count() == 1 and "compare/" not in page.url, "it asks which"
        assert page.locator("#pair").evaluate(ON_TOP), "nothing hides the bar"
        page.locator("[data-tick]:checked").nth(2).press("Enter")
        assert "2 runs chosen" in (page.locator("#pair").text_content() or "")
        assert serious(page) == [] and overflow(page) == 0
        kept = page.url
        page.get_by_role("link", name="Compare the two").click()
        page.wait_for_url("**/compare/**")
        lines = page.locator("tr[data-line]:visible")
        total = lines.count()
        page.keyboard.press("/")
        page.keyboard.type("lot-0063")
        assert 0 < lines.count() < total
        assert page.locator("#count").text_content() == f"{lines.count()} of {total} shown"
        page.locator("tr[data-line]:visible a").first.click()
        page.wait_for_url("**/compare/**/lot-0063-1.html*in=lot-0063-1*")
        page.keyboard.press("ArrowRight")
        assert page.locator(".leap.now").count() == 2, "a round of both games"
        assert serious(page) == [] and overflow(page) == 0
        assert page.locator(".neighbours .quiet").text_content() == "1 of 1 shown"
        page.keyboard.press("u")
        page.wait_for_url("**/compare/**#search=lot-0063")
        assert 0 < lines.count() < total
        page.goto("about:blank")
        page.goto(kept)
        assert page.locator("[data-search]").input_value() == "2026"
        assert page.locator("[data-tick]:checked").count() == 2 and page.locator("th[aria-sort]").count() == 1
        assert faults == []


def test_a_list_opens_from_search_and_rows_and_a_game_keeps_what_is_open(
    chromium: Browser, runs: Path
) -> None:
    gallery = Gallery(runs)
    shelf = next(one for one in gallery.readable_runs()[0] if "ember" in one.name)
    with serving(gallery) as address, opened(chromium, f"{address}run/{shelf.name}.html") as (page, faults):
        page.keyboard.press("/")
        page.keyboard.type("lot-0063")
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.textContent") == "lot-0063"
        page.keyboard.press("/")
        page.keyboard.press("Enter")
        page.wait_for_url("**/game/**/lot-0063-1.html*")
        page.keyboard.press("u")
        assert page.locator("tr.left a").text_content() == "lot-0063"
        page.keyboard.press("/")
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement === document.body")
        assert page.locator("tr[data-line]:visible").count() == len(shelf.rows), "Escape clears the search"
        page.locator("[data-search]").fill("lot-0063")
        page.locator("tr[data-line]:visible td.cut").first.click()
        page.locator("#r5 > details > summary").click()
        page.reload()
        assert page.locator("#r5 > details").get_attribute("open") is not None
        page.locator("#r14 > .fold > summary").click()
        page.locator("#r14 .foot").wait_for()
        page.wait_for_timeout(100)
        assert page.locator("#r14 .head").evaluate(IN_SIGHT) and page.locator("#r14 .foot").evaluate(IN_SIGHT)
        assert re.search("calls, [0-9.]+ s, [0-9,]+ tokens in", page.locator("#r14 .spent").inner_text())
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.keyboard.press("l")
        page.get_by_text("The link to round 14 is copied.").wait_for()
        assert page.evaluate("navigator.clipboard.readText()").endswith("/lot-0063-1.html#r14")
        same = page.locator(".reason", has_text=re.compile("^Same reason as round [0-9]+$"))
        assert same.first.is_visible()
        page.keyboard.press("c")
        assert same.count() and not same.first.is_visible()
        page.get_by_text("The rest of the sample").click()
        assert page.locator(".whole th").first.inner_text() == "key text"
        page.get_by_role("link", name="side by side with quill").click()
        page.locator("a[data-pair]").first.click()
        page.wait_for_url("**/game/**")
        page.keyboard.press("u")
        page.wait_for_url("**/compare/**/lot-0063-1.html*")
        assert faults == []


def test_what_was_sent_is_one_click_from_its_round(chromium: Browser, runs: Path) -> None:
    gallery = Gallery(runs)
    shelf = next(one for one in gallery.readable_runs()[0] if "hostile" in one.name)
    path = f"game/{shelf.name}/{shelf.rows[0].file}#r3"
    with serving(gallery) as address, opened(chromium, address + path) as (page, faults):
        page.locator("#r3 > details > summary").click()
        page.locator("#r3 .sent a").first.click()
        page.wait_for_url("**/said/**")
        page.wait_for_selector(".letter:target .message.reply")
        assert page.locator(".letter img").count() == 1, "the picture is shown once"
        assert page.locator(".jump a[aria-current]").count() == 1
        page.locator(".jump li[data-label='Round 2'] a").click()
        assert "round 2" in page.locator(".letter.now .head").inner_text()
        folded = page.locator(".clipped").count()
        page.locator(".unfold:visible").first.click()
        assert folded == page.locator(".clipped").count() + 1 and not page.locator(":target .clipped").count()
        page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
        assert page.title() != "broken" and serious(page) == [] and overflow(page) == 0
        page.locator(".letter:target .back").click()
        page.wait_for_url("**#r3")
        assert page.locator(".leap.now").get_attribute("id") == "r3"
        assert faults == []


def pages_of(gallery: Gallery) -> list[str]:
    """A page of each kind, and the hostile ones."""
    found = ["index.html"]
    for shelf in gallery.readable_runs()[0]:
        if "quill" in shelf.name or "hostile" in shelf.name:
            found += [f"run/{shelf.name}.html", f"game/{shelf.name}/{shelf.rows[0].file}"]
            found.append(f"said/{shelf.name}/{shelf.rows[0].file}")
    assert any("hostile" in path for path in found)
    names = [next(name for name in gallery.names() if part in name) for part in ("quill", "hostile")]
    return [*found, f"compare/{'/'.join(names)}.html"]


@pytest.mark.parametrize("look", [{"color_scheme": "light"}, {"color_scheme": "dark", "viewport": PHONE}])
def test_no_serious_fault_nothing_runs_and_nothing_overflows(
    chromium: Browser, runs: Path, look: dict[str, Any]
) -> None:
    gallery = Gallery(runs)
    with serving(gallery) as address:
        for path in pages_of(gallery):
            with opened(chromium, address + path, **look) as (page, faults):
                page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
                assert page.title() != "broken", path
                assert page.evaluate("document.scripts.length") == 1, path
                assert overflow(page) == 0, path
                assert serious(page) == [], path
                assert faults == [], path
                ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
                light = sum(map(int, ground[4:-1].split(", ")))
                assert light < 120 if look["color_scheme"] == "dark" else light > 700


def test_an_export_is_the_same_from_the_disk(chromium: Browser, runs: Path, tmp_path: Path) -> None:
    export(Gallery(runs), tmp_path / "pages")
    start = (tmp_path / "pages" / "index.html").as_uri()
    with opened(chromium, start) as (page, faults):
        page.locator("a[data-row]").first.click()
        page.locator("a[data-row]").first.click()
        # On a busy machine the key would be pressed before the page is there.
        page.wait_for_selector("#r15", state="attached")
        page.wait_for_load_state()
        page.keyboard.press("End")
        assert page.evaluate("document.activeElement.id") == "r15"
        picture = page.locator(".scene img")
        assert picture.evaluate(WIDTH) > 100
        assert [fault for fault in faults if not fault.startswith("file:")] == []


def asked(server: FakeServer, **settings: Any) -> config.Config:
    """One game of a person, judged by the fake server."""
    chosen = {name: value for name, value in SETTINGS.items() if name != "arm"} | settings
    roles = {f"roles.{role}": [f"{role}@{server.url}"] for role in ("judge", "oracle")}
    sets = [f"{name}={json.dumps(value)}" for name, value in chosen.items()]
    return config.load(None, sets, {"model": "human", "limit": 1, **roles})


def test_a_whole_game_is_played_in_the_browser_by_two(chromium: Browser, tmp_path: Path) -> None:
    with FakeServer(game_rule(solve=0.0)) as server:
        table = PlaySite(asked(server), tmp_path / "runs")
        with (
            serving(table) as address,
            opened(chromium, address) as (ann, faults),
            opened(chromium, address, viewport=PHONE) as (bob, others),
            opened(chromium, address) as (eve, _),
        ):
            join(ann, "Ann")
            page = ann.url
            ann.goto(address)
            join(ann, " ann ")
            assert ann.url == page, "the browser knows that it began under this name"
            begin(eve, "Ann")
            eve.get_by_text("Ann has begun in another browser").wait_for()
            join(bob, "Bob")
            secret = table._plan.chosen[0]
            assert ann.locator(".picture img").evaluate(WIDTH) > 100
            answer(ann, "a, " * 50, "Your guess")
            ann.get_by_text("That is too long, a few words").wait_for()
            for number in (1, 2, 3):
                answer(ann, f"guess of Ann {number}", "Your guess")
                if number < 3:
                    ann.get_by_label(ASKS).wait_for()
                    assert ann.locator(".stamp.miss").count() == number and serious(ann) == []
                    assert secret.key_text not in ann.content()
                    ann.keyboard.press("Enter")
                    ann.get_by_text("Press Enter once more").wait_for()
                    answer(ann, "What is it?", ASKS)
                    ann.get_by_text("That asks what, who or how.").wait_for()
                    answer(ann, f"Is it thing {number} of a kind?", ASKS)
            ann.get_by_role("heading", name="Not solved in 3 rounds").wait_for()
            assert serious(ann) == [] and overflow(ann) == 0
            assert secret.explanation in (ann.locator(".why").text_content() or "")
            ann.locator("#card[href^='data:image/png']").wait_for()
            ann.locator(".why").evaluate("(one) => one.textContent = 'why '.repeat(300)")
            assert ann.locator(".stage img").evaluate(
                "(one) => one.getBoundingClientRect().bottom <= document.querySelector('.below').getBoundingClientRect().top"
            )
            bob.get_by_label("Your guess").focus()
            bob.keyboard.type("only guess of Bob")
            bob.keyboard.press("Enter")
            bob.keyboard.type("Is it red")
            bob.get_by_label(ASKS).wait_for()
            assert bob.get_by_label(ASKS).input_value() == "Is it red", "no letter is lost meanwhile"
            assert overflow(bob) == 0 and serious(bob) == []
            for part in (".stage img", ".joke", ".dots"):
                assert bob.locator(part).first.evaluate(IN_SIGHT), f"{part} is out of sight"
            bob.get_by_text("Give up", exact=True).click()
            bob.get_by_role("button", name="Give up and show me").click()
            bob.get_by_role("heading", name="Given up after round 1").wait_for()
            assert serious(bob) == [] and overflow(bob) == 0
            ann.keyboard.type("on and on ")
            ann.keyboard.press("Enter")
            ann.wait_for_timeout(1600)
            assert ann.get_by_role("button", name="Done").is_visible(), "who types ahead does not go on"
            ann.keyboard.press("Enter")
            ann.get_by_text("That was the last game").wait_for()
            assert ann.evaluate("scrollY") == 0
            ann.get_by_role("link", name=secret.response).click()
            ann.get_by_role("link", name="The whole game").click()
            ann.wait_for_url("**/game/**")
            assert secret.key_text in ann.content()
            assert ann.locator(".leap").count() == 3
            assert faults + others == []
    mine, theirs = sorted(
        (load_run(place.parent) for place in (tmp_path / "runs").glob("*/run.json")),
        key=lambda run: run.config.model,
    )
    assert (mine.config.model, theirs.config.model) == ("human:Ann", "human:Bob")
    assert [trace.outcome for run in (mine, theirs) for trace in run.traces] == ["unsolved"] * 2
    assert json.loads((mine.path / "consent.json").read_text("utf-8"))["name"] == "Ann"


ARMS: dict[str, tuple[dict[str, Any], float]] = {
    "hidden": ({"frame": "hidden"}, 0.0),
    "earned": ({"frame": "earned", "clue_interval": 1}, 0.0),
    "encore": ({"encore": True}, 1.0),
    "growing": ({"conversation": "growing", "clue_interval": 1}, 0.0),
    "all": ({"frame": "earned", "encore": True, "conversation": "growing", "clue_interval": 1}, 1.0),
}


@pytest.mark.parametrize("arm", ARMS)
def test_a_person_plays_every_arm_in_the_browser(chromium: Browser, tmp_path: Path, arm: str) -> None:
    settings, solve = ARMS[arm]
    with FakeServer(game_rule(solve=solve)) as server:
        table = PlaySite(asked(server, **settings), tmp_path / "runs")
        with serving(table) as address, opened(chromium, address) as (ann, faults):
            secret = table._plan.chosen[0]
            field = "guess" if settings.get("frame", "shown") == "shown" else "response"
            guess = "Your guess" if field == "guess" else "Your joke"
            join(ann, "Ann", guess)
            said = 0
            while not ann.locator("main.over").count():
                said += 1
                assert serious(ann) == [] and overflow(ann) == 0
                assert secret.key_text not in ann.content()
                assert "&lt;MASK&gt;" not in ann.content() and "WRONG-ANS" not in ann.content()
                asks = ann.get_by_label(ASKS).count()
                version = ann.locator("main").get_attribute("data-version")
                answer(ann, f"Is it thing {said} of a kind?" if asks else f"guess of Ann {said}")
                turn = f"main.over, main:not([data-version='{version}']):not([data-waiting]) form.joke"
                ann.locator(f"{turn}, main:not([data-version='{version}']) .composer form").first.wait_for()
            assert serious(ann) == [] and overflow(ann) == 0
            ann.get_by_role("link", name="The whole game").click()
            ann.wait_for_url("**/game/**")
            assert ann.locator(".leap").count() == 3
            assert secret.key_text in ann.content()
            assert serious(ann) == [] and overflow(ann) == 0 and faults == []
    (run,) = (load_run(place.parent) for place in (tmp_path / "runs").glob("*/run.json"))
    (trace,) = run.traces
    found = game(trace)
    assert [at.whole for at in found.rounds] == [field == "response"] * 3
    assert bool(found.leaps) is (solve == 1.0)
    assert any(at.frame for at in found.rounds) is (arm == "earned")


def test_a_server_that_is_back_is_not_called_lost(chromium: Browser, tmp_path: Path) -> None:
    with FakeServer(game_rule(solve=0.0), latency=3.0) as server:
        table = PlaySite(asked(server), tmp_path / "runs")
        with serving(table) as address, opened(chromium, address) as (page, _):
            begin(page, "Ann")
            page.wait_for_selector("main[data-waiting]")
            bar = page.locator("header.bar").bounding_box()
            assert bar and bar["width"] > 1000, "the head of the page is as wide as the page"
            said = page.locator("main [role=status]")
            page.route("**/state.json", lambda route: route.abort())
            said.filter(has_text="cannot be reached").wait_for()
            page.unroute("**/state.json")
            page.locator("main [role=status]:empty").wait_for(state="attached")
            assert page.locator("main[data-waiting]").count() == 1, "it still waits"


IN_SIGHT = "(one) => { const {top, bottom} = one.getBoundingClientRect(); return top >= -1 && bottom <= innerHeight; }"


WIDTH = "(one) => one.decode().then(() => one.naturalWidth)"
ON_TOP = "(one) => { const {x, y, width, height} = one.getBoundingClientRect(); return one.contains(document.elementFromPoint(x + width / 2, y + height / 2)); }"
SMALL = """[...document.querySelectorAll("button, summary, .guesses a, .tab")].filter((one) => {
  const {width, height} = one.getBoundingClientRect();
  return width && (height < 39.5 || width < 24);
}).map((one) => one.outerHTML)[0]"""
"""The first thing to touch that is too small."""


def begin(page: Page, name: str) -> None:
    page.get_by_label("Your name").fill(name)
    page.get_by_label("I agree").check()
    page.get_by_role("button", name="Begin").click()


def join(page: Page, name: str, field: str = "Your guess") -> None:
    begin(page, name)
    page.get_by_label(field).wait_for()


def answer(page: Page, text: str, label: str = "") -> None:
    field = page.get_by_label(label) if label else page.locator("main form input[type=text]")
    field.wait_for()
    field.fill(text)
    page.keyboard.press("Enter")


def test_a_task_of_a_panel_benchmark_is_shown_step_by_step(chromium: Browser) -> None:
    gallery, name = Gallery(FOLDER), recorded("standard")
    [trace, *_] = gallery.shelf(name).run.traces
    path = f"game/{name}/{trace.sample}-1.html"
    with serving(gallery) as address, opened(chromium, address + path) as (page, faults):
        assert page.locator("section[data-round]").count() == len(trace.steps)
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.id") == "r1"
        assert serious(page) == [] and overflow(page) == 0 and faults == []


def test_votes_are_cast_on_a_phone(chromium: Browser, tmp_path: Path) -> None:
    polls = Polls(ballot(tmp_path), tmp_path / "votes.jsonl")
    with serving(polls) as address, opened(chromium, address, viewport=PHONE) as (page, faults):
        begin(page, "Ann")
        for done in (0, 1):
            page.get_by_text(f"{done} of 2 prompts done").wait_for()
            page.locator("input[type=checkbox]").nth(done).check()
            assert serious(page) == [] and overflow(page) == 0
            page.get_by_role("button", name="Vote").click()
        page.get_by_text("That was the last prompt").wait_for()
        assert page.title() != "broken" and faults == []
    votes = [json.loads(line) for line in (tmp_path / "votes.jsonl").read_text("utf-8").splitlines()]
    assert {vote["id"] for vote in votes} == {"p1", "p2"}
    assert votes[0]["letters"] == [polls.order("Ann", votes[0]["id"])[0].letter]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_samples_are_reviewed_by_keyboard(chromium: Browser, tmp_path: Path, scheme: str) -> None:
    out = tmp_path / "decisions.jsonl"
    home = tmp_path / "data"
    home.mkdir()
    folder(home, EN | {"caption": hostile.SCRIPT}, EN | {"id": "s2", "image": "s2.png"})
    items = {one.id: one for one in datasets.samples(home, Item)}
    cards = [sample_card(one) for one in items.values()]
    declared = benchmarks.get("lotbench")
    site = Review(cards, items, home, declared, out=out, name="Ann", now=lambda: "2026-01-01")
    with serving(site) as address, opened(chromium, address, color_scheme=scheme) as (page, faults):
        assert page.locator("dd", has_text="<script>").count() == 1
        picture = page.locator("main img")
        assert picture.evaluate(WIDTH) > 50
        assert overflow(page) == 0
        assert serious(page) == []
        page.keyboard.press("a")
        page.get_by_text("1 decided").wait_for()
        page.keyboard.press("r")
        page.get_by_text("2 decided").wait_for()
        assert page.title() != "broken" and faults == []
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [(line["sample"], line["decision"], line["by"]) for line in lines] == [
        ("s1", "accept", "Ann"),
        ("s2", "reject", "Ann"),
    ]
