"""trl's GRPO trainer, with games as rollouts, and the beginning that a group of games shares computed once.

Only what is said of a game changes: the objective, its clipping, the advantages and the divergence are trl's (1.16).
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from clot_training.config import Config
from clot_training.playing.rollouts import Played
from clot_training.tuning.beginnings import after
from lotbench.edge.models.transformers.loading import Loaded

Play = Callable[[Any, Sequence[str]], list[Played]]
"""Plays a game on each sample with the trainer's model as it is."""


class GameTrainer(GRPOTrainer):  # type: ignore[misc]
    """GRPO on games; a row of its data set is the id of a sample.

    Args:
        model: With its adapter.
        tokenizer: The model's.
        args: trl's settings.
        samples: The ids of what is played.
        play: Plays them.
    """

    def __init__(
        self, model: Any, tokenizer: Any, args: GRPOConfig, samples: Sequence[str], play: Play
    ) -> None:
        # trl warns of its rollouts being experimental; the version is pinned.
        os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
        super().__init__(
            model=model,
            reward_funcs=[score],
            args=args,
            train_dataset=Dataset.from_dict({"prompt": list(samples)}),
            processing_class=tokenizer,
            rollout_func=lambda prompts, trainer: _told(play(trainer, prompts)),
        )

    def _get_train_sampler(self, dataset: Any = None) -> Order:
        return Order(len(self.train_dataset), self.num_generations, self.args.seed)

    def create_model_card(self, *args: Any, **more: Any) -> None:
        """None: what a run was is said in its report."""

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: Any,
        attention_mask: Any,
        logits_to_keep: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        **more: Any,
    ) -> Any:
        """What trl computes, [rows, logits_to_keep] each, with the prompt that rows share read once."""
        if self.args.gradient_checkpointing or any(value is not None for value in more.values() if value):
            return super()._get_per_token_logps_and_entropies(
                model,
                input_ids,
                attention_mask,
                logits_to_keep,
                batch_size=batch_size,
                compute_entropy=compute_entropy,
                **more,
            )
        groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for row, (ids, there) in enumerate(zip(input_ids, attention_mask, strict=True)):
            groups[tuple(ids[:-logits_to_keep][there[:-logits_to_keep].bool()].tolist())].append(row)
        made: list[Any] = [None] * len(input_ids)
        for prompt, places in groups.items():
            ids, there = input_ids[places, -logits_to_keep:], attention_mask[places, -logits_to_keep:]
            logits = after(model, prompt, ids, there) / self.temperature
            logs = logits.float().log_softmax(dim=-1)
            said = logs.gather(-1, ids.unsqueeze(-1)).squeeze(-1)
            doubt = -(logs.exp() * logs).sum(dim=-1).detach() if compute_entropy else said
            for place, one, other in zip(places, said, doubt, strict=True):
                made[place] = (one, other)
        logps, entropies = (torch.stack(rows) for rows in zip(*made, strict=True))
        return logps, entropies if compute_entropy else None, None


def arguments(config: Config, loaded: Loaded, out: Path) -> Any:
    """The settings of trl: every step plays games of its own, so that nothing is learned from an older model's games."""
    play = config.play
    return GRPOConfig(
        output_dir=str(out / "checkpoints"),
        per_device_train_batch_size=play.group * play.scenes,
        num_generations=play.group,
        gradient_accumulation_steps=1,
        steps_per_generation=1,
        max_steps=play.steps,
        learning_rate=play.learning_rate,
        lr_scheduler_type="constant",
        beta=play.kl,
        temperature=play.temperature,
        max_grad_norm=config.tune.max_grad_norm,
        # What was drawn with nothing dropped is to be learned from with nothing dropped.
        disable_dropout=True,
        activation_checkpointing=config.tune.gradient_checkpointing,
        bf16=loaded.model.dtype == torch.bfloat16,
        use_cpu=not torch.cuda.is_available(),
        seed=config.seed,
        logging_steps=1,
        save_steps=play.save_steps,
        save_total_limit=2,
        report_to=list(config.tune.track) or "none",
        disable_tqdm=True,
    )


class Order:
    """The order of the samples in an epoch, each as often as it is played in a group: by seed and epoch alone.

    trl's own draws on from epoch to epoch, so that a training that goes on would play other samples.
    """

    def __init__(self, samples: int, group: int, seed: int) -> None:
        self._samples, self._group, self._seed = samples, group, seed
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Called before each epoch."""
        self._epoch = epoch

    def __len__(self) -> int:
        return self._samples * self._group

    def __iter__(self) -> Iterator[int]:
        drawn = torch.Generator().manual_seed(self._seed + self._epoch)
        order = torch.randperm(self._samples, generator=drawn).tolist()
        return (sample for sample in order for _ in range(self._group))


def score(
    reward: Sequence[float | None], log_metric: Callable[[str, float], None], **more: Any
) -> list[float | None]:
    """The reward of each game: its score; None, and no learning from it, where it broke off."""
    log_metric("broke_off", sum(one is None for one in reward))
    return list(reward)


def _told(played: Sequence[Played]) -> dict[str, Any]:
    """Games as trl wants them of a rollout."""
    return {
        "prompt_ids": [one.talk.prompt for one in played],
        "completion_ids": [one.talk.completion for one in played],
        "env_mask": [one.talk.mask for one in played],
        # Known to trl only of vLLM, whose arithmetic is another; here the trained model itself has drawn.
        "logprobs": None,
        "reward": [one.reward for one in played],
    }
