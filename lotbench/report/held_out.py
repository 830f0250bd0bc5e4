"""A report of samples that are held out: all that it says of the run, and nothing that says a sample.

Tables, notes and readings in which a sample is named or quoted, or an answer to it, are left out whole, and the report
counts them. Numbers over all samples stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from lotbench.report.report import Report
from lotbench.report.sections import Section
from lotbench.types import JSON

SHORTEST = 4
"""Letters of the shortest text that counts as said: shorter ones stand in any report."""
_HAN = re.compile(r"[\u3400-\u9fff]")
_PUBLIC = {"language", "tier", "leap", "source", "writer", "licence", "canary", "difficulty", "gold_writers"}
"""Fields of a sample that say nothing of what it is about."""

Finder = Callable[[str], bool]


def texts(samples: Iterable[Mapping[str, Any]], said: Iterable[Mapping[str, Any]] = ()) -> set[str]:
    """What must not be told: ids, files and every text of the samples, and what was answered to them.

    Args:
        samples: The samples as JSON.
        said: What the steps of their walks came to, as JSON; of these, answers and whatever is no single word.
    """
    named, found = {str(sample["id"]) for sample in samples}, set(_strings(samples))
    found |= {str(one["filling"]) for one in said if one.get("filling")}
    found |= {text for text in _strings(said) if long(text, 2)}
    return named | {text for text in found if len(text) >= (2 if _HAN.search(text) else SHORTEST)}


def long(text: str, words: int) -> bool:
    """Whether a text is of so many words; of Chinese, two characters are one."""
    return len(text.split()) >= words or len(_HAN.findall(text)) >= 2 * words


def _strings(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, str):
        if name not in _PUBLIC and not value.replace(".", "").isdigit():
            yield value.strip()
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _strings(inner, str(key))
    elif isinstance(value, Iterable):
        for inner in value:
            yield from _strings(inner, name)


def finder(secrets: Iterable[str]) -> Finder:
    """Whether a text tells one of these: as whole words, whatever their case."""
    known = sorted({one.casefold() for one in secrets if one}, key=len, reverse=True)
    if not known:
        return lambda text: False
    whole = re.compile(
        "|".join(rf"(?<![^\W_]){re.escape(one)}(?![^\W_])" for one in known if not _HAN.search(one)) or "(?!)"
    )
    parts = [one for one in known if _HAN.search(one)]
    return lambda text: bool(whole.search(low := text.casefold())) or any(one in low for one in parts)


def without_samples(report: Report, tells: Finder) -> Report:
    """The report without whatever tells a sample.

    Args:
        report: Of a run on held-out samples.
        tells: Whether a text does; see `finder`.
    """
    facts, dropped = report.facts, 0
    sections = []
    for section in report.sections:
        made, count = _stripped(section, tells)
        dropped += count
        sections.append(made)
    reasons = tuple("a reason that names samples" if tells(one) else one for one in facts.reasons)
    remarks = tuple(one for one in facts.remarks if not tells(one))
    notes = tuple(one for one in facts.notes if not tells(one))
    dropped += len(facts.remarks) + len(facts.notes) - len(remarks) - len(notes)
    told = f"Held-out samples: {dropped} tables, notes and readings that name or quote them are left out."
    return replace(
        report,
        facts=replace(facts, reasons=reasons, remarks=remarks, notes=(*notes, told)),
        sections=tuple(sections),
    )


def _stripped(section: Section, tells: Finder) -> tuple[Section, int]:
    """A section without what tells a sample, and how much that was."""
    notes = tuple(one for one in section.notes if not tells(one))
    tables = tuple(one for one in section.tables if not any(map(tells, _strings([one.rows, one.caption]))))
    plots = tuple(
        one
        for one in section.plots
        if not any(map(tells, _strings([list(one.series), one.names, one.labels, one.caption])))
    )
    grids = tuple(one for one in section.grids if not any(map(tells, (*one.columns, *one.rows))))
    numbers = _cut(section.numbers, tells)
    kept = (notes, tables, plots, grids)
    whole = (section.notes, section.tables, section.plots, section.grids)
    dropped = sum(map(len, whole)) - sum(map(len, kept)) + len(section.readings)
    made = replace(section, notes=notes, tables=tables, plots=plots, grids=grids, readings=())
    return replace(made, numbers=numbers if isinstance(numbers, Mapping) else {}), dropped


def _cut(value: JSON, tells: Finder) -> JSON:
    """Numbers for programs without the entries that tell a sample."""
    if isinstance(value, Mapping):
        return {
            name: _cut(inner, tells)
            for name, inner in value.items()
            if not tells(name) and not _says(inner, tells)
        }
    if isinstance(value, list | tuple):
        return [_cut(inner, tells) for inner in value if not _names(inner, tells)]
    return value


def _says(value: JSON, tells: Finder) -> bool:
    return isinstance(value, str) and tells(value)


def _names(value: JSON, tells: Finder) -> bool:
    """Whether an entry of a list is about a sample: says it, or has a field that does."""
    if isinstance(value, Mapping):
        return any(tells(str(name)) or _says(inner, tells) for name, inner in value.items())
    return _says(value, tells)
