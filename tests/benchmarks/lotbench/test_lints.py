"""Each lint finds what it is for, and leaves alone what only looks like it."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, PngImagePlugin

from lotbench.benchmarks.lotbench import lints
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.cli import main
from lotbench.harness.data_findings import Finding
from lotbench.storage.pictures import picture_facts

EN: dict[str, Any] = {
    "id": "s1",
    "language": "en",
    "image": "s1.png",
    "caption": "A caught fish flops loudly on a table.",
    "response": "What a vibrant alarm clock you have there",
    "key_text": "alarm clock",
    "explanation": "The flopping is loud, so it wakes everybody.",
    "point": {"part": "the flopping fish", "likeness": "it is loud", "effect": "everybody wakes up"},
    "clues": ["It stands by the bed.", "It is loud.", "Most people own such a thing.", "It ends the night."],
    "tier": "easy",
    "leap": "sound",
    "accept": ["ringing phone", "rooster"],
    "reject": [{"text": "drum", "difficulty": "hard"}],
    "source": "tests",
    "licence": "CC0",
}
ZH: dict[str, Any] = EN | {
    "id": "s2",
    "language": "zh",
    "caption": "一条鱼在桌上跳个不停。",
    "response": "今天早上又是它的闹钟把我叫醒",
    "key_text": "闹钟",
    "explanation": "鱼跳得很响，所以像在叫人起床。",
    "point": {"part": "跳个不停的鱼", "likeness": "响声", "effect": "全家都醒了"},
    "clues": ["它放在床边。", "它会响。", "很多人有一个。", "有了它才起床。"],
    "accept": ["公鸡", "手机铃声"],
    "reject": [{"text": "鼓", "difficulty": "hard"}],
}


def item(base: dict[str, Any] = EN, **changed: Any) -> Item:
    return Item.model_validate(base | changed)


def found(*items: Item, metadata: dict[str, tuple[str, ...]] | None = None) -> list[Finding]:
    return lints.lints(items, Settings(), metadata or {})


def places(findings: list[Finding], grave: bool = True) -> list[str]:
    return [finding.field for finding in findings if finding.grave is grave]


@pytest.mark.parametrize(
    ("base", "effect"), [(EN, "the loud fish wakes the whole house"), (ZH, "全家被一阵响声吵醒")]
)
def test_an_effect_that_repeats_the_likeness_is_a_note(base: dict[str, Any], effect: str) -> None:
    point = {**base["point"], "effect": effect}
    other = {"response": "another response", "explanation": "so", "point": point}
    assert places(found(item(base)), grave=False) == []
    assert places(found(item(base, points=[other])), grave=False) == ["points.0.point.effect"]


@pytest.mark.parametrize("base", [EN, ZH])
def test_a_good_sample_has_no_finding(base: dict[str, Any]) -> None:
    assert found(item(base)) == []


@pytest.mark.parametrize(
    ("base", "changed", "field"),
    [
        (EN, {"caption": "A fish flops on a table like alarms."}, "caption"),
        (EN, {"clues": ["It stands by the bed.", "Several clocks."]}, "clues.1"),
        (EN, {"response": "Of all clocks this alarm clock is the worst"}, "response"),
        (EN, {"response": "Alarming: what an alarm clock for a kitchen"}, "response"),
        (ZH, {"caption": "桌上的闹钟旁边有一条鱼。"}, "caption"),
        (ZH, {"clues": ["它像手机闹钟。"]}, "clues.0"),
        (
            ZH,
            {"key_text": "出门遛弯", "response": "每天吃过晚饭都要出门遛弯", "caption": "狗站在门口想遛弯。"},
            "caption",
        ),
        (EN, {"clues": ["Rather like a ringing phone."]}, "clues.0"),
        (ZH, {"clues": ["跟公鸡差不多。"]}, "clues.0"),
        (EN, {"explanation": "The fish is loud. An alarm clock is loud."}, "explanation"),
        (ZH, {"explanation": "鱼很响，闹钟也很响。"}, "explanation"),
        (EN, {"response": "Vibrant alarm clock"}, "response"),
        (ZH, {"response": "好闹钟"}, "response"),
        (EN, {"accept": ["Rooster", "the rooster"]}, "accept.1"),
        (EN, {"accept": ["the alarm-clock"]}, "accept.0"),
        (EN, {"reject": [{"text": "rooster", "difficulty": "easy"}]}, "reject.0"),
        (ZH, {"accept": ["鬧鐘"]}, "accept.0"),
        (EN, {"accept": ["rooster or bell"]}, "accept.0"),
        (
            EN,
            {"reject": [{"text": "a drum that is far too loud for this room", "difficulty": "easy"}]},
            "reject.0",
        ),
    ],
)
def test_a_fault_is_found_in_its_field(base: dict[str, Any], changed: dict[str, Any], field: str) -> None:
    assert field in places(found(item(base, **changed)))


@pytest.mark.parametrize(
    ("base", "changed"),
    [
        # A function word in common, a name within another word, one character in common.
        (EN, {"key_text": "alarm of the clock", "response": "What an alarm of the clock you have there"}),
        (EN, {"clues": ["It locks the door."]}),
        (ZH, {"caption": "一条鱼在钟楼下跳个不停。"}),
        (ZH, {"clues": ["闹心的东西。"]}),
        # A list of numbers keeps its commas, a quotation has marks of its own.
        (ZH, {"caption": "一条鱼在桌上跳了“三”次。"}),
        (EN, {"response": "So here stands my alarm clock"}),
        (ZH, {"response": "我买的好闹钟"}),
        (EN, {"explanation": "It is loud; that is why it wakes us."}),
        (ZH, {"explanation": "鱼很响，难怪全家都醒了。"}),
    ],
)
def test_what_only_looks_like_a_fault_is_none(base: dict[str, Any], changed: dict[str, Any]) -> None:
    assert places(found(item(base, **changed))) == []


def test_what_a_person_must_weigh_is_a_note() -> None:
    findings = found(item(accept=["réveil", "будильник"]))
    assert places(findings) == []
    assert "accept.1" in places(findings, grave=False)


def test_metadata_of_a_picture_is_a_finding() -> None:
    assert found(item(), metadata={"s1": ()}) == []
    assert places(found(item(), metadata={"s1": ("exif",)})) == ["image"]


def test_words_that_say_nothing_may_stand_in_a_long_key_text_and_in_a_clue() -> None:
    long = item(
        response="And then he still has all of you staying, for what a fish can wake",
        key_text="he still has all of you staying",
        clues=["He would have told us: it is loud.", "Who stays all night?"],
    )
    assert [(one.field, one.text) for one in found(long) if one.grave] == [
        ("clues.1", "has the stem 'stay' of the key text 'he still has all of you staying'")
    ]


# Pictures


def picture(colour: str = "white", spot: tuple[int, int] = (10, 10), **more: Any) -> bytes:
    made = Image.new("RGB", (256, 256), colour)
    x, y = spot
    ImageDraw.Draw(made).ellipse((x, y, x + 120, y + 90), fill="black")
    out = io.BytesIO()
    made.save(out, "PNG", **more)
    return out.getvalue()


def test_metadata_of_a_picture_is_seen(tmp_path: Path) -> None:
    told = PngImagePlugin.PngInfo()
    told.add_text("Description", "an alarm clock")
    (tmp_path / "a.png").write_bytes(picture(pnginfo=told))
    (tmp_path / "b.png").write_bytes(picture(dpi=(72, 72)))
    assert picture_facts.entries_of(tmp_path / "a.png") == ("Description",)
    assert picture_facts.entries_of(tmp_path / "b.png") == ()


# The commands


def folder(tmp_path: Path, *rows: dict[str, Any]) -> Path:
    for number, row in enumerate(rows):
        (tmp_path / row["image"]).write_bytes(picture(spot=(10 + 110 * (number % 2), 10 + 90 * (number % 2))))
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (tmp_path / "samples.jsonl").write_text("\n" + text, encoding="utf-8")
    return tmp_path


def test_check_names_file_line_and_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder(tmp_path, EN, ZH | {"image": "s2.png", "explanation": "没有原由。"})
    for command in (["data", "check", str(path)], ["evaluate", "--data", str(path), "--model", "human"]):
        assert main(command) == 2
        assert f"{path / 'samples.jsonl'}:3: explanation: names no cause" in capsys.readouterr().err


def test_notes_are_printed_and_are_no_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder(tmp_path, EN | {"accept": ["будильник"]})
    assert main(["data", "check", str(path)]) == 0
    assert f"note: {path / 'samples.jsonl'}:2: accept.0: 'будильник' is not in" in capsys.readouterr().out
