"""The pages of a runs folder. Files are read when a page needs them, and no request can name a path on the disk.

A run is requested by its name in the list of the folder, a picture by a digest of its file's path, time and size. Memory
holds a row and the text of the trace for each episode of a run, until its files change. That is fast enough for runs of
5,000 games, and slow for longer ones.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from os.path import isfile
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from lotbench import benchmarks
from lotbench.config.model_names import parse
from lotbench.errors import DataError, LotbenchError, UsageError
from lotbench.regular_file import regular
from lotbench.report import trace_rows
from lotbench.report.bounds import in_words
from lotbench.report.html.page import harmless
from lotbench.report.leaderboard import short_name, told_apart
from lotbench.run.calling import CALLS
from lotbench.run.loading import check_command, readings
from lotbench.site import compared, home, said
from lotbench.site import game_rounds as thought
from lotbench.site.page import FRAMES, Served, screen
from lotbench.site.run_summary import Shelf, page_file, read_run, stamp
from lotbench.storage import atomic_write
from lotbench.storage import export as rows_as
from lotbench.storage.datasets import inside, sent_digest
from lotbench.storage.pictures.picture_file import encoded
from lotbench.types import JSON, Trace

SIZES = {"picture": 1024, "thumb": 112}
"""The maximum width and height of a picture in pixels, by the folder in its address."""
STRIP = 6
"""The maximum number of pictures beside a table of the home page."""
HELD = 512
"""The maximum number of runs in memory, with the text of their traces; those viewed last are kept."""
GAME = re.compile(r"(?<=<p class=\"quiet\">)sample ([\w.-]+), repeat (\d+)(?=</p>)")
"""The sample and repeat of a game in a report, as its page has them."""
REPORT_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; sandbox allow-downloads"
    + FRAMES
)
"""The content security policy of a run's report: it runs no script, whoever wrote the report."""


