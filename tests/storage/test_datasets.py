"""What is read from disk: every fault of a data set by file, line and field; pictures as they are sent."""

import base64
import hashlib
import io
import json
import struct
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from PIL import Image as Pillow
from PIL.PngImagePlugin import PngInfo
from pydantic import BaseModel, ConfigDict

from lotbench.errors import DataError, UsageError
from lotbench.storage import datasets
from lotbench.storage.datasets import Pictures, data_digest, encoded, prompt_files, prompts, samples
from lotbench.storage.pictures import picture_file
from lotbench.types import Image


class Row(BaseModel):
    """As short as an item can be."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    language: str = "en"
    image: str | None = None
    text: str = ""
    number: int = 0


def png(size: tuple[int, int] = (8, 6), colour: str = "teal", mode: str = "RGB", **kwargs: Any) -> bytes:
    out = io.BytesIO()
    Pillow.new(mode, size, colour).save(out, "PNG", **kwargs)
    return out.getvalue()


def put(folder: Path, *rows: Any, pictures: dict[str, bytes] | None = None) -> Path:
    """A data set of these lines: texts and bytes as they are, anything else as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        row if isinstance(row, bytes) else row.encode() if isinstance(row, str) else json.dumps(row).encode()
        for row in rows
    ]
    (folder / "samples.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    for name, content in (pictures or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def faults(folder: Path) -> list[str]:
    with pytest.raises(DataError) as caught:
        samples(folder, Row)
    assert caught.value.exit_code == 2
    return [fault.removeprefix(f"{folder}/") for fault in caught.value.faults]


def test_every_fault_of_every_line_is_told_at_once(tmp_path: Path) -> None:
    folder = put(
        tmp_path,
        {"id": "a"},
        {"id": "b", "number": "many", "colour": "red"},
        '{"id": "c",',
        b'{"id": "\xff"}',
        "[1]",
        {"text": "no id"},
        {"id": "a"},
        "[" * 100_000,
        '{"id": "\\ud83d"}',
    )
    found = faults(folder)
    assert found[0].startswith("samples.jsonl:2: number: Input should be a valid integer")
    assert found[1] == "samples.jsonl:2: colour: Extra inputs are not permitted"
    assert found[2].startswith("samples.jsonl:3: not JSON: ") and "column" in found[2]
    assert found[3] == "samples.jsonl:4: not JSON: invalid unicode code point at column 9"
    assert found[4].startswith("samples.jsonl:5: Input should be")
    assert found[5] == "samples.jsonl:6: id: Field required"
    assert found[6] == "samples.jsonl:7: id: 'a' stands in line 1 already"
    assert found[7].startswith("samples.jsonl:8: not JSON")
    assert found[8] == "samples.jsonl:9: not JSON: unexpected end of hex escape at column 15"
    assert len(found) == 9


def test_a_data_set_without_file_or_samples_is_an_error(tmp_path: Path) -> None:
    assert faults(tmp_path) == ["samples.jsonl: No such file or directory"]
    assert faults(put(tmp_path, "")) == ["samples.jsonl: no samples"]


def huge(width: int, height: int) -> bytes:
    """A PNG of a few bytes that claims to be that large."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0" * 1000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("missing.png", None, "'missing.png' is not there"),
        ("a.png/b.png", None, "'a.png/b.png' is not there"),
        ("text.png", b"not a picture", "'text.png' cannot be read as a picture (UnidentifiedImageError)"),
        ("empty.png", b"", "'empty.png' cannot be read as a picture (UnidentifiedImageError)"),
        ("cut.png", png()[:-20], "'cut.png' cannot be read as a picture"),
        ("flipped.png", png()[:40] + b"\xff" + png()[41:], "'flipped.png' cannot be read as a picture"),
        ("big.png", huge(8000, 8000), "'big.png' has 8000 x 8000 pixels, more than 50,000,000"),
        ("bigger.png", huge(11000, 11000), "'bigger.png' has 11000 x 11000 pixels, more than 50,000,000"),
        ("bomb.png", huge(60000, 60000), "'bomb.png' has more than 50,000,000 pixels"),
        ("folder", None, "'folder' is no regular file"),
        ("../secret.png", None, "'../secret.png' leaves the data set's folder"),
        ("/etc/hostname", None, "'/etc/hostname' leaves the data set's folder"),
        ("link.png", None, "'link.png' leaves the data set's folder"),
        ("nul\0.png", None, "cannot be read as a picture (ValueError)"),
    ],
)
def test_a_bad_picture_is_named_by_line(tmp_path: Path, name: str, content: bytes | None, fault: str) -> None:
    (tmp_path / "secret.png").write_bytes(png())
    given = {} if content is None else {name: content}
    folder = put(tmp_path / "set", {"id": "a"}, {"id": "b", "image": name}, pictures=given)
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "a.png").write_bytes(png())
    (folder / "folder").mkdir()
    (found,) = faults(folder)
    assert found.startswith("samples.jsonl:2: image: ")
    assert fault in found


def opened(sent: bytes) -> Any:
    return Pillow.open(io.BytesIO(sent))


def secrets() -> dict[str, bytes]:
    """Pictures that carry a word beside their pixels, each in another place."""
    text, exif = PngInfo(), Pillow.Exif()
    text.add_text("Comment", "sesame")
    exif[0x010E] = "sesame"
    late = png()
    chunk = b"tEXt" + b"Comment\0sesame"
    chunk = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    jpeg, gif, animated = io.BytesIO(), io.BytesIO(), io.BytesIO()
    picture = Pillow.new("RGB", (8, 6), "teal")
    picture.save(jpeg, "JPEG", exif=exif, comment="sesame", icc_profile=b"sesame" * 30)
    picture.save(gif, "GIF", comment=b"sesame")
    picture.save(animated, "PNG", save_all=True, append_images=[Pillow.new("RGB", (8, 6), "red")])
    return {
        "text": png(pnginfo=text),
        "exif": png(exif=exif),
        "profile": png(icc_profile=b"sesame" * 30),
        "text behind the pixels": late[:-12] + chunk + late[-12:],
        "behind the end": late + b"sesame",
        "jpeg": jpeg.getvalue(),
        "gif": gif.getvalue(),
        "second frame": animated.getvalue(),
    }


@pytest.mark.parametrize("place", secrets())
def test_whatever_is_not_a_pixel_is_left_behind(tmp_path: Path, place: str) -> None:
    (tmp_path / "a.png").write_bytes(secrets()[place])
    sent = encoded(tmp_path / "a.png", 1024)
    assert b"sesame" not in sent
    found = opened(sent)
    found.load()
    assert found.format == "PNG" and found.size == (8, 6)
    assert not {"exif", "icc_profile", "Comment", "comment"} & found.info.keys()
    assert getattr(found, "n_frames", 1) == 1
    assert picture_file.bare(sent)


def test_a_sound_picture_is_checked_again_when_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = put(tmp_path / "set", {"id": "a", "image": "a.png"}, pictures={"a.png": png()})
    monkeypatch.setattr(datasets, "opened", opened := Mock(wraps=datasets.opened))
    assert datasets.picture_faults(folder, "a.png") == datasets.picture_faults(folder, "a.png") == []
    assert opened.call_count == 1
    (folder / "a.png").write_bytes(png()[:-20])
    assert datasets.picture_faults(folder, "a.png") == datasets.picture_faults(folder, "a.png") != []


def test_a_picture_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.png: cannot be read as a picture"):
        encoded(tmp_path / "a.png", 1024)


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "a/\0b"])
def test_a_name_that_no_folder_can_have_is_no_data_set(name: str) -> None:
    with pytest.raises(UsageError, match="data set"):
        datasets.data_folder(name, "oogiri")


def rows(tmp_path: Path, count: int = 3) -> tuple[Path, tuple[Any, ...]]:
    """A data set of which every second sample has a picture, 40 x 20 pixels."""
    shown = {f"{n}.png": png((40, 20), f"#0000{n:02x}") for n in range(0, count, 2)}
    folder = put(
        tmp_path,
        *({"id": str(n), "image": None if n % 2 else f"{n}.png"} for n in range(count)),
        pictures=shown,
    )
    return folder, samples(folder, Row)


def test_pictures_are_found_by_sample_and_sent_by_content(tmp_path: Path) -> None:
    folder, found = rows(tmp_path)
    pictures = Pictures(folder, found, 32)
    assert list(pictures) == ["0", "2"] and len(pictures) == 2 and "1" not in pictures
    image = pictures["0"]
    assert isinstance(image, Image)
    sent = base64.b64decode(pictures.data_url(image.sha256).removeprefix("data:image/png;base64,"))
    assert hashlib.sha256(sent).hexdigest() == image.sha256
    assert sent == pictures.sent_bytes(image.sha256)
    assert opened(sent).size == (32, 16)
    assert pictures.path("0") == folder / "0.png"


def test_a_recorded_picture_lies_in_its_data_set_and_has_a_digest(tmp_path: Path) -> None:
    folder, found = rows(tmp_path / "set")
    (tmp_path / "0.png").write_bytes((folder / "0.png").read_bytes())
    recorded = {"0": Pictures(folder, found, 32)["0"].sha256}
    assert Pictures(folder, found, 32, recorded)["0"].sha256 == recorded["0"]
    outside = [found[0].model_copy(update={"image": "../0.png"})]
    for items, digests in ((found, {}), (outside, recorded)):
        with pytest.raises(DataError, match="not a picture that the run recorded"):
            Pictures(folder, items, 32, digests)["0"]


def test_a_picture_is_in_memory_once_for_all_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of people who play at once, each has a run: 72 of them once had 72 times the pictures, and 1.6 GB."""
    folder, found = rows(tmp_path)
    calls: list[str] = []
    monkeypatch.setattr(
        datasets,
        "encoded",
        lambda path, limit, **kind: calls.append(path.name) or encoded(path, limit, **kind),
    )
    urls = set()
    for _ in range(5):
        pictures = Pictures(folder, found, 32)
        urls |= {id(pictures.data_url(pictures[name].sha256)) for name in ("0", "2")}
    assert sorted(calls) == ["0.png", "2.png"] and len(urls) == 2
    (folder / "0.png").write_bytes(png((31, 9)))
    digest = hashlib.sha256(encoded(folder / "0.png", 32)).hexdigest()
    assert Pictures(folder, found, 32)["0"].sha256 == digest


def test_the_digest_depends_on_what_the_data_are_and_not_on_their_file(tmp_path: Path) -> None:
    def of(folder: Path, limit: int = 1024) -> str:
        found = samples(folder, Row)
        return data_digest(folder, found, Pictures(folder, found, limit))

    shown, one, other = {"a.png": png((40, 20))}, {"id": "a", "image": "a.png", "text": "中"}, {"id": "b"}
    first = of(put(tmp_path / "1", one, other, pictures=shown))
    same = put(
        tmp_path / "2",
        "",
        '  {"text":"\\u4e2d",   "image": "a.png",\t"id":"a", "number": 0}\r',
        {"id": "b", "language": "en"},
        pictures=shown,
    )
    assert of(same) == first

    changed = [
        put(tmp_path / "3", one | {"text": "文"}, other, pictures=shown),
        put(tmp_path / "4", other, one, pictures=shown),
        put(tmp_path / "5", one, pictures=shown),
        put(tmp_path / "6", one, other, pictures={"a.png": png((40, 20), "red")}),
    ]
    assert len({first, *map(of, changed)}) == 5
    assert of(same, 32) != first


def test_prompts_come_from_the_benchmark_or_from_a_folder(tmp_path: Path) -> None:
    theirs = prompts("lotbench")
    for path, text in theirs.files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    assert prompts("lotbench", str(tmp_path)).digest == theirs.digest
    assert set(prompt_files(tmp_path)) == set(theirs.files)
    with pytest.raises(UsageError, match="no prompts"):
        prompts("lotbench", str(tmp_path / "en"))
    (tmp_path / "en" / "respond.txt").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="a prompt cannot be read"):
        prompts("lotbench", str(tmp_path))
    with (tmp_path / "en" / "respond.txt").open("wb") as sparse:
        sparse.truncate(3 * 10**9)
    with pytest.raises(UsageError, match=r"larger than 1,000,000 characters: .*respond"):
        prompts("lotbench", str(tmp_path))


def test_a_photograph_is_sent_as_jpeg_and_a_drawing_as_the_png_that_it_is(tmp_path: Path) -> None:
    photograph = Pillow.effect_noise((600, 400), 60).convert("RGB").resize((900, 600))
    photograph.save(tmp_path / "photo.jpg", quality=95)
    Pillow.new("P", (300, 200), 3).save(tmp_path / "drawing.png")
    items = [SimpleNamespace(id=name, language="en", image=name) for name in ("photo.jpg", "drawing.png")]
    pictures = datasets.Pictures(tmp_path, items, 768)
    sent = {name: pictures.data_url(pictures[name].sha256) for name in ("photo.jpg", "drawing.png")}
    assert sent["photo.jpg"].startswith("data:image/jpeg;base64,/9j/")
    png = encoded(tmp_path / "photo.jpg", 768)
    assert len(png) > 3 * len(pictures.sent_bytes(pictures["photo.jpg"].sha256))
    assert sent["drawing.png"].startswith("data:image/png;base64,")
    assert pictures.sent_bytes(pictures["drawing.png"].sha256) == (tmp_path / "drawing.png").read_bytes()
