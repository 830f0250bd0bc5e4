"""The pages of a runs folder: what is asked for is read from disk then, and nothing outside the folder is shown.

A run is known by its name in the folder's list, never by a path; a picture by the digest of its bytes. What
is kept in memory of a run are its walks without their steps, until its files change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any

from lotbench.edge.pictures.picture_file import encoded
from lotbench.edge.serve import Served
from lotbench.errors import LotbenchError, UsageError
from lotbench.site import game_rounds as thought
from lotbench.site import run_tables
from lotbench.site.annotations import Annotations
from lotbench.site.page import Screen, screen
from lotbench.site.run_summary import Shelf, read_run, stamp
from lotbench.types import JSON, Trace

MAX_PX = 1024


@dataclass
class Gallery:
    """The pages of the runs in a folder.

    Args:
        root: The folder of runs.
        annotations: Where marks on verdicts go; none in an export.
    """

    root: Path
    annotations: Annotations | None = None
    _shelves: dict[str, Shelf] = field(default_factory=dict)
    _unreadable: dict[str, str] = field(default_factory=dict)
    _pictures: dict[str, Path] = field(default_factory=dict)
    _digests: dict[tuple[Path, int], str] = field(default_factory=dict)
    _boards: tuple[object, list[run_tables.Board]] | None = None
    _lock: RLock = field(default_factory=RLock)

    def get(self, path: str) -> Served:
        """The page or picture at a path."""
        with self._lock:
            parts = path.split("/")
            match parts:
                case [""] | ["index.html"]:
                    return served(self.index())
                case ["run", file] if file.endswith(".html"):
                    return served(self.run_page(self.shelf(file.removesuffix(".html"))))
                case ["game", name, file] if file.endswith(".html"):
                    return served(self.game_page(self.shelf(name), file))
                case ["sample", group, file] if file.endswith(".html"):
                    return served(self.sides_page(group, file.removesuffix(".html")))
                case ["picture", file] if file.removesuffix(".png") in self._pictures:
                    path_of = self._pictures[file.removesuffix(".png")]
                    return Served(encoded(path_of, MAX_PX), "image/png", lasting=True)
            raise LookupError(path)

    async def post(self, path: str, sent: object) -> Mapping[str, JSON]:
        """Keep what a person says of a verdict."""
        if path != "annotate" or self.annotations is None:
            raise LookupError(path)
        return {"said": self.annotations.add(self, sent)}

    def trace(self, run: str, sample: str, repeat: int) -> Trace:
        """A walk; raises LookupError if there is none."""
        shelf = self.shelf(run)
        if (sample, repeat) not in shelf.games:
            raise LookupError(sample)
        return shelf.traces[shelf.traces.names.index((sample, repeat))]

    def names(self) -> list[str]:
        """The names of the run folders, the last begun first; none that leads out of the folder."""
        home = self.root.resolve()
        found = [
            place.parent.name
            for place in self.root.glob("*/run.json")
            if place.resolve().is_relative_to(home)
        ]
        return sorted(found, reverse=True)

    def shelves(self) -> list[Shelf]:
        """Every run that can be read."""
        found = []
        self._unreadable.clear()
        for name in self.names():
            try:
                found.append(self.shelf(name))
            except LotbenchError as error:
                self._unreadable[name] = str(error)
            except Exception as error:  # noqa: BLE001 - a folder that somebody else wrote must not hide the others
                self._unreadable[name] = f"not a run folder ({type(error).__name__}: {error})"
        return found

    def shelf(self, name: str) -> Shelf:
        """A run by its name.

        Raises:
            LookupError: There is none of that name.
            UsageError: It cannot be read.
        """
        if name not in self.names():
            raise LookupError(name)
        path = self.root / name
        if name not in self._shelves or self._shelves[name].stamp != stamp(path):
            self._shelves[name] = read_run(path)
        return self._shelves[name]

    def index(self) -> Screen:
        """The leaderboards, the runs that stand apart, and all runs."""
        shelves = self.shelves()
        apart = [
            {
                "run": one.name,
                "label": one.label,
                "benchmark": one.run.config.benchmark,
                "score": one.run.score(),
                "reasons": one.entry.reasons,
            }
            for one in shelves
            if one.entry is not None and one.entry.reasons
        ]
        runs = [
            {
                "run": one.name,
                "benchmark": one.run.config.benchmark,
                "label": one.label,
                "walks": len(one.games),
                "state": one.state,
            }
            for one in shelves
        ]
        return screen(
            "index",
            boards=self._ranked(shelves),
            apart=apart,
            runs=runs,
            unreadable=sorted(self._unreadable.items()),
        )

    def _ranked(self, shelves: list[Shelf]) -> list[run_tables.Board]:
        """The leaderboards; worked out anew when a run has changed."""
        stamps = [(one.name, one.stamp) for one in shelves]
        if self._boards is None or self._boards[0] != stamps:
            entries = [one.entry for one in shelves if one.entry is not None]
            self._boards = (stamps, run_tables.boards(entries))
        return self._boards[1]

    def run_page(self, shelf: Shelf) -> Screen:
        """A run: what it came to, and its walks."""
        games = list(shelf.games.values())
        summary = shelf.run.summary
        scores = summary.get("scores", {})
        name = next(iter(scores), None)
        return screen(
            "run",
            "../",
            name=shelf.name,
            label=shelf.label,
            benchmark=shelf.run.config.benchmark,
            reasons=summary.get("reasons", ()),
            score={"name": name, **scores[name]} if name else None,
            roles=list(summary.get("models", {}).items()),
            games=games,
            filters=run_tables.filters(games),
        )

    def game_page(self, shelf: Shelf, file: str) -> Screen:
        """A walk: a game as a thought trace, anything else step by step."""
        files = [one.file for one in shelf.games.values()]
        if file not in files:
            raise LookupError(file)
        at = files.index(file)
        known, trace = self.known(shelf, list(shelf.games)[at])
        known["before"] = files[at - 1] if at else None
        known["after"] = files[at + 1] if at + 1 < len(files) else None
        known["beside"] = f"sample/{shelf.group}/{trace.sample}.html"
        known["marks"] = self.annotations.marks(shelf.name, trace) if self.annotations else {}
        known["live"] = self.annotations is not None
        return self.told(shelf, trace, "../../", "game", known)

    def known(self, shelf: Shelf, key: tuple[str, int]) -> tuple[dict[str, Any], Trace]:
        """What is shown of a walk whatever it is a walk of, and its trace."""
        trace = shelf.traces[shelf.traces.names.index(key)]
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
            "marks": {},
        }
        return values, trace

    def told(self, shelf: Shelf, trace: Trace, up: str, template: str, known: Mapping[str, Any]) -> Screen:
        """A game as a thought trace, a walk of anything else step by step."""
        around = thought.masked(known["sample"])
        if around is None:
            steps = thought.calls(trace, shelf.used)
            return screen("walk", up, calls=steps, parts=thought.fields(trace.score.parts), **known)
        return screen(template, up, thought=thought.thought(trace, shelf.used), around=around, **known)

    def sides_page(self, group: str, sample: str) -> Screen:
        """Every game on one sample, of which two are shown side by side."""
        found = [
            (one, key)
            for one in self.shelves()
            if one.group == group
            for key in one.games
            if key[0] == sample
        ]
        if not found:
            raise LookupError(sample)
        games = []
        for shelf, key in found:
            trace = shelf.traces[shelf.traces.names.index(key)]
            games.append(
                {
                    "label": shelf.label,
                    "repeat": key[1],
                    "outcome": trace.outcome,
                    "score": trace.score.value,
                    "href": f"game/{shelf.name}/{shelf.games[key].file}",
                    "leaps": thought.thought(trace, {}).leaps,
                }
            )
        first, told = found[0][0], found[0][0].samples[sample]
        around = thought.masked(told)
        if around is None:
            raise LookupError(sample)
        picture = self.picture(first, told)
        return screen("sides", "../../", sample=told, games=games, around=around, picture=picture)

    def picture(self, shelf: Shelf, sample: Mapping[str, Any]) -> str | None:
        """The address of a sample's picture, named by its content; None if it is not there to be shown."""
        name, folder = sample.get("image"), shelf.data
        if not isinstance(name, str) or folder is None:
            return None
        file = (folder / name).resolve()
        if not file.is_relative_to(folder.resolve()) or not file.is_file():
            return None
        place = (file, file.stat().st_mtime_ns)
        if place not in self._digests:
            try:
                self._digests[place] = hashlib.sha256(encoded(file, MAX_PX)).hexdigest()
            except UsageError:
                return None
        self._pictures[self._digests[place]] = file
        return f"picture/{self._digests[place]}.png"

    def addresses(self) -> Iterator[str]:
        """The path of every page, then of every picture that they show."""
        yield "index.html"
        sides: dict[str, None] = {}
        for shelf in self.shelves():
            yield f"run/{shelf.name}.html"
            for (sample, _), game in shelf.games.items():
                yield f"game/{shelf.name}/{game.file}"
                if thought.masked(shelf.samples.get(sample, {})) is not None:
                    sides[f"sample/{shelf.group}/{sample}.html"] = None
        yield from sides
        yield from (f"picture/{name}.png" for name in list(self._pictures))


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


def served(page: Screen) -> Served:
    """A page as it is sent."""
    return Served(page.html.encode(errors="replace"), policy=page.policy)
