"""Throw bytes at every reader of what comes from outside, under atheris (coverage-guided).

    pip install atheris
    python -m tests.bench.fuzz                      every target, 200,000 inputs each
    python -m tests.bench.fuzz reply --runs 1000000

Inputs that reach new code are kept in tests/cases/corpus/TARGET (the smallest of them, at most 40); one that
raises what it should not stops the target and is written to the working folder as crash-*.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

KEPT, LONGEST = 40, 600


def main() -> None:
    """Fuzz the targets one after the other."""
    if sys.argv[1:2] == ["--inside"]:
        _inside(sys.argv[2], sys.argv[3:])
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--runs", type=int, default=200_000)
    parser.add_argument("--seconds", type=int, default=0, help="of each target at most")
    parser.add_argument("--seed", type=int, default=0, help="of the mutations; 0 is another each time")
    options = parser.parse_args()
    from tests.fuzzing import CORPUS, TARGETS

    for target in options.targets or TARGETS:
        with tempfile.TemporaryDirectory() as grown:
            seeds = CORPUS / target
            seeds.mkdir(parents=True, exist_ok=True)
            command = [sys.executable, "-m", "tests.bench.fuzz", "--inside", target, f"-runs={options.runs}"]
            command += [f"-max_total_time={options.seconds}", f"-seed={options.seed}", "-max_len=2048"]
            command += ["-timeout=120", "-verbosity=0", "-print_final_stats=1", grown, str(seeds)]
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            said = [
                line for line in ended.stderr.splitlines() if "number_of_executed" in line or "ERROR" in line
            ]
            print(f"{target}: exit {ended.returncode}; {'; '.join(said)}", flush=True)
            if ended.returncode:
                print(ended.stderr[-3000:])
                continue
            _keep(Path(grown), seeds)


def _inside(target: str, rest: list[str]) -> None:
    import atheris

    with atheris.instrument_imports(include=["lotbench", "tests.fuzzing"]):
        from tests.fuzzing import CORPUS, TARGETS
    for seed in sorted((CORPUS / target).iterdir()):
        # What is imported when it is first wanted is no slow input.
        TARGETS[target](seed.read_bytes())
    atheris.Setup([sys.argv[0], *rest], TARGETS[target])
    atheris.Fuzz()


def _keep(grown: Path, seeds: Path) -> None:
    """Keep the smallest inputs beside the seeds, under the names that the fuzzer gave them."""
    found = sorted((path for path in grown.iterdir()), key=lambda path: (path.stat().st_size, path.name))
    fit = [path for path in found if path.stat().st_size <= LONGEST]
    step = max(1, len(fit) // KEPT)
    for path in fit[::step][:KEPT]:
        (seeds / path.name[:16]).write_bytes(path.read_bytes())


if __name__ == "__main__":
    main()
