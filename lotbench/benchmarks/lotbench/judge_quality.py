"""What a report says about the judge of a run: its error rates, whether they still hold, the corrected scores.

Rates on the judge set stand beside the score; only labels of this very run's fillings correct it.
Whether judge and oracle are good enough is decided in `report.trust`, which is told here what is known of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lotbench.benchmarks.lotbench import labelled, leaps
from lotbench.benchmarks.lotbench.chance import chance_line
from lotbench.benchmarks.lotbench.games import game
from lotbench.benchmarks.lotbench.validation import BOUNDS, deciding_seats, key
from lotbench.harness.judge_standing import ceiling, elsewhere, tested
from lotbench.harness.judge_validation import JudgeContext, JudgeQuality, Place, judged_by
from lotbench.metrics.agreement import Field, Stratum
from lotbench.metrics.intervals import Floats
from lotbench.report.sections import Cell, Section, Table
from lotbench.report.trust import Check
from lotbench.types import JSON, Metric

Record = Mapping[str, Any]
LABEL_ERRORS = (0.01, 0.02)
"""Shares of wrong labels at which the corrected score is given beside it; our own two labellers differ on 3.8 %."""


def standing(inquiry: JudgeContext) -> JudgeQuality:
    """How well the judge of a run is known to judge, and what a placebo gets from it."""
    role, seats = "judge", deciding_seats(inquiry.settings)
    alone = inquiry.settings.model_copy(update={"confirm": "never"})
    decides = _record(inquiry, role, seats, inquiry.settings)
    line = chance_line(
        inquiry,
        _wanted(inquiry, role, seats, inquiry.settings),
        decides,
        _record(inquiry, role, seats[:1], alone),
    )
    found = _checked(inquiry)
    used = (*found.used, *(one for one in line.used if one not in found.used))
    return replace(found, used=used, chance=line.values, said=line.said, played=line.played)


def _checked(inquiry: JudgeContext) -> JudgeQuality:
    role, seats = "judge", deciding_seats(inquiry.settings)
    ids = [_ids(inquiry, role, seat) for seat in seats]
    record = _record(inquiry, role, seats, inquiry.settings)
    alone = inquiry.settings.model_copy(update={"confirm": "never"})
    others = [
        (
            "check alone",
            _record(inquiry, role, seats[:1], alone) if inquiry.settings.confirm != "never" else None,
        ),
        ("oracle", _record(inquiry, "oracle", (0,), inquiry.settings)),
    ]
    known = [(name, one) for name, one in others if one is not None]
    checks = (_check(inquiry, record), _oracle(inquiry, others[-1][1]))
    if record is None:
        notes = [f"unchecked: {checks[0].who}", *_nearest(inquiry, ids)]
        section = Section("Judge", tuple(notes), _tables(known), brief=True)
        return JudgeQuality(checks, (section,), {}, tuple(one for _, one in known))
    rates = _field(record, inquiry)
    notes = [*_about(record), *_fielded(record, rates, inquiry)]
    section = Section("Judge", tuple(notes), _tables([("the run's judge", record), *known]), brief=True)
    used = (record, *(one for _, one in known))
    return JudgeQuality(checks, (section,), _scores(record, inquiry), used)


def _check(inquiry: JudgeContext, record: Record | None) -> Check:
    """What is known of those who end a game: on the judge set, and by the labels of this run where there are some."""
    role, seats = "judge", deciding_seats(inquiry.settings)
    who = ", ".join(name for seat in seats for name in _ids(inquiry, role, seat)) or "no call came back"
    if record is None:
        return Check(role, who, None)
    rates, field = tested(record), _field(record, inquiry)
    if field is not None:
        # A candidate that never says the right thing leaves no right filling to be refused.
        fpr, fnr, kappa = (None if np.isnan(rate) else rate for rate in (*field.point(), field.kappa()))
        rates = replace(
            rates,
            fpr=rates.fpr if fpr is None else fpr,
            fnr=rates.fnr if fnr is None else fnr,
            kappa=kappa if rates.kappa is None else rates.kappa,
            negatives=rates.negatives + sum(one.labelled - one.true for one in field.strata),
            positives=rates.positives + sum(one.true for one in field.strata),
            where="in the field",
        )
    labels = record["set"].get("labels", "")
    return Check(role, who, rates, labels=labels, bound=BOUNDS[role])


def _oracle(inquiry: JudgeContext, record: Record | None) -> Check:
    who = ", ".join(_ids(inquiry, "oracle", 0)) or "no call came back"
    if record is None:
        return Check("oracle", who, None)
    labels = record["set"].get("labels", "")
    return Check("oracle", who, tested(record), labels=labels, bound=BOUNDS["oracle"])


def _ids(inquiry: JudgeContext, role: str, seat: int) -> Sequence[str]:
    answered = inquiry.ids.get(role, ())
    return answered[seat] if seat < len(answered) else ()


def _addresses(inquiry: JudgeContext, role: str, seats: Sequence[int]) -> list[str]:
    known = inquiry.addresses.get(role, ())
    return [known[seat] if seat < len(known) else "" for seat in seats]


def _record(inquiry: JudgeContext, role: str, seats: Sequence[int], settings: Any) -> Record | None:
    """The check of these seats under these settings, on this data set and with these prompts."""
    wanted = _wanted(inquiry, role, seats, settings)
    return next((one for one in inquiry.records if one["key"] == wanted), None) if wanted else None


def _wanted(inquiry: JudgeContext, role: str, seats: Sequence[int], settings: Any) -> dict[str, JSON] | None:
    """The key of that check; None if it is not known who judged."""
    ids = [_ids(inquiry, role, seat) for seat in seats]
    if any(len(one) != 1 for one in ids) or role not in inquiry.sampling:
        return None
    return {
        **key(role, settings, inquiry.prompts, inquiry.sampling[role], inquiry.data),
        **judged_by([one[0] for one in ids], _addresses(inquiry, role, seats)),
    }


def _nearest(inquiry: JudgeContext, ids: Sequence[Sequence[str]]) -> list[str]:
    """What the same models were checked with, if not with what this run has."""
    models = [name for one in ids for name in one]
    near = [
        one
        for one in inquiry.records
        if one["key"].get("models") == models and one["key"].get("role") == "judge"
    ]
    role, seats = "judge", deciding_seats(inquiry.settings)
    mine = {
        **key(role, inquiry.settings, inquiry.prompts, inquiry.sampling.get(role), inquiry.data),
        **judged_by(models, _addresses(inquiry, role, seats)),
    }
    names = {*mine, "addresses"}
    differ = [sorted(name for name in names if one["key"].get(name) != mine.get(name)) for one in near]
    differ.sort(key=len)
    if not differ:
        return ["Check it with: lotbench judge-check --judge ... (the same settings as this run)."]
    return [f"A check of it is in the store, but with other {', '.join(differ[0])}."]


def _about(record: Record) -> list[str]:
    notes = []
    if told := elsewhere(record):
        notes.append(told)
    if record["set"].get("labels") == "author":
        notes.append("The judge set has author labels: no other people have reviewed them yet.")
    if most := ceiling(record):
        notes.append(f"Nobody can be held to more than people or labellers agree: {most}.")
    if record["of"]:
        notes.append(
            f"{record['unreadable']} of {record['of']} verdicts of the check could not be read; they are in no rate."
        )
    flipped, pairs = record["flips"]
    if pairs:
        notes.append(f"Judging a row again flipped {flipped} of {pairs} verdicts ({flipped / pairs:.1%}).")
    return notes


def _own(record: Record, inquiry: JudgeContext) -> Record | None:
    """What people labelled of this very run."""
    return next((one for one in record["field"] if one["run"] == inquiry.run), None)


def _field(record: Record, inquiry: JudgeContext) -> Field | None:
    """Field rates of this run. Those of other runs are other candidates': they would correct it wrongly."""
    own = _own(record, inquiry)
    return Field(tuple(Stratum(**one) for one in own["strata"])) if own else None


