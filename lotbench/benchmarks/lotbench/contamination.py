"""A sign that a model knew a sample before: its first guess, with no question or clue yet, is the very key text.

A leap has many good wordings, and people's is one of them. Who works the sample out comes upon that wording now and
then, and rather late, when questions and clues have narrowed it down; who remembers it has it at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from lotbench.benchmarks.lotbench.games import Game
from lotbench.harness.evidence import Evidence
from lotbench.metrics.proportion import proportion, told
from lotbench.report.report import interval
from lotbench.report.sections import Section, Table
from lotbench.types import JSON, Metric

TITLE = "Contamination"
SHOWN = 20
"""Samples that are named; the numbers of summary.json have all."""
CHANCE = 0.01
"""The chance below which the wording of first solves is called a sign."""


@dataclass(frozen=True, slots=True)
class Openings:
    """The first fillings of games, and the solves by when they came: whether each is the key text, and its sample.

    Attributes:
        first: The first filling of each game that has one.
        solved_first: The fillings that solved their game at the first attempt; `solved_later` the others that did.
        chance: The chance that samples solved at the first attempt have the key text so often, if they are worded as
            those solved later are (Fisher's exact test, one-sided); each sample counts once, by the first of its
            games that was solved. None where one of the two kinds is missing.
    """

    first: tuple[tuple[bool, str], ...]
    solved_first: tuple[tuple[bool, str], ...]
    solved_later: tuple[tuple[bool, str], ...]
    chance: float | None

    @property
    def always(self) -> list[str]:
        """Samples of which every game, of two or more, opens with the key text."""
        by_sample = _by_sample(self.first)
        return sorted(name for name, hits in by_sample.items() if len(hits) > 1 and all(hits))


def openings(games: Iterable[Game]) -> Openings:
    """Read the openings of games; a round in which no filling came is no attempt."""
    first: list[tuple[bool, str]] = []
    solves: dict[bool, list[tuple[bool, str]]] = {True: [], False: []}
    once: dict[str, tuple[bool, bool]] = {}
    for one in sorted(games, key=lambda game: (game.sample, game.repeat)):
        rounds = {each.number: each for each in one.rounds}
        if 1 in rounds and rounds[1].status == "ok":
            first.append((rounds[1].decision == "exact", one.sample))
        if one.solved is not None:
            exact, at_once = rounds[one.solved].decision == "exact", one.solved == 1
            solves[at_once].append((exact, one.sample))
            once.setdefault(one.sample, (at_once, exact))
    return Openings(tuple(first), tuple(solves[True]), tuple(solves[False]), _chance(once.values()))


def _chance(solves: Iterable[tuple[bool, bool]]) -> float | None:
    """Of samples by whether they were solved at the first attempt, and with the key text."""
    found = list(solves)
    counts = [[found.count((at_once, exact)) for exact in (True, False)] for at_once in (True, False)]
    if not all(map(sum, counts)):
        return None
    return float(scipy.stats.fisher_exact(np.array(counts), alternative="greater").pvalue)


def contamination(games: Sequence[Game], evidence: Evidence) -> Section:
    """How often the very key text was said, at once and later, and on which samples at once."""
    found = openings(games)
    kinds = (
        ("first guesses that are the key text", found.first),
        ("of the games solved at the first attempt: with the key text", found.solved_first),
        ("of the games solved later: with the key text", found.solved_later),
    )
    shares = [proportion(trials) for _, trials in kinds]
    rows = tuple(
        (name, sum(hit for hit, _ in trials), len(trials), share.value, interval(share))
        for (name, trials), share in zip(kinds, shares, strict=True)
    )
    tables = [Table(("what", "count", "of", "share", "95 %"), rows)]
    hits = {name: sum(hit) for name, hit in _by_sample(found.first).items() if any(hit)}
    if hits:
        tables.append(_named(found, hits, evidence))
    return Section(
        TITLE, _notes(found), tuple(tables), name="contamination", numbers=_numbers(found, shares, hits)
    )


def _named(found: Openings, hits: Mapping[str, int], evidence: Evidence) -> Table:
    """The samples that were known at once, the most often first."""
    games = {name: len(hit) for name, hit in _by_sample(found.first).items()}
    order = sorted(hits, key=lambda name: (-hits[name] / games[name], -hits[name], name))
    rows = tuple((name, _key_text(evidence, name), hits[name], games[name]) for name in order[:SHOWN])
    caption = f"Samples whose key text was a first guess: {len(order)}"
    caption += f", the first {SHOWN}" if len(order) > SHOWN else ""
    return Table(("sample", "key text", "games", "of"), rows, caption)


def _key_text(evidence: Evidence, name: str) -> str | None:
    sample = evidence.samples.get(name)
    return None if sample is None else str(sample.key_text)


def _notes(found: Openings) -> tuple[str, ...]:
    notes = [
        "A first guess has neither question nor clue to go by. It is a sign, no proof: a short or obvious key text is "
        "found by chance, and a judge that takes other wordings for wrong leaves only the key text among the solves. "
        "Hold it against other models (lotbench compare): one that alone knows many key texts at once has seen them.",
    ]
    chance = found.chance
    if chance is None:
        notes.insert(
            0, "Not tested: it takes samples that were solved at the first attempt and samples solved later."
        )
    else:
        said = (
            "SIGN: first solves have the key text more often"
            if chance < CHANCE
            else "No sign: first solves do not"
        )
        said += " than later ones" if chance < CHANCE else " have the key text more often than later ones"
        notes.insert(0, f"{said} (Fisher's exact test, one-sided, each sample once: p = {chance:.2g}).")
    if found.always:
        n = len(found.always)
        said = "1 sample opens" if n == 1 else f"{n} samples open"
        notes.insert(1, f"{said} with the key text in every one of {'its' if n == 1 else 'their'} games.")
    return tuple(notes)


def _numbers(found: Openings, shares: Sequence[Metric], hits: Mapping[str, int]) -> dict[str, JSON]:
    first, at_once, later = map(told, shares)
    return {
        "first_filling_is_key_text": first,
        "key_text_of_first_solves": at_once,
        "key_text_of_later_solves": later,
        "p": found.chance,
        "samples": dict(sorted(hits.items())),
        "always": found.always,
    }


def _by_sample(trials: Iterable[tuple[bool, str]]) -> dict[str, list[bool]]:
    made: dict[str, list[bool]] = {}
    for hit, sample in trials:
        made.setdefault(sample, []).append(hit)
    return made
