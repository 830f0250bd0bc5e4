"""The shipped samples and judge sets hold what their SOURCE.md and the benchmark promise."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score

from lotbench.benchmarks.lotbench import questions, words
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.storage import datasets

FOLDER = datasets.shipped("data", "lotbench_easy")
JUDGE_SETS = datasets.shipped("data", "judge_sets")
CANARY = "lotbench-canary-7d1e0f7c-5b1a-4a52-9a0e-3c8f5d2b6e41"
LANGUAGES = ("en", "zh")


@pytest.fixture(scope="module")
def items() -> tuple[Item, ...]:
    return datasets.samples(FOLDER, Item)


def judge_set(name: str) -> list[dict[str, Any]]:
    text = (JUDGE_SETS / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_there_are_enough_samples_of_every_kind(items: tuple[Item, ...]) -> None:
    languages = Counter(item.language for item in items)
    assert languages["en"] >= 60
    assert languages["zh"] >= 40
    assert len(items) >= 106
    for language in LANGUAGES:
        assert {item.tier for item in items if item.language == language} == {"easy", "medium", "hard"}
    leaps = Counter(item.leap for item in items)
    assert len(leaps) >= 12
    assert max(leaps.values()) <= len(items) / 5


@pytest.mark.parametrize(
    ("name", "clues", "rejected"), [("lotbench_easy", {3, 4, 5}, 5), ("lotbench", {4}, 4)]
)
def test_every_sample_has_what_the_game_and_the_judge_sets_need(
    name: str, clues: set[int], rejected: int
) -> None:
    folder = datasets.data_folder("", name)
    for item in datasets.samples(folder, Item):
        assert len(item.clues) in clues, item.id
        assert len(item.accept) >= 2 and len(item.reject) >= rejected, item.id
        assert {guess.difficulty for guess in item.reject} == {"easy", "hard"}, item.id
        assert item.canary == CANARY, item.id
        assert (folder / item.image).with_suffix(".svg").is_file(), item.id


@pytest.mark.parametrize("name", ["lotbench", "lotbench_easy"])
def test_the_examples_in_the_prompts_give_no_sample_away(name: str) -> None:
    items = datasets.samples(datasets.data_folder("", name), Item)
    for path, text in datasets.prompts("lotbench").files.items():
        shown = {words.same(guess) for guess in re.findall(r'"guess": "([^"]+)"', text)}
        for item in items:
            assert words.same(item.key_text) not in shown, (path, item.id)
            assert item.response not in text, (path, item.id)
            assert item.caption not in text, (path, item.id)


COMMON = """a also an and anybody are as at before do does either first for from he her his in is it its may never no nobody not of
off on one any sir we with only or our please somebody the their to two up would yes you your"""
FUNCTION_WORDS = frozenset(COMMON.split())
SHOWN = re.compile(
    r"^(?:IMAGE CAPTION|RESPONSE|CAPTION|REFERENCE|KEY TEXT|CANDIDATE|WRONG-ANS|CLUE|Q|QUESTION|WORD|图片描述|配文|参考配文|关键词|候选词|错误答案|线索|问|问题"
    r"|词语)[:：] ?(.*)$|\"(?:guess|question|response)\": \"([^\"]+)\"|候选(?:词|配文)：“([^”]+)”|with CANDIDATE: \"([^\"]+)\"",
    re.MULTILINE,
)
"""What an example of a prompt shows: a line of its input, or of its output."""


def shown(language: str) -> list[str]:
    """Every text of the examples in the prompts of a language, without the mask."""
    files = datasets.prompts("lotbench").files
    examples = {"en": "Example 1", "zh": "例一"}[language]
    texts = [
        text.partition(examples)[2].partition("[user]")[0]
        for path, text in files.items()
        if path.startswith(language)
    ]
    found = ("".join(match.groups(default="")) for text in texts for match in SHOWN.finditer(text))
    return sorted({one.replace("<MASK>", " ").strip('"“”') for one in found if "{{" not in one} - {""})


def known(items: tuple[Item, ...], language: str) -> list[str]:
    """Every text of the samples of a language."""
    texts: list[str] = []
    for item in items:
        if item.language == language:
            texts += (item.caption, item.response, item.key_text, item.explanation, *item.clues)
            texts += (*item.accept, *(rejected.text for rejected in item.reject))
    return texts


def test_the_examples_in_the_english_prompts_share_no_word_with_the_samples(items: tuple[Item, ...]) -> None:
    examples = shown("en")
    said = {word for text in known(items, "en") for word in re.findall(r"[a-z]+", text.lower())}
    used = {word for text in examples for word in re.findall(r"[a-z]+", text.lower())}
    described = {text for text in examples if text.endswith(".")}
    assert len(used) > 50
    assert len(described) >= 6
    assert sorted(used & said - FUNCTION_WORDS) == []


def test_the_examples_in_the_chinese_prompts_share_no_scene_and_no_answer_with_the_samples(
    items: tuple[Item, ...],
) -> None:
    examples, said = shown("zh"), "\n".join(known(items, "zh"))
    short = [text for text in examples if len(text) <= 5]
    common = {
        text[at : at + 4] for text in examples for at in range(len(text) - 3) if text[at : at + 4] in said
    }
    assert len(short) >= 6
    assert [text for text in short if text in said] == []
    assert common == set()


def test_the_sources_are_told() -> None:
    for place in (FOLDER, JUDGE_SETS):
        text = (place / "SOURCE.md").read_text(encoding="utf-8")
        assert CANARY in text
        assert "CC BY 4.0" in text


# The judge sets


def test_verdict_rows_agree_with_the_samples(items: tuple[Item, ...]) -> None:
    """Rows that say why they are there came later than the lists, which they need not be on."""
    by_id = {item.id: item for item in items}
    for row in judge_set("daeso"):
        item = by_id[row["sample"]]
        rejected = {guess.text: guess.difficulty for guess in item.reject}
        assert row["language"] == item.language
        assert (row["difficulty"] is None) == row["label"]
        if row["contested"]:
            assert row["guess"] not in item.accept
            assert row["guess"] not in rejected
        elif row.get("why"):
            continue
        elif row["label"]:
            assert row["guess"] in item.accept
        else:
            assert rejected[row["guess"]] == row["difficulty"]


def test_question_rows_ask_what_the_game_would_take(items: tuple[Item, ...]) -> None:
    by_id = {item.id: item for item in items}
    for row in judge_set("oracle"):
        item = by_id[row["sample"]]
        assert row["language"] == item.language
        assert row["kind"] in ("plain", "negation", "double", "edge", *SIGHT)
        assert questions.question(row["question"], [])
        assert not words.leaks(row["question"], [item.key_text])


SIGHT = ("picture", "scene", "either_or", "figurative")
"""Kinds of questions that tell apart what an oracle sees and how it reads."""


def test_the_oracle_set_asks_for_what_each_sight_of_the_oracle_knows() -> None:
    rows = [row for row in judge_set("oracle") if row["kind"] in SIGHT]
    cells = Counter((row["kind"], row["language"], row["label"]) for row in rows)
    assert len(rows) >= 60
    assert len(cells) == len(SIGHT) * 2 * 2
    for row in rows:
        asks = bool(re.search(r"\bor\b|或者", row["question"]))
        assert asks is (row["kind"] == "either_or"), row


def test_near_misses_are_no_guesses_that_judges_are_measured_on(items: tuple[Item, ...]) -> None:
    labelled: dict[str, set[str]] = {}
    for row in judge_set("daeso"):
        labelled.setdefault(row["sample"], set()).add(words.same(row["guess"]))
    for item in items:
        lists = {words.same(text) for text in (*item.accept, *(guess.text for guess in item.reject))}
        near = {words.same(text) for text in item.near}
        assert len(near) >= 2, item.id
        assert not near & (lists | labelled.get(item.id, set()) | {words.same(item.key_text)}), item.id
        for text in item.near:
            assert words.guess(text, item.frame, 8, 16) == text, item.id


CONTRADICTED = {
    "lot-0001": "sauna guests", "lot-0008": "gobstoppers", "lot-0009": "omelette pancake",
    "lot-0014": "dance floor", "lot-0022": "car keys wedding ring earring", "lot-0031": "health inspector",
    "lot-0064": "跳楼机", "lot-0100": "分针",
}  # fmt: skip


def test_guesses_their_explanation_contradicts_are_neither_accepted_nor_rows(items: tuple[Item, ...]) -> None:
    listed = [(item.id, text) for item in items for text in item.accept]
    listed += [(row["sample"], row["guess"]) for row in judge_set("daeso") if not row["contested"]]
    assert [one for one in listed if one[1] in CONTRADICTED.get(one[0], "")] == []


def test_the_goldfish_and_the_dummies_have_a_joke_each(items: tuple[Item, ...]) -> None:
    fish, dummies = (
        {words.same(text) for text in (item.key_text, *item.accept)}
        for item in items
        if item.id in ("lot-0006", "lot-0037")
    )
    assert fish & dummies == set()
    assert not any("show" in text and "fashion" not in text for text in dummies)


@pytest.mark.parametrize("name", ["daeso", "oracle"])
def test_rows_are_labelled_twice_and_split_by_sample(name: str) -> None:
    rows = judge_set(name)
    asked = [(row["sample"], words.same(row.get("guess") or row["question"])) for row in rows]
    assert len(set(asked)) == len(rows)
    splits: dict[str, set[str]] = {}
    for row in rows:
        assert row["label"] == row["labels"][0]
        assert len(row["labels"]) == 2
        assert row["contested"] == (row["labels"][0] != row["labels"][-1])
        splits.setdefault(row["sample"], set()).add(row["split"])
    assert all(len(found) == 1 for found in splits.values())
    shares = Counter(next(iter(found)) for found in splits.values())
    assert set(shares) == {"tune", "test"}
    assert 0.35 <= shares["tune"] / len(splits) <= 0.45


def test_both_splits_have_both_languages_tiers_and_labels(items: tuple[Item, ...]) -> None:
    tiers = {item.id: item.tier for item in items}
    for name in ("daeso", "oracle"):
        cells = {
            (row["split"], row["language"], tiers[row["sample"]], row["label"])
            for row in judge_set(name)
            if not row["contested"]
        }
        assert len(cells) == 2 * 2 * 3 * 2


def test_the_judge_sets_are_large_enough() -> None:
    verdicts = Counter(
        (row["label"], row["difficulty"]) for row in judge_set("daeso") if not row["contested"]
    )
    assert verdicts[True, None] >= 200
    assert verdicts[False, "easy"] + verdicts[False, "hard"] >= 500
    assert min(verdicts[False, "easy"], verdicts[False, "hard"]) >= 200
    questions = Counter(row["label"] for row in judge_set("oracle") if not row["contested"])
    assert questions.total() >= 300
    assert 0.45 <= questions[True] / questions.total() <= 0.55


@pytest.mark.parametrize("name", ["hidden", "different"])
def test_the_judge_sets_of_the_other_arms_are_large_enough_in_both_languages(name: str) -> None:
    rows = [row for row in judge_set(name) if not row["contested"]]
    assert len(rows) >= 200
    for language in LANGUAGES:
        labels = Counter(row["label"] for row in rows if row["language"] == language)
        assert min(labels[True], labels[False]) >= 40


def test_negatives_of_players_keep_one_of_the_criteria_often_enough() -> None:
    negatives = [row for row in judge_set("daeso") if not row["contested"] and not row["label"]]
    assert sum(row.get("why") == "a player's answer" for row in negatives) >= 190
    assert sum("why" in row and row["difficulty"] == "hard" for row in negatives) >= 200
    fails = Counter(row["fails"] for row in negatives if row["difficulty"] == "hard" and "fails" in row)
    assert fails["point"] >= 100
    assert fails["function"] >= 30


@pytest.mark.parametrize("name", ["daeso", "hidden", "different", "oracle"])
def test_the_source_names_the_kappa_of_the_two_labellings(name: str) -> None:
    rows = judge_set(name)
    twice = [row["labels"] for row in rows if len(row["labels"]) == 2]
    kappa = cohen_kappa_score(*zip(*twice, strict=True))
    told = (JUDGE_SETS / "SOURCE.md").read_text(encoding="utf-8")
    [line] = [line for line in told.splitlines() if line.startswith(f"| {name} |")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[1] == str(len(rows))
    assert cells[2] == str(sum(row["contested"] for row in rows))
    assert float(cells[4]) == pytest.approx(kappa, abs=5e-5)


def test_nothing_else_lies_beside_the_samples() -> None:
    assert {path.name for path in Path(FOLDER).iterdir()} == {
        "SOURCE.md",
        "facts.toml",
        "guesses.toml",
        "nouns.toml",
        "images",
        "samples.jsonl",
    }
