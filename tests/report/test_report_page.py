"""report.html as text: nothing in it runs or loads, hostile text stays text, and every number has its data."""

import base64
import hashlib
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from lotbench.benchmarks.lotbench.games import game
from lotbench.benchmarks.lotbench.readings import worth_reading
from lotbench.harness.evidence import Evidence
from lotbench.report import markdown
from lotbench.report.html.page import LONGEST, files
from lotbench.report.html.run_report import drawings, lines, page
from lotbench.report.markdown import visible
from lotbench.report.report import brief, build, to_markdown, twins
from lotbench.report.sections import Section, Table
from lotbench.types import Metric
from tests import hostile
from tests.games import answer, ask, check, lost, respond, trace, unsolved, won
from tests.hostile import HOSTILE, LONG
from tests.report.test_report import FACTS, report

ALLOWED = frozenset(
    re.findall(
        r"\w+",
        "html head meta title style body header main footer nav section article h1 h2 h3 p ul li dl dt dd div a "
        "table caption thead tbody tr th td small span figure figcaption details summary wbr "
        "svg g path line use text desc defs clippath rect circle code b",
    )
)
ATTRIBUTES = re.compile(r"^(on.*|style|src|srcset|action|formaction|xlink:href|poster|background|ping)$")


class Read(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.text: list[str] = []
        self._in = ""
        self.style = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self._in = tag

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        if self._in == "style":
            self.style += data
        else:
            self.text.append(data)

    def of(self, name: str) -> list[str]:
        return [value for _, found, value in self.attributes if found == name]


@pytest.fixture(scope="module")
def everything() -> str:
    return page(hostile.everything())


def test_nothing_on_the_page_runs_or_loads(everything: str) -> None:
    read = Read(everything)
    assert set(read.tags) <= ALLOWED, set(read.tags) - ALLOWED
    assert read.tags["style"] == 1 and read.tags["title"] > 1
    assert not [one for one in read.attributes if ATTRIBUTES.match(one[1])]
    for target in read.of("href"):
        assert target.startswith(("#", "data:text/csv;charset=utf-8;base64,")), target[:80]
    assert "http:" not in re.sub(r"http://(www\.w3\.org/2000/svg|example\.invalid)", "", everything)
    assert "https:" not in everything and "url(" not in re.sub(r'clip-path="url\(#[\w-]+\)"', "", everything)


def test_the_policy_allows_the_pages_own_style_and_nothing_else(everything: str) -> None:
    read = Read(everything)
    digest = base64.b64encode(hashlib.sha256(read.style.encode()).digest()).decode()
    (policy,) = [value for value in read.of("content") if value.startswith("default-src")]
    own = f"img-src data:; style-src 'sha256-{digest}'"
    assert policy == f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'"
    assert everything.index("Content-Security-Policy") < everything.index("<style>")


def test_hostile_text_is_there_as_text(everything: str) -> None:
    text = "".join(Read(everything).text)
    for one in HOSTILE:
        assert text.count(visible(one)) >= 5
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", everything)
    # Readings are cut at 20,000 characters and anything else earlier, and both say so.
    assert LONG not in text and f"{LONG[: markdown.LONGEST]} … (50,000 characters)" in text
    assert f"{LONG[:LONGEST]} … (50,000 characters)" in text


def test_drawings_have_the_pages_colours_and_ids_of_their_own(everything: str) -> None:
    read = Read(everything)
    assert [count for count in Counter(read.of("id")).values() if count > 1] == []
    ids = set(read.of("id"))
    for _, name, value in read.attributes:
        if name in ("fill", "stroke"):
            assert value == "none" or re.fullmatch(r"var\(--[a-z0-9-]+\)", value), value
            assert value == "none" or f"{value[4:-1]}:" in read.style
        if name in ("href", "aria-labelledby") and not value.startswith("data:"):
            assert value.removeprefix("#") in ids
        if name == "clip-path":
            assert value[5:-1] in ids


def test_a_long_table_scrolls_in_its_own_window() -> None:
    long, short = (Table(("a",), tuple((at,) for at in range(n)), f"{n} rows") for n in (41, 40))
    made = page(replace(report(), sections=(Section("Long", tables=(long, short)),)))
    assert '<div class="scroll long" tabindex="0" role="region" aria-label="41 rows">' in made
    assert '<div class="scroll" tabindex="0" role="region" aria-label="40 rows">' in made


def test_a_run_without_a_value_says_why() -> None:
    empty = build([], {"score": Metric(None, why="no <b>games</b>")}, (), FACTS)
    text = " ".join(Read(page(empty)).text)
    assert "No value" in text and "no <b>games</b>" in text
    assert lines(empty) is None and list(drawings(empty)) == []
    assert "lotbench" in page(build([], {}, (), FACTS))


def test_a_report_begins_with_its_verdict_in_one_sentence() -> None:
    text = " ".join(Read(page(report(replace(FACTS, reasons=("the run is of 2 samples",))))).text)
    said = " ".join(text[text.index("creativity score 0.56") :].split())
    assert said.startswith(
        "creativity score 0.56 , no interval; 2 of 4 games solved; $0.75; not trusted : few"
    )
    assert said.index(": few samples.") < said.index("The reasons") and said.count("not trusted") == 1


def test_variants_equal_to_the_score_are_folded_and_named() -> None:
    shown = report(replace(FACTS, words={"creativity_score_unconfirmed": "if every yes had counted"}))
    rest = {name: metric for name, metric in shown.scores.items() if name == "creativity_score_unconfirmed"}
    assert twins(shown) == list(rest), "the cap is worth more"
    made, text = page(shown), to_markdown(shown)
    assert "The same as creativity_score in this run: creativity_score_unconfirmed</summary>" in made
    assert "creativity_score_unconfirmed: the same as creativity_score in this run" in text
    assert "| creativity_score_unconfirmed |" not in text and "| creativity_score_cap |" in text
    other = {name: replace(metric, high=0.9) for name, metric in rest.items()}
    assert "The same as" not in page(replace(shown, scores={**shown.scores, **other}))


def test_a_game_is_folded_after_three_rounds_and_its_command_is_named() -> None:
    games = [game(won("a", 1, 5)), game(unsolved("b", 1, 5))]
    shown = brief(
        replace(report(replace(FACTS, run="mine")), sections=(worth_reading(games, Evidence(samples={})),))
    )
    made, text = page(shown), to_markdown(shown)
    assert made.count('<summary dir="auto">round 4 to round 5</summary>') == 2
    assert '<code dir="auto">lotbench replay mine --sample a --repeat 1</code>' in made
    assert "- 2 more: lotbench replay mine --sample a --repeat 1" in text and "- round 4" not in text
    assert "- round 4" in to_markdown(replace(shown, whole=True))


def test_a_game_that_answers_led_to_is_read_first() -> None:
    led = trace("led", 1, "solved", [*lost(2), ask(2), answer(2, "Yes"), respond(3), check(3, True)])
    games = [game(one) for one in (won("once", 1, 1), won("late", 1, 9), won("mid", 1, 4), led)]
    shown = [reading.sample for reading in worth_reading(games, Evidence(samples={})).readings]
    assert shown == ["led", "late", "once"]


def test_drawings_become_pictures_with_their_data() -> None:
    made = dict(files(drawings(replace(report(), sections=(hostile.gallery(),)))))
    pictures = [name for name in made if name.endswith(".png")]
    assert len(pictures) == 6 and "primary_metric.png" in pictures
    assert {name.replace(".png", ".csv") for name in pictures} < made.keys() - set(pictures)
    for name in pictures:
        picture = made[name]
        assert isinstance(picture, bytes) and picture.startswith(b"\x89PNG")
    grid = made["01-all-that-can-be-drawn-7.csv"]
    assert isinstance(grid, str) and grid.splitlines()[:2] == [
        "category,model,value,low,high,n",
        "science,one,5.0,4.1,8.2,20",
    ]
    assert "food,two,,,,0" in grid and "food,three,,,," in grid
