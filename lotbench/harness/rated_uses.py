"""Unusual uses of things, with how original people found them: what judges of originality are tried on.

The rows are others' (ocsai); a benchmark puts a use where its candidate's answer stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from lotbench.harness.judge_validation import Probe, Ruling
from lotbench.harness.planted import PlantedRow, Text
from lotbench.types import JSON

USES = "originality of uses"
"""The task of such probes, and the criterion of their rulings."""
NONSENSE = "originality of nonsense"
"""The criterion of uses that are none: words of other uses, drawn at random."""


class RatedUse(PlantedRow):
    """A use of a thing; `rating` is people's mean, 1 to 5, and null of nonsense."""

    use: Text
    rating: float | None = Field(default=None, ge=1, le=5)
    kind: Literal["use", "nonsense"] = "use"

    @property
    def contested(self) -> bool:
        """Never: a rating is a mean."""
        return False


def use_probe(
    role: str, row: RatedUse, *, turn: Mapping[str, JSON], state: Mapping[str, JSON] | None = None
) -> Probe:
    """The probe of a use, put where an answer stands."""
    return Probe(
        id=row.id,
        role=role,
        sample=row.sample,
        step="judge",
        turn=turn,
        label=False,
        kind=row.kind if row.kind == "nonsense" else None,
        language="en",
        split=row.split,
        labels=(),
        contested=False,
        state=state or {},
        task=USES,
        known={"rating": row.rating, "use": row.use},
    )


def use_rulings(probe: Probe, originality: Any) -> list[Ruling]:
    """How original a judge found a use, beside what people found; of nonsense, beside the least there is."""
    rating, said = probe.known["rating"], None if originality is None else float(originality)
    criterion = NONSENSE if rating is None else USES
    truth = 1.0 if rating is None else float(str(rating))
    return [Ruling(criterion, probe.id, probe.sample, probe.kind, probe.language, truth, said)]
