"""Judge validation: the judge gets claims that are known to be grounded or not, and gold justifications.

Of each row of justifications.jsonl, a justification with its claims, the judge checks the claims. Every data set adds its
gold justifications: each takes the place of a candidate's justification, of its own idea (recall 1) and of another idea
(recall near 0).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictBool, model_validator

from lotbench.benchmarks.rinobench.claims import KINDS
from lotbench.benchmarks.rinobench.settings import Settings
from lotbench.harness.judge_validation import JudgePanel, Probe, ProbeResult, Ruling, Validation
from lotbench.harness.planted import PlantedRow, faults_of_rows
from lotbench.harness.sample_row import Text
from lotbench.harness.state import State
from lotbench.types import JSON, FrozenModel

CLAIMS, RECALL = "claims", "recall"
"""The tasks of a probe: to check given claims, or to find gold arguments in a justification."""


class Claim(FrozenModel):
    """One claim of a justification, labelled as grounded or not."""

    kind: Literal["known", "novelty"]
    text: Text
    grounded: StrictBool
    """For a known claim: a related work supports it. For a novelty claim: the idea contains it."""
    how: Literal["", "another_idea", "contradicts"] = ""
    """For an ungrounded claim: it is true of another idea, or contradicts a work or the idea."""
    planted: str = ""
    """For an ungrounded claim: what is true instead, or of which sample it is true. For a grounded claim: its works."""
    blind_grounded: StrictBool | None = None
    """The checker's answer, given without the label."""

    @model_validator(mode="after")
    def _ungrounded_says_how(self) -> Self:
        if bool(self.how) is self.grounded:
            raise ValueError("how: an ungrounded claim says how it came to be, a grounded one does not")
        if not (self.grounded or self.planted):
            raise ValueError(
                "planted: an ungrounded claim says what is true instead, or of which sample it is true"
            )
        return self


class Justification(PlantedRow):
    """A justification with known claims; its text makes these claims in their order, and no others."""

    claims: Annotated[tuple[Claim, ...], Field(min_length=2, max_length=12)]
    justification: Text

    @property
    def contested(self) -> bool:
        """Whether the checker disagrees with the label of any claim."""
        return any(claim.blind_grounded not in (None, claim.grounded) for claim in self.claims)


def probes(
    role: str, rows: Sequence[Justification], data: Mapping[str, Any]
) -> tuple[list[Probe], list[str]]:
    """Return one probe for each row of a file, and the file's faults as `ROW: field: reason`, rows counted from 1.

    Without rows, return the probes that the gold justifications of the data set make.

    Args:
        role: The role of the judge.
        rows: The rows of the file.
        data: The samples of the data set, by id.
    """
    if not rows:
        return _of_gold(role, data), []
    all_probes = []
    for row in rows:
        ids = _ids(row.claims)
        claims = {
            kind: {name: claim.text for name, claim in ids.items() if claim.kind == kind} for kind in KINDS
        }
        truth: dict[str, JSON] = {name: [claim.grounded, claim.how] for name, claim in ids.items()}
        probe = _probe(role, row.sample, CLAIMS, row.justification, f"{row.id}/{CLAIMS}", truth)
        turn = {**probe.turn, "claims": claims}
        all_probes.append(replace(probe, turn=turn, split=row.split, contested=row.contested))
    return all_probes, faults_of_rows(rows, data.keys())


def _of_gold(role: str, data: Mapping[str, Any]) -> list[Probe]:
    """Return two probes for every sample: its own gold justification, and that of another sample, for its idea.

    The other sample is the next one in the data set of another block; without such a sample there is no second probe.
    """
    names = list(data)
    all_probes = []
    for place, name in enumerate(names):
        text = data[name].novelty_reasoning
        all_probes.append(_probe(role, name, RECALL, text, f"{name}/self", {"own": True}))
        after = (*names[place + 1 :], *names[:place])
        own = data[name].block
        other = next((sample for sample in after if not own or data[sample].block != own), None)
        if other is not None:
            text = data[other].novelty_reasoning
            all_probes.append(_probe(role, name, RECALL, text, f"{name}/other", {"own": False}))
    return all_probes


