"""Write pairs of accepted and refused answers of finished games, as rows for TRL's DPOTrainer.

    python examples/dpo/pairs.py RUN... --out preferences.jsonl

The prompt of a row is the first prompt of a game on the sample in the same arm (variant of the game). Prompts of later
rounds contain clues that differ between games, so they are not used; answers of later rounds are.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import lcm
from pathlib import Path
from typing import Any, TypeAlias

from lotbench.benchmarks.lotbench.games import Game, Round, game
from lotbench.benchmarks.lotbench.words import same
from lotbench.config.experiment import Limits
from lotbench.errors import LotbenchError, UsageError
from lotbench.run.loading import Run, load_run, planned
from lotbench.run.plan import Plan
from lotbench.run.preview import first_question
from lotbench.storage import export
from lotbench.types import Image, Message

Row: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class _Scene:
    """A prompt with the answers to it that judges accepted and refused.

    Attributes:
        about: The fields of a row that do not depend on the answers: sample, canary, prompt, images.
        accepted: The accepted answers by normalized text, each with run, model, repeat, round, and `content` (JSON text).
        refused: Likewise the refused answers.
    """

    about: Row
    accepted: dict[str, Row] = field(default_factory=dict)
    refused: dict[str, Row] = field(default_factory=dict)

    def rows(self, most: int) -> Iterator[Row]:
        """Yield at most `most` pairs of an accepted and a refused answer, as rows.

        An answer that was accepted and also refused is left out. Every accepted answer is used once before any is used
        twice, and so is every refused one.
        """
        both = self.accepted.keys() & self.refused.keys()
        good = [answer for text, answer in self.accepted.items() if text not in both]
        bad = [answer for text, answer in self.refused.items() if text not in both]
        for n in range(min(most, len(good) * len(bad))):
            # After a full cycle of both sides the second is shifted by one, so no pair repeats.
            chosen, rejected = good[n % len(good)], bad[(n + n // lcm(len(good), len(bad))) % len(bad)]
            yield {**self.about, **_side("chosen", chosen), **_side("rejected", rejected)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the rows of some runs, and return the exit code: 0 done, 2 usage."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a path, a folder name in runs/, or latest")
    parser.add_argument("--out", type=Path, default=Path("preferences.jsonl"))
    parser.add_argument("--per-sample", type=int, default=16, help="rows of a sample, at most")
    asked = parser.parse_args(arguments)
    try:
        count = export.write(preferences([load_run(run) for run in asked.runs], asked.per_sample), asked.out)
    except LotbenchError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{asked.out}: {count} rows")
    return 0


def preferences(runs: Sequence[Run], per_sample: int) -> list[Row]:
    """Return pairs of answers from some runs as rows for DPO: `prompt`, `chosen` and `rejected` are lists of messages.

    A row also has `sample`, `canary`, the origin of both answers, and `images` (paths) if the prompt has a picture.

    Args:
        runs: Runs of the game.
        per_sample: The maximum number of rows for a sample in one arm (variant of the game); at least 1.

    Raises:
        UsageError: `per_sample` is 0, a run is of another benchmark, some runs show pictures and some do not, or there is no
            row.
    """
    if per_sample < 1:
        raise UsageError("--per-sample: at least 1")
    scenes: dict[str, _Scene] = {}
    for run in runs:
        if run.config.benchmark != "lotbench":
            raise UsageError(
                f"{run.path}: a run of {run.config.benchmark}; preferences are of games of lotbench"
            )
        _add_answers(run, planned(run, Limits()), scenes)
    rows = [row for scene in scenes.values() for row in scene.rows(per_sample)]
    if not rows:
        raise UsageError("no sample has an answer that was accepted and one that was refused")
    if len({"images" in row for row in rows}) > 1:
        raise UsageError("some runs show pictures and some do not: write a file for each")
    return rows


def _add_answers(run: Run, plan: Plan, scenes: dict[str, _Scene]) -> None:
    """Add the answers of a run to `scenes`; the key of a scene is its `about` as JSON text."""
    for trace in run.traces:
        about = _opening(plan, trace.sample)
        scene = scenes.setdefault(json.dumps(about), _Scene(about))
        place = {"run": run.path.resolve().name, "model": run.answered, "repeat": trace.repeat}
        for round, accepted in _decided_rounds(game(trace)):
            content = {"response" if round.whole else "guess": round.guess}
            answer = {**place, "round": round.number, "content": json.dumps(content, ensure_ascii=False)}
            (scene.accepted if accepted else scene.refused).setdefault(same(round.guess or ""), answer)


def _decided_rounds(game: Game) -> Iterator[tuple[Round, bool]]:
    """Yield each round with a clear verdict, and whether its guess was accepted.

    Other rounds are left out, such as those in which a second verdict overturned a yes.
    """
    for round in game.rounds:
        if round.leap or round.number == game.solved:
            yield round, True
        elif round.decision == "refused" and round.denied:
            yield round, False


def _opening(plan: Plan, sample: str) -> Row:
    """Return the fields of a row for a sample: id, canary, first prompt of a game (without reasoning), picture if any."""
    first = first_question(plan, sample, framework="direct")
    messages = first.messages if first else ()
    has_picture = any(isinstance(part, Image) for message in messages for part in message.parts)
    about: Row = {"sample": sample, "canary": getattr(plan.by_id[sample], "canary", "")}
    about["prompt"] = [_message(message, has_picture) for message in messages]
    return about | {"images": [plan.pictures.path(sample).as_posix()]} if has_picture else about


def _message(message: Message, in_parts: bool) -> Row:
    parts = [
        {"type": "image"} if isinstance(part, Image) else {"type": "text", "text": part}
        for part in message.parts
    ]
    return {"role": message.speaker, "content": parts if in_parts else "".join(map(str, message.parts))}


def _side(name: str, answer: Mapping[str, Any]) -> Row:
    place = {key: value for key, value in answer.items() if key != "content"}
    return {name: [{"role": "assistant", "content": answer["content"]}], f"{name}_from": place}


if __name__ == "__main__":
    raise SystemExit(main())
