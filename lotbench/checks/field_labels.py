"""Field rates: the error rates of a judge on the guesses of a run, from a random draw of them that people label.

The draw is stratified by verdict, and the rates are weighted by the sizes of the strata. The rows that people label do not
show the verdicts: draw.json beside them has these, with the sizes and the key of the judge's checks in the store.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import pydantic
from pydantic import BaseModel, ValidationError, model_validator

from lotbench.calls import judge_records
from lotbench.checks.probes import key_of
from lotbench.config.experiment import Limits
from lotbench.errors import DataError, RunFolderError, UsageError, at, faults_of, refuse_faults
from lotbench.harness.judge_validation import played
from lotbench.metrics.agreement import Field, Stratum
from lotbench.metrics.people_agreement import ceiling
from lotbench.run.loading import Run, planned
from lotbench.storage import export, run_folder
from lotbench.storage.jsonl import tables

DRAWN = ("sample", "guess")
"""The fields by which a labelled row is compared with the draw, or with the first file of labels; a file may leave them out."""


UNCHECKED = {"set": {}, "what": "field only", "groups": {}, "unreadable": 0, "of": 0, "flips": [0, 0]}
"""The fields of the record of a judge that was never checked on a judge set; labels are added to it."""


class DrawFile(BaseModel):
    """The content of draw.json, validated, since somebody else may have written it and later reports rely on it.

    Attributes:
        run: The name of the run's folder.
        played: The digest of what was said in the run (`judge_validation.played`).
        key: The key of the judge's checks in the store.
        names: The names of the models that gave the verdicts.
        sizes: For each stratum the number of verdicts in the run, and whether they accept.
        strata: The stratum of each drawn row, in order.
        places: The sample, repeat and round of each drawn row.
    """

    run: str
    played: str
    key: dict[str, Any]
    names: tuple[str, ...]
    sizes: dict[str, tuple[Annotated[int, pydantic.Field(ge=0, le=10**9)], bool]]
    strata: tuple[str, ...]
    places: tuple[tuple[str, int, int], ...]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        counts = Counter(self.strata)
        if len(self.places) != len(self.strata) or any(
            count > self.sizes.get(name, (0, False))[0] for name, count in counts.items()
        ):
            raise ValueError("sizes, strata and places are not of one draw")
        return self

    def accepts(self, row: int) -> bool:
        """Return whether the verdict on a drawn row accepts the guess; rows are counted from 1."""
        return self.sizes[self.strata[row - 1]][1]


@dataclass(frozen=True, slots=True)
class Labelled:
    """The labels of a draw, and what follows from them.

    Attributes:
        run: The name of the run's folder.
        field: The judge's error rates.
        open: The number of rows that nobody has labelled, or on which as many people say yes as no.
        lone: The number of refused guesses that one person calls right and nobody else has labelled; they count as wrong.
        stored: The path of the judge's record in the store, which has the labels now.
    """

    run: str
    field: Field
    open: int
    lone: int
    stored: Path


def draw(run: Run, n: int, out: Path) -> Path:
    """Draw verdicts of a run, and write the guesses to a file for people to label.

    Args:
        run: The run.
        n: The maximum number of verdicts.
        out: The folder in which the folder `labels-RUN` is made.

    Returns:
        The path of the file.

    Raises:
        UsageError: The run has no verdicts of a judge, or the file exists already.
        RunFolderError: A trace is of a sample that the run does not have.
    """
    plan = planned(run, Limits())
    validation = plan.benchmark.validation
    if validation is None or validation.draw is None:
        raise UsageError(f"{plan.benchmark.name} has no judge whose verdicts people could label")
    if strangers := {trace.sample for trace in run.traces} - set(run.samples):
        raise RunFolderError(f"{run.path}: {min(strangers)!r} is none of its samples")
    selection = validation.draw(run.traces, run.samples, plan.settings, n, plan.experiment.seed)
    role, indexes = selection.role, selection.indexes
    key = key_of(plan, role, indexes, plan.settings, run.totals().ids())
    if key is None or not selection.rows:
        raise UsageError(f"{run.path}: no verdicts of one judge to draw from")
    place = out / f"labels-{run.path.name}"
    if (place / "labels.jsonl").exists():
        raise UsageError(f"{place / 'labels.jsonl'} is there already: label it, or move it away")
    with run_folder.Folder(place) as target:
        about = DrawFile(
            run=run.path.name,
            played=played(run.traces),
            key=key,
            names=tuple(plan.names[role][index].text for index in indexes),
            sizes=dict(selection.sizes),
            strata=tuple(selection.strata),
            places=tuple(selection.places),
        )
        target.write_json("draw.json", {"schema": 1, **about.model_dump(mode="json")})
        target.write("labels.jsonl", export.text(selection.rows, ".jsonl"))
    return place / "labels.jsonl"


def labelled(*files: Path) -> Labelled:
    """Read the labels of one draw, and keep them, by stratum, in the judge's record in the store.

    Several people may label a row, each under a name (`who`) or in a file of their own; `decided` combines their labels.

    Args:
        files: The files of labels; draw.json stands beside the first.

    Raises:
        DataError: A label is neither true, false nor null, or a row is not of the draw or occurs twice.
        UsageError: draw.json is missing, or a stratum has no label yet.
    """
    about = _read_draw(files[0])
    labels_by_row = _labels(files, about)
    accepted = {row: about.accepts(row) for row in labels_by_row}
    labels = {
        row: right
        for row, each in labels_by_row.items()
        if (right := decided(list(each.values()), accepted[row])) is not None
    }
    strata = []
    for name, (size, accepts) in about.sizes.items():
        stratum_labels = [right for row, right in labels.items() if about.strata[row - 1] == name]
        if size and not stratum_labels:
            raise UsageError(f"{files[0]}: of {size} {name} guesses none is labelled yet")
        strata.append(Stratum(accepts, size, len(stratum_labels), sum(stratum_labels)))
    field = Field(tuple(strata))
    # The agreement of people with each other, and of the judge with them; rows of one sample are a cluster.
    people = ceiling(labels_by_row, accepted, {row: about.places[row - 1][0] for row in labels_by_row})
    new = {"schema": 1, "key": about.key, "names": about.names, **UNCHECKED, "field": []}
    record: dict[str, Any] = judge_records.find(about.key) or new
    others = [entry for entry in record["field"] if entry.get("played") != about.played]
    entry: dict[str, Any] = {"run": about.run, "played": about.played}
    entry["strata"] = [asdict(stratum) for stratum in strata]
    entry["open"] = len(about.strata) - len(labels)
    # With these the labels bound the FNR from below only.
    lone = sum(not accepted[row] and list(each.values()) == [True] for row, each in labels_by_row.items())
    if lone:
        entry["lone"] = lone
    entry["labels"] = [[*about.places[row - 1], label] for row, label in sorted(labels.items())]
    if people:
        entry["people"] = [asdict(rate) for rate in people]
    path = judge_records.keep({**record, "field": [*others, entry]})
    return Labelled(about.run, field, entry["open"], lone, path)


def decided(labels: Sequence[bool], accepted: bool) -> bool | None:
    """Return whether a guess is right by people's labels: the majority decides; None without labels, or for a tie.

    A guess that the judge refused is right only if two people at least, and more than half, say so. Such guesses are so many
    that a few wrong labels of one person would change the score.
    """
    yes = sum(labels)
    if 2 * yes == len(labels) and (accepted or not labels):
        return None
    return 2 * yes > len(labels) and yes >= (1 if accepted else 2)


def _read_draw(file: Path) -> DrawFile:
    place = file.parent / "draw.json"
    if not place.is_file():
        raise UsageError(f"{place} is missing: it says what the labels are of")
    try:
        return DrawFile.model_validate(run_folder.read_json(place))
    except ValidationError as error:
        raise DataError(faults_of(error, place)) from None


def _labels(files: Sequence[Path], about: DrawFile) -> dict[int, dict[str, bool]]:
    """Return the labels of each labelled row (from 1), by person.

    If there are several files, the labels without `who` in a file are one person's.

    Raises:
        DataError: As in `labelled`.
    """
    rows: dict[int, dict[str, Any]] = {row: {"sample": at[0]} for row, at in enumerate(about.places, 1)}
    labels: dict[int, dict[str, bool]] = {}
    seen: set[tuple[int, str]] = set()
    faults: list[str] = []
    for file, (number, row) in ((each, line) for each in files for line in tables(each)):
        place, who = row.get("row"), str(row.get("who") or (file if len(files) > 1 else ""))
        if type(place) is not int or place not in rows or (place, who) in seen:
            faults.append(at(file, number, "row") + ": is no row of the draw, or comes twice")
            continue
        seen.add((place, who))
        drawn_row = rows[place]
        fields = {name: row[name] for name in DRAWN if name in row}
        if other := [name for name in fields if fields[name] != drawn_row.setdefault(name, fields[name])]:
            faults.append(at(file, number, other[0]) + ": is not what this row of the draw has")
            continue
        label = row.get("label")
        if isinstance(label, bool):
            labels.setdefault(place, {})[who] = label
        elif label is not None:
            faults.append(at(file, number, "label") + f": true, false or null, not {label!r}")
    refuse_faults(faults)
    return labels
