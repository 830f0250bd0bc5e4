"""Whether the scores of a run may stand in a ranking: one rule for all benchmarks, in this file and nowhere else.

A run is trusted, within its arm (`config/arm.py`), if it is complete and large enough, every judge and oracle that its
scores rest on was checked under its conditions and errs little on both sides, nobody in it is kin to the candidate, and
the candidate has neither written nor been trained on what it is asked. `reasons` has every way to fail, `remarks` what
a reader must know of a run that does not.

What a check found comes as a `Check`, whoever made it; what is known of the run as a `Case`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lotbench.config.makers import PEOPLE, one_maker
from lotbench.config.model_names import Kind, related, without_address
from lotbench.metrics.intervals import Z

MOST_UNANSWERED = 0.05
"""The share of its samples that a run's primary metric may leave out, and of its episodes that may fail or have no score."""
KNOWS_NOTHING = "the primary metric knows nothing"
"""How the reason begins of a run whose primary metric leaves out more."""


MIN_SAMPLES = 50
"""Independent samples that a run needs to be trusted; the whole data set is enough where it is smaller."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How well somebody's verdicts have to hold for scores to rest on them.

    Attributes:
        max_fpr: The false positive rate above which a run is not trusted; `max_fnr` the false negative rate.
        min_kappa: Cohen's kappa with the labels, below which a run is not trusted.
        min_rho: Spearman's rho of marks with people's, below which a run is not trusted.
        upper_end: Whether the upper end of the FPR on hard negatives is held to `max_fpr`, and not the point alone.
        max_unreadable: The share of a check's verdicts that could not be read, above which a run is not trusted.
        min_negatives: Labelled negatives that a check needs to say anything of the false positive rate.
        min_positives: Labelled positives that a check needs to say anything of the false negative rate.
    """

    max_fpr: float = 0.05
    max_fnr: float = 0.3
    min_kappa: float = 0.6
    min_rho: float = 0.3
    max_unreadable: float = 0.05
    min_negatives: int = 30
    min_positives: int = 30
    upper_end: bool = False


BOUNDS = {
    "": Bounds(),
    # A game has fifteen guesses, and 0 of 100 is compatible with an FPR of 3.7 % (Wilson).
    "game": Bounds(min_negatives=100, upper_end=True),
    # An oracle errs with less harm than a judge: no verdict of its own ends a game.
    "oracle": Bounds(max_fpr=0.2, max_fnr=0.2),
}
"""The bounds of every judge, and those of the game's judge and of its oracle; no setting changes them."""


@dataclass(frozen=True, slots=True)
class Rates:
    """What a check found of verdicts in one task.

    Attributes:
        fpr: Of the negatives, the share accepted; `fnr` of the positives, that not accepted. None: not known.
        kappa: Cohen's with the labels; None where nothing can be said.
        negatives: Labelled negatives with a readable verdict; `positives` likewise.
        unreadable: The share of all verdicts that could not be read.
        most_fpr: The upper end of the interval of the FPR on hard negatives; None where it is not known. `hard` are these negatives.
        rho: Spearman's with the labels where verdicts are marks, which have no two sides: then it stands in the place of
            fpr, fnr and kappa, and `positives` counts the rows.
        where: What the rates are of: `on the judge set`, `in the field`.
    """

    fpr: float | None
    fnr: float | None
    kappa: float | None
    negatives: int
    positives: int
    unreadable: float = 0.0
    most_fpr: float | None = None
    hard: int = 0
    rho: float | None = None
    where: str = "on the judge set"


@dataclass(frozen=True, slots=True)
class Check:
    """What is known of one role's verdicts in one task: how they were checked under the conditions of the run, if ever.

    A benchmark gives one for each role, task and judge (or judges that decide together) that its scores rest on.

    Attributes:
        role: `judge`, `oracle`.
        who: Whose verdicts, by the ids that answered.
        rates: What was found; None if it was never checked under these conditions.
        task: What it is asked to do, if its role has several tasks: `originality`.
        bound: Whose bounds it is held to: a name in BOUNDS.
    """

    role: str
    who: str
    rates: Rates | None
    task: str = ""
    bound: str = ""


