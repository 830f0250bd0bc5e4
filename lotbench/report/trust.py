"""The rule that decides whether a run is trusted, that is, whether its scores may be ranked. It is the same for all benchmarks.

A run is trusted, within its arm (`config/arm.py`), under four conditions:

1. It is complete and large enough.
2. Every judge and oracle that its scores depend on was checked under the run's conditions, with low error rates.
3. No judge or oracle is of the candidate's model family.
4. The candidate has neither written its samples nor been trained on them.

`reasons` returns every violation, `remarks` what else a reader should know. The input is a `Case`, the facts of the run,
with a `Check` for each check of a judge or oracle.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product, starmap

from lotbench.config.makers import PEOPLE, makers
from lotbench.config.model_names import Kind, related, without_address
from lotbench.metrics.intervals import Z
from lotbench.report.markdown import counted

MOST_UNANSWERED = 0.05
"""The maximum share of samples that the primary metric may leave out, and of episodes that may fail or have no score."""
MOST_UNREAD = 0.2
"""The maximum share of a role's replies that cannot be read: beyond it a score is one of the form."""
KNOWS_NOTHING = "the primary metric knows nothing"
"""The beginning of the reason given if the primary metric leaves out more than `MOST_UNANSWERED`."""
IN_SHORT = (
    ("an embedded model played", "tiny model"), ("are a recording", "recorded answers"),
    ("of one family", "judge of the candidate's family"), ("the family that wrote", "samples of the candidate's family"),
    ("adapter was trained", "trained on samples"), ("the run is not complete", "not complete"),
    ("tasks failed", "failed tasks"), (KNOWS_NOTHING, "missing answers"), ("the run is of ", "few samples"),
    ("was never checked", "judge not checked"), ("was checked on", "judge failed its check"),
    ("answered under", "several models"), ("could be read", "unreadable replies"),
    ("'s ", "judge failed its check"), ("no panel file", "no panel file"), ("only one judge", "few judges"),
    ("are one model", "few judges"),
    ("judges that the benchmark", "few judges"), ("were chosen by", "chosen samples"), ("", "other reasons"),
)  # fmt: skip
"""Parts of reasons why a run is not trusted, each with a short form of the reason, the gravest first."""
MINOR = frozenset({"not complete", "failed tasks", "missing answers", "few samples", "judge not checked"})
"""The short forms of reasons with which runs get provisional places if no run is trusted."""
MIN_SAMPLES = 50
"""The minimum number of independent samples, such as pictures; a smaller data set must be played as a whole."""
MIN_WHOLE = 8
"""The minimum number of independent samples in a data set that is played as a whole."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits within which a check of verdicts must stay for a run to be trusted.

    Attributes:
        max_fpr: The maximum false positive rate.
        max_fnr: The maximum false negative rate.
        min_kappa: The minimum of Cohen's kappa with the labels.
        max_unreadable: The maximum share of unreadable verdicts.
        min_negatives: The minimum number of labelled negatives.
        min_positives: The minimum number of labelled positives.
        upper_end: Whether the upper end of the 95 % interval of the FPR on hard negatives must be known, and not exceed `max_fpr`.
    """

    max_fpr: float = 0.05
    max_fnr: float = 0.3
    min_kappa: float = 0.6
    max_unreadable: float = 0.05
    min_negatives: int = 30
    min_positives: int = 30
    upper_end: bool = False


BOUNDS = {
    "": Bounds(),
    # A game has fifteen guesses; 0 wrong of 100 is compatible with an FPR of 3.7 % (Wilson).
    "game": Bounds(min_negatives=100, upper_end=True),
    # Errors of an oracle do less harm than those of a judge: its verdict does not end a game.
    "oracle": Bounds(max_fpr=0.2, max_fnr=0.2),
}
"""The limits of judges in general, of the game's judge, and of its oracle; no setting changes them."""


