"""Data of others in our layout: what is kept, what is skipped and counted, what never leaves the target."""

import json
import os
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from lotbench.benchmarks.standard.oogiri import Ratings, Row
from lotbench.cli import main
from lotbench.errors import DataError, UsageError
from lotbench.storage import datasets
from lotbench.storage.importers import caption_contest, importing, oogiri_go, published
from tests.storage.test_picture_file import bytes_of

HEAD = "target_id,rank,funny,somewhat_funny,unfunny,count,score,precision,contest,caption\n"


def row(**fields: Any) -> dict[str, Any]:
    return {"type": "I2T", "question": None, "image": "5651380", "text": "funny", "star": 5} | fields


def asked(**fields: Any) -> dict[str, Any]:
    return row(**({"type": "T2T", "image": None, "question": "Why?"} | fields))


def go(folder: Path, pictures: dict[str, bytes] | None = None, **languages: list[Any]) -> Path:
    """A folder in the published layout."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for name, rows in languages.items():
        lines = [one if isinstance(one, str) else json.dumps(one) for one in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, content in (pictures if pictures is not None else {"5651380.jpg": bytes_of("JPEG")}).items():
        (folder / "images" / name).write_bytes(content)
    return folder


def bring(source: Path, dest: Path, module: Any = oogiri_go) -> importing.Progress:
    return importing.bring(str(source), module.rows(source, importing.PictureFiles(dest)), dest)


def brought(dest: Path) -> list[Row]:
    return list(datasets.samples(dest, Row))


def test_what_is_skipped_is_counted_by_reason_and_what_is_broken_named_by_line(tmp_path: Path) -> None:
    source = go(
        tmp_path / "go",
        jp=[
            row(),
            asked(question="None"),
            asked(question=None),
            row(text=" "),
            row(image="nowhere"),
            '{"type": "I2T", "ima',
            row(star=-1),
            row(type="T2V"),
            "[1]",
        ],
    )
    done = bring(source, tmp_path / "made")
    assert (done.read, done.imported) == (9, 1)
    assert dict(done.skipped) == {
        "the question is in an image": 1,
        "no question": 1,
        "no response": 1,
        "the picture is not there": 1,
        "broken": 4,
    }
    path = source / "jp.jsonl"
    assert [fault.split(": ")[:2] for fault in done.broken] == [
        [f"{path}:6", "not JSON"],
        [f"{path}:7", "star"],
        [f"{path}:8", "type"],
        [f"{path}:9", "not a JSON object"],
    ]


@pytest.mark.parametrize("stem", ["../evil", "a/b", "..", ".hidden", "nul\0byte", ""])
def test_a_row_cannot_name_a_file_elsewhere(stem: str, tmp_path: Path) -> None:
    done = bring(go(tmp_path / "go", {}, en=[row(image=stem), asked()]), tmp_path / "made")
    assert dict(done.skipped) == {"the picture's name is no file's": 1}
    assert not list((tmp_path / "made").rglob("*.jpg"))


@pytest.mark.parametrize(
    "content", [b"no picture", bytes_of("JPEG")[:200], b"<svg xmlns='http://www.w3.org/2000/svg'/>"]
)
def test_what_is_no_picture_is_skipped(content: bytes, tmp_path: Path) -> None:
    done = bring(go(tmp_path / "go", {"5651380.jpg": content}, en=[row(), asked()]), tmp_path / "made")
    assert dict(done.skipped) == {"the picture cannot be read": 1}


def test_pictures_over_the_limits_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    big = {"big.png": bytes_of("PNG", (40, 30)), "long.png": bytes_of("PNG") + b"0" * 3000}
    source = go(tmp_path / "go", big, en=[row(image="big"), row(image="long"), row(image="big"), asked()])
    monkeypatch.setattr(importing, "MAX_PIXELS", 1000)
    monkeypatch.setattr(importing, "MAX_BYTES", 2000)
    done = bring(source, tmp_path / "made")
    assert dict(done.skipped) == {
        "the picture has more than 1,000 pixels": 2,
        "the picture has more than 2,000 bytes": 1,
    }


def test_no_pipe_among_published_files_is_waited_for(tmp_path: Path) -> None:
    source = go(tmp_path / "go", {}, en=[row(), asked()])
    os.mkfifo(source / "images" / "5651380.jpg")
    assert dict(bring(source, tmp_path / "made").skipped) == {"the picture is not there": 1}
    os.mkfifo(tmp_path / "rows.json")
    file = published.Files(tmp_path / "rows.json")
    for read in (lambda: file.table(set()), lambda: file.items(Mock())):
        with pytest.raises(DataError, match="no regular file"):
            read()


def test_an_archive_of_pictures_has_to_be_unpacked(tmp_path: Path) -> None:
    source = go(tmp_path / "go", {}, en=[row(), asked()])
    (source / "images").rmdir()
    (source / "images.zip").write_bytes(b"PK")
    with pytest.raises(UsageError, match=r"images\.zip: unpack it first"):
        bring(source, tmp_path / "made")


def test_a_folder_with_a_data_set_is_left_alone(tmp_path: Path) -> None:
    source = go(tmp_path / "go", en=[row()])
    bring(source, tmp_path / "made")
    with pytest.raises(UsageError, match="holds a data set already"):
        bring(source, tmp_path / "made")


def test_no_row_at_all_is_an_error_that_names_lines(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"en\.jsonl:2: not JSON"):
        bring(go(tmp_path / "go", en=["{", "}"]), tmp_path / "made")
    with pytest.raises(UsageError, match=r"has none of en\.jsonl, cn\.jsonl, jp\.jsonl"):
        bring(go(tmp_path / "none"), tmp_path / "made")


def contest(folder: Path, rows: str, name: str = "667") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}_summary_KLUCB.csv").write_text(HEAD + rows, encoding="utf-8-sig")
    (folder / f"{name}.jpg").write_bytes(bytes_of("JPEG"))
    return folder


def test_captions_arrive_with_their_votes(tmp_path: Path) -> None:
    rows = '7,1,5,3,2,10,1.3,.1,667,"Two, or ""three""\nlines."\n8,2,0,1,9,10,1.1,.1,667,\n'
    done = bring(contest(tmp_path / "cc", rows), tmp_path / "made", caption_contest)
    assert dict(done.skipped) == {"no caption": 1}
    (one,) = brought(tmp_path / "made")
    assert (one.id, one.group, one.image) == ("cc-667-7", "contest-667", "images/667.jpg")
    assert one.text == 'Two, or "three"\nlines.'
    assert one.ratings == Ratings(unfunny=2, somewhat=3, funny=5)


def test_votes_that_do_not_add_up_are_named_by_line(tmp_path: Path) -> None:
    rows = "7,1,5,3,2,10,1,1,667,fine\n8,2,5,3,2,11,1,1,667,odd\n9,3,many,3,2,11,1,1,667,odd\n"
    done = bring(contest(tmp_path / "cc", rows), tmp_path / "made", caption_contest)
    path = tmp_path / "cc" / "667_summary_KLUCB.csv"
    assert done.broken[0] == f"{path}:3: count: '11', but the votes are 10"
    assert done.broken[1].startswith(f"{path}:4: funny: ")


def test_a_file_that_is_no_summary_and_a_contest_with_two(tmp_path: Path) -> None:
    folder = contest(tmp_path / "cc", "7,1,5,3,2,10,1,1,667,fine\n")
    (folder / "668_summary_X.csv").write_text("rank,caption\n1,a\n")
    with pytest.raises(DataError, match=r"668_summary_X\.csv:1: count: the column is missing"):
        bring(folder, tmp_path / "made", caption_contest)
    (folder / "667_summary_Y.csv").write_text(HEAD)
    with pytest.raises(UsageError, match="contest 667 has several summaries"):
        bring(folder, tmp_path / "other", caption_contest)
    with pytest.raises(UsageError, match="has no contest"):
        bring(tmp_path / "nowhere", tmp_path / "other", caption_contest)


def test_the_command_prints_the_kept_and_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = go(tmp_path / "go", en=[row(star=3), row(star=None), row(text=""), "{"])
    assert main(["data", "import", "oogiri-go", str(source), str(tmp_path / "made")]) == 0
    out = capsys.readouterr().out
    assert "note: " in out and "en.jsonl:4: not JSON" in out
    assert "1  no response" in out and "2 of 4 rows kept" in out
    assert [line.split() for line in out.splitlines()[-3:]] == [
        ["rows", "(with", "votes)", "en", "total"],
        ["I2T", *["2", "(50.00%)"] * 2],
        ["total", *["2", "(50.00%)"] * 2],
    ]
    assert main(["data", "import", "oogiri-go", str(source), str(tmp_path / "made")]) == 2


def test_a_caption_that_comes_twice_is_named_and_the_data_set_can_be_read(tmp_path: Path) -> None:
    rows = "7,1,5,3,2,10,1,1,667,fine\n7,2,5,3,2,10,1,1,667,another\n"
    done = bring(contest(tmp_path / "cc", rows), tmp_path / "made", caption_contest)
    assert done.broken == [f"{tmp_path / 'cc' / '667_summary_KLUCB.csv'}:3: target_id: '7' comes twice"]
    assert [one.text for one in brought(tmp_path / "made")] == ["fine"]


def test_a_cell_no_reader_takes_is_named_by_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "CDID.csv"
    head = "ID,Field,Question,Principle,Challenge,Knowledge Base,Source\n"
    source.write_text(f"{head}1,a,b,c,d,{'x' * 200_000},e\n", encoding="utf-8")
    assert main(["data", "import", "hicbench", str(source), str(tmp_path / "cdid")]) == 2
    assert "CDID.csv:2: field larger than" in capsys.readouterr().err
