"""How E1 and E2 are checked (Sec. 7.2-7.3): the labelled rows, who is measured how, and what is read off.

A row of daeso.jsonl is a filling, put where a candidate's filling stands; one of oracle.jsonl a question,
put where a candidate's question stands. The nodes of the game do the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, model_validator

from lotbench.benchmarks.lotbench import words
from lotbench.benchmarks.lotbench.games import Game, Opinion, game, read_rounds
from lotbench.benchmarks.lotbench.sample import Item, Text
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.config.before import Before
from lotbench.config.experiment import digest
from lotbench.harness.judge_validation import Draw, JudgePanel, Place, Probe, ProbeResult, prompts_heard
from lotbench.harness.state import State
from lotbench.prompting.prompt import Pack
from lotbench.types import JSON, Trace

STRATA = {"accepted": True, "overturned": False, "refused": False}
"""The kinds of verdict that a run's fillings are drawn from, and whether they accept."""


class _Row(BaseModel):
    """What every row of a judge set has."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sample: Text
    label: StrictBool
    language: Literal["en", "zh"]
    split: Literal["tune", "test"]
    labels: Annotated[tuple[StrictBool, ...], Field(min_length=1, max_length=2)]
    """The first labelling and the second, blind one."""
    contested: bool = False
    why: str = ""
    writer: Annotated[str, Before("", counts=False)] = ""
    """Who wrote the row: a model's name or family, or `people`."""
    canary: str = ""

    @model_validator(mode="after")
    def _labels_agree(self) -> _Row:
        if (len(set(self.labels)) > 1) is not self.contested:
            raise ValueError("contested: true if and only if the two labels differ")
        if not self.contested and self.label is not self.labels[0]:
            raise ValueError("label: is not what both labellings say")
        return self


class Filled(_Row):
    """A filling that is a DAESO of the key text, or is not."""

    filling: Text
    difficulty: Literal["easy", "hard"] | None

    @model_validator(mode="after")
    def _negatives_are_easy_or_hard(self) -> Filled:
        if not self.contested and (self.difficulty is None) is not self.label:
            raise ValueError("difficulty: a negative is easy or hard, a positive is null")
        return self


class Asked(_Row):
    """A question about the hidden part, to which the answer is yes (true) or no."""

    question: Text
    kind: Literal["plain", "negation", "double", "edge", "guess"]
    unknown: Annotated[StrictBool, Before(False)] = False
    """Whether the truth says neither: then the label is no, or the row is left out (`judge-check --unknown`)."""


ROWS: Mapping[str, Mapping[str, type[BaseModel]]] = {
    "judge": {"daeso.jsonl": Filled},
    "oracle": {"oracle.jsonl": Asked},
}


def probes(
    role: str, rows: Sequence[Filled | Asked], data: Mapping[str, Item]
) -> tuple[list[Probe], list[str]]:
    """The probes of a file's rows, and its faults as `ROW: field: reason`, rows counted from 1."""
    made: list[Probe] = []
    faults: list[str] = []
    seen: dict[tuple[str, str], int] = {}
    splits: dict[str, str] = {}
    for number, row in enumerate(rows, 1):
        text = row.filling if isinstance(row, Filled) else row.question
        if (sample := data.get(row.sample)) is None:
            faults.append(f"{number}: sample: no sample {row.sample!r} in the data set")
            continue
        if row.language != sample.language:
            faults.append(f"{number}: language: sample {row.sample} is {sample.language}")
        if splits.setdefault(row.sample, row.split) != row.split:
            faults.append(f"{number}: split: sample {row.sample} is in {splits[row.sample]} already")
        if isinstance(row, Filled) and words.same(text) == words.same(sample.key_text):
            faults.append(f"{number}: filling: is the key text itself, which no judge is asked about")
        if (first := seen.setdefault((row.sample, words.same(text)), number)) != number:
            faults.append(f"{number}: stands in row {first} already")
        made.append(_probe(role, row, text))
    return made, faults


def _probe(role: str, row: Filled | Asked, text: str) -> Probe:
    filled = isinstance(row, Filled)
    place: dict[str, JSON] = {"filling": text, "status": "ok"} if filled else {"question": text}
    return Probe(
        id=f"{row.sample}/{digest([role, text])[:12]}",
        role=role,
        sample=row.sample,
        step="check" if filled else "answer",
        turn=place,
        label=row.label,
        kind=row.difficulty if isinstance(row, Filled) else row.kind,
        language=row.language,
        split=row.split,
        labels=row.labels,
        contested=row.contested,
        known={"unknown": True} if isinstance(row, Asked) and row.unknown else {},
    )


def panels(role: str, seats: int, settings: Settings, every: bool) -> list[JudgePanel]:
    """Who is measured how: the judges as a game has them, then each further one alone.

    `every` wants all judge modes (Fig. 15, right). The oracle is measured with all that it may see: a question
    is a short call.
    """
    made = []
    if role == "oracle":
        for sees in ("key_text", "response", "scene"):
            made.append(JudgePanel(role, (0,), sees, settings.model_copy(update={"oracle_sees": sees})))
        return made
    modes = ("zero_shot", "explained", "causal") if every else (settings.judge_mode,)
    for mode in modes:
        played = settings.model_copy(update={"judge_mode": mode})
        together = tuple(range(seats)) if played.confirm == "other_judge" else (0,)
        alone = played.model_copy(update={"confirm": "never"})
        made.append(JudgePanel(role, together, mode, played, alone if played.confirm != "never" else None))
        made.extend(JudgePanel(role, (seat,), mode, alone) for seat in range(1, seats))
    return made


