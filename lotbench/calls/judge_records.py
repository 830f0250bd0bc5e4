"""Records of judge checks (error rates on labelled rows) in the store, found by all that the verdicts depend on.

A record's file name is the digest of its key: ids and addresses of the models, prompts, settings and data set. A judge
that changes in any of them counts as unchecked. Only the data set may differ: a check on the shipped judge set also
counts for data sets on which the judge was not checked.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lotbench.config.experiment import digest
from lotbench.storage import atomic_write
from lotbench.storage.home import home
from lotbench.storage.jsonl import document

FOLDER = "judge_check"


def place(root: Path | None = None) -> Path:
    """Return the folder of the judge checks in `root`, by default in `home()`."""
    return (root or home()) / "store" / FOLDER


def find(key: Mapping[str, Any], root: Path | None = None) -> dict[str, Any] | None:
    """Return the record of a key; None if it is missing or damaged."""
    return _read_record(_path(key, root))


def every(root: Path | None = None) -> list[dict[str, Any]]:
    """Return all readable records, ordered by file name."""
    records = (_read_record(path) for path in sorted(place(root).glob("*.json")))
    return [record for record in records if record is not None]


def counting(data: str, root: Path | None = None) -> list[dict[str, Any]]:
    """Return the records that count for a data set, which is given by its digest.

    These are checks on this data set, then shipped checks of judges whose verdicts depend on no data set. A judge without a
    check on it is represented by its check on the shipped judge set, with this data set in the key and the mark
    `set.elsewhere`. Labels of people on a run count only for the data set of the run.
    """
    records = every(root)
    here = {digest(record["key"]): record for record in records if record["key"].get("data") == data}
    # Older versions kept a lent check, with its mark, as if it were a check on the data set.
    shipped = [
        each for each in records if each.get("set", {}).get("shipped") and "elsewhere" not in each["set"]
    ]
    lent = {}
    for record in (each for each in shipped if "data" in each["key"]):
        key = {**record["key"], "data": data}
        own = here.get(name := digest(key))
        if not (own and own.get("of") and "elsewhere" not in own["set"]):
            about = {**record["set"], "elsewhere": True}
            lent[name] = {**record, "key": key, "set": about, "field": own["field"] if own else []}
    anywhere = [record for record in shipped if "data" not in record["key"]]
    return [*(record for name, record in here.items() if name not in lent), *lent.values(), *anywhere]


def keep(record: Mapping[str, Any], root: Path | None = None) -> Path:
    """Write a record, replacing the one with the same key, and return its path.

    Raises:
        OSError: The store cannot be written to.
    """
    path = _path(record["key"], root)
    atomic_write.write(path, json.dumps(record, ensure_ascii=False, indent=1) + "\n")
    return path


def _path(key: Mapping[str, Any], root: Path | None) -> Path:
    return place(root) / f"{digest(key)}.json"


def _read_record(path: Path) -> dict[str, Any] | None:
    try:
        record = document(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    usable = isinstance(record, dict) and record.get("schema") == 1 and isinstance(record.get("key"), dict)
    return record if usable else None
