"""What the engine costs: lotbench beside a bare aiohttp loop, a bare AsyncOpenAI loop and an inspect_ai task.

    python -m tests.bench.engine --out FOLDER      the table
    python -m tests.bench.engine --repeats 1 --flight 20 --latency 0.05

inspect_ai pins other versions of what lotbench needs, so the bench makes it an environment of its own, unless `--inspect`
names the interpreter of one. In FOLDER it keeps that, its data, every measurement as it is made (rows.jsonl) and the tables
so far (table.md): begun again with the same folder and the same code, it goes on.
Every variant makes the same calls, recorded from real games, against the fake server in a process of its
own. Each measurement is a fresh process; variants take turns, because on a shared machine only figures that
were taken side by side can be compared. Medians are printed; a range says how far they can be trusted.
"""

import argparse
import contextlib
import itertools
import json
import subprocess
import sys
import tempfile
import urllib.request
import venv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

from tests.bench.calls import REPEATS
from tests.bench.recording import GUESS, KEY, copies, record
from tests.bench.variants import VARIANTS

INSPECT = ("inspect_ai>=0.3.285", "openai>=3.50,<4")
SHAPES = {20: (60, 15), 100: (150, 8), 300: (300, 6)}
"""Games and rounds by games in flight: as many as keep one measurement below two minutes."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One block of the table: how slow the server is, and how many games are played, how many side by side."""

    latency: float
    flight: int
    games: int
    rounds: int


@dataclass(slots=True)
class Measured:
    """The measurements of one variant at one setting, a list a figure."""

    calls: list[int] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    peak_mb: list[float] = field(default_factory=list)
    in_flight: list[int] = field(default_factory=list)

    @property
    def cpu_ms(self) -> list[float]:
        """CPU of the client for one call, in milliseconds."""
        return [1e3 * cpu / calls for cpu, calls in zip(self.cpu, self.calls, strict=True)]

    @property
    def rate(self) -> list[float]:
        """Calls a second."""
        return [calls / wall for calls, wall in zip(self.calls, self.wall, strict=True)]

    def over_ideal(self, setting: Setting) -> list[float]:
        """Wall time over that of a client that costs nothing."""
        each = setting.latency / setting.flight
        return [wall / (each * calls) for wall, calls in zip(self.wall, self.calls, strict=True)]


