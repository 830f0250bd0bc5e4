"""Reading of shipped files, prompt packs, data sets and their pictures.

A data set is a folder with samples.jsonl. Each line is checked while it is read, and all faults are reported together,
with file, line and field. This module never writes to a data set's folder.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from os.path import exists, isfile
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from lotbench import benchmarks
from lotbench.config.experiment import digest
from lotbench.errors import DataError, UsageError, among, at, faults_of, refuse_faults
from lotbench.prompting.prompt import Pack, pack
from lotbench.regular_file import read_text
from lotbench.storage.jsonl import rows, tables
from lotbench.storage.pictures.picture_file import PictureError, encoded, media_type, opened
from lotbench.types import Image, Sample

PACKAGE = Path(__file__).resolve().parents[1]
MOST_PROMPT = 1_000_000
"""The maximum number of characters of a prompt file."""
CACHED = 256
"""How many encoded pictures are cached."""
DIGESTS = 8192
"""How many sound pictures, and digests of encoded ones, are cached."""


def shipped(*parts: str) -> Path:
    """Return the path of a shipped file or folder (`data`, `configs`): in the package, or else at the repository root.

    Raises:
        UsageError: It is in neither place.
    """
    places = [root.joinpath(*parts) for root in (PACKAGE, PACKAGE.parent)]
    for place in places:
        if place.exists():
            return place
    raise UsageError(f"{'/'.join(parts)} does not come with lotbench")


def config_file(argument: str | None) -> Path | None:
    """Return the path of a config file, given by its path or by the name of a shipped one (`try`, `paper/lotbench`).

    Without an argument (None or empty) there is no file: return None.

    Raises:
        UsageError: There is no such file; the message lists the shipped ones.
    """
    if argument is None or Path(argument).exists():
        return Path(argument) if argument else None
    name = argument.removeprefix("configs/").removesuffix(".toml") + ".toml"
    try:
        return shipped("configs", name)
    except UsageError:
        root = shipped("configs")
        packaged = sorted(file.relative_to(root).with_suffix("").as_posix() for file in root.rglob("*.toml"))
        raise UsageError(f"{argument}: no such file{among(argument, packaged)}") from None


def prompts(benchmark: str, folder: str = "") -> Pack:
    """Return the prompt pack in `folder`, or that of the benchmark if `folder` is empty.

    Raises:
        UsageError: The folder is missing, has no prompts, or has a prompt that is not text.
    """
    root = Path(folder) if folder else benchmarks.folder(benchmark) / "prompts"
    files = prompt_files(root)
    if not files:
        raise UsageError(f"{root}: no prompts (LANGUAGE/NAME.txt)")
    return pack(files)


def prompt_files(root: Path) -> dict[str, str]:
    """Return the texts of a prompt pack's files, by their paths relative to the folder `root`.

    Raises:
        UsageError: A file cannot be read or is not text.
    """
    try:
        paths = sorted(root.glob("*/*.txt"))
        return {path.relative_to(root).as_posix(): read_text(path, MOST_PROMPT) for path in paths}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{root}: a prompt cannot be read: {error}") from None


def data_sets() -> list[Path]:
    """Return the folders of the shipped data sets, sorted by name."""
    return sorted(path.parent for path in shipped("data").glob("*/samples.jsonl"))


def is_shipped(folder: Path, items: Sequence[Any]) -> bool:
    """Return whether a data set is a shipped one, or a copy with the same samples; `items` are its samples."""
    if folder.resolve() in [each.resolve() for each in data_sets()]:
        return True
    alike = (each for each in data_sets() if list(lines(each)) == [item.id for item in items])
    return any(samples(each, type(items[0])) == tuple(items) for each in alike)


def data_folder(name: str, benchmark_data: str) -> Path:
    """Return the folder of a data set, by the name of a shipped one or by its path.

    A folder in the working directory does not take the place of a shipped data set of its name; `./NAME` is the folder.

    Args:
        name: The path or name; if empty, `benchmark_data` is taken.
        benchmark_data: The name of the benchmark's own data set.

    Raises:
        UsageError: There is no such data set.
    """
    names = [folder.name for folder in data_sets()]
    if name and name not in names and isfile(Path(name, "samples.jsonl")):
        return Path(name)
    if "/" in name:
        raise UsageError(f"{name}: not a data set (no samples.jsonl)")
    if name and not exists(shipped("data") / name):
        raise UsageError(f"no data set {name!r}{among(name, names)}")
    return shipped("data", name or benchmark_data)


def samples(folder: Path, item: type[BaseModel]) -> tuple[Any, ...]:
    """Return the samples of a data set, in order, as objects of the class `item`.

    Raises:
        DataError: Lines are not valid; the error lists every fault with file, line and field.
    """
    return tuple(read_on(folder, item))


def read_on(folder: Path, item: type[BaseModel]) -> Iterator[Any]:
    """Yield the samples of a data set one at a time, in order, as objects of the class `item`.

    Raises:
        DataError: Lines are not valid; raised after the last line, with every fault.
    """
    path = folder / "samples.jsonl"
    faults: list[str] = []
    seen: dict[str, int] = {}
    for number, table in rows(path, lambda table: table, faults):
        image = table.get("image") if isinstance(table, dict) else None
        if isinstance(image, str) and image:
            faults.extend(at(path, number, "image") + f": {fault}" for fault in picture_faults(folder, image))
        try:
            sample: Any = item.model_validate(table)
        except ValidationError as error:
            faults += faults_of(error, path, number)
            continue
        if sample.id in seen:
            faults.append(f"{at(path, number, 'id')}: {sample.id!r} stands in line {seen[sample.id]} already")
        seen.setdefault(sample.id, number)
        yield sample
    if not seen and not faults:
        faults.append(f"{path}: no samples")
    refuse_faults(faults)


def lines(folder: Path) -> dict[str, int]:
    """Return the line number (from 1) of each sample in a valid data set, by sample id."""
    return {table["id"]: number for number, table in tables(folder / "samples.jsonl")}


def picture_faults(folder: Path, relative: str) -> list[str]:
    """Return the faults of a picture file, which must lie in the data set's folder; [] if there are none."""
    path = folder / relative
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            return [f"{relative!r} leaves the data set's folder"]
        _verify(path, file_stamp(path))
    except (FileNotFoundError, NotADirectoryError):
        return [f"{relative!r} is not there"]
    except PictureError as error:
        return [f"{relative!r} {error}"]
    except (OSError, ValueError) as error:
        return [f"{relative!r} cannot be read as a picture ({type(error).__name__})"]
    return []


