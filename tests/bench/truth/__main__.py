"""python -m tests.bench.truth [TABLE ...] [--sims N]: each table of docs/appendix/truth.md, made anew. A few minutes each on one core."""

import argparse
import time
from collections.abc import Callable, Mapping

from tests.bench.truth import coverage, duels, errors, families

TABLES: Mapping[str, tuple[Callable[[int], str], int]] = {
    "coverage": (coverage.coverage, 1000),
    "few-units": (coverage.few_units, 500),
    "families": (families.families, 1000),
    "power": (families.power, 1000),
    "duels": (duels.errors, 4000),
    "duel-power": (duels.power, 2000),
    "near-misses": (errors.near_misses, 1000),
    "failing": (errors.failing, 200),
    "labels": (errors.labels, 300),
    "voters": (errors.voters, 300),
}
"""Each table, and the simulations of a row."""


def main() -> None:
    """Print the tables that are named; all without any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--sims", type=int, help="simulations of a row, for a quick look")
    asked = parser.parse_args()
    for name in asked.tables or TABLES:
        make, sims = TABLES[name]
        started = time.monotonic()
        print(f"## {name}\n\n{make(asked.sims or sims)}\n\n{time.monotonic() - started:.0f} s\n", flush=True)


if __name__ == "__main__":
    main()
