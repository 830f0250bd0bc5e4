"""One door for pictures: what a file is called decides nothing, and no file can hold up or end a command."""

import io
import json
import os
import shutil
from pathlib import Path

import pytest
from PIL import Image

from lotbench.cli import main
from lotbench.errors import DataError
from lotbench.storage import datasets
from lotbench.storage.pictures import picture_file
from lotbench.storage.pictures.picture_file import PictureError, decoded, encoded, opened

EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n%%EOF\n"


def bytes_of(kind: str, size: tuple[int, int] = (8, 6)) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, "teal").save(out, kind)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP"])
def test_the_kinds_that_models_are_sent_are_read_under_any_name(kind: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(bytes_of(kind))
    assert decoded(tmp_path / "a.txt").size == (8, 6)


@pytest.mark.parametrize(
    "content", [EPS, bytes_of("BMP"), bytes_of("TIFF"), bytes_of("PDF"), b"", b"\0" * 99]
)
def test_no_other_decoder_is_reached(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An EPS file goes to Ghostscript, which is a program: it must not even be identified."""
    from PIL import EpsImagePlugin

    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", lambda *args, **more: pytest.fail("Ghostscript ran"))
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.png: cannot be read as a picture"):
        encoded(tmp_path / "a.png", 64)
    with pytest.raises(PictureError):
        decoded(content)


def test_a_picture_with_too_many_pixels_is_refused_before_it_is_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.png").write_bytes(bytes_of("PNG", (2000, 1000)))
    with (
        pytest.raises(PictureError, match="2000 x 1000 pixels, more than 1,000,000"),
        opened(tmp_path / "a.png", pixels=1_000_000),
    ):
        pytest.fail("it was opened")
    # 267 kB took 40 s: a progressive JPEG can say all its pixels a thousand times.
    out = io.BytesIO()
    Image.new("RGB", (8, 6)).save(out, "JPEG", progressive=True)
    monkeypatch.setattr(picture_file, "MAX_SCANNED", 100)
    with pytest.raises(PictureError, match="has 10 scans of 8 x 6 pixels"):
        decoded(out.getvalue())
    with pytest.raises(PictureError, match="more than 50,000 parts"):
        decoded(bytes_of("PNG") + b"\0\0\0\0IDAT" * 50_000)
    monkeypatch.setattr(picture_file, "MAX_BYTES", 100)
    with pytest.raises(DataError, match="more than 100 bytes"):
        encoded(tmp_path / "a.png", 64)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.png")
    with pytest.raises(DataError, match="is no regular file"):
        encoded(tmp_path / "a.png", 64)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A shipped sample with its picture and its drawing, as a data set."""
    source, folder = datasets.shipped("data", "lotbench_easy"), tmp_path / "set"
    line = (source / "samples.jsonl").read_text(encoding="utf-8").splitlines()[0]
    image = source / json.loads(line)["image"]
    (folder / "images").mkdir(parents=True)
    (folder / "samples.jsonl").write_text(line + "\n", encoding="utf-8")
    for file in (image, image.with_suffix(".svg")):
        shutil.copy(file, folder / "images")
    return folder


def test_data_check_names_a_picture_that_ends_early(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (image,) = (data / "images").glob("*.png")
    jpeg = io.BytesIO()
    Image.open(image).convert("RGB").save(jpeg, "JPEG")
    image.write_bytes(jpeg.getvalue()[: len(jpeg.getvalue()) // 2])
    assert main(["data", "check", str(data)]) == 2
    assert "samples.jsonl:1: image: cannot be read as a picture" in capsys.readouterr().err