@dataclass(frozen=True, slots=True)
class Player:
    """Who plays a role: as they were asked for, of what kind, and the ids that they answered with."""

    asked: tuple[str, ...]
    kinds: frozenset[Kind] = frozenset()
    answered: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that is known of them."""
        return (*self.asked, *self.answered)


@dataclass(frozen=True, slots=True)
class Case:
    """What the rule is told of a run.

    Attributes:
        others: Who sits in each other role.
        impartial: The roles that the candidate and its siblings may not play.
        checked: The roles whose verdicts the scores rest on.
        writers: How many samples each writer wrote (a model's name or family, `people`), or their gold; "" if not said.
        samples: Samples that are played, of `whole` in the data set (None: not known).
        unanswered: Samples that the primary metric knows nothing of.
        missing: Episodes that failed or have no score.
        episodes: Episodes that are done, and that the run is to have.
        seen: Samples that the candidate's adapter was trained on; None if it does not say.
        demands: What the benchmark itself asks of a run and does not find.
    """

    candidate: Player
    others: Mapping[str, Player] = field(default_factory=dict)
    impartial: Collection[str] = ()
    checked: Collection[str] = ()
    checks: Sequence[Check] = ()
    writers: Mapping[str, int] = field(default_factory=dict)
    samples: int = 0
    whole: int | None = None
    unanswered: int = 0
    missing: int = 0
    episodes: tuple[int, int] = (0, 0)
    seen: int | None = 0
    demands: Sequence[str] = ()


def reasons(case: Case) -> tuple[str, ...]:
    """Return every reason why the scores of a run may not stand in a ranking; none if they may."""
    return tuple(
        dict.fromkeys(
            (
                *_player_reasons(case),
                *case.demands,
                *_kinship_reasons(case),
                *_writer_reasons(case),
                *_check_reasons(case),
                *_size_reasons(case),
            )
        )
    )


def sentence(check: Check) -> str:
    """Return what a check came to, in words: what the judge does wrong in 100, and whether that is good enough."""
    rates, name = check.rates, f"{check.who}" + (f", {check.task}" if check.task else "")
    if rates is None:
        return f"{name}: never checked."
    if rates.rho is not None:
        says = f"its marks go together with the labels by a rho of {rates.rho:.2f}"
    elif rates.fpr is None or rates.fnr is None:
        says = "one of its error rates is not known"
    else:
        says = f"wrongly accepts {_in_100(rates.fpr)} in 100 and misses {_in_100(rates.fnr)}"
    why = tuple(faults(check))
    return f"{name}: {says}: " + (f"not good enough, because {'; '.join(why)}." if why else "good enough.")


def _in_100(rate: float) -> str:
    return "fewer than 1" if 0 < rate < 0.005 else f"{100 * rate:.0f}"


def remarks(case: Case) -> tuple[str, ...]:
    """Return what is to be said of a run that bars it from nothing."""
    notes = []
    for role in case.impartial:
        names = case.others[role].names
        relatives = sorted({writer for writer in case.writers for name in names if one_maker(name, writer)})
        notes += (
            [f"The {role} is of the family that wrote the samples ({', '.join(relatives)})."]
            if relatives
            else []
        )
    if unsaid := case.writers.get("", 0):
        notes.append(f"Who wrote {unsaid} of the {case.samples} samples is not said (`writer`).")
    if case.seen is None:
        notes.append("What the candidate's adapter was trained on is not said (no seen.json beside it).")
    return tuple(notes)


def _player_reasons(case: Case) -> Iterator[str]:
    """Yield what kind of player bars a run, whatever it scored."""
    kinds = case.candidate.kinds.union(*(player.kinds for player in case.others.values()))
    if "local" in kinds:
        yield "an embedded model played: it is for trying the tool, and its score means nothing"
    if "file" in case.candidate.kinds:
        yield "the candidate's answers are a recording: nothing shows what it was asked, and how"


def _kinship_reasons(case: Case) -> Iterator[str]:
    for role in case.impartial:
        names = case.others[role].names
        if any(
            related(without_address(name), without_address(other))
            for name in case.candidate.names
            for other in names
        ):
            yield f"the candidate and the {role} are of one family of models"


def _writer_reasons(case: Case) -> Iterator[str]:
    """Yield the candidate's own samples: those that its maker's models wrote, and those that its adapter was trained on."""
    relatives = [
        writer
        for writer in case.writers
        if writer not in ("", PEOPLE)
        and any(
            one_maker(name, writer) or related(without_address(name), writer) for name in case.candidate.names
        )
    ]
    if relatives:
        of = sum(case.writers[writer] for writer in relatives)
        by = ", ".join(sorted(relatives))
        yield f"the candidate is of the family that wrote {of} of the {case.samples} samples or their gold ({by})"
    if case.seen:
        yield f"the candidate's adapter was trained on {case.seen} of the {case.samples} samples"


def _check_reasons(case: Case) -> Iterator[str]:
    for role in case.checked:
        own_checks = [check for check in case.checks if check.role == role]
        if not own_checks:
            sits = case.others[role]
            own_checks = [Check(role, ", ".join(sits.answered or sits.asked), None)]
        for check in own_checks:
            yield from faults(check)


def faults(check: Check) -> Iterator[str]:
    """Yield what a check leaves to be wished for: why no score may rest on these verdicts."""
    name = f"the {check.role}" + (f" of {check.task}" if check.task else "")
    rates, bounds = check.rates, BOUNDS[check.bound]
    if rates is None:
        yield f"{name} was never checked (unchecked: {check.who})"
        return
    if rates.rho is not None:
        yield from _marks(name, rates, bounds)
    else:
        yield from _decisions(name, rates, bounds)
    if rates.unreadable > bounds.max_unreadable:
        yield (
            f"{rates.unreadable:.1%} of the verdicts of {name}'s check could not be read, above max_unreadable "
            f"{bounds.max_unreadable:g}"
        )


def _decisions(name: str, rates: Rates, bounds: Bounds) -> Iterator[str]:
    """Yield verdicts of yes and no: both error rates, agreement beyond chance, and enough rows of either side."""
    sides = (("FPR", rates.fpr, bounds.max_fpr), ("FNR", rates.fnr, bounds.max_fnr))
    for rate, value, most in sides:
        if value is None:
            yield f"{name}'s {rate} {rates.where} is not known"
        elif value > most:
            yield f"{name}'s {rate} {rates.where} is {value:.3f}, above max_{rate.lower()} {most:g}"
    if (
        bounds.upper_end
        and rates.most_fpr is not None
        and rates.most_fpr > bounds.max_fpr >= (rates.fpr or 0.0)
    ):
        fewest = math.ceil(Z**2 * (1 / bounds.max_fpr - 1))
        few = f"; even a judge without an error takes at least {fewest}" if rates.hard < fewest else ""
        yield (
            f"{name}'s FPR on hard negatives may be as high as {rates.most_fpr:.3f} (95 % interval, n = {rates.hard}), above "
            f"max_fpr {bounds.max_fpr:g}{few}"
        )
    if rates.kappa is None:
        yield f"{name}'s kappa with the labels is not known"
    elif rates.kappa < bounds.min_kappa:
        yield f"{name}'s kappa with the labels is {rates.kappa:.3f}, below min_kappa {bounds.min_kappa:g}"
    for what, n, least in (
        ("negatives", rates.negatives, bounds.min_negatives),
        ("positives", rates.positives, bounds.min_positives),
    ):
        if n < least:
            yield f"{name} was checked on {n} {what} only, fewer than {least}"


def _marks(name: str, rates: Rates, bounds: Bounds) -> Iterator[str]:
    """Yield verdicts that are marks: how they go together with people's, on enough rows."""
    assert rates.rho is not None
    if rates.rho < bounds.min_rho:
        yield f"{name}'s rho with the labels is {rates.rho:.3f}, below min_rho {bounds.min_rho:g}"
    if rates.positives < bounds.min_positives:
        yield f"{name} was checked on {rates.positives} rows only, fewer than {bounds.min_positives}"


def _size_reasons(case: Case) -> Iterator[str]:
    """Yield whether there is enough of the run, and all of it."""
    minimum = MIN_SAMPLES if case.whole is None else min(MIN_SAMPLES, case.whole)
    if case.samples < minimum:
        least = str(minimum) if minimum == MIN_SAMPLES else f"the data set's {minimum}"
        yield f"the run is of {case.samples} samples, fewer than {least}"
    if case.unanswered > MOST_UNANSWERED * case.samples:
        yield f"{KNOWS_NOTHING} of {case.unanswered} of the {case.samples} samples"
    done, wanted_episodes = case.episodes
    if case.missing > MOST_UNANSWERED * done:
        yield f"{case.missing} of {done} tasks failed or have no score, more than {MOST_UNANSWERED:.0%}"
    if done < wanted_episodes:
        yield f"the run is not complete: {done} of {wanted_episodes} tasks are done"
