"""`--precision W`: repeats are added for all samples alike until the interval of the main metric is value ± W.

After every repeat the run is a whole run of so many repeats: its run.json says so, and it can be left at that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from lotbench.config.experiment import Config, digest
from lotbench.edge.files import run_folder
from lotbench.errors import UsageError
from lotbench.metrics.planning import Narrowing, narrowing
from lotbench.metrics.variance import components, of_walks
from lotbench.run.calling import Calls
from lotbench.run.folder_shapes import read_run_json
from lotbench.run.plan import Plan
from lotbench.run.results import Run, load_run
from lotbench.run.session import Session, Watch

FIRST = 2
"""Repeats to begin with: with one, nobody knows what more of them would do."""

Say = Callable[["Progress"], object]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run with a precision has come, after a repeat of all samples.

    Attributes:
        metric: Its name, and `value`.
        wanted: Half the width that is asked for.
        repeats: That each sample has.
        games: Of one more repeat, and `dollars` what it costs as the ones before did (None: not known).
        ended: Why no repeat is added; "" if one is.
    """

    metric: str
    value: float | None
    wanted: float
    repeats: int
    narrowing: Narrowing
    games: int
    dollars: float | None
    ended: str = ""

    @property
    def said(self) -> str:
        """All of it in a line."""
        found, of = self.narrowing, f"± {self.wanted:g}"
        half = "open" if found.half is None else f"± {found.half:.4f}"
        value = "none" if self.value is None else f"{self.value:.4f}"
        line = f"{self.metric} {value}, {half} after {self.repeats} repeats"
        if self.ended:
            return f"{line}: {self.ended}"
        if found.repeats is None:
            known = "" if found.floor is None else f" (about ± {found.floor:.4f} with any number)"
            return f"{line}: how many {of} takes is not known yet{known}; the next takes {self._cost(1)}"
        return f"{line}: {of} takes about {found.repeats} repeats, {self._cost(found.repeats - self.repeats)} more"

    def _cost(self, repeats: int) -> str:
        games = f"{repeats * self.games:,} games"
        return games if self.dollars is None else f"{games} and about ${repeats * self.dollars:.4f}"


def first(asked: Config) -> Config:
    """A configuration with as many repeats as a precision begins with, unless it names a number."""
    if asked.limits.precision is None or asked.experiment.repeats:
        return asked
    return asked.model_copy(update={"experiment": asked.experiment.model_copy(update={"repeats": FIRST})})


def refuse(made: Plan, shards: int) -> None:
    """Refuse a precision where repeats cannot be added.

    Raises:
        UsageError: The settings say how many there are, or repeats know of each other.
    """
    if made.limits.precision is None:
        return
    if any(len(lane) > 1 for lane in made.lanes()):
        raise UsageError(
            f"--precision: with these settings {made.benchmark.name} says itself how often a sample is played"
        )
    if shards > 1:
        raise UsageError(
            "--precision goes without --shards: one repeat ends before the next is known to be wanted"
        )


async def narrowed(
    made: Plan, calls: Calls, run: Run, *, watch: Watch | None = None, say: Say = lambda progress: None
) -> Run:
    """Add repeats to a finished run until its interval is as narrow as its limits ask; returns what it has become.

    Raises:
        LotbenchError: What stopped it in the middle of a repeat; a resumed run goes on there.
    """
    while made.limits.precision is not None:
        progress = _progress(made, calls, run, made.limits.precision)
        say(progress)
        if progress.ended:
            break
        made = _with_one_more(made, calls.folder)
        calls = replace(calls, plan=made)
        session = Session(made, calls, load_run(calls.folder.path))
        session.continues(run.traces, retry_failed=False)
        run = await session.play(check=False, watch=watch)
    return run


def _with_one_more(made: Plan, place: run_folder.Folder) -> Plan:
    """The plan with one repeat more, as run.json has it from now on."""
    more = made.experiment.model_copy(update={"repeats": made.experiment.repeats + 1})
    table = read_run_json(place.path)
    digests = {**table["digests"], "experiment": digest(more)}
    place.write_json("run.json", {**table, "experiment": more.model_dump(mode="json"), "digests": digests})
    recorded = None if made.recorded is None else digests
    return replace(made, experiment=more, recorded=recorded)


def _progress(made: Plan, calls: Calls, run: Run, wanted: float) -> Progress:
    declared, repeats = made.benchmark.comparison.headline, made.experiment.repeats
    headline = declared(run.traces, made.settings)
    metric = headline.whole()
    found = narrowing(
        (metric.low, metric.high), components(of_walks(declared, run.traces, made.settings)), wanted
    )
    paid = calls.caller.journal.totals.paid_usd
    dollars = None if paid is None else paid / repeats
    progress = Progress(headline.name, metric.value, wanted, repeats, found, len(made.chosen), dollars)
    return replace(progress, ended=_ended(progress, calls))


def _ended(progress: Progress, calls: Calls) -> str:
    """Why no repeat is added; "" if one is."""
    found, wanted, repeats = progress.narrowing, progress.wanted, progress.repeats
    if found.half is not None and found.half <= wanted:
        return f"as narrow as asked (± {wanted:g})"
    if repeats < FIRST:
        return ""
    if found.half is None:
        return "the interval is open, and more repeats are no way to close it"
    if found.beyond or found.floor is None:
        floor = "" if found.floor is None else f", about ± {found.floor:.4f} with any number of them"
        return f"repeats alone cannot make it ± {wanted:g}{floor}: only more samples can"
    limits, budget = calls.limits, calls.caller.budget
    if limits.cost_limit is not None and budget.cost + (progress.dollars or 0.0) > limits.cost_limit:
        return f"the cost limit of ${limits.cost_limit:g} has no room for another repeat"
    if limits.token_limit is not None and budget.tokens * (repeats + 1) / repeats > limits.token_limit:
        return f"the token limit of {limits.token_limit:,} has no room for another repeat"
    return ""
