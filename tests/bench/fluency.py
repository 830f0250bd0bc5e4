"""Fluency of 1,000 answers: each embedded once, against every pair run through the encoder by itself.

python -m tests.bench.fluency [--tasks N] [--pairs SHARE]

The second way is that of the public code: both texts of a pair go through the encoder when the pair is
compared, so an answer among ten is encoded nine times, alone. Both ways must come to one value.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from lotbench.benchmarks.hicbench import similarity
from lotbench.edge.calls.embeddings import PACKAGED, Encoder

ANSWERS = 10
WORDS = tuple(
    [
        "membrane",
        "lattice",
        "photon",
        "enzyme",
        "rotor",
        "sensor",
        "graph",
        "polymer",
        "neuron",
        "antenna",
        "turbine",
        "aerosol",
        "quantum",
        "shared",
        "cooled",
        "layered",
        "adaptive",
        "printed",
        "magnetic",
        "porous",
        "switches",
        "stores",
        "measures",
        "filters",
        "routes",
        "predicts",
        "absorbs",
        "drives",
        "couples",
        "traces",
        "the",
        "a",
        "each",
        "one",
        "between",
        "inside",
        "under",
        "after",
        "so",
        "that",
        "which",
        "when",
        "through",
        "light",
        "heat",
        "sound",
        "charge",
    ]
)


def answers(tasks: int, seed: int = 0) -> list[str]:
    """Made-up answers of 20 to 45 words (about 70 tokens at most), ten to a task, that share some of their words with each other."""
    draw = random.Random(seed)
    made = []
    for _ in range(tasks):
        theme = draw.sample(WORDS, 12)
        made += [
            " ".join(
                draw.choice(theme if draw.random() < 0.5 else WORDS) for _ in range(draw.randint(20, 45))
            )
            for _ in range(ANSWERS)
        ]
    return made


def once(encode: Encoder, texts: Sequence[str]) -> list[float]:
    """The mean cosine within each task, every answer embedded once."""
    task = np.arange(len(texts)) // ANSWERS
    vectors = encode(texts).astype(np.float64)
    return [float(value) for value in similarity.within(vectors, task, len(texts) // ANSWERS)]


def pair_by_pair(encode: Encoder, texts: Sequence[str]) -> list[float]:
    """The same, both texts of each pair embedded when the pair is compared."""
    found = []
    for start in range(0, len(texts), ANSWERS):
        pairs = combinations(texts[start : start + ANSWERS], 2)
        found.append(float(np.mean([encode([one])[0] @ encode([other])[0] for one, other in pairs])))
    return found


def main() -> None:
    """Print the CPU time of both, what one is of the other, and the largest difference of any task."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--pairs", type=float, default=1.0, help="the share of tasks that go pair by pair")
    parser.add_argument("--encoder", default=PACKAGED)
    options = parser.parse_args()
    texts, encode = answers(options.tasks), Encoder(options.encoder)
    encode(texts[:2])
    began = time.process_time()
    ours = once(encode, texts)
    quick = time.process_time() - began
    some = round(options.tasks * options.pairs)
    began = time.process_time()
    theirs = pair_by_pair(encode, texts[: some * ANSWERS])
    slow = (time.process_time() - began) / options.pairs
    apart = max(abs(one - other) for one, other in zip(ours, theirs, strict=False))
    print(f"{len(texts)} answers, {options.encoder}; pair by pair on {some} of {options.tasks} tasks")
    print(
        f"CPU: each embedded once {quick:.2f} s; pair by pair {slow:.2f} s; {slow / quick:.1f} times as long"
    )
    print(f"fluency {np.mean(ours):.6f} on all; largest difference of a task {apart:.2e}")
    assert apart < 1e-4, "the two ways differ"
    assert slow / quick >= 15, "embedding each answer once is not 15 times as fast"


if __name__ == "__main__":
    main()
