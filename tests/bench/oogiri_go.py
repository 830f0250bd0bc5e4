"""An import of 130,000 made-up Oogiri-GO rows: the peak of its memory, and that a killed one goes on.

    python -m tests.bench.oogiri_go [--rows 130000] [--images 2000] [--kill]

Prints rows, seconds and the peak resident memory of the importing process, and of one that imports a hundredth.
With --kill the process is killed (SIGKILL) several times on its way; the result must be the same, to the byte.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from random import Random

from PIL import Image

from lotbench.edge.importers import importing, oogiri_go
from lotbench.errors import LotbenchError

SHARES = {"en.jsonl": 0.13, "cn.jsonl": 0.12, "jp.jsonl": 0.75}


def write(folder: Path, rows: int, images: int) -> None:
    """A data set in the published layout: 22 % without likes, some questions in an image, some broken lines."""
    folder.mkdir(parents=True)
    rng = Random(1)
    with zipfile.ZipFile(folder / "images.zip", "w") as archive:
        for number in range(images):
            out = io.BytesIO()
            Image.new("RGB", (64, 48), (number % 256, number // 256, 90)).save(out, "JPEG")
            archive.writestr(f"images/{5_000_000 + number}.jpg", out.getvalue())
    for file, share in SHARES.items():
        with (folder / file).open("w", encoding="utf-8") as out_file:
            for number in range(round(rows * share)):
                out_file.write(_line(file, number, images, rng) + "\n")


def _line(file: str, number: int, images: int, rng: Random) -> str:
    kind = rng.choices(("I2T", "T2T", "IT2T"), (0.3, 0.5, 0.2))[0]
    if rng.random() < 0.001:
        return '{"type": "I2T", "image": '
    question = None if kind == "I2T" else f"question {rng.randrange(9000)} of {file}?"
    if kind == "T2T" and file == "jp.jsonl" and rng.random() < 0.02:
        question = "None"
    table = {
        "type": kind,
        "question": question,
        "image": None if kind == "T2T" else str(5_000_000 + rng.randrange(images)),
        "text": f"response {number}, " + "and so it goes on " * rng.randrange(4),
        "star": None if rng.random() < 0.22 else int(rng.paretovariate(0.8)) - 1,
    }
    return json.dumps(table)


def bring(source: Path, dest: Path) -> None:
    """Import, and say how much memory that took at its peak."""
    started = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = importing.bring(oogiri_go.source(str(source), importing.Pictures(dest)), dest)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{done.kept:,} of {done.read:,} rows in {time.monotonic() - started:.1f} s; peak memory "
        f"{peak / 1024:.0f} MB, {(peak - before) / 1024:.0f} MB of it since the start; {dict(done.skipped)}"
    )


def child(source: Path, dest: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.bench.oogiri_go", "--import", str(source), str(dest)]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE)


def killed(source: Path, dest: Path, wait_s: float) -> int:
    """Import, killed again and again after so many seconds until it is done; returns the number of kills."""
    kills = 0
    while not (dest / "samples.jsonl").exists():
        process = child(source, dest)
        try:
            # Each time a little later, so that it gets there.
            process.wait(wait_s * (1 + kills / 4))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
            noted = dest / importing.NOTE
            read = json.loads(noted.read_text())["read"] if noted.exists() else 0
            print(f"killed; noted so far: {read:,} rows")
            continue
        if process.returncode:
            raise LotbenchError(f"the import ended with {process.returncode}")
    return kills


def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--rows", type=int, default=130_000)
    flags.add_argument("--images", type=int, default=2_000)
    flags.add_argument("--kill", action="store_true")
    flags.add_argument("--import", dest="paths", nargs=2, type=Path, help=argparse.SUPPRESS)
    asked = flags.parse_args()
    if asked.paths:
        bring(*asked.paths)
        return
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        for name, rows in (("small", asked.rows // 100), ("whole", asked.rows)):
            write(place / name, rows, asked.images if name == "whole" else asked.images // 100)
            process = child(place / name, place / f"{name}-made")
            print(name, process.communicate()[0].strip(), flush=True)
        if asked.kill:
            kills = killed(place / "whole", place / "again", 3.0)
            digests = [_digest(place / name) for name in ("whole-made", "again")]
            print(f"killed {kills} times; the same to the byte: {digests[0] == digests[1]}")


def _digest(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != importing.REPORT)
    made = hashlib.sha256()
    for path in files:
        made.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return made.hexdigest()


if __name__ == "__main__":
    main()
