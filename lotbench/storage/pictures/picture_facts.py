"""Facts about a data set's pictures for `data check`: a perceptual hash, to find near-duplicates, and metadata."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from lotbench.harness.data_findings import Finding, Sight
from lotbench.storage.pictures import picture_file
from lotbench.types import Sample

SIDE = 16
"""The rows of a difference hash, and the bits of each row."""
_NO_METADATA = {"gamma", "srgb", "transparency", "interlace", "dpi", "aspect", "chromaticity", "jfif",
                "jfif_version", "jfif_unit", "jfif_density", "progressive", "progression", "adobe",
                "adobe_transform", "background", "version", "duration", "loop", "extension"}  # fmt: skip


def sights(folder: Path, items: Iterable[Sample]) -> tuple[dict[str, Sight], list[Finding]]:
    """Return hash and metadata of each sample's picture, by sample id, and a finding for each picture that is broken."""
    seen: dict[str, Sight] = {}
    broken: list[Finding] = []
    for item in items:
        if item.image:
            try:
                seen[item.id] = sight(folder / item.image)
            except (OSError, picture_file.PictureError) as error:
                broken.append(Finding(item.id, "image", str(error)))
    return seen, broken


def sight(path: Path) -> Sight:
    """Return the hash and metadata of one picture.

    Raises:
        PictureError: It cannot be decoded.
        OSError: The file is missing or cannot be read.
    """
    with picture_file.opened(path) as opened:
        metadata = tuple(sorted(str(name) for name in opened.info if name not in _NO_METADATA))
        return Sight(difference_hash(opened.convert("RGB")), metadata)


def difference_hash(picture: Any) -> int:
    """Return the difference hash (dHash) of a picture, 256 bits: bit 1 where a patch is brighter than that on its left.

    The picture is reduced to 16 rows of 17 patches.
    """
    from PIL import Image

    small = np.asarray(picture.convert("L").resize((SIDE + 1, SIDE), Image.Resampling.BOX))
    return int.from_bytes(np.packbits(small[:, 1:] > small[:, :-1]).tobytes(), "big")
