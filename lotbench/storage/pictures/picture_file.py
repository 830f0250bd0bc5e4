"""The one door for picture files: only kinds that models are sent, no larger than named, whatever the name says.

A decoder is chosen by a file's content. Pillow knows some forty formats, one of which hands the file to
Ghostscript, so a file called .png could run a program; here are four that decode in process.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lotbench.errors import DataError

FORMATS = {"JPEG": "jpg", "PNG": "png", "GIF": "gif", "WEBP": "webp"}
"""The kinds of picture that are read, each with the suffix of its files."""
MAX_PIXELS = 50_000_000
"""A picture with more is refused: it would be a decompression bomb."""
MAX_BYTES = 100_000_000
"""A picture file with more is refused unread."""
PIXELS = frozenset({b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"sBIT", b"pHYs"})
"""The chunks of a PNG file that say how it looks; others hold text, times, profiles or more pictures."""


class PictureError(ValueError):
    """Why a file is no picture that can be used, as the end of a sentence that names it."""


class TooLargeError(PictureError):
    """A picture that has more pixels than may be decoded."""


@contextmanager
def opened(source: Path | bytes, *, pixels: int = MAX_PIXELS) -> Iterator[Any]:
    """Open a picture as a Pillow image, its pixels not decoded yet; an error of its decoder inside the block becomes ours.

    Args:
        source: The file, or its bytes.
        pixels: The most that it may have.

    Raises:
        TooLargeError: It has more pixels.
        PictureError: It is no regular file, no picture of a known kind, or damaged.
        FileNotFoundError: It is not there.
    """
    from PIL import Image

    raw = source if isinstance(source, bytes) else _read(source)
    try:
        # Pillow warns of large pictures on its own terms; ours are above.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(raw), formats=tuple(FORMATS)) as picture:
                width, height = picture.size
                if width * height > pixels:
                    raise TooLargeError(f"has {width} x {height} pixels, more than {pixels:,}")
                yield picture
    except PictureError:
        raise
    except Image.DecompressionBombError:
        raise TooLargeError(f"has more than {pixels:,} pixels") from None
    except Exception as error:  # noqa: BLE001 - decoders raise whatever they like on hostile bytes
        raise PictureError(f"cannot be read as a picture ({type(error).__name__})") from None


def decoded(source: Path | bytes) -> Any:
    """Return a picture in RGB, its pixels decoded.

    Raises:
        PictureError: See `opened`.
        FileNotFoundError: It is not there.
    """
    with opened(source) as picture:
        return picture.convert("RGB")


JPEG_QUALITY = 90
"""Of a picture that is sent as JPEG: above what a reader of a scene can tell from the original."""


def encoded(path: Path, max_px: int, *, smallest: bool = False) -> bytes:
    """Return a picture as PNG bytes without metadata, upright, scaled down to `max_px` on its longer side.

    Args:
        path: Its file; a PNG that fits and holds nothing else is taken as it is.
        max_px: The longer side at most.
        smallest: Whether a picture that has to be encoded may be JPEG where that is smaller: a photograph is several
            times, a drawing hardly ever.

    Raises:
        DataError: The picture is gone or cannot be read.
    """
    from PIL import Image, ImageOps

    try:
        raw = _read(path)
        with opened(raw) as picture:
            if picture.format == "PNG" and max(picture.size) <= max_px and bare(raw):
                return raw
            upright = ImageOps.exif_transpose(picture)
            small = upright.convert("RGBA" if upright.has_transparency_data else "RGB")
            small.thumbnail((max_px, max_px), Image.Resampling.LANCZOS)
            small.info.clear()
            out = io.BytesIO()
            small.save(out, "PNG", optimize=True)
            other = io.BytesIO()
            if smallest and small.mode == "RGB":
                small.save(other, "JPEG", quality=JPEG_QUALITY, optimize=True)
            return other.getvalue() if 0 < other.tell() < out.tell() else out.getvalue()
    except OSError as error:
        raise DataError([f"{path}: cannot be read as a picture ({type(error).__name__})"]) from None
    except PictureError as error:
        raise DataError([f"{path}: {error}"]) from None


def media_type(raw: bytes) -> str:
    """Return what bytes that `encoded` made are."""
    return "image/jpeg" if raw.startswith(b"\xff\xd8") else "image/png"


def bare(raw: bytes) -> bool:
    """Return whether a PNG file holds nothing but its pixels, to its last byte."""
    place = 8
    while place + 8 <= len(raw):
        kind = raw[place + 4 : place + 8]
        if kind not in PIXELS:
            return False
        place += 12 + int.from_bytes(raw[place : place + 4], "big")
        if kind == b"IEND":
            return place == len(raw)
    return False


def _read(path: Path) -> bytes:
    """Return the bytes of a regular file.

    Raises:
        PictureError: It is none (a pipe would wait for ever), or too large.
        FileNotFoundError: It is not there.
    """
    if path.exists() and not path.is_file():
        raise PictureError("is no regular file")
    if path.stat().st_size > MAX_BYTES:
        raise PictureError(f"has more than {MAX_BYTES:,} bytes")
    return path.read_bytes()