class Gallery:
    """The pages of the runs in a folder.

    Args:
        root: The folder of runs.
        held: The maximum number of runs in memory.
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
        """Return the page or picture at a path; a run is read at its first use, and again after its files have changed.

        Raises:
            LookupError: There is no such page or picture.
            UsageError: The run cannot be read.
        """
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
                return self.compared_page(self.two(first, second))
            case ["html", "compare", first, second, file]:
                return self.both_page(self.two(first, second), f"{file}.html")
            case ["csv" | "jsonl", "rows" | "steps" as what, name]:
                return _rows(self.shelf(name), what, kind)
            case ["html", "report", name] if report := _report(self.shelf(name)):
                # The report is a page in its own style that runs no script: only a link leads back.
                back = f'<header><p class="kind"><a href="../run/{quote(name)}.html">Back to the run</a></p></header>'
                page = report.read_text("utf-8", "replace").replace("<body>", "<body>" + back, 1)
                linked = rf'<a href="../game/{quote(name)}/\1-\2.html">\g<0></a>'
                return Served(GAME.sub(linked, page).encode(), policy=REPORT_POLICY)
            case ["png", size, name] if size in SIZES and name in self._pictures:
                return Served(encoded(self._pictures[name], SIZES[size]), "image/png", lasting=True)
        raise LookupError(path)

    async def post(self, path: str, sent: object) -> Mapping[str, JSON]:
        """Refuse any message with a LookupError: these pages take none."""
        raise LookupError(path)

    def names(self) -> list[str]:
        """Return the names of the run folders, the latest first; a link that leads out of the root folder is left out."""
        names = (place.parent.name for place in self.root.glob("*/run.json"))
        return sorted(filter(self._is_ours, names), reverse=True)

    def _is_ours(self, name: str) -> bool:
        place = self.root / name / "run.json"
        return "/" not in name and inside(place, self.root) and isfile(place)

    def readable_runs(self) -> tuple[list[Shelf], dict[str, str]]:
        """Return all runs that can be read, and for the others the reason why not, by name."""
        shelves: list[Shelf] = []
        unreadable: dict[str, str] = {}
        for name in self.names():
            try:
                shelves.append(self.shelf(name))
            except Exception as error:  # noqa: BLE001 - a folder that somebody else wrote must not hide the others
                unreadable[name] = _fault(error)
        return shelves, unreadable

    def shelf(self, name: str) -> Shelf:
        """Return the run with this folder name, with its rows.

        Raises:
            LookupError: There is no run of that name.
            UsageError: The run cannot be read.
        """
        if not self._is_ours(name):
            raise LookupError(name)
        path = self.root / name
        return self._read(path, stamp(path))

    def index(self) -> Served:
        """Return the home page: tables of the runs that have ended, duels, and lists of the other runs."""
        shelves, unreadable = self.readable_runs()
        ended = {shelf.name: shelf for shelf in shelves if shelf.run.summary}
        boards, faults = self._boards(tuple(ended.values()))
        return screen(
            "index",
            live=self.live,
            boards=boards,
            duels=self._duels(tuple(ended.values())),
            across=home.across(boards),
            words={board.benchmark: benchmarks.metric_words(board.benchmark) for board in boards},
            pictures={board.benchmark: self._strip(ended[board.rows[0].run]) for board in boards},
            reports={name for name, shelf in ended.items() if _report(shelf)},
            read=self._worth_reading([ended[row.run] for board in boards for row in board.rows]),
            unended=[shelf for shelf in shelves if not shelf.run.summary],
            unreadable=sorted({**unreadable, **faults}.items()),
        )

    def _worth_reading(self, shelves: Sequence[Shelf]) -> dict[str, Any] | None:
        """Return a game of the first run for the home page, None without games.

        Games in the language of most samples come first, of these the ones with two or three rounds, then those solved last.
        """
        for shelf in shelves:
            if shelf.played and shelf.rows:
                spoken = [str(shelf.samples.get(row.sample, {}).get("language")) for row in shelf.rows]
                most = Counter(spoken).most_common(1)[0][0]
                rows = [row for row, language in zip(shelf.rows, spoken, strict=True) if language == most]
                row = max(rows, key=lambda row: (row.solved in (2, 3), row.solved or 0))
                picture, label = self.picture(shelf, row.sample), short_name(shelf.label)
                return {"shelf": shelf, "row": row, "picture": picture, "label": label}
        return None

    def _strip(self, shelf: Shelf) -> list[str]:
        """Return the addresses of at most `STRIP` different thumbnails of a run's first samples."""
        pictures = (self.picture(shelf, row.sample, "thumb") for row in shelf.rows[: STRIP * 8])
        return list(islice(dict.fromkeys(filter(None, pictures)), STRIP))

    def run_page(self, shelf: Shelf) -> Served:
        """Return the page of a run: its score, trust and cost, and its episodes."""
        summary = shelf.run.summary
        name = summary.get("primary_metric")
        score = summary.get("scores", {}).get(name)
        badge = home.badge(summary.get("reasons"))
        boards: Sequence[home.Board] = ()
        with suppress(LotbenchError):
            boards = home.boards([shelf.entry])
        return screen(
            "run",
            "../",
            shelf=shelf,
            metric=name,
            words=benchmarks.metric_words(shelf.run.config.benchmark).get(str(name), ""),
            score=score,
            bounds=in_words(score.get("bounds", {})) if score else None,
            badge=badge,
            board=boards[0] if boards else None,
            commands={why: check_command(shelf.run.config, [why]) for why in badge.why},
            solved=dict(sorted(Counter(row.solved for row in shelf.rows if row.solved).items())),
            tally=sorted(Counter(row.outcome for row in shelf.rows).items()),
            date=home.start_time(shelf.name),
            report=_report(shelf) is not None,
            pictures={sample: self.picture(shelf, sample, "thumb") for sample in shelf.samples},
        )

    def two(self, first: str, second: str) -> tuple[Shelf, Shelf]:
        """Return the runs with these folder names, to compare them; raises UsageError if they are one run, and as `shelf`."""
        if first == second:
            raise UsageError("A run is not compared with itself. Tick two runs on the home page.")
        return self.shelf(first), self.shelf(second)

    def compared_page(self, shelves: tuple[Shelf, Shelf]) -> Served:
        """Return the page that compares two runs."""
        names = told_apart([(shelf.label, shelf.name) for shelf in shelves])
        values = compared.values(shelves, lambda shelf, sample: self.picture(shelf, sample, "thumb"))
        return screen("compare", "../../", names=names, **values)

    def both_page(self, shelves: tuple[Shelf, Shelf], file: str) -> Served:
        """Return the page with the episodes of two runs side by side, given its file name.

        Raises:
            LookupError: Neither run has such an episode.
        """
        lines = compared.lines(*shelves)
        place = next((at for at, line in enumerate(lines) if line.file == file), None)
        if place is None:
            raise LookupError(file)
        sides = []
        values: dict[str, Any] = {}
        for shelf, row in zip(shelves, lines[place].rows, strict=True):
            trace = shelf.run.traces[shelf.at(file)] if row else None
            game = self._game(shelf, trace) if trace and shelf.played else {"thought": None}
            sides.append({"shelf": shelf, "row": row, "trace": trace} | game)
            values = values or (self.episode_values(shelf, trace) if trace else {})
        return screen(
            "both",
            "../../../",
            names=told_apart([(shelf.label, shelf.name) for shelf in shelves]),
            sides=sides,
            place=place,
            lines=lines,
            **values,
        )

    def game_page(self, shelf: Shelf, file: str) -> Served:
        """Return the page of an episode, given the file name of the page, with links to its neighbours.

        Raises:
            LookupError: The run has no such episode.
        """
        others = [one for one in self.readable_runs()[0] if one.group == shelf.group and one is not shelf]
        names = told_apart([(one.label, one.name) for one in others])
        links = {
            "said": f"../../said/{quote(shelf.name)}/{quote(file)}",
            "listed": [row for rows in shelf.games.values() for row in rows],
            "live": self.live,
            "others": list(zip(names, others, strict=True)),
        }
        return self.episode_page(shelf, shelf.run.traces[shelf.at(file)], "../../", "game", links)

    def said_page(self, shelf: Shelf, file: str) -> Served:
        """Return the page with the messages and replies of an episode, call by call; `file` is its file name."""
        trace = shelf.run.traces[shelf.at(file)]
        calls, missing = said.episode_calls(shelf.run, trace)
        return screen(
            "said", "../../", calls=calls, missing=missing, file=file, **self.episode_values(shelf, trace)
        )

    def episode_values(self, shelf: Shelf, trace: Trace) -> dict[str, Any]:
        """Return the template values that the pages of all benchmarks' episodes need."""
        sample = shelf.samples.get(trace.sample, {"id": trace.sample})
        return {
            "shelf": shelf,
            "trace": trace,
            "row": shelf.rows[shelf.at(page_file(trace.sample, trace.repeat))],
            "sample": {"caption": None, **sample},
            "around": thought.masked(sample),
            "fields": thought.fields(sample, ("id", "image", "canary")),
            "picture": self.picture(shelf, trace.sample),
            "badge": home.badge(shelf.run.summary.get("reasons")),
            "in_blank": thought.in_blank,
        }

    def episode_page(
        self, shelf: Shelf, trace: Trace, up: str, template: str, links: Mapping[str, Any]
    ) -> Served:
        """Return the page of an episode: a game round by round, an episode of another benchmark step by step.

        Args:
            shelf: The run.
            trace: The trace of the episode.
            up: The relative address of the site's root, seen from the page.
            template: The template for a game.
            links: The address of the messages (`said`), the rows of the run (`listed`), the other runs on the data with names (`others`);
                empty for a page that stands alone.
        """
        values = self.episode_values(shelf, trace) | {"links": links}
        if values["around"] is not None:
            return screen(template, up, **values, **self._game(shelf, trace))
        entries = said.entries(shelf.run.path / CALLS, trace)
        return screen(
            "episode",
            up,
            calls=thought.calls(trace, {key: entry.reply.usage for key, entry in entries.items()}),
            parts=thought.fields(trace.score.parts),
            readings=readings(shelf.run, trace),
            **values,
        )

    def _game(self, shelf: Shelf, trace: Trace) -> dict[str, Any]:
        """Return the template values of a game; `given_up` counts its last rounds that are left out, since a person had given up."""
        entries = said.entries(shelf.run.path / CALLS, trace)
        game = thought.thought(trace, {key: entry.reply.usage for key, entry in entries.items()})
        human = parse(shelf.run.config.model).kind == "human"
        played = thought.until_given_up([leap.round for leap in game.leaps]) if human else len(game.leaps)
        return {
            "thought": replace(game, leaps=game.leaps[:played]),
            "given_up": len(game.leaps) - played,
            "replies": {key: thought.words(entry.reply.text) for key, entry in entries.items()},
        }

    def picture(self, shelf: Shelf, sample: str, size: Literal["picture", "thumb"] = "picture") -> str | None:
        """Return the address of a sample's picture; None if there is no file, or not with the digest that the run recorded."""
        name, folder = shelf.samples.get(sample, {}).get("image"), shelf.data
        if not isinstance(name, str) or folder is None or not inside(folder / name, folder):
            return None
        file, recorded = (folder / name).resolve(), shelf.pictures.get(sample)
        try:
            if not recorded or recorded != sent_digest(file, shelf.run.config.max_image_px):
                return None
            seen = file.stat()
        except (DataError, OSError):
            return None
        digest = hashlib.sha256(f"{file}:{seen.st_mtime_ns}:{seen.st_size}".encode()).hexdigest()
        self._pictures[digest] = file
        return f"{size}/{digest}.png"

    def addresses(self) -> Iterator[str]:
        """Yield the paths of all pages except comparisons of two runs, then of all pictures on pages that were made so far."""
        yield "index.html"
        for shelf in self.readable_runs()[0]:
            yield f"run/{shelf.name}.html"
            yield from (
                f"{what}/{shelf.name}.{kind}" for what in ("rows", "steps") for kind in ("csv", "jsonl")
            )
            for row in shelf.rows:
                yield from (f"{what}/{shelf.name}/{row.file}" for what in ("game", "said"))
            if _report(shelf):
                yield f"report/{shelf.name}.html"
        yield from [f"{size}/{name}.png" for size in SIZES for name in self._pictures]


