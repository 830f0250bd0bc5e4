"""The loss of a training run as a picture, and as lines of JSON for whoever wants to draw it otherwise."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from lotbench.edge.files import atomic_write

SMOOTHED = 0.9
"""The weight of the past in the drawn mean; the raw losses stand behind it."""


def write(logged: Sequence[Mapping[str, Any]], folder: Path, title: str) -> None:
    """Write loss.jsonl and loss.png.

    Args:
        logged: A table of each logged step, in order, with `step`, `loss` and what else was logged.
        folder: Where the two files go.
        title: What stands above the picture.
    """
    atomic_write.write(folder / "loss.jsonl", (json.dumps(one) + "\n" for one in logged))
    # Not pyplot: no window system, no state that outlives the picture.
    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    steps, losses = [one["step"] for one in logged], [one["loss"] for one in logged]
    axes.plot(steps, losses, color="0.75", label="as logged")
    axes.plot(steps, _smooth(losses), color="tab:blue", label="running mean")
    axes.set(title=title, xlabel="optimizer step", ylabel="loss", ylim=(0, None))
    axes.legend(frameon=False)
    figure.savefig(folder / "loss.png", dpi=120)


def _smooth(losses: Sequence[float]) -> list[float]:
    """The exponential running mean, unbiased at its beginning."""
    means, total = [], 0.0
    for count, loss in enumerate(losses, 1):
        total = SMOOTHED * total + (1 - SMOOTHED) * loss
        means.append(total / (1 - SMOOTHED**count))
    return means
