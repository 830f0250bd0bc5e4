"""Verdicts that others recorded, beside the labels of people: a file a judge, its form and language told by content.

A TurtleBench log is a JSON object with `info` and `cases`; predictions of ocsai are a CSV file with `target` and
`score_K`, the mean over the K likeliest tokens; lines with `row`, `truth` and `said` are anybody's.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, FiniteFloat, StrictBool

from lotbench.edge.files import jsonl
from lotbench.errors import DataError, UsageError, at
from lotbench.harness.judge_validation import Ruling
from lotbench.harness.published import ANSWERS
from lotbench.harness.rated_uses import USES

Unknown: TypeAlias = Literal["incorrect", "left_out"]
"""What a row counts as whose true answer is Unknown: not correct (the published table's), or not at all."""


@dataclass(frozen=True, slots=True)
class JudgeVerdicts:
    """What one judge said of rows whose truth is known.

    Attributes:
        texts: What each row asks, for judges that know nothing but its words.
        unread: Verdicts that were none: those of `rulings` that count as wrong, and those that are None.
        verdicts: How many verdicts were paid for, repetitions included; 0 stands for one a row.
        tokens: Of all calls; None if that was not recorded. `cost_usd` likewise.
    """

    name: str
    rulings: tuple[Ruling, ...]
    texts: Mapping[str, str] = field(default_factory=dict)
    unread: int = 0
    verdicts: int = 0
    tokens: int | None = None
    cost_usd: float | None = None


PREDICTED = frozenset({"target", "response"})
"""Columns by which a table is known as predictions of ocsai."""
_SCORE = re.compile(r"score_([1-9][0-9]{0,5})")
"""The name of a column that holds a mean over so many tokens."""


class Line(BaseModel):
    """A line of a file of verdicts: a decision beside a decision, or a number beside a number."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    row: str
    truth: StrictBool | FiniteFloat
    said: StrictBool | FiniteFloat | None
    item: str = ""
    """What rows have in common that err together; each row stands alone if empty."""
    kind: str | None = None
    language: str = "en"
    criterion: str = ""


def read_verdicts(path: Path, unknown: Unknown = "incorrect") -> list[JudgeVerdicts]:
    """The judges of a file; a file of predictions has two readings of one.

    Raises:
        UsageError: There is no such file.
        DataError: It is of no known form, or a row of it is faulty, by line and field.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise DataError([f"{path}: {error}"]) from None
    header = text.partition("\n")[0]
    if text.lstrip().startswith("{"):
        log = _object(text)
        return [_turtlebench(path, log, unknown)] if log is not None else [_lines(path)]
    if set(header.strip().split(",")) >= PREDICTED:
        return _ocsai(path, text)
    raise DataError(
        [
            f"{path}: no verdicts: neither a TurtleBench log, nor predictions of ocsai, nor lines of row, truth and said"
        ]
    )


def _object(text: str) -> dict[str, Any] | None:
    """The one JSON object that a file is, if it is a log; None if it is lines."""
    try:
        found = jsonl.document(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "cases" in found else None


def _turtlebench(path: Path, log: Mapping[str, Any], unknown: Unknown) -> JudgeVerdicts:
    """A log of TurtleBench; a verdict that is none of the three answers counts as wrong, as its table has it."""
    rulings: list[Ruling] = []
    texts: dict[str, str] = {}
    faults: list[str] = []
    unread = tokens = 0
    info, cases = log.get("info", {}), log["cases"]
    if not isinstance(info, dict) or not isinstance(cases, list):
        raise DataError([f"{path}: no log of TurtleBench: info is an object there, and cases a list"])
    language = str(info.get("language", "en"))
    for number, case in enumerate(cases, 1):
        try:
            truth, said = ANSWERS[case["ground_truth"]], ANSWERS.get(case["model_judge"])
            row, story, guess = str(case["sample"]), str(case["story_title"]), str(case["input"])
            tokens += int(case["total_tokens"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            faults.append(f"{path}: case {number}: {type(error).__name__} {error}")
            continue
        if truth == "unknown" and unknown == "left_out":
            continue
        right = truth == "yes"
        unread += said is None
        verdict = not right if said is None else said == "yes"
        rulings.append(
            Ruling("", row, story, "unknown" if truth == "unknown" else None, language, right, verdict)
        )
        texts[row] = guess
    if faults:
        raise DataError(faults)
    name = str(info.get("model", path.stem))
    return JudgeVerdicts(name, tuple(rulings), texts, unread, len(cases), tokens)


def _ocsai(path: Path, text: str) -> list[JudgeVerdicts]:
    """Predictions of ocsai: the score of the likeliest token, and the mean over as many as there are."""
    rows = _scored(path, text)
    model = path.stem.removeprefix("logprobs_")
    texts = {str(number): row["response"] or "" for number, (row, *_) in enumerate(rows, 1)}
    return [
        # Rows are numbered in their order: some uses were written, and rated, more than once.
        JudgeVerdicts(
            f"{model}, {said}",
            tuple(
                Ruling(USES, str(number), row.get("item") or "", None, "en", target, means[place])
                for number, (row, target, means) in enumerate(rows, 1)
            ),
            texts,
        )
        for place, said in ((0, "likeliest token"), (-1, "mean of all tokens"))
    ]


def _scored(path: Path, text: str) -> list[tuple[dict[str, str], float, list[float]]]:
    """Each row of predictions, its target, and its means over ever more tokens.

    Raises:
        DataError: It is no such table, or a row has no number where one must be.
    """
    reader = csv.DictReader(io.StringIO(text, newline=""))
    rows: list[tuple[dict[str, str], float, list[float]]] = []
    faults: list[str] = []
    try:
        names = reader.fieldnames or ()
        if lacking := PREDICTED - set(names):
            raise DataError([at(path, 1) + f": no column {', '.join(sorted(lacking))}"])
        ranks = sorted(int(found[1]) for name in names if (found := _SCORE.fullmatch(name)))
        if not ranks:
            raise DataError([at(path, 1) + ": no column score_K"])
        for row in reader:
            try:
                # Where fewer tokens were numbers, the last means are missing.
                means = [_number(row[column]) for rank in ranks if row[column := f"score_{rank}"]]
                rows.append((row, _number(row[column := "target"]), means))
            except (TypeError, ValueError):
                faults.append(at(path, reader.line_num, column) + f": {str(row[column])[:80]!r} is no number")
                continue
            if not means:
                faults.append(at(path, reader.line_num, f"score_{ranks[0]}") + ": there is none")
    except csv.Error as error:
        faults.append(f"{at(path, reader.line_num + 1)}: {error}")
    if faults:
        raise DataError(faults)
    return rows


def _number(text: str) -> float:
    """A number that can be reckoned with; raises ValueError for any other."""
    found = float(text)
    if not math.isfinite(found):
        raise ValueError(text)
    return found


def _lines(path: Path) -> JudgeVerdicts:
    faults: list[str] = []
    found = [one for _, one in jsonl.rows(path, Line.model_validate, faults)]
    if faults:
        raise DataError(faults)
    rulings = tuple(
        Ruling(one.criterion, one.row, one.item or one.row, one.kind, one.language, one.truth, one.said)
        for one in found
    )
    return JudgeVerdicts(path.stem, rulings, unread=sum(one.said is None for one in rulings))
