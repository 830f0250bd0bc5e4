"""Whole games, played by the model that is trained: seeds from the step, every turn written down before it is judged.

The run folder of `lotbench.games` keeps what was said and judged, turns.jsonl beside it the very tokens. A run that was
killed asks nobody anything twice: its games are taken up where they stood.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clot_training.config import Play
from clot_training.playing import judges
from clot_training.playing.draws import at_rest, replies
from clot_training.playing.samples import BENCHMARK, Split
from clot_training.playing.talk import Talk
from lotbench.edge.files import jsonl
from lotbench.edge.models.transformers.loading import Loaded
from lotbench.environment.game import Game
from lotbench.environment.games import games
from lotbench.types import Reply, Sampling, Trace, Usage


@dataclass(frozen=True, slots=True)
class Played:
    """A game that is over, as tokens and as its trace."""

    talk: Talk
    trace: Trace

    @property
    def reward(self) -> float | None:
        """The score; None where the game broke off: a failure is never a score."""
        return self.trace.score.value


class Rollouts:
    """Games on the samples of a split, open for a model to play; close it afterwards.

    Args:
        play: The settings.
        samples: What may be played.
        split: Where the samples are.
        folder: The run folder; it is begun or gone on with.
        seed: Of the draws.
    """

    def __init__(self, play: Play, samples: Sequence[Any], split: Split, folder: Path, seed: int) -> None:
        self._play, self._seed = play, seed
        self._loop = asyncio.new_event_loop()
        self._stack = AsyncExitStack()
        named = {one.id: one for one in samples}
        opening = games(
            BENCHMARK,
            judge=judges.seats(play.judges, named),
            oracle=play.oracle or judges.unasked,
            folder=folder,
            data=str(split.folder),
            samples=tuple(named),
            seed=seed,
            settings=game_settings(play),
            check=False,
            **play.limits,
        )
        self._games = self._loop.run_until_complete(self._stack.enter_async_context(opening))
        self._turns = _Turns(folder / "turns.jsonl")

    def __enter__(self) -> Rollouts:
        return self

    def __exit__(self, *gone: object) -> None:
        self._loop.run_until_complete(self._stack.aclose())
        self._loop.close()

    def play(self, loaded: Loaded, model: Any, samples: Sequence[str], step: int) -> list[Played]:
        """Play a game on each sample; the same step has the same seeds.

        Args:
            loaded: The tokenizer, and what else belongs to the model.
            model: The model itself, with its adapter.
            samples: As many as there are games; a sample may stand there several times.
            step: From 0.
        """
        with at_rest(loaded, model) as resting:
            return self._loop.run_until_complete(self._played(resting, samples, step))

    def opening(self, sample: str) -> list[dict[str, str]]:
        """The messages with which every game on a sample begins."""

        async def asked() -> list[dict[str, str]]:
            game = await self._games.new(sample)
            assert game.observation is not None
            heard = game.observation.request.messages
            await game.close()
            return [{"role": one.speaker, "content": "".join(map(str, one.parts))} for one in heard]

        return self._loop.run_until_complete(asked())

    async def _played(self, loaded: Loaded, samples: Sequence[str], step: int) -> list[Played]:
        count: Counter[str] = Counter()
        read: dict[tuple[int, ...], Any] = {}
        under_way = []
        for sample in samples:
            # A last step of an epoch may have fewer games, and no seed of a sample is played twice.
            first = step * self._play.group * self._play.scenes
            under_way.append(await self._begin(loaded, sample, first + count[sample]))
            count[sample] += 1
        while waiting := [one for one in under_way if one[0].observation is not None]:
            drawn = self._drawn(loaded, waiting, read)
            # Everybody's reply is drawn before anybody's is judged, and the judges are asked side by side.
            await asyncio.gather(*(game.step(reply) for (game, _), reply in zip(waiting, drawn, strict=True)))
        made = []
        for game, talk in under_way:
            assert game.trace is not None
            made.append(Played(talk, game.trace))
        return made

    async def _begin(self, loaded: Loaded, sample: str, seed: int) -> tuple[Game, Talk]:
        """A new game, or one of an earlier session with the tokens that were drawn in it."""
        game, talk = await self._games.new(sample, seed), Talk(loaded)
        for turn in self._turns.known[sample, seed]:
            talk.again((turn["turn"], turn["text"]), turn["heard"], turn["said"])
            # Drawn and written down, but the process was gone before the game took it.
            if game.observation is not None and game.observation.key == turn["key"]:
                await game.step(_reply(loaded, turn["said"], turn["finish"], 0))
        return game, talk

    def _drawn(
        self, loaded: Loaded, waiting: Sequence[tuple[Game, Talk]], read: dict[tuple[int, ...], Any]
    ) -> list[Reply]:
        heard, samplings = [], []
        for game, talk in waiting:
            assert game.observation is not None
            heard.append(talk.hear(game.observation.request.messages))
            # The seed is that of this very request, whoever plays beside it.
            named = hashlib.sha256(f"{self._seed}/{game.observation.key}".encode()).digest()
            seed = int.from_bytes(named[:4], "big")
            samplings.append(Sampling(self._play.temperature, 1.0, seed, self._play.max_tokens))
        drawn = replies(loaded, [talk for _, talk in waiting], samplings, read)
        self._turns.add([(*one, host, *said) for one, host, said in zip(waiting, heard, drawn, strict=True)])
        found = []
        for (_, talk), (ids, finish) in zip(waiting, drawn, strict=True):
            found.append(_reply(loaded, ids, finish, len(talk.prompt) + len(talk.completion)))
            talk.say(ids)
        return found


class _Turns:
    """The file of turns: which tokens were heard and drawn in each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.known: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
        if path.exists():
            for _, line in jsonl.texts(path, appended=True):
                turn = json.loads(line)
                self.known[turn["sample"], turn["seed"]].append(turn)

    def add(self, made: Sequence[tuple[Game, Talk, Sequence[int], Sequence[int], str]]) -> None:
        """Write down turns: each a game, its sequence so far, what was added to that, what was drawn, how it ended."""
        jsonl.append(self._path, [jsonl.line(_turn(*one)) for one in made])


def _turn(game: Game, talk: Talk, heard: Sequence[int], said: Sequence[int], finish: str) -> dict[str, Any]:
    assert game.observation is not None
    turns, text = talk.heard
    return {
        "sample": game.sample,
        "seed": game.seed,
        "key": game.observation.key,
        "turn": turns,
        "text": text,
        "heard": list(heard),
        "said": list(said),
        "finish": finish,
    }


def game_settings(play: Play) -> dict[str, Any]:
    """The settings of the game: those asked for, in one growing conversation."""
    return {"arm": "caption", "judge_mode": "zero_shot", **play.settings, "conversation": "growing"}


def _reply(loaded: Loaded, ids: Sequence[int], finish: Any, before: int) -> Reply:
    text = loaded.tokenizer.decode(ids, skip_special_tokens=True)
    usage = Usage(input_tokens=before, output_tokens=len(ids))
    return Reply(text, loaded.id, finish, usage=usage)
