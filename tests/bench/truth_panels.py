"""Plants of judges who differ: candidates of LiveIdeaBench that are judged by panels of other severity.

Two runs on the same keywords whose panels each miss a judge of the other, as candidates' siblings leave them; what is
measured is the difference of their averages, as `compare` has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from lotbench.benchmarks.liveideabench.judged import Comparison, Idea, Keyword, Row
from lotbench.benchmarks.liveideabench.score import levelled, of_keywords
from lotbench.benchmarks.liveideabench.settings import Settings
from lotbench.metrics.compare import of_headlines
from lotbench.types import Metric

TITLE = "Panels of other severity: the difference of two candidates"
NOTE = (
    "100 keywords with two ideas each, three judges an idea in turn, marks of 1 to 10 in whole points; judges differ by "
    "up to 1.2 points.\nBefore, scores were compared as they were given, and severities fitted inside each run alone. Coverage of equal candidates is what is not told "
    "apart."
)
SEVERITIES = {"lenient": 0.6, "b": 0.2, "c": 0.0, "d": -0.2, "severe": -0.6}
PANELS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "three judges in common": (("lenient", "b", "c", "d"), ("b", "c", "d", "severe")),
    "two judges in common": (("lenient", "b", "c"), ("b", "c", "severe")),
    "one judge in common": (("lenient", "b", "c"), ("c", "d", "severe")),
}
KEYWORDS, IDEAS, JUDGES = 100, 2, 3


def walks(
    panel: tuple[str, ...], merit: float, easy: np.ndarray, seed: list[int]
) -> dict[str, list[Keyword]]:
    """What a panel makes of a candidate's ideas; `easy` is what a keyword adds to them, [KEYWORDS]."""
    rng = np.random.default_rng(seed)
    made = {}
    for at in range(KEYWORDS):
        ideas = []
        for number in range(1, IDEAS + 1):
            worth = 5.5 + merit + easy[at] + rng.normal(0, 0.8, 3)
            sit = [panel[(at * IDEAS + number - 1 + place) % len(panel)] for place in range(JUDGES)]
            rows = tuple(Row(panel.index(name), name, _marks(worth, name, rng)) for name in sit)
            ideas.append(Idea(number, "ok", "", None, rows, 0))
        judge = panel[at % len(panel)]
        letters = tuple(_letter(5.5 + merit + easy[at] + SEVERITIES[judge], rng) for _ in range(2))
        pair = Comparison((1, 2), letters, False, 0, judge)
        name = f"kw-{at:03}"
        made[name] = [Keyword(name, 1, "Physics", tuple(ideas), (pair,))]
    return made


def _marks(worth: np.ndarray, judge: str, rng: np.random.Generator) -> dict[str, float]:
    given = np.clip(np.round(worth + SEVERITIES[judge] + rng.normal(0, 1.0, 3)), 1, 10)
    return dict(zip(("originality", "feasibility", "clarity"), map(float, given), strict=True))


def _letter(worth: float, rng: np.random.Generator) -> str:
    """A letter whose grade (1, 4, 7, 10) lies about what a pair is worth."""
    return "DCBA"[int(np.clip(round((worth + rng.normal(0, 2.0) - 1) / 3), 0, 3))]


def ahead(panels: str, merit: float, level: bool, seed: int) -> tuple[Metric, float]:
    """How far the first of two candidates is ahead, with the interval of `compare`; its merit is the truth."""
    easy = np.random.default_rng([seed, 20]).normal(0, 0.7, KEYWORDS)
    one, other = PANELS[panels]
    settings = Settings()
    runs = {
        "one": of_keywords(walks(one, merit, easy, [seed, 21]), settings),
        "other": of_keywords(walks(other, 0.0, easy, [seed, 22]), settings),
    }
    if level:
        runs = levelled(runs, settings)
    found = of_headlines(runs["one"], runs["other"], seed)
    return Metric(found.mean, found.low, found.high), merit


def plants(level: bool = True) -> Iterator[tuple[str, str, partial[tuple[Metric, float]]]]:
    """Chapter, name and trial of every plant."""
    for merit, name in ((0.0, "equal"), (0.3, "0.3 apart")):
        for panels in PANELS:
            yield TITLE, f"{name}, {panels}", partial(ahead, panels, merit, level)
