"""Runs for other tools: a file a tool, each an exporter from a run folder; nothing of lotbench depends on them.

An exporter writes into a folder, needs no package of the tool, and says what the tool's format cannot hold. A walk that
failed never becomes a number there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from lotbench.errors import UsageError
from lotbench.run.results import Run


@dataclass(frozen=True, slots=True)
class Exported:
    """What an exporter wrote.

    Attributes:
        files: In the order in which they were written.
        left_out: What the tool's format has no place for, a sentence each.
    """

    files: tuple[Path, ...]
    left_out: tuple[str, ...]


Exporter: TypeAlias = Callable[[Run, Path], Awaitable[Exported]]

EXPORTERS: Mapping[str, str] = {
    "every-eval-ever": "every_eval_ever",
    "huggingface": "huggingface",
    "inspect": "inspect_log",
    "otel": "opentelemetry",
}
"""The file of each exporter, by the name that `lotbench export --to` takes."""


async def export(name: str, run: Run, out: Path) -> Exported:
    """Write a run for another tool.

    Args:
        name: The tool's; see EXPORTERS.
        run: A run that has ended.
        out: The folder that is written into; made if it is not there.

    Raises:
        UsageError: There is no such exporter, or the run has no summary yet.
        RunFolderError: The folder cannot be written to.
    """
    if name not in EXPORTERS:
        raise UsageError(f"export --to {name}: there is no such tool; there are: {', '.join(EXPORTERS)}")
    if not run.summary:
        raise UsageError(f"{run.path}: has no summary yet: resume it, or lotbench score {run.path}")
    exporter: Exporter = import_module(f"lotbench.integrations.{EXPORTERS[name]}").export
    out.mkdir(parents=True, exist_ok=True)
    return await exporter(run, out)
