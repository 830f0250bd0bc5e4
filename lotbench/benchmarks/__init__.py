"""The registry of the benchmarks: those of lotbench and those of installed packages.

Each benchmark of lotbench is a folder; all folders use the same file names. An installed package adds a benchmark by
an entry point in the group `lotbench.benchmarks`: the benchmark's name, and the module whose `benchmark` declares it.
"""

from importlib import import_module, metadata
from pathlib import Path

from lotbench.errors import UsageError, among
from lotbench.harness.benchmark import Benchmark

NAMES = ("lotbench", "standard", "liveideabench", "hicbench", "rinobench")
GROUP = "lotbench.benchmarks"


def names() -> tuple[str, ...]:
    """Return the names of all benchmarks: those of lotbench, then those of installed packages by alphabet."""
    return (*NAMES, *sorted(_installed().keys() - {*NAMES}))


def get(name: str) -> Benchmark:
    """Return the benchmark with this name.

    Raises:
        UsageError: No benchmark has this name; the message lists the names.
    """
    benchmark: Benchmark = import_module(_module(name)).benchmark
    return benchmark


def folder(name: str) -> Path:
    """Return the folder of a benchmark's code and prompts.

    Raises:
        UsageError: No benchmark has this name; the message lists the names.
    """
    return Path(str(import_module(_module(name)).__file__)).parent


def metric_words(name: str) -> dict[str, str]:
    """Return what metrics, roles and settings of a benchmark mean, in plain words, by name; empty without a file metrics.txt."""
    file = folder(name) / "metrics.txt"
    lines = file.read_text("utf-8").splitlines() if file.is_file() else []
    return dict(line.split(": ", 1) for line in lines)


def _module(name: str) -> str:
    if name in NAMES:
        return f"lotbench.benchmarks.{name}.task"
    installed = _installed()
    if name not in installed:
        raise UsageError(f"no benchmark {name!r}{among(name, names())} (a model goes after --model)")
    return installed[name]


def _installed() -> dict[str, str]:
    return {entry.name: entry.value for entry in metadata.entry_points(group=GROUP)}
