"""How long the viewer takes to open five full runs, and how large their export is.

    python -m tests.bench.view [--samples 106] [--repeats 3] [--models 5] [--browser] [--export]

The runs are synthetic: one game a model is played against the fake server, and told again for every sample
and repeat with outcomes drawn at random, traces and journal alike.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from lotbench.site.runs import Gallery, export
from lotbench.storage import datasets
from tests.views import made_runs


def multiplied(place: Path, samples: list[dict[str, Any]], repeats: int, rng: random.Random) -> None:
    """Tell the one game of a run again, for every sample and repeat."""
    [trace] = [json.loads(line) for line in (place / "traces.jsonl").read_text("utf-8").splitlines()]
    calls = [json.loads(line) for line in (place / "calls.jsonl").read_text("utf-8").splitlines()]
    skill = rng.uniform(0.02, 0.2)
    with (
        (place / "traces.jsonl").open("w", encoding="utf-8") as traces,
        (place / "calls.jsonl").open("w", encoding="utf-8") as journal,
    ):
        for sample in samples:
            for repeat in range(1, repeats + 1):
                old = trace["sample"]
                text = json.dumps(trace).replace(f'"{old}/1/', f'"{sample["id"]}/{repeat}/')
                made = {
                    **json.loads(text),
                    "sample": sample["id"],
                    "repeat": repeat,
                    "sequence": f"{sample['id']}/{repeat}",
                }
                solved = rng.random() < 1 - (1 - skill) ** 15
                made |= {"outcome": "solved" if solved else "unsolved"}
                made["score"] = {**made["score"], "value": round(rng.random(), 4) if solved else 0.0}
                traces.write(json.dumps(made) + "\n")
                for call in calls:
                    line = json.dumps(call).replace(f'"{old}/1/', f'"{sample["id"]}/{repeat}/')
                    journal.write(line + "\n")
    (place / "samples.jsonl").write_text("".join(json.dumps(one) + "\n" for one in samples), "utf-8")


def timed(what: str, start: float) -> None:
    print(f"{what:44} {time.perf_counter() - start:7.2f} s")


def opened(gallery: Gallery) -> None:
    """The time to each kind of page, from nothing."""
    for what in ("leaderboard, from nothing", "leaderboard, again"):
        start = time.perf_counter()
        body = gallery.get("index.html").body
        timed(f"{what} ({len(body) / 1e3:.0f} kB)", start)
    shelf = gallery.readable_runs()[0][0]
    game = shelf.rows[0].file
    for path, what in (
        (f"run/{shelf.name}.html", "a run"),
        (f"game/{shelf.name}/{game}", "a game, the first of its run"),
        (f"game/{shelf.name}/{game}", "a game"),
    ):
        start = time.perf_counter()
        body = gallery.get(path).body
        timed(f"{what} ({len(body) / 1e3:.0f} kB)", start)


def in_browser(gallery: Gallery) -> None:
    """The time from a request to a page that is drawn, in Chromium, from nothing."""
    from tests.browsing import browser
    from tests.viewing import serving

    with browser() as made, serving(gallery) as address:
        page = made.new_page()
        start = time.perf_counter()
        page.goto(address)
        timed("leaderboard in Chromium, from nothing", start)
        for _ in range(2):
            start = time.perf_counter()
            page.locator("a[data-row]").first.click()
            page.wait_for_load_state()
            timed(f"then {page.url.removeprefix(address).split('/')[0]}", start)
        start = time.perf_counter()
        for _ in range(14):
            page.keyboard.press("ArrowRight")
        timed("fourteen rounds by key", start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("samples", 106), ("repeats", 3), ("models", 5)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--browser", action="store_true")
    parser.add_argument("--export", action="store_true")
    given = parser.parse_args()
    rng = random.Random(1)
    data = datasets.data_folder("", "lotbench_easy")
    samples = [json.loads(line) for line in (data / "samples.jsonl").read_text("utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LOTBENCH_HOME"] = f"{folder}/home"
        root = Path(folder) / "runs"
        made_runs(root, *(f"model{number}" for number in range(given.models)), samples=[samples[0]["id"]])
        for place in sorted(root.iterdir()):
            multiplied(place, samples[: given.samples], given.repeats, rng)
        size = sum(file.stat().st_size for file in root.rglob("*.jsonl"))
        print(
            f"{given.models} runs of {given.samples} samples x {given.repeats} repeats, {size / 1e6:.0f} MB of records"
        )
        opened(Gallery(root))
        if given.browser:
            in_browser(Gallery(root))
        if given.export:
            start = time.perf_counter()
            count, size = export(Gallery(root), Path(folder) / "pages")
            timed(f"export ({count} files, {size / 1e6:.1f} MB)", start)


if __name__ == "__main__":
    main()
