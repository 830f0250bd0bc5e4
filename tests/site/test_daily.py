"""The daily game as a page on a disk: it judges as its lists say, shows no answer in its source, and keeps a streak."""

import datetime
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from lotbench.benchmarks.lotbench.sample import Item
from lotbench.cli import main
from lotbench.config.experiment import Config, Experiment, Limits
from lotbench.site import page
from lotbench.site.daily import _game
from lotbench.site.host import answer, verdict
from lotbench.site.page import screen
from lotbench.site.people_runs import FIRST, of_the_day
from lotbench.storage import datasets
from tests import browsing

EASY = [
    item
    for item in datasets.samples(datasets.data_folder("", "lotbench_easy"), Item)
    if item.language == "en"
]


def test_the_page_holds_its_pictures_and_no_answer_in_the_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lotbench.site.daily.PICTURE_PX", 64)
    assert main(["play", "--export", str(tmp_path / "game.html")]) == 0
    page = (tmp_path / "game.html").read_text("utf-8")
    [data] = re.findall(r'<script type="application/json" id="games">(.*?)</script>', page)
    games = json.loads(data)["games"]
    assert len(games) == len(EASY) and all(
        game["picture"].startswith("data:image/webp;base64,") for game in games
    )
    by_id = {item.id: item for item in EASY}
    for game in games:
        told = json.dumps({name: game[name] for name in game.keys() - {"joke", "scene", "picture"}})
        item = by_id[game["id"]]
        assert item.key_text not in told and item.clues[-1] not in told and item.explanation not in told
    asked = Config(
        experiment=Experiment(benchmark="lotbench", model="human", data="lotbench_easy"), limits=Limits()
    )
    for days in (0, 1, 329, 400):
        played = of_the_day(asked, FIRST + datetime.timedelta(days=days)).experiment.samples
        assert played == (games[days % len(games)]["id"],), "play --daily has the game of the page"


def test_no_text_of_a_sample_breaks_out_of_the_page() -> None:
    """Quotes, an end of the script, and line ends that only JavaScript knows."""
    evil = "</script><script>x()</script>\u2028\u2029'\"`<!--\ud83d"
    fields = {"id": "lot-0001</script>", "caption": evil, "frame": f"{evil}<MASK>{evil}", "key_text": "ski"}
    item = EASY[0].model_copy(update=fields | {"response": f"{evil}ski{evil}", "explanation": evil})
    told = json.dumps({"first": "2026-01-01", "rounds": 6, "games": [_game(item)]})
    page = screen("daily", rounds=6, games=told).body.decode()
    [data] = re.findall(r'<script type="application/json" id="games">(.*?)</script>', page, re.DOTALL)
    assert json.loads(data)["games"][0]["joke"] == [evil, evil]
    assert page.count("</script>") == 2 and not re.search("[\u2028\u2029]", data)


