"""Runs recorded before the files moved to their rooms, and the players that can go on with them.

`tests/cases/old_runs/` holds a finished run of each benchmark, one that was killed and resumed, and a judge
check, as the code of that day left them; `replays/` what `lotbench replay` said of each.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from tests.fakes import RuleModel
from tests.rules import game_rule

FOLDER = Path(__file__).parent / "cases" / "old_runs"
RUNS = sorted(path.name for path in FOLDER.glob("2026*"))
UNSURE: dict[str, Any] = {"solve": 0.12, "unreadable": 0.05, "seed": 1}
"""How candidate and judges of the recorded games play."""
MOVED = {
    "low": "version 2: intervals that hold their 95 % for few samples, and are never one point",
    "high": "version 2: as low",
    "n": "version 2: n is the number of independent samples",
    "observations": "version 2: games or answers, which n counted before",
    "baselines": "version 2: what a placebo gets, where the game had 0 for a player that never solves",
}
"""What may differ in a score of summary.json."""
COLUMNS = {"low", "high", "95 % interval", "n", "observations", "never solves", "placebo"}
"""The columns of MOVED in a report."""
ADDED = {"anchors", "average", "average (image)", "oracle_says", "rewriting"}
ADDED |= {"frame", "frame_ladder", "encore", "conversation", "max_response_words", "max_response_characters"}
"""Settings that there were not: their rows in a report."""
SECTIONS = {
    "What this can show",
    "Likeness of answers",
    "Good enough?",
}
"""Sections of report.md that came later; what they say stands in summary.json under `diagnostics`, or `sentences`."""
SPREADLESS = "no interval: drawing rows again shows no spread"
LINES = re.compile(
    # The version itself, notes on intervals, and where the chance line comes from.
    r"- benchmark \w+ version|- Low and high: 95 % interval|- creativity_score over games without a leak:"
    r"|- Chance line \(placebo\):"
    # HIC-Bench: classes change the score only, and are scored both ways.
    r"|classes \|"
    # The paper's preset puts the clues of a reveal together.
    r"|clue_reveal \|"
    # The rule of trust is stricter than it was, and the reasons stand in moved.json.
    r"|\*\*Not (rankable|trusted):\*\*|- (arm|variant): answers=3"
    # Samples did not say who wrote them.
    r"|- Who wrote \d+ of the \d+ samples is not said"
    rf"|- An interval is missing or open|- oracle: 408 rows, .* 1.000 \((1 to 1|{SPREADLESS})\)"
)
ARMS = re.compile(r", max_rounds=7, clue_interval=3| \(answers=3\)")
"""What sets the arms of these runs apart, which was not part of their names."""
IN_CELLS = re.compile(r" \([^()]* to [^()]*, n = \d+\)| \(n = \d+\)")
"""An interval in the cell of a heat map."""


WORDS = {
    r"\bwalk(s?)\b": r"task\1",
    r"^- arm:": "- variant:",
    r"\bCensored games\b": "Games that broke off",
    r"\bCensored:": "Broke off:",
    r"\bit is censored\b": "it counts as broken off",
    r"\bgames are censored\b": "games count as broken off",
    r"\bcensored\b": "broke off",
    r"\bfillings\b": "guesses",
    r"\bfilling\b": "guess",
    r"\bnot told apart\b": "not clearly different",
}
"""Words of the reports of that day, and what stands for them since: the pages speak as people do."""


class Player(RuleModel):
    """A model by rule under a name of its own."""

    def __init__(self, name: str, **rule: Any) -> None:
        super().__init__(game_rule(**rule), model_id=name)
        self.__name__ = name


def players(benchmark: str) -> dict[str, Any]:
    """Candidate and other roles of a recorded run, as `evaluate` takes them."""
    unsure = UNSURE if benchmark == "lotbench" else {}
    judges = {"lotbench": 2, "standard": 0, "liveideabench": 3, "hicbench": 2, "rinobench": 1}[benchmark]
    roles: dict[str, Any] = {"judge": [Player(f"judge-{seat}", **unsure) for seat in range(judges)]}
    if benchmark == "lotbench":
        roles["oracle"] = Player("oracle")
    return {"model": Player("candidate", **unsure), "roles": roles if judges else {}}


def own(benchmark: str) -> dict[str, Any]:
    """The same players by the names that a run folder has for them, as `resume` takes them."""
    cast = players(benchmark)
    judges = {f"python:{judge.__name__}": judge for judge in cast["roles"].get("judge", ())}
    oracle = {"python:oracle": cast["roles"]["oracle"]} if "oracle" in cast["roles"] else {}
    return {"python:candidate": cast["model"], **judges, **oracle}


def copied(name: str, folder: Path) -> Path:
    """A recorded run in a folder of the test's own."""
    return Path(shutil.copytree(FOLDER / name, folder / "runs" / name))


def cut_off(run: Path) -> None:
    """Make a finished run one that was stopped: some of its calls, fewer of its walks, no summary."""
    for file, share in (("calls.jsonl", 0.6), ("traces.jsonl", 0.4)):
        lines = (run / file).read_bytes().splitlines(keepends=True)
        (run / file).write_bytes(b"".join(lines[: int(share * len(lines))]))
    (run / "summary.json").unlink()


def benchmark_of(name: str) -> str:
    """The benchmark of a recorded run."""
    return str(json.loads((FOLDER / name / "run.json").read_text("utf-8"))["benchmark"])


def summary(run: Path) -> dict[str, Any]:
    """What a run came to, without the time that it took, the version that scored it, and what was added since."""
    values: dict[str, Any] = json.loads((run / "summary.json").read_text("utf-8"))
    values.pop("wall_s")
    values["digests"].pop("code")
    for later in ("diagnostics", "headline"):
        values.pop(later, None)
    if values["benchmark"] == "standard":
        # The paper's average of four metrics, which there was not.
        values["scores"].pop("average", None)
    return values


def walks(run: Path) -> list[dict[str, Any]]:
    """The traces without their seconds, and so without their checksums."""
    traces = [json.loads(line) for line in (run / "traces.jsonl").read_text("utf-8").splitlines()]
    for trace in traces:
        trace.pop("crc", None)
        for step in trace["steps"]:
            step.pop("seconds")
    return traces


def recorded(name: str) -> dict[str, Any]:
    """What a recorded run comes to: what it came to then, and what has moved since."""
    found = summary(FOLDER / name)
    moved = json.loads((FOLDER / "moved.json").read_text("utf-8"))[name]
    found |= {"remarks": [], **moved.pop("")}
    for score, values in moved.items():
        assert values.keys() <= MOVED.keys(), score
        found["scores"][score].update(values)
    return found


def told(report: Path) -> list[str]:
    """The lines of a report without what has moved or come since."""
    lines: list[str] = []
    kept: list[int] | None = None
    added = False
    for line in report.read_text("utf-8").splitlines():
        added = line[3:] in SECTIONS if line.startswith("## ") else added
        if added:
            continue
        if not line.startswith("| "):
            kept = None
        elif kept is None:
            kept = [at for at, name in enumerate(cells(line)) if name not in COLUMNS]
        if kept is not None and cells(line)[0] in ADDED:
            continue
        shown = line if kept is None else " | ".join(cells(line)[at] for at in kept)
        if shown and not LINES.match(shown):
            lines.append(today(ARMS.sub("", IN_CELLS.sub("", shown))))
    return lines


def today(line: str) -> str:
    """A line in the words of today."""
    for old, new in WORDS.items():
        line = re.sub(old, new, line)
    return line


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line[2:-2].split(" | ")]
