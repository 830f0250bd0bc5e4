"""What a data set is, for people and for machines: a card for its repository, and Croissant metadata of its fields.

Neither holds a sample: keys and references on the hub would be in the training data of tomorrow.
"""

from __future__ import annotations

import hashlib
import json
import types
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import BaseModel

from lotbench.edge.files.datasets import samples
from lotbench.edge.files.jsonl import tables
from lotbench.harness.benchmark import Benchmark
from lotbench.report.markdown import plain
from lotbench.types import JSON

FILE = "samples.jsonl"
CONTEXT: dict[str, JSON] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "sc": "https://schema.org/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "jsonPath": "cr:jsonPath",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "repeated": "cr:repeated",
    "source": "cr:source",
    "subField": "cr:subField",
    "equivalentProperty": "cr:equivalentProperty",
    "samplingRate": "cr:samplingRate",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "regex": "cr:regex",
    "replace": "cr:replace",
    "separator": "cr:separator",
    "transform": "cr:transform",
}
"""The terms of Croissant 1.0, as the specification lists them."""
NESTED = "JSON"
"""The type of a field of records, or of lists of lists, which Croissant's reader cannot take out of a line."""
TYPES: Mapping[type, str] = {str: "sc:Text", bool: "sc:Boolean", int: "sc:Integer", float: "sc:Float"}
LICENCES = {"CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/"}
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
        "tags": list(dict.fromkeys(("lotbench", benchmark.name, "creativity", "evaluation", "croissant"))),
        "configs": [{"config_name": "default", "data_files": [{"split": "test", "path": FILE}]}],
    }
    rows = [
        f"| `{name}` | {kind}{' (list)' if many else ''} |"
        for name, kind, many in _fields(items, benchmark.Item)
    ]
    lines = [
        f"---\n{yaml.safe_dump(head, allow_unicode=True, sort_keys=False)}---\n\n# {plain(str(head['pretty_name']))}\n",
        f"{benchmark.about.capitalize()}. {len(items)} samples, for testing only: do not train on them.\n",
        *(f"- {name}: {_told(items, name)}" for name in ("language", "writer", "source", "licence")),
        f"- canary: {_told(items, 'canary')}",
        f"- sha256 of {FILE}: {_sha256(folder / FILE)}",
        "\n| field | type |\n| --- | --- |",
        *rows,
    ]
    return "\n".join(lines) + "\n"


def croissant(folder: Path, benchmark: Benchmark) -> str:
    """The metadata of a data set in Croissant 1.0 (JSON-LD).

    Raises:
        DataError: A sample has a fault.
    """
    items = _rows(folder, benchmark)
    file: dict[str, JSON] = {
        "@type": "cr:FileObject",
        "@id": FILE,
        "name": FILE,
        "contentUrl": FILE,
        "encodingFormat": "application/jsonlines",
        "sha256": _sha256(folder / FILE),
    }
    fields: list[JSON] = [
        {
            "@type": "cr:Field",
            "@id": f"samples/{name}",
            "name": name,
            "dataType": kind,
            **({"repeated": True} if many else {}),
            "source": {"fileObject": {"@id": FILE}, "extract": {"column": name}},
        }
        for name, kind, many in _fields(items, benchmark.Item)
        if kind != NESTED
    ]
    records: dict[str, JSON] = {"@type": "cr:RecordSet", "@id": "samples", "name": "samples", "field": fields}
    table: dict[str, JSON] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": folder.name,
        "description": f"{benchmark.about}. {len(items)} samples, for testing only. Not described: {_nested(items, benchmark)}.",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "license": [LICENCES.get(name, name) for name in _counted(items, "licence")] or ["unknown"],
        "creator": {"@type": "sc:Organization", "name": ", ".join(_counted(items, "source")) or "unknown"},
        "version": f"{benchmark.version}.0.0",
        "inLanguage": sorted(_counted(items, "language")),
        "distribution": [file],
        "recordSet": [records],
    }
    return json.dumps(table, ensure_ascii=False, indent=1) + "\n"


def _nested(items: Sequence[Mapping[str, Any]], benchmark: Benchmark) -> str:
    """The fields that the metadata leaves out."""
    return ", ".join(name for name, kind, _ in _fields(items, benchmark.Item) if kind == NESTED) or "no field"


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


def _fields(rows: Sequence[Mapping[str, Any]], item: type[BaseModel]) -> Iterator[tuple[str, str, bool]]:
    """The fields that samples have: name, type, and whether there are many; the type of what is nested is NESTED."""
    there = {name for row in rows for name in row}
    for name, field in item.model_fields.items():
        if name in there:
            yield name, *_kind(field.annotation)


def _kind(annotation: Any) -> tuple[str, bool]:
    """The type of a field in schema.org's words; of alternatives the first that is not None."""
    origin, inner = get_origin(annotation), [one for one in get_args(annotation) if one is not type(None)]
    if origin in (tuple, list):
        kind, many = _kind(inner[0])
        return (NESTED, False) if many or kind == NESTED else (kind, True)
    if origin is Literal:
        return TYPES[type(inner[0])], False
    if origin in (Annotated, Union, types.UnionType):
        return _kind(inner[0])
    return TYPES.get(annotation, NESTED), False


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