@dataclass(frozen=True, slots=True)
class Rates:
    """The error rates of verdicts on one task, as a check found them.

    Attributes:
        fpr: The share of labelled negatives that were accepted; None if unknown.
        fnr: The share of labelled positives that were not accepted; None if unknown.
        kappa: Cohen's kappa with the labels; None if unknown.
        negatives: The number of labelled negatives with a readable verdict.
        positives: The number of labelled positives with a readable verdict.
        unreadable: The share of all verdicts that could not be read.
        most_fpr: The upper end of the 95 % interval of the FPR on hard negatives, or on all if none is hard; None if unknown.
        hard: The number of hard negatives.
        where: The rows that the FPR is from: `on the judge set`, `in the field`.
        fnr_where: The rows that the FNR is from; "" if they are those of the FPR.
        alone: Whether labels of the run alone bound the FPR.
    """

    fpr: float | None
    fnr: float | None
    kappa: float | None
    negatives: int
    positives: int
    unreadable: float = 0.0
    most_fpr: float | None = None
    hard: int = 0
    where: str = "on the judge set"
    fnr_where: str = ""
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """The check of one role's verdicts on one task, under the conditions of the run.

    A benchmark has one for each role, task and judge (or group of judges that decide together) that its scores depend on.

    Attributes:
        role: `judge` or `oracle`.
        who: The ids of the models that gave the verdicts.
        rates: The error rates; None if the role was never checked under these conditions.
        task: The task, if the role has several, such as `originality`.
        bound: The name of its limits in BOUNDS.
    """

    role: str
    who: str
    rates: Rates | None
    task: str = ""
    bound: str = ""


