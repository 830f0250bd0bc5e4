"""TurtleBench for the oracle: players' guesses on riddles, with the answers of people.

A story and its truth are the scene that the oracle is shown, its title is the word in question, a guess is the
question.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lotbench.benchmarks.lotbench import words
from lotbench.benchmarks.lotbench.judge_rows import Asked
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.config.makers import PEOPLE
from lotbench.errors import DataError, at
from lotbench.harness.published import ANSWERS, JudgedSet, Source

PICTURE = "blank.png"
"""The oracle sees no picture, and a sample must have one."""


def judged(source: Source) -> JudgedSet:
    """The guesses of cases.LANGUAGE.list on the stories of stories.LANGUAGE.json.

    A guess that two players made is one row; where people gave it two labels it is contested. What the truth neither
    bears out nor excludes has the label no, and `unknown`.

    Raises:
        DataError: A file cannot be read, or a line of it is no guess.
    """
    scenes: list[Item] = []
    rows: list[Asked] = []
    for language in ("en", "zh"):
        stories = _stories(source, f"stories.{language}.json")
        ids = {story["title"]: f"tb-{language}-{number:02}" for number, story in enumerate(stories, 1)}
        scenes += [_scene(ids[story["title"]], language, story) for story in stories]
        rows += _guesses(source, f"cases.{language}.list", ids, language)
    return JudgedSet(scenes, {"oracle.jsonl": rows}, PICTURE)


def _stories(source: Source, name: str) -> list[dict[str, str]]:
    try:
        found = json.loads("\n".join(line for _, line in source.lines(name)))
        return [{field: str(one[field]) for field in ("title", "surface", "bottom")} for one in found]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError([f"{source.path / name}: {type(error).__name__}: {error}"]) from None


def _scene(name: str, language: Any, story: Mapping[str, str]) -> Item:
    """A story as a sample: the oracle is shown what players see and the truth; the word in question is the title."""
    return Item(
        id=name,
        language=language,
        image=PICTURE,
        caption=f"{story['surface']}\n{story['bottom']}",
        response=story["title"],
        key_text=story["title"],
        explanation=story["bottom"],
        clues=(story["surface"],),
        writer=PEOPLE,
        source="TurtleBench",
        licence="Apache-2.0",
    )


def _guesses(source: Source, name: str, ids: Mapping[str, str], language: Any) -> list[Asked]:
    answers: dict[tuple[str, str], list[str]] = {}
    texts: dict[tuple[str, str], str] = {}
    faults: list[str] = []
    for number, line in source.lines(name):
        parts = [part for part in line.split("\t") if part not in ("", "|")]
        if len(parts) != 3 or parts[1] not in ids or parts[2] not in ANSWERS:
            faults.append(at(source.path / name, number) + ": not a guess, the title of a story and a label")
            continue
        place = ids[parts[1]], words.same(parts[0])
        texts.setdefault(place, parts[0])
        answers.setdefault(place, []).append(ANSWERS[parts[2]])
    if faults:
        raise DataError(faults)
    return [_asked(place[0], texts[place], told, language) for place, told in answers.items()]


def _asked(sample: str, guess: str, told: Sequence[str], language: Any) -> Asked:
    says = tuple(dict.fromkeys(answer == "yes" for answer in told))
    return Asked(
        sample=sample,
        question=guess,
        label=says[0],
        labels=says,
        contested=len(says) > 1,
        unknown="unknown" in told,
        kind="guess",
        language=language,
        split="test",
    )
