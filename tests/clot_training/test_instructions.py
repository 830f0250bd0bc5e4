"""Instructions: what each row becomes, that nothing depends on its neighbours, and what helping models add."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from clot_training.config import Config, Instructions, load
from clot_training.data import instructions as step
from clot_training.data import templates
from clot_training.records import Instruction, Work, read_records
from lotbench.benchmarks.standard.oogiri import Ratings, Row, held_out
from lotbench.errors import DataError, UsageError
from tests.leaping import config, data_set, plain, row, split_words


@pytest.fixture(autouse=True)
def untagged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOTBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(step, "content_words", split_words)


def made(run: Config) -> list[Instruction]:
    return list(read_records(Work(Path(run.out)).train, Instruction))


def run_on(folder: Path, rows: Sequence[dict[str, Any]], own: Any = None, **fields: Any) -> tuple[Any, Any]:
    run = config(folder, data_set(folder, rows), **fields)
    return step.make(run, own), made(run)


def picture(number: int, group: str, folder: Path, **fields: Any) -> dict[str, Any]:
    """An I2T row whose picture exists."""
    from PIL import Image

    path = folder / "data" / f"{group}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8), (len(group) * 20 % 255, number % 255, 9)).save(path)
    return row(number, group, type="I2T", question=None, image=path.name, **fields)


def said(one: Instruction) -> str:
    content = one.messages[0]["content"]
    return content if isinstance(content, str) else str(content[-1]["text"])


def options(one: Instruction) -> list[str]:
    return re.findall(r"^[A-Z]\. .*$", said(one), re.MULTILINE)


def test_a_ranking_has_the_order_of_likes(tmp_path: Path) -> None:
    rows = plain()
    _, found = run_on(tmp_path, rows)
    likes = {one["text"]: one["star"] for one in rows}
    rankings = [one for one in found if one.kind == "ranking"]
    for one in rankings:
        shown = options(one)
        letters = one.response.split(" > ")
        assert sorted(letters) == [option[0] for option in shown]
        ranked = [likes[shown[templates.LETTERS.index(letter)][3:]] for letter in letters]
        assert ranked == sorted(ranked, reverse=True)
    assert len({one.response for one in rankings}) > 10


def test_a_ranking_never_mixes_questions_to_one_picture(tmp_path: Path) -> None:
    rows = [picture(n, "same", tmp_path) | {"type": "IT2T", "question": f"what {n % 2}?"} for n in range(12)]
    _, found = run_on(tmp_path, rows, held_out=0.01)
    rankings = [one for one in found if one.kind == "ranking"]
    assert rankings
    assert all(len({int(name[1:]) % 2 for name in one.rows}) == 1 for one in rankings)


def test_rows_without_likes_or_with_equal_ones_are_not_ranked(tmp_path: Path) -> None:
    rows = [row(n, "none", star=None) for n in range(4)] + [row(10 + n, "equal", star=7) for n in range(4)]
    manifest, found = run_on(tmp_path, rows, held_out=0.01)
    assert not [one for one in found if one.kind == "ranking"]
    assert manifest["fewer"] == {"no_preference": 4, "nothing_to_rank": 4}


def rated(name: str, mean: float, votes: int = 100) -> Row:
    funny = round(votes * (mean - 1) / 2)
    ratings = Ratings(unfunny=votes - funny, somewhat=0, funny=funny)
    return Row(id=name, type="T2T", language="en", group="g", question="q?", text=name, ratings=ratings)


def test_ratings_within_two_standard_errors_are_not_told_apart() -> None:
    near, far = rated("a", 1.5), rated("b", 1.52)
    assert not step.differ(near, far, 2.0)
    assert step.differ(near, rated("c", 2.1), 2.0)
    assert step.differ(near, far, 0.0)
    assert not step.differ(rated("d", 2.0, 1), rated("e", 1.0, 1), 2.0), "one vote has no error to be known"
    taken = step.distinct([near, far, rated("c", 2.1), rated("d", 2.6)], Instructions())
    assert [one.id for one in taken] == ["d", "c", "a"]


def test_held_out_rows_are_neither_asked_about_nor_options(tmp_path: Path) -> None:
    rows = plain(groups=60)
    _, found = run_on(tmp_path, rows)
    back = {one["id"]: one["text"] for one in rows if held_out(Row(**one), share=0.05)}
    assert back
    assert not [one for one in found if set(one.rows) & set(back)]
    shown = {option[3:] for one in found for option in options(one)}
    assert not shown & set(back.values())


def test_the_same_run_writes_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    def written(name: str, **fields: Any) -> bytes:
        run = config(tmp_path / name, data_set(tmp_path / name, plain()), **fields)
        step.make(run)
        return Work(Path(run.out)).train.read_bytes()

    assert written("a") == written("b")
    assert written("a") != written("c", seed=1)


def test_the_frozen_configuration_names_the_data_by_digest(tmp_path: Path) -> None:
    from hashlib import sha256

    run = config(tmp_path, data_set(tmp_path, plain()))
    step.make(run)
    frozen = json.loads((Work(Path(run.out)).instructions / "config.json").read_text())
    assert frozen["config"] == run.model_dump(mode="json")
    path = tmp_path / "data" / "samples.jsonl"
    assert frozen["data"] == {str(path.parent): sha256(path.read_bytes()).hexdigest()}


def test_skipped_rows_are_counted_by_reason(tmp_path: Path) -> None:
    rows = [*plain(), row(900, "n", question="None", language="ja"), row(901, "z", language="zh")]
    manifest, _ = run_on(tmp_path, rows, languages=["en", "ja"], held_out=0.001)
    assert manifest["skipped"] == {"no_question": 1, "type_or_language": 1}


def test_an_id_that_stands_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"samples\.jsonl: id 'r1' stands there twice"):
        run_on(tmp_path, [*plain(), row(1, "again")], held_out=0.001)


# Helping models


class Helper:
    """A model in Python: answers by what it is asked, and keeps count."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def __call__(self, messages: Any) -> str:
        text = json.dumps(messages, ensure_ascii=False)
        self.asked.append(text)
        return self.answer(text) if callable(self.answer) else self.answer


