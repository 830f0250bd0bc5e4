"""What the slow tests of two doors share, so that it is made once: both files are one worker's."""

from pathlib import Path

import pytest

from tests.environments import environment
from tests.pages import ROOT


@pytest.fixture(scope="session")
def openenv_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with lotbench and openenv, whose pins fight ours."""
    return environment(tmp_path_factory.mktemp("openenv"), "--no-build-isolation", f"{ROOT}[openenv]")