def _ids(claims: Sequence[Claim]) -> dict[str, Claim]:
    """Return the claims by id, k1.. for known and n1.. for novelty claims, as an extraction names them."""
    return {
        f"{kind[0]}{number}": claim
        for kind in KINDS
        for number, claim in enumerate((claim for claim in claims if claim.kind == kind), 1)
    }


def _probe(role: str, sample: str, task: str, text: str, name: str, truth: Mapping[str, JSON]) -> Probe:
    """Return a probe in which the judge extracts the claims from a justification and checks them.

    Args:
        role: The role of the judge.
        sample: The id of the sample.
        task: The name of the task, which a panel has too.
        text: The justification.
        name: The id of the probe.
        truth: What is known about the claims or the recall.
    """
    return Probe(name, role, sample, "judge", {"reasoning": text, "status": "ok"}, task=task, known=truth)


def panels(role: str, models: int, settings: Settings, every: bool) -> list[JudgePanel]:
    """Return a panel of its own for each judge and task; the judge makes no alignment calls."""
    checks_only = settings.model_copy(update={"justification": True, "alignment_calls": 0})
    return [
        JudgePanel(role, (index,), "", checks_only, task=task)
        for index in range(models)
        for task in (CLAIMS, RECALL)
    ]


def probe_result(probe: Probe, state: State) -> ProbeResult:
    """Return the gold arguments, the claims and their checks; the reason if the episode failed."""
    if state["outcome"] is not None:
        return ProbeResult(None, None, str(state["why"]))
    values = {name: state["turn"][name] for name in ("gold", "claims", "checks")}
    return ProbeResult(None, None, values=values)


def rulings(judged: Sequence[tuple[Probe, ProbeResult]]) -> list[Ruling]:
    """Return the rulings: whether claims are grounded, and whether gold arguments are recalled."""
    by_task = {CLAIMS: _grounded_claims, RECALL: _recalled_arguments}
    return [
        Ruling(criterion, row, probe.sample, kind, probe.language, truth, verdict)
        for probe, result in judged
        for criterion, row, kind, truth, verdict in by_task[probe.task](probe, result.values)
    ]


ProbeValue = tuple[str, str, str | None, bool, bool | None]


def _grounded_claims(probe: Probe, values: Mapping[str, Any] | None) -> Iterator[ProbeValue]:
    truth: Mapping[str, Any] = probe.known
    for name, (grounded, how) in truth.items():
        verdict = None if values is None else bool(values["checks"][name]["grounded"])
        yield "grounded", f"{probe.id}/{name}", how or None, grounded, verdict


def _recalled_arguments(probe: Probe, values: Mapping[str, Any] | None) -> Iterator[ProbeValue]:
    """Yield whether each gold argument was matched; for an idea's own gold also whether each claim was grounded.

    The official gold has only claims that passed a grounding check, so the share that the judge calls ungrounded is an
    upper bound of its false alarms.
    """
    own = bool(probe.known["own"])
    if values is None:
        yield "recalled", probe.id, None, own, None
        return
    names = {name for check in values["checks"].values() for name in check["gold"]}
    for kind in KINDS:
        for name in values["gold"][kind]:
            yield "recalled", f"{probe.id}/{name}", None, own, name in names
    if own:
        for name, check in values["checks"].items():
            yield "gold grounded", f"{probe.id}/{name}", None, True, bool(check["grounded"])


CHECKED = Validation(
    rows={"judge": {"justifications.jsonl": Justification}},
    probes=probes,
    panels=panels,
    read=probe_result,
    # Verdicts do not depend on the data set: a check of a judge holds for answers to any idea.
    depends=lambda role, settings: (
        settings.model_dump(include={"grounding", "works_chars", "max_claims"}) | {"benchmark": "rinobench"},
        {"extract", "lines", "ground_known", "ground_novelty"},
    ),
    rulings=rulings,
    deciding=lambda role, settings: {"grounded": "", "recalled": ""},
    # The arguments of the gold and of the justification, and a check of each kind.
    calls=4,
    # Nobody has labelled how well two justifications agree, on a scale of 0 to 10.
    uncovered="alignment",
)
