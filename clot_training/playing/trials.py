"""Runs of `lotbench evaluate` around a training: the held-out scenes before and after, and players who know no joke."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from clot_training.config import Config
from clot_training.playing import judges
from clot_training.playing.rollouts import game_settings
from clot_training.playing.samples import BENCHMARK, Split
from lotbench.edge.files import atomic_write
from lotbench.errors import UsageError
from lotbench.run.evaluate import evaluate_sync
from lotbench.types import Reply, Request


class Parrot:
    """A player who says the nouns of the caption, one a round."""

    takes_requests = True
    __name__ = "parrot"

    def __init__(self, samples: dict[str, Any]) -> None:
        self._nouns = {name: sorted(judges.nouns(one)) for name, one in samples.items()}

    async def __call__(self, request: Request) -> Reply:
        """Say the noun whose turn it is."""
        said = self._nouns[request.key.sample]
        turn = (request.key.round - 1 + request.key.repeat) % len(said)
        return Reply(json.dumps({"filling": said[turn]}, ensure_ascii=False), "parrot")


def trial(
    config: Config, apart: Split, name: str, model: Any, *, held_out: bool, out: Path
) -> dict[str, Any]:
    """The score of a model on the training scenes or on the held-out ones, by a run of its own that stays in `out`.

    Args:
        config: The training's; its judges judge.
        apart: The samples.
        name: What the trial is called; it is done once.
        model: A model's name, or a player.
        held_out: Which scenes.
        out: Where runs go.
    """
    done = out / f"{name}.json"
    if done.exists():
        found: dict[str, Any] = json.loads(done.read_text(encoding="utf-8"))
        return found
    samples = {one.id: one for one in (apart.held_out if held_out else apart.train)}
    play = config.play
    run = evaluate_sync(
        BENCHMARK,
        model=model,
        roles={"judge": judges.seats(play.judges, samples), "oracle": play.oracle or judges.unasked},
        out=out / name,
        check=False,
        data=str(apart.folder),
        samples=tuple(samples),
        repeats=play.measured,
        seed=config.seed,
        settings=game_settings(play),
        sampling={
            "candidate": {"temperature": play.temperature, "top_p": 1.0, "max_tokens": play.max_tokens}
        },
        **play.limits,
    )
    score = run.summary["scores"]["creativity_score"]
    table = {
        "run": str(run.path),
        "mean": score["value"],
        "low": score["low"],
        "high": score["high"],
        "games": len(samples) * play.measured,
        "reasons": run.summary.get("reasons", []),
    }
    atomic_write.write(done, json.dumps(table, indent=2) + "\n")
    return table


def chance(config: Config, apart: Split, out: Path) -> dict[str, dict[str, Any]]:
    """What players get who know no joke: key texts of other samples, and nouns of the caption."""
    named = {one.id: one for one in apart.train}
    found = {"parrot": trial(config, apart, "parrot", Parrot(named), held_out=False, out=out)}
    try:
        found["placebo"] = trial(config, apart, "placebo", "placebo", held_out=False, out=out)
    except UsageError as error:
        # A data set may be too small for anybody to lend a guess.
        found["placebo"] = {"mean": None, "low": None, "high": None, "reasons": [str(error)]}
    return found
