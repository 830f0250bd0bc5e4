"""Contact sheets: the pictures of a data set with caption, response and key text, nine per page.

A person can look through them for pictures that are hard to understand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lotbench.errors import UsageError
from lotbench.storage.pictures import picture_file

COLUMNS, ROWS = 3, 3
SIDE_PX = 500
GAP_PX = 14
TEXT_PX = 17
PIECES = re.compile(r"[\u2e80-\uffef]\s*|[^\s\u2e80-\uffef]+\s*|\s+")
"""The units of line breaking: words and Chinese characters."""
LINES = 9
"""The maximum number of text lines below a picture."""


def pages(folder: Path, items: Sequence[Any], font: Path | None) -> Iterator[Any]:
    """Yield the pages of a contact sheet, as Pillow images.

    Args:
        folder: The data set's folder.
        items: Its samples; their caption, response and key_text are shown, if they have them.
        font: A font with all characters of the texts; by default Pillow's own, which has Latin letters only.

    Raises:
        UsageError: The font cannot be read.
    """
    from PIL import ImageFont

    try:
        face = ImageFont.truetype(str(font), TEXT_PX) if font else ImageFont.load_default(TEXT_PX)
    except OSError:
        raise UsageError(f"{font}: not a font that can be read") from None
    size = COLUMNS * ROWS
    for start in range(0, len(items), size):
        yield _page(folder, items[start : start + size], face)


def _page(folder: Path, items: Sequence[Any], face: Any) -> Any:
    from PIL import Image, ImageDraw

    height_px = SIDE_PX + LINES * (TEXT_PX + 5) + GAP_PX
    page = Image.new("RGB", (COLUMNS * (SIDE_PX + GAP_PX) + GAP_PX, ROWS * height_px + GAP_PX), "white")
    pen = ImageDraw.Draw(page)
    for place, item in enumerate(items):
        left = GAP_PX + place % COLUMNS * (SIDE_PX + GAP_PX)
        top = GAP_PX + place // COLUMNS * height_px
        if getattr(item, "image", None):
            picture = picture_file.decoded(folder / item.image)
            picture.thumbnail((SIDE_PX, SIDE_PX), Image.Resampling.LANCZOS)
            page.paste(picture, (left, top))
        lines = [line for text in _texts(item) for line in wrapped(text, SIDE_PX, face.getlength)]
        for number, line in enumerate(lines[:LINES]):
            pen.text((left, top + SIDE_PX + 2 + number * (TEXT_PX + 5)), line, "black", font=face)
    return page


def _texts(item: Any) -> list[str]:
    lines = [f"{item.id}  {getattr(item, 'tier', '')}  {getattr(item, 'leap', '')}"]
    fields = (("", "caption"), ("> ", "response"), ("= ", "key_text"))
    return lines + [f"{mark}{getattr(item, name)}" for mark, name in fields if getattr(item, name, None)]


def wrapped(text: str, width_px: float, length: Callable[[str], float]) -> list[str]:
    """Return a text as lines of a maximum width (by `length`, in pixels), broken at spaces and at Chinese characters.

    A word that is wider than the maximum gets a line of its own.
    """
    lines = [""]
    for piece in PIECES.findall(text):
        if lines[-1] and length(f"{lines[-1]}{piece}".rstrip()) > width_px:
            lines.append("")
        lines[-1] += piece
    return [line.strip() for line in lines if line.strip()]
