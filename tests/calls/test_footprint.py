"""Energy and CO2e: sums of ranges by role, and null where nothing is known."""

import pytest

from lotbench.calls import footprint as module
from lotbench.calls.footprint import Work, footprint


def test_without_the_extra_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert footprint({"candidate": [Work("openai", "gpt-4o-mini", 10, 1.0)]}) is None


def test_a_role_is_the_sum_of_its_models() -> None:
    one, two = Work("openai", "gpt-4o-mini", 1000, 10.0), Work("openai", "gpt-4o", 500, 5.0)
    found = footprint({"candidate": [one], "judge": [two], "both": [one, two], "nobody": []})
    assert found is not None
    assert found["library"].startswith("ecologits ")
    roles = found["by_role"]
    for name in ("energy_kwh", "co2e_kg"):
        parts = [roles["candidate"][name], roles["judge"][name]]
        assert 0 < parts[0][0] <= parts[0][1]
        assert roles["both"][name] == pytest.approx([sum(ends) for ends in zip(*parts, strict=True)])
    assert roles["nobody"] is None


@pytest.mark.parametrize(
    "work",
    [Work("openai", "gpt-nobody-knows", 10, 1.0), Work("url", "gpt-4o", 10, 1.0), Work("local", "x", 1, 1)],
)
def test_what_the_library_does_not_know_is_null(work: Work) -> None:
    found = footprint({"judge": [Work("openai", "gpt-4o", 10, 1.0), work]})
    assert found is not None
    assert found["by_role"] == {"judge": None}
