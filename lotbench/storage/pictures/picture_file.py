"""Reading and encoding of picture files, with limits on format and size. All picture files are opened here.

The decoder is chosen by content, not by file name. Pillow knows some forty formats, and one of them passes the file to
Ghostscript; only four formats that are decoded in process are allowed.
"""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lotbench.errors import DataError

FORMATS = {"JPEG": "jpg", "PNG": "png", "GIF": "gif", "WEBP": "webp"}
"""The allowed formats, each with its file suffix."""
MAX_PIXELS = 50_000_000
"""The maximum number of pixels; a larger picture is refused as a decompression bomb."""
MAX_SCANNED = 20 * MAX_PIXELS
"""The maximum number of pixels in all scans of a JPEG; it has ten or so."""
MAX_PARTS = 50_000
"""The maximum number of data chunks of a PNG, or comments of a JPEG."""
MAX_BYTES = 32_000_000
"""The maximum size of a picture file; a larger file is refused unread."""
PIXELS = frozenset({b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"sBIT", b"pHYs"})
"""The chunks of a PNG file that determine the picture; others hold texts, times, profiles or further pictures."""


class PictureError(ValueError):
    """A picture cannot be used; the message continues a sentence that begins with the file name."""


class TooLargeError(PictureError):
    """A picture has too many pixels."""


@contextmanager
def opened(source: Path | bytes, *, pixels: int = MAX_PIXELS) -> Iterator[Any]:
    """Open a picture as a Pillow image without decoding its pixels; decoder errors in the block become PictureError.

    Args:
        source: The file, or its bytes.
        pixels: The maximum number of pixels.

    Raises:
        TooLargeError: It has more pixels.
        PictureError: It is not a regular file, not of an allowed format, or damaged.
        FileNotFoundError: There is no such file.
    """
    from PIL import Image

    raw = source if isinstance(source, bytes) else _read_bytes(source)
    # Pillow goes through the chunks of a PNG and the comments of a JPEG one by one.
    if raw.count(b"IDAT") + raw.count(b"\xff\xfe") > MAX_PARTS:
        raise PictureError(f"has more than {MAX_PARTS:,} parts")
    file = io.BytesIO(raw)
    try:
        # Pillow warns of large pictures at limits of its own.
        with warnings.catch_warnings(action="ignore"), Image.open(file, formats=tuple(FORMATS)) as picture:
            width, height = picture.size
            if width * height > pixels:
                raise TooLargeError(f"has {width} x {height} pixels, more than {pixels:,}")
            # A progressive JPEG decodes all its pixels once a scan.
            scans = raw.count(b"\xff\xda") if picture.format == "JPEG" else 1
            if scans * width * height > MAX_SCANNED:
                raise TooLargeError(f"has {scans} scans of {width} x {height} pixels")
            yield picture
    except PictureError:
        raise
    except Image.DecompressionBombError:
        raise TooLargeError(f"has more than {pixels:,} pixels") from None
    except Exception as error:  # noqa: BLE001 - decoders raise whatever they like on hostile bytes
        raise PictureError(f"cannot be read as a picture ({type(error).__name__})") from None


def decoded(source: Path | bytes) -> Any:
    """Return a picture as a decoded RGB image; raises PictureError and FileNotFoundError as `opened` does."""
    with opened(source) as picture:
        return picture.convert("RGB")


JPEG_QUALITY = 90
"""Quality of JPEG encoding; at this value the loss is not visible in a scene."""


def encoded(path: Path, max_px: int, *, smallest: bool = False) -> bytes:
    """Return a picture as PNG bytes, upright, without metadata, scaled down to `max_px` on its longer side.

    Args:
        path: The picture file; a small enough PNG without metadata is returned unchanged.
        max_px: The maximum of the longer side, in pixels.
        smallest: Whether to return a JPEG instead where that is smaller, as for photographs.

    Raises:
        DataError: The picture is missing or cannot be read.
    """
    from PIL import Image, ImageOps

    try:
        raw = _read_bytes(path)
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
    """Return the media type of bytes that `encoded` returned."""
    return "image/jpeg" if raw.startswith(b"\xff\xd8") else "image/png"


def bare(raw: bytes) -> bool:
    """Return whether a PNG file holds only its picture: chunks of the kinds in `PIXELS`, and no bytes after the end."""
    place = 8
    while place + 8 <= len(raw):
        kind = raw[place + 4 : place + 8]
        if kind not in PIXELS:
            return False
        place += 12 + int.from_bytes(raw[place : place + 4], "big")
        if kind == b"IEND":
            return place == len(raw)
    return False


def _read_bytes(path: Path) -> bytes:
    """Return the bytes of a regular file.

    Raises:
        PictureError: It is not a regular file (reading a pipe would block), or too large.
        FileNotFoundError: There is no such file.
    """
    if path.exists() and not path.is_file():
        raise PictureError("is no regular file")
    if path.stat().st_size > MAX_BYTES:
        raise PictureError(f"has more than {MAX_BYTES:,} bytes")
    return path.read_bytes()