@pytest.mark.slow
def test_a_game_in_a_browser_from_the_disk(tmp_path: Path, chromium: Browser) -> None:
    main(["play", "--export", str(tmp_path)])
    address = (tmp_path / "index.html").as_uri()
    with browsing.opened(chromium, address, viewport=browsing.PHONE) as (page, faults):
        shown = page.evaluate("game.id")
        item = next(one for one in EASY if one.id == shown)
        judged = "(texts) => texts.map((one) => verdict(game, one))"
        assert set(page.evaluate(judged, [item.key_text, *item.accept])) == {True}
        refused = [*item.near, *(one.text for one in item.reject)]
        assert set(page.evaluate(judged, refused)) == {False}
        assert page.evaluate("verdict(game, 'xylophonic zeppelin')") is None
        nouns = ["vampires", "My angry girlfriend", "noodle soup", "a hospital", "twelve pizzas", "cherries"]
        assert page.evaluate(judged, nouns) == [verdict(item, noun)[0] for noun in nouns]
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("scrollY") == 0 and "type the words that are missing" in page.inner_text(
            "#intro"
        )
        for shown_at_once in ("#picture", "#guess", "#said .rules"):
            box = page.locator(shown_at_once).bounding_box()
            assert box and box["y"] + box["height"] < 844, shown_at_once
        said = page.evaluate("['The Soap-Operas!', 'a soap opera', 'skiing', 'to ski', 'sing'].map(rough)")
        assert said == ["soap opera", "soap opera", "ski", "ski", "sing"]
        page.fill("#guess", refused[0])
        page.keyboard.press("Enter")
        assert "not it" in page.inner_text("#said") and item.clues[0] in page.inner_text("#said")
        question = page.inner_text("#picks button >> nth=0")
        page.fill("#guess", re.sub("^Is it (.*)[?]$", r"maybe it is \1", question))
        page.keyboard.press("Enter")
        assert f"{question}\n\n{answer(item, question)}." in page.inner_text("#said")
        assert page.is_hidden("#picks")
        page.fill("#guess", "xylophonic zeppelin")
        page.keyboard.press("Enter")
        assert "not on my lists" in page.inner_text("#said") and page.is_hidden("#answer")
        assert browsing.serious(page) == [] and browsing.overflow(page) == 0
        page.keyboard.type("Is it a person")
        page.keyboard.press("Enter")
        assert "a question, not a guess. You can ask once after a miss" in page.inner_text("#problem")
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.type(item.key_text)
        page.keyboard.press("Enter")
        won = page.inner_text("#words")
        assert "Solved with guess 2 of 6" in won and item.explanation in page.inner_text("#why")
        shared = page.input_value("#shared")
        assert "⚪💡🟢" in shared and "2/6\n" in shared and item.key_text not in shared
        assert page.evaluate("game.joke.join('____')") in shared
        assert page.get_attribute("#card", "href").startswith("data:image/png")
        assert "streak 1" in page.inner_text("#streak") and browsing.serious(page) == []
        page.reload()
        assert question in page.inner_text("#said") and page.evaluate("scrollY") == 0
        assert "Solved with guess 2 of 6" in page.inner_text("#words")
        assert "1 played, best streak 1" in page.inner_text("#share")
        page.click("#send-on")
        page.get_by_text("Copied").or_(page.get_by_text("Marked")).wait_for()
        page.click("#another")
        assert page.inner_text("#told") == ""
        assert page.is_hidden("#words") and page.evaluate("game.id") != shown
        page.fill("#guess", "xylophonic zeppelin")
        page.keyboard.press("Enter")
        assert page.is_visible("#menu")
        page.click("button[value=show]")
        assert page.evaluate("scrollY") == 0 and page.is_hidden("#menu")
        assert page.locator("#own").evaluate("(one) => one.getBoundingClientRect().bottom") < 844
        page.click("button[value=counts]")
        assert "1/6, by my own word\n🟡\n" in page.input_value("#shared")
        assert page.is_visible("#mine") and page.inner_text("#yours mark") == "xylophonic zeppelin"
        page.click("#another")
        page.click("#menu summary")
        page.click("#give-up")
        assert "Given up at once" in page.inner_text("#words") and "A clue" not in page.inner_text("#said")
        assert page.inner_text("#response") and page.inner_text("#why")
        # What was kept may not fit, and another export on the same host keeps its own.
        assert page.evaluate("RECORD").startswith("lotbench lot-0")
        for kept in (
            "null",
            '{"games": 3}',
            "no JSON",
            "JSON.stringify({games: {[number]: {tries: [{asked: 99}, 5]}}})",
        ):
            value = kept if kept.startswith("JSON") else f"'{kept}'"
            page.evaluate(f"localStorage.setItem(RECORD, {value})")
            page.reload()
            page.fill("#guess", "xylophonic zeppelin")
        assert [one for one in faults if one != address] == []


def test_no_two_scripts_of_a_page_give_a_name_twice() -> None:
    """They share one scope: a constant that is declared twice stops the page, a function replaces the other."""
    templates = Path(page.__file__).parent / "templates"
    for parts in (page.COMMON, *page.PARTS.values()):
        texts = [(templates / part).read_text("utf-8") for part in parts if part.endswith(".js")]
        names = re.findall(r"^(?:async )?function (\w+)", "\n".join(texts), re.MULTILINE)
        for line in re.findall(r"^(?:const|let)( .*)", "\n".join(texts), re.MULTILINE):
            names += re.findall(r"(?:^|,) (\w+)(?= =[^=>]|;)", line)
        assert len(names) > 9 and not [name for name in names if names.count(name) > 1], parts
