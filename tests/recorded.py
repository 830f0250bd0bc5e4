"""Recorded runs, and the players that can go on with them.

`tests/cases/recorded/` holds a finished run of each benchmark, and one of the game that was killed and resumed;
`python -m tests.record` writes them anew.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from tests.fakes import RuleModel
from tests.rules import game_rule

FOLDER = Path(__file__).parent / "cases" / "recorded"
RUNS = sorted(path.name for path in FOLDER.glob("2026*"))
UNSURE: dict[str, Any] = {"solve": 0.3, "unreadable": 0.05, "seed": 4}
"""How candidate and judges of the recorded games play."""


class Player(RuleModel):
    """A model by rule under a name of its own."""

    def __init__(self, name: str, **rule: Any) -> None:
        super().__init__(game_rule(**rule), model_id=name)
        self.__name__ = name


def players(benchmark: str) -> dict[str, Any]:
    """Candidate and other roles of a recorded run, as `evaluate` takes them."""
    unsure = UNSURE if benchmark == "lotbench" else {}
    judges = {"lotbench": 2, "standard": 0, "liveideabench": 3, "hicbench": 2, "rinobench": 1}[benchmark]
    roles: dict[str, Any] = {"judge": [Player(f"judge-{index}", **unsure) for index in range(judges)]}
    if benchmark == "lotbench":
        roles["oracle"] = Player("oracle")
    return {"model": Player("candidate", **unsure), "roles": roles if judges else {}}


def own(benchmark: str) -> dict[str, Any]:
    """The same players by the names that a run folder has for them, as `resume` takes them."""
    cast = players(benchmark)
    judges = {f"python:{judge.__name__}": judge for judge in cast["roles"].get("judge", ())}
    oracle = {"python:oracle": cast["roles"]["oracle"]} if "oracle" in cast["roles"] else {}
    return {"python:candidate": cast["model"], **judges, **oracle}


def recorded(benchmark: str) -> str:
    """The name of the finished run of a benchmark."""
    return next(name for name in RUNS if f"-{benchmark}-" in name)


def copied(name: str, folder: Path) -> Path:
    """A recorded run in a folder of the test's own."""
    return Path(shutil.copytree(FOLDER / name, folder / "runs" / name))


def cut_off(run: Path) -> None:
    """Make a finished run one that was stopped: some of its calls, fewer of its episodes, no summary."""
    for file, share in (("calls.jsonl", 0.6), ("traces.jsonl", 0.4)):
        lines = (run / file).read_bytes().splitlines(keepends=True)
        (run / file).write_bytes(b"".join(lines[: int(share * len(lines))]))
    (run / "summary.json").unlink()


def benchmark_of(name: str) -> str:
    """The benchmark of a recorded run."""
    return str(json.loads((FOLDER / name / "run.json").read_text("utf-8"))["benchmark"])


def summary(run: Path) -> dict[str, Any]:
    """What a run came to, without the time that it took and the version that scored it."""
    values: dict[str, Any] = json.loads((run / "summary.json").read_text("utf-8"))
    values.pop("wall_s")
    values["digests"].pop("code")
    return values


def episodes(run: Path) -> list[dict[str, Any]]:
    """The traces without their seconds, and so without their checksums."""
    traces = [json.loads(line) for line in (run / "traces.jsonl").read_text("utf-8").splitlines()]
    for trace in traces:
        trace.pop("crc", None)
        for step in trace["steps"]:
            step.pop("seconds")
    return traces
