"""The traces of a run, kept in memory as lines and parsed one at a time when they are accessed.

A parsed trace of a long game takes five times the memory of its line, and a run has hundreds or thousands of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from pydantic import TypeAdapter

from lotbench.errors import RunFolderError, file_errors
from lotbench.regular_file import is_file, regular
from lotbench.storage.jsonl import fields, sealed, unsealed
from lotbench.types import RUN_SCHEMA, Trace

LINE = TypeAdapter(Trace)


class Traces(Sequence[Trace]):
    """The traces in a traces.jsonl when it was opened; an incomplete last line is ignored.

    Args:
        file: The traces.jsonl; a missing file counts as empty.
        strict: Whether a damaged line raises; otherwise it is ignored.
        seen: Called with each trace while the file is read, so that it need not be read twice.

    Raises:
        RunFolderError: A line is damaged, or the file cannot be read.
    """

    def __init__(
        self, file: Path, *, strict: bool = True, seen: Callable[[Trace], object] | None = None
    ) -> None:
        self._lines: list[bytes] = []
        self.names: list[tuple[str, int]] = []
        """Sample and repeat of each trace, in the order of the file."""
        if not is_file(file):
            return
        with file_errors(file, RunFolderError), open(file, "rb", opener=regular) as lines:
            self._keep(file, lines, strict, seen or (lambda _: None))

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, at: int) -> Trace: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Trace]: ...
    def __getitem__(self, at: int | slice) -> Trace | Sequence[Trace]:
        if isinstance(at, slice):
            return [LINE.validate_json(line, strict=True) for line in self._lines[at]]
        return LINE.validate_json(self._lines[at], strict=True)

    def lines(self, order: Sequence[tuple[str, int]]) -> Iterator[str]:
        """Return the lines of these episodes (sample, repeat), in this order; leave out episodes that the file lacks."""
        at = {name: number for number, name in enumerate(self.names)}
        return (self._lines[at[name]].decode() for name in order if name in at)

    def _keep(
        self, file: Path, lines: Iterable[bytes], strict: bool, seen: Callable[[Trace], object]
    ) -> None:
        for number, text in enumerate(lines, 1):
            if not text.endswith(b"\n"):
                break
            try:
                read = LINE.validate_json(unsealed(text), strict=True)
                if not all(map(_is_step, read.steps)):
                    raise ValueError("a step of another shape")
            except ValueError:
                if strict:
                    message = f"{file}:{number}: damaged; lotbench resume writes it anew"
                    raise RunFolderError(message) from None
                continue
            self._lines.append(text)
            self.names.append((read.sample, read.repeat))
            seen(read)


def _is_step(step: Mapping[str, Any]) -> bool:
    """Return whether a step, which may be somebody else's, has a name and numbers where it has any."""
    counts = all(isinstance(step.get(name), int | None) for name in ("round", "draw"))
    return (
        counts and isinstance(step.get("step"), str) and isinstance(step.get("seconds"), int | float | None)
    )


def trace_line(trace: Trace) -> str:
    """Return a trace as a line of traces.jsonl, with the version of the format (`schema`) and a checksum."""
    return sealed({"schema": RUN_SCHEMA, **fields(trace)}).decode()
