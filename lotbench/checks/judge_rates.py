"""From what judges said about labelled rows to how well they judge: rates, records for the store, the report.

A verdict that could not be read is counted apart and is no verdict. Rates are those of the first judging of
each row; further ones say only how often a verdict flips.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from lotbench.harness.judge_validation import JudgePanel, Probe, ProbeResult
from lotbench.metrics.agreement import Agreement, Rate, agreement, flips, kappa
from lotbench.report.markdown import bullets, number, plain, table
from lotbench.report.report import Spent
from lotbench.report.sections import Table
from lotbench.types import JSON

Cell = str | float | int | None
AUTHOR = "author labels: no other people have reviewed them yet"


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one probe, put once to one panel."""

    panel: JudgePanel
    probe: Probe
    repeat: int
    said: ProbeResult


@dataclass(frozen=True, slots=True)
class Measure:
    """One judge, or several as one, on all the rows it was given.

    Attributes:
        what: How many verdicts a yes takes.
        groups: By name; `all` is first.
        readable: The first verdict on each probe, of those that could be read.
        unreadable: Verdicts of all repeats that could not be read, and calls without a reply.
        of: Verdicts of all repeats.
        flips: Pairs of verdicts on one row that differ, and all such pairs.
    """

    role: str
    seats: tuple[int, ...]
    variant: str
    what: str
    settings: Any
    groups: Mapping[str, Agreement]
    readable: Sequence[tuple[Probe, bool]]
    unreadable: int
    of: int
    flips: tuple[int, int]


def measures(judged: Sequence[Judged], seed: int) -> list[Measure]:
    """Every panel's rates; of a panel that confirms, those of its first verdict alone too."""
    made = []
    for panel_id in dict.fromkeys(id(one.panel) for one in judged):
        mine = [one for one in judged if id(one.panel) == panel_id]
        panel = mine[0].panel
        if panel.alone is not None:
            first = replace(panel, seats=panel.seats[:1], settings=panel.alone)
            made.append(_measure(mine, first, "check alone", lambda said: said.first, seed))
        what = "check alone" if panel.alone is None else "check, then confirm"
        if panel.role == "oracle":
            what = "answer"
        made.append(_measure(mine, panel, what, lambda said: said.last, seed))
    return made


def _measure(
    mine: Sequence[Judged],
    panel: JudgePanel,
    what: str,
    pick: Callable[[ProbeResult], bool | None],
    seed: int,
) -> Measure:
    """One measure; rows that words decide without a judge are no part of it."""
    verdicts = [(one.probe, one.repeat, pick(one.said)) for one in mine if one.said.how == "judge"]
    by_row: dict[str, list[bool]] = {}
    for probe, _, verdict in verdicts:
        if verdict is not None:
            by_row.setdefault(probe.id, []).append(verdict)
    readable = [
        (probe, verdict) for probe, repeat, verdict in verdicts if repeat == 1 and verdict is not None
    ]
    return Measure(
        role=panel.role,
        seats=panel.seats,
        variant=panel.variant,
        what=what,
        settings=panel.settings,
        groups=_groups(readable, seed),
        readable=readable,
        unreadable=sum(verdict is None for _, _, verdict in verdicts),
        of=len(verdicts),
        flips=flips(list(by_row.values())),
    )


def _groups(readable: Sequence[tuple[Probe, bool]], seed: int) -> dict[str, Agreement]:
    """All rows, those of each language, and those of each kind; positives without a kind stand with every kind."""

    def rated(chosen: Sequence[tuple[Probe, bool]]) -> Agreement:
        labels, verdicts = [probe.label for probe, _ in chosen], [verdict for _, verdict in chosen]
        return agreement(labels, verdicts, [probe.sample for probe, _ in chosen], seed)

    made = {"all": rated(readable)}
    for language in sorted({probe.language for probe, _ in readable}):
        made[language] = rated([one for one in readable if one[0].language == language])
    for kind in sorted({probe.kind for probe, _ in readable if probe.kind}):
        made[kind] = rated([one for one in readable if one[0].kind in (kind, None)])
    return made


