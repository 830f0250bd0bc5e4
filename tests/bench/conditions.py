"""What a sample's similarities cost: explore's way beside encoding everything anew: `python -m tests.bench.conditions`.

The model is a real architecture with random weights, which take as long as trained ones. Naive is what a
script would do: for each sample its picture, and its n keywords at the full context of the text tower. Ours is
the vocabulary once, then for each sample its picture and one product. Both are given the same samples, turn
about, and the figures are medians with their range.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

AIM = 20.0
"""Times faster than naive, at least."""
WORDS = 1_000


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="ViT-B-32", help="an architecture of open_clip")
    parser.add_argument("--samples", type=int, default=9)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LOTBENCH_HOME"] = folder
        measure(asked.model, asked.samples, Path(folder))


def measure(name: str, samples: int, folder: Path) -> None:
    """Print how long one sample takes each way, and how long the vocabulary took."""
    import numpy as np

    from clot_training.config import Clip, Explore
    from clot_training.exploring import conditions
    from clot_training.exploring.clip import Sight
    from clot_training.exploring.vocabulary import vectors
    from tests import shapes

    settings = Explore()
    sight = Sight(Clip(model=name))
    words = [f"{a}{b}" for a in vocabulary(40) for b in vocabulary(25)][:WORDS]
    pictures = [str(path) for path, _ in shapes.renders(folder, 1, 0)]
    matrix, once = timed(lambda: vectors("bench", words, sight.words))
    ours, naive = [], []
    for number in range(samples):
        drawn = conditions.drawn(len(words), settings.n, Random(number))
        path = pictures[number % len(pictures)]
        one, seconds = timed(partial(similar, sight, matrix, drawn, path))
        ours.append(seconds)
        rows, seconds = timed(partial(anew, sight, [words[place] for place in drawn], path))
        naive.append(seconds)
        # The same conditions come out, or the comparison would be of two different things.
        other = conditions.weak(range(len(drawn)), rows, sight.pictures([path])[0], settings)
        assert np.allclose([c.similarity or 0 for c in one], [c.similarity or 0 for c in other], atol=1e-4)
    each = [slow / fast for slow, fast in zip(naive, ours, strict=True)]
    print(f"{name}, {samples} samples of {settings.n} keywords, vocabulary of {len(words):,}")
    print(f"vocabulary, once   {once:8.3f} s")
    for told, seconds in (("a sample, ours", ours), ("a sample, naive", naive)):
        print(f"{told:<18} {median(seconds):8.3f} s  ({min(seconds):.3f} to {max(seconds):.3f})")
    print(
        f"ratio              {median(each):8.1f}    ({min(each):.1f} to {max(each):.1f}; aim {AIM:g} at least)"
    )


def similar(sight: Any, matrix: Any, drawn: Sequence[int], path: str) -> Any:
    """A sample's conditions as explore finds them."""
    from clot_training.config import Explore
    from clot_training.exploring.conditions import weak

    return weak(drawn, matrix, sight.pictures([path])[0], Explore())


def anew(sight: Any, words: Sequence[str], path: str) -> Any:
    """Encode a sample's picture and its keywords as a script would: at the tower's full context, nothing kept."""
    import torch

    model, tokenize = sight._model, sight._tokenize
    with torch.inference_mode():
        sight.pictures([path])
        return model.encode_text(tokenize(list(words)), normalize=True).numpy()


def vocabulary(size: int) -> list[str]:
    """Syllables that tokenizers have not seen together: words of a few tokens each."""
    sounds = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    return sounds[:size]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What some work gave, and its seconds."""
    began = time.perf_counter()
    made = work()
    return made, time.perf_counter() - began


if __name__ == "__main__":
    main()