@lru_cache(maxsize=DIGESTS)
def _verify(path: Path, stamp: object) -> None:
    """Read a picture file for faults; a sound one is read again only when its stamp has changed."""
    with opened(path) as picture:
        picture.verify()


def inside(path: Path, folder: Path) -> bool:
    """Return whether a path, which may be somebody else's text, leads to a place in a folder."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):
        # A loop of links, or a null character.
        return False


class Pictures(Mapping[str, Image]):
    """The pictures of a data set by sample id, encoded for sending: PNG or a smaller JPEG, no metadata, never upscaled.

    A second picture of a sample has the key `ID/other`.

    Args:
        folder: The data set's folder.
        items: Its samples.
        max_px: The maximum of the longer side, in pixels.
        recorded: The sha256 of each picture by sample id, as a run has recorded it; no other content is sent. A run
            folder from somebody else could name any picture of this machine, so one without a digest is refused.
    """

    def __init__(
        self, folder: Path, items: Sequence[Sample], max_px: int, recorded: Mapping[str, str] | None = None
    ) -> None:
        self._max_px = max_px
        self._folder = folder
        self._recorded = recorded
        self._paths = {item.id: folder / item.image for item in items if item.image}
        # A second picture; most samples have none.
        others = {f"{item.id}/other": getattr(item, "other_image", None) for item in items}
        self._paths |= {name: folder / image for name, image in others.items() if image}
        self._sources: dict[str, Path] = {}
        self._known: dict[Path, Image] = {}
        """The digest of each picture file; several samples may share a file."""

    def __getitem__(self, sample: str) -> Image:
        path = self._paths[sample]
        if self._recorded is not None:
            sha256 = self._recorded.get(sample, "")
            if not sha256 or not inside(path, self._folder):
                raise DataError([f"{path}: is not a picture that the run recorded from its data set"])
            self._sources[sha256] = path
            return Image(sha256)
        if path not in self._known:
            image = Image(_data_url(path, self._max_px, file_stamp(path))[1])
            self._sources[image.sha256] = path
            self._known[path] = image
        return self._known[path]

    def __iter__(self) -> Any:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def sent_bytes(self, sha256: str) -> bytes:
        """Return the encoded bytes of a picture; raises DataError as `data_url` does."""
        return base64.b64decode(self.data_url(sha256).partition(",")[2])

    def data_url(self, sha256: str) -> str:
        """Return the data URL of a picture by the sha256 of its encoded bytes.

        Raises:
            DataError: The file is gone or has changed since the run began.
        """
        path = self._sources[sha256]
        url, picture_sha256 = _data_url(path, self._max_px, file_stamp(path))
        if picture_sha256 != sha256:
            raise DataError([f"{path}: is not the picture that the run began with"])
        return url

    def path(self, sample: str) -> Path:
        """Return the path of a sample's picture file."""
        return self._paths[sample]


def file_stamp(path: Path) -> object:
    """Return what changes if a file changes: its time in nanoseconds, size and number; None for a missing file."""
    with suppress(OSError):
        status = path.stat()
        return status.st_mtime_ns, status.st_size, status.st_ino
    # A missing file is reported by the code that reads it.
    return None


def sent_digest(path: Path, max_px: int) -> str:
    """Return the sha256 of a picture's bytes as a run sends them.

    Raises:
        DataError: The picture is missing or cannot be read.
    """
    return _sent_digest(path, max_px, file_stamp(path))


@lru_cache(maxsize=DIGESTS)
def _sent_digest(path: Path, max_px: int, stamp: object) -> str:
    return _data_url(path, max_px, stamp)[1]


@lru_cache(maxsize=CACHED)
def _data_url(path: Path, max_px: int, stamp: object) -> tuple[str, str]:
    """Return a picture's data URL and the sha256 of its encoded bytes.

    `stamp` (time, size and number of the file) is part of the cache key, so that a changed file is encoded again.
    """
    sent = encoded(path, max_px, smallest=True)
    url = f"data:{media_type(sent)};base64," + base64.b64encode(sent).decode()
    return url, hashlib.sha256(sent).hexdigest()


def data_digest(folder: Path, items: Sequence[Any], pictures: Pictures) -> str:
    """Return the digest of a data set's samples and pictures; the format of samples.jsonl does not change it."""
    return digest(
        [[item.model_dump(mode="json"), getattr(pictures.get(item.id), "sha256", None)] for item in items]
    )