@contextlib.contextmanager
def server(latency: float) -> Iterator[str]:
    """The fake server in a process of its own; yields its base URL."""
    command = [sys.executable, "-m", "tests.server", "--latency", str(latency), "--solve", "0"]
    command += ["--guess", GUESS, "--key", KEY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def interpreter(variant: str, given: Path | None, folder: Path) -> str:
    """The Python that runs a variant; inspect_ai's is made where it is wanted first."""
    if variant != "inspect_ai":
        return sys.executable
    if given is not None:
        return str(given)
    made = folder / "inspect" / "bin" / "python"
    if not (made.exists() and subprocess.run([made, "-c", "import inspect_ai"], check=False).returncode == 0):
        venv.create(made.parents[1], with_pip=True, clear=True)
        subprocess.run([made, "-m", "pip", "install", "-qq", *INSPECT], check=True)
    return str(made)


def measure(python: str, variant: str, setting: Setting, folder: Path) -> dict[str, float]:
    """Measure a variant once; returns the figures of `Measured` by name."""
    data, recorded = folder / f"data-{setting.games}", folder / f"scripts-{setting.rounds}.json"
    if not data.exists():
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            copies(Path(scratch), setting.games // REPEATS).rename(data)
            Path(scratch).mkdir()
    if not recorded.exists():
        record(data, setting.rounds, recorded)
    with server(setting.latency) as url, tempfile.TemporaryDirectory(dir=folder) as scratch:
        command = [python, "-m", "tests.bench.variants", variant, "--url", url, "--folder", scratch]
        command += ["--data", str(data), "--scripts", str(recorded), "--games", str(setting.games)]
        command += ["--rounds", str(setting.rounds), "--flight", str(setting.flight)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        with urllib.request.urlopen(f"{url.removesuffix('/v1')}/control/log") as response:
            peak = json.load(response)["peak"]
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found | {"in_flight": peak}


def kept(folder: Path, place: Mapping[str, object], make: Callable[[], dict[str, float]]) -> dict[str, float]:
    """The figures of one measurement, made now unless the folder has them."""
    rows = folder / "rows.jsonl"
    for line in rows.read_text(encoding="ascii").splitlines() if rows.exists() else ():
        if (row := json.loads(line)).items() >= place.items():
            return {name: value for name, value in row.items() if name not in place}
    found = make()
    with rows.open("a", encoding="ascii") as out:
        out.write(json.dumps({**place, **found}) + "\n")
    return found


def block(
    setting: Setting, variants: Sequence[str], repeats: int, folder: Path, inspect: Path | None = None
) -> dict[str, Measured]:
    """Measure every variant at one setting, taking turns, each turn in another order."""
    pythons = {variant: interpreter(variant, inspect, folder) for variant in variants}
    found = {variant: Measured() for variant in variants}
    for turn in range(repeats):
        for place in range(len(variants)):
            variant = variants[(place + turn) % len(variants)]
            make = partial(measure, pythons[variant], variant, setting, folder)
            one = found[variant]
            for name, value in kept(
                folder, asdict(setting) | {"variant": variant, "turn": turn}, make
            ).items():
                getattr(one, name).append(value)
            print(
                f"  {variant:10} {one.cpu_ms[-1]:.2f} ms, {one.rate[-1]:.0f} calls/s",
                file=sys.stderr,
                flush=True,
            )
    return found


def shown(setting: Setting, found: dict[str, Measured]) -> str:
    """A block as a Markdown table; ratios are of medians."""
    lines = [
        f"### {setting.latency * 1e3:.0f} ms, {setting.flight} in flight "
        f"({setting.games} games of {setting.rounds} rounds)",
        "",
        "| variant | calls | CPU ms a call | of openai | wall over ideal | calls/s | of inspect_ai | of aiohttp "
        "| most in flight | peak MB |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for variant, one in found.items():
        cells = [
            variant,
            f"{median(one.calls):.0f}",
            _spread(one.cpu_ms, 2),
            _ratio(one.cpu_ms, found.get("openai"), "cpu_ms"),
            f"{median(one.over_ideal(setting)):.2f}",
            _spread(one.rate, 0),
            _ratio(one.rate, found.get("inspect_ai"), "rate"),
            _ratio(one.rate, found.get("aiohttp"), "rate"),
            f"{median(one.in_flight):.0f}",
            f"{median(one.peak_mb):.0f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _spread(values: Sequence[float], digits: int) -> str:
    middle = f"{median(values):.{digits}f}"
    if len(values) == 1:
        return middle
    return f"{middle} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def _ratio(values: Sequence[float], other: Measured | None, name: str) -> str:
    return f"{median(values) / median(getattr(other, name)):.2f}" if other else ""


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--latency", nargs="+", type=float, default=[0.05, 0.2])
    parser.add_argument("--flight", nargs="+", type=int, choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--inspect", type=Path, metavar="PYTHON", help="of an environment with inspect_ai and openai"
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where all is kept, to go on with")
    options = parser.parse_args()
    with contextlib.nullcontext(options.out) if options.out else tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        folder.mkdir(parents=True, exist_ok=True)
        said = []
        for told in _tables(options, folder):
            print(told, flush=True)
            said.append(told)
            (folder / "table.md").write_text("\n".join(said), encoding="utf-8")


def _tables(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    """The tables, each when it is measured."""
    for latency, flight in itertools.product(options.latency, options.flight):
        setting = Setting(latency, flight, *SHAPES[flight])
        yield shown(setting, block(setting, options.variants, options.repeats, folder, options.inspect))


if __name__ == "__main__":
    main()
