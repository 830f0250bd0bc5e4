"""Duels: models play the same samples in a secret random order, with up to four interim tests, until they differ clearly.

Each model plays an ordinary run, whose frozen list of samples is the order and whose run.json names the duel. An interim
test is a ranking of the samples played so far, at a level of `metrics.sequential`, so that all tests together keep the
error rate of a single test.
"""

import asyncio
import functools
import math
import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lotbench.config.experiment import Config, Limits
from lotbench.errors import Unescapable, UsageError
from lotbench.metrics.sequential import levels
from lotbench.report.leaderboard import Board, Pair, board
from lotbench.run import plan, results
from lotbench.run.evaluate import begin, resume
from lotbench.run.loading import Run, planned

LOOKS = (0.25, 0.5, 0.75, 1.0)
"""The shares of the samples after which there is an interim test."""


@dataclass(frozen=True, slots=True)
class Look:
    """An interim test of a duel.

    Attributes:
        at: The number of the test, from 1.
        of: The maximum number of tests.
        units: The number of units that every model has played: samples, or pictures if several samples share one.
        level: The level of the test; the p values of pairs are corrected for the number of pairs.
        board: The ranking of the models on these units.
        runs: The runs, one for each model.
    """

    at: int
    of: int
    units: int
    level: float
    board: Board
    runs: Sequence[Run]

    @property
    def apart(self) -> list[Pair]:
        """The pairs that differ significantly."""
        return [pair for pair in self.board.pairs if pair.p <= self.level]

    @property
    def over(self) -> bool:
        """Whether all pairs differ significantly, or all samples are played."""
        return self.at == self.of or len(self.apart) == len(self.board.pairs) > 0

    @property
    def lines(self) -> list[str]:
        """The result in words: one line for each pair of models, and one for each model that is in no pair."""
        lines = []
        for pair in self.board.pairs:
            seen = pair.difference
            ends = "" if seen.low is None or seen.high is None else f" ({seen.low:+.3f} to {seen.high:+.3f})"
            verdict = "beats" if pair in self.apart else "is not clearly better than"
            value = f"{seen.mean or 0.0:+.3f}{ends}, p = {pair.p:.2g}"
            lines.append(f"{pair.better} {verdict} {pair.other}: {value}")
        return lines + [
            f"{place.label} is paired with nobody: too many of its tasks failed or have no answer"
            for place in self.board.places
            if place.entry.abstained
        ]


Say = Callable[[Look], object]


async def duel(config: Config, models: Sequence[str], say: Say = lambda look: None, **how: Any) -> Look:
    """Play models against each other, and return the last interim test.

    Args:
        config: The configuration of the runs, without the model.
        models: The names of the models.
        say: Called with each interim test.
        **how: Arguments of `begin`.

    Raises:
        UsageError: There are fewer than two models, or episodes pass memory from sample to sample.
        LotbenchError: The duel was stopped; `resume_duel` continues it.
    """
    if len(set(models)) < max(2, len(models)):
        raise UsageError(f"a duel is between two or more models, each named once (got {', '.join(models)})")
    first = plan.make(config.changed(model=models[0]))
    if any(len({episode.sample for episode in sequence}) > 1 for sequence in first.sequences()):
        raise UsageError(
            "with these settings games hand memory on from sample to sample: no duel can be held"
        )
    units = list(plan.group_samples(first.chosen).values())
    # The order is secret, so that no model can be tuned to its beginning.
    secrets.SystemRandom().shuffle(units)
    order = tuple(name for unit in units for name in unit)
    name = secrets.token_hex(8)
    configs = [config.changed(model=model, samples=order, limit=None) for model in models]

    def starts(only: Collection[str]) -> list[Awaitable[Run]]:
        return [begin(each, only=only, duel=name, **how) for each in configs]

    return await _look(units, starts, {"own": how.get("own"), "check": False}, say)


async def resume_duel(runs: Sequence[Run], say: Say = lambda look: None, **how: Any) -> Look:
    """Play the rest of a duel, and return the last interim test; `how` are arguments of `resume`.

    Raises:
        UsageError: The runs are not of one duel.
    """
    if len({run.duel for run in runs}) != 1 or not runs[0].duel:
        raise UsageError("these are no runs of one duel: a duel's runs have the same `duel` in run.json")
    if len(runs) < 2 or len({run.path.resolve() for run in runs}) < len(runs):
        raise UsageError("a duel goes on with all of its runs, each named once")
    units = list(plan.group_samples(planned(runs[0], Limits()).chosen).values())

    return await _look(units, lambda only: [resume(run.path, only=only, **how) for run in runs], how, say)


async def _look(
    units: Sequence[Sequence[str]],
    starts: Callable[[Collection[str]], list[Awaitable[Run]]],
    how: Mapping[str, Any],
    say: Say,
) -> Look:
    """Play the samples up to each interim test in turn, until the test ends the duel; return the last test.

    The models play at the same time, so that conditions that change with time affect all models.

    Args:
        units: The ids of the samples of each unit, in the order of play.
        starts: Begins the runs on the given samples.
        how: Arguments of `resume`.
        say: Called with each interim test.
    """
    looks = _looks(len(units))
    runs: list[Run] = []
    for at, (end, level) in enumerate(looks, 1):
        only = {name for unit in units[:end] for name in unit}
        runs = await _gather([resume(run.path, only=only, **how) for run in runs] if runs else starts(only))
        look = Look(at, len(looks), end, level, _board(runs, only), runs)
        say(look)
        if look.over:
            break
    return look


def last_look(runs: Sequence[Run]) -> Look | None:
    """Return the last interim test for which all runs of a duel have played the samples; None before the first."""
    first = planned(runs[0], Limits())
    units = list(plan.group_samples(first.chosen).values())
    played = set.intersection(*({(trace.sample, trace.repeat) for trace in run.traces} for run in runs))
    episodes = (episode for sequence in first.sequences() for episode in sequence)
    missing = {episode.sample for episode in episodes if (episode.sample, episode.repeat) not in played}
    done = next((at for at, unit in enumerate(units) if not missing.isdisjoint(unit)), len(units))
    looks = _looks(len(units))
    at = sum(end <= done for end, _ in looks)
    if not at:
        return None
    end, level = looks[at - 1]
    only = {name for unit in units[:end] for name in unit}
    return Look(at, len(looks), end, level, _board(runs, only), runs)


def _board(runs: Sequence[Run], samples: Collection[str]) -> Board:
    """Rank the runs of a duel on these samples, which all of them have played; later ones may be played in part only."""
    played = [replace(run, traces=[each for each in run.traces if each.sample in samples]) for run in runs]
    return board([replace(results.entry(run), complete=True) for run in played])


@functools.cache
def _looks(units: int) -> tuple[tuple[int, float], ...]:
    """Return (units played, level) for each interim test of a duel on this number of units."""
    ends = sorted({math.ceil(part * units) for part in LOOKS})
    return tuple(zip(ends, levels([end / units for end in ends]), strict=True))


async def _gather(works: Sequence[Awaitable[Run]]) -> list[Run]:
    """Wait for all runs to end, then raise the first error, if there is one; a run that cannot begin or go on ends the others too."""
    tasks = [asyncio.ensure_future(work) for work in works]

    def ended(task: asyncio.Future[Run]) -> None:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, UsageError | Unescapable):
            for other in tasks:
                other.cancel()

    for task in tasks:
        task.add_done_callback(ended)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    errors = [result for result in results if isinstance(result, BaseException)]
    for error in sorted(errors, key=lambda error: isinstance(error, asyncio.CancelledError)):
        raise error
    return [result for result in results if isinstance(result, Run)]
