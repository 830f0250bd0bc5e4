"""A tiny language model with random weights that is taught to play the game badly: the form, and a few fillings a scene."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clot_training.config import Config
from tests.tiny import saved_llama, tokenizer

ROOT = Path(__file__).resolve().parents[1]
STEPS = 60


def said(filling: str) -> str:
    """A reply of the game's form, with its end."""
    return json.dumps({"filling": filling}) + "<|im_end|>"


def taught(
    folder: Path, config: Config, others: Sequence[str], own: Mapping[str, Sequence[str]] | None = None
) -> str:
    """Teach a model these fillings and some of each scene's own, the key text by default; returns its folder.

    Args:
        folder: Where the model goes.
        config: Names the scenes that are played and held out, and the folder as the model.
        others: Wrong fillings of every scene.
        own: Fillings of a scene, by sample.
    """

    from clot_training.playing.rollouts import Rollouts
    from clot_training.playing.samples import split
    from clot_training.tuning.weights import load

    apart = split(config)
    scenes = [*apart.train, *apart.held_out]
    fillings = {one.id: [*others, *(own[one.id] if own else (one.key_text,))] for one in scenes}
    rules = (ROOT / "lotbench/benchmarks/lotbench/prompts/en/talk.txt").read_text("utf-8")
    texts = [text for one in scenes for text in (one.caption, one.response)]
    texts += [said(filling) for some in fillings.values() for filling in some]
    words = tokenizer(corpus=[rules, *texts] * 2, size=1500)
    saved_llama(folder, words)
    with Rollouts(config.play, scenes, apart, folder / "openings", 0) as opened:
        asked = {
            one.id: words.apply_chat_template(
                opened.opening(one.id), tokenize=False, add_generation_prompt=True
            )
            for one in scenes
        }
    model = load(str(folder)).model
    _teach(model, words, [(asked[name], said(one)) for name, some in fillings.items() for one in some])
    model.save_pretrained(folder)
    return str(folder)


def _teach(model: Any, words: Any, rows: Sequence[tuple[str, str]]) -> None:
    import torch

    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    batch = words([a + b for a, b in rows], padding=True, padding_side="left", return_tensors="pt")
    lengths = [len(words(reply)["input_ids"]) for _, reply in rows]
    labels = batch["input_ids"][:, -max(lengths) :].clone()
    for row, length in enumerate(lengths):
        labels[row, : max(lengths) - length] = -100
    for _ in range(STEPS):
        logits = model(**batch, logits_to_keep=max(lengths) + 1).logits[:, :-1]
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
