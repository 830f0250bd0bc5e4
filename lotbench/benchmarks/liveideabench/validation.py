"""Judge validation: judges get pairs of ideas with a known letter, and ideas that were made worse in one respect.

A row of pairs.jsonl has two ideas on a keyword; a row of triples.jsonl has three versions of an idea from best to worst.
These take the place of a candidate's ideas.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, Literal, Self

from pydantic import model_validator

from lotbench.benchmarks.liveideabench.settings import Settings
from lotbench.harness.judge_validation import JudgePanel, Probe, ProbeResult, Ruling, Validation
from lotbench.harness.planted import PlantedRow, faults_of_rows
from lotbench.harness.sample_row import Text
from lotbench.harness.state import State
from lotbench.types import JSON

LETTERS = "ABCD"
RELATIONS: Mapping[str, str] = {"paraphrase": "D", "elsewhere": "C", "other": "AB"}
"""The letters that fit a relation. paraphrase: the same idea in other words. elsewhere: the same idea for another place,
material or organism. other: another idea, on another problem (A) or a similar one (B)."""
ALIKE = "CD"
"""The letters that call two ideas the same."""
Letter = Literal["A", "B", "C", "D"]


class Pair(PlantedRow):
    """Two ideas on one keyword, with the letter that fits them."""

    one: Text
    other: Text
    relation: Literal["paraphrase", "elsewhere", "other"]
    letter: Letter
    blind_letter: Letter | None = None
    """The letter that the checker gave, without the label."""

    @model_validator(mode="after")
    def _letter_is_of_the_relation(self) -> Self:
        if self.letter not in RELATIONS[self.relation]:
            raise ValueError(f"letter: {self.relation} is {' or '.join(RELATIONS[self.relation])}")
        return self

    @property
    def contested(self) -> bool:
        """Whether the checker gave another letter."""
        return self.blind_letter not in (None, self.letter)


class Triple(PlantedRow):
    """Three versions of an idea: whole, damaged and badly damaged in one respect.

    For originality they are a new idea, a small step and a textbook idea.
    """

    respect: Literal["originality", "clarity", "feasibility"]
    versions: tuple[Text, Text, Text]
    """From best to worst."""
    planted: tuple[Text, Text]
    """What is worse in the second version and in the third, each in a sentence."""
    blind_order: tuple[Literal[0, 1, 2], Literal[0, 1, 2], Literal[0, 1, 2]] | None = None
    """The places in `versions` from best to worst, as the checker ordered them."""

    @model_validator(mode="after")
    def _versions_differ(self) -> Self:
        if len(set(self.versions)) < 3:
            raise ValueError("versions: two of them are one text")
        if self.blind_order is not None and len(set(self.blind_order)) < 3:
            raise ValueError("blind_order: not an order of 0, 1 and 2")
        return self

    @property
    def contested(self) -> bool:
        """Whether the checker chose another order."""
        return self.blind_order not in (None, (0, 1, 2))


def probes(
    role: str, rows: Sequence[Pair | Triple], data: Mapping[str, Any]
) -> tuple[list[Probe], list[str]]:
    """Return the probes of a file's rows, and the file's faults as `ROW: field: reason`, rows counted from 1.

    A pair is one probe; a triple is three, one for each version.
    """
    faults = faults_of_rows(rows, data.keys())
    all_probes: list[Probe] = []
    for row in rows:
        if isinstance(row, Pair):
            all_probes.append(_pair_probe(role, row))
        else:
            all_probes.extend(_triple_probes(role, row))
    return all_probes, faults


def _played(*ideas: str) -> dict[str, JSON]:
    """Return the state of an episode in which the candidate had these ideas."""
    return {
        "steps": [
            {"step": "respond", "round": number, "role": "candidate", "draw": 0, "value": {"status": "ok", "idea": idea}}
            for number, idea in enumerate(ideas, 1)
        ]
    }  # fmt: skip


def _pair_probe(role: str, row: Pair) -> Probe:
    alike = row.letter in ALIKE
    return Probe(
        id=row.id,
        role=role,
        sample=row.sample,
        step="judge",
        label=alike,
        kind=row.relation,
        split=row.split,
        labels=(alike,) if row.blind_letter is None else (alike, row.blind_letter in ALIKE),
        contested=row.contested,
        state=_played(row.one, row.other),
        task="pairs",
        known={"letter": row.letter},
    )


def _triple_probes(role: str, row: Triple) -> Iterator[Probe]:
    for place, version in enumerate(row.versions):
        yield Probe(
            id=f"{row.id}/{place}",
            role=role,
            sample=row.sample,
            step="judge",
            label=place == 0,
            split=row.split,
            contested=row.contested,
            state=_played(version),
            task="triples",
            group=row.id,
            known={"respect": row.respect, "place": place},
        )


def panels(role: str, models: int, settings: Settings, every: bool) -> list[JudgePanel]:
    """Return a panel of its own for each judge and task: `triples`, ideas to score, and `pairs`, ideas to compare."""
    # With 0 judges, ideas are compared and not scored.
    scores, compares = (settings.model_copy(update={"judges": n}) for n in (1, 0))
    tasks = {"triples": scores, "pairs": compares}
    return [
        JudgePanel(role, (index,), settings.version, arm, task=task)
        for index in range(models)
        for task, arm in tasks.items()
    ]


def probe_result(probe: Probe, state: State) -> ProbeResult:
    """Return the scores of an idea, or the letter for each order of a pair; the reason if nothing could be read."""
    values = [
        (step["step"], step["draw"], step["value"]) for step in state["steps"] if step["role"] == "judge"
    ]
    # A repeated request comes later and replaces the first.
    last = {(step, draw): value for step, draw, value in values}
    read: dict[str, Any] = {}
    for (step, draw), value in last.items():
        if value["status"] != "ok":
            continue
        if step == "compare":
            read[f"letter {draw}"] = value["grade"]
        else:
            read |= {name: value[name] for name in ("originality", "feasibility", "clarity") if name in value}
    why = next((value["reason"] for value in last.values() if value["status"] != "ok"), state["why"])
    return ProbeResult(None, None, None if read else str(why), values=read or None)


def rulings(judged: Sequence[tuple[Probe, ProbeResult]]) -> list[Ruling]:
    """Return the rulings: whether the ideas of a pair are alike, and which of two versions is better."""
    triples: dict[str, dict[int, tuple[Probe, Mapping[str, Any]]]] = {}
    output: list[Ruling] = []
    for probe, result in judged:
        values = result.values or {}
        if probe.task == "triples":
            triples.setdefault(probe.group, {})[int(str(probe.known["place"]))] = probe, values
        elif probe.task == "pairs":
            output.extend(_compared(probe, values))
    return output + [ruling for versions in triples.values() for ruling in _ordered(versions)]


def _compared(probe: Probe, values: Mapping[str, Any]) -> Iterator[Ruling]:
    """Yield whether the ideas of a pair are alike: the mean of the letters in both orders (A 0 to D 3) is above 1.5."""
    letter = str(probe.known["letter"])
    numbers = [_number(values[name]) for name in ("letter 0", "letter 1") if name in values]
    mean = sum(numbers) / len(numbers) if numbers else None
    place = probe.id, probe.sample, probe.kind, probe.language
    yield Ruling("alike", *place, letter in ALIKE, None if mean is None else mean > _number("B") + 0.5)


def _ordered(versions: Mapping[int, tuple[Probe, Mapping[str, Any]]]) -> Iterator[Ruling]:
    """Yield a ruling for each ordered pair of versions: whether the first has a higher score than the second.

    Equal scores count as no. The decision is None if a score could not be read.
    """
    for (first, (probe, scores)), (second, (_, others)) in permutations(versions.items(), 2):
        respect = str(probe.known["respect"])
        unread = respect not in scores or respect not in others
        more = None if unread else bool(scores[respect] > others[respect])
        row = f"{probe.group}/{first}>{second}"
        yield Ruling(respect, row, probe.sample, None, probe.language, first < second, more)


def _number(letter: str) -> float:
    return float(LETTERS.index(letter))


def depends(role: str, settings: Settings) -> tuple[dict[str, JSON], set[str]]:
    """Return what verdicts depend on besides the judge's model: benchmark and version, and the names of the prompts.

    Keywords are not among them, since ideas on any keyword may be judged.
    """
    version = settings.version
    heard = {f"judge_{version}", f"compare_{version}", "lines"}
    return {"benchmark": "liveideabench", "version": version}, heard


def deciding(role: str, settings: Settings) -> dict[str, str]:
    """Return the criteria that the score depends on, each with the name of its bounds in `report.trust.BOUNDS`."""
    return dict.fromkeys(("alike", *settings.rules.dimensions), "")


CHECKED = Validation(
    rows={"judge": {"pairs.jsonl": Pair, "triples.jsonl": Triple}},
    probes=probes,
    panels=panels,
    read=probe_result,
    depends=depends,
    rulings=rulings,
    deciding=deciding,
    # A pair is compared in both orders.
    calls=2,
)
