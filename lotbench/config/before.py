"""What a record had before one of its fields was added: the value that means "as before".

    tries: int = 3

A run recorded before there was `tries` is read with 1, a run begun today has 3. A field without `Before` is
read with its default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class Before:
    """Metadata of a field (in `Annotated`) that was added later: what older records had, as JSON.

    A field of which nothing depends that is played or judged does not count in digests, whatever it says.
    """

    value: Any
    counts: bool = True


def completed(model: type[BaseModel], table: Mapping[str, Any]) -> dict[str, Any]:
    """A recorded table with every field that was added since as it was before, in nested records too."""
    values = dict(table)
    for name, field in model.model_fields.items():
        marks = [mark for mark in field.metadata if isinstance(mark, Before)]
        if marks:
            values.setdefault(name, marks[0].value)
        if name in values and len(inner := _records(field.annotation)) == 1:
            values[name] = _completed_inside(inner[0], values[name])
    return values


def as_before(record: BaseModel) -> dict[str, Any]:
    """A record as JSON without the fields that were added since and are as they were before, or do not count.

    Its digest is the one that it had before those fields were added.
    """
    values = record.model_dump(mode="json")
    if _marked(type(record)):
        _strip(record, values)
    return values


def _completed_inside(model: type[BaseModel], value: Any) -> Any:
    if isinstance(value, Mapping):
        return value
    return [_completed_inside(model, one) for one in value] if isinstance(value, list) else value


def _strip(record: BaseModel, values: dict[str, Any]) -> None:
    for name, field in type(record).model_fields.items():
        inner = getattr(record, name)
        marks = [mark for mark in field.metadata if isinstance(mark, Before)]
        if any(mark.value == values[name] or not mark.counts for mark in marks):
            del values[name]
        elif isinstance(inner, BaseModel):
            _strip(inner, values[name])
        elif isinstance(inner, tuple | list):
            for one, its_values in zip(inner, values[name], strict=True):
                if isinstance(one, BaseModel):
                    _strip(one, its_values)


@cache
def _marked(model: type[BaseModel]) -> bool:
    """Whether a field of the record, or of one inside it, was added later."""
    return any(
        any(isinstance(mark, Before) for mark in field.metadata)
        or any(_marked(inner) for inner in _records(field.annotation))
        for field in model.model_fields.values()
    )


def _records(annotation: Any) -> list[type[BaseModel]]:
    """The models of the records that a field holds, alone or in a list; those in a mapping are not looked at."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) is dict:
        return []
    return [model for inner in get_args(annotation) for model in _records(inner)]
