"""What may be published of a run on held-out samples: its scores, its report and its digests, and no text of a sample."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lotbench.config.experiment import Limits
from lotbench.edge.calls.prices import price
from lotbench.edge.files import atomic_write
from lotbench.errors import RunFolderError, UsageError
from lotbench.report.held_out import finder, long, texts, without_samples
from lotbench.report.report import to_markdown, to_summary
from lotbench.run import results
from lotbench.run.folder_shapes import read_run_json
from lotbench.run.results import Run

_PRIVATE = ("data", "samples", "prompts")
"""Fields of an experiment that say where the samples are, or which."""


@dataclass(frozen=True, slots=True)
class Published:
    """The files that were written, and the digest of the data set that they name."""

    files: tuple[Path, ...]
    digest: str


def publish(run: Run, out: Path) -> Published:
    """Write run.json, summary.json, report.md and report.html of a run without anything that tells a sample.

    Raises:
        UsageError: Something would still tell one.
        RunFolderError: The files cannot be written.
    """
    from lotbench.report.html.run_report import page  # noqa: PLC0415 - drawing takes matplotlib

    made = results.planned(run, Limits())
    prices = {name.text: price(name) for given in made.names.values() for name in given}
    wall_s = run.summary.get("wall_s", 0.0)
    _, report = results.write(run, made, None, wall_s, run.totals(prices))
    samples = list(run.samples.values())
    values = (step.get("value") for trace in run.traces for step in trace.steps)
    said = [value for value in values if isinstance(value, Mapping)]
    tells = finder(texts(samples, said))
    told = without_samples(report, tells)
    table = read_run_json(run.path)
    about: dict[str, Any] = {
        name: table[name] for name in ("schema", "benchmark", "version", "digests") if name in table
    }
    about["experiment"] = {name: value for name, value in table["experiment"].items() if name not in _PRIVATE}
    about["samples"] = {"played": len(samples), "of": table.get("recorded", {}).get("of")}
    files = {
        "run.json": json.dumps(about, indent=2, ensure_ascii=False) + "\n",
        "summary.json": json.dumps(to_summary(told), indent=2, ensure_ascii=False) + "\n",
        "report.md": to_markdown(told),
        "report.html": page(told),
    }
    # Single words stand in any report; whatever is a phrase of a sample stands in none by chance.
    own = finder({one for one in texts(samples) if long(one, 3)} | set(run.samples))
    for name, text in files.items():
        if name != "report.html" and (lines := [line for line in text.splitlines() if own(line)]):
            raise UsageError(f"{name} would tell of a sample: {lines[0][:80]!r}")
    try:
        for name, text in files.items():
            atomic_write.write(out / name, text)
    except OSError as error:
        raise RunFolderError(f"{out}: {error.strerror}") from None
    return Published(tuple(out / name for name in files), str(table["digests"]["data"]))
