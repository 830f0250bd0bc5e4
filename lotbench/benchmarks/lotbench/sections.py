"""The report's sections of a game run: games to read, survival, rounds, and judging.

Every share is shown with its counts, and a note under each table gives the definition.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from lotbench.benchmarks.lotbench.games import Game, game
from lotbench.benchmarks.lotbench.readings import worth_reading
from lotbench.benchmarks.lotbench.score import tally
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.harness.evidence import NOTHING, Evidence
from lotbench.metrics import survival
from lotbench.metrics.intervals import Floats, bounded
from lotbench.report.markdown import share
from lotbench.report.sections import Cell, Plot, Section, Table
from lotbench.types import Trace

STATUSES = ("ok", "unparsed", "not_a_phrase", "refused", "truncated")
CONFIRM = {
    "never": "No positive verdict was confirmed: a game ends on the judge's first yes, false ones included.",
    "other_judge": "A positive verdict ended a game only if a second judge, another model, agreed.",
}


def sections(traces: Sequence[Trace], settings: Settings, evidence: Evidence = NOTHING) -> list[Section]:
    """Return the sections of a game run's report, games to read first."""
    games = [game(trace) for trace in traces]
    return [
        worth_reading(games, evidence),
        _survival(games, settings),
        _rounds(games, settings),
        _judging(games, settings),
    ]


def _survival(games: Sequence[Game], settings: Settings) -> Section:
    """Return the section on the games at risk, solved and broken off in each round, with the survival curve."""
    last = settings.max_rounds
    tallies = tally(games, last)
    counts = tallies.sum(axis=0)
    stopped = Counter(played.unsolved_through + 1 for played in games if played.censored)
    curve = survival.curve(counts)
    unsolved: list[float | None] = [None if value != value else float(value) for value in curve]
    rows = tuple(
        (k, int(counts[0, k - 1]), int(counts[1, k - 1]), stopped[k], unsolved[k])
        for k in range(1, last + 1)
        if counts[0, k - 1] or stopped[k]
    )
    method = [
        "At risk: games whose verdict in that round is known; of 10 games, 2 solved in round 1 and 1 broken "
        "off in round 2 leave 7 at risk in round 2. Broke off: games that broke off in that round.",
        "S (Kaplan-Meier) is the share unsolved after the round: S before it, times 1 - solved / at risk. "
        "It takes games that broke off to be no easier or harder than the games still played.",
        "Score: the sum over rounds of (S before - S after) beta exp(-alpha t), t the failed attempts before "
        f"success (0 for the first attempt with round_origin 0), alpha {settings.alpha:g}, beta {settings.beta:g}.",
    ]
    points = tuple((float(k), value) for k, value in enumerate(unsolved) if value is not None)
    bands = tuple(_band(tallies, int(k)) for k, _ in points)
    caption = "Games not yet solved, with 95 % intervals"
    plot = Plot("step", "round", "share unsolved", {"S": points}, caption, bands={"S": bands})
    table = Table(("round", "at risk", "solved", "broke off", "S"), rows)
    solved = tuple(int(count) for count in counts[1])
    return Section(
        "Survival by round", (), (table,), (plot,), brief=True, method=tuple(method), solved=solved
    )


def _band(tallies: Floats, k: int) -> tuple[float, float]:
    """Return the 95 % interval over pictures of S after round k (0 for the start); NaN for an open end."""
    if k == 0:
        return 1.0, 1.0
    low, high = bounded(tallies[:, :2], lambda sums: survival.curve(sums)[..., k])
    return (math.nan if low is None else low, math.nan if high is None else high)


def _rounds(games: Sequence[Game], settings: Settings) -> Section:
    """Return the section on rounds: replies, repeated guesses, leaking questions, missing answers."""
    rounds = [round_ for played in games for round_ in played.rounds]
    replies = [round_ for round_ in rounds if round_.status]
    valid = [round_ for round_ in rounds if round_.status == "ok"]
    repeats = [
        round_.check.how == "repeat" for round_ in rounds if round_.check and round_.check.how != "none"
    ]
    first = [round_ for played in games for round_ in played.rounds[:1]]
    exact = [round_.decision == "exact" for round_ in first if round_.status == "ok"]
    asks = [round_ for round_ in rounds if round_.asked is not None]
    leaks = [round_.leak for round_ in asks if round_.question]
    answers = [round_.answer for round_ in rounds if round_.answered]
    seen = Counter(round_.status for round_ in replies)
    unsolved = [played.valid for played in games if played.outcome == "unsolved"]
    counts: tuple[tuple[str, int, Sequence[Any]], ...] = (
        *((status, seen[status], replies) for status in (*STATUSES, *sorted(seen.keys() - set(STATUSES)))),
        ("language_mismatch, of the ok", sum(round_.language_mismatch for round_ in valid), valid),
        ("guesses judged that had been judged before in their game", sum(repeats), repeats),
        ("unsolved games without a valid guess", unsolved.count(False), unsolved),
        ("first guesses that are the very key text", sum(exact), exact),
        ("rounds that were to have a question and have none", len(asks) - len(leaks), asks),
        ("oracle_leaks: questions with the key text or a tried guess, or on letters", sum(leaks), leaks),
        ("oracle_failures: answers that are neither Yes nor No", answers.count(None), answers),
    )
    notes = [
        "One reply a round: the last, if the first could not be used and was asked for again. A reply that "
        "is not ok uses its round and is no verdict; a guess in another language is judged like any other. "
        "A guess judged before in its game keeps its verdict, without a call, and uses a round.",
        "Many first guesses that are the very key text, beside few of other models, are a sign that the model knew the "
        "samples.",
    ]
    rows = tuple((what, count, len(of), share(count, len(of))) for what, count, of in counts)
    return Section("Rounds", tuple(notes), (Table(("what", "count", "of", "share"), rows),))


def _judging(games: Sequence[Game], settings: Settings) -> Section:
    """Return the section on verdicts: who gave them, what second opinions overturned, which chains were not accepted."""
    rounds = [round_ for played in games for round_ in played.rounds]
    confirms = [round_.confirm for round_ in rounds if round_.confirm]
    unread = sum(opinion.accepted is None for round_ in rounds for opinion in round_.opinions)
    how = Counter((round_.check.how, round_.check.accepted) for round_ in rounds if round_.check)
    kinds = sorted({kind for kind, _ in how})
    rows: list[tuple[Cell, ...]] = [(kind, how[kind, True], how[kind, False]) for kind in kinds]
    agreed = sum(bool(confirm.accepted) for confirm in confirms)
    rows.append(("confirm", agreed, len(confirms) - agreed))
    chains = [(played.sample, chain) for played in games for chain in played.chains]
    doubtful = {(sample, chain.judge) for sample, chain in chains if chain.accepted is False}
    notes = [
        CONFIRM.get(str(settings.confirm), f"confirm: {settings.confirm}"),
        f"Askings of a judge that brought no readable verdict: {unread}.",
        f"Causal chains that were not accepted after all builds: {len(doubtful)}.",
        "creativity_score_unconfirmed takes every first positive verdict for the end of its game.",
    ]
    tables = [Table(("verdict by", "accepted", "not accepted"), tuple(rows))]
    return Section("Judging", tuple(notes), tuple(tables))
