"""What can be seen of a data set's pictures without knowing what they show.

A perceptual hash finds near-duplicates; rendering the drawing again finds a picture that was not rendered
after its drawing was changed. Both see patches, not pixels, so that dithering and another version of the
renderer change nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

from lotbench.edge.pictures import picture_file, render_svg
from lotbench.errors import UsageError
from lotbench.harness.data_findings import Finding, Sight
from lotbench.types import Sample

SIDE = 16
PATCHES = 16
"""Patches a side by which a picture is compared with its drawing."""
SMALL = 256
"""Pixels across at which a drawing is rendered to be compared: a fifth of the time, and patches lose nothing."""
_NO_METADATA = {"gamma", "srgb", "transparency", "interlace", "dpi", "aspect", "chromaticity", "jfif",
                "jfif_version", "jfif_unit", "jfif_density", "progressive", "progression", "adobe",
                "adobe_transform", "background", "version", "duration", "loop", "extension"}  # fmt: skip


def sights(
    folder: Path, items: Iterable[Sample], *, drawings: bool = True
) -> tuple[dict[str, Sight], list[Finding]]:
    """What is seen of every sample's picture, by sample id; and a finding for each that cannot be decoded.

    Args:
        folder: The data set's folder.
        items: Its samples.
        drawings: Whether to render the drawings again (about 0.2 s each).
    """
    seen: dict[str, Sight] = {}
    broken: list[Finding] = []
    for item in items:
        if item.image:
            try:
                seen[item.id] = sight(folder / item.image, drawings=drawings)
            except (OSError, picture_file.PictureError) as error:
                broken.append(Finding(item.id, "image", str(error)))
    return seen, broken


def sight(path: Path, *, drawings: bool = True) -> Sight:
    """What is seen of one picture.

    Raises:
        PictureError: It cannot be decoded, though its head says that it is a picture.
    """
    with picture_file.opened(path) as opened:
        metadata = tuple(sorted(str(name) for name in opened.info if name not in _NO_METADATA))
        picture = opened.convert("RGB")
    drawing = path.with_suffix(".svg")
    if not drawings or not drawing.exists():
        return Sight(difference_hash(picture), metadata)
    try:
        drawn = render_svg.drawn(drawing, SMALL)
    except UsageError as error:
        return Sight(difference_hash(picture), metadata, unseen=f"is not compared with its drawing: {error}")
    return Sight(difference_hash(picture), metadata, apart=apart(picture, drawn))


def difference_hash(picture: Any) -> int:
    """Whether each of 16 x 16 patches is brighter than its left neighbour, as 256 bits (dHash)."""
    from PIL import Image

    small = picture.convert("L").resize((SIDE + 1, SIDE), Image.Resampling.BOX)
    values = list(small.tobytes())
    made = 0
    for row in range(SIDE):
        line = values[row * (SIDE + 1) : (row + 1) * (SIDE + 1)]
        for left, right in pairwise(line):
            made = made << 1 | (right > left)
    return made


def apart(picture: Any, drawn: Any) -> float:
    """The largest difference of any patch of two pictures, 0 to 1; 1 if they have other shapes."""
    from PIL import Image, ImageChops

    if abs(picture.width * drawn.height - picture.height * drawn.width) > picture.width + picture.height:
        return 1.0
    size = (PATCHES, PATCHES)
    one, other = (shown.resize(size, Image.Resampling.BOX) for shown in (picture, drawn))
    return max(ImageChops.difference(one, other).convert("L").tobytes()) / 255
