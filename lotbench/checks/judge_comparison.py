"""Judges side by side on the same rows: how well each judges, where two err together, what a pair is worth.

What is compared are rulings, wherever they are from: a log of others, a check of today. Of two judges a pair is made
as the game makes it: the second is asked only where the first says yes, and both must.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations, permutations
from pathlib import Path
from statistics import median
from typing import Any

from lotbench.checks.judge_rates import Measure, counted, measure
from lotbench.config.experiment import digest
from lotbench.edge.files import run_folder
from lotbench.edge.files.recorded_verdicts import JudgeVerdicts
from lotbench.errors import UsageError
from lotbench.harness.judge_standing import tested
from lotbench.harness.judge_validation import JudgePanel, Ruling
from lotbench.harness.rated_uses import trivial_judges
from lotbench.metrics.agreement import Rate, agreement
from lotbench.metrics.confusion import (
    Confusion,
    JointErrors,
    confusion,
    f1_interval,
    joint_errors,
    mean_accuracy,
    paired_difference,
)
from lotbench.metrics.correlation import pearson, spearman
from lotbench.report.markdown import plain
from lotbench.report.report import laid_out
from lotbench.report.sections import Plot, Section, Table
from lotbench.report.trust import Bounds, Check, sentence
from lotbench.types import Metric

Cell = str | float | int | None
MARKS = "Marks beside people's"
WORTH = "What a second judge is worth"
TRIVIAL = "trivial: "
_ADDRESS = re.compile(r"@https?://[^\s,]+")


@dataclass(frozen=True, slots=True)
class Decided:
    """The decisions of one judge on the rows of one criterion and language, in order of their rows."""

    judge: JudgeVerdicts
    criterion: str
    language: str
    rulings: tuple[Ruling, ...]

    @property
    def truth(self) -> list[bool]:
        """What is right."""
        return [bool(one.truth) for one in self.rulings]

    @property
    def said(self) -> list[bool]:
        """What the judge said."""
        return [bool(one.said) for one in self.rulings]

    @property
    def items(self) -> list[str]:
        """What rows have in common that err together."""
        return [one.item for one in self.rulings]

    @property
    def place(self) -> tuple[str, str]:
        """Criterion and language."""
        return self.criterion, self.language

    def by_row(self) -> dict[str, Ruling]:
        """Its rulings by row."""
        return {one.row: one for one in self.rulings}


def decided(judges: Sequence[JudgeVerdicts]) -> list[Decided]:
    """The decisions of each judge, by criterion and language; the most accurate of each first."""
    found = []
    for judge, criterion, language, rulings in _parts(judges):
        if all(isinstance(one.truth, bool) for one in rulings):
            found.append(Decided(judge, criterion, language, rulings))
    places = list(dict.fromkeys(one.place for one in found))
    return sorted(found, key=lambda one: (places.index(one.place), -(_counts(one).accuracy or 0)))


def _parts(
    judges: Sequence[JudgeVerdicts],
) -> Iterator[tuple[JudgeVerdicts, str, str, tuple[Ruling, ...]]]:
    for judge in judges:
        parts: dict[tuple[str, str], list[Ruling]] = {}
        for one in judge.rulings:
            if one.said is not None:
                parts.setdefault((one.criterion, one.language), []).append(one)
        for (criterion, language), rulings in parts.items():
            yield judge, criterion, language, tuple(rulings)


def of_measures(found: Sequence[Measure], names: Mapping[str, Sequence[str]]) -> list[JudgeVerdicts]:
    """The judges of a check as they stand beside others, by the first ruling on each row."""
    made: dict[str, JudgeVerdicts] = {}
    for one in found:
        who = " + ".join(names[one.role][seat] for seat in one.seats)
        name = ", ".join(filter(None, (who, one.variant, "" if one.criterion else one.what)))
        before = made.get(name, JudgeVerdicts(name, ()))
        rulings = (replace(ruling, criterion=one.criterion or one.role) for ruling in one.readable)
        uses = {row: str(probe.known["use"]) for row, probe in one.probes.items() if "use" in probe.known}
        made[name] = replace(
            before,
            rulings=(*before.rulings, *rulings),
            texts={**before.texts, **uses},
            unread=before.unread + one.unreadable,
        )
    return list(made.values())


def sections(judges: Sequence[JudgeVerdicts], seed: int = 0, *, pairs: bool = True) -> list[Section]:
    """Everything that is said of judges side by side, or of each alone."""
    every = decided(judges)
    made = [_each(every, seed)] if every else []
    if marks := _marks(judges):
        made.append(marks)
    if pairs and (both := list(_pairs(every))):
        worth = _worth(every)
        # Who has to choose a judge is told which before anything else.
        *advice, how = worth.notes
        which = Section("Which judge", tuple(advice))
        made = [which, *made, replace(worth, notes=(how,)), _together(both), _differences(every, seed)]
    return [replace(one, tables=tuple(map(_narrowed, one.tables))) for one in made]


def _narrowed(table: Table) -> Table:
    """A table without its empty columns."""
    kept = [
        at
        for at, column in enumerate(zip(*table.rows, strict=True))
        if any(cell not in ("", None) for cell in column)
    ]
    rows = tuple(tuple(row[at] for at in kept) for row in table.rows)
    return replace(table, columns=tuple(table.columns[at] for at in kept), rows=rows)


def _counts(one: Decided) -> Confusion:
    return confusion(one.truth, one.said)


def tallies(every: Sequence[Decided]) -> list[dict[str, Any]]:
    """Of each judge what published tables have, by name: counts, accuracy, the mean over items, precision, recall, F1."""
    made = []
    for one in every:
        counts = _counts(one)
        made.append(
            {
                "judge": one.judge.name,
                "language": one.language,
                "criterion": one.criterion,
                "n": counts.n,
                "accuracy": counts.accuracy,
                "mean accuracy of items": mean_accuracy(one.truth, one.said, one.items),
                "precision": counts.precision,
                "recall": counts.recall,
                "F1": counts.f1,
                "TP": counts.tp,
                "FP": counts.fp,
                "TN": counts.tn,
                "FN": counts.fn,
                "unread": one.judge.unread,
            }
        )
    return made


def _each(every: Sequence[Decided], seed: int) -> Section:
    """The table as others publish theirs, to six decimals, and the rates with intervals."""
    rows = tallies(every)
    plain_table = Table(
        tuple(rows[0]),
        tuple(
            tuple(f"{cell:.6f}" if isinstance(cell, float) else cell for cell in row.values()) for row in rows
        ),
    )
    notes = (
        "Positive is a yes. FPR: of what is wrong, the share accepted; FNR: of what is right, the share refused.",
        "Intervals count items (stories, samples), not rows: rows of one item err together.",
        "unread: verdicts that are none of the answers. Those of a TurtleBench log count as wrong, as its table has it; "
        "others are in no rate.",
    )
    return Section("Judges", notes, (plain_table, _rates(every, seed)))


def _rates(every: Sequence[Decided], seed: int) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in every:
        found = agreement(one.truth, one.said, one.items, seed)
        cells = [
            cell
            for rate in (found.accuracy, found.fpr, found.fnr, found.kappa)
            for cell in (rate.value, _ends(rate))
        ]
        f1 = (_counts(one).f1, ends(*f1_interval(one.truth, one.said, one.items, seed)))
        rows.append((one.judge.name, one.language, one.criterion, len(set(one.items)), *cells, *f1))
    columns = ["judge", "language", "criterion", "items"]
    for name in ("accuracy", "FPR", "FNR", "kappa", "F1"):
        columns += [name, f"{name}: 95 %"]
    return Table(tuple(columns), tuple(rows), "Rates with intervals")


def _marks(judges: Sequence[JudgeVerdicts]) -> Section | None:
    """Numbers beside the true ones, with what judges say that know nothing but the words."""
    rows: list[tuple[Cell, ...]] = []
    shown: set[tuple[str, str, str]] = set()
    for judge, criterion, language, rulings in _parts(judges):
        if all(isinstance(one.truth, bool) for one in rulings):
            continue
        truth, items = [float(one.truth) for one in rulings], [one.item for one in rulings]
        said = {judge.name: [float(one.said or 0) for one in rulings]}
        texts = [judge.texts.get(one.row, "") for one in rulings]
        if all(texts):
            said |= {f"{TRIVIAL}{name}": values for name, values in trivial_judges(texts).items()}
        for name, values in said.items():
            place = (name, criterion, language)
            if place in shown:
                continue
            shown.add(place)
            both = (spearman(truth, values, items), pearson(truth, values, items))
            cells = [cell for r in both for cell in (r.value, ends(r.low, r.high))]
            rows.append((name, language, criterion, len(values), len(set(items)), *cells))
    if not rows:
        return None
    # Who goes together best with people stands first, and who knows the words alone beneath all judges.
    rows.sort(key=lambda row: (str(row[0]).startswith(TRIVIAL), str(row[1]), str(row[2]), -_number(row[5])))
    columns = ["judge", "language", "criterion", "n", "items"]
    columns += ["Spearman", "Spearman: 95 %", "Pearson", "Pearson: 95 %"]
    notes = (
        "Intervals draw items (things, tasks) again: with few items they are wide, however many rows there are.",
        "A trivial judge knows the words alone: their number of characters, or how rare they are among all rows. "
        "A constant one goes together with nothing.",
    )
    return Section(MARKS, notes, (Table(tuple(columns), tuple(rows)),))


def _number(cell: Cell) -> float:
    """A correlation to sort by; one that cannot be had goes last."""
    return cell if isinstance(cell, float) else -2.0


@dataclass(frozen=True, slots=True)
class Pair:
    """Two judges on the rows that both ruled on, split by what is right."""

    first: Decided
    second: Decided
    negatives: JointErrors
    positives: JointErrors


def _pairs(every: Sequence[Decided]) -> Iterator[Pair]:
    for one, other in combinations(every, 2):
        if one.place != other.place or not (shared := shared_rows(one, other)):
            continue
        by_truth = []
        for truth in (False, True):
            mine = [
                (a.said is not b.truth, b.said is not b.truth, a.item)
                for a, b in shared
                if bool(a.truth) is truth
            ]
            by_truth.append(
                joint_errors(*(list(column) for column in zip(*mine, strict=True))) if mine else None
            )
        if by_truth[0] is not None and by_truth[1] is not None:
            yield Pair(one, other, by_truth[0], by_truth[1])


def shared_rows(one: Decided, other: Decided) -> list[tuple[Ruling, Ruling]]:
    """What two judges ruled on, both: the same row of the same item with the same truth."""
    theirs = other.by_row()
    return [
        (mine, yours)
        for mine in one.rulings
        if (yours := theirs.get(mine.row)) is not None
        and (yours.item, yours.truth) == (mine.item, mine.truth)
    ]


def _together(pairs: Sequence[Pair]) -> Section:
    rows: list[tuple[Cell, ...]] = [
        (
            one.first.judge.name, one.second.judge.name, one.first.language, one.first.criterion,
            one.negatives.one.value, one.negatives.other.value, one.negatives.both.value, _ends(one.negatives.both),
            one.negatives.independent, one.negatives.correlation.value,
            ends(one.negatives.correlation.low, one.negatives.correlation.high), one.negatives.left.value,
            one.positives.correlation.value,
            ends(one.positives.correlation.low, one.positives.correlation.high), one.positives.both.value,
        )
        for one in pairs
    ]  # fmt: skip
    columns = (
        "first", "second", "language", "criterion", "FPR of the first", "FPR of the second", "FPR of both",
        "FPR of both: 95 %", "if they erred apart", "correlation of false yes", "correlation of false yes: 95 %",
        "of the first's false yes, the second's too", "correlation of misses", "correlation of misses: 95 %",
        "missed by both",
    )  # fmt: skip
    return Section("Where two err together", tuple(_summed_up(pairs)), (Table(columns, tuple(rows)),))


def _summed_up(pairs: Sequence[Pair]) -> Iterator[str]:
    """The middle and the ends over all pairs of a place."""
    for place in dict.fromkeys(one.first.place for one in pairs):
        mine = [one for one in pairs if one.first.place == place]
        found = {
            "correlation of false yes": [one.negatives.correlation.value for one in mine],
            "of the first's false yes, the second makes": [one.negatives.left.value for one in mine],
            "correlation of misses": [one.positives.correlation.value for one in mine],
        }
        told = [
            f"{name} {median(known):.2f} ({min(known):.2f} to {max(known):.2f})"
            for name, values in found.items()
            if (known := [value for value in values if value is not None])
        ]
        where = ", ".join(filter(None, (place[1], place[0])))
        yield f"{where}: {len(mine)} pairs, median and range: {'; '.join(told)}."


def _differences(every: Sequence[Decided], seed: int) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for one, other in combinations(every, 2):
        if one.place != other.place:
            continue
        shared = shared_rows(one, other)
        cells: list[Cell] = []
        for truths in ((False, True), (False,), (True,)):
            chosen = [(a, b) for a, b in shared if bool(a.truth) in truths]
            errs = [[x.said is not x.truth for x in side] for side in zip(*chosen, strict=True)] or [[], []]
            found = paired_difference(errs[1], errs[0], [a.item for a, _ in chosen], seed)
            # Errors less than the other's are accuracy more; of error rates the sign is the other way.
            cells += _signed(found, 1 if len(truths) == 2 else -1)
        rows.append((one.judge.name, other.judge.name, one.language, one.criterion, len(shared), *cells))
    columns = ["judge", "other", "language", "criterion", "rows"]
    for name in ("accuracy", "FPR", "FNR"):
        columns += [f"{name}: difference", f"{name}: 95 %"]
    notes = (
        "The judge's rate less the other's, on the rows that both ruled on; intervals draw items again, the same for both.",
    )
    return Section("Differences", notes, (Table(tuple(columns), tuple(rows)),))


def _signed(found: Metric, sign: int) -> tuple[Cell, Cell]:
    if found.value is None:
        return None, None
    low, high = (found.low, found.high) if sign > 0 else (found.high, found.low)
    return sign * found.value, ends(*(None if end is None else sign * end for end in (low, high)))


@dataclass(frozen=True, slots=True)
class Option:
    """A judge, or two as one, with its error rates and what 1,000 verdicts cost."""

    names: tuple[str, ...]
    place: tuple[str, str]
    fpr: float
    fnr: float
    cost: float | None
    tokens: float | None

    def beaten_by(self, other: Option) -> bool:
        """Whether another is as good in all and better in something; what has no price is compared by its tokens."""
        mine, theirs = ((one.fpr, one.fnr, one.price or 0.0) for one in (self, other))
        return theirs != mine and all(b <= a for a, b in zip(mine, theirs, strict=True))

    def good_enough(self, bounds: Bounds) -> bool:
        """Whether both error rates lie within the bounds of trust."""
        return self.fpr <= bounds.max_fpr and self.fnr <= bounds.max_fnr

    @property
    def price(self) -> float | None:
        """Dollars, or tokens where no price is known."""
        return self.tokens if self.cost is None else self.cost


def options(every: Sequence[Decided]) -> list[Option]:
    """Each judge alone, and each two in both orders."""
    made = []
    for one in every:
        counts = _counts(one)
        alone = _priced(one.judge)
        made.append(_option((one,), one.truth, one.said, *alone) if counts.n else None)
    for one, other in permutations(every, 2):
        if one.place != other.place or not (shared := shared_rows(one, other)):
            continue
        truth = [bool(a.truth) for a, _ in shared]
        said = [bool(a.said) and bool(b.said) for a, b in shared]
        asked = sum(bool(a.said) for a, _ in shared) / len(shared)
        prices = [
            None if mine is None or yours is None else mine + asked * yours
            for mine, yours in zip(_priced(one.judge), _priced(other.judge), strict=True)
        ]
        made.append(_option((one, other), truth, said, *prices))
    return [one for one in made if one is not None]


def _option(
    who: Sequence[Decided],
    truth: Sequence[bool],
    said: Sequence[bool],
    cost: float | None,
    tokens: float | None,
) -> Option | None:
    counts = confusion(truth, said)
    if not (counts.fp + counts.tn and counts.tp + counts.fn):
        return None
    fpr, fnr = counts.fp / (counts.fp + counts.tn), counts.fn / (counts.tp + counts.fn)
    return Option(tuple(one.judge.name for one in who), who[0].place, fpr, fnr, cost, tokens)


def _priced(judge: JudgeVerdicts) -> tuple[float | None, float | None]:
    """Dollars and tokens for 1,000 verdicts."""
    n = judge.verdicts or len({(one.row, one.language) for one in judge.rulings})
    return tuple(
        None if spent is None or not n else 1000 * spent / n for spent in (judge.cost_usd, judge.tokens)
    )  # type: ignore[return-value]


def _worth(every: Sequence[Decided]) -> Section:
    """Who is worth the price: those that no other beats in both rates and in cost."""
    found, bounds = options(every), Bounds()
    rows: list[tuple[Cell, ...]] = []
    notes: list[str] = []
    for place in dict.fromkeys(one.place for one in found):
        mine = [one for one in found if one.place == place]
        front = [one for one in mine if not any(one.beaten_by(other) for other in mine)]
        front.sort(key=lambda one: (len(one.names), one.fpr))
        rows += [
            (" + ".join(one.names), place[1], place[0], one.fpr, one.fnr, one.cost,
             None if one.tokens is None else round(one.tokens), "yes" if one.good_enough(bounds) else "no")
            for one in front
        ]  # fmt: skip
        notes.append(_advice(place, mine, bounds))
    columns = (
        "judge, or two",
        "language",
        "criterion",
        "FPR",
        "FNR",
        "USD per 1,000",
        "tokens per 1,000",
        "good enough",
    )
    plot = _plot(found)
    notes.append(
        "In the table: who is beaten by no other in FPR, FNR and price. Of two, the second is asked where the first says "
        f"yes, and both must. Good enough: FPR at most {bounds.max_fpr:g} and FNR at most {bounds.max_fnr:g} (max_fpr, max_fnr)."
    )
    return Section(WORTH, tuple(notes), (Table(columns, tuple(rows)),), plot)


def _advice(place: tuple[str, str], mine: Sequence[Option], bounds: Bounds) -> str:
    where = ", ".join(filter(None, (place[1], place[0])))
    good = [one for one in mine if one.good_enough(bounds)]
    if good:
        best = min(good, key=lambda one: (one.price or 0.0, one.fpr + one.fnr))
        return f"{where}: good enough at the least price: {_told(best)}."
    least = min(mine, key=lambda one: max(0.0, one.fpr - bounds.max_fpr) + max(0.0, one.fnr - bounds.max_fnr))
    return f"{where}: nobody is good enough, alone or with a second. The nearest: {_told(least)}."


def _told(one: Option) -> str:
    price = (
        f", ${one.cost:.2f} per 1,000 verdicts"
        if one.cost is not None
        else f", {one.tokens:,.0f} tokens per 1,000 verdicts"
        if one.tokens is not None
        else ""
    )
    return f"{' + '.join(one.names)} (FPR {one.fpr:.3f}, FNR {one.fnr:.3f}{price})"


def _plot(found: Sequence[Option]) -> tuple[Plot, ...]:
    """FPR and FNR of everybody, alone and with a second."""
    places = list(dict.fromkeys(one.place for one in found))
    made = []
    for place in places:
        kinds = {"alone": 1, "two, both must say yes": 2}
        series = {
            name: tuple((one.fpr, one.fnr) for one in found if one.place == place and len(one.names) == n)
            for name, n in kinds.items()
        }
        labels = {
            "alone": tuple(
                " + ".join(one.names) for one in found if one.place == place and len(one.names) == 1
            )
        }
        where = ", ".join(filter(None, (place[1], place[0])))
        made.append(
            Plot("scatter", "FPR", "FNR", {k: v for k, v in series.items() if v}, where, labels=labels)
        )
    return tuple(made)


def ends(low: float | None, high: float | None) -> str | None:
    """An interval in words; None if it has none."""
    if low is None and high is None:
        return None
    return " to ".join("open" if end is None else f"{end:.3f}" for end in (low, high))


def _ends(rate: Rate) -> str | None:
    return ends(rate.low, rate.high)


def good_enough(judges: Sequence[JudgeVerdicts], seed: int = 0) -> Section:
    """A sentence a judge, criterion and language: what it does wrong in 100, and whether that is good enough."""
    told = []
    for judge in judges:
        for criterion, language in dict.fromkeys((one.criterion, one.language) for one in judge.rulings):
            mine = [one for one in judge.rulings if (one.criterion, one.language) == (criterion, language)]
            found = tested(counted(measure(mine, JudgePanel("judge", (0,), "", None), criterion, seed)))
            told.append(sentence(Check("judge", f"{judge.name}, {language}", found, criterion)))
    return Section("Good enough?", tuple(told))


@dataclass(frozen=True, slots=True)
class Written:
    """A comparison on disk."""

    path: Path
    sections: tuple[Section, ...]


def named_apart(judges: Sequence[JudgeVerdicts]) -> list[JudgeVerdicts]:
    """The judges without the addresses of servers in their names, where these tell nobody apart."""
    short = {one.name: _ADDRESS.sub("", one.name) for one in judges}
    if len(set(short.values())) < len(short):
        return list(judges)
    return [replace(one, name=short[one.name]) for one in judges]


def write_comparison(judges: Sequence[JudgeVerdicts], title: str, out: Path, seed: int = 0) -> Written:
    """Write report.html, report.md and summary.json in a folder named for these very verdicts; returns what it says."""
    # Drawing takes matplotlib, which nothing else here has a use for.
    from lotbench.report.html.comparison_page import judges_page  # noqa: PLC0415

    shown = named_apart(judges)
    made = sections(shown, seed)
    if not made:
        raise UsageError("no verdict of these judges could be read")
    made.append(good_enough(shown, seed))
    name = digest([[one.name, [asdict(ruling) for ruling in one.rulings]] for one in judges])[:8]
    blocks = [f"# {plain(title)}", *(block for section in made for block in laid_out(section))]
    tables = {
        one.title: [[dict(zip(t.columns, row, strict=True)) for row in t.rows] for t in one.tables]
        for one in made
    }
    notes = {one.title: list(one.notes) for one in made}
    summary = {"schema": 1, "judges": [one.name for one in judges], "tallies": tallies(decided(judges))}
    summary |= {"tables": tables, "notes": notes}
    with run_folder.Folder(out / f"judge-check-side-by-side-{name}") as place:
        place.write("report.md", "\n\n".join(block for block in blocks if block) + "\n")
        place.write("report.html", judges_page(title, list(dict.fromkeys(one.name for one in judges)), made))
        place.write_json("summary.json", summary)
        return Written(place.path, tuple(made))
