"""Review of samples by a person: a page of cards, and a file with a line for each decision.

The data set's folder is never written: decisions go to a file of their own. A person who comes back is
shown their earlier decisions, and the last edits of all people.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lotbench.config.experiment import received
from lotbench.errors import UsageError
from lotbench.harness.benchmark import Benchmark
from lotbench.site.page import Served, screen
from lotbench.site.review_page import CHOICES, Card, decision, with_past
from lotbench.storage import jsonl
from lotbench.storage.pictures.picture_file import encoded
from lotbench.storage.review_decisions import Decision, decisions_of
from lotbench.types import JSON

MAX_PX = 1024


def clock() -> str:
    """Return the current time in UTC, as ISO 8601 text to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")  # noqa: TID251 - the clock that is injected


@dataclass(frozen=True)
class Review:
    """The page that shows cards and appends each decision to a file.

    Args:
        cards: The cards, in order.
        items: The samples that the cards are about, by id.
        folder: The data set's folder, for the pictures.
        declared: The benchmark, which checks edited samples.
        out: The file to which each decision is appended as a line.
        name: The name of the person who decides.
        now: Returns the current time as text.
    """

    cards: Sequence[Card]
    items: Mapping[str, Any]
    folder: Path
    declared: Benchmark
    out: Path
    name: str
    now: Callable[[], str] = clock

    def get(self, path: str) -> Served:
        """Return the page (""), or a card's picture (picture/NUMBER); raises LookupError at other paths."""
        match path.split("/"):
            case [""]:
                cards = [asdict(card) for card in self._with_past(past(self.out))]
                return screen("review", title=f"Review of {self.folder.name}", cards=cards, choices=CHOICES)
            case ["picture", number] if re.fullmatch("[0-9]{1,6}", number):
                if image := self.items[self.cards[int(number)].id].image:
                    return Served(encoded(self.folder / image, MAX_PX), "image/png")
        raise LookupError(path)

    async def post(self, path: str, sent: object) -> Mapping[str, JSON]:
        """Append a decision to the file, and return the grave findings of the lints on an edited sample, under `notes`.

        Raises:
            LookupError: Nothing at this path takes messages.
            UsageError: The message is no decision about a card, or the edited sample is invalid.
        """
        if path != "decision":
            raise LookupError(path)
        last = past(self.out)
        card, line = decision(self._with_past(last), sent)
        before = last.get(card.id)
        if before and before.changes and line["decision"] != "edit":
            # The page shows the texts of an earlier edit: these are accepted.
            line["changes"] = dict(before.changes)
        notes = grave_findings(self.declared, self.items[card.id], line.get("changes", {}))
        jsonl.append(self.out, [jsonl.line({**line, "by": self.name, "at": self.now()})])
        return {"notes": notes}

    def _with_past(self, last: Mapping[str, Decision]) -> list[Card]:
        """Return the cards with this person's decisions so far, and the edits of the last decisions of all people."""
        own = past(self.out, self.name)
        return [with_past(card, last.get(card.id), own.get(card.id)) for card in self.cards]


def grave_findings(declared: Benchmark, item: Any, changes: Mapping[str, Any]) -> list[str]:
    """Return the grave findings of the benchmark's lints on a sample after changes; none without changes.

    Args:
        declared: The benchmark.
        item: The sample before the changes.
        changes: The new values, by field.

    Raises:
        UsageError: The changed sample is invalid.
    """
    if not changes:
        return []
    edited = received(declared.Item, {**item.model_dump(mode="json"), **changes})
    return [
        f"{finding.field} {finding.text}"
        for finding in declared.lints([edited], declared.Settings(), {})
        if finding.grave
    ]


def past(out: Path, name: str | None = None) -> dict[str, Decision]:
    """Return the last decision on each sample, by its id.

    Args:
        out: The file of decisions; it may be missing.
        name: The name of the person whose decisions are wanted; None for those of all people.

    Raises:
        DataError: A line of the file is no decision of a review.
    """
    if not out.exists():
        return {}
    # This cuts off a last line that a killed process has not finished.
    jsonl.append(out, ())
    lines = (line for _, line in jsonl.rows(out, Decision.model_validate))
    return {line.sample: line for line in lines if name in (None, line.by)}


def decisions_file(folder: Path, choice: str | None) -> Path:
    """Return the file for decisions: `choice`, or if it is None, the one beside the data set's folder.

    Raises:
        UsageError: The file lies in the data set's folder, which is never written.
    """
    out = Path(choice) if choice else decisions_of(folder.resolve())
    if out.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"--out {out}: lies in the data set's folder, which is never written")
    return out
