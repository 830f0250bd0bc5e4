"""What people say of verdicts: a line each in `annotations.jsonl` beside the runs, and labels of a draw.

A label only says something of a judge's field rates where its row was drawn at random, so a mark fills in
the labels of a draw (`lotbench judge-check --from-run`) and leaves all others alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from lotbench.benchmarks.lotbench.games import read_rounds
from lotbench.edge.files import atomic_write, jsonl
from lotbench.errors import DataError, UsageError, at, faults_of
from lotbench.types import Trace

FILE = "annotations.jsonl"
_LABELS = TypeAdapter(dict[str, Any])


class Mark(BaseModel):
    """What a page sends: one verdict, and whether it is right."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    sample: str
    repeat: int
    round: int
    judge: int
    stepName: Literal["check", "confirm"]  # noqa: N815 - the page's own spelling
    right: Literal["yes", "no"]
    note: str = Field(default="", max_length=2_000)


class Shelves(Protocol):
    """Where the runs are found."""

    def trace(self, run: str, sample: str, repeat: int) -> Trace:
        """A walk; raises LookupError if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Annotations:
    """The marks on the verdicts of the runs in a folder.

    Args:
        root: The folder of runs.
        name: Who marks.
        now: The clock.
    """

    root: Path
    name: str
    now: Callable[[], str]
    _turn: Lock = field(default_factory=Lock)

    def add(self, shelves: Shelves, sent: object) -> str:
        """Keep a mark; returns what to tell whoever made it.

        Raises:
            UsageError: It is no mark, not of a verdict that there is, or cannot be written.
        """
        try:
            mark = Mark.model_validate(sent)
            trace = shelves.trace(mark.run, mark.sample, mark.repeat)
        except ValidationError as error:
            raise UsageError(faults_of(error)[0]) from None
        except LookupError:
            raise UsageError("there is no such game") from None
        accepted, filling = _verdict(trace, mark)
        label = accepted is (mark.right == "yes")
        line = {
            "schema": 1,
            "run": mark.run,
            "sample": mark.sample,
            "repeat": mark.repeat,
            "round": mark.round,
            "judge": mark.judge,
            "step": mark.stepName,
            "filling": filling,
            "accepted": accepted,
            "right": mark.right == "yes",
            "label": label,
            "note": mark.note.strip(),
            "by": self.name,
            "at": self.now(),
        }
        jsonl.append(self.root / FILE, [jsonl.line(line)])
        try:
            # Labels are read and written as a whole, and marks come in threads of their own.
            with self._turn:
                kept = self._labelled(mark, filling, label)
        except (OSError, DataError) as error:
            why = getattr(error, "strerror", None) or error
            raise UsageError(f"the mark is kept, its label in the draw is not: {why}") from None
        return "Kept, and labelled in the draw." if kept else "Kept."

    def marks(self, run: str, trace: Trace) -> dict[tuple[int, int, str], str]:
        """The last mark on each verdict of a walk: round, judge and step to `right` or `wrong`, with its note."""
        return {
            (line["round"], line["judge"], line["step"]): ("right" if line["right"] else "wrong")
            + (f": {line['note']}" if line["note"] else "")
            for line in self._lines()
            if (line["run"], line["sample"], line["repeat"]) == (run, trace.sample, trace.repeat)
        }

    def _lines(self) -> Iterator[dict[str, Any]]:
        file = self.root / FILE
        if not file.is_file():
            return
        for number, text in jsonl.texts(file, appended=True):
            try:
                line = jsonl.document(text)
                assert isinstance(line["right"], bool)
                yield {
                    name: line[name]
                    for name in ("run", "sample", "repeat", "round", "judge", "step", "right")
                } | {"note": str(line.get("note") or "")}
            except (ValueError, KeyError, TypeError, AssertionError):
                raise DataError([f"{at(file, number)}: not a mark on a verdict"]) from None

    def _labelled(self, mark: Mark, filling: str, label: bool) -> bool:
        """Fill in the label of a drawn row about this filling; whether there is one."""
        file = self.root / f"labels-{mark.run}" / "labels.jsonl"
        if mark.stepName != "check" or not file.is_file():
            return False
        rows = [row for _, row in jsonl.rows(file, _LABELS.validate_python)]
        mine = [
            row
            for row in rows
            if (row.get("sample"), row.get("filling")) == (mark.sample, filling)
            # What somebody else has labelled under their name is theirs.
            and row.get("who") in (None, "", self.name)
        ]
        for row in mine:
            row["label"] = label
        if mine:
            atomic_write.write(file, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        return bool(mine)


def _verdict(trace: Trace, mark: Mark) -> tuple[bool, str]:
    """The verdict that a mark is on, and the filling that it was about."""
    place = (mark.round, mark.judge, mark.stepName)
    for one in read_rounds(trace.steps):
        for opinion in one.opinions:
            known = opinion.how == "judge" and opinion.accepted is not None
            if known and (one.number, opinion.judge, opinion.step) == place:
                return bool(opinion.accepted), one.filling or ""
    raise UsageError("there is no such verdict")
