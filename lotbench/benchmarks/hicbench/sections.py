"""The sections of a HIC-Bench report: replies, and the sections of `answers`.

Every share is shown with its counts, and a note under each table gives the definition.
"""

from collections import Counter
from collections.abc import Sequence

from lotbench.benchmarks.hicbench import answers, reviewing
from lotbench.benchmarks.hicbench.ratings import UNREAD, ratings, read_answered
from lotbench.benchmarks.hicbench.settings import Settings
from lotbench.harness.evidence import NOTHING, Evidence
from lotbench.report.markdown import share
from lotbench.report.sections import Cell, Section, Table
from lotbench.types import Trace


def sections(traces: Sequence[Trace], settings: Settings, evidence: Evidence = NOTHING) -> list[Section]:
    """Return the sections of a report; if no answer could be read, the section on replies alone."""
    rated = ratings(traces)
    parts = [_answers(traces, settings)]
    if rated.texts:
        parts += [answers.spread(rated, settings, evidence), answers.likeness(rated, settings, evidence)]
        if evidence.labels:
            parts.append(reviewing.section(rated, settings, evidence.labels))
        parts.append(answers.to_read(rated, settings, evidence))
    return parts


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
    verdicts = [rating for reply in replies for rating in reply.ratings]
    unread = verdicts.count(UNREAD)
    rows.append(("of the verdicts: unread after a second asking", unread, share(unread, len(verdicts))))
    note = (
        f"Over length: more than {settings.answer_tokens} words and marks, of which there are hardly more than tokens; "
        f"with answer_cap=cut, cut off by the server. answer_cap is {settings.answer_cap}."
    )
    return Section("Replies", (note,), (Table(("answers", "count", "share"), tuple(rows)),))
