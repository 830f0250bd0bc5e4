"""The tuned model in vLLM: `explore.generator = "vllm"`, for GPUs. vLLM is in no extra; install it yourself.

vLLM batches as requests come, so a draw near the edge between two tokens may fall differently in another
company; seeds and prompts are the same as with transformers.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from clot_training.config import Config
from clot_training.records import Prompt
from clot_training.tuning.examples import picture
from clot_training.tuning.weights import folder
from lotbench.errors import UsageError


class VllmPolicy:
    """A base model with an adapter, served by vLLM in this process.

    Args:
        config: Names the base and how responses are drawn.
        adapter: The adapter's folder.

    Raises:
        UsageError: vLLM is not installed.

    Attributes:
        id: Base and adapter.
    """

    def __init__(self, config: Config, adapter: Path) -> None:
        if find_spec("vllm") is None:
            raise UsageError('explore.generator = "vllm" needs vllm, which is in no extra: pip install vllm')
        from vllm import LLM
        from vllm.lora.request import LoRARequest

        base = folder(config.model)
        self.id = f"{base}+{adapter}"
        self._settings = config.explore
        self._model = LLM(base, enable_lora=True, max_lora_rank=config.tune.rank, max_logprobs=32)
        self._adapter = LoRARequest("tuned", 1, str(adapter))

    def generate(self, prompts: Sequence[Prompt]) -> list[str]:
        """Write one response to each prompt, drawn with its seed."""
        from vllm import SamplingParams

        drawn = [
            SamplingParams(
                temperature=self._settings.temperature,
                top_p=self._settings.top_p,
                max_tokens=self._settings.max_tokens,
                seed=prompt.seed,
            )
            for prompt in prompts
        ]
        return [one.outputs[0].text for one in self._chat(prompts, drawn)]

    def select(self, prompts: Sequence[Prompt], labels: Sequence[Sequence[str]]) -> list[int]:
        """Choose in each prompt the option whose label is likeliest to begin the reply; places from 0."""
        from vllm import SamplingParams

        tokenizer = self._model.get_tokenizer()
        tokens = [[tokenizer.encode(label, add_special_tokens=False)[0] for label in row] for row in labels]
        drawn = [
            SamplingParams(temperature=0.0, max_tokens=1, allowed_token_ids=allowed) for allowed in tokens
        ]
        replies = self._chat(prompts, drawn)
        return [
            allowed.index(one.outputs[0].token_ids[0]) for allowed, one in zip(tokens, replies, strict=True)
        ]

    def _chat(self, prompts: Sequence[Prompt], drawn: list[Any]) -> list[Any]:
        talks = [[_turn(message) for message in prompt.messages] for prompt in prompts]
        found: list[Any] = self._model.chat(talks, drawn, lora_request=self._adapter, use_tqdm=False)
        return found


def _turn(message: Any) -> dict[str, Any]:
    """A message as vLLM takes it: its pictures as pillow images."""
    if isinstance(message["content"], str):
        return dict(message)
    parts = [
        {"type": "image_pil", "image_pil": picture(part["image"])} if part["type"] == "image" else part
        for part in message["content"]
    ]
    return {"role": message["role"], "content": parts}
