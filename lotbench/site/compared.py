"""Two runs on one page: what `lotbench compare` says of them, and their samples, those that differ most first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from lotbench.config.model_names import parse
from lotbench.errors import LotbenchError
from lotbench.report.html.page import Drawings
from lotbench.run.compare_runs import compare_runs
from lotbench.run.duel import last_look
from lotbench.site.run_summary import EpisodeRow, Shelf


@dataclass(frozen=True, slots=True)
class Line:
    """A sample, and what came of it in either run; None where a run has not played it so often."""

    sample: str
    repeat: int
    rows: tuple[EpisodeRow | None, EpisodeRow | None]

    @property
    def gap(self) -> float | None:
        """How far the second score lies above the first; None where one of them has none."""
        first, second = (row.score if row else None for row in self.rows)
        return None if first is None or second is None else second - first

    @property
    def differs(self) -> bool:
        """Whether the two came out differently."""
        first, second = self.rows
        return bool(self.gap) or first is None or second is None or first.outcome != second.outcome


def values(shelves: Sequence[Shelf], picture: Callable[[Shelf, str], str | None]) -> dict[str, Any]:
    """Return what the page of two runs shows; `picture` gives the address of a sample's."""
    why, comparison = "", None
    try:
        comparison = compare_runs([shelf.run for shelf in shelves])
    except LotbenchError as error:
        why = str(error)
    all_lines = sorted(_lines(*shelves), key=lambda line: (not line.differs, -abs(line.gap or 0.0)))
    return {
        "shelves": shelves,
        "said": comparison.said if comparison else (),
        "sections": comparison.sections if comparison else (),
        "why": why,
        "lines": all_lines,
        "differing": sum(line.differs for line in all_lines),
        "pictures": {line.sample: picture(shelves[0], line.sample) for line in all_lines},
        "drawn": Drawings(),
    }


def duels(shelves: Sequence[Shelf]) -> list[tuple[str, list[Shelf], list[str]]]:
    """Return the duels among runs that have ended: what was played and how far, the runs, and each pair in words.

    Runs of a duel play the same samples in an order that no data set has.
    """
    by_order: dict[tuple[object, ...], list[Shelf]] = {}
    for shelf in shelves:
        asked = shelf.run.config
        if parse(asked.model).kind != "human" and list(asked.samples) != sorted(asked.samples):
            by_order.setdefault((asked.benchmark, shelf.group, asked.samples), []).append(shelf)
    ended = []
    for runs in by_order.values():
        with suppress(LotbenchError):
            if len(runs) > 1 and (look := last_look([shelf.run for shelf in runs])):
                about = f"{runs[0].run.config.benchmark}, look {look.at} of {look.of}"
                ended.append((f"{about}, level {look.level:.2g}", runs, look.lines))
    return ended


def _lines(one: Shelf, other: Shelf) -> Iterator[Line]:
    """Yield the games of two runs, paired by sample and repeat, in the order of the first."""
    first, second = ({(row.sample, row.repeat): row for row in shelf.rows} for shelf in (one, other))
    for sample, repeat in {**first, **second}:
        yield Line(sample, repeat, (first.get((sample, repeat)), second.get((sample, repeat))))