def _fielded(record: Record, rates: Field | None, inquiry: JudgeContext) -> list[str]:
    others = ", ".join(one["run"] for one in record["field"] if one["run"] != inquiry.run)
    unused = (
        [f"Labels of other runs are not used here, for their guesses are others: {others}."] if others else []
    )
    if rates is None:
        return [
            "The scores are not corrected for the judge's errors: that takes labels of this run's guesses "
            f"(lotbench judge-check --from-run {inquiry.run} --n 200, then --labels FILE).",
            *unused,
        ]
    draws = rates.draw(np.random.default_rng([abs(inquiry.seed), 1]), 4000)
    shown = [
        f"{name} {_rate(value, drawn)}"
        for name, value, drawn in zip(("FPR", "FNR"), rates.point(), draws, strict=True)
    ]
    known = sum(one.labelled for one in rates.strata)
    return [
        *_ceiling(_own(record, inquiry) or {}),
        f"Field rates, from {known} labelled guesses of {inquiry.run}: {', '.join(shown)}.",
        "creativity_score_corrected and solve_rate_corrected go by the labels: a stop that people call false is "
        "broken off there, and right guesses that the judge refused are added as often as a draw of refusals had them.",
        *_mislabelled(record, inquiry),
        *unused,
    ]


def _mislabelled(record: Record, inquiry: JudgeContext) -> list[str]:
    """What the corrected score would be if some labels were wrong."""
    if not (labels := _labels(record, inquiry)):
        return []
    games = [game(trace) for trace in inquiry.traces]
    at = [labelled.at_error(games, labels, inquiry.settings, error) for error in LABEL_ERRORS]
    told = [
        f"{value:.4f} at {error:.0%}"
        for error, value in zip(LABEL_ERRORS, at, strict=True)
        if value is not None
    ]
    return (
        [f"creativity_score_corrected if so many labels were wrong, either way: {', '.join(told)}."]
        if told
        else []
    )


