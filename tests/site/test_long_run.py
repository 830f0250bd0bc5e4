"""A long run in the viewer: read beside the requests, shown a page at a time, little of it in memory."""

from __future__ import annotations

import asyncio
import gc
import re
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from lotbench.edge.calls.journal import read_journal
from lotbench.edge.serve import Served
from lotbench.errors import UsageError
from lotbench.site import runs
from lotbench.site.background import Background, NotYetError
from lotbench.site.call_tokens import CallTokens
from lotbench.site.run_summary import read_run
from lotbench.site.runs import Gallery, export
from tests.playing import play
from tests.rules import game_rule
from tests.server import FakeServer
from tests.views import ONE, told_again


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one run of 7 samples and 6 repeats."""
    root = tmp_path_factory.mktemp("long") / "runs"
    with FakeServer(game_rule(solve=0.0)) as server:
        asyncio.run(play(server, root, limit=None, samples=(ONE,), settings={"arm": "caption"}))
    [place] = root.iterdir()
    told_again(place, 7, 6)
    lines = (place / "traces.jsonl").read_text("utf-8").splitlines(keepends=True)
    # Half of them end otherwise, so that there is something to choose by.
    for at in range(0, len(lines), 2):
        lines[at] = lines[at].replace('"outcome":"unsolved"', '"outcome":"judge_failed"')
    (place / "traces.jsonl").write_text("".join(lines), "utf-8")
    return root


def text(served: Served) -> str:
    return served.body.decode()


class Held:
    """Work that waits until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.done = 0

    def __call__(self) -> int:
        assert self.go.wait(20)
        self.done += 1
        return self.done


# Work in the background


def test_whoever_asks_waits_a_moment_and_gets_what_was_before() -> None:
    background, held = Background(0.01), Held()
    with pytest.raises(NotYetError):
        background.get("a", 1, held)
    held.go.set()
    assert background.get("a", 1, held, None) in (1,) or Background()
    background.patience_s = None
    assert background.get("a", 1, held) == 1
    held.go.clear()
    background.patience_s = 0.01
    assert background.get("a", 2, held) == 1, "what it came to before"
    held.go.set()
    background.patience_s = None
    assert background.get("a", 2, held) == 2
    assert background.done == 2


def test_what_failed_is_not_tried_again_until_it_rests_on_something_else() -> None:
    background, tries = Background(), []

    def fails() -> None:
        tries.append(1)
        raise UsageError("damaged")

    for rests_on in (1, 1, 1, 2):
        with pytest.raises(UsageError, match="damaged"):
            background.get("a", rests_on, fails)
    assert len(tries) == 2


def test_pieces_are_done_one_at_a_time_and_forgotten_when_they_are_not_named() -> None:
    background, held = Background(0.01), Held()
    for name in ("a", "b"):
        with pytest.raises(NotYetError):
            background.get(name, 1, held)
    assert (
        sum(thread.name.startswith("Thread") and thread.is_alive() for thread in threading.enumerate()) >= 2
    )
    held.go.set()
    background.patience_s = None
    assert sorted((background.get("a", 1, held), background.get("b", 1, held))) == [1, 2]
    background.keep({"a"})
    assert background.get("a", 1, held) in (1, 2)
    assert background.get("b", 1, held) == 3