def export(gallery: Gallery, out: Path) -> tuple[int, int, list[str]]:
    """Write the pages and pictures of a gallery as files, without comparisons of two runs; sets `gallery.live` to False.

    Returns:
        The number of files, their bytes, and the pages that cannot be made, each with the reason.

    Raises:
        UsageError: The folder is not empty.
        OSError: It cannot be written to.
    """
    count, size, faults = 0, 0, []
    if out.exists() and any(out.iterdir()):
        raise UsageError(f"--export {out}: is not empty")
    # Each two runs would need a file of their own, which would be too many.
    gallery.live = False
    for path in gallery.addresses():
        try:
            body = gallery.get(path).body
        except Exception as error:  # noqa: BLE001 - as in `readable_runs`
            faults.append(f"{path}: {_fault(error)}")
            continue
        atomic_write.write(out / path, body)
        count, size = count + 1, size + len(body)
    return count, size, faults


def _rows(shelf: Shelf, what: str, kind: str) -> Served:
    """Return the rows of a run as `lotbench export` writes them.

    Args:
        shelf: The run.
        what: `steps` for a row per step, else a row per episode.
        kind: `csv`, or `jsonl`.
    """
    table = trace_rows.steps if what == "steps" else trace_rows.episodes
    rows = list(table(shelf.run.traces, shelf.name, shelf.label))
    media = "text/csv" if kind == "csv" else "application/x-ndjson"
    return Served(rows_as.text(rows, f".{kind}").encode(errors="replace"), media)


def _report(shelf: Shelf) -> Path | None:
    """Return the path of a run's report.html; None if there is none or it may run scripts: a folder may be somebody else's."""
    page = shelf.run.path / "report.html"
    try:
        with open(page, "rb", opener=regular) as opened:
            return page if harmless(opened.read(500).decode(errors="replace")) else None
    except OSError:
        return None


def _boards(shelves: Sequence[Shelf]) -> tuple[list[home.Board], dict[str, str]]:
    """Return the tables of runs that have ended, and by name the faults of runs that cannot be in a table."""
    entries, faults = [], {}
    for shelf in shelves:
        try:
            entries.append(shelf.entry)
        except Exception as error:  # noqa: BLE001 - as in `readable_runs`
            faults[shelf.name] = _fault(error)
    return home.boards(entries, {shelf.name: shelf.run.summary for shelf in shelves}), faults


def _fault(error: Exception) -> str:
    """Return the reason why a run folder cannot be used, as text."""
    kind = type(error).__name__
    return str(error) if isinstance(error, LotbenchError) else f"not a run folder ({kind}: {error})"