@dataclass(frozen=True, slots=True)
class Player:
    """The models of a role: their configured names, their kinds, and their ids in the replies."""

    asked: tuple[str, ...]
    kinds: frozenset[Kind] = frozenset()
    answered: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the models, without addresses."""
        return tuple(map(without_address, (*self.asked, *self.answered)))


@dataclass(frozen=True, slots=True)
class Case:
    """The facts of a run that decide whether it is trusted.

    Attributes:
        others: The models of each other role.
        impartial: The roles that the candidate's model family may not play.
        checked: The roles whose verdicts the scores depend on.
        checks: The checks of these roles.
        writers: The number of samples (or gold labels) by writer: a model's name or family, `people`, or empty if unknown.
        samples: The number of samples played.
        units: The number of independent units among them, which intervals count: pictures, if samples share pictures; None if
            each sample is one.
        whole: The number of samples in the data set; None if unknown.
        hand_picked: Whether the samples were chosen; see `run.plan.Plan`.
        seed: The seed of their draw.
        guessed: The number of samples whose right answers rest on likes that writers guessed.
        uncovered: The metric that rests on verdicts of a judge which no check covers; "" if there is none.
        helpers: What the roles do that are called and that no check covers, such as a rewriter of options.
        own: What is not lotbench's, by name, such as the folder of `samples`; empty texts for what is.
        unanswered: The number of samples that the primary metric leaves out.
        covered: The number of samples that it would cover if all were answered, such as those of one kind; None for all.
        missing: The number of episodes that failed or have no score.
        episodes: The number of finished episodes, and of episodes in the complete run.
        unread: For each role the number of its replies that are refused, empty, cut off or not of the form asked for; of these
            and those that broke a rule of the task; and of all.
        seen: The number of samples that the candidate's adapter was trained on; None if unknown.
        demands: The benchmark's own requirements that the run does not meet.
    """

    candidate: Player
    others: Mapping[str, Player] = field(default_factory=dict)
    impartial: Collection[str] = ()
    checked: Collection[str] = ()
    checks: Sequence[Check] = ()
    writers: Mapping[str, int] = field(default_factory=dict)
    samples: int = 0
    units: int | None = None
    whole: int | None = None
    hand_picked: bool = False
    seed: int = 0
    guessed: int = 0
    uncovered: str = ""
    helpers: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)
    unanswered: int = 0
    covered: int | None = None
    missing: int = 0
    episodes: tuple[int, int] = (0, 0)
    unread: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    seen: int | None = 0
    demands: Sequence[str] = ()


def reasons(case: Case) -> tuple[str, ...]:
    """Return all reasons why a run is not trusted; empty if it is."""
    rules = (_players(case), case.demands, _kinship(case), _writers(case), _checks(case), _size(case))
    return tuple(dict.fromkeys(chain.from_iterable(rules)))


def in_short(reasons: Iterable[str]) -> tuple[str, ...]:
    """Return the short forms of reasons, two or three words each, the gravest first."""
    shorts = {next(short for part, short in IN_SHORT if part in reason) for reason in reasons}
    return tuple(dict.fromkeys(short for _, short in IN_SHORT if short in shorts))


def sentence(check: Check) -> str:
    """Return the result of a check in words: the errors in 100 verdicts, and whether they are within the limits."""
    rates, name = check.rates, f"{check.who}" + (f", {check.task}" if check.task else "")
    if rates is None:
        return f"{name}: never checked."
    if rates.fpr is None or rates.fnr is None:
        says = "one of its error rates is not known"
    else:
        says = f"wrongly accepts {_in_100(rates.fpr)} in 100 and misses {_in_100(rates.fnr)}"
    why = tuple(faults(check))
    return f"{name}: {says}: " + (f"not good enough, because {'; '.join(why)}." if why else "good enough.")


def _in_100(rate: float) -> str:
    return "fewer than 1" if 0 < rate < 0.005 else f"{100 * rate:.0f}"


def remarks(case: Case) -> tuple[str, ...]:
    """Return remarks on a run that do not affect trust."""
    notes = _of_samples(case)
    for role, (unread, broken, replies) in case.unread.items():
        if broken > MOST_UNANSWERED * replies and unread <= MOST_UNREAD * replies:
            notes.append(
                f"{broken} of the {replies} replies of the {role} could not be read or broke a rule of the task."
            )
    notes += [f"The {what} are not the default ones ({place})." for what, place in case.own.items() if place]
    if case.seen is None:
        notes.append("What the candidate's adapter was trained on is not said (no seen.json beside it).")
    for check in case.checks:
        rates, bounds = check.rates, BOUNDS[check.bound]
        if rates and _may_exceed(rates, bounds) and not bounds.upper_end:
            notes.append(
                f"The {check.role}'s FPR{f' of {check.task}' if check.task else ''} may be as high as {rates.most_fpr:.3f}, above "
                f"{bounds.max_fpr:g} (95 % interval, {rates.hard or rates.negatives} rows judged by {check.who})."
            )
    return tuple(notes)


def _of_samples(case: Case) -> list[str]:
    """Return remarks on the samples: who wrote and changed them, what nobody checked or voted on, how they were drawn."""
    notes = [
        f"No check covers the {role} ({', '.join(case.others[role].asked)}), which {about}."
        for role, about in case.helpers.items()
    ]
    for role in case.impartial:
        names = case.others[role].names
        kin = sorted({writer for writer in case.writers for name in names if makers(name) & makers(writer)})
        notes += [f"The {role} is of the family that wrote the samples ({', '.join(kin)})."] if kin else []
    if unsaid := case.writers.get("", 0):
        notes.append(f"Who wrote {unsaid} of the {case.samples} samples is not said (`writer`).")
    if case.uncovered:
        notes.append(
            f"No check of the judge covers {case.uncovered}: the report cannot say how far to trust that metric."
        )
    if case.guessed:
        notes.append(
            f"The likes in {case.guessed} of the {case.samples} samples are guesses of their writers: nobody voted."
        )
    if case.seed:
        notes.append(f"Drawn with seed {case.seed}: another seed draws other samples or tasks.")
    return notes


def _may_exceed(rates: Rates, bounds: Bounds) -> bool:
    """Return whether the FPR is within its limit, but the upper end of its interval is not."""
    return (rates.most_fpr or 0.0) > bounds.max_fpr >= (rates.fpr or 0.0)


def _players(case: Case) -> Iterator[str]:
    """Yield the reasons that lie in the players: an embedded model, a recording, a candidate of several ids, unreadable replies."""
    kinds = case.candidate.kinds.union(*(player.kinds for player in case.others.values()))
    if "local" in kinds:
        yield "an embedded model played: it is for trying the tool, and its score means nothing"
    if "file" in case.candidate.kinds:
        yield "the candidate's answers are a recording: nothing shows what it was asked, and how"
    # A reply without an id has the configured name, of which one with an address is never an id.
    if len(ids := [name for name in case.candidate.answered if "@http" not in name]) > 1:
        yield f"the candidate answered under several ids, so it is not one model ({', '.join(ids)})"
    for role, (unread, _, replies) in case.unread.items():
        if unread > MOST_UNREAD * replies:
            yield (
                f"{unread} of the {replies} replies of the {role} are refused, empty, cut off or not of the form asked for, so "
                "few could be read"
            )


def _kinship(case: Case) -> Iterator[str]:
    for role in case.impartial:
        if any(starmap(related, product(case.candidate.names, case.others[role].names))):
            yield f"the candidate and the {role} are of one family of models"


def _writers(case: Case) -> Iterator[str]:
    """Yield a reason if the candidate's family wrote samples, and one if its adapter was trained on samples."""
    names, writers = case.candidate.names, sorted(case.writers.keys() - {"", PEOPLE})
    relatives = [each for each in writers if any(related(n, each) for n in names)]
    if relatives:
        of = sum(case.writers[writer] for writer in relatives)
        by = ", ".join(relatives)
        yield f"the candidate is of the family that wrote {of} of the {case.samples} samples or their gold ({by})"
    if case.seen:
        yield f"the candidate's adapter was trained on {case.seen} of the {case.samples} samples"