# Pages beside a run that is being read


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Runs are read when this is set, and no sooner."""
    go = threading.Event()

    def read(path: Path) -> object:
        assert go.wait(20)
        return read_run(path)

    monkeypatch.setattr(runs, "read_run", read)
    yield go
    go.set()


def test_a_page_of_a_run_that_is_being_read_says_so_and_comes_by_itself(
    long: Path, slow: threading.Event
) -> None:
    gallery = Gallery(long, patience_s=0.01)
    [name] = gallery.names()
    page = text(gallery.get(f"run/{name}.html"))
    assert "being read" in page
    [version] = re.findall(r'data-wait="\.\./state\.json" data-version="(\d+)"', page)
    assert text(gallery.get("state.json")) == f'{{"version": {version}}}'
    index = text(gallery.get("index.html"))
    assert f"Still being read: {name}" in index and "no runs here" not in index
    with pytest.raises(NotYetError):
        gallery.trace(name, "s000000", 1)

    slow.set()
    gallery._reading.patience_s = None
    assert "42 games" in text(gallery.get(f"run/{name}.html"))
    assert text(gallery.get("state.json")) != f'{{"version": {version}}}'


async def test_a_mark_on_a_run_that_is_being_read_is_refused_with_the_reason(
    long: Path, slow: threading.Event
) -> None:
    from lotbench.site.annotations import Annotations

    gallery = Gallery(long, Annotations(long, "Ann", str), 0.01)
    mark = {"run": gallery.names()[0], "sample": "s000000", "repeat": 1, "round": 1, "judge": 0}
    with pytest.raises(UsageError, match="still being read"):
        await gallery.post("annotate", mark | {"stepName": "check", "right": "yes"})


def test_no_page_of_a_run_waits_for_the_ranking(long: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranked = threading.Event()
    monkeypatch.setattr(runs, "_boards", lambda _: ([], {}) if ranked.wait(20) else None)
    gallery = Gallery(long, patience_s=2.0)
    [name] = gallery.names()
    gallery._ranking.patience_s = 0.01
    index = text(gallery.get("index.html"))
    assert 'data-wait="state.json"' in index and "Still being read" not in index
    assert "42 games" in text(gallery.get(f"run/{name}.html"))
    ranked.set()
    gallery._ranking.patience_s = None
    assert 'data-wait="state.json"' not in text(gallery.get("index.html"))


# A page at a time


def test_the_walks_of_a_run_come_a_page_at_a_time(long: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "PAGE", 10)
    gallery = Gallery(long)
    [name] = gallery.names()
    first = text(gallery.get(f"run/{name}.html"))
    assert first.count("<tr data-outcome") == 10 and "1 to 10 of 42" in first
    assert f'<a href="../run/{name}/2.html" data-key="n" rel="next">' in first
    last = text(gallery.get(f"run/{name}/5.html"))
    assert last.count("<tr data-outcome") == 2 and "41 to 42 of 42" in last
    assert f'href="../../run/{name}.html">First' in last
    assert '<a href="../../game/' in last

    chosen = text(gallery.get(f"run/{name}/outcome-0/3.html"))
    assert "21 to 21 of 21" in chosen and "42 games" in chosen
    assert "<option selected>judge_failed</option>" in chosen
    for wrong in ("6.html", "0.html", "x.html", "outcome-9/1.html", "round-0/1.html", "outcome-0/4.html"):
        with pytest.raises(LookupError):
            gallery.get(f"run/{name}/{wrong}")


def test_an_export_has_every_page_of_a_run(
    long: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(runs, "PAGE", 10)
    export(Gallery(long), tmp_path / "out")
    [name] = Gallery(long).names()
    assert sorted(one.name for one in (tmp_path / "out" / "run" / name).iterdir()) == [
        f"{number}.html" for number in (2, 3, 4, 5)
    ]
    assert (
        "data-pages"
        not in (tmp_path / "out" / "run" / f"{name}.html").read_text("utf-8").split("<script>")[0]
    )


def test_of_many_games_on_a_sample_some_are_shown_and_it_says_so(
    long: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "MOST_SIDES", 4)
    gallery = Gallery(long)
    group = gallery.found().shelves[0].group
    page = text(gallery.get(f"sample/{group}/s000003.html"))
    assert page.count('class="side"') == 4 and "The first 4 of 6 games" in page


def test_a_walk_is_found_by_the_name_of_its_page_and_by_no_other(long: Path) -> None:
    gallery = Gallery(long)
    [name] = gallery.names()
    assert "s000002, repeat 5" in re.sub("<[^>]+>", "", text(gallery.get(f"game/{name}/s000002-5.html")))
    for wrong in ("s000002-05.html", "s000002-7.html", "s000002.html", f"s000002-{'9' * 5000}.html"):
        with pytest.raises(LookupError):
            gallery.get(f"game/{name}/{wrong}")


# What is in memory


def test_a_walk_takes_less_than_a_kilobyte_of_memory(long: Path, tmp_path: Path) -> None:
    """Its games are some ten kilobytes each on disk."""
    import shutil

    [place] = long.iterdir()
    shutil.copytree(place, tmp_path / "run")
    every = (place / "traces.jsonl").read_bytes().replace(b"s00", b"s%02d")
    many = b"".join(every.replace(b"%02d", b"%02d" % part) for part in range(40))
    (tmp_path / "run" / "traces.jsonl").write_bytes(many)
    read_run(tmp_path / "run")
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    shelf = read_run(tmp_path / "run")
    after, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(shelf) == 40 * 42
    assert (after - before) / len(shelf) < 1000 < len(many) / len(shelf)
    assert (peak - before) / len(shelf) < 4000


def test_the_tokens_of_calls_are_found_by_key_and_later_lines_are_read_on(long: Path, tmp_path: Path) -> None:
    [place] = long.iterdir()
    lines = (place / "calls.jsonl").read_bytes().splitlines(keepends=True)
    file = tmp_path / "calls.jsonl"
    tokens = CallTokens(file).read_on()
    assert tokens.of(["none"]) == {}
    file.write_bytes(b"".join(lines[:5]) + b"damaged\n" + lines[5][:20])
    known = {str(one.key): one.reply.usage for one in read_journal(place / "calls.jsonl")}
    keys = list(known)
    assert tokens.read_on().of(keys) == {key: known[key] for key in keys[:5]}
    file.write_bytes(b"".join(lines[:5]) + b"damaged\n" + b"".join(lines[5:]))
    assert tokens.read_on().of([*keys, "none"]) == known
    # The last line of a key counts, but for one that is damaged behind its key.
    with file.open("ab") as journal:
        journal.write(lines[0].replace(b'"role"', b'"rule"'))
    assert tokens.read_on().of(keys) == known and tokens.lines(keys[:1]) == {keys[0]: lines[0]}
    file.unlink()
    file.write_bytes(b"".join(lines[:3]))
    assert tokens.read_on().of(keys) == {key: known[key] for key in keys[:3]}
