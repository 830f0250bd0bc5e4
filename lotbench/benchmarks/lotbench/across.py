"""Several runs of the game side by side: what each solved before any clue, and whose first guesses are key texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lotbench.benchmarks.lotbench.clues import stages
from lotbench.benchmarks.lotbench.contamination import openings
from lotbench.benchmarks.lotbench.games import Game, game
from lotbench.benchmarks.lotbench.rules import Rules
from lotbench.harness.benchmark import Runs
from lotbench.metrics.proportion import proportion
from lotbench.report.report import interval
from lotbench.report.sections import Section, Table

Cell = str | float | int | None


def across(runs: Runs) -> Sequence[Section]:
    """One section: a row a run."""
    played = {name: [game(trace) for trace in traces] for name, (traces, _) in runs.items()}
    known = {name: {sample for hit, sample in openings(games).first if hit} for name, games in played.items()}
    by = Counter(sample for samples in known.values() for sample in samples)
    rows = tuple(
        (
            name,
            *_before_clues(games, runs[name][1]),
            *_key_texts(games),
            sum(by[sample] == 1 for sample in known[name]),
        )
        for name, games in played.items()
    )
    columns = (
        "run", "solves before any clue", "95 %", "first guesses that are the key text", "95 % of it", "samples",
        "known to this run alone",
    )  # fmt: skip
    notes = (
        "Of the solved games, those that were solved before any clue was shown; and of the first guesses, with neither "
        "question nor clue to go by, those that are the very key text, on so many samples.",
        "A sample whose key text several models say at once is easy to say; one that alone says many may have seen them.",
    )
    return (Section("Clues and key texts by run", notes, (Table(columns, rows),)),)


def _before_clues(games: Sequence[Game], rules: Rules) -> tuple[Cell, Cell]:
    wins = [
        (at == 0, sample)
        for at, one in enumerate(stages(games, rules))
        for _, hit, sample in one.tries
        if hit
    ]
    share = proportion(wins)
    return share.value, interval(share)


def _key_texts(games: Sequence[Game]) -> tuple[Cell, Cell, Cell]:
    first = openings(games).first
    share = proportion(first)
    return share.value, interval(share), len({sample for hit, sample in first if hit})
