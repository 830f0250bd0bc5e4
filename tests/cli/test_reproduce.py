"""docs/appendix/reproduce.md keeps its word: it names every item of the papers, every command on it runs, and every number is there.

Commands are read from the page. The commands of a row run one after the other in an empty folder against a fake
server that stands where each provider does; placeholders and files that a user would bring are made here
(`GIVEN`). A row made smaller than on the page is made so by `SMALLER` alone.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import cos, sin
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import clot_training.cli
from lotbench.calls import embeddings
from lotbench.cli import main
from lotbench.config.model_names import PROVIDERS, Provider
from tests.benchmarks.liveideabench.test_liveidea_released import put, written_v1
from tests.benchmarks.liveideabench.test_liveidea_released import rows as released
from tests.benchmarks.rinobench.test_rinobench_construction import paper as reviewed
from tests.ideas import official
from tests.pages import ROOT
from tests.server import FakeServer
from tests.tiny import saved_llama

PAGE = ROOT / "docs/appendix/reproduce.md"
CODE = re.compile(r"`([^`]+)`")
PROMISE = re.compile(
    r"\b(?P<printed>printed)\b|`(?P<file>[\w./*-]+\.(?:md|jsonl?|html|png|csv|toml))`|`(?P<name>[^`]+)`|\*(?P<section>[^*]+)\*"
)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
BY_HAND = "**by hand**"
HANDS = ("lotbench play", "lotbench ballot vote", "lotbench data review")
"""Commands that wait for a person."""
SLOW = ("clot ",)
"""Commands that need torch."""


def numbered(kind: str, last: int) -> list[str]:
    return [f"{kind}{'' if kind.endswith(('S', 'S.')) else ' '}{number}" for number in range(1, last + 1)]


ITEMS = {
    "LoTbench": [*numbered("Table", 4), *numbered("Fig.", 16), "Alg. 1", *numbered("Eq.", 8)],
    "LiveIdeaBench v1": [*numbered("Table S.", 3), *numbered("Fig.", 7), *numbered("Fig. S.", 4)],
    "LiveIdeaBench v2": [
        *numbered("Fig.", 6),
        *numbered("Supp. Table S", 4),
        *numbered("Supp. Fig. S", 5),
        *(f"Supp. Note {number}" for number in (1, 5, 7, 8)),
        "Methods",
    ],
    "HIC-Bench": [*numbered("Table", 10), *numbered("Fig.", 5), "Alg. 1", *numbered("Eq.", 3)],
    "RINoBench": [*numbered("Table", 3), *numbered("Fig.", 6), *numbered("Eq.", 3), "Sec. 4.1"],
}
"""What each paper has; a figure of two halves may have a row for each (`Fig. 15 left`)."""

SMALLER = {
    "clot ": ["--set=tune.trainer.max_steps=2", "--set=explore.keep_rule=one_order", "--set=report.limit=2"],
    "lotbench evaluate --config paper/lotbench": ["--limit", "2", "--repeats", "1", "--max-rounds", "2"],
    # The paper's encoder lies on a hub.
    "lotbench evaluate --config paper/hicbench": ["--limit", "2", "--set", "encoder=minilm"],
    # Ten problems have all kinds.
    "lotbench evaluate standard": ["--limit", "15", "--repeats", "1"],
    "lotbench evaluate --config paper/standard": ["--repeats", "1"],
    "lotbench evaluate": ["--limit", "2", "--repeats", "1", "--concurrency", "4"],
    "lotbench judge-check": ["--limit", "4", "--repeats", "1"],
}
"""What is added to a command here, so that it takes a second and not an hour."""


@dataclass(frozen=True)
class Row:
    """One row of the page: a paper item and the commands that make it."""

    paper: str
    item: str
    commands: tuple[str, ...]
    where: str
    differs: str

    def __str__(self) -> str:
        return f"{self.paper}: {self.item}"


def rows() -> Iterator[Row]:
    """Every row of the tables of the page, once for each item that it names; among its commands may be `as ITEM`."""
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        paper, _, body = section.partition("\n")
        by_item: dict[str, str] = {}
        for line in body.splitlines():
            cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
            if line.startswith("| ") and not line.startswith(("| paper item", "| ---")):
                assert line.count(" | ") == 3, f"{paper}: not four cells: {line}"
                items, told, where, differs = cells
                commands = "<br>".join(
                    by_item[part.removeprefix("as ")] if part.startswith("as ") else part
                    for part in told.split("<br>")
                )
                for item in re.split(r", (?=Table|Fig|Supp|Eq)", items):
                    by_item[item] = commands
                    yield Row(paper, item, tuple(CODE.findall(commands)), where, differs)


ROWS = list(rows())


@pytest.mark.parametrize("paper", ITEMS)
def test_every_item_of_a_paper_has_a_row(paper: str) -> None:
    named = {row.item for row in ROWS if row.paper == paper}
    missing = [item for item in ITEMS[paper] if not any(re.match(rf"{item}\b", name) for name in named)]
    unknown = [name for name in named if not any(re.match(rf"{item}\b", name) for item in ITEMS[paper])]
    assert (missing, unknown) == ([], [])


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_row_has_a_command_and_a_place_or_says_why_not(row: Row) -> None:
    if row.commands:
        assert row.where
        assert all(command.startswith(("lotbench ", "clot ")) for command in row.commands)
        by_hand = any(command.startswith(HANDS) for command in row.commands)
        assert not by_hand or BY_HAND in row.differs, row
    else:
        assert row.differs.startswith("No command: "), row


def oogiri(folder: Path) -> None:
    """Oogiri-GO as it is published, in small: a file a language, five responses to each of 320 prompts."""
    (folder / "SRC/images").mkdir(parents=True)
    # Small, since each of the thousands is decoded twice.
    Image.new("RGB", (48, 32), "teal").save(drawn := io.BytesIO(), "PNG")
    rows: dict[str, list[str]] = {"en": [], "cn": [], "jp": []}
    cells = [
        (kind, file) for kind in ("I2T", "T2T", "IT2T") for file in rows if (kind, file) != ("IT2T", "en")
    ]
    for n in range(320):
        kind, file = cells[n % len(cells)]
        if "I" in kind:
            (folder / f"SRC/images/{n}.png").write_bytes(drawn.getvalue())
        prompt = {
            "type": kind,
            "question": None if kind == "I2T" else f"What does clock {n} dream of?",
            "image": str(n) if "I" in kind else None,
        }
        rows[file] += [
            json.dumps(prompt | {"text": f"Noon {n}, {star}.", "star": star}) for star in (90, 40, 16, 6, 2)
        ]
    for file, lines in rows.items():
        (folder / f"SRC/{file}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def votes(folder: Path) -> None:
    """Two people's votes on every prompt of the ballot."""
    prompts = [json.loads(line)["id"] for line in (folder / "ballot.jsonl").read_text("utf-8").splitlines()]
    lines = [
        json.dumps({"id": prompt, "voter": voter, "letters": [letter]})
        for prompt in prompts
        for voter, letter in (("Ann", "A"), ("Bob", "B"))
    ]
    (folder / "ballot.jsonl.votes.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def scores(file: str, rows: str) -> Given:
    """Three models' scores elsewhere, which is all that a correlation takes."""
    return lambda folder: (folder / file).write_text(rows.replace(" ", "\n") + "\n", encoding="utf-8")


def leaderboard(folder: Path) -> None:
    """A dated general leaderboard."""
    rows = ["Model,Organization,Global Average", *(f"model-{n},Maker {n},{90 - n}" for n in range(12))]
    (folder / "Livebench20250315.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


def cdid(folder: Path) -> None:
    """The file of HIC-Bench's tasks, a task of each of two fields."""
    rows = [["ID", "Field", "Question", "Principle", "Challenge", "Knowledge Base", "Source"]]
    rows += [
        [str(n), field, f"How {n}?", "waves", "quiet trains", "Waves have nodes.", "here"]
        for n, field in enumerate(("Optics", "Acoustics"), 1)
    ]
    with (folder / "CDID.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def labelled(folder: Path) -> None:
    """Two people's copies of what was exported for them to label, every number filled in."""
    lines = [json.loads(line) for line in (folder / "to-label.jsonl").read_text("utf-8").splitlines()]
    for place, name in enumerate(("ann", "ben")):
        filled = [
            {
                key: {"who": None, "spans": None, "hallucination": False}.get(key, 3 + (at + place) % 2)
                if value is None
                else value
                for key, value in line.items()
            }
            for at, line in enumerate(lines)
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in filled), "utf-8")


def official_ideas(folder: Path) -> None:
    """The files of RINoBench's ideas, and predictions for the test split in its order."""
    for name in ("test", "train"):
        (folder / f"{name}.json").write_text(json.dumps(official((1, 1, 1, 1, 1))), encoding="utf-8")


def predictions(folder: Path) -> None:
    """Released predictions: a judgment for each idea of the test split, in its order."""
    said = [
        {"reasoning": "Looking is known from work 1; leaping is new.", "novelty_score": one}
        for one in (3, 4, 3, 2, 4)
    ]
    (folder / "novelty_predictions-o3.json").write_text(json.dumps(said), encoding="utf-8")


def conferences(folder: Path) -> None:
    """Reviewed papers in OpenReview's shape, some for each score."""
    for year in ("2022", "2023"):
        papers = [
            reviewed(f"{year}-{group}-{one}", *pair)
            for group, pair in enumerate((((1, 1), (1, 2)), ((2, 2), (3, 2)), ((4, 3), (4, 4))))
            for one in range(2)
        ]
        (folder / f"conf{year}.json").write_text(json.dumps(papers), encoding="utf-8")


def marked(folder: Path) -> None:
    """What people said of every second chain."""
    lines = (folder / "stages/stages.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) | {"mark": bool(at % 2)} for at, line in enumerate(lines)]
    (folder / "marked.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")


Given = Callable[[Path], object]
GIVEN: dict[str, Given] = {
    "SRC": oogiri,
    "ballot.jsonl.votes.jsonl": votes,
    "MMMU.csv": scores("MMMU.csv", "model,MMMU gpt-4o-mini,59.4 gpt-4.1,74.8 gpt-4.1-mini,72.7"),
    "LiveBench.csv": scores(
        "LiveBench.csv",
        "model,Average,Reasoning gpt-4o-mini,41.3,32.8 gpt-4.1,62.9,71.1 gpt-4.1-mini,55.9,60.2",
    ),
    "CDID.csv": cdid,
    "view.csv": lambda folder: put(folder, released()),
    "rows.csv": written_v1,
    "Livebench20250315.csv": leaderboard,
    "ann.jsonl": labelled,
    "test.json": official_ideas,
    "train.json": official_ideas,
    "file:novelty_predictions-o3.json": predictions,
    "conf2022.json": conferences,
    "marked.jsonl": marked,
}
"""What a user would bring, by the word that stands for it on the page; made before the command that names it."""


@pytest.fixture
def providers(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    """One fake server in the place of every provider; its models have OpenAI's ids, which ecologits knows."""
    with FakeServer(suffix="-2024-07-18") as server:
        for name, provider in PROVIDERS.items():
            key = provider.key or "LOTBENCH_API_KEY"
            monkeypatch.setitem(PROVIDERS, name, Provider(server.url, key))
            monkeypatch.setenv(key, "a key")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model of text with random weights, to be tuned."""
    saved_llama(folder := tmp_path_factory.mktemp("model"))
    return folder


def prepared(command: str, folder: Path) -> list[str]:
    """The arguments of a command: runs and files in their places, and made small."""
    runs = sorted((folder / "runs").glob("*/run.json"), key=lambda file: file.stat().st_mtime_ns)
    words = shlex.split(command)
    for index, word in enumerate(words):
        if found := re.fullmatch(r"RUN(\d?)", word):
            words[index] = str(runs[int(found[1]) - 1 if found[1] else -1].parent)
        elif word in GIVEN and not (folder / word).exists():
            GIVEN[word](folder)
    return words + next((flags for start, flags in SMALLER.items() if command.startswith(start)), [])


def grouped() -> Iterator[tuple[Row, ...]]:
    """Rows of the same commands together, in the order of the page: these run once."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in ROWS:
        groups.setdefault(row.commands, []).append(row)
    yield from (tuple(group) for commands, group in groups.items() if commands)


def lengths(name: str) -> Callable[[Sequence[str]], Any]:
    """An encoder without torch, which takes ten seconds to load; slow rows and the commands of the README have their own."""
    return lambda texts: np.array([[cos(len(text)), sin(len(text))] for text in texts], dtype=np.float32)


@pytest.mark.parametrize(
    "group",
    [
        pytest.param(
            group,
            id=", ".join(map(str, group)),
            marks=[pytest.mark.slow]
            * (len(group[0].commands) > 4 or any(one.startswith(SLOW) for one in group[0].commands)),
        )
        for group in grouped()
    ],
)
def test_the_commands_of_a_row_run(
    group: tuple[Row, ...],
    providers: FakeServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    if not request.node.get_closest_marker("slow"):
        monkeypatch.setattr(embeddings, "load_encoder", lengths)
    for command in group[0].commands:
        if command.startswith(HANDS):
            continue
        program, *arguments = prepared(command, tmp_path)
        if program == "lotbench":
            assert main(arguments) == 0, command
        else:
            model = request.getfixturevalue("tuned")
            assert clot_training.cli.main([*arguments, "--set", f"model={model}"]) == 0, command
    printed = capsys.readouterr().out
    for row in group:
        assert list(missing(row.where, tmp_path, printed)) == [], row


def missing(where: str, folder: Path, printed: str) -> Iterator[str]:
    """What a cell promises and the commands did not bring: files, sections with numbers, numbers that are not null."""
    texts: dict[str, str] = {"printed": printed}
    for found in PROMISE.finditer(where):
        if found["printed"]:
            texts = {"printed": printed}
            if not NUMBER.search(printed):
                yield "nothing with a number is printed"
        elif file := found["file"]:
            runs = sorted(folder.glob(f"runs/*/{file}"), key=lambda path: path.stat().st_mtime_ns)
            paths = [*folder.glob(file), *(runs if file == "summary.json" else runs[-1:])]
            texts = {str(path): path.read_text("utf-8") if path.suffix != ".png" else "" for path in paths}
            if not texts or not all(path.stat().st_size for path in paths):
                yield f"{file} is not there, or empty"
        else:
            promise = found["section"] or found["name"]
            if not all(kept(promise, bool(found["section"]), name, text) for name, text in texts.items()):
                yield f"{promise} is not in {', '.join(texts)}, or null"


def kept(promise: str, section: bool, file: str, text: str) -> bool:
    """Whether a file has a section with a number in each row of its tables, or something by this name that is not null.

    On a page of HTML the text of an element begins with it.
    """
    if section and file.endswith(".md"):
        chapters = re.findall(rf"^## {re.escape(promise)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
        return bool(chapters) and all(
            bool(rows) and all(any(map(numeric, row[1:])) for row in rows) for _, *rows in tables(chapters[0])
        )
    if file.endswith("summary.json"):
        return json.loads(text)["scores"].get(promise, {}).get("value") is not None
    if file.endswith((".json", ".jsonl")):
        lines = [text] if file.endswith(".json") else text.splitlines()
        return any(holds(json.loads(line), promise) for line in lines)
    if file.endswith(".md"):
        return any(named(table, promise) for table in tables(text))
    if file.endswith(".html"):
        return f">{promise}" in text
    return promise.lower() in text.lower()


def tables(text: str) -> Iterator[list[list[str]]]:
    """The cells of each Markdown table, its head first."""
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        lines = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()]
        yield [lines[0], *lines[2:]]


def named(table: list[list[str]], name: str) -> bool:
    """Whether a table has a column of this name with a number in each row, or such a row with numbers alone."""
    head, *rows = table
    if name in head:
        return bool(rows) and all(numeric(row[head.index(name)]) for row in rows)
    return any(row[0] == name and all(map(numeric, row[1:])) for row in rows)


def numeric(cell: str) -> bool:
    """Whether a cell has a number, and not why there is none."""
    return NUMBER.search(cell) is not None and not cell.startswith(("none", "null", "nan"))


def holds(value: object, name: str) -> bool:
    """Whether there is a key, or a value, of this name somewhere in a JSON value; a key's value is not null."""
    if isinstance(value, dict):
        return any((key == name and one is not None) or holds(one, name) for key, one in value.items())
    return any(holds(one, name) for one in value) if isinstance(value, list) else value == name
