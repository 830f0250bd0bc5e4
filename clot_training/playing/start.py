"""`clot play-start`: an adapter that sometimes wins. Who never wins learns nothing by playing.

Stage 1 of CLoT, on rows of the kind: the game's own prompt, and a filling in the form that it asks for. Right fillings
are mixed with others, so that the adapter knows the form and has the right answers among what it may say, and no more.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from random import Random
from typing import Any

from clot_training.config import Config
from clot_training.data.keywords import content_words
from clot_training.playing.measure import mean
from clot_training.playing.rollouts import Rollouts
from clot_training.playing.samples import Split, split
from clot_training.records import Instruction
from clot_training.tuning.tune import ADAPTER, INCIDENTAL, claim, tune, with_lora
from clot_training.tuning.weights import base_model
from lotbench.config.experiment import digest
from lotbench.edge.files import adapter_texts, atomic_write
from lotbench.errors import UsageError

START = Path("play") / "start"
"""The folder of the start, below the work folder."""
MADE_OF = ("judges", "oracle", "settings", "start_right", "start_fillings", "temperature", "max_tokens")
"""Settings of playing that the start's weights and rewards depend on."""


def start(config: Config) -> dict[str, Any]:
    """Tune an adapter until its mean reward on the training samples is what can be learned from.

    Returns:
        What is in start.json: the mean reward of the untrained model and after each tuning, with 95 % intervals.

    Raises:
        UsageError: The reward is still outside `play.start_between` after `play.start_tunings` tunings; or the folder
            holds a start of other settings or samples.
    """
    apart, out = split(config), Path(config.out) / START
    claim(out, _identity(config, apart))
    low, high = config.play.start_between
    if (out / "start.json").exists():
        made: dict[str, Any] = json.loads((out / "start.json").read_text(encoding="utf-8"))
        if low <= [*made["rewards"].values()][-1]["mean"] <= high:
            return made
    rewards = {"untrained": measured(config, apart, out / "games" / "untrained", None)}
    file = out / "rows.jsonl"
    adapter: Path | None = None
    for turn in range(1, config.play.start_tunings + 1):
        atomic_write.write(file, (row.model_dump_json() + "\n" for row in rows(config, apart, out)))
        stage = out / f"tuning-{turn}"
        tune(config, [file], stage, adapter=adapter)
        adapter = stage / ADAPTER
        rewards[f"tuning {turn}"] = found = measured(config, apart, out / "games" / stage.name, adapter)
        if found["mean"] is not None and low <= found["mean"] <= high:
            return _chosen(adapter, out, apart, rewards)
        if found["mean"] is None or found["mean"] > high:
            break
    told = ", ".join(f"{name} {one['mean']}" for name, one in rewards.items())
    raise UsageError(
        f"{out}: mean reward outside {low} to {high}: {told}; remove it and change play.start_right or tune.epochs"
    )


def started(config: Config, apart: Split) -> Path:
    """The adapter that a training by playing begins with.

    Raises:
        UsageError: It is not there yet, or is one of other settings or samples: it may have seen what is held out now.
    """
    out = Path(config.out) / START
    if not (out / "start.json").exists():
        raise UsageError(f"{out}: no start yet; run `clot play-start` first")
    claim(out, _identity(config, apart))
    return out / ADAPTER


def _identity(config: Config, apart: Split) -> str:
    """The digest of all that the start depends on."""
    played = [one.model_dump(mode="json") for one in apart.train]
    play = config.play.model_dump(mode="json", include=set(MADE_OF))
    tuning = config.tune.model_dump(mode="json", exclude=INCIDENTAL | {"gradient_checkpointing"})
    return digest([config.model, config.seed, play, tuning, played])


def rows(config: Config, apart: Split, out: Path) -> Iterator[Instruction]:
    """The instructions: the first request of a game, and a filling as the reply."""
    with Rollouts(config.play, apart.train, apart, out / "games" / "untrained", config.seed) as rollouts:
        asked = {one.id: rollouts.opening(one.id) for one in apart.train}
    for sample in apart.train:
        draw = Random(f"{config.seed}/{sample.id}")
        for number, filling in enumerate(_fillings(config, sample, draw)):
            yield Instruction(
                id=f"{sample.id}-{number}",
                kind="generation",
                type="T2T",
                language=sample.language,
                group=sample.id,
                rows=(sample.id,),
                messages=tuple(asked[sample.id]),
                image=None,
                response=json.dumps({"filling": filling}, ensure_ascii=False),
            )


def _fillings(config: Config, sample: Any, draw: Random) -> list[str]:
    """Fillings in drawn order, `start_right` of them right; the others are the sample's wrong ones and what is in sight."""
    size = config.play.start_fillings
    count = max(1, round(config.play.start_right * size))
    right = [sample.key_text, *sample.accept]
    (seen,) = content_words([sample.caption], sample.language, nouns=True)
    wrong = [one.text for one in sample.reject] + list(seen)
    draw.shuffle(wrong)
    made = [*islice(cycle(right), count), *islice(cycle(wrong), size - count)]
    draw.shuffle(made)
    return made


def measured(config: Config, apart: Split, folder: Path, adapter: Path | None) -> dict[str, Any]:
    """The mean reward of a model on the training samples, with its interval over games; its games stay in the folder."""
    loaded = base_model(config)
    model = loaded.model if adapter is None else with_lora(loaded, config.tune, adapter)
    with Rollouts(config.play, apart.train, apart, folder, config.seed) as rollouts:
        names = [one.id for one in apart.train for _ in range(config.play.measured)]
        played = rollouts.play(loaded, model, names, 0)
    known = [(at, one.reward) for at, one in enumerate(played) if one.reward is not None]
    found = mean([reward for _, reward in known], [at for at, _ in known])
    return found | {"games": len(known), "broke_off": len(played) - len(known)}


def _chosen(adapter: Path, out: Path, apart: Split, rewards: dict[str, Any]) -> dict[str, Any]:
    """Put the adapter in its place, with what it has seen; start.json last."""
    adapter_texts.write(adapter, apart.seen, adapter_texts.read(adapter) or frozenset())
    (out / "start.json").unlink(missing_ok=True)
    shutil.rmtree(out / ADAPTER, ignore_errors=True)
    shutil.copytree(adapter, out / ADAPTER)
    table = {"rewards": rewards, "adapter": str(out / ADAPTER)}
    atomic_write.write(out / "start.json", json.dumps(table, indent=2) + "\n")
    return table
