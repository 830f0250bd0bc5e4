"""report.html and compare.html in a real browser: nothing runs, nothing overflows, all of it can be read."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from lotbench.report.comparison import Comparison
from lotbench.report.html.comparison_page import page as board_page
from lotbench.report.html.run_report import page as report_page
from lotbench.report.leaderboard import board
from lotbench.report.ranking_sections import sections
from tests import hostile
from tests.browsing import PHONE, contrast, opened, overflow, serious
from tests.report.test_leaderboard import THREE, one
from tests.report.test_report import report

pytestmark = pytest.mark.slow

PAGES = ("gallery", "hostile", "compare")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages on disk, as they are opened."""
    made = tmp_path_factory.mktemp("pages")
    people = [one("human", 0.1 * k, k, asked="human", answered=(f"person {k}",)) for k in range(5, 11)]
    gallery = replace(report(), sections=(*report().sections, hostile.gallery()))
    pages = {
        "gallery": report_page(gallery),
        "hostile": report_page(hostile.everything()),
        "compare": board_page(
            Comparison("three runs", ("a", "b"), tuple(sections(board([*THREE, *people]))))
        ),
    }
    for name, text in pages.items():
        (made / f"{name}.html").write_text(text, encoding="utf-8")
    return made


def test_axe_and_the_measures_see_a_fault_where_there_is_one(chromium: Browser, tmp_path: Path) -> None:
    place = tmp_path / "bad.html"
    place.write_text(
        "<html lang='en'><title>x</title><body style='background: #fff'><p style='color: #ddd; width: 5000px'>pale",
        encoding="utf-8",
    )
    with opened(chromium, place.as_uri()) as (page, _):
        assert any(fault.startswith("color-contrast") for fault in serious(page))
        assert overflow(page) > 3000 and contrast(page, "p") < 2


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("look", [{"color_scheme": "light"}, {"color_scheme": "dark", "viewport": PHONE}])
def test_no_serious_fault_nothing_runs_and_nothing_overflows(
    chromium: Browser, folder: Path, name: str, look: dict[str, Any]
) -> None:
    with opened(chromium, (folder / f"{name}.html").as_uri(), **look) as (page, faults):
        assert page.evaluate("document.scripts.length") == 0
        page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
        assert overflow(page) == 0 and serious(page) == []
        at = """(cell) => { const before = cell.getBoundingClientRect().left; cell.closest(".scroll").scrollLeft = 90;
          return cell.getBoundingClientRect().left - before; }"""
        assert page.eval_on_selector(".scroll tbody th", at) == 0, "the first column stays"
        page.mouse.move(100, 300)
        page.mouse.wheel(0, 5000)
        assert "broken" not in page.title() and faults == []


def test_the_policy_stops_what_an_escape_would_let_through(chromium: Browser, folder: Path) -> None:
    text = (folder / "gallery.html").read_text(encoding="utf-8")
    place = folder / "injected.html"
    injected = f"{hostile.SCRIPT}<p id='p' style='color: red'>x</p></body>"
    place.write_text(text.replace("</body>", injected), encoding="utf-8")
    with opened(chromium, place.as_uri()) as (page, faults):
        assert "broken" not in page.title()
        assert sum("Content Security Policy" in fault for fault in faults) >= 3
        assert page.eval_on_selector("#p", "one => getComputedStyle(one).color") != "rgb(255, 0, 0)"


def test_dark_and_light_have_grounds_of_their_own_and_plots_follow(chromium: Browser, folder: Path) -> None:
    grounds, drawn = set(), set()
    for scheme in ("light", "dark"):
        with opened(chromium, (folder / "gallery.html").as_uri(), color_scheme=scheme) as (page, _):
            grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
            drawn.add(page.eval_on_selector("svg text", "one => getComputedStyle(one).fill"))
            assert contrast(page, "svg text") > 4.5 and contrast(page, ".big") > 7
            assert page.eval_on_selector("svg text", "one => getComputedStyle(one).fontFamily").startswith(
                "system-ui"
            )
    assert len(grounds) == len(drawn) == 2


def test_paper_is_white_even_when_the_screen_is_dark(chromium: Browser, folder: Path) -> None:
    with opened(chromium, (folder / "gallery.html").as_uri(), color_scheme="dark") as (page, _):
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.eval_on_selector("nav", "one => getComputedStyle(one).display") == "none"
        assert page.pdf(format="A4").startswith(b"%PDF")


def test_the_data_of_a_plot_can_be_saved_from_disk(chromium: Browser, folder: Path, tmp_path: Path) -> None:
    with opened(chromium, (folder / "gallery.html").as_uri()) as (page, _):
        page.click("details summary >> nth=0")
        with page.expect_download() as saved:
            page.click("a[download] >> nth=0")
        saved.value.save_as(tmp_path / "data.csv")
    assert (tmp_path / "data.csv").read_text(encoding="utf-8").startswith("series,name,creativity score")


def test_the_page_is_played_by_keyboard(chromium: Browser, folder: Path) -> None:
    with opened(chromium, (folder / "gallery.html").as_uri()) as (page, _):
        page.focus("nav a[href='#settings']")
        page.keyboard.press("Enter")
        assert page.evaluate("location.hash") == "#settings"
        assert page.evaluate("document.querySelector('#settings').getBoundingClientRect().top < innerHeight")