def _ceiling(own: Record) -> list[str]:
    """How well the people who labelled this run agree with each other, beside the judge with them."""
    if "people" not in own:
        return []
    people, judge = (_kappa(one) for one in own["people"])
    return [
        f"People among themselves: kappa {people}; the judge and one person: kappa {judge}. What people agree on with "
        "each other is the ceiling of what a judge can."
    ]


def _kappa(rate: Mapping[str, Any]) -> str:
    if rate["value"] is None:
        return f"none ({rate['hits']} of {rate['n']} agree)"
    ends = "" if rate["low"] is None else f" ({rate['low']:.2f} to {rate['high']:.2f})"
    return f"{rate['value']:.2f}{ends}, n = {rate['n']}"


def _rate(value: float, draws: Floats) -> str:
    """A rate with its interval; no right filling at all leaves none to be refused."""
    if np.isnan(value):
        return "not known (no right guess was labelled)"
    low, high = np.quantile(draws[~np.isnan(draws)], (0.025, 0.975))
    return f"{value:.3f} ({low:.3f} to {high:.3f})"


def _labels(record: Record, inquiry: JudgeContext) -> dict[Place, bool]:
    own = _own(record, inquiry) or {}
    return {(sample, repeat, at): right for sample, repeat, at, right in own.get("labels", ())}


def _scores(record: Record, inquiry: JudgeContext) -> dict[str, Metric]:
    """The scores by the labels of this run."""
    if not (labels := _labels(record, inquiry)):
        return {}
    games = [game(trace) for trace in inquiry.traces]
    rate, score = labelled.corrected(games, labels, inquiry.settings)
    scores = {"creativity_score_corrected": score, "solve_rate_corrected": rate}
    return scores | (leaps.by_labels(games, labels, inquiry.settings) if inquiry.settings.encore else {})


def _tables(records: Sequence[tuple[str, Record]]) -> tuple[Table, ...]:
    """The rates of each check, all rows first, then by language and kind."""
    rows: list[tuple[Cell, ...]] = []
    for name, record in records:
        models = " + ".join(record["key"]["models"])
        for group, found in record["groups"].items():
            cells: list[Cell] = []
            for rate in ("accuracy", "fpr", "fnr", "kappa"):
                one = found[rate]
                cells += [one["value"], _ends(one)]
            rows.append((name, models, group, found["fpr"]["n"], found["fnr"]["n"], *cells))
    columns = ["of", "model", "rows", "negatives", "positives"]
    for rate in ("accuracy", "FPR", "FNR", "kappa"):
        columns += [rate, f"{rate}: 95 %"]
    return (Table(tuple(columns), tuple(rows), "Checked on the judge set"),) if rows else ()


def _ends(rate: Mapping[str, Any]) -> str | None:
    if rate["low"] is None and rate["high"] is None:
        return None
    return " to ".join("open" if rate[end] is None else f"{rate[end]:.3f}" for end in ("low", "high"))
