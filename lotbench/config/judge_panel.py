"""A panel of judges, as a file: its name, and the names of the models in it.

Whether two results compare depends on who judged, so a panel has an id, which holds the digest of its models.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from lotbench.config.experiment import digest, read_toml, validate


class PanelFile(BaseModel):
    """A panel file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    judges: tuple[str, ...] = Field(min_length=1)

    @property
    def id(self) -> str:
        """Results compare within one id: the name, and the digest of the judges whatever their order."""
        return f"{self.name}@{digest(sorted(self.judges))[:8]}"


def load(path: Path) -> PanelFile:
    """Read a panel file.

    Raises:
        UsageError: It cannot be read or does not fit, by file and field.
    """
    return validate(PanelFile, read_toml(path), path)
