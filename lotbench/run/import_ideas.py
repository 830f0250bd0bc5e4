"""Import of the released ideas and critiques of LiveIdeaBench as runs, one per model, for reports and comparisons.

The runs have no calls, so they cannot be rescored or resumed. The rows of v2 have no fluency, so that metric has no value.
`leaderboard.csv` has the numbers of the authors' table, computed as their code does.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lotbench.benchmarks.liveideabench import official, released
from lotbench.benchmarks.liveideabench.sample import Item
from lotbench.config import experiment as config
from lotbench.config.experiment import digest
from lotbench.config.judge_panel import panel_id
from lotbench.errors import UsageError
from lotbench.harness.episode import nobody
from lotbench.harness.state import start
from lotbench.run import plan, recorded, results
from lotbench.run.loading import load_run
from lotbench.storage import export, run_folder
from lotbench.storage.importers import published
from lotbench.types import Trace

SETTINGS = {"exclude": "self", "no_final": "judge_all", "fluency_orders": "one"}
"""The settings of the papers (configs/paper/liveideabench-v1.toml and -v2.toml)."""
UNIT = {"v1": "row", "v2": "keyword"}
"""The setting `flexibility_unit` of each version of the paper."""


def import_ideas(source: Path, out: Path) -> list[Path]:
    """Write a data set of the keywords to `out/keywords` and a run of each model to `out/runs`; return the run folders.

    Args:
        source: The CSV file of released rows; keyword_classifications.csv is read from the same folder if it is there.
        out: The output folder.

    Raises:
        DataError: The rows cannot be read.
        UsageError: The output folder has a data set already, a model's ideas were judged only by itself, or keywords have
            no category and embeddings are not installed.
    """
    files = published.Files(source.parent)
    version, ideas = released.read_released(files, source.name)
    words = list(dict.fromkeys(word for by_word in ideas.values() for word in by_word))
    items = official.items(words, official.categories(files))
    published.write(items, out / "keywords")
    export.write(released.leaderboard(version, ideas), out / "leaderboard.csv")
    every = (idea for by_word in ideas.values() for many in by_word.values() for idea in many)
    critics = sorted({critique.critic for idea in every for critique in idea.critiques})
    settings = SETTINGS | {"version": version, "flexibility_unit": UNIT[version]}
    return [_run(model, ideas[model], items, critics, settings, out) for model in ideas]


def _run(
    model: str,
    ideas: Mapping[str, Sequence[released.Idea]],
    items: Sequence[Item],
    critics: Sequence[str],
    settings: Mapping[str, str],
    out: Path,
) -> Path:
    """Write the run of one model with its report, and return its folder."""
    judges = [f"openrouter/{critic}" for critic in critics]
    if critics == [model]:
        raise UsageError(f"{model}: nobody but itself judged its ideas")
    fields = {
        "benchmark": "liveideabench",
        "model": f"openrouter/{model}",
        "data": str(out / "keywords"),
        "roles.judge": judges,
        "settings.panel": panel_id("released", judges),
        **{f"settings.{name}": value for name, value in settings.items()},
    }
    run_plan = plan.make(config.load(None, (), fields))
    sitting = [name.model for name in run_plan.names["judge"]]
    indexes = {critic: index for index, critic in enumerate(dict.fromkeys([*sitting, *critics]))}
    with run_folder.create(out / "runs", "liveideabench", model, digest(run_plan.experiment)) as place:
        recorded.freeze(run_plan, place)
        place.write("calls.jsonl", "")
        for item in items:
            if item.keyword in ideas:
                steps = released.steps(ideas[item.keyword], indexes, settings["version"])
                place.append(_trace(item, steps, run_plan))
        run = load_run(place.path)
        results.write(run, run_plan, place, 0.0, run.totals())
        return place.path


def _trace(item: Item, steps: list[dict[str, Any]], run_plan: plan.Plan) -> Trace:
    judged = any(step["step"] == "judge" and step["value"]["status"] == "ok" for step in steps)
    outcome = "scored" if judged else "judge_failed"
    state = {**start(item.id, 1), "steps": steps, "outcome": outcome}
    score = run_plan.benchmark.grade(run_plan.episode(item.id, 1, nobody).at(state))
    return Trace(item.id, 1, f"{item.id}/1", outcome, score, tuple(steps), None, {})
