"""report.html as text: nothing in it runs or loads, hostile text stays text, and every number has its data."""

import base64
import csv
import hashlib
import io
import math
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import matplotlib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lotbench.report import markdown
from lotbench.report.html import number_tables, plots
from lotbench.report.html.page import LONGEST, files
from lotbench.report.html.run_report import drawings, lines, page
from lotbench.report.markdown import visible
from lotbench.report.report import build, to_markdown
from lotbench.report.sections import Grid, Plot, Reading, Section, Table
from lotbench.types import Metric
from tests import hostile
from tests.hostile import HOSTILE, LONG
from tests.report.test_report import FACTS, report

ALLOWED = frozenset(
    re.findall(
        r"\w+",
        "html head meta title style body header main footer nav section article h1 h2 h3 p ul li dl dt dd div a "
        "table caption thead tbody tr th td small span figure figcaption details summary wbr "
        "svg g path use text desc defs clippath rect",
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
    assert policy == (f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'")
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


def test_every_plot_is_titled_and_has_its_data_beside_it() -> None:
    made = page(replace(report(), sections=(hostile.gallery(),)))
    read = Read(made)
    drawn = len([one for one in hostile.drawings() if plots.svg(one, "x")]) + 1
    assert drawn == 8 and read.tags["svg"] == drawn == read.tags["desc"]
    links = [one for one in read.of("href") if one.startswith("data:")]
    assert len(links) == drawn + 1
    rows = list(csv.reader(io.StringIO(base64.b64decode(links[1].partition(",")[2]).decode())))
    assert rows[0] == ["series", "round", "share unsolved", "low", "high"]
    assert rows[1] == ["S", "0.0", "1.0", "", ""] and rows[-1] == ["T", "9.0", "0.9", "0.8", "1.0"]
    assert "There are no points to draw." in made


def test_a_long_table_scrolls_in_its_own_window() -> None:
    long, short = (Table(("a",), tuple((at,) for at in range(n)), f"{n} rows") for n in (41, 40))
    made = page(replace(report(), sections=(Section("Long", tables=(long, short)),)))
    assert '<div class="scroll long" tabindex="0" role="region" aria-label="41 rows">' in made
    assert '<div class="scroll" tabindex="0" role="region" aria-label="40 rows">' in made


def test_a_run_has_one_page_whoever_makes_it() -> None:
    made = replace(report(), sections=(replace(hostile.gallery(), plots=hostile.drawings()[:2]),))
    first = page(made)
    with matplotlib.rc_context({"lines.linewidth": 9, "font.size": 30, "axes.facecolor": "red"}):
        assert page(made) == first
        assert matplotlib.rcParams["font.size"] == 30


def test_the_answer_stands_first_with_its_interval_and_n() -> None:
    text = re.sub(r"\s+", " ", " ".join(Read(page(report())).text))
    answer = text[text.index("creativity_score") : text.index("candidate")]
    assert (
        "0.557 no interval bounds 0.4547 to 0.6594 (0.004358 to 0.9982), whatever broke off n = 2" in answer
    )
    assert "n = 2, higher is better; 3 of 4 scored, on 2 samples" in answer
    assert "as paper/lotbench scores" in answer
    assert "$0.7500, 18 calls" in text and "1,900 in, 90 out" in text
    assert "4 of 4 : 1 judge_failed, 2 solved, 1 unsolved" in text.replace("4:", "4 :")
    assert "Not trusted" not in text and "4 differ from paper/lotbench" in text


def test_a_run_without_a_value_says_why() -> None:
    empty = build([], {"score": Metric(None, why="no <b>games</b>")}, (), FACTS)
    text = " ".join(Read(page(empty)).text)
    assert "No value" in text and "no <b>games</b>" in text
    assert lines(empty) is None and list(drawings(empty)) == []
    assert "lotbench" in page(build([], {}, (), FACTS))


def test_the_headline_is_drawn_among_its_lines() -> None:
    made = build(
        [], {"score": Metric(0.5, 0.4, 0.6, 9, baselines={"chance": 0.2, "people": None})}, (), FACTS
    )
    plot = lines(made)
    assert plot is not None and plot.names == ("this run", "chance")
    assert plot.series == {"this run": ((0.0, 0.5),), "to compare with": ((1.0, 0.2),)}
    assert plot.bands["this run"] == ((0.4, 0.6),)
    same = replace(made, reference_scores={"score": Metric(0.5, n=9)})
    other = replace(made, reference_scores={"score": Metric(0.3, n=9)})
    assert (found := lines(same)) is not None and found.names == plot.names
    assert (found := lines(other)) is not None
    assert found.names == ("this run", "as paper/lotbench scores", "chance")


def test_drawings_become_pictures_with_their_data() -> None:
    made = dict(files(drawings(replace(report(), sections=(hostile.gallery(),)))))
    pictures = [name for name in made if name.endswith(".png")]
    assert len(pictures) == 9 and "headline.png" in pictures and "01-all-that-can-be-drawn-9.png" in pictures
    assert {name.replace(".png", ".csv") for name in pictures} == made.keys() - set(pictures)
    for name in pictures:
        picture = made[name]
        assert isinstance(picture, bytes) and picture.startswith(b"\x89PNG")
    grid = made["01-all-that-can-be-drawn-9.csv"]
    assert isinstance(grid, str) and grid.splitlines()[:2] == [
        "category,model,value,low,high,n",
        "science,one,5.0,4.1,8.2,20",
    ]
    assert "food,two,,,,0" in grid and "food,three,,,," in grid


def test_a_spreadsheet_computes_nothing() -> None:
    table = Table(("a",), (("=1+1",), ("+x",), ("@x",), ("-x",), ("plain",), (-1.5,), (None,)))
    assert number_tables.to_csv(table).splitlines() == [
        "a",
        "'=1+1",
        "'+x",
        "'@x",
        "'-x",
        "plain",
        "-1.5",
        '""',
    ]


def test_numbers_of_a_column_align() -> None:
    table = Table(
        ("a", "b", "c", "d"), ((0.5, 1, 2e-6, None), (0.0625, 20, -3e-7, None), (1234.56, 3, 0.25, None))
    )
    assert number_tables.shown(table) == [
        ["0.5000", "1", "<0.0001", "–"],
        ["0.0625", "20", ">-0.0001", "–"],
        ["1234.6", "3", "0.25", "–"],
    ]
    grid = hostile.heat()
    assert number_tables.values(grid)[0] == ["5.0", "5.5", "6.0", "6.5", "7.0"]
    assert number_tables.values(grid)[3] == ["4.0", "–", "–", "9.5", "–"]
    assert number_tables.is_numeric(table) == [True, True, True, False]


def test_markdown_has_heat_maps_readings_and_the_names_of_plots() -> None:
    text = to_markdown(replace(report(), sections=(hostile.gallery(), Section("Hostile", readings=(
        Reading(HOSTILE[0], (("said", HOSTILE[0]),)),
    )))))  # fmt: skip
    assert "| category / model | one | two | three | four | five |" in text
    assert "| science | 5 (4.1 to 8.2, n = 20) |" in text
    assert "| food | 4 (n = 1) | none: the extra is missing | – | 9.5 (9 to 10, n = 3) | – |" in text
    assert "- Drawn in report.html: Bars" in text
    assert "### An early leap\n\n- filling: the warm laptop\n- verdict: accepted" in text
    assert "<script>" not in text


TEXTS = st.text(max_size=30)
NUMBERS = st.floats(width=32)


@settings(max_examples=15)
@given(st.data())
def test_anything_can_be_drawn_or_says_that_it_cannot(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(("line", "step", "bar", "scatter")))
    names = tuple(data.draw(st.lists(TEXTS, max_size=4)))
    series = {
        name: tuple((float(at), data.draw(NUMBERS)) for at in range(data.draw(st.integers(0, 3))))
        for name in data.draw(st.lists(TEXTS, max_size=3, unique=True))
    }
    bands = {name: tuple((data.draw(NUMBERS), data.draw(NUMBERS)) for _ in series[name]) for name in series}
    labels = {name: tuple(data.draw(TEXTS) for _ in series[name]) for name in series}
    plot = Plot(kind, data.draw(TEXTS), data.draw(TEXTS), series, data.draw(TEXTS), names, bands, labels)
    drawable = any(math.isfinite(y) for points in series.values() for _, y in points)
    found = plots.svg(plot, "plot-1")
    assert bool(found) == drawable
    if drawable:
        read = Read(found)
        assert set(read.tags) <= ALLOWED and not [one for one in read.attributes if ATTRIBUTES.match(one[1])]
    assert len(number_tables.of_plot(plot).rows) == sum(map(len, series.values()))


def test_a_grid_without_values_is_not_drawn() -> None:
    empty = Grid("x", "y", ("a",), ("b",), ((Metric(None, why="none"),),))
    assert plots.png(empty) == b""
    assert "none: none" in page(replace(report(), sections=(Section("Empty", grids=(empty,)),)))