def _checks(case: Case) -> Iterator[str]:
    for role in case.checked:
        own_checks = [check for check in case.checks if check.role == role]
        if not own_checks:
            sits = case.others[role]
            own_checks = [Check(role, ", ".join(sits.answered or sits.asked), None)]
        for check in own_checks:
            yield from faults(check)


def faults(check: Check) -> Iterator[str]:
    """Yield a sentence for each limit that a check violates, or one if the role was never checked."""
    name = f"the {check.role}" + (f" of {check.task}" if check.task else "")
    rates, bounds = check.rates, BOUNDS[check.bound]
    if rates is None:
        yield f"{name} was never checked (unchecked: {check.who})"
        return
    yield from _decisions(name, rates, bounds)
    if rates.unreadable > bounds.max_unreadable:
        yield (
            f"{rates.unreadable:.1%} of the verdicts of {name}'s check could not be read, above max_unreadable "
            f"{bounds.max_unreadable:g}"
        )


def _decisions(name: str, rates: Rates, bounds: Bounds) -> Iterator[str]:
    """Yield violations of a check of yes/no verdicts: FPR, FNR, kappa, and the numbers of rows."""
    for rate, where, value, most in (
        ("FPR", rates.where, rates.fpr, bounds.max_fpr),
        ("FNR", rates.fnr_where or rates.where, rates.fnr, bounds.max_fnr),
    ):
        if value is None:
            yield f"{name}'s {rate} {where} is not known"
        elif value > most:
            yield f"{name}'s {rate} {where} is {value:.3f}, above max_{rate.lower()} {most:g}"
    hard = "in the field" if rates.alone else "on hard negatives"
    # Of a judge set without hard negatives, the rate on all rows tells nothing.
    if bounds.upper_end and (rates.most_fpr is None or not rates.hard):
        yield f"{name}'s FPR {hard} has no upper end: too few rows or samples to bound it"
    elif bounds.upper_end and _may_exceed(rates, bounds):
        fewest = math.ceil(Z**2 * (1 / bounds.max_fpr - 1))
        few = f"; even a judge without an error takes at least {fewest}" if rates.hard < fewest else ""
        yield (
            f"{name}'s FPR {hard} may be as high as {rates.most_fpr:.3f} (95 % interval, n = {rates.hard}), above "
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


def _size(case: Case) -> Iterator[str]:
    """Yield the reasons if the run is too small, has chosen samples, leaves out too much, or is incomplete."""
    covered = case.samples if case.covered is None else case.covered
    (done, total), whole = case.episodes, case.whole or math.inf
    units = case.samples if case.units is None else case.units
    minimum = MIN_WHOLE if case.samples >= whole else MIN_SAMPLES
    # Of a run that is not complete, the metric covers what was played: that is a reason of its own.
    if min(units, covered if done == total else units) < minimum:
        on = f" on {units} pictures (or other units)" if units < case.samples else ""
        on += f", {covered} of them in the primary metric" if covered < units else ""
        least = f"the data set's {whole}" if case.samples < whole < MIN_SAMPLES else minimum
        yield f"the run is of {counted(case.samples, 'sample')}{on}, fewer than {least}"
    if case.hand_picked:
        yield "the samples were chosen by name, or by the program that plays step by step"
    if case.unanswered > MOST_UNANSWERED * covered:
        yield f"{KNOWS_NOTHING} of {case.unanswered} of the {covered} samples"
    if case.missing > MOST_UNANSWERED * done:
        yield f"{case.missing} of {done} tasks failed or have no score, more than {MOST_UNANSWERED:.0%}"
    if done < total:
        yield f"the run is not complete: {done} of {total} tasks are done"
