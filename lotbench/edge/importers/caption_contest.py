"""Human-rated cartoon caption contests as a source of rows: NNN.jpg beside NNN_summary_METHOD.csv.

Every caption has its votes, so preference is a rating with an error and not a count of likes. A row whose votes
do not add up is no row.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from lotbench.benchmarks.standard.oogiri import Ratings, Row
from lotbench.config.makers import PEOPLE
from lotbench.edge.importers.importing import BrokenError, PictureFiles, Raw, SkippedError, Source
from lotbench.errors import DataError, UsageError, at

COLUMNS = ("target_id", "funny", "somewhat_funny", "unfunny", "count", "caption")


def source(name: str, pictures: PictureFiles) -> Source:
    """The captions of every contest in a folder, contest by contest.

    Raises:
        UsageError: There is no contest, or one has several summaries.
        DataError: A file is not a summary.
    """
    folder, files = Path(name), sorted(Path(name).glob("*_summary_*.csv"))
    if not files:
        raise UsageError(f"{folder}: has no contest (NNN.jpg with NNN_summary_METHOD.csv)")
    contests = [path.name.partition("_")[0] for path in files]
    for contest in contests:
        if contests.count(contest) > 1:
            raise UsageError(f"{folder}: contest {contest} has several summaries; keep one of them")

    def rows() -> Iterator[Raw]:
        for path, contest in zip(files, contests, strict=True):
            yield from _captions(path, contest, pictures)

    return Source(name, rows)


def _captions(path: Path, contest: str, pictures: PictureFiles) -> Iterator[Raw]:
    drawing = path.with_name(f"{contest}.jpg")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file)
            if missing := [column for column in COLUMNS if column not in (table.fieldnames or ())]:
                raise DataError([f"{at(path, 1)}: no column {', '.join(missing)}"])
            seen = set[str]()
            for cells in table:
                twice = cells["target_id"] in seen
                seen.add(cells["target_id"])
                read = partial(_row, cells, contest, drawing, pictures, twice=twice)
                yield Raw(str(path), table.line_num, read)
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError([f"{path}: {error}"]) from None


def _row(
    cells: Mapping[str, str], contest: str, drawing: Path, pictures: PictureFiles, *, twice: bool
) -> Row:
    """One caption in our layout.

    Raises:
        SkippedError: It cannot be used.
        BrokenError, ValidationError: It is no caption with its votes.
    """
    if twice:
        raise BrokenError(f"target_id: {cells['target_id']!r} comes twice")
    text = (cells["caption"] or "").strip()
    if not text:
        raise SkippedError("no caption")
    ratings = Ratings.model_validate(
        {
            name: cells[column]
            for name, column in (("unfunny", "unfunny"), ("somewhat", "somewhat_funny"), ("funny", "funny"))
        }
    )
    if str(ratings.n) != cells["count"]:
        raise BrokenError(f"count: {cells['count']!r}, but the votes are {ratings.n}")
    image = pictures.keep(contest, lambda: drawing.read_bytes() if drawing.is_file() else None)
    return Row(
        id=f"cc-{contest}-{cells['target_id']}",
        type="I2T",
        language="en",
        group=f"contest-{contest}",
        image=image,
        text=text,
        ratings=ratings,
        writer=PEOPLE,
    )
