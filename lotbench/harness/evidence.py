"""What the numbers of a report rest on beside the traces: the samples, embeddings, and labels that people gave.

It is read from the run folder and handed to the pure functions that count, so that a score can be made
again without the store, the network or the encoder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lotbench.types import JSON


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known beside the traces.

    Attributes:
        samples: The samples of the data set, by id.
        candidate: The name of the model under test, as it was asked for.
        vectors: The embedding of each text that the benchmark wants embedded, by text; unit length,
            float32, one dimension. Empty where there is none.
        encoder: The name of the encoder that made them.
        why: Why there are no vectors, with the command that helps; None if there are.
        labels: What people said of the run's answers, a row each.
    """

    samples: Mapping[str, Any] = field(default_factory=dict)
    candidate: str = ""
    vectors: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    encoder: str = ""
    why: str | None = None
    labels: tuple[Mapping[str, JSON], ...] = ()


NOTHING = Evidence()
"""No more than the traces."""
