"""The registry of the benchmarks; each is a folder with the same file names.

The benchmarks of lotbench are named here. An installed package registers one by an entry point in the group
`lotbench.benchmarks`, with the benchmark's name and the module that has its `benchmark`.
"""

from __future__ import annotations

from importlib import import_module, metadata
from pathlib import Path

from lotbench.errors import UsageError, suggestion
from lotbench.harness.benchmark import Benchmark

NAMES = ("lotbench", "standard", "liveideabench", "hicbench", "rinobench")
GROUP = "lotbench.benchmarks"


def names() -> tuple[str, ...]:
    """Return the names of all benchmarks, those of lotbench first."""
    return (*NAMES, *sorted(_installed().keys() - {*NAMES}))


def get(name: str) -> Benchmark:
    """Return the benchmark with this name.

    Raises:
        UsageError: There is none; the message lists the benchmarks.
    """
    benchmark: Benchmark = import_module(_module(name)).benchmark
    return benchmark


def folder(name: str) -> Path:
    """Return the folder of a benchmark's code and prompts.

    Raises:
        UsageError: There is no such benchmark.
    """
    return Path(str(import_module(_module(name)).__file__)).parent


def _module(name: str) -> str:
    if name in NAMES:
        return f"lotbench.benchmarks.{name}.task"
    installed = _installed()
    if name not in installed:
        raise UsageError(f"no benchmark {name!r}; there are: {', '.join(names())}{suggestion(name, names())}")
    return installed[name]


def _installed() -> dict[str, str]:
    return {entry.name: entry.value for entry in metadata.entry_points(group=GROUP)}
