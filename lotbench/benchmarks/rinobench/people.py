"""Human review: claims for people to check, and the judge's agreement with them (Sec. 4.2.2).

A row holds a claim and the texts that the judge saw with it, and nothing of the judge's answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, StrictBool

from lotbench.benchmarks.rinobench.answered import Answered, read_answered
from lotbench.benchmarks.rinobench.claims import KINDS
from lotbench.benchmarks.rinobench.sample import Item
from lotbench.benchmarks.rinobench.settings import Settings
from lotbench.benchmarks.rinobench.works import show_works
from lotbench.harness.evidence import NOTHING, Evidence
from lotbench.metrics.agreement import Rate, agreement
from lotbench.metrics.people_agreement import ceiling
from lotbench.report.sections import Cell, Section, Table
from lotbench.types import JSON, Trace

QUESTIONS = ("grounded", "in_gold")
"""The questions about a claim: is it supported by related works (or the idea), and is its point in the gold?"""


class Label(BaseModel):
    """One person's answers about one claim, named `row`; None for a question that the person left out."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    row: str
    who: str = ""
    grounded: StrictBool | None = None
    in_gold: StrictBool | None = None


@dataclass(frozen=True, slots=True)
class _Claim:
    """A claim that the judge checked; `row` is `sample/repeat/claim id`, `verdict` the judge's answers to QUESTIONS."""

    row: str
    sample: str
    kind: str
    text: str
    verdict: Mapping[str, bool]
    answer: Answered


def review(
    traces: Sequence[Trace], settings: Settings, evidence: Evidence = NOTHING
) -> list[Mapping[str, JSON]]:
    """Return one row for every claim that the judge checked; people answer both questions, None, by true or false."""
    return [
        {
            "row": claim.row,
            "kind": claim.kind,
            "claim": claim.text,
            "gold_arguments": _gold(claim),
            "beside": _evidence_text(claim.kind, evidence.samples[claim.sample], settings),
            **dict.fromkeys(QUESTIONS),
        }
        for claim in _claims(traces)
    ]


def people(traces: Sequence[Trace], labels: Sequence[Mapping[str, Any]]) -> Section | None:
    """Return the section on the judge's accuracy, error rates and kappa against people, and on people among themselves.

    None without a label on a claim of the run.
    """
    claims = {claim.row: claim for claim in _claims(traces)}
    by_row: dict[str, list[Label]] = {}
    for label in (Label.model_validate(row) for row in labels):
        if label.row in claims:
            by_row.setdefault(label.row, []).append(label)
    if not by_row:
        return None
    against, among = list[tuple[Cell, ...]](), list[tuple[Cell, ...]]()
    for question in QUESTIONS:
        for kind in KINDS:
            votes = {
                row: {label.who: answer for label in own if (answer := getattr(label, question)) is not None}
                for row, own in by_row.items()
                if claims[row].kind == kind
            }
            votes = {row: answers for row, answers in votes.items() if answers}
            against += _against(question, kind, votes, claims)
            among += _among(question, kind, votes, claims)
    notes = (
        f"{sum(map(len, by_row.values()))} labels on {len(by_row)} of {len(claims)} claims that the judge checked. Several people "
        "who answered for one claim are one: what more than half of them say.",
        "False yes: of the claims that people call ungrounded (or not in the gold), those that the judge accepts; false no: "
        "the reverse. Intervals count claims of one idea as alike.",
        "People were shown the claims and gold arguments that the judge took from the texts: whether it took them rightly is "
        "not asked here.",
    )
    ceilings = (Table(AMONG, tuple(among), CEILING),) if among else ()
    return Section("People and the judge", notes, (Table(AGAINST, tuple(against)), *ceilings), brief=True)


AGAINST = (
    "question", "claims", "labelled", "people yes", "judge yes", "agree", "low", "high", "false yes", "false no", "kappa",
    "kappa, low", "kappa, high",
)  # fmt: skip
AMONG = ("question", "claims", "who", "agree", "of", "kappa", "low", "high")
CEILING = "People among themselves: the ceiling of what the judge can agree with them"


def _claims(traces: Sequence[Trace]) -> Iterator[_Claim]:
    """Yield the checked claims of a run, in the order of its episodes."""
    for trace in traces:
        answer = read_answered(trace.steps)
        if answer is None or answer.gold is None or answer.claims is None:
            continue
        for kind in KINDS:
            for name, text in answer.claims[kind].items():
                if check := answer.checks.get(name):
                    verdict = {"grounded": check.grounded, "in_gold": bool(check.gold)}
                    row = f"{trace.sample}/{trace.repeat}/{name}"
                    yield _Claim(row, trace.sample, kind, text, verdict, answer)


def _gold(claim: _Claim) -> str:
    gold = claim.answer.gold or {}
    return "\n".join(gold[claim.kind].values()) or "(none)"


def _evidence_text(kind: str, item: Item, settings: Settings) -> str:
    """Return the text that a claim of this kind is checked against, as the judge saw it."""
    if kind == "known":
        return show_works(item.related_works, settings.works_chars).text
    return item.research_idea.text()


def _against(
    question: str, kind: str, votes: Mapping[str, Mapping[str, bool]], claims: Mapping[str, _Claim]
) -> Iterator[tuple[Cell, ...]]:
    """Yield the table row of the judge against the majority of people for a question and kind; none without labels."""
    if not votes:
        return
    majority = [2 * sum(answers.values()) > len(answers) for answers in votes.values()]
    judge_answers = [claims[row].verdict[question] for row in votes]
    rates = agreement(majority, judge_answers, [claims[row].sample for row in votes])
    right = rates.accuracy
    yield (
        question, kind, len(votes), sum(majority), sum(judge_answers), right.value, right.low, right.high, rates.fpr.value,
        rates.fnr.value, *_kappa(rates.kappa),
    )  # fmt: skip


def _among(
    question: str, kind: str, votes: Mapping[str, Mapping[str, bool]], claims: Mapping[str, _Claim]
) -> Iterator[tuple[Cell, ...]]:
    """Yield the table rows of one person against another and of the judge against one person.

    No row unless two people answered about the same claim.
    """
    verdicts = {row: claims[row].verdict[question] for row in votes}
    rates = ceiling(votes, verdicts, {row: claims[row].sample for row in votes})
    for who, rate in zip(("one person and another", "the judge and one person"), rates or (), strict=False):
        yield (question, kind, who, rate.hits, rate.n, *_kappa(rate))


def _kappa(rate: Rate) -> tuple[Cell, ...]:
    return rate.value, rate.low, rate.high
