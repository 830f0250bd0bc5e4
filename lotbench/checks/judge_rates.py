"""From what judges said about labelled rows to how well they judge: rates, records for the store, the report.

A verdict that could not be read is counted apart and is no verdict. Rates are those of the first judging of
each row; further ones say only how often a verdict flips.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import fmean
from typing import Any, TypeAlias, TypeVar

from lotbench.harness.judge_standing import tested
from lotbench.harness.judge_validation import JudgePanel, Probe, ProbeResult, Ruling, decided
from lotbench.metrics.agreement import Agreement, Rate, agreement, flips, kappa
from lotbench.metrics.correlation import pearson, spearman
from lotbench.report.markdown import bullets, number, plain, table
from lotbench.report.report import Spent, laid_out, usage_table
from lotbench.report.sections import Cell, Section, Table
from lotbench.report.trust import Check, sentence
from lotbench.types import JSON, Metric

LABELS = {
    "author": "author labels: no other people have reviewed them yet",
    "planted": "planted: what was written into the texts on purpose",
}
"""What is said of labels that are no people's."""


@dataclass(frozen=True, slots=True)
class JudgedProbe:
    """What became of one probe, put once to one panel."""

    panel: JudgePanel
    probe: Probe
    repeat: int
    said: ProbeResult


@dataclass(frozen=True, slots=True)
class Marks:
    """Numbers that a judge gave beside the true ones.

    Attributes:
        n: Numbers that could be read.
        mean: What the judge gave on average; `truth` is the mean of the true ones.
    """

    n: int
    spearman: Metric
    pearson: Metric
    mean: float | None
    truth: float | None


@dataclass(frozen=True, slots=True)
class Measure:
    """One judge, or several as one, on all the rows it was given, by one criterion.

    Attributes:
        what: How many verdicts a yes takes, or the criterion.
        criterion: As rulings name it; "" where there is but one.
        groups: Of decisions, by name; `all` is first.
        marks: Of numbers, by name likewise; a criterion has one of the two.
        unreadable: Verdicts of all repeats that could not be read, and calls without a reply.
        of: Verdicts of all repeats.
        flips: Pairs of verdicts on one row that differ, and all such pairs.
    """

    role: str
    indexes: tuple[int, ...]
    variant: str
    what: str
    settings: Any
    groups: Mapping[str, Agreement]
    unreadable: int
    of: int
    flips: tuple[int, int]
    criterion: str = ""
    marks: Mapping[str, Marks] = field(default_factory=dict)


Rule: TypeAlias = Callable[[Sequence[tuple[Probe, ProbeResult]]], Sequence[Ruling]]


def measures(judged: Sequence[JudgedProbe], seed: int, rule: Rule = decided) -> list[Measure]:
    """Return every panel's rates; of a panel that confirms, those of its first verdict alone too."""
    made: list[Measure] = []
    for panel_id in dict.fromkeys(id(one.panel) for one in judged):
        mine = [one for one in judged if id(one.panel) == panel_id]
        panel = mine[0].panel
        if panel.alone is not None:
            first = replace(panel, indexes=panel.indexes[:1], settings=panel.alone)
            alone = [replace(one, said=replace(one.said, last=one.said.first)) for one in mine]
            made += _measured(alone, first, "check alone", rule, seed)
        what = "check alone" if panel.alone is None else "check, then confirm"
        made += _measured(mine, panel, "answer" if panel.role == "oracle" else what, rule, seed)
    return made


def _measured(
    mine: Sequence[JudgedProbe], panel: JudgePanel, what: str, rule: Rule, seed: int
) -> Iterator[Measure]:
    """Yield a measure of each criterion; the rulings of each repeat are made of that repeat alone."""
    repeats = sorted({one.repeat for one in mine})
    ruled = [
        ruling
        for repeat in repeats
        for ruling in rule([(one.probe, one.said) for one in mine if one.repeat == repeat])
    ]
    for criterion in dict.fromkeys(one.criterion for one in ruled):
        found = [one for one in ruled if one.criterion == criterion]
        yield measure(found, panel, criterion or what, seed)


def measure(found: Sequence[Ruling], panel: JudgePanel, what: str, seed: int) -> Measure:
    """Return what the rulings of one criterion come to, those of all repeats; rates are of the first on each row."""
    first: dict[str, Ruling] = {}
    decisions: dict[str, list[bool]] = {}
    for one in found:
        first.setdefault(one.row, one)
        if isinstance(one.said, bool):
            decisions.setdefault(one.row, []).append(one.said)
    readable = [one for one in first.values() if one.said is not None]
    decides = all(isinstance(one.truth, bool) for one in found)
    return Measure(
        role=panel.role,
        indexes=panel.indexes,
        variant=panel.variant,
        what=what,
        settings=panel.settings,
        groups=_grouped(readable, lambda chosen: _agreement(chosen, seed)) if decides else {},
        unreadable=sum(one.said is None for one in found),
        of=len(found),
        flips=flips(list(decisions.values())),
        criterion=found[0].criterion,
        marks={} if decides else _grouped(readable, _marks),
    )


def _agreement(chosen: Sequence[Ruling], seed: int) -> Agreement:
    labels, said = [bool(one.truth) for one in chosen], [bool(one.said) for one in chosen]
    return agreement(labels, said, [one.item for one in chosen], seed)


def _marks(chosen: Sequence[Ruling]) -> Marks:
    truth, said = [float(one.truth) for one in chosen], [float(one.said or 0) for one in chosen]
    items = [one.item for one in chosen]
    return Marks(
        n=len(chosen),
        spearman=spearman(truth, said, items),
        pearson=pearson(truth, said, items),
        mean=fmean(said) if said else None,
        truth=fmean(truth) if truth else None,
    )


T = TypeVar("T")


