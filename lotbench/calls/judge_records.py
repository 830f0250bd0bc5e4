"""The judge checks in the store: how well a model judged, by what its verdicts depend on.

A record's name is the digest of its key (the ids that the models returned and their addresses, prompts, settings, data set), so a
judge that changes in any of them is unchecked until it is checked again. One thing may differ: a judge is checked as
a judge of the benchmark, so what it did on the shipped judge set counts for every data set on which it was not checked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lotbench.config.experiment import digest
from lotbench.errors import RunFolderError
from lotbench.storage import atomic_write
from lotbench.storage.home import home
from lotbench.storage.jsonl import document

FOLDER = "judge_check"


def place(root: Path | None = None) -> Path:
    """Return the folder of the judge checks."""
    return (root or home()) / "store" / FOLDER


def find(key: Mapping[str, Any], root: Path | None = None) -> dict[str, Any] | None:
    """Return the record of a key, if there is one that can be read."""
    return _read(_path(key, root))


def every(root: Path | None = None) -> list[dict[str, Any]]:
    """Return all records, in order of their names."""
    records = (_read(path) for path in sorted(place(root).glob("*.json")))
    return [record for record in records if record is not None]


def counting(data: str, root: Path | None = None) -> list[dict[str, Any]]:
    """Return the records that count for a data set, named by its digest: none has another one in its key.

    They are the checks whose verdicts depend on no data set, those on that very one, and, where there is none, those on
    the benchmark's shipped judge set; these say so (`set.elsewhere`). What people labelled of runs stays with the data
    set of the runs.
    """
    records = every(root)
    here = {digest(record["key"]): record for record in records if record["key"].get("data", data) == data}
    lent = {}
    for record in records:
        if "data" not in record["key"]:
            continue
        key = {**record["key"], "data": data}
        own = here.get(name := digest(key))
        if record.get("set", {}).get("shipped") and not (own and own.get("of")):
            about = {**record["set"], "elsewhere": True}
            lent[name] = {**record, "key": key, "set": about, "field": own["field"] if own else []}
    return [*(record for name, record in here.items() if name not in lent), *lent.values()]


def find_counting(key: Mapping[str, Any], root: Path | None = None) -> dict[str, Any] | None:
    """Return the record that counts for a key; see `counting`."""
    return next((record for record in counting(key.get("data", ""), root) if record["key"] == key), None)


def keep(record: Mapping[str, Any], root: Path | None = None) -> Path:
    """Keep a record in the place of the one that has its key; returns its file.

    Raises:
        RunFolderError: The store cannot be written to.
    """
    path = _path(record["key"], root)
    day = datetime.now(UTC).strftime("%Y-%m-%d")  # noqa: TID251 - only this room reads the clock
    try:
        atomic_write.write(path, json.dumps({**record, "kept": day}, ensure_ascii=False, indent=1) + "\n")
    except OSError as error:
        raise RunFolderError(f"{path}: {error.strerror}") from None
    return path


def _path(key: Mapping[str, Any], root: Path | None) -> Path:
    return place(root) / f"{digest(key)}.json"


def _read(path: Path) -> dict[str, Any] | None:
    try:
        record = document(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    usable = isinstance(record, dict) and record.get("schema") == 1 and isinstance(record.get("key"), dict)
    return record if usable else None
