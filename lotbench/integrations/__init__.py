"""Exporters of runs for other tools, one module each; the rest of lotbench does not depend on them.

An exporter writes into a folder, needs no package of the tool, and states what the tool's format cannot hold. Failed
episodes are never exported as numbers.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from lotbench.config.model_names import parse
from lotbench.errors import UsageError
from lotbench.run.loading import Run


@dataclass(frozen=True, slots=True)
class Exported:
    """The result of an export.

    Attributes:
        files: The files in the order of writing.
        left_out: Notes for the user, above all on what the tool's format cannot hold.
    """

    files: tuple[Path, ...]
    left_out: tuple[str, ...]


_SLUG = re.compile(r"[^A-Za-z0-9._-]+")
PEOPLE = "a person played or judged, whose name and words stand in these files: publish them with that person's leave alone"
Exporter: TypeAlias = Callable[[Run, Path], Awaitable[Exported]]

EXPORTERS: Mapping[str, str] = {
    "huggingface": "huggingface",
    "inspect": "inspect_log",
}
"""The module of each exporter, by its name for `lotbench export --to`."""


def slug(text: str) -> str:
    """Return a text with only characters that are safe in a file name; `unknown` if nothing is left."""
    return _SLUG.sub("-", text).strip("-.") or "unknown"


def played_by(run: Run) -> str:
    """Return the version of lotbench with which the run was begun."""
    return run.digests.get("code", "unknown")


def canaries(run: Run) -> list[str]:
    """Return the distinct canary strings of a run's samples, sorted. An export names them, since it holds sample texts."""
    return sorted({str(sample["canary"]) for sample in run.samples.values() if sample.get("canary")})


async def export(name: str, run: Run, out: Path) -> Exported:
    """Write a run for another tool.

    Args:
        name: The name of the exporter; see EXPORTERS.
        run: A finished run.
        out: The folder to write into; it is created if missing.

    Raises:
        UsageError: The exporter is unknown, or the run has no summary.
        OSError: The folder cannot be written to.
        RunFolderError: The run cannot be read.
    """
    if name not in EXPORTERS:
        raise UsageError(f"export --to {name}: there is no such tool; there are: {', '.join(EXPORTERS)}")
    if not run.summary:
        raise UsageError(f"{run.path}: has no summary yet: resume it, or lotbench score {run.path}")
    exporter: Exporter = import_module(f"lotbench.integrations.{EXPORTERS[name]}").export
    result = await exporter(run, out)
    names = (run.config.model, *(name for role_models in run.config.roles.values() for name in role_models))
    if any(parse(model).kind == "human" for model in names):
        return replace(result, left_out=(*result.left_out, PEOPLE))
    return result
