"""The page that compares two runs: the result of `lotbench compare`, and all episodes, those of both runs first."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from lotbench.errors import LotbenchError
from lotbench.report.html.page import Drawings
from lotbench.run.compare_runs import compare_runs
from lotbench.run.duel import last_look
from lotbench.site import home
from lotbench.site.run_summary import EpisodeRow, Shelf, page_file


@dataclass(frozen=True, slots=True)
class Line:
    """An episode's sample and repeat, and its row in each of two runs; None where a run has not played it."""

    sample: str
    repeat: int
    rows: tuple[EpisodeRow | None, EpisodeRow | None]

    @property
    def file(self) -> str:
        """The file name of the page with both episodes."""
        return page_file(self.sample, self.repeat)

    @property
    def gap(self) -> float | None:
        """The first run's score minus the second's; None if either has no score."""
        first, second = (row.score if row else None for row in self.rows)
        return None if first is None or second is None else first - second

    @property
    def differs(self) -> bool:
        """Whether the two episodes differ in score or outcome, or one run has not played it."""
        first, second = self.rows
        return bool(self.gap) or first is None or second is None or first.outcome != second.outcome


def values(shelves: Sequence[Shelf], picture: Callable[[Shelf, str], str | None]) -> dict[str, Any]:
    """Return the template values of the page that compares two runs.

    Args:
        shelves: The two runs.
        picture: Returns the address of a sample's picture, given the run and the sample id; None without a picture.
    """
    why, comparison, board = "", None, None
    with suppress(LotbenchError, ValueError):
        # Runs of two benchmarks, and runs that have not ended, have no table.
        [board] = home.boards([shelf.entry for shelf in shelves])
    try:
        comparison = compare_runs([shelf.run for shelf in shelves])
    except LotbenchError as error:
        why = str(error)
    said = comparison.said if comparison else ()
    provisional, _, title = said[0].rpartition("): ") if said else ("", "", "")
    all_lines = lines(*shelves)
    return {
        "shelves": shelves,
        "title": title,
        "notes": [provisional and f"{provisional}).", *said[1:]],
        "board": board,
        "pairs": [pair for ranking in comparison.boards for pair in ranking.pairs] if comparison else (),
        "sections": comparison.sections if comparison else (),
        "why": why,
        "lines": all_lines,
        "differing": sum(line.differs for line in all_lines if None not in line.rows),
        "alone": sum(None in line.rows for line in all_lines),
        "pictures": {line.sample: picture(shelves[0], line.sample) for line in all_lines},
        "drawn": Drawings(),
    }


def duels(shelves: Sequence[Shelf]) -> list[tuple[str, list[Shelf], list[str]]]:
    """Return the duels among ended runs, each as a title, its runs, and a sentence for each pair of models.

    Runs belong to one duel if their run.json names the same one.
    """
    by_name: dict[str, list[Shelf]] = {}
    for shelf in shelves:
        if shelf.run.duel:
            by_name.setdefault(shelf.run.duel, []).append(shelf)
    ended = []
    for runs in by_name.values():
        with suppress(LotbenchError):
            if len(runs) > 1 and (look := last_look([shelf.run for shelf in runs])):
                about = f"{runs[0].run.config.benchmark}, comparison {look.at} of {look.of}"
                ended.append((about, runs, look.lines))
    return ended


def lines(*shelves: Shelf) -> list[Line]:
    """Return the episodes of two runs, paired by sample and repeat; the largest differences first, those of one run last."""
    first, second = ({(row.sample, row.repeat): row for row in shelf.rows} for shelf in shelves)
    paired = [Line(*key, (first.get(key), second.get(key))) for key in {**first, **second}]
    return sorted(paired, key=lambda line: (None in line.rows, not line.differs, -abs(line.gap or 0.0)))
