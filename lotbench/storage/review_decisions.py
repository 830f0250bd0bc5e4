"""Human decisions about proposed samples, and data sets made of the accepted ones.

`lotbench data review` writes one decision per line. A proposal becomes a sample when somebody accepts it.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from lotbench.errors import DataError
from lotbench.harness.benchmark import Benchmark
from lotbench.storage import atomic_write
from lotbench.storage.jsonl import rows, tables
from lotbench.storage.pictures.picture_facts import metadata
from lotbench.storage.pictures.picture_file import encoded

MAX_PX = 1024


PLACES = frozenset({"id", "image"})
"""Fields of a sample that no decision may change: a decision could otherwise name any file as the picture."""


class Decision(BaseModel, frozen=True, extra="ignore"):
    """A person's decision about a proposal: one line of the file that `lotbench data review` writes.

    Attributes:
        sample: The id of the proposed sample.
        changes: New values of the sample's fields, by name.
        note: Why; in an edit without changes, what is to be changed.
        by: The person.
    """

    sample: str
    decision: Literal["accept", "edit", "reject"]
    changes: dict[str, Any] = Field(default_factory=dict)
    note: str = ""
    by: str = ""


def decisions_of(folder: Path) -> Path:
    """Return the file in which `lotbench data review` writes decisions about the proposals of a folder."""
    return folder.with_name(f"{folder.name}.review.jsonl")


def refuse_changed(proposed: Sequence[Any], folder: Path) -> None:
    """Refuse newly proposed samples if one has another text than before and people have decided about the earlier ones.

    Args:
        proposed: The new proposals.
        folder: The folder of the proposals, with the earlier ones.

    Raises:
        DataError: There are such proposals.
    """
    review, before = decisions_of(folder), folder / "samples.jsonl"
    if review.exists() and before.exists():
        anew = {item.id: item.model_dump(mode="json", exclude_none=True) for item in proposed}
        changed = [row["id"] for _, row in tables(before) if anew.get(row["id"], row) != row]
        if changed:
            advice = "move the file away, or build elsewhere"
            raise DataError([f"{review}: {name} has been proposed anew: {advice}" for name in changed])


def accepted(
    declared: Benchmark, proposed: Sequence[Any], folder: Path, left_out: Counter[str]
) -> list[Any] | None:
    """Return the accepted proposals as samples, with the edits, if `lotbench data check` finds no grave fault in them.

    Args:
        declared: The benchmark to which the proposed samples belong.
        proposed: The proposals.
        folder: The folder of the proposals.
        left_out: Counts the proposals that were left out, by reason.

    Returns:
        The samples; None if there is no decision yet.

    Raises:
        DataError: A line of the decisions is not valid.
    """
    review = decisions_of(folder)
    if not review.exists():
        return None
    # The last decision about a proposal counts.
    decided = {line.sample: line for _, line in rows(review, Decision.model_validate)}
    items = []
    for item in proposed:
        line = decided.get(item.id)
        if line is None or line.decision == "reject":
            left_out["rejected" if line else "not decided"] += 1
            continue
        if line.decision == "edit" and line.note and not line.changes:
            left_out["to be edited, as a note says"] += 1
            continue
        if line.changes.keys() & PLACES:
            left_out["id or picture changed"] += 1
            continue
        try:
            items.append(declared.Item.model_validate({**item.model_dump(mode="json"), **line.changes}))
        except ValidationError:
            left_out["no sample after the edit"] += 1
    entries, broken = metadata(folder, items)
    grave = {
        finding.sample: finding
        for finding in (*declared.lints(items, declared.Settings(), entries), *broken)
        if finding.grave and finding.sample
    }
    for finding in grave.values():
        left_out[f"{finding.field} {finding.text}"] += 1
    return [item for item in items if item.id not in grave]


def write(folder: Path, items: Sequence[tuple[Any, Path]]) -> None:
    """Write a data set: first the pictures, as PNG without metadata, then samples.jsonl.

    Args:
        folder: The folder of the data set.
        items: Pairs of a sample, with `image` relative to the folder, and the source file of its picture.

    Raises:
        DataError: The folder or its subfolder images is a symbolic link.
    """
    for place in (folder, folder / "images"):
        if place.is_symlink():
            raise DataError([f"{place}: is a link, and nothing is written through one"])
    for item, picture in items:
        atomic_write.write(folder / item.image, encoded(picture, MAX_PX))
    atomic_write.write(
        folder / "samples.jsonl", (item.model_dump_json(exclude_none=True) + "\n" for item, _ in items)
    )
