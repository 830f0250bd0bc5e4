"""A skip in CI is a failure unless it is listed with a reason."""

from __future__ import annotations

import pytest

from tests.conftest import not_allowed

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