def _grouped(readable: Sequence[Ruling], rated: Callable[[Sequence[Ruling]], T]) -> dict[str, T]:
    """Return all rows, those of each language, and those of each kind; rows without a kind stand with every kind."""
    made = {"all": rated(readable)}
    for language in sorted({one.language for one in readable}):
        made[language] = rated([one for one in readable if one.language == language])
    for kind in sorted({one.kind for one in readable if one.kind}):
        made[kind] = rated([one for one in readable if one.kind in (kind, None)])
    return made


def record(
    one: Measure, key: Mapping[str, JSON], names: Sequence[str], about: Mapping[str, JSON]
) -> dict[str, Any]:
    """Return what the store keeps of a measure: all that a later report says."""
    return {
        "schema": 1,
        "key": dict(key),
        "names": list(names),
        "set": dict(about),
        **counted(one),
        "field": [],
    }


def counted(one: Measure) -> dict[str, Any]:
    """Return the rates of a measure, as a record and a summary have them."""
    return {
        "what": one.what,
        "groups": {name: asdict(group) for name, group in one.groups.items()},
        "marks": {name: asdict(group) for name, group in one.marks.items()},
        "unreadable": one.unreadable,
        "of": one.of,
        "flips": list(one.flips),
    }


def sentences(
    found: Sequence[Measure],
    names: Mapping[str, Sequence[str]],
    deciding: Mapping[str, Mapping[str, str]],
    labels: str,
) -> list[str]:
    """Return what each measure that a score could rest on came to, and whether that is good enough by the rule of trust.

    `deciding` has of each role the criteria and their bounds (`report.trust.BOUNDS`).
    """
    told = []
    for one in found:
        if (bound := deciding[one.role].get(one.criterion)) is None:
            continue
        who = " + ".join(names[one.role][index] for index in one.indexes)
        way = "" if one.criterion else f" ({', '.join(filter(None, (one.role, one.variant, one.what)))})"
        rates = tested(counted(one))
        told.append(sentence(Check(one.role, who + way, rates, one.criterion, labels, bound=bound)))
    return told


def labelling(probes: Sequence[Probe], seed: int) -> dict[str, tuple[int, int, Rate]]:
    """Return for each role rows, contested rows, and the kappa of the two labellings over the rows that have two."""
    made = {}
    for role in dict.fromkeys(probe.role for probe in probes):
        mine = [probe for probe in probes if probe.role == role]
        twice = [probe for probe in mine if len(probe.labels) == 2]
        agreed = kappa(
            [probe.labels[0] for probe in twice],
            [probe.labels[1] for probe in twice],
            [probe.sample for probe in twice],
            seed,
        )
        made[role] = (len(mine), sum(probe.contested for probe in mine), agreed)
    return made


def rates(found: Sequence[Measure], names: Mapping[str, Sequence[str]]) -> Table:
    """Return every measure and group as a row."""
    rows: list[tuple[Cell, ...]] = []
    for one in found:
        who = " + ".join(names[one.role][index] for index in one.indexes)
        for name, group in one.groups.items():
            shown = (group.accuracy, group.fpr, group.fnr, group.kappa)
            cells = [cell for rate in shown for cell in (rate.value, interval(rate))]
            rows.append((one.role, who, one.variant, one.what, name, group.fpr.n, group.fnr.n, *cells))
    columns = ["role", "model", "mode", "what", "rows of", "negatives", "positives"]
    for name in ("accuracy", "FPR", "FNR", "kappa"):
        columns += [name, f"{name}: 95 %"]
    return Table(tuple(columns), tuple(rows))


def steadiness(found: Sequence[Measure], names: Mapping[str, Sequence[str]]) -> Table:
    """Return what could not be read, and how often a verdict on the same row flips."""
    rows: list[tuple[Cell, ...]] = []
    for one in found:
        who = " + ".join(names[one.role][index] for index in one.indexes)
        flipped, pairs = one.flips
        share = flipped / pairs if pairs else None
        rows.append((one.role, who, one.variant, one.what, one.unreadable, one.of, flipped, pairs, share))
    columns = ("role", "model", "mode", "what", "unreadable", "of", "flips", "of pairs", "flip rate")
    return Table(columns, tuple(rows))


def interval(rate: Rate | Mapping[str, Any]) -> str | None:
    """Return a rate's interval in words; None if it has none."""
    low, high = (rate.low, rate.high) if isinstance(rate, Rate) else (rate["low"], rate["high"])
    if low is None and high is None:
        return None
    return " to ".join("open" if end is None else number(end) for end in (low, high))


def sections(found: Sequence[Measure], names: Mapping[str, Sequence[str]]) -> list[Section]:
    """Return what a judge check found, as sections of its report."""
    notes = (
        "FPR: negatives accepted (oracle: No answered Yes). FNR: positives not accepted.",
        "Rows of easy and hard: the negatives of that kind, with all positives.",
        "Intervals: Wilson's, widened by what rows of one sample have in common; kappa's by drawing samples again.",
    )
    return [
        Section("Rates", notes, (rates(found, names),)),
        Section("Readability and flips", (), (steadiness(found, names),)),
    ]


def to_markdown(
    found: Sequence[Measure],
    names: Mapping[str, Sequence[str]],
    notes: Sequence[str],
    spent: Mapping[str, Spent],
    told: Sequence[str] = (),
) -> str:
    """Return the content of a judge check's report.md."""
    title = ", ".join(dict.fromkeys(name for given in names.values() for name in given))
    blocks = [
        f"# Judge check: {plain(title)}",
        bullets(notes),
        *(["## Good enough?", bullets(told)] if told else []),
        *(block for section in sections(found, names) for block in laid_out(section)),
        "## Calls",
        table(usage_table(spent)),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"
