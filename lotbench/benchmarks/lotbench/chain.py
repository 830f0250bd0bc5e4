"""E1's first step: the causal chains of response and scene, built once per sample and judge (Sec. 5.5.3).

A chain does not depend on the filling, so it is a shared question: asked once, kept in the store, used in
every game and for every model. It is accepted only if the judge can use it: with it the key text passes
and the near misses of the sample fail. Otherwise it is rebuilt, up to three times, and the sample
is named in the report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from lotbench.benchmarks.lotbench import whole, words
from lotbench.benchmarks.lotbench.judge import Chain, judging, verdict_question
from lotbench.benchmarks.lotbench.settings import Walk
from lotbench.errors import JudgeError
from lotbench.harness.benchmark import record, remark
from lotbench.harness.reask import Unreadable, asking, reading
from lotbench.harness.state import Update
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import read_form, schema, shape
from lotbench.types import Answer, Question

REBUILDS = 3
CONTROLS = 3
REBUILD_TEMPERATURE = 0.7
"""A rebuild at temperature 0 would give the refused chain again."""
WORK = ("build", "chain", "trial", "chain_unread")
"""What the draft holds while a chain is being built."""


def missing(walk: Walk, seat: int) -> bool:
    """Whether this judge needs a chain that is not there yet."""
    wanted = walk.settings.judge_mode == "causal" and walk.settings.chain == "stored"
    return wanted and name(seat, target(walk)) not in walk.state["shared"]


def name(seat: int, target: int = 0) -> str:
    """The place of a judge's chain in the shared part of the state."""
    return f"chain {seat}" + (f" of {target}" if target else "")


def target(walk: Walk) -> int:
    """Which of the responses that are looked for is the present one; see `whole.targets`."""
    return int(walk.state["draft"].get("target", 0))


def text(walk: Walk, seat: int) -> str | None:
    """The chain that a judge is given, if it works with one."""
    kept = walk.state["shared"].get(name(seat, target(walk)))
    return kept["text"] if kept else None


def ask(walk: Walk, seat: int) -> tuple[Question, ...]:
    """The chain, or the next verdict that shows whether the judge can use the one just built."""
    draft = walk.state["draft"]
    build = int(draft.get("build", 0))
    if "chain" in draft:
        return _trial(walk, seat, draft["chain"], build)
    sample, once = walk.sample, asking(walk, draft.get("chain_unread"))
    wanted = whole.targets(sample)[target(walk)]
    marked: dict[str, Value] = {"key_text": sample.key_text}
    if walk.settings.whole:
        marked = {"key": walk.prompt("lines").line("key", text=wanted.key_text) if wanted.key_text else None}
    messages = walk.prompt(whole.prompt("chain", walk.settings)).messages(
        shape=shape(Chain),
        caption=sample.caption,
        response=wanted.response,
        explanation=wanted.explanation,
        again=once.again,
        **marked,
    )
    temperature = REBUILD_TEMPERATURE if build else None
    question = Question("judge", "chain", messages, schema(Chain), seat, draw=build, attempt=once.number)
    return (replace(question, shared=True, temperature=temperature),)


def read_answers(walk: Walk, answers: Sequence[Answer], seat: int) -> Update:
    """A chain goes on to its trial, a trial ends in a chain that is kept or in another build.

    The seat is the one whose turn it is: a shared answer may have been given to another seat of that model.
    """
    if answers[0].question.step == "chain":
        return _built(walk, answers[0], seat)
    answer, draft = answers[0], walk.state["draft"]
    build, trial = int(draft.get("build", 0)), int(draft.get("trial", 0))
    expected, accepted = trial == 0, _accepted(walk, answer)
    steps = [record(answer, {"accepted": accepted, "expected": expected, "judge": seat})]
    fit = accepted is expected
    if fit and trial < len(controls(walk)):
        return {"draft": {**draft, "trial": trial + 1}, "steps": steps}
    if not fit and build < REBUILDS:
        return {"draft": {**_rest(walk), "build": build + 1}, "steps": steps}
    about = {"accepted": fit, "builds": build + 1}
    kept = {**walk.state["shared"], name(seat, target(walk)): {"text": draft["chain"], **about}}
    steps.append(remark("chain_accepted", walk.round, {"judge": seat, **about, **_of(walk)}))
    return {"draft": _rest(walk), "shared": kept, "steps": steps}


def _trial(walk: Walk, seat: int, chain: str, build: int) -> tuple[Question, ...]:
    """One trial after the other: a chain that fails the first needs no more."""
    trial = int(walk.state["draft"].get("trial", 0))
    right = whole.targets(walk.sample)[target(walk)].response if walk.settings.whole else walk.sample.key_text
    filling = [right, *controls(walk)][trial]
    question = verdict_question(walk, "chain_check", filling, seat=seat, chain=chain, target=target(walk))
    return (replace(question, round=0, draw=build * (CONTROLS + 1) + trial, shared=True),)


def controls(walk: Walk) -> list[str]:
    """What must fail: the sample's near misses, or, where it has none, key texts of other samples, drawn by sample.

    Where no frame is shown, responses of other samples. Never a filling of its own lists, on which judges are measured.
    """
    sample = walk.sample
    if walk.settings.whole:
        responses = {other.response for other in walk.data if other.language == sample.language}
        strange = sorted(responses - {wanted.response for wanted in whole.targets(sample)})
        return Random(f"{sample.id}:chain").sample(strange, min(CONTROLS, len(strange)))
    if sample.near:
        return list(sample.near[:CONTROLS])
    listed = (sample.key_text, *sample.accept, *(rejected.text for rejected in sample.reject))
    near = set(map(words.same, listed))
    others = {
        other.key_text
        for other in walk.data
        if other.language == sample.language and words.same(other.key_text) not in near
    }
    return Random(f"{sample.id}:chain").sample(sorted(others), min(CONTROLS, len(others)))


def _built(walk: Walk, answer: Answer, seat: int) -> Update:
    """A chain that cannot be read is asked for again once, then the build counts as used."""
    draft = walk.state["draft"]
    rest, build = _rest(walk), int(draft.get("build", 0))
    chain = reading(answer, lambda answer: read_form(answer.reply, Chain).text())
    if isinstance(chain, Unreadable):
        steps = [record(answer, {"chain": None, "status": chain.status, "judge": seat})]
        if chain.again:
            return {"draft": {**rest, "build": build, "chain_unread": chain.reason}, "steps": steps}
        if build < REBUILDS:
            return {"draft": {**rest, "build": build + 1}, "steps": steps}
        raise JudgeError(chain.status, f"no causal chain that can be read: {chain.reason}")
    steps = [record(answer, {"chain": chain, "status": "ok", "judge": seat, **_of(walk)})]
    return {"draft": {**rest, "build": build, "chain": chain}, "steps": steps}


def _accepted(walk: Walk, answer: Answer) -> bool | None:
    """The verdict of a trial, or None if it cannot be read: then the chain is not usable either."""
    try:
        return judging(walk, "chain_check").read(answer).accepted
    except JudgeError:
        return None


def _of(walk: Walk) -> dict[str, int]:
    """Which response a chain is of, where that is another than the sample's own."""
    return {"target": found} if (found := target(walk)) else {}


def _rest(walk: Walk) -> dict[str, object]:
    return {key: value for key, value in walk.state["draft"].items() if key not in WORK}
