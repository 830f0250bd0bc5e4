"""A skip in CI is a failure unless it is listed with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import not_allowed
from tests.of_tests.test_conftest import run_pytest

SKIPPED = ["tests/test_a.py::test_one", "tests/test_a.py::test_two[x]", "tests/test_b.py"]


@pytest.mark.parametrize(
    ("listed", "left"),
    [
        ("", SKIPPED),
        ("# only a remark", SKIPPED),
        ("tests/test_a.py::test_one  # needs a graphics card", SKIPPED[1:]),
        ("tests/test_a.py  # needs a browser\ntests/test_b.py # so does this", []),
        ("tests/test_a.py", SKIPPED),
        ("tests/test_a.py  #", SKIPPED),
    ],
)
def test_a_skip_is_allowed_by_a_line_with_a_reason(listed: str, left: list[str]) -> None:
    assert not_allowed(SKIPPED, listed) == left


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n", "2")])
@pytest.mark.parametrize(
    "within", ["def test_it(): pytest.skip(WHY)", "pytest.skip(WHY, allow_module_level=True)"]
)
def test_an_unlisted_skip_fails_a_run_in_ci(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...], within: str
) -> None:
    monkeypatch.setenv("CI", "true")
    printed = run_pytest(tmp_path, f"import pytest\nWHY = 'no such device'\n{within}\n", *workers)
    assert "skipped, and not in allowed_skips.txt: test_it.py" in printed and "no such device" in printed
