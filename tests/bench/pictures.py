"""The pictures of the README: a leaderboard and a game, photographed in Chromium from runs that this script plays.

    python -m tests.bench.pictures [--out docs/pictures] [--samples 24]
    python -m tests.bench.pictures --runs demo  # keep the runs and take no pictures (`make demo`)

The players are scripted, and no model: each guesses what the lists of the samples call right and wrong, with a chance of
its own, and asks what the facts answer; judge and oracle go by the same lists and facts. What is seen are lotbench's own pages on real run folders.
"""

import argparse
import asyncio
import json
import os
import random
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Any

from lotbench.benchmarks.lotbench.sample import Item
from lotbench.cli import main as lotbench
from lotbench.run.evaluate import evaluate
from lotbench.run.loading import Run
from lotbench.run.progress import watch
from lotbench.site import facts, host
from lotbench.site.runs import Gallery
from lotbench.storage import datasets
from tests.rules import hear

Player = Callable[[list[dict[str, Any]]], Awaitable[str]]
TOLD = "lot-0034"
GUESSES = ("chess", "ice skating", "snowboarding")
QUESTIONS = ("Is it a sport?", "Is it done on a flat surface?")
"""The game that is told in the README, guess by guess."""
QUOTED = re.compile(r'^[A-Z ]+: "(.*)"$', re.MULTILINE)
"""A line of a prompt with a label and a quoted text; the last such line has the guess or the question."""
SEED = 2
"""The first seed whose draw of 24 samples has the told game."""
SKILLS = {"keen": 0.6, "steady": 0.3, "slow": 0.08}


@cache
def samples() -> list[Item]:
    """The samples of the first edition, in English."""
    every = datasets.samples(datasets.data_folder("", "lotbench_easy"), Item)
    return [sample for sample in every if sample.language == "en"]


def _sample(text: str) -> Item:
    """The sample that a request is about, by its caption."""
    return next(sample for sample in samples() if sample.caption in text)


def candidate(name: str, skill: float) -> Player:
    """A player who finds a right guess in a round with a chance, and asks what the lists can answer."""
    turns: Counter[str] = Counter()
    asked: defaultdict[str, list[str]] = defaultdict(list)

    async def play(messages: list[dict[str, Any]]) -> str:
        heard = hear({"model": name, "messages": messages})
        if "word" in heard.form:
            return '{"word": "ready"}'
        sample = _sample(heard.text)
        told = sample.id == TOLD and name == "keen"
        drawn = random.Random(f"{name}:{sample.id}:{turns[sample.id]}")
        if "question" in heard.form:
            past = asked[sample.id]
            offered = host.suggested(sample, past, sample.clues[: turns[sample.id] // 5])
            past.append(QUESTIONS[len(past)] if told else drawn.choice(offered or QUESTIONS))
            return json.dumps({field: past[-1] for field in heard.form})
        at = turns[sample.id]
        turns[sample.id] += 1
        right = [text for text in host.lists(sample)[0] if text != sample.key_text]
        wrong = _wrong(sample, name)[at]
        said = GUESSES[at] if told else drawn.choice(right) if drawn.random() < skill else wrong
        return json.dumps({field: said for field in heard.form})

    play.__name__ = name
    return play


@cache
def _wrong(sample: Item, name: str) -> list[str]:
    """Wrong guesses in an order of the player's own: those of the lists, then key texts of which much the same is true."""
    listed = list(host.lists(sample)[1])
    facts_asked = facts.best_questions(sample.key_text, [])

    def unlike(key: str) -> int:
        return sum(facts.truth(key, one) != facts.truth(sample.key_text, one) for one in facts_asked)

    others = sorted(
        {other.key_text for other in samples()} - {sample.key_text}, key=lambda key: (unlike(key), key)
    )
    return random.Random(f"{name}:{sample.id}").sample(listed, len(listed)) + [
        key for key in others if not host.verdict(sample, key)[0]
    ]


def _difference(key: str, guess: str) -> str:
    """What the key text is by the facts about both, and a wrong guess is not, or the other way round; "" for none."""
    for truth, said in ((True, "not"), (False, "it is")):
        for one in facts.best_questions(key, []):
            both = [facts.truth(text, one) for text in (key, guess)]
            if one.startswith("Is it ") and both == [truth, not truth]:
                return f"{said} {one[6:-1]}"
    return ""


async def judge(messages: list[dict[str, Any]]) -> str:
    """Judges by the lists of the sample; its chains and reasons are made of the sample's point and of the lists' reasons."""
    heard = hear({"model": "judge", "messages": messages})
    if "word" in heard.form:
        return '{"word": "ready"}'
    sample = _sample(heard.text)
    assert sample.point is not None
    point, guess = sample.point, QUOTED.findall(heard.text)[-1]
    accepted, why = host.verdict(sample, guess)
    listed = why in {rejected.why for rejected in sample.reject}
    other = _difference(sample.key_text, guess)
    unlisted = f"{guess}: {other}" if other else f"“{guess}” leaves out that {point.likeness}"
    why = why.strip(".") if listed else unlisted
    found = {
        "scene_chain": f"{point.part} -> {point.effect}",
        "caption_chain": f"{sample.key_text} -> {point.likeness} -> {point.effect}",
        "creative_point": f"{point.part}, and {sample.key_text}: {point.likeness}",
        "function": point.effect,
        "intervened_chain": f"{guess} -> {point.likeness if accepted else why}",
        "point_reason": f"“{guess}”: {point.likeness}" if accepted else why,
        "function_reason": f"with “{guess}” too, {point.effect}"
        if accepted
        else f"“{guess}” does not show that {point.effect}",
    }
    return json.dumps({
        name: bool(accepted) if field.get("type") == "boolean" else found[name]
        for name, field in heard.form.items()
    })  # fmt: skip


async def oracle(messages: list[dict[str, Any]]) -> str:
    """Answers yes or no by the facts about the sample."""
    heard = hear({"model": "oracle", "messages": messages})
    if "word" in heard.form:
        return '{"word": "ready"}'
    return json.dumps({"answer": host.answer(_sample(heard.text), QUOTED.findall(heard.text)[-1])})


async def played(root: Path, **samples: Any) -> list[Run]:
    """The runs of all players on the samples that `evaluate` takes by `limit` or `samples`."""
    return [
        await evaluate(
            model=candidate(name, skill), roles={"judge": judge, "oracle": oracle}, data="lotbench_easy",
            languages=["en"], **samples, seed=SEED, repeats=1, out=root,
            settings={"arm": "image+caption", "chain": "per_call"}, watch=watch(sys.stderr),
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
        asyncio.run(played(given.runs or Path(folder) / "runs", limit=given.samples))
        if given.runs is None:
            taken(Path(folder) / "runs", given.out)


if __name__ == "__main__":
    main()
