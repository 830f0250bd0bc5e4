"""The inputs of metrics beside the traces: samples, embeddings and people's labels.

They are read from the run folder, so scores can be computed again without the store, the network or the encoder.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lotbench.types import JSON


@dataclass(frozen=True, slots=True)
class Evidence:
    """The inputs of metrics beside the traces.

    Attributes:
        samples: The samples of the data set, by id.
        candidate: The requested name of the model under test.
        vectors: The embedding of each answer, by text: [dimensions] of float32, unit length. May be empty.
        encoder: The name of the encoder.
        why: Why there are no vectors, with the command that helps; None if there are vectors.
        labels: Labels of people on the run's answers, one row each.
        run: What a command calls the run (`run_folder.called`); "" if it has no folder.
    """

    samples: Mapping[str, Any] = field(default_factory=dict)
    candidate: str = ""
    vectors: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    encoder: str = ""
    why: str | None = None
    labels: tuple[Mapping[str, JSON], ...] = ()
    run: str = ""


NOTHING = Evidence()
"""No inputs beside the traces."""
