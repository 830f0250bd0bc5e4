"""The pages of a runs folder: what is asked for is read from disk then, and nothing outside the folder is shown.

A run is known by its name in the folder's list, never by a path; a picture by the digest of its bytes. What
is kept in memory of a run are the ends of its walks, until its files change. Reading is plain: good for runs of
5,000 games, slow for longer ones.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar
from urllib.parse import quote

from lotbench.edge.pictures.picture_file import encoded
from lotbench.edge.serve import Served
from lotbench.errors import LotbenchError, UsageError
from lotbench.report.bounds import in_words
from lotbench.report.html.page import harmless
from lotbench.run import recorded, results
from lotbench.run.calling import CALLS
from lotbench.site import game_rounds as thought
from lotbench.site import home, said
from lotbench.site.page import FRAMES, Screen, screen
from lotbench.site.run_summary import Shelf, read_run, stamp
from lotbench.types import JSON, Trace, Usage

MAX_PX, THUMB_PX = 1024, 112
PAGE = 500
"""Walks on a page of a run."""
MOST_SIDES = 60
"""Games on the page of a sample."""
STRIP = 6
"""Pictures beside a table of the home page."""
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; sandbox allow-downloads"
    + FRAMES
)
"""Of a report: nothing in it runs, whoever wrote it."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Found:
    """The runs of a folder: those that are read, and why others cannot be."""

    shelves: Sequence[Shelf]
    unreadable: Mapping[str, str]


@dataclass
class _Kept:
    """What was worked out for pages, by name, with what it rests on: it is worked out anew when that has changed."""

    known: dict[str, tuple[object, Any]] = field(default_factory=dict)
    lock: RLock = field(default_factory=RLock)

    def get(self, name: str, rests_on: object, work: Callable[[], T]) -> T:
        with self.lock:
            if name not in self.known or self.known[name][0] != rests_on:
                self.known[name] = rests_on, work()
            made: T = self.known[name][1]
            return made

    def keep(self, names: set[str]) -> None:
        """Forget all but these."""
        with self.lock:
            for name in self.known.keys() - names:
                del self.known[name]


