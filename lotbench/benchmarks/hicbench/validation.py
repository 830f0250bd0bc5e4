"""Judge validation: judges get answers that are known to be false or sound, inventive or dull.

A row of answers.jsonl takes the place of a candidate's answer to a task. Its kind is false, inventive, dull, or
inventive and false.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import StrictBool, model_validator

from lotbench.benchmarks.hicbench.ratings import LEAST, MARKS
from lotbench.benchmarks.hicbench.settings import Settings
from lotbench.harness.judge_validation import JudgePanel, Probe, ProbeResult, Ruling, Validation
from lotbench.harness.planted import PlantedRow, faults_of_rows
from lotbench.harness.sample_row import Text
from lotbench.harness.state import State


class Planted(PlantedRow):
    """An answer that is known to be false or sound, and inventive or dull."""

    answer: Text
    kind: Literal["false", "inventive", "dull", "inventive_false"]
    fault: Literal["figure", "law", "task"] | None = None
    """What makes it false: a wrong figure, a broken law of nature, or an answer to another task."""
    planted: str = ""
    """The error in it, in a sentence that names the truth."""
    blind_false: StrictBool | None = None
    """Whether the checker, who does not see the label, calls it false."""
    blind_inventive: StrictBool | None = None

    @model_validator(mode="after")
    def _false_answers_say_what_is_false(self) -> Self:
        if (self.fault is not None) is not self.false or bool(self.planted) is not self.false:
            raise ValueError(
                "fault: a false answer names its fault and says what was planted, a sound one does not"
            )
        return self

    @property
    def false(self) -> bool:
        """Whether the answer has a planted error."""
        return self.kind in ("false", "inventive_false")

    @property
    def inventive(self) -> bool | None:
        """Whether the answer is inventive; None for the kind `false`, which leaves it open."""
        return None if self.kind == "false" else self.kind != "dull"

    @property
    def contested(self) -> bool:
        """Whether the second person or model that labelled the answer (the checker) disagrees with its label."""
        pairs = ((self.false, self.blind_false), (self.inventive, self.blind_inventive))
        return any(None not in pair and pair[0] is not pair[1] for pair in pairs)


def probes(role: str, rows: Sequence[Planted], data: Mapping[str, Any]) -> tuple[list[Probe], list[str]]:
    """Return one probe for each row of a file, and the file's faults as `ROW: field: reason`, rows counted from 1.

    A probe has the answer of the row, which the judges get, and the truth about it.
    """
    faults, seen = faults_of_rows(rows, data.keys()), dict[tuple[str, str], int]()
    for number, row in enumerate(rows, 1):
        if (first := seen.setdefault((row.sample, row.answer), number)) != number:
            faults.append(f"{number}: answer: row {first} has this answer to {row.sample} already")
    return [_answer_probe(role, row) for row in rows], faults


def _answer_probe(role: str, row: Planted) -> Probe:
    return Probe(
        id=row.id,
        role=role,
        sample=row.sample,
        step="judge",
        turn={"answers": [row.answer]},
        label=row.false,
        kind=row.fault or row.kind,
        split=row.split,
        labels=(row.false,) if row.blind_false is None else (row.false, row.blind_false),
        contested=row.contested,
        known={"false": row.false, "inventive": row.inventive},
    )


def panels(role: str, models: int, settings: Settings, every: bool) -> list[JudgePanel]:
    """Return a panel of its own for each judge, since a verdict does not depend on the other judges."""
    alone = settings.model_copy(update={"dhp": False, "judges": 1})
    return [JudgePanel(role, (index,), "", alone) for index in range(models)]


def probe_result(probe: Probe, state: State) -> ProbeResult:
    """Return the last verdict on a probe's answer: three marks and hallucination; or the reason why it is unreadable."""
    values = [step["value"] for step in state["steps"] if step["role"] == "judge"]
    last = values[-1] if values else {"status": state["why"]}
    if last["status"] != "ok":
        return ProbeResult(None, None, str(state["why"] or last["status"]))
    verdict = bool(last["hallucination"])
    marks = {name: last[name] for name in MARKS}
    return ProbeResult(verdict, verdict, values={**marks, "hallucination": verdict})


def rulings(judged: Sequence[tuple[Probe, ProbeResult]]) -> list[Ruling]:
    """Return a ruling on each planted answer and each criterion with a known truth: hallucination, originality, IH.

    A ruling has the truth and the judge's decision.
    """
    return [
        Ruling(criterion, probe.id, probe.sample, probe.kind, probe.language, bool(truth), verdict)
        for probe, result in judged
        for criterion, truth, verdict in _criteria(probe.known, result.values)
        if truth is not None
    ]


def _criteria(truth: Mapping[str, Any], verdict: Mapping[str, Any] | None) -> Iterator[tuple[str, Any, Any]]:
    """Yield each criterion with the truth and the judge's decision; the decision is None if the verdict is unreadable."""
    yield "hallucination", truth["false"], verdict and verdict["hallucination"]
    yield "originality", truth["inventive"], verdict and bool(verdict["originality"] >= LEAST[0])
    # A false answer is not an IH, even if it is inventive (Algorithm 1).
    is_ih = verdict and (
        all(verdict[name] >= least for name, least in zip(MARKS, LEAST, strict=True))
        and not verdict["hallucination"]
    )
    yield "IH", bool(truth["inventive"]) and not truth["false"], is_ih


CHECKED = Validation(
    rows={"judge": {"answers.jsonl": Planted}},
    probes=probes,
    panels=panels,
    read=probe_result,
    # Verdicts do not depend on the data set, since any task may be judged.
    depends=lambda role, settings: ({"benchmark": "hicbench"}, {"judge", "lines"}),
    rulings=rulings,
    deciding=lambda role, settings: {"hallucination": "", "IH": ""},
)