def test_a_caption_and_a_rewrite_are_options_of_a_selection(tmp_path: Path) -> None:
    rows = [picture(n, f"p{n // 4}", tmp_path) for n in range(24)]
    sees, rewrites = Helper("A plain square."), Helper("Said in plain words.")
    helping = {"captioner": "python:sees", "rewriter": "python:says", "unrelated": 1}
    own = {"sees": sees, "says": rewrites}
    own = {f"python:{name}": model for name, model in own.items()}
    manifest, found = run_on(tmp_path, rows, own, instructions=helping)
    for one in (one for one in found if one.kind == "selection"):
        texts = {option[3:] for option in options(one)}
        assert {"A plain square.", "Said in plain words."} <= texts
        assert len(texts) == 4
        assert one.response[3:] not in {"A plain square.", "Said in plain words."}
    pictures = {one.image for one in found}
    assert len(sees.asked) == len(pictures)
    assert len(rewrites.asked) == manifest["rows"]
    # A second run takes all of it from the store.
    run_on(tmp_path, rows, own, instructions=helping)
    assert (len(sees.asked), len(rewrites.asked)) == (len(pictures), manifest["rows"])


def test_a_helper_that_says_nothing_costs_an_option_and_is_counted(tmp_path: Path) -> None:
    manifest, found = run_on(
        tmp_path, plain(), {"python:mute": Helper("")}, instructions={"rewriter": "python:mute"}
    )
    assert manifest["fewer"]["rewrite_failed"] == manifest["rows"]
    assert all(len(options(one)) <= 3 for one in found if one.kind == "selection")


def test_unsafe_rows_are_dropped_with_a_recorded_verdict(tmp_path: Path) -> None:
    rows = plain()

    def judge(text: str) -> str:
        if "otter" in text:
            return '{"safe": false, "reason": "otters"}'
        return "maybe" if "piano" in text else '{"safe": true, "reason": "fine"}'

    manifest, found = run_on(
        tmp_path, rows, {"python:judge": Helper(judge)}, instructions={"screener": "python:judge"}
    )
    verdicts = [
        json.loads(line)
        for line in (tmp_path / "out" / "instructions" / "screened.jsonl").read_text().splitlines()
    ]
    texts = {one["id"]: one["text"] for one in rows}
    expected = Counter(
        "unsafe" if "otter" in texts[one["row"]] else "unparsed" if "piano" in texts[one["row"]] else "safe"
        for one in verdicts
    )
    assert Counter(one["verdict"] for one in verdicts) == expected
    assert manifest["skipped"]["unsafe"] == expected["unsafe"] > 0
    assert manifest["skipped"]["unscreened"] == expected["unparsed"] > 0
    assert manifest["rows"] == expected["safe"]
    shown = " ".join(said(one) + one.response for one in found)
    assert "otter" not in shown
    assert "piano" not in shown
    assert manifest["screened"]


# Templates and configuration


def test_the_wordings_of_a_language_are_told_apart() -> None:
    for language, prompts in templates.templates().prompts.items():
        texts = [text for prompt in prompts.values() for text in prompt.sections.values()]
        assert len(set(texts)) == len(texts), language


@pytest.mark.parametrize(
    ("text", "sets", "told"),
    [
        ('model = "m"\nout = "o"\n[explore]\nalhpa = 3\n', [], r"run\.toml: explore\.alhpa: unknown key"),
        ('model = "m"\n', [], r"run\.toml: out: Field required"),
        ('model = "m"\nout = "o"\n', ["explore.beta=80"], "leave no condition"),
        ('model = "m"\nout = "o"\n', ["explore"], "expected key=value"),
        ('model = "https://me:secret@hub/m"\nout = "o"\n', [], "model: a step writes its configuration down"),
        (
            'model = "m"\nout = "o"\n[tune.trainer.model_init_kwargs]\ntoken = "hf_x"\n',
            [],
            r"model_init_kwargs\.token: a step writes its configuration down",
        ),
        ('model = "m"\nout = "o"\n', ["model.x=1"], "model is not a table"),
        ('model = "m"\nout = "o"\n', ["tune.trainer.hub_model_id=[['hf_12345678']]"], "hub_model_id: a step"),
        ('model = "m"\nout = "o"\n', ["tune.trainer.WANDB_API_KEY=x"], "trainer.WANDB_API_KEY: a step"),
    ],
)
def test_a_wrong_configuration_is_refused(tmp_path: Path, text: str, sets: list[str], told: str) -> None:
    path = tmp_path / "run.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=told):
        load(path, sets)
