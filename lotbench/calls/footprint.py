"""Energy and CO2e of a run's calls, estimated by ecologits from output tokens and seconds (extra `footprint`).

Providers publish no such figures: these are ranges from a model of their hardware, printed with the library's version.
Models that run here, or that the library does not know, have no estimate.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec

import numpy as np

from lotbench.types import JSON

PROVIDERS = {"openai": "openai", "anthropic": "anthropic", "gemini": "google_genai", "mistral": "mistralai"}
"""Names of providers in ecologits, by our names."""


@dataclass(slots=True)
class Work:
    """Output tokens and seconds of all calls to one model of a provider in one role."""

    provider: str
    model: str
    output_tokens: int = 0
    seconds: float = 0.0


def footprint(by_role: Mapping[str, Iterable[Work]]) -> dict[str, JSON] | None:
    """Estimate the energy and the CO2e of the calls of each role.

    Returns:
        `library`: its name and version. `by_role`: for each role `energy_kwh` and `co2e_kg`, each as [lowest, highest];
        None for a role without calls or with a model that the library does not know. If the library is not installed,
        the whole result is None.
    """
    if find_spec("ecologits") is None:
        return None
    roles: dict[str, JSON] = {role: _sum_impacts(works) for role, works in by_role.items()}
    return {"library": f"ecologits {metadata.version('ecologits')}", "by_role": roles}


def _sum_impacts(works: Iterable[Work]) -> JSON:
    impacts = [_impacts(work) for work in works]
    if not impacts or None in impacts:
        return None
    energy, carbon = np.sum(np.array(impacts), axis=0).tolist()
    return {"energy_kwh": energy, "co2e_kg": carbon}


def _impacts(work: Work) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Return energy in kWh and CO2e in kg, each as (lowest, highest); None if the library does not know the model.

    The estimate is linear in tokens and seconds, so the sums of a model's calls suffice.
    """
    from ecologits.tracers.utils import llm_impacts

    # ecologits logs unknown models; here they give None.
    logging.getLogger("ecologits").setLevel(logging.CRITICAL)
    provider = PROVIDERS.get(work.provider)
    if provider is None:
        return None
    impacts = llm_impacts(provider, work.model, work.output_tokens, work.seconds)
    if impacts.errors or impacts.energy is None or impacts.gwp is None:
        return None
    return _ends(impacts.energy.value), _ends(impacts.gwp.value)


def _ends(value: object) -> tuple[float, float]:
    low, high = getattr(value, "min", value), getattr(value, "max", value)
    return float(str(low)), float(str(high))
