"""The results of a judge check: error rates, records for the store, and the report.

Unreadable verdicts are counted separately and are not part of the rates. The rates are those of the first judging of each
row; further judgings show only how often a verdict flips.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

from lotbench.harness.judge_standing import tested
from lotbench.harness.judge_validation import JudgePanel, Probe, ProbeResult, Ruling, decided
from lotbench.metrics.agreement import Agreement, Rate, agreement, flips, kappa
from lotbench.report.markdown import bullets, plain, table
from lotbench.report.report import RoleUsage, interval, laid_out, usage_table
from lotbench.report.sections import Cell, Section, Table
from lotbench.report.trust import Check, sentence

LABELS = {
    "author": "author labels: no other people have reviewed them yet",
    "planted": "planted: what was written into the texts on purpose",
}
"""The note on labels that were not given by reviewers, by kind of label."""


@dataclass(frozen=True, slots=True)
class JudgedProbe:
    """The result of putting a probe once to a panel."""

    panel: JudgePanel
    probe: Probe
    repeat: int
    said: ProbeResult


@dataclass(frozen=True, slots=True)
class Measure:
    """The rates of one panel (a judge, or several that judge together) on all its rows, by one criterion.

    Attributes:
        what: The criterion's name. If there is only one: `answer` for the oracle; for the judge, `check alone` or `check, then
            confirm`.
        groups: The agreement of decisions with labels, by group of rows; `all` is first.
        unreadable: The number of verdicts of all repeats that could not be read or never came.
        of: The number of verdicts of all repeats.
        flips: The number of pairs of verdicts on the same row that differ, and of all such pairs.
        criterion: The name of the criterion in rulings; "" if there is only one.
    """

    panel: JudgePanel
    what: str
    groups: Mapping[str, Agreement]
    unreadable: int
    of: int
    flips: tuple[int, int]
    criterion: str = ""


Rule: TypeAlias = Callable[[Sequence[tuple[Probe, ProbeResult]]], Sequence[Ruling]]


def measures(judged: Sequence[JudgedProbe], seed: int, rule: Rule = decided) -> list[Measure]:
    """Return the rates of each panel, by criterion.

    If a second judge confirms the verdicts of the first, the rates of the first verdict alone come before those of both.

    Args:
        judged: The results of all probes, panels and repeats.
        seed: The seed of the intervals.
        rule: Derives the rulings from the results of one repeat.
    """
    results: list[Measure] = []
    for panel_id in dict.fromkeys(id(row.panel) for row in judged):
        rows = [row for row in judged if id(row.panel) == panel_id]
        panel = rows[0].panel
        if panel.alone is not None:
            first = replace(panel, indexes=panel.indexes[:1], settings=panel.alone)
            alone = [replace(row, said=replace(row.said, last=row.said.first)) for row in rows]
            results += _measure_criteria(alone, first, "check alone", rule, seed)
        what = "check alone" if panel.alone is None else "check, then confirm"
        results += _measure_criteria(rows, panel, "answer" if panel.role == "oracle" else what, rule, seed)
    return results


def _measure_criteria(
    rows: Sequence[JudgedProbe], panel: JudgePanel, what: str, rule: Rule, seed: int
) -> Iterator[Measure]:
    """Yield the rates of a panel by each criterion; `rule` gets the results of one repeat at a time."""
    repeats = sorted({row.repeat for row in rows})
    ruled = [
        ruling
        for repeat in repeats
        for ruling in rule([(row.probe, row.said) for row in rows if row.repeat == repeat])
    ]
    for criterion in dict.fromkeys(ruling.criterion for ruling in ruled):
        rulings = [ruling for ruling in ruled if ruling.criterion == criterion]
        yield measure(rulings, panel, criterion or what, seed)


def measure(rulings: Sequence[Ruling], panel: JudgePanel, what: str, seed: int) -> Measure:
    """Return the rates by one criterion from the rulings of all repeats; only the first ruling on a row is part of the rates."""
    first: dict[str, Ruling] = {}
    decisions: dict[str, list[bool]] = {}
    for ruling in rulings:
        first.setdefault(ruling.row, ruling)
        if ruling.said is not None:
            decisions.setdefault(ruling.row, []).append(ruling.said)
    readable = [ruling for ruling in first.values() if ruling.said is not None]
    return Measure(
        panel=panel,
        what=what,
        groups=_group(readable, seed),
        unreadable=sum(ruling.said is None for ruling in rulings),
        of=len(rulings),
        flips=flips(list(decisions.values())),
        criterion=rulings[0].criterion,
    )


def _agreement(chosen: Sequence[Ruling], seed: int) -> Agreement:
    labels, verdicts = [ruling.truth for ruling in chosen], [bool(ruling.said) for ruling in chosen]
    return agreement(labels, verdicts, [ruling.item for ruling in chosen], seed)


def _group(readable: Sequence[Ruling], seed: int) -> dict[str, Agreement]:
    """Return the agreement by group of rows: `all`, each language, each kind, and each kind in each of several languages.

    Rows without a kind count in every kind.
    """
    groups = {"all": readable}
    languages = sorted({ruling.language for ruling in readable})
    for language in languages:
        groups[language] = [ruling for ruling in readable if ruling.language == language]
    for kind in sorted({ruling.kind for ruling in readable if ruling.kind}):
        groups[kind] = [ruling for ruling in readable if ruling.kind in (kind, None)]
        for language in languages if len(languages) > 1 else ():
            groups[f"{language} {kind}"] = [each for each in groups[kind] if each.language == language]
    return {name: _agreement(chosen, seed) for name, chosen in groups.items()}


def counted(result: Measure) -> dict[str, Any]:
    """Return the rates of a measure as JSON, for the store and for summary.json."""
    return {
        "what": result.what,
        "groups": {name: asdict(group) for name, group in result.groups.items()},
        "unreadable": result.unreadable,
        "of": result.of,
        "flips": list(result.flips),
    }


def sentences(
    results: Sequence[Measure], names: Mapping[str, Sequence[str]], deciding: Mapping[str, Mapping[str, str]]
) -> list[str]:
    """Return a sentence for each measure that scores can rest on: its rates, and whether the rule of trust accepts them.

    `names` has the models of each role. `deciding` has the criteria of each role that scores rest on, each with the name of its
    bounds (`report.trust.BOUNDS`).
    """
    conclusions = []
    for result in results:
        if (bound := deciding[result.panel.role].get(result.criterion)) is None:
            continue
        who = " + ".join(names[result.panel.role][index] for index in result.panel.indexes)
        role, variant = result.panel.role, result.panel.variant
        way = "" if result.criterion else f" ({', '.join(filter(None, (role, variant, result.what)))})"
        check = Check(role, who + way, tested(counted(result)), result.criterion, bound=bound)
        conclusions.append(sentence(check))
    return conclusions


def labelling(probes: Sequence[Probe], seed: int) -> dict[str, tuple[int, int, Rate]]:
    """Return (rows, contested rows, kappa between the two labellings of rows that have two) for each role."""
    by_role = {}
    for role in dict.fromkeys(probe.role for probe in probes):
        role_probes = [probe for probe in probes if probe.role == role]
        twice = [probe for probe in role_probes if len(probe.labels) == 2]
        agreed = kappa(
            [probe.labels[0] for probe in twice],
            [probe.labels[1] for probe in twice],
            [probe.sample for probe in twice],
            seed,
        )
        by_role[role] = (len(role_probes), sum(probe.contested for probe in role_probes), agreed)
    return by_role


def rates(results: Sequence[Measure], names: Mapping[str, Sequence[str]]) -> Section:
    """Return the section on error rates, with a row for each measure and group of rows.

    The row of all groups also counts verdicts that could not be read, and pairs of verdicts on one row that differ.
    """
    rows: list[tuple[Cell, ...]] = []
    for result in results:
        who = " + ".join(names[result.panel.role][index] for index in result.panel.indexes)
        flipped, pairs = result.flips
        counts = (f"{result.unreadable} of {result.of}", f"{flipped} of {pairs}")
        for name, group in result.groups.items():
            metrics = (group.accuracy, group.fpr, group.fnr, group.kappa)
            cells = [cell for rate in metrics for cell in (rate.value, interval(rate))]
            place = (result.panel.role, who, result.panel.variant, result.what, name)
            last = counts if name == "all" else (None, None)
            rows.append((*place, group.fpr.n, group.fnr.n, *cells, *last))
    columns = ["role", "model", "mode", "what", "rows of", "negatives", "positives"]
    for name in ("accuracy", "FPR", "FNR", "kappa"):
        columns += [name, f"{name}: 95 %"]
    notes = (
        "FPR: negatives accepted (oracle: No answered Yes). FNR: positives not accepted.",
        "Rows of easy and hard: the negatives of that kind, with all positives.",
        "Intervals: Wilson's, widened by what rows of one sample have in common; kappa's by drawing samples again.",
        "Unreadable: verdicts of all judgings that are in no rate. Flips: pairs of verdicts on one row that differ.",
    )
    return Section("Rates", notes, (Table((*columns, "unreadable", "flips"), tuple(rows)),))


def to_markdown(
    results: Sequence[Measure],
    names: Mapping[str, Sequence[str]],
    notes: Sequence[str],
    spent: Mapping[str, RoleUsage],
    conclusions: Sequence[str] = (),
) -> str:
    """Return the text of a judge check's report.md; `spent` is the usage by role."""
    title = ", ".join(dict.fromkeys(name for models in names.values() for name in models))
    blocks = [
        f"# Judge check: {plain(title)}",
        bullets(notes),
        *(["## Good enough?", bullets(conclusions)] if conclusions else []),
        *laid_out(rates(results, names)),
        "## Calls",
        table(usage_table(spent)),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"
