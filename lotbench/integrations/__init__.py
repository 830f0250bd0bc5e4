"""Runs for other tools: a file a tool, each an exporter from a run folder; nothing of lotbench depends on them.

An exporter writes into a folder, needs no package of the tool, and says what the tool's format cannot hold. An episode that
failed never becomes a number there.
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
    """What an exporter wrote.

    Attributes:
        files: In the order in which they were written.
        left_out: What the tool's format has no place for, a sentence each.
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
"""The file of each exporter, by the name that `lotbench export --to` takes."""


def slug(text: str) -> str:
    """Return a text as part of a file name."""
    return _SLUG.sub("-", text).strip("-.") or "unknown"


def played_by(run: Run) -> str:
    """Return the version of lotbench that the run was begun with, which need not be this one."""
    return run.digests.get("code", "unknown")


def canaries(run: Run) -> list[str]:
    """Return the marks against training of the run's samples, whose texts stand in what is exported."""
    return sorted({str(sample["canary"]) for sample in run.samples.values() if sample.get("canary")})


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
    try:
        out.mkdir(parents=True, exist_ok=True)
        result = await exporter(run, out)
    except OSError as error:
        raise UsageError(f"{error.filename or out}: {error.strerror or error}") from None
    names = (run.config.model, *(name for role_models in run.config.roles.values() for name in role_models))
    if any(parse(model).kind == "human" for model in names):
        return replace(result, left_out=(*result.left_out, PEOPLE))
    return result
