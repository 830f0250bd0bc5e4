"""Rendering of a data set's SVG drawings as the PNG pictures that models see.

The drawing is kept next to the picture under the same name. A drawing may not hold text, fonts or embedded pictures:
text would look different on each machine and could give the answer away.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from lotbench.errors import DataError, UsageError
from lotbench.storage.pictures import picture_file

WIDTH = 768
MAX_BYTES = 150_000
MAX_CHARACTERS = 2_000_000
MAX_DEPTH = 200
MAX_ASPECT = 10
PALETTES = ((256, True), (192, True), (128, True), (256, False), (128, False))
"""Palettes to try in order: number of colours, and whether to dither (no banding, but larger files)."""
_FORBIDDEN = re.compile(
    r"<\s*(text|tspan|image|foreignObject|script|style|a)\b|font-|@import|href\s*=\s*[\"'](?!#)"
)


def faults(svg: str) -> list[str]:
    """Return the faults of a drawing: forbidden content, and a size or nesting that would crash the renderer."""
    tags = sorted({match[0].strip() for match in _FORBIDDEN.finditer(svg)})
    messages = [f"holds {tag!r}: drawings have no text, fonts, scripts or foreign pictures" for tag in tags]
    if len(svg) > MAX_CHARACTERS:
        return [*messages, f"has more than {MAX_CHARACTERS:,} characters"]
    depth = 0
    try:
        for event, element in ElementTree.iterparse(io.BytesIO(svg.encode()), ("start", "end")):
            depth += 1 if event == "start" else -1
            if depth > MAX_DEPTH:
                return [*messages, f"is nested more than {MAX_DEPTH} deep"]
            if depth == 1 and event == "start":
                messages += _shape_faults(element)
    except ElementTree.ParseError as error:
        messages.append(f"is no XML: {error}")
    return messages


def _shape_faults(root: ElementTree.Element) -> list[str]:
    """Return the faults of the size that a drawing declares, which the renderer allocates; [] if there are none."""
    box = re.split(r"[\s,]+", root.get("viewBox", "").strip())
    own = [root.get(name, "").removesuffix("px") for name in ("width", "height")]
    try:
        width, height = map(float, box[2:4] if len(box) == 4 else own)
    except ValueError:
        return ["says neither a viewBox nor a width and a height in pixels"]
    if 0 < width < math.inf and 0 < height < math.inf and 1 / MAX_ASPECT <= width / height <= MAX_ASPECT:
        return []
    return [f"has a shape of {width:g} x {height:g}: no side may be {MAX_ASPECT} times the other"]


def render(path: Path) -> bytes:
    """Return a drawing as a PNG, `WIDTH` pixels wide and at most `MAX_BYTES` bytes large, without metadata.

    Raises:
        DataError: The drawing has faults, cannot be rendered, or does not get small enough.
        UsageError: The renderer is not installed.
    """
    svg = path.read_text(encoding="utf-8")
    if messages := faults(svg):
        raise DataError([f"{path}: {fault}" for fault in messages])
    try:
        import resvg_py
    except ImportError:
        raise UsageError("drawings need a renderer: pip install 'lotbench[draw]'") from None
    try:
        raw = resvg_py.svg_to_bytes(svg_string=svg, width=WIDTH, skip_system_fonts=True)
    except ValueError as error:
        raise DataError([f"{path}: cannot be drawn: {error}"]) from None
    for reduced in _reductions(picture_file.decoded(raw)):
        out = io.BytesIO()
        reduced.save(out, "PNG", optimize=True)
        if out.tell() <= MAX_BYTES:
            return out.getvalue()
    raise DataError([f"{path}: larger than {MAX_BYTES:,} bytes even with {PALETTES[-1][0]} colours"])


def _reductions(picture: Any) -> Iterator[Any]:
    """Yield the picture, and then a version of it for each entry of PALETTES."""
    from PIL import Image

    yield picture
    for colours, dithered in PALETTES:
        plain = picture.quantize(colours, method=Image.Quantize.MEDIANCUT)
        yield picture.quantize(palette=plain, dither=Image.Dither.FLOYDSTEINBERG) if dithered else plain
