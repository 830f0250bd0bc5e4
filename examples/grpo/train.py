"""Learn the game by playing it: TRL's GRPOTrainer on whole games of `lotbench.games`. See README.md beside this file.

A game is one sequence: the prompt, what the model drew, what the host said to that, and so on. The host's tokens are
masked out of the loss (`env_mask`). The reward is the game's score; a game that broke off has none.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import small
import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback
from trl import GRPOConfig, GRPOTrainer

import lotbench

SETTINGS = {
    "arm": "caption",
    "judge_mode": "zero_shot",
    "conversation": "growing",
    "ask": False,
    "clues": False,
}
MARK = "\u241fREPLY\u241f"


class Rollouts:
    """Games that the trained model plays, side by side.

    Args:
        games: Opened by `lotbench.games`.
        loop: The event loop that they live in.
        tokenizer: The model's.
        tokens: Of a reply, at most.
    """

    def __init__(self, games: Any, loop: asyncio.AbstractEventLoop, tokenizer: Any, tokens: int) -> None:
        self.games, self.loop, self.tokenizer, self.tokens = games, loop, tokenizer, tokens

    def __call__(self, samples: list[str], trainer: Any) -> dict[str, Any]:
        """What GRPOTrainer calls: a game for each entry; a prompt of the data set is the id of a sample."""
        return self.loop.run_until_complete(self._played(samples, trainer))

    async def _played(self, samples: list[str], trainer: Any) -> dict[str, Any]:
        playing = [await self.games.new(sample) for sample in samples]
        prompts = [self._ids(self._text(game.observation.messages)) for game in playing]
        said: list[list[int]] = [[] for _ in playing]
        masks: list[list[int]] = [[] for _ in playing]
        while waiting := [place for place, game in enumerate(playing) if not game.done]:
            drawn = self._drawn([prompts[place] + said[place] for place in waiting], trainer)
            asked = []
            for place, ids in zip(waiting, drawn, strict=True):
                said[place] += ids
                masks[place] += [1] * len(ids)
                asked.append(playing[place].step(self._reply(playing[place], ids)))
            await asyncio.gather(*asked)
            for place in waiting:
                if not playing[place].done:
                    host = self._ids(self._news(playing[place].observation.messages[-1]))
                    said[place] += host
                    masks[place] += [0] * len(host)
        guesses = [self.tokenizer.decode(ids, skip_special_tokens=True).strip() for ids in said]
        listed = [
            small.right(self.games.samples[one], guess) for one, guess in zip(samples, guesses, strict=True)
        ]
        return {
            "prompt_ids": prompts,
            "completion_ids": said,
            "logprobs": None,
            "env_mask": masks,
            "score": [game.reward for game in playing],
            "listed": [float(one) for one in listed],
        }

    @torch.no_grad()
    def _drawn(self, rows: Sequence[list[int]], trainer: Any) -> list[list[int]]:
        """A reply for each sequence, up to and with the token that ends it."""
        model = trainer.accelerator.unwrap_model(trainer.model)
        ready = self.tokenizer.pad({"input_ids": rows}, padding_side="left", return_tensors="pt").to(
            model.device
        )
        out = model.generate(
            **ready, max_new_tokens=self.tokens, do_sample=True, temperature=1.0, top_k=0, top_p=1.0,
            pad_token_id=self.tokenizer.pad_token_id,
        )  # fmt: skip
        drawn = out[:, ready["input_ids"].shape[1] :].tolist()
        end = self.tokenizer.eos_token_id
        return [row[: row.index(end) + 1] if end in row else row for row in drawn]

    def _reply(self, game: Any, ids: list[int]) -> str:
        """The reply as the game takes it; a model that writes no JSON says its guess in plain words."""
        text = self.tokenizer.decode(ids, skip_special_tokens=True).strip() or "-"
        return text if text.startswith("{") else game.observation.answer(text)

    def _ids(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _text(self, messages: Sequence[Any]) -> str:
        return str(self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

    def _news(self, turn: Any) -> str:
        """The host's turn as the template writes it after a reply."""
        asked = [{"role": "user", "content": "-"}, {"role": "assistant", "content": MARK}, turn]
        return self._text(asked).rpartition(MARK)[2]


def score(completions: Any, score: Sequence[float | None], **_: Any) -> list[float | None]:
    """The reward: the game's score."""
    return list(score)


def listed(completions: Any, listed: Sequence[float], **_: Any) -> list[float]:
    """Not learned from (weight 0): whether the sample's own lists call the guess right. See README.md."""
    return list(listed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play and learn; writes the adapter, the games and curve.jsonl."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="a causal model: name on the hub or folder")
    parser.add_argument("--judge", help="a model's name, as in lotbench evaluate --judge")
    parser.add_argument("--data", default="lotbench_easy")
    parser.add_argument("--out", type=Path, default=Path("runs/grpo"))
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument(
        "--smoke", action="store_true", help="a tiny model and a weak judge, on a CPU, without a key"
    )
    asked = parser.parse_args(arguments)
    if not (asked.smoke or (asked.model and asked.judge)):
        parser.error("name --model and --judge, or --smoke")
    return _learn(asked)


def _learn(asked: argparse.Namespace) -> int:
    loop = asyncio.new_event_loop()
    # The smoke takes its words from four samples.
    samples = small.english(asked.data, 4 if asked.smoke else None)
    played = list(samples)[: 1 if asked.smoke else None]
    judge: Any = small.Judge(samples, weak=True) if asked.smoke else asked.judge
    stack = AsyncExitStack()
    opening = lotbench.games(
        judge=judge, oracle=small.nobody, folder=asked.out / "games", data=asked.data, samples=tuple(played),
        settings=SETTINGS | {"max_rounds": 1 if asked.smoke else 3}, check=not asked.smoke,
    )  # fmt: skip
    games = loop.run_until_complete(stack.enter_async_context(opening))
    words = {word for one in samples.values() for word in (*small.nouns(one.caption), *one.key_text.split())}
    base = small.model(asked.out / "base", words) if asked.smoke else asked.model
    tokenizer = AutoTokenizer.from_pretrained(base)
    cpu, size = not torch.cuda.is_available(), 16 if asked.smoke else 8
    config = GRPOConfig(
        output_dir=str(asked.out / "checkpoints"), max_steps=asked.steps, num_generations=size,
        per_device_train_batch_size=size, learning_rate=2e-2 if asked.smoke else 1e-5,
        lr_scheduler_type="constant", reward_weights=[1.0, 0.0], use_cpu=cpu, bf16=not cpu,
        gradient_checkpointing=not cpu, logging_steps=1, disable_tqdm=True, report_to="none", seed=7,
    )  # fmt: skip
    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(base), reward_funcs=[score, listed], args=config,
        train_dataset=Dataset.from_dict({"prompt": played}), processing_class=tokenizer,
        rollout_func=Rollouts(games, loop, tokenizer, 2 if asked.smoke else 64),
        peft_config=None if asked.smoke else LoraConfig(r=16, target_modules="all-linear"),
    )  # fmt: skip
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    trainer.save_model(str(asked.out / "adapter"))
    loop.run_until_complete(stack.aclose())
    logged = small.logged(trainer, "rewards/score/mean", asked.out)
    for name in ("score", "listed"):
        print(small.curve(name, [line[f"rewards/{name}/mean"] for line in logged], 1.0))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
