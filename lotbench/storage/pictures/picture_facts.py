"""The metadata in a data set's pictures, for `data check`."""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from lotbench.harness.data_findings import Finding
from lotbench.storage.pictures import picture_file
from lotbench.types import Sample

_NO_METADATA = {"gamma", "srgb", "transparency", "interlace", "dpi", "aspect", "chromaticity", "jfif",
                "jfif_version", "jfif_unit", "jfif_density", "progressive", "progression", "adobe",
                "adobe_transform", "background", "version", "duration", "loop", "extension"}  # fmt: skip


def metadata(folder: Path, items: Iterable[Sample]) -> tuple[dict[str, tuple[str, ...]], list[Finding]]:
    """Return the metadata entries in each sample's picture, by sample id, and findings.

    They are pictures that are broken, and those that another file has too.
    """
    entries: dict[str, tuple[str, ...]] = {}
    findings: list[Finding] = []
    names: dict[bytes, str] = {}
    for item in items:
        if item.image:
            try:
                entries[item.id] = entries_of(folder / item.image)
                first = names.setdefault(sha256((folder / item.image).read_bytes()).digest(), item.image)
                if first != item.image:
                    text = (
                        f"is the picture {first} under another name, and counts as another one in intervals"
                    )
                    findings.append(Finding(item.id, "image", text, grave=False))
            except (OSError, picture_file.PictureError) as error:
                findings.append(Finding(item.id, "image", str(error)))
    return entries, findings


def entries_of(path: Path) -> tuple[str, ...]:
    """Return the names of the metadata entries in one picture.

    Raises:
        PictureError: It cannot be decoded.
        OSError: The file is missing or cannot be read.
    """
    with picture_file.opened(path) as opened:
        opened.load()
        return tuple(sorted(str(name) for name in opened.info if name not in _NO_METADATA))
