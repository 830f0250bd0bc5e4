"""The sample, row by row: what it holds, what is derived from it, and what is refused with file, line and field."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

from lotbench.benchmarks.lotbench.sample import Item
from lotbench.errors import DataError
from lotbench.storage import datasets

GOOD: dict[str, Any] = {
    "id": "lot-0042",
    "language": "en",
    "image": "images/fish.png",
    "caption": "A fish flops on a table.",
    "response": "It rings like an alarm clock every morning.",
    "key_text": "alarm clock",
    "explanation": "It jumps and makes a noise, as the thing by the bed does.",
    "clues": ["It is an object.", "It is loud."],
}


def data_set(folder: Path, *lines: dict[str, Any] | str) -> Path:
    (folder / "images").mkdir(exist_ok=True)
    Pillow.new("RGB", (4, 4)).save(folder / "images/fish.png")
    (folder / "images/broken.png").write_bytes(b"no picture")
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    (folder / "samples.jsonl").write_text(text + "\n", encoding="utf-8")
    return folder


def faults(folder: Path, *lines: dict[str, Any] | str) -> list[str]:
    with pytest.raises(DataError) as caught:
        datasets.samples(data_set(folder, *lines), Item)
    return [fault.removeprefix(f"{folder}/samples.jsonl:") for fault in caught.value.faults]


def test_a_good_sample_is_read_and_its_frame_derived(tmp_path: Path) -> None:
    (item,) = datasets.samples(data_set(tmp_path, GOOD), Item)
    assert item.frame == "It rings like a(n) <MASK> every morning."
    assert item.rebuilt("church bell") == "It rings like an church bell every morning."
    assert item.span == (17, 28)


def test_a_key_text_is_looked_for_in_linear_time_and_the_message_is_short() -> None:
    """A response of 100,000 letters took a minute, and the message a megabyte."""
    started = time.process_time()
    for key in ("o" * 9_000, "o" * 9_000 + "x"):
        with pytest.raises(ValueError, match="key_text") as caught:
            Item(**GOOD | {"response": "o" * 19_999, "key_text": key})
        assert len(str(caught.value)) < 2_000
    assert time.process_time() - started < 0.1


FAULTS: list[tuple[dict[str, Any], str, str]] = [
    ({"key_text": "bell"}, "", "key_text: stands in the response 0 times, not once"),
    ({"key_text": "e"}, "", "key_text: stands in the response 3 times, not once"),
    (
        {"response": "o" * 19_000, "key_text": "o" * 9_000},
        "",
        "more than 3 times, not once: give key_span, [0, 9000] or",
    ),
    ({"response": "o" * 20_001}, "response", "at most 20000 characters"),
    ({"response": "ha haha", "key_text": "ha"}, "", "key_text: stands in the response 3 times"),
    ({"response": "nonono", "key_text": "nono"}, "", "key_text: stands in the response 2 times"),
    ({"key_span": [0, 2]}, "", "key_span: the response does not have the key text there"),
    ({"explanation": " "}, "explanation", "at least 1 character"),
    ({"clues": []}, "clues", "at least 1 item"),
    ({"clues": ["one", " "]}, "clues.1", "at least 1 character"),
    ({"image": "images/none.png"}, "image", "'images/none.png' is not there"),
    ({"image": "images/broken.png"}, "image", "cannot be read as a picture"),
    ({"image": "../fish.png"}, "image", "leaves the data set's folder"),
    ({"language": "fr"}, "language", "'en' or 'zh'"),
    ({"id": "lot 42"}, "id", "pattern"),
    ({"tier": "impossible"}, "tier", "'easy', 'medium' or 'hard'"),
    ({"reject": [{"text": "x", "difficulty": "odd"}]}, "reject.0.difficulty", "'easy' or 'hard'"),
    ({"keytext": "x"}, "keytext", "not permitted"),
]


@pytest.mark.parametrize(("changes", "field", "words"), FAULTS)
def test_a_faulty_sample_is_refused_with_file_line_and_field(
    tmp_path: Path, changes: dict[str, Any], field: str, words: str
) -> None:
    (fault,) = faults(tmp_path, {**GOOD, "id": "lot-0001"}, {**GOOD, **changes})
    assert fault.startswith(f"2: {field}")
    assert words in fault


@pytest.mark.parametrize(
    "missing", ["id", "language", "image", "caption", "response", "explanation", "clues"]
)
def test_every_part_of_a_sample_must_be_there(tmp_path: Path, missing: str) -> None:
    (fault,) = faults(tmp_path, {name: value for name, value in GOOD.items() if name != missing})
    assert fault.startswith(f"1: {missing}: Field required")


def test_an_id_that_stands_twice_is_refused_with_both_lines(tmp_path: Path) -> None:
    assert faults(tmp_path, GOOD, "", GOOD) == ["3: id: 'lot-0042' stands in line 1 already"]


def test_a_key_text_that_stands_twice_is_told_apart_by_an_explicit_span(tmp_path: Path) -> None:
    twice = {"response": "Bell to bell, the bell rings.", "key_text": "bell", "key_span": [18, 22]}
    (item,) = datasets.samples(data_set(tmp_path, {**GOOD, **twice}), Item)
    assert item.frame == "Bell to bell, the <MASK> rings."


def test_all_faults_are_named_at_once_and_a_bad_line_does_not_hide_another(tmp_path: Path) -> None:
    found = faults(
        tmp_path, {**GOOD, "clues": []}, "{not json", {**GOOD, "id": "b", "image": "images/none.png"}
    )
    assert [fault.partition(":")[0] for fault in found] == ["1", "2", "3"]
