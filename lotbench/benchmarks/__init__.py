"""The benchmarks, each a folder with the same file names; this is their registry."""

from __future__ import annotations

from importlib import import_module

from lotbench.errors import UsageError
from lotbench.harness.benchmark import Benchmark

NAMES = ("lotbench", "standard", "liveideabench", "hicbench", "rinobench")


def get(name: str) -> Benchmark:
    """The benchmark of that name.

    Raises:
        UsageError: There is none; the message lists those there are.
    """
    if name not in NAMES:
        raise UsageError(f"no benchmark {name!r}; there are: {', '.join(NAMES)}")
    module = import_module(f"lotbench.benchmarks.{name}.task")
    found: Benchmark = module.benchmark
    return found
