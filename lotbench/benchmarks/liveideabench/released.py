"""The ideas and critiques that the authors released (v2; Supp. Table S1), read as tasks would have told of them.

A row is one critic's verdict on one idea, in the columns of the public code's database. Rows of one idea stand
together by model, keyword and text; whatever their order, the first idea of a keyword is the one that comes first.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lotbench.benchmarks.liveideabench.candidate import read_idea
from lotbench.benchmarks.liveideabench.settings import VERSIONS, Settings
from lotbench.errors import DataError, at
from lotbench.harness.published import Source
from lotbench.types import JSON, Reply

COLUMNS = {"keywords", "idea_model", "critic_model", "idea", "parsed_scores"}
"""Those that are needed; full_response, parsed_reasoning, first_was_rejected and first_reject_response may be there."""
DIMENSIONS = VERSIONS["v2"].dimensions


@dataclass(frozen=True, slots=True)
class Critique:
    """What one critic said of an idea; no scores where the release has none that are on the scale."""

    critic: str
    analysis: str
    scores: Mapping[str, int] | None


@dataclass(slots=True)
class Idea:
    """An idea with its critiques; `declined` is what was said to the first asking, if that was refused."""

    text: str
    full: str
    declined: str
    critiques: list[Critique] = field(default_factory=list)


Ideas = Mapping[str, Mapping[str, Sequence[Idea]]]
"""By model, then by keyword."""


def read_released(source: Source, name: str = "") -> Ideas:
    """The ideas of a CSV file of released rows.

    Raises:
        DataError: The file cannot be read, lacks a column, or has a row without keyword, model or idea.
    """
    found: dict[str, dict[str, dict[str, Idea]]] = {}
    faults: list[str] = []
    path = source.path / name if name else source.path
    for line, row in source.table(COLUMNS, name):
        if missing := sorted(one for one in COLUMNS - {"parsed_scores"} if not row[one].strip()):
            faults += [at(path, line, one) + ": empty" for one in missing]
            continue
        ideas = found.setdefault(row["idea_model"].strip(), {}).setdefault(row["keywords"].strip(), {})
        idea = ideas.setdefault(row["idea"], Idea(row["idea"], row.get("full_response", ""), _declined(row)))
        analysis = row.get("parsed_reasoning") or row.get("raw_critique") or ""
        idea.critiques.append(Critique(row["critic_model"].strip(), analysis, _scores(row["parsed_scores"])))
    if faults:
        raise DataError(faults)
    return {
        model: {word: list(ideas.values()) for word, ideas in words.items()} for model, words in found.items()
    }


def _declined(row: Mapping[str, str]) -> str:
    """What a model said to a keyword that it first refused; the code's mark alone, without a text, is no refusal."""
    said = row.get("first_reject_response", "").strip()
    return (
        said
        if row.get("first_was_rejected", "").strip().lower() in ("1", "1.0", "true") and len(said) > 2
        else ""
    )


def _scores(text: str) -> Mapping[str, int] | None:
    """The scores of a verdict, spelled as JSON or as Python spells a table; None unless each is a whole number, 1 to 10."""
    try:
        found = json.loads(text)
    except ValueError:
        try:
            found = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return None
    table = found if isinstance(found, dict) else {}
    scores = {
        name: table[name] for name in DIMENSIONS if type(table.get(name)) is int and 1 <= table[name] <= 10
    }
    return scores if len(scores) == len(DIMENSIONS) else None


def steps(ideas: Sequence[Idea], seats: Mapping[str, int], settings: Settings) -> list[dict[str, Any]]:
    """The steps of a walk on one keyword; no calls stand behind them.

    Args:
        ideas: Of one model on one keyword.
        seats: The place of each critic on the panel; a critic that has none is left out.
        settings: How an idea is read.
    """
    made: list[dict[str, Any]] = []
    for number, idea in enumerate(ideas, 1):
        if idea.declined:
            refused = {"status": "refused", "reason": "the release says so", "said": idea.declined}
            made.append(_step("respond", number, "candidate", 0, refused))
        value = dict(read_idea(Reply(idea.text, ""), settings, last=True))
        if value["status"] == "ok":
            value["reasoning"] = max(0, len(idea.full.strip()) - len(idea.text.strip()))
        made.append(_step("fallback" if idea.declined else "respond", number, "candidate", 0, value))
        known = [one for one in idea.critiques if one.critic in seats] if value["status"] == "ok" else []
        for draw, one in enumerate(known):
            said: dict[str, Any] = {"judge": seats[one.critic], "model": one.critic}
            if one.scores is None:
                said |= {"status": "unparsed", "reason": "no scores on the scale"}
            else:
                said |= {"status": "ok", "analysis": one.analysis, **one.scores}
            made.append(_step("judge", number, "judge", draw, said))
    return made


def _step(step: str, number: int, role: str, draw: int, value: Mapping[str, JSON]) -> dict[str, JSON]:
    place: dict[str, JSON] = {"step": step, "round": number, "role": role, "draw": draw}
    return place | {"call": None, "value": dict(value), "seconds": 0.0}
