"""From the SVG drawings of a data set to the PNG pictures that models see.

The drawing is the source and is kept beside the picture; both have one name. No drawing may hold text,
fonts or foreign pictures: lettering would look different on every machine, and would tell too much.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lotbench.errors import DataError, UsageError

WIDTH = 768
MAX_BYTES = 150_000
PALETTES = ((256, True), (192, True), (128, True), (256, False), (128, False))
"""Colours, and whether they are dithered: a dithered glow does not fall into bands, but compresses worse."""
_FORBIDDEN = re.compile(
    r"<\s*(text|tspan|image|foreignObject|script|style|a)\b|font-|@import|href\s*=\s*[\"'](?!#)"
)


def faults(svg: str) -> list[str]:
    """What in a drawing may not be there."""
    found = sorted({match[0].strip() for match in _FORBIDDEN.finditer(svg)})
    return [f"holds {thing!r}: drawings have no text, fonts, scripts or foreign pictures" for thing in found]


def render(path: Path) -> bytes:
    """A drawing as a PNG of `WIDTH` pixels and at most `MAX_BYTES` bytes, without metadata.

    Raises:
        DataError: The drawing holds what it may not, cannot be drawn, or does not get small enough.
        UsageError: The renderer is not installed.
    """
    for reduced in _reductions(drawn(path)):
        out = io.BytesIO()
        reduced.save(out, "PNG", optimize=True)
        if out.tell() <= MAX_BYTES:
            return out.getvalue()
    raise DataError([f"{path}: larger than {MAX_BYTES:,} bytes even with {PALETTES[-1][0]} colours"])


def drawn(path: Path, width: int = WIDTH) -> Any:
    """A drawing in true colour, `width` pixels wide, as a Pillow image.

    Raises:
        DataError: The drawing holds what it may not, or cannot be drawn.
        UsageError: The renderer is not installed.
    """
    from PIL import Image

    svg = path.read_text(encoding="utf-8")
    if found := faults(svg):
        raise DataError([f"{path}: {fault}" for fault in found])

    try:
        import resvg_py
    except ImportError:
        raise UsageError("drawings need a renderer: pip install 'lotbench[draw]'") from None
    try:
        raw = resvg_py.svg_to_bytes(svg_string=svg, width=width, skip_system_fonts=True)
    except ValueError as error:
        raise DataError([f"{path}: cannot be drawn: {error}"]) from None
    return Image.open(io.BytesIO(raw)).convert("RGB")


def _reductions(picture: Any) -> Iterator[Any]:
    """The picture, and then smaller and smaller versions of it."""
    from PIL import Image

    yield picture
    for colours, dithered in PALETTES:
        plain = picture.quantize(colours, method=Image.Quantize.MEDIANCUT)
        yield picture.quantize(palette=plain, dither=Image.Dither.FLOYDSTEINBERG) if dithered else plain
