"""How others did on a sample: the games of models and of other people that were played and judged alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from lotbench.benchmarks.lotbench.games import game
from lotbench.edge.files import run_folder
from lotbench.errors import LotbenchError
from lotbench.run.loading import load_run
from lotbench.site.run_summary import stamp
from lotbench.types import Trace

PEOPLE = "human:"


@dataclass(frozen=True, slots=True)
class Standing:
    """How one model, or people together, did on a sample: each game's round of the solve, None where it has none.

    `name` is empty where it is people.
    """

    name: str
    rounds: tuple[int | None, ...]

    @property
    def solved(self) -> list[int]:
        """The rounds of the games that were solved."""
        return sorted(one for one in self.rounds if one is not None)

    @property
    def round(self) -> float | None:
        """The round of the middle one of the games that were solved."""
        return median(self.solved) if self.solved else None


@dataclass
class Others:
    """The games in the runs of a folder, by sample; a run is read again only when its files change."""

    root: Path
    _read: dict[Path, tuple[object, Mapping[str, tuple[int | None, ...]]]] = field(default_factory=dict)

    def on(self, sample: str, mine: Path) -> list[Standing]:
        """How others did on a sample in runs that were set and judged as one's own was, the fewest rounds first."""
        own = _conditions(mine)
        models: list[Standing] = []
        people: list[int | None] = []
        for place in sorted(self.root.glob("*/run.json")):
            path = place.parent
            if path == mine or (theirs := _conditions(path)) is None or theirs[1:] != (own or ())[1:]:
                continue
            rounds = self._rounds(path).get(sample, ())
            if theirs[0].startswith(PEOPLE):
                people += rounds
            elif rounds:
                models.append(Standing(theirs[0].partition("@http")[0], rounds))
        found = [*models, *([Standing("", tuple(people))] if people else [])]
        return sorted(found, key=lambda one: (one.round is None, one.round or 0, one.name))

    def _rounds(self, path: Path) -> Mapping[str, tuple[int | None, ...]]:
        now = stamp(path)
        if path not in self._read or self._read[path][0] != now:
            self._read[path] = now, _rounds(path)
        return self._read[path][1]


def solved_round(trace: Trace) -> int | None:
    """The round that solved a game; None where none did."""
    try:
        return game(trace).solved
    except LotbenchError:
        return None


def _conditions(path: Path) -> tuple[Any, ...] | None:
    """The candidate of a run, and what must be alike for its rounds to be held against another's."""
    try:
        table = run_folder.read_json(path / "run.json")
        asked = table["experiment"]
        digests = table["digests"]
        return (
            asked["model"],
            asked["benchmark"],
            asked["settings"],
            asked["roles"],
            digests["prompts"],
            asked["data"],
        )
    except (LotbenchError, KeyError, TypeError, OSError):
        return None


def _rounds(path: Path) -> Mapping[str, tuple[int | None, ...]]:
    found: dict[str, list[int | None]] = {}
    try:
        traces: Sequence[Trace] = load_run(path).traces
        for trace in traces:
            # A game that broke off says nothing of how far its player was from the answer.
            if not trace.outcome.endswith("_failed"):
                found.setdefault(trace.sample, []).append(solved_round(trace))
    except LotbenchError:
        return {}
    return {sample: tuple(rounds) for sample, rounds in found.items()}
