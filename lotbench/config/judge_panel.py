"""Panel files: a name and the models of a panel of judges.

Results can be compared only under the same judges, so a panel has an id with the digest of its models.
"""

from collections.abc import Iterable
from pathlib import Path

from pydantic import Field

from lotbench.config.experiment import digest, read_toml, validate
from lotbench.types import FrozenModel


class PanelFile(FrozenModel):
    """A panel file: the name of the panel, and the names of its models."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    judges: tuple[str, ...] = Field(min_length=1)

    @property
    def id(self) -> str:
        """The name with a digest of the judges in any order; results of panels with the same id can be compared."""
        return panel_id(self.name, self.judges)


def panel_id(name: str, judges: Iterable[str]) -> str:
    """Return the id of a panel: its name with a digest of its judges; see `PanelFile.id`."""
    return f"{name}@{digest(sorted(judges))[:8]}"


def load(path: Path) -> PanelFile:
    """Read a panel file.

    Raises:
        UsageError: The file cannot be read or is invalid; the message names file and field.
    """
    return validate(PanelFile, read_toml(path), path)
