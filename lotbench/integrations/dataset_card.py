"""The card of a data set's repository on the hub, without a sample: keys and references would be in the training data of tomorrow."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from lotbench.edge.files.datasets import samples
from lotbench.edge.files.jsonl import tables
from lotbench.harness.benchmark import Benchmark
from lotbench.report.markdown import plain
from lotbench.types import JSON

FILE = "samples.jsonl"
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))


def card(folder: Path, benchmark: Benchmark) -> str:
    """The card of a data set's repository.

    Raises:
        DataError: A sample has a fault.
    """
    items = _rows(folder, benchmark)
    languages, licences = _counted(items, "language"), _counted(items, "licence")
    head: dict[str, JSON] = {
        "pretty_name": f"{folder.name}: samples of {benchmark.name}",
        "language": sorted(languages),
        "license": [name.lower() for name in licences] or ["unknown"],
        "size_categories": [next((name for most, name in SIZES if len(items) < most), "n>100K")],
        "tags": list(dict.fromkeys(("lotbench", benchmark.name, "creativity", "evaluation"))),
        "configs": [{"config_name": "default", "data_files": [{"split": "test", "path": FILE}]}],
    }
    there = {name for row in items for name in row}
    fields = ", ".join(f"`{name}`" for name in benchmark.Item.model_fields if name in there)
    lines = [
        f"---\n{yaml.safe_dump(head, allow_unicode=True, sort_keys=False)}---\n\n# {plain(str(head['pretty_name']))}\n",
        f"{benchmark.about.capitalize()}. {len(items)} samples, for testing only: do not train on them.\n",
        *(f"- {name}: {_told(items, name)}" for name in ("language", "writer", "source", "licence")),
        f"- canary: {_told(items, 'canary')}",
        f"- sha256 of {FILE}: {_sha256(folder / FILE)}",
        f"- fields: {fields}",
    ]
    return "\n".join(lines) + "\n"


def _rows(folder: Path, benchmark: Benchmark) -> list[dict[str, Any]]:
    """The samples as they are written, all of which must be samples of the benchmark."""
    samples(folder, benchmark.Item)
    return [row for _, row in tables(folder / FILE)]


def _counted(rows: Sequence[Mapping[str, Any]], name: str) -> Counter[str]:
    """How often each value of a field stands there; of a field that samples lack, nothing."""
    return Counter(str(row[name]) for row in rows if row.get(name))


def _told(rows: Sequence[Mapping[str, Any]], name: str) -> str:
    return (
        ", ".join(f"{plain(value)} ({count})" for value, count in _counted(rows, name).most_common())
        or "not said"
    )


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