@dataclass
class Gallery:
    """The pages of the runs in a folder.

    Args:
        root: The folder of runs.
        live: Whether pages are made when they are asked for; not in an export.
    """

    root: Path
    live: bool = True
    _pictures: dict[str, Path] = field(default_factory=dict)
    _thumbs: dict[str, Path] = field(default_factory=dict)
    _digests: dict[tuple[Path, int], str] = field(default_factory=dict)
    _known: _Kept = field(default_factory=_Kept)

    def get(self, path: str) -> Served:
        """The page or picture at a path; a run is read when it is first looked at, and again when it has changed."""
        return self._page(path.split("/"))

    def _page(self, parts: Sequence[str]) -> Served:
        match parts:
            case [""] | ["index.html"]:
                return served(self.index())
            case ["run", file] if file.endswith(".html"):
                return served(self.run_page(self.shelf(file.removesuffix(".html"))))
            case ["run", name, file] if file.endswith(".html"):
                return served(self.run_page(self.shelf(name), _number(file)))
            case ["run", name, chosen, file] if file.endswith(".html"):
                return served(self.run_page(self.shelf(name), _number(file), chosen))
            case ["game" | "said" as kind, name, file] if file.endswith(".html"):
                page = self.game_page if kind == "game" else self.said_page
                return served(page(self.shelf(name), file))
            case ["sample", group, file] if file.endswith(".html"):
                return served(self.sides_page(group, file.removesuffix(".html")))
            case ["picture", file] if file.removesuffix(".png") in self._pictures:
                path_of = self._pictures[file.removesuffix(".png")]
                return Served(encoded(path_of, MAX_PX), "image/png", lasting=True)
            case ["thumb", file] if file.removesuffix(".png") in self._thumbs:
                return Served(
                    encoded(self._thumbs[file.removesuffix(".png")], THUMB_PX), "image/png", lasting=True
                )
            case ["report", _] | [_, "report.html"]:
                return self._kept(parts)
        raise LookupError("/".join(parts))

    def _kept(self, parts: Sequence[str]) -> Served:
        """A run's report, as it stands in its folder."""
        named = parts[1] if parts[0] == "report" else parts[0]
        page = self._report(self.shelf(named.removesuffix(".html")))
        if page is None:
            raise LookupError("/".join(parts))
        return Served(page.read_bytes(), policy=REPORT_POLICY)

    async def post(self, path: str, sent: object) -> Mapping[str, JSON]:
        """Nothing is sent to these pages."""
        raise LookupError(path)

    def names(self) -> list[str]:
        """The names of the run folders, the last begun first; none that leads out of the folder."""
        return sorted(
            filter(self._ours, (one.parent.name for one in self.root.glob("*/run.json"))), reverse=True
        )

    def keep(self, names: Collection[str]) -> None:
        """Forget what is known of all runs but these: each holds an open file."""
        self._known.keep({"boards", *(f"{kind} {name}" for kind in ("run", "data") for name in names)})

    def _ours(self, name: str) -> bool:
        place = self.root / name / "run.json"
        inside = "/" not in name and place.resolve().is_relative_to(self.root.resolve())
        return inside and place.is_file()

    def found(self) -> Found:
        """Every run."""
        names, shelves = self.names(), []
        unreadable: dict[str, str] = {}
        self.keep(names)
        for name in names:
            try:
                shelves.append(self._shelf(name))
            except Exception as error:  # noqa: BLE001 - a folder that somebody else wrote must not hide the others
                unreadable[name] = _fault(error)
        return Found(shelves, unreadable)

    def shelf(self, name: str) -> Shelf:
        """A run by its name.

        Raises:
            LookupError: There is none of that name.
            UsageError: It cannot be read.
        """
        if not self._ours(name):
            raise LookupError(name)
        return self._shelf(name)

    def _shelf(self, name: str) -> Shelf:
        path = self.root / name
        return self._known.get(f"run {name}", stamp(path), lambda: read_run(path))

    def index(self) -> Screen:
        """The leaderboards: every run that has ended in the table of what it played, and the runs that have not."""
        found = self.found()
        ended = [one for one in found.shelves if one.run.summary]
        boards, faults = self._ranked(ended)
        return screen(
            "index",
            boards=boards,
            across=home.across(boards),
            pictures={one.name: self._strip(one, ended) for one in boards},
            reports={one.name for one in ended if self._report(one)},
            unended=[
                {
                    "run": one.name,
                    "benchmark": one.run.config.benchmark,
                    "label": one.label,
                    "walks": len(one),
                }
                for one in found.shelves
                if not one.run.summary
            ],
            unreadable=sorted({**found.unreadable, **faults}.items()),
        )

    def _ranked(self, ended: Sequence[Shelf]) -> tuple[list[home.Board], Mapping[str, str]]:
        """The leaderboards, and why runs are on none that should be."""
        stamps = [(one.name, one.stamp) for one in ended]
        return self._known.get("boards", stamps, lambda: _boards(ended))

    def _strip(self, board: home.Board, shelves: Sequence[Shelf]) -> list[str]:
        """Small pictures of a few samples of a table."""
        of = {one.name: one for one in shelves}
        shelf = of[board.rows[0].run]
        seen = dict.fromkeys(name for name, _ in islice(shelf.traces.names, STRIP * 8))
        # Several tasks may be about one picture.
        found = dict.fromkeys(self.thumb(shelf, shelf.samples.get(name, {})) for name in seen)
        return [one for one in islice(found, STRIP) if one]

    def run_page(self, shelf: Shelf, number: int = 1, words: str = "") -> Screen:
        """A run: what it came to, and a page of its walks, or of those chosen by words such as `outcome-0`."""
        chosen = _chosen(shelf, words)
        places = shelf.chosen(chosen)
        last = max(1, -(-len(places) // PAGE))
        if not 1 <= number <= last:
            raise LookupError(str(number))
        begin, address = (number - 1) * PAGE, _run_address(shelf, number, words)
        up = "../" * address.count("/")
        games = [
            replace(row, picture=self.thumb(shelf, shelf.samples.get(row.sample, {})))
            for row in shelf.rows(places[begin : begin + PAGE])
        ]
        return screen(
            "run",
            up,
            **_summed_up(shelf),
            report=self._report(shelf) is not None,
            games=games,
            pictured=any(one.picture for one in games),
            repeated=any(one.repeat > 1 for one in games),
            tiered=any(one.tier for one in games),
            played=shelf.played,
            graded=shelf.graded,
            filters=shelf.filters.items(),
            chosen=chosen,
            begin=begin,
            matching=len(places),
            total=len(shelf),
            pages={to: up + _run_address(shelf, at, words) for to, at in _near(number, last)},
            all_pages=up + _run_address(shelf, 2, "").removesuffix("2.html"),
            live=self.live,
        )

    def game_page(self, shelf: Shelf, file: str) -> Screen:
        """A walk: a game as a thought trace, anything else step by step."""
        place = _walk(shelf, file)
        known, trace = self.known(shelf, place)
        known["before"] = shelf.file(place - 1) if place else None
        known["after"] = shelf.file(place + 1) if place + 1 < len(shelf) else None
        known["beside"] = f"sample/{shelf.group}/{quote(trace.sample)}.html#{quote(_side_name(shelf, place))}"
        known["said"] = f"../../said/{quote(shelf.name)}/{quote(file)}"
        return self.told(shelf, trace, "../../", "game", known)

    def said_page(self, shelf: Shelf, file: str) -> Screen:
        """What was asked and said in a walk, call by call."""
        known, trace = self.known(shelf, _walk(shelf, file))
        keys = [str(step["call"]) for step in trace.steps if step.get("call")]
        lines = said.lines(shelf.run.path / CALLS, keys)
        calls, missing = said.said(shelf.run, trace, lines)
        values = [(one, thought.fields(one.read)) for one in calls]
        return screen(
            "said", "../../", calls=values, missing=missing, file=file, played=shelf.played, **known
        )

    def known(self, shelf: Shelf, place: int) -> tuple[dict[str, Any], Trace]:
        """What is shown of a walk whatever it is a walk of, and its trace."""
        trace = shelf.traces[place]
        sample = shelf.samples.get(trace.sample, {"id": trace.sample})
        values: dict[str, Any] = {
            "name": shelf.name,
            "label": shelf.label,
            "sample": {"caption": None, **sample},
            "fields": thought.fields(sample, ("id", "image", "canary")),
            "repeat": trace.repeat,
            "outcome": trace.outcome,
            "score": trace.score.value,
            "why": trace.why or trace.score.why,
            "picture": self.picture(shelf, sample),
            "before": None,
            "after": None,
            "beside": None,
            "said": None,
            "marks": {},
        }
        return values, trace

    def told(self, shelf: Shelf, trace: Trace, up: str, template: str, known: Mapping[str, Any]) -> Screen:
        """A game as a thought trace; a walk of anything else by its benchmark's readings and step by step."""
        around, used = thought.masked(known["sample"]), self._used(shelf, trace)
        given = dict(known)
        if around is None:
            steps = thought.calls(trace, used)
            parts = thought.fields(trace.score.parts)
            read = results.readings(shelf.run, trace)
            return screen("walk", up, calls=steps, parts=parts, readings=read, **given)
        return screen(template, up, thought=thought.thought(trace, used), around=around, **given)

    def _used(self, shelf: Shelf, trace: Trace) -> Mapping[str, Usage]:
        """What the calls of a walk used, by key."""
        keys = [str(step["call"]) for step in trace.steps if step.get("call")]
        return said.used(said.lines(shelf.run.path / CALLS, keys))

    def sides_page(self, group: str, sample: str) -> Screen:
        """Every game on one sample, of which two are shown side by side."""
        every = self.found()
        places = {
            one.name: [at for at, (name, _) in enumerate(one.traces.names) if name == sample]
            for one in every.shelves
            if one.group == group
        }
        played = [one for one in every.shelves if places.get(one.name)]
        if not played:
            raise LookupError(sample)
        told = played[0].samples[sample]
        around = thought.masked(told)
        if around is None:
            raise LookupError(sample)
        most = max(1, MOST_SIDES // len(played))
        games = [_side(shelf, at) for shelf in played for at in places[shelf.name][:most]]
        return screen(
            "sides",
            "../../",
            sample=told,
            games=games[:MOST_SIDES],
            runs=[(shelf.name, _told_apart(shelf, played)) for shelf in played],
            total=sum(map(len, places.values())),
            around=around,
            picture=self.picture(played[0], told),
        )

    def picture(self, shelf: Shelf, sample: Mapping[str, Any]) -> str | None:
        """The address of a sample's picture, named by its content; None if it is not there to be shown."""
        file = self._file(shelf, sample)
        if file is None:
            return None
        place = (file, file.stat().st_mtime_ns)
        if place not in self._digests:
            try:
                self._digests[place] = hashlib.sha256(encoded(file, MAX_PX)).hexdigest()
            except UsageError:
                return None
        self._pictures[self._digests[place]] = file
        return f"picture/{self._digests[place]}.png"

    def thumb(self, shelf: Shelf, sample: Mapping[str, Any]) -> str | None:
        """The address of a sample's picture, made small when it is asked for; None if it is not there to be shown."""
        file = self._file(shelf, sample)
        if file is None:
            return None
        seen = file.stat()
        name = hashlib.sha256(f"{file}:{seen.st_mtime_ns}:{seen.st_size}".encode()).hexdigest()[:32]
        self._thumbs[name] = file
        return f"thumb/{name}.png"

    def _file(self, shelf: Shelf, sample: Mapping[str, Any]) -> Path | None:
        """The file of a sample's picture, inside the run's data set."""
        name = sample.get("image")
        folder = self._data(shelf) if isinstance(name, str) else None
        if not isinstance(name, str) or folder is None:
            return None
        file = (folder / name).resolve()
        return file if file.is_relative_to(folder.resolve()) and file.is_file() else None

    def _report(self, shelf: Shelf) -> Path | None:
        """The report of a run, if it can be shown."""
        return _harmless(shelf.run.path / "report.html")

    def _data(self, shelf: Shelf) -> Path | None:
        """The folder of a run's data set, if it is still there."""
        run = shelf.run

        def look() -> Path | None:
            try:
                folder = recorded.home(run.path, run.config)
            except UsageError:
                return None
            return folder if folder.is_dir() else None

        return self._known.get(f"data {shelf.name}", shelf.stamp, look)

    def addresses(self) -> Iterator[str]:
        """The path of every page, then of every picture that they show."""
        yield "index.html"
        sides: dict[str, None] = {}
        for shelf in self.found().shelves:
            yield from (
                _run_address(shelf, at + 1, "", quote=str) for at in range(-(-len(shelf) // PAGE) or 1)
            )
            for kind in ("game", "said"):
                yield from (f"{kind}/{shelf.name}/{shelf.file(at)}" for at in range(len(shelf)))
            for sample in dict.fromkeys(name for name, _ in shelf.traces.names):
                if thought.masked(shelf.samples.get(sample, {})) is not None:
                    sides[f"sample/{shelf.group}/{sample}.html"] = None
            if self._report(shelf):
                yield f"report/{shelf.name}.html"
        yield from sides
        yield from (f"thumb/{name}.png" for name in list(self._thumbs))
        yield from (f"picture/{name}.png" for name in list(self._pictures))


def _harmless(page: Path) -> Path | None:
    """A page of a folder, if it can run nothing: the folder may be somebody else's."""
    try:
        with page.open("rb") as opened:
            return page if harmless(opened.read(500).decode(errors="replace")) else None
    except OSError:
        return None


def export(gallery: Gallery, out: Path) -> tuple[int, int]:
    """Write every page and picture of a gallery as a file.

    Returns:
        The number of files and their bytes.

    Raises:
        UsageError: The folder is not empty, or cannot be written to.
    """
    count = size = 0
    try:
        if out.exists() and any(out.iterdir()):
            raise UsageError(f"--export {out}: is not empty")
        for path in gallery.addresses():
            body = gallery.get(path).body
            place = out / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(body)
            count, size = count + 1, size + len(body)
    except OSError as error:
        raise UsageError(f"--export {out}: {error.strerror}") from None
    return count, size


def _boards(shelves: Sequence[Shelf]) -> tuple[list[home.Board], dict[str, str]]:
    """The leaderboards of runs that have ended, and what is wrong with those that can be on none."""
    entries, faults = [], {}
    for one in shelves:
        try:
            entries.append(one.entry)
        except Exception as error:  # noqa: BLE001 - as above
            faults[one.name] = _fault(error)
    return home.boards(entries, {one.name: one.run.summary for one in shelves}), faults


def _summed_up(shelf: Shelf) -> dict[str, Any]:
    """What a run came to, for the head of its page."""
    summary = shelf.run.summary
    scores, usage = summary.get("scores", {}), summary.get("usage", {})
    # Runs of before it was written down are asked, once their traces were read for the home page.
    ranked = shelf.entry.metric.name if "entry" in vars(shelf) else None
    name = next((one for one in (summary.get("headline"), ranked, *scores) if one in scores), None)
    cost, settings = usage.get("cost_usd"), shelf.run.config.settings
    return {
        "name": shelf.name,
        "label": shelf.label,
        "benchmark": shelf.run.config.benchmark,
        "variant": summary.get("arm"),
        "score": {"name": name, **scores[name]} if name else None,
        "bounds": in_words(scores[name].get("bounds", {})) if name else None,
        "roles": list(summary.get("models", {}).items()),
        "badge": home.badge(summary.get("reasons", ()), complete=bool(summary.get("complete", True)))
        if summary
        else home.Badge("not ended"),
        "tally": sorted(Counter(shelf.outcomes).items()),
        "cost": cost,
        "each": cost / len(shelf) if cost is not None and len(shelf) else None,
        "noun": shelf.noun,
        "date": home.begun(shelf.name),
        "most": int(settings.get("max_rounds") or 15),
    }


def _fault(error: Exception) -> str:
    """What is wrong with a run folder."""
    return (
        str(error)
        if isinstance(error, LotbenchError)
        else f"not a run folder ({type(error).__name__}: {error})"
    )


def _side(shelf: Shelf, place: int) -> Mapping[str, Any]:
    """A game as it stands beside others on its sample."""
    trace = shelf.traces[place]
    return {
        "name": _side_name(shelf, place),
        "run": shelf.name,
        "label": shelf.label,
        "repeat": trace.repeat,
        "outcome": trace.outcome,
        "score": trace.score.value,
        "href": f"game/{shelf.name}/{shelf.file(place)}",
        "leaps": thought.thought(trace, {}).leaps,
    }


def _told_apart(shelf: Shelf, others: Sequence[Shelf]) -> str:
    """A run's candidate; with the name of the run where another run has the same."""
    alone = sum(one.label == shelf.label for one in others) == 1
    return shelf.label if alone else f"{shelf.label} ({shelf.name})"


def _side_name(shelf: Shelf, place: int) -> str:
    """What a game is called on the page of its sample."""
    return f"{shelf.name}-{shelf.traces.names[place][1]}"


def _walk(shelf: Shelf, file: str) -> int:
    """The place of the walk whose page has this name; raises LookupError if there is none."""
    sample, _, repeat = file.removesuffix(".html").rpartition("-")
    place = shelf.at(sample, _number(f"{repeat}.html"))
    if shelf.file(place) != file:
        raise LookupError(file)
    return place


def _number(file: str) -> int:
    """The number of a page such as `2.html`; raises LookupError if it has none."""
    number = file.removesuffix(".html")
    if not re.fullmatch(r"[0-9]{1,9}", number):
        raise LookupError(file)
    return int(number)


def _chosen(shelf: Shelf, words: str) -> dict[str, str]:
    """The values of filters that words such as `outcome-0.tier-1` stand for: each filter's by its place."""
    chosen = {}
    for word in words.split(".") if words else ():
        name, _, place = word.partition("-")
        values = shelf.filters.get(name, ())
        if _number(place) >= len(values):
            raise LookupError(words)
        chosen[name] = values[int(place)]
    return chosen


def _near(number: int, last: int) -> list[tuple[str, int]]:
    """The pages to go to from one of several: the first, those beside it, the last."""
    pages = [("First", 1), ("Previous", number - 1), ("Next", number + 1), ("Last", last)]
    return [(to, at) for to, at in pages if 1 <= at <= last and at != number]


def _run_address(shelf: Shelf, number: int, words: str, quote: Callable[[str], str] = quote) -> str:
    """The path of a page of a run: `run/NAME.html`, `run/NAME/2.html`, `run/NAME/outcome-0/1.html`."""
    name = quote(shelf.name)
    if words:
        return f"run/{name}/{words}/{number}.html"
    return f"run/{name}.html" if number == 1 else f"run/{name}/{number}.html"


def served(page: Screen) -> Served:
    """A page as it is sent."""
    return Served(page.html.encode(errors="replace"), policy=page.policy)
