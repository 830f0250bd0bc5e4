"""Importer of caption contests that people rated: NNN.jpg is the cartoon of contest NNN, NNN_summary_METHOD.csv its rows.

Each caption has votes in three classes, so its rating has a standard error. A row is refused if its votes
do not add up to its count.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from lotbench.benchmarks.standard.oogiri import Ratings, Row
from lotbench.config.makers import PEOPLE
from lotbench.errors import UsageError
from lotbench.storage.importers.importing import BrokenError, PictureFiles, Raw, SkippedError
from lotbench.storage.importers.published import Files

COLUMNS = {"target_id", "funny", "somewhat_funny", "unfunny", "count", "caption"}


def rows(folder: Path, pictures: PictureFiles) -> Iterator[Raw]:
    """Yield the captions of all contests in a folder as unread rows, contest by contest.

    A row that is read writes its picture to `pictures`.

    Raises:
        UsageError: There is no contest, or one has several summaries.
        DataError: A summary cannot be read.
    """
    files = sorted(folder.glob("*_summary_*.csv"))
    if not files:
        raise UsageError(f"{folder}: has no contest (NNN.jpg with NNN_summary_METHOD.csv)")
    contests = [path.name.partition("_")[0] for path in files]
    for contest in contests:
        if contests.count(contest) > 1:
            raise UsageError(f"{folder}: contest {contest} has several summaries; keep one of them")
    for path, contest in zip(files, contests, strict=True):
        drawing, seen = path.with_name(f"{contest}.jpg"), set[str]()
        for number, cells in Files(path).table(COLUMNS):
            twice = cells["target_id"] in seen
            seen.add(cells["target_id"])
            yield Raw(str(path), number, partial(_row, cells, contest, drawing, pictures, twice=twice))


def _row(
    cells: Mapping[str, str], contest: str, drawing: Path, pictures: PictureFiles, *, twice: bool
) -> Row:
    """Return one caption as a row; `drawing` is the picture file, `twice` tells whether its target_id occurred before.

    Raises:
        SkippedError: The caption cannot be used.
        BrokenError, ValidationError: The cells are not a caption with its votes.
    """
    if twice:
        raise BrokenError(f"target_id: {cells['target_id']!r} comes twice")
    text = cells["caption"].strip()
    if not text:
        raise SkippedError("no caption")
    votes = {"unfunny": cells["unfunny"], "somewhat": cells["somewhat_funny"], "funny": cells["funny"]}
    ratings = Ratings.model_validate(votes)
    if str(ratings.n) != cells["count"]:
        raise BrokenError(f"count: {cells['count']!r}, but the votes are {ratings.n}")
    image = pictures.keep(contest, drawing)
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