def judged(settings: Settings) -> tuple[str, tuple[int, ...]]:
    """The role that ends a game, and the seats whose verdicts it takes."""
    return "judge", (0, 1) if settings.confirm == "other_judge" else (0,)


def probe_result(probe: Probe, state: State) -> ProbeResult:
    """What became of a probe."""
    checks = [one for at in read_rounds(state["steps"]) for one in at.opinions if one.step == "check"]
    stages = _stages(state, checks)
    # What the first judge said, whoever spoke for it when it could not be read.
    said = (one.accepted for one in checks if one.judge == 0 and one.how == "judge")
    first = next((accepted for accepted in said if accepted is not None), None)
    if state["outcome"] is not None and str(state["outcome"]).endswith("_failed"):
        return ProbeResult(first, None, str(state["why"]), stages=stages)
    if probe.step == "answer":
        told = state["turn"].get("answer")
        accepted = {"Yes": True, "No": False}.get(told)
        why = None if accepted is not None else "said Unclear" if told else "neither yes nor no"
        return ProbeResult(accepted, accepted, why)
    how = [one.how for one in checks if one.accepted is not None][-1]
    return ProbeResult(first, bool(state["turn"]["verdict"]), None, how, stages)


def _stages(state: State, checks: Sequence[Opinion]) -> dict[str, str]:
    """The causal chain and the intervened chain, where the judge wrote one."""
    made = {}
    if kept := state["shared"].get("chain 0"):
        made["chain"] = str(kept["text"])
    if told := [one.texts["intervened_chain"] for one in checks if "intervened_chain" in one.texts]:
        made["intervened chain"] = told[-1]
    return made


def key(role: str, settings: Settings, prompts: Pack, sampling: JSON, data: str) -> dict[str, JSON]:
    """What a role's verdicts depend on beside the models: settings, the prompts that it hears, the data set."""
    if role == "oracle":
        chosen: dict[str, JSON] = {"oracle_sees": settings.oracle_sees}
        if settings.oracle_says != "yes_no":
            chosen["oracle_says"] = settings.oracle_says
        heard = {"answer", "lines"}
    else:
        chosen = {"judge_mode": settings.judge_mode, "verdict": settings.verdict}
        heard = {"lines", "reasons", f"check_{settings.judge_mode}"}
        if settings.judge_mode == "causal":
            chosen["chain"] = settings.chain
            heard = (
                {"lines", "reasons", "chain", "check_causal"}
                if settings.chain == "stored"
                else {"lines", "reasons", "check_per_call"}
            )
        if settings.confirm == "same_judge":
            heard.add("confirm")
        chosen["confirm"] = settings.confirm or "never"
    return {
        "benchmark": "lotbench",
        "role": role,
        **chosen,
        "prompts": prompts_heard(prompts, heard),
        "sampling": sampling,
        "data": data,
    }


def fillings(
    traces: Sequence[Trace], samples: Mapping[str, Mapping[str, Any]], settings: Settings, n: int, seed: int
) -> Draw:
    """First-seen fillings that the judge decided, in no order; see `drawn`."""
    games = [game(trace) for trace in traces]
    words_of = {
        (one.sample, one.repeat, at.number): str(at.filling)
        for one in games
        for at in one.watched(settings.max_rounds)
    }
    sizes, chosen = drawn(games, settings.max_rounds, n, seed)
    return Draw(
        rows=[_labelling(index, samples[at[0]], words_of[at]) for index, (_, at) in enumerate(chosen, 1)],
        strata=[name for name, _ in chosen],
        sizes={name: (size, STRATA[name]) for name, size in sizes.items()},
        places=[at for _, at in chosen],
    )


def drawn(
    games: Sequence[Game], last: int, n: int, seed: int
) -> tuple[dict[str, int], list[tuple[str, Place]]]:
    """How many verdicts of each kind there are, and at most n of them: kind and place, in no order.

    Half are stops, or all if these are fewer, and of the rest refused and overturned fillings alike as far as
    they go. Each kind is drawn at equal distances in order of the round, so that every part of the game has its share.
    """
    rng = Random(f"{seed}:field")
    piles: dict[str, list[Place]] = {name: [] for name in STRATA}
    for one in games:
        for at in one.watched(last):
            if at.decision in piles:
                piles[at.decision].append((one.sample, one.repeat, at.number))
    sizes = {name: len(pile) for name, pile in piles.items()}
    refusals = {name: size for name, size in sizes.items() if not STRATA[name]}
    stops = min(sizes["accepted"], max(n - n // 2, n - sum(refusals.values())))
    taken = {"accepted": stops, **_shares(refusals, n - stops)}
    chosen = []
    for name, pile in piles.items():
        ordered = sorted(rng.sample(pile, len(pile)), key=lambda at: at[2])
        count, start = taken.get(name, 0), rng.random()
        chosen += [(name, ordered[int((k + start) * len(pile) / count)]) for k in range(count)]
    rng.shuffle(chosen)
    return sizes, chosen


def _shares(sizes: Mapping[str, int], n: int) -> Counter[str]:
    """How many to take of each pile, alike as far as they go."""
    taken: Counter[str] = Counter()
    while (left := n - taken.total()) > 0:
        open_piles = [name for name, size in sizes.items() if taken[name] < size]
        if not open_piles:
            break
        for name in open_piles[:left]:
            taken[name] += 1
    return taken


def _labelling(number: int, sample: Mapping[str, Any], filling: str) -> dict[str, JSON]:
    """What a person sees who labels a filling: the sample and the filling, nothing of the verdict."""
    shown = ("caption", "response", "key_text", "explanation", "language")
    return {
        "row": number,
        "sample": sample["id"],
        **{name: sample[name] for name in shown},
        "filling": filling,
        "label": None,
    }
