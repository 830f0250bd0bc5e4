"""The pictures of the README: a leaderboard and a game, photographed in Chromium from runs that this script plays.

    python -m tests.bench.pictures [--out docs/pictures] [--samples 24]
    python -m tests.bench.pictures --runs demo        # keep the runs and take no pictures (`make demo`)

The players are scripted, and no model: each guesses what the samples themselves list as right and wrong, with a
chance of its own; the judge goes by the same lists. What is seen are lotbench's own pages on real run folders.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from lotbench.cli import main as lotbench
from lotbench.run.evaluate import evaluate
from lotbench.run.loading import Run
from lotbench.site.runs import Gallery
from lotbench.storage import datasets
from tests.rules import hear

Player = Callable[[list[dict[str, Any]]], Awaitable[str]]
TOLD = "lot-0034"
GUESSES = ("chess", "ice skating", "snowboarding")
QUESTIONS = {"Is it a sport?": "Yes", "Is it done on a flat surface?": "No"}
"""The game that is told in the README, guess by guess."""
SEED = 2
"""The first seed whose draw of 24 samples has the told game."""
SKILLS = {"keen": 0.6, "steady": 0.3, "slow": 0.08}


def samples() -> list[dict[str, Any]]:
    """The samples of the first edition, in English."""
    lines = (datasets.data_folder("", "lotbench_easy") / "samples.jsonl").read_text("utf-8").splitlines()
    return [sample for sample in map(json.loads, lines) if sample["language"] == "en"]


def _sample(text: str) -> dict[str, Any]:
    """The sample that a request is about, by its caption."""
    return next(sample for sample in samples() if sample["caption"] in text)


def candidate(name: str, skill: float) -> Player:
    """A player who finds a right guess in a round with a chance, and asks what the clues suggest."""
    turns: Counter[tuple[str, str]] = Counter()

    async def play(messages: list[dict[str, Any]]) -> str:
        heard = hear({"model": name, "messages": messages})
        if "word" in heard.form:
            return '{"word": "ready"}'
        sample = _sample(heard.text)
        kind = next(one for one in ("guess", "question") if one in heard.form)
        at = turns[kind, sample["id"]]
        turns[kind, sample["id"]] += 1
        if kind == "question":
            said = list(QUESTIONS)[at % 2] if sample["id"] == TOLD else f"Has it to do with round {at + 1}?"
        elif sample["id"] == TOLD and name == "keen":
            said = GUESSES[min(at, 2)]
        else:
            right = random.Random(f"{name}:{sample['id']}:{at}").random() < skill
            said = sample["accept"][0] if right else _wrong(sample, at)
        return json.dumps({field: said if field == kind else "so" for field in heard.form})

    play.__name__ = name
    return play


def _wrong(sample: Mapping[str, Any], at: int) -> str:
    texts = [one["text"] for one in sample["reject"]]
    return str(texts[at]) if at < len(texts) else f"{texts[at % len(texts)]} {at // len(texts)}"


async def judge(messages: list[dict[str, Any]]) -> str:
    """Accepts what the sample lists as right; its chain is the sample's explanation, sentence by sentence."""
    heard = hear({"model": "judge", "messages": messages})
    if "word" in heard.form:
        return '{"word": "ready"}'
    sample = _sample(heard.text)
    sentences = [one.strip(". ") for one in sample["explanation"].split(". ")]
    accepted = any(f'"{text}"' in heard.text for text in (sample["key_text"], *sample["accept"]))
    found: dict[str, Any] = {}
    for name, field in heard.form.items():
        if field.get("type") == "boolean":
            found[name] = accepted
        elif field.get("type") == "array":
            found[name] = [one[:150] for one in sentences[:3]]
        else:
            found[name] = (sentences[-1] if accepted else "It does not have the shape of the joke")[
                : field.get("maxLength", 200)
            ]
    return json.dumps(found)


async def oracle(messages: list[dict[str, Any]]) -> str:
    """Answers yes or no."""
    heard = hear({"model": "oracle", "messages": messages})
    if "word" in heard.form:
        return '{"word": "ready"}'
    return json.dumps(
        {"answer": next((yes for asked, yes in QUESTIONS.items() if asked in heard.text), "No")}
    )


async def played(root: Path, count: int) -> list[Run]:
    """The runs of all players."""
    return [
        await evaluate(
            model=candidate(name, skill), roles={"judge": judge, "oracle": oracle}, data="lotbench_easy",
            languages=["en"], limit=count, seed=SEED, repeats=1, out=root,
            settings={"arm": "image+caption", "chain": "per_call"},
        )
        for name, skill in SKILLS.items()
    ]  # fmt: skip


def taken(root: Path, out: Path) -> None:
    """The pictures of the home page, a run, the told game and the game of the day."""
    from tests.browsing import browser
    from tests.viewing import serving

    keen = next(root.glob("*-keen-*")).name
    pages = {"home": "", "game": f"game/{keen}/{TOLD}-1.html", "run": f"run/{keen}.html"}
    out.mkdir(parents=True, exist_ok=True)
    with browser() as made, serving(Gallery(root)) as address:
        page = made.new_context(viewport={"width": 1100, "height": 640}).new_page()
        for name, path in pages.items():
            page.goto(address + path)
            page.wait_for_load_state("networkidle")
            page.screenshot(path=out / f"{name}.png")
        lotbench(["play", "--export", str(root.parent / "daily")])
        page.goto((root.parent / "daily" / "index.html").as_uri())
        page.wait_for_load_state("networkidle")
        page.screenshot(path=out / "daily.png")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", metavar="DIR", type=Path, default=Path("docs/pictures"), help="where the pictures go"
    )
    parser.add_argument("--samples", metavar="N", type=int, default=24, help="samples that each player plays")
    parser.add_argument(
        "--runs", metavar="DIR", type=Path, help="play the runs into this folder and take no pictures"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LOTBENCH_HOME"] = f"{folder}/home"
        asyncio.run(played(given.runs or Path(folder) / "runs", given.samples))
        if given.runs is None:
            taken(Path(folder) / "runs", given.out)


if __name__ == "__main__":
    main()
