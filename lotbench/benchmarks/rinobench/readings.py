"""Ideas to read in the report: the candidate's justification, argument by argument, with gold matches and grounds."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from lotbench.benchmarks.rinobench.answered import Answered, Check, read_answered
from lotbench.benchmarks.rinobench.claims import KINDS
from lotbench.benchmarks.rinobench.score import Judged, judged_answers
from lotbench.harness.evidence import Evidence
from lotbench.report.sections import Excerpt, Section
from lotbench.types import Trace

SHOWN = 5


def readings(traces: Sequence[Trace], evidence: Evidence) -> Section | None:
    """Return the section with the arguments of the first SHOWN answered ideas; None without an answer."""
    # Traces are read from disk one at a time, since there may be many.
    every = (
        _make_reading(prediction, answer, evidence)
        for trace in traces
        for prediction in judged_answers([trace])
        if (answer := read_answered(trace.steps))
    )
    first = tuple(islice(every, SHOWN))
    note = f"The first {SHOWN} ideas; lotbench replay RUN --sample ID shows any."
    if not first:
        return None
    return Section("Argument by argument", (note,) if len(traces) > SHOWN else (), readings=first)


def _make_reading(prediction: Judged, answer: Answered, evidence: Evidence) -> Excerpt:
    score = prediction.status if prediction.said is None else prediction.said
    title = f"{prediction.sample}: gold {prediction.gold}, predicted {score}"
    if prediction.alignment is not None:
        title += f", alignment {prediction.alignment:.2f}"
    texts = tuple(_texts(answer, evidence.samples.get(prediction.sample)))
    return Excerpt(title, texts, prediction.sample, prediction.repeat)


def _texts(answer: Answered, item: Any) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of the gold and the candidate's justification, then of their arguments by kind.

    The arguments are the candidate's checked claims, and the gold arguments that no claim matched.
    """
    if item is not None:
        yield "gold justification", item.novelty_reasoning
    yield "justification", answer.reasoning or "(none that could be read)"
    if answer.gold is None or answer.claims is None:
        return
    works = {work.id: work.title for work in item.related_works} if item is not None else {}
    for kind in KINDS:
        gold, seen = answer.gold[kind], set[str]()
        for claim, text in answer.claims[kind].items():
            if check := answer.checks.get(claim):
                seen.update(check.gold)
                yield f"{kind} {claim}", "\n".join(_claim_lines(text, check, gold, works))
        for name, text in gold.items():
            if name not in seen:
                yield f"{kind} gold {name}, matched by none", text


def _claim_lines(text: str, check: Check, gold: Mapping[str, str], works: Mapping[str, str]) -> Iterator[str]:
    """Yield lines on a claim: its text, its gold matches, its grounds, and the judge's reason."""
    yield text
    for name in check.gold:
        yield f"= in the gold, {name}: {gold[name]}"
    for name in check.works:
        yield f"< grounded in {name}: {works.get(name, 'a related work')}"
    if check.grounded and not check.works:
        yield "< grounded in the idea"
    if not check.grounded:
        though = " by the paper's rule, though in the gold" if check.gold else ""
        yield f"! not grounded: a hallucination{though}"
    if check.reason:
        yield f"({check.reason})"
