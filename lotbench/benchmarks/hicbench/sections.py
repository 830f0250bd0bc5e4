"""The sections of a HIC-Bench report: replies, judges, and the sections of `answers`.

Every share is shown with its counts, and a note under each table gives the definition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lotbench.benchmarks.hicbench import answers, reviewing
from lotbench.benchmarks.hicbench.ratings import MARKS, Ratings, finite, ratings, read_answered
from lotbench.benchmarks.hicbench.score import mean_mark, shares
from lotbench.benchmarks.hicbench.settings import Settings
from lotbench.harness.evidence import NOTHING, Evidence
from lotbench.report.markdown import share
from lotbench.report.sections import Cell, Section, Table
from lotbench.types import Trace


def sections(
    traces: Sequence[Trace], settings: Settings, evidence: Evidence = NOTHING
) -> tuple[Section, ...]:
    """Return the sections of a report; if no answer could be read, the section on replies alone."""
    rated = ratings(traces)
    parts = [_answers(traces, settings)]
    if rated.texts:
        parts += [
            _judges(rated, settings),
            answers.spread(rated, settings, evidence),
            answers.likeness(rated, settings, evidence),
        ]
    if rated.texts and evidence.labels:
        parts.append(reviewing.section(rated, settings, evidence.labels))
    if rated.texts:
        parts.append(answers.to_read(rated, settings, evidence))
    return tuple(parts)


def _answers(traces: Sequence[Trace], settings: Settings) -> Section:
    """Return the section that counts replies by status."""
    replies = [reply for trace in traces for reply in read_answered(trace.steps)]
    seen = Counter(reply.status for reply in replies)
    rows: list[tuple[Cell, ...]] = [
        (status, seen[status], share(seen[status], len(replies)))
        for status in ("ok", "refused", "truncated", "unparsed")
    ]
    long = sum(reply.over_length for reply in replies)
    rows.append(("of the ok: over length", long, share(long, seen["ok"])))
    note = (
        f"Over length: more than {settings.answer_tokens} words and marks, of which there are hardly more than tokens; "
        f"with answer_cap=cut, cut off by the server. answer_cap is {settings.answer_cap}."
    )
    return Section("Replies", (note,), (Table(("answers", "count", "share"), tuple(rows)),))


def _judges(rated: Ratings, settings: Settings) -> Section:
    """Return the section on the verdicts of each judge alone."""
    rows: list[tuple[Cell, ...]] = []
    for index in range(rated.judges):
        alone = replace(rated, marks=rated.marks[:, [index]], hallucinated=rated.hallucinated[:, [index]])
        read = int((~np.isnan(alone.hallucinated)).sum())
        marks = [mean_mark(alone, at) for at in range(3)]
        ih, dh = shares(alone, "mean_of_rates", settings.classes)
        rows.append((index + 1, read, len(rated.texts) - read, *map(finite, (*marks, ih, dh))))
    note = "An unread verdict was asked for twice and is a gap: the answer counts with its other judges."
    notes = (note,) if rated.judges > 1 else (note, "Only one judge sat.")
    return Section(
        "Judges", notes, (Table(("judge", "verdicts", "unread", *MARKS, "IH", "DH"), tuple(rows)),)
    )
