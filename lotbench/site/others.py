"""How others did on a sample: the games of models and of other people under the same conditions."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from lotbench.errors import LotbenchError
from lotbench.site.runs import Gallery
from lotbench.storage import run_folder


@dataclass(frozen=True, slots=True)
class Standing:
    """The games of one model, or of all people together, on a sample.

    Attributes:
        name: The model's name; "" for people.
        rounds: The round in which each game was solved; None for a game that was not solved.
    """

    name: str
    rounds: tuple[int | None, ...]

    @property
    def solved(self) -> list[int]:
        """The rounds of the solved games, in ascending order."""
        return sorted(number for number in self.rounds if number is not None)

    @property
    def round(self) -> float | None:
        """The median round of the solved games; None if no game was solved."""
        return median(self.solved) if self.solved else None


def others(gallery: Gallery, sample: str, own_run: Path) -> list[Standing]:
    """Return how others did on a sample in runs under the conditions of `own_run`, fewest rounds first, unsolved last.

    Args:
        gallery: The folder of runs.
        sample: The sample id.
        own_run: The run folder of the player, which is left out.
    """
    own = _conditions(own_run)
    models: list[Standing] = []
    people: list[int | None] = []
    for name in sorted(gallery.names()):
        if name == own_run.name or _conditions(gallery.root / name) != own:
            continue
        try:
            shelf = gallery.shelf(name)
        except LotbenchError:
            continue
        # A game that broke off does not show how far its player was from the answer.
        rows = [row for row in shelf.rows if row.sample == sample and not row.outcome.endswith("_failed")]
        rounds = [row.solved for row in rows]
        if shelf.run.config.model.startswith("human:"):
            people += rounds
        elif rounds:
            models.append(Standing(shelf.run.config.model.partition("@http")[0], tuple(rounds)))
    standings = [*models, *([Standing("", tuple(people))] if people else [])]
    return sorted(standings, key=lambda row: (row.round is None, row.round or 0, row.name))


def _conditions(path: Path) -> Mapping[str, Any]:
    """Return what must be equal in two runs for their rounds to be compared; empty if run.json cannot be read."""
    try:
        table = run_folder.read_json(path / "run.json")
        fields = table["experiment"]
        names = ("benchmark", "settings", "roles", "data")
        return {"prompts": table["digests"]["prompts"], **{name: fields[name] for name in names}}
    except (LotbenchError, KeyError, TypeError):
        return {}
