"""What is fuzzed: each reader of what comes from outside, as a function of bytes that must end in order.

A target returns, or raises what its caller expects; anything else is a finding. `tests/bench/fuzz.py` throws
bytes at them under atheris, `tests/storage/test_corpus.py` the inputs that were worth keeping.
"""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from pydantic import ValidationError

from lotbench.benchmarks.hicbench.reviewing import Label
from lotbench.benchmarks.lotbench import judge_rows
from lotbench.benchmarks.lotbench.questions import question
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.benchmarks.lotbench.words import guess
from lotbench.calls.journal import Journal, entry
from lotbench.cli.ballot import read_items, read_names
from lotbench.config import experiment as config
from lotbench.errors import Unread, UsageError
from lotbench.harness import ballot
from lotbench.models import chat_format
from lotbench.models.predictions import PredictedModel, read_predictions
from lotbench.models.recorded import RecordedModel
from lotbench.prompting.reply import Form, YesNo, prose, read_form
from lotbench.run import recorded
from lotbench.run.folder_shapes import read_checks, read_run_json, read_samples, read_summary
from lotbench.site.said import entries
from lotbench.storage import jsonl, judge_set
from lotbench.storage.importers import oogiri_go
from lotbench.storage.importers.importing import BrokenError, PictureFiles, SkippedError
from lotbench.storage.importers.published import Files
from lotbench.storage.importers.published import readers as published_readers
from lotbench.storage.pictures.picture_file import PictureError, decoded
from lotbench.storage.traces import Traces
from lotbench.types import Reply
from tests import games
from tests.asking import reply_of

PLACE = TemporaryDirectory(prefix="lotbench-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
CORPUS = Path(__file__).parent / "cases" / "corpus"
FRAME = "My neighbour keeps a(n) <MASK> in the tank."


class Verdict(Form):
    """A form with a text and a decision, as a judge fills it."""

    reason: Annotated[str, prose(240)]
    accepted: YesNo


class Line(Form):
    """A form that may come as a bare line."""

    guess: Annotated[str, prose(80)]


def reply(data: bytes) -> None:
    """A candidate's or judge's text."""
    text = data.decode("utf-8", "replace")
    for form in (Verdict, Line):
        with suppress(Unread):
            read_form(Reply(text, "m"), form)


def phrase(data: bytes) -> None:
    """A guess and a question."""
    text = data.decode("utf-8", "replace")
    with suppress(Unread):
        said = guess(text, FRAME, 8, 16)
        assert len(said) <= 120
        assert sum(re.search("[A-Za-z0-9]", word) is not None for word in said.split()) <= 8
    with suppress(Unread):
        question(text, ["Is it alive?"])


def completion(data: bytes) -> None:
    """The body of a server's answer."""
    chat_format.error_message(data)
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        return
    reply_of(answer)
    chat_format.complaint(answer)


def journal(data: bytes) -> None:
    """A line of calls.jsonl."""
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        entry(data)


def sample(data: bytes) -> None:
    """A line of samples.jsonl."""
    faults: list[str] = []
    jsonl._row(Path("samples.jsonl"), 1, data, Item.model_validate, faults)


def settings(data: bytes) -> None:
    """A config file."""
    try:
        table = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        return
    with suppress(UsageError):
        config.validate(config.Experiment, table)
    with suppress(UsageError):
        config.validate(Settings, table)


def held(data: bytes, name: str) -> Path:
    """A file that holds these bytes, as whoever wrote it left it."""
    path = Path(PLACE.name) / name
    path.write_bytes(data)
    return path


def summary(data: bytes) -> None:
    """A summary.json of somebody else's run."""
    with suppress(UsageError):
        read_summary(held(data, "summary.json").parent)
    with suppress(UsageError):
        read_checks(held(data, "judge.json").parent)


def run_json(data: bytes) -> None:
    """A run.json of somebody else's run."""
    file = held(data, "run.json")
    with suppress(UsageError):
        recorded.experiment(file, read_run_json(file.parent)["experiment"])


def run_lines(data: bytes) -> None:
    """The lines of a run folder, each as the file of its name: episodes, samples, labels, calls."""
    with suppress(UsageError):
        list(Traces(held(data, "traces.jsonl")))
    Traces(held(data, "traces.jsonl"), strict=False)
    with suppress(UsageError):
        read_samples(held(data, "samples.jsonl").parent)
    with suppress(UsageError):
        list(jsonl.rows(held(data, "labels.jsonl"), Label.model_validate))
    with suppress(UsageError):
        RecordedModel(held(data, "calls.jsonl"), "candidate")
    entries(held(data, "calls.jsonl"), games.trace("s", 1, "unsolved", []))
    with Journal(held(data, "calls.jsonl")) as opened:
        assert opened.last("of no call") is None


def toml(data: bytes) -> None:
    """A config file by path, and its text as the value of --set."""
    with suppress(UsageError):
        config.load(held(data, "config.toml"))
    config.read_value(data.decode("utf-8", "replace").lstrip("@"))


def ballots(data: bytes) -> None:
    """A line of a ballot or of votes."""
    for model in (ballot.Item, ballot.Vote):
        faults: list[str] = []
        jsonl._row(Path("ballot.jsonl"), 1, data, model.model_validate, faults)


def predicted(data: bytes) -> None:
    """A file of released predictions."""
    file = held(data, "predictions.json")
    with suppress(UsageError):
        PredictedModel(file, read_predictions(file) or [], ())


def picture(data: bytes) -> None:
    """A picture of a data set."""
    with suppress(PictureError):
        decoded(data)


def oogiri(data: bytes) -> None:
    """A line of Oogiri-GO."""
    with suppress(BrokenError, SkippedError, ValidationError):
        oogiri_go._row(data, "en", 1, {}, PictureFiles(Path(PLACE.name)))


READERS = tuple(published_readers().values())
"""Once: to look for installed benchmarks takes fifty milliseconds."""


def published(data: bytes) -> None:
    """What others have published, for each benchmark that reads it: a file, or a folder with both files of keywords."""
    file, folder = held(data, "published.json"), Path(PLACE.name) / "published"
    folder.mkdir(exist_ok=True)
    for name in ("kws.csv", "keyword_classifications.csv"):
        held(data, f"published/{name}")
    for read in READERS:
        for place in (file, folder):
            with suppress(UsageError):
                read(Files(place))


def judge_sets(data: bytes) -> None:
    """A judge set: set.toml, and rows of every kind."""
    folder = Path(PLACE.name) / "judge-set"
    folder.mkdir(exist_ok=True)
    kinds = {name: model for files in judge_rows.ROWS.values() for name, model in files.items()}
    held(b"", "judge-set/set.toml")
    for name in kinds:
        held(data, f"judge-set/{name}")
    with suppress(UsageError):
        judge_set.load(folder, kinds)
    held(data, "judge-set/set.toml")
    with suppress(UsageError):
        judge_set.about_of(folder)


def ballot_keys(data: bytes) -> None:
    """A ballot and its key, and the votes on them."""
    file = held(data, "ballot.jsonl")
    with suppress(UsageError):
        items = read_items(file)
        key = read_names(file).models
        if not ballot.key_faults(items, key):
            votes = [ballot.Vote(id=item.id, voter="v", letters=("A",)) for item in items]
            votes = [vote for at, vote in enumerate(votes) if at not in ballot.faults(votes, key)]
            ballot.shares(items, key, votes)
            ballot.ranked(items, votes)


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        *(reply, phrase, completion, journal, sample, settings, summary, run_json, run_lines, toml, ballots),
        *(predicted, picture, oogiri, published, judge_sets, ballot_keys),
    )
}