def record(
    one: Measure, key: Mapping[str, JSON], names: Sequence[str], about: Mapping[str, JSON]
) -> dict[str, Any]:
    """What the store keeps of a measure: all that a later report says, and each row's verdict for anchors."""
    return {
        "schema": 1,
        "key": dict(key),
        "names": list(names),
        "set": dict(about),
        "what": one.what,
        "groups": {name: asdict(group) for name, group in one.groups.items()},
        "unreadable": one.unreadable,
        "of": one.of,
        "flips": list(one.flips),
        "rows": [{"probe": asdict(probe), "accepted": verdict} for probe, verdict in one.readable],
        "field": [],
    }


def labelling(probes: Sequence[Probe], seed: int) -> dict[str, tuple[int, int, Rate]]:
    """For each role: rows, contested rows, and the kappa of the two labellings over the rows that have two."""
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
    """Every measure and group as a row."""
    rows: list[tuple[Cell, ...]] = []
    for one in found:
        who = " + ".join(names[one.role][seat] for seat in one.seats)
        for name, group in one.groups.items():
            shown = (group.accuracy, group.fpr, group.fnr, group.kappa)
            cells = [cell for rate in shown for cell in (rate.value, interval(rate))]
            rows.append((one.role, who, one.variant, one.what, name, group.fpr.n, group.fnr.n, *cells))
    columns = ["role", "model", "mode", "what", "rows of", "negatives", "positives"]
    for name in ("accuracy", "FPR", "FNR", "kappa"):
        columns += [name, f"{name}: 95 %"]
    return Table(tuple(columns), tuple(rows))


def steadiness(found: Sequence[Measure], names: Mapping[str, Sequence[str]]) -> Table:
    """What could not be read, and how often a verdict on the same row flips."""
    rows: list[tuple[Cell, ...]] = []
    for one in found:
        who = " + ".join(names[one.role][seat] for seat in one.seats)
        flipped, pairs = one.flips
        share = flipped / pairs if pairs else None
        rows.append((one.role, who, one.variant, one.what, one.unreadable, one.of, flipped, pairs, share))
    columns = ("role", "model", "mode", "what", "unreadable", "of", "flips", "of pairs", "flip rate")
    return Table(columns, tuple(rows))


def interval(rate: Rate | Mapping[str, Any]) -> str | None:
    """A rate's interval in words; None if it has none."""
    low, high = (rate.low, rate.high) if isinstance(rate, Rate) else (rate["low"], rate["high"])
    if low is None and high is None:
        return None
    return " to ".join("open" if end is None else number(end) for end in (low, high))


def to_markdown(
    found: Sequence[Measure],
    names: Mapping[str, Sequence[str]],
    notes: Sequence[str],
    spent: Mapping[str, Spent],
) -> str:
    """The content of a judge check's report.md."""
    cost = Table(
        ("role", "calls", "input tokens", "output tokens", "cost (USD)"),
        tuple(
            (
                role,
                one.calls,
                one.input_tokens,
                one.output_tokens,
                "no price known" if one.cost_usd is None else f"{one.cost_usd:.4f}",
            )
            for role, one in spent.items()
        ),
    )
    title = ", ".join(dict.fromkeys(name for given in names.values() for name in given))
    blocks = [
        f"# Judge check: {plain(title)}",
        bullets(notes),
        "## Rates",
        table(rates(found, names)),
        bullets(
            [
                "FPR: negatives accepted (oracle: No answered Yes). FNR: positives not accepted.",
                "Rows of easy and hard: the negatives of that kind, with all positives.",
                "Intervals: Wilson's, widened by what rows of one sample have in common; kappa's by drawing "
                "samples again.",
            ]
        ),
        "## Readability and flips",
        table(steadiness(found, names)),
        "## Calls",
        table(cost),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"
