"""The pages of a runs folder: what is asked for is read from disk then, and nothing outside the folder is shown.

A run is known by its name in the folder's list, never by a path; a picture by a digest of its file's path, time and size.
What is kept in memory of a run is a line for each game, until its files change. Reading is plain: good for runs of 5,000
games, slow for longer ones.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from lotbench.config.model_names import parse
from lotbench.errors import DataError, LotbenchError, UsageError
from lotbench.regular_file import regular
from lotbench.report import trace_rows
from lotbench.report.bounds import in_words
from lotbench.report.html.page import harmless
from lotbench.report.leaderboard import told_apart
from lotbench.run import results
from lotbench.run.calling import CALLS
from lotbench.site import compared, home, said
from lotbench.site import game_rounds as thought
from lotbench.site.page import FRAMES, screen
from lotbench.site.run_summary import Shelf, page_file, read_run, stamp
from lotbench.site.serve import Served
from lotbench.storage import export as rows_as
from lotbench.storage.datasets import sent_digest
from lotbench.storage.pictures.picture_file import encoded
from lotbench.types import JSON, Trace

SIZES = {"picture": 1024, "thumb": 112}
"""Pixels of a picture at most, by the folder of its address."""
MOST_SIDES = 60
"""Games on the page of a sample."""
STRIP = 6
"""Pictures beside a table of the home page."""
HELD = 512
"""Runs that are kept in memory, with the lines of their traces; of more, those looked at last."""
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; sandbox allow-downloads"
    + FRAMES
)
"""Of a report: nothing in it runs, whoever wrote it."""


class Gallery:
    """The pages of the runs in a folder.

    Args:
        root: The folder of runs.
        held: How many runs are kept in memory.
    """

    def __init__(self, root: Path, held: int = HELD) -> None:
        self.root = root
        self.live = True
        self._pictures: dict[str, Path] = {}
        # A run whose files have changed has another stamp, and is read again.
        self._read = lru_cache(held)(lambda path, _stamp: read_run(path))
        self._boards = lru_cache(1)(_boards)
        self._duels = lru_cache(1)(compared.duels)

    def get(self, path: str) -> Served:
        """Return the page or picture at a path; a run is read when it is first looked at, and again when it has changed."""
        place, _, kind = path.rpartition(".")
        match [kind, *place.split("/")]:
            case ["", ""] | ["html", "index"]:
                return self.index()
            case ["html", "run", name]:
                return self.run_page(self.shelf(name))
            case ["html", "game", name, file]:
                return self.game_page(self.shelf(name), f"{file}.html")
            case ["html", "said", name, file]:
                return self.said_page(self.shelf(name), f"{file}.html")
            case ["html", "compare", first, second]:
                return self.compared_page(self.shelf(first), self.shelf(second))
            case ["csv" | "jsonl", "rows" | "steps" as what, name]:
                return _rows(self.shelf(name), what, kind)
            case ["html", "sample", group, sample]:
                return self.sides_page(group, sample)
            case ["html", "report", name] if report := _report(self.shelf(name)):
                # In a page of its own look, and only that runs nothing: the way back is a link.
                back = f'<header><p class="kind"><a href="../run/{quote(name)}.html">Back to the run</a></p></header>'
                page = report.read_bytes().replace(b"<body>", b"<body>" + back.encode(), 1)
                return Served(page, policy=REPORT_POLICY)
            case ["png", size, name] if size in SIZES and name in self._pictures:
                return Served(encoded(self._pictures[name], SIZES[size]), "image/png", lasting=True)
        raise LookupError(path)

    async def post(self, path: str, sent: object) -> Mapping[str, JSON]:
        """Refuse what is sent: these pages take nothing."""
        raise LookupError(path)

    def names(self) -> list[str]:
        """Return the names of the run folders, the last begun first; none that leads out of the folder."""
        names = (place.parent.name for place in self.root.glob("*/run.json"))
        return sorted(filter(self._is_ours, names), reverse=True)

    def _is_ours(self, name: str) -> bool:
        place = self.root / name / "run.json"
        inside = "/" not in name and place.resolve().is_relative_to(self.root.resolve())
        return inside and place.is_file()

    def readable_runs(self) -> tuple[list[Shelf], dict[str, str]]:
        """Return every run that can be read, and why others cannot be."""
        shelves: list[Shelf] = []
        unreadable: dict[str, str] = {}
        for name in self.names():
            try:
                shelves.append(self.shelf(name))
            except Exception as error:  # noqa: BLE001 - a folder that somebody else wrote must not hide the others
                unreadable[name] = _fault(error)
        return shelves, unreadable

    def shelf(self, name: str) -> Shelf:
        """Return a run by its name.

        Raises:
            LookupError: There is none of that name.
            UsageError: It cannot be read.
        """
        if not self._is_ours(name):
            raise LookupError(name)
        path = self.root / name
        return self._read(path, stamp(path))

    def index(self) -> Served:
        """Return the leaderboards: every run that has ended in the table of what it played, and the runs that have not."""
        shelves, unreadable = self.readable_runs()
        ended = {shelf.name: shelf for shelf in shelves if shelf.run.summary}
        boards, faults = self._boards(tuple(ended.values()))
        return screen(
            "index",
            live=self.live,
            boards=boards,
            duels=self._duels(tuple(ended.values())),
            across=home.across(boards),
            pictures={board.name: self._strip(ended[board.rows[0].run]) for board in boards},
            reports={name for name, shelf in ended.items() if _report(shelf)},
            unended=[shelf for shelf in shelves if not shelf.run.summary],
            unreadable=sorted({**unreadable, **faults}.items()),
        )

    def _strip(self, shelf: Shelf) -> list[str]:
        """Return small pictures of a few samples of a run; several tasks may be about one picture."""
        pictures = (self.picture(shelf, row.sample, "thumb") for row in shelf.rows[: STRIP * 8])
        return list(islice(dict.fromkeys(filter(None, pictures)), STRIP))

    def run_page(self, shelf: Shelf) -> Served:
        """Return a run: what it came to, and its games."""
        summary, count = shelf.run.summary, len(shelf.rows)
        name, cost = summary.get("primary_metric"), summary.get("usage", {}).get("cost_usd")
        score = summary.get("scores", {}).get(name)
        trust = home.badge(summary["reasons"]) if summary else None
        return screen(
            "run",
            "../",
            shelf=shelf,
            metric=name,
            score=score,
            bounds=in_words(score.get("bounds", {})) if score else None,
            badge=trust or home.Badge("not ended"),
            tally=sorted(Counter(row.outcome for row in shelf.rows).items()),
            cost=cost,
            each=cost / count if cost is not None and count else None,
            date=home.start_time(shelf.name),
            most=int(shelf.run.config.settings.get("max_rounds") or 15),
            report=_report(shelf) is not None,
            pictures={sample: self.picture(shelf, sample, "thumb") for sample in shelf.samples},
        )

    def compared_page(self, first: Shelf, second: Shelf) -> Served:
        """Return two runs against each other."""
        shelves = (first, second)
        names = told_apart([(shelf.label, shelf.name) for shelf in shelves])
        values = compared.values(shelves, lambda shelf, sample: self.picture(shelf, sample, "thumb"))
        return screen("compare", "../../", names=names, **values)

    def game_page(self, shelf: Shelf, file: str) -> Served:
        """Return an episode: a game as a thought trace, anything else step by step."""
        place = shelf.at(file)
        row = shelf.rows[place]
        links = {
            "before": shelf.rows[place - 1].file if place else None,
            "after": shelf.rows[place + 1].file if place + 1 < len(shelf.rows) else None,
            "beside": f"sample/{shelf.group}/{quote(row.sample)}.html#{quote(_side_name(shelf, row.repeat))}",
            "said": f"../../said/{quote(shelf.name)}/{quote(file)}",
        }
        return self.episode_page(shelf, shelf.run.traces[place], "../../", "game", links)

    def said_page(self, shelf: Shelf, file: str) -> Served:
        """Return what was asked and said in an episode, call by call."""
        trace = shelf.run.traces[shelf.at(file)]
        calls, missing = said.episode_calls(shelf.run, trace)
        return screen(
            "said", "../../", calls=calls, missing=missing, file=file, **self.episode_values(shelf, trace)
        )

    def episode_values(self, shelf: Shelf, trace: Trace) -> dict[str, Any]:
        """Return what is shown of an episode whatever it is an episode of."""
        sample = shelf.samples.get(trace.sample, {"id": trace.sample})
        return {
            "shelf": shelf,
            "trace": trace,
            "sample": {"caption": None, **sample},
            "fields": thought.fields(sample, ("id", "image", "canary")),
            "picture": self.picture(shelf, trace.sample),
        }

    def episode_page(
        self, shelf: Shelf, trace: Trace, up: str, template: str, links: Mapping[str, str | None]
    ) -> Served:
        """Return a game as a thought trace; an episode of anything else by its benchmark's readings and step by step."""
        values = self.episode_values(shelf, trace) | {"links": links, "given_up": 0}
        used = {key: entry.reply.usage for key, entry in said.entries(shelf.run.path / CALLS, trace).items()}
        if (around := thought.masked(values["sample"])) is not None:
            game = thought.thought(trace, used)
            if parse(shelf.run.config.model).kind == "human":
                played = thought.until_given_up([leap.round for leap in game.leaps])
                values["given_up"] = len(game.leaps) - played
                game = replace(game, leaps=game.leaps[:played])
            return screen(template, up, thought=game, around=around, **values)
        return screen(
            "episode",
            up,
            calls=thought.calls(trace, used),
            parts=thought.fields(trace.score.parts),
            readings=results.readings(shelf.run, trace),
            row=shelf.rows[shelf.at(page_file(trace.sample, trace.repeat))],
            **values,
        )

    def sides_page(self, group: str, sample: str) -> Served:
        """Return every game on one sample, of which two are shown side by side."""
        games = {
            shelf: [place for place, row in enumerate(shelf.rows) if row.sample == sample]
            for shelf in self.readable_runs()[0]
            if shelf.group == group
        }
        played = [shelf for shelf, places in games.items() if places]
        around = thought.masked(played[0].samples.get(sample, {})) if played else None
        if around is None:
            raise LookupError(sample)
        most = max(1, MOST_SIDES // len(played))
        names = [shelf.name for shelf in played]
        sides = [_side(shelf, place) for shelf in played for place in games[shelf][:most]]
        return screen(
            "sides",
            "../../",
            sample=played[0].samples[sample],
            games=sides[:MOST_SIDES],
            runs=list(zip(names, told_apart([(shelf.label, shelf.name) for shelf in played]), strict=True)),
            total=sum(map(len, games.values())),
            around=around,
            picture=self.picture(played[0], sample),
        )

    def picture(self, shelf: Shelf, sample: str, size: Literal["picture", "thumb"] = "picture") -> str | None:
        """Return the address of a sample's picture; None unless it is the one that the run recorded."""
        name, folder = shelf.samples.get(sample, {}).get("image"), shelf.data
        if not isinstance(name, str) or folder is None:
            return None
        file = (folder / name).resolve()
        if not file.is_relative_to(folder) or not file.is_file():
            return None
        recorded = shelf.pictures.get(sample)
        try:
            if not recorded or recorded != sent_digest(file, shelf.run.config.max_image_px):
                return None
        except DataError:
            return None
        seen = file.stat()
        digest = hashlib.sha256(f"{file}:{seen.st_mtime_ns}:{seen.st_size}".encode()).hexdigest()
        self._pictures[digest] = file
        return f"{size}/{digest}.png"

    def addresses(self) -> Iterator[str]:
        """Yield the path of every page, then of every picture that they show."""
        yield "index.html"
        sides: dict[str, None] = {}
        for shelf in self.readable_runs()[0]:
            yield f"run/{shelf.name}.html"
            yield from (
                f"{what}/{shelf.name}.{kind}" for what in ("rows", "steps") for kind in ("csv", "jsonl")
            )
            for row in shelf.rows:
                yield f"game/{shelf.name}/{row.file}"
                yield f"said/{shelf.name}/{row.file}"
                if thought.masked(shelf.samples.get(row.sample, {})) is not None:
                    sides[f"sample/{shelf.group}/{row.sample}.html"] = None
            if _report(shelf):
                yield f"report/{shelf.name}.html"
        yield from sides
        yield from [f"{size}/{name}.png" for size in SIZES for name in self._pictures]


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
        # Files are all there is: a page for each two runs would be too many of them.
        gallery.live = False
        for path in gallery.addresses():
            body = gallery.get(path).body
            place = out / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(body)
            count, size = count + 1, size + len(body)
    except OSError as error:
        raise UsageError(f"--export {out}: {error.strerror}") from None
    return count, size


def _rows(shelf: Shelf, what: str, kind: str) -> Served:
    """Return the rows of a run as `lotbench export` writes them, a task each or a step each."""
    table = trace_rows.steps if what == "steps" else trace_rows.episodes
    rows = list(table(shelf.run.traces, shelf.name, shelf.label))
    media = "text/csv" if kind == "csv" else "application/x-ndjson"
    return Served(rows_as.text(rows, f".{kind}").encode(errors="replace"), media)


def _report(shelf: Shelf) -> Path | None:
    """Return the report of a run, if it can run nothing: the folder may be somebody else's."""
    page = shelf.run.path / "report.html"
    try:
        with open(page, "rb", opener=regular) as opened:
            return page if harmless(opened.read(500).decode(errors="replace")) else None
    except OSError:
        return None


def _boards(shelves: Sequence[Shelf]) -> tuple[list[home.Board], dict[str, str]]:
    """Return the leaderboards of runs that have ended, and what is wrong with those that can be on none."""
    entries, faults = [], {}
    for shelf in shelves:
        try:
            entries.append(shelf.entry)
        except Exception as error:  # noqa: BLE001 - as in `found`
            faults[shelf.name] = _fault(error)
    return home.boards(entries, {shelf.name: shelf.run.summary for shelf in shelves}), faults


def _fault(error: Exception) -> str:
    """Return what is wrong with a run folder."""
    return (
        str(error)
        if isinstance(error, LotbenchError)
        else f"not a run folder ({type(error).__name__}: {error})"
    )


def _side(shelf: Shelf, place: int) -> Mapping[str, Any]:
    """Return a game as it stands beside others on its sample."""
    trace = shelf.run.traces[place]
    return {
        "name": _side_name(shelf, trace.repeat),
        "run": shelf.name,
        "label": shelf.label,
        "trace": trace,
        "href": f"game/{shelf.name}/{page_file(trace.sample, trace.repeat)}",
        "leaps": thought.thought(trace, {}).leaps,
    }


def _side_name(shelf: Shelf, repeat: int) -> str:
    """Return what a game is called on the page of its sample."""
    return f"{shelf.name}-{repeat}"
