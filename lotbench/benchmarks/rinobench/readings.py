"""A page per idea: what the candidate said, and of each argument what it matched and what grounds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lotbench.benchmarks.rinobench.claims import KINDS
from lotbench.harness.evidence import Evidence
from lotbench.report.sections import Reading, Section
from lotbench.types import Trace


def readings(traces: Sequence[Trace], evidence: Evidence) -> Section | None:
    """The arguments of every idea, to be read; None if there is nothing to read."""
    made = tuple(_reading(trace, evidence) for trace in traces if trace.score.parts.get("status"))
    return Section("Argument by argument", readings=made) if made else None


def _reading(trace: Trace, evidence: Evidence) -> Reading:
    parts: Mapping[str, Any] = trace.score.parts
    item = evidence.samples.get(trace.sample)
    texts = list(_texts(_last(trace), item))
    said = parts["said"] if parts["said"] is not None else parts["status"]
    title = f"{trace.sample}: gold {parts['gold']}, predicted {said}"
    if parts["alignment"] is not None:
        title += f", alignment {parts['alignment']:.2f}"
    return Reading(title, tuple(texts), trace.sample, trace.repeat)


def _texts(found: Mapping[str, Any], item: Any) -> Iterator[tuple[str, str]]:
    """Named texts: both justifications, then every claim, then the gold arguments that no claim met."""
    if item is not None:
        yield "gold justification", item.novelty_reasoning
    yield "justification", found.get("respond", {}).get("reasoning") or "(none that could be read)"
    gold, mine = found.get("gold_arguments"), found.get("claims")
    if gold is None or mine is None:
        return
    works = {work.id: work.title for work in item.related_works} if item is not None else {}
    flags: dict[str, Any] = {}
    for name in ("ground", "ground_known", "ground_novelty"):
        flags |= found.get(name, {}).get("claims", {})
    for kind in KINDS:
        for claim, text in mine[kind].items():
            if claim in flags:
                yield f"{kind} {claim}", "\n".join(_told(text, flags[claim], gold[kind], works))
        met = {name for claim in mine[kind] for name in flags.get(claim, {}).get("gold", ())}
        for name, text in gold[kind].items():
            if name not in met:
                yield f"{kind} gold {name}, matched by none", text


def _told(
    text: str, flag: Mapping[str, Any], gold: Mapping[str, str], works: Mapping[str, str]
) -> Iterator[str]:
    """A claim, what it matched, what grounds it, and why the checker thinks so."""
    yield text
    for name in flag["gold"]:
        yield f"= in the gold, {name}: {gold[name]}"
    for name in flag["works"]:
        yield f"< grounded in {name}: {works.get(name, 'a related work')}"
    if flag["grounded"] and not flag["works"]:
        yield "< grounded in the idea"
    if not flag["grounded"]:
        yield "! not grounded: a hallucination" + (
            " by the paper's rule, though in the gold" if flag["gold"] else ""
        )
    if flag["reason"]:
        yield f"({flag['reason']})"


def _last(trace: Trace) -> dict[str, Any]:
    """The last value of each step that could be read; of `respond`, the last whatever it was."""
    found: dict[str, Any] = {}
    for step in trace.steps:
        value: Any = step["value"]
        if step["step"] == "respond" or value.get("status") == "ok":
            found[str(step["step"])] = value
    return found
