"""Commands on data sets, and the installation of the embedded model."""

from __future__ import annotations

import argparse
from pathlib import Path

from lotbench import benchmarks, config
from lotbench.edge import disk
from lotbench.errors import DataError


def listing(parsed: argparse.Namespace) -> int:
    """Carry out `lotbench data list`."""
    for path in sorted(disk.shipped("data").glob("*/samples.jsonl")):
        lines = path.read_text(encoding="utf-8").splitlines()
        print(f"{path.parent.name:14} {len(lines):5} samples  {path.parent}")
    return 0


def check(parsed: argparse.Namespace) -> int:
    """Carry out `lotbench data check`."""
    declared = benchmarks.get(parsed.benchmark)
    asked = config.load(None, [pair if "." in pair else f"settings.{pair}" for pair in parsed.sets])
    settings = declared.resolve(
        config.validate(declared.Settings, asked.experiment.settings, prefix="settings."), {"judge": 1}
    )
    folder = Path(parsed.path)
    items = disk.samples(folder, declared.Item)
    if faults := list(declared.faults(items, settings)):
        raise DataError([f"{folder / 'samples.jsonl'}: {fault}" for fault in faults])
    print(f"{folder}: {len(items)} samples, no faults")
    return 0


def render(parsed: argparse.Namespace) -> int:
    """Carry out `lotbench data render`."""
    from lotbench.edge.draw import render as drawn

    drawings = sorted(Path(parsed.path).glob("**/*.svg"))
    for path in drawings:
        path.with_suffix(".png").write_bytes(drawn(path))
    print(f"{parsed.path}: {len(drawings)} drawings rendered")
    return 0


def install_local(parsed: argparse.Namespace) -> int:
    """Carry out `lotbench local install`."""
    from lotbench.edge.local import install

    install()
    print("the embedded model is installed: lotbench evaluate --config try")
    return 0
