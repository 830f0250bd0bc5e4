"""Inputs that a fuzzer found worth keeping: every reader still ends in order on each of them."""

import pytest

from tests.fuzzing import CORPUS, TARGETS


@pytest.mark.parametrize("target", TARGETS)
def test_every_kept_input_ends_in_order(target: str) -> None:
    inputs = sorted((CORPUS / target).iterdir())
    assert len(inputs) >= 5
    for path in inputs:
        TARGETS[target](path.read_bytes())
