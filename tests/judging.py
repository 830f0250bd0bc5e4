"""Judge sets and judges for tests: rows on the shipped samples, and a judge of planted error rates."""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lotbench.benchmarks.lotbench import words
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.storage import datasets
from tests.rules import chance, hear

RESPONSE = re.compile(r"^(?:CAPTION|配文)\s*[:：]\s*(.*)(?=\n(?:KEY TEXT|关键词))", re.MULTILINE)
CANDIDATE = re.compile(r'^(?:CANDIDATE|候选词)\s*[:：]\s*["“](.*?)["”]\s*$', re.MULTILINE)
QUESTION = re.compile(r'^(?:QUESTION|问题)\s*[:：]\s*["“](.*?)["”]\s*$', re.MULTILINE)


def shipped(n: int | None = None) -> list[Item]:
    """The first samples that come with lotbench."""
    items: list[Item] = list(datasets.samples(datasets.shipped("data", "lotbench_easy"), Item))
    return items[:n]


def data_set(folder: Path, items: list[Item]) -> Path:
    """A data set of these shipped samples, with their pictures."""
    (folder / "images").mkdir(parents=True)
    lines = [item.model_dump_json() + "\n" for item in items]
    (folder / "samples.jsonl").write_text("".join(lines), encoding="utf-8")
    for item in items:
        shutil.copy(datasets.shipped("data", "lotbench_easy") / item.image, folder / item.image)
    return folder


def filled(items: list[Item], split: str = "test") -> list[dict[str, Any]]:
    """Rows of daeso.jsonl: what each sample lists."""
    rows = []
    for item in items:
        place = {"sample": item.id, "language": item.language, "split": split, "contested": False}
        said = [(text, True, None) for text in item.accept]
        said += [(one.text, False, one.difficulty) for one in item.reject]
        rows += [
            {**place, "guess": guess, "label": label, "difficulty": difficulty, "labels": [label, label]}
            for guess, label, difficulty in said
        ]
    return rows


def asked(items: list[Item], split: str = "test") -> list[dict[str, Any]]:
    """Rows of oracle.jsonl: two questions a sample, whose truth is in their wording."""
    rows = []
    for number, item in enumerate(items):
        zh = item.language == "zh"
        for label in (True, False):
            right = ("真" if label else "假") if zh else str(label).lower()
            text = f"是{right}的吗{number}" if zh else f"Is it {right} {number}?"
            place = {"sample": item.id, "language": item.language, "split": split, "contested": False}
            said = {"question": text, "label": label, "kind": "plain" if number % 2 else "negation"}
            rows.append({**place, **said, "labels": [label, label]})
    return rows


def write(folder: Path, **files: list[dict[str, Any]]) -> Path:
    """A judge set of these files (`daeso=[...]`)."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "set.toml").write_text('data = "lotbench_easy"\nlabels = "author"\n', encoding="utf-8")
    for name, rows in files.items():
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return folder


@dataclass
class PlantedJudge:
    """Knows the right verdict on every row, and errs at planted rates, by the words of the guess alone.

    A rule for `RuleModel` and `FakeServer`. Whatever it does not know it takes to be wrong, and never errs on
    it, so that its causal chains pass their trial. `flips` errs by the call, not by the guess.
    """

    items: list[Item]
    fpr: float = 0.0
    fnr: float = 0.0
    flips: float = 0.0
    unreadable: Callable[[str], bool] = lambda guess: False
    seed: str = ""
    right: dict[tuple[str, str], bool] = field(init=False)
    keys: set[tuple[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        responses = {item.id: item.response for item in self.items}
        self.right = {
            (responses[row["sample"]], words.same(row["guess"])): row["label"] for row in filled(self.items)
        }
        self.keys = {(item.response, words.same(item.key_text)) for item in self.items}
        self.right |= dict.fromkeys(self.keys, True)

    def verdict(self, response: str, guess: str, call: object = None) -> bool:
        """What it says of a guess."""
        place = (response, words.same(guess))
        label = self.right.get(place, False)
        if place not in self.right or place in self.keys:
            return label
        wrong = chance("judge", self.seed, *place) < (self.fnr if label else self.fpr)
        return label is not (wrong is not (chance("flip", self.seed, *place, call) < self.flips))

    def __call__(self, request: Any) -> str | Mapping[str, Any]:
        heard = hear(request)
        if "answer" in heard.form:
            asked = QUESTION.findall(heard.text)[-1]
            return {"answer": "Yes" if "true" in asked or "真" in asked else "No"}
        found = CANDIDATE.findall(heard.text)
        if "same_function" not in heard.form or not found:
            return {name: "ready" if name == "word" else "a -> b" for name in heard.form}
        if self.unreadable(found[-1]):
            return "I cannot tell.\nReally not."
        yes = self.verdict(RESPONSE.findall(heard.text)[-1], found[-1], heard.seed)
        return {name: yes if name.startswith("same") else f"{name} -> a" for name in heard.form}
