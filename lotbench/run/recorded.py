"""The samples, prompts and settings that a run folder records at its start: how they are written and read again.

An existing run uses its recorded samples and prompts, even if the data set has changed. Only pictures are read from the
data set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from os.path import isfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lotbench import benchmarks
from lotbench.config.experiment import Experiment, digest, validate
from lotbench.config.model_names import Names, address
from lotbench.errors import DataError, RunFolderError, UsageError
from lotbench.prompting.prompt import Pack, pack
from lotbench.run.folder_shapes import read_run_json, read_samples
from lotbench.run.plan import Plan
from lotbench.storage import datasets, export, run_folder
from lotbench.storage.jsonl import rows, tables
from lotbench.types import JSON, RUN_SCHEMA

DATA = "data.jsonl"
"""The rows of the data set that episodes see; missing if they see only the samples of the run."""


def freeze(plan: Plan, place: run_folder.Folder, duel: str = "") -> None:
    """Write the plan of a run to its folder; run.json comes last, so a folder that has it is complete.

    `duel` is the name of the duel to which the run belongs, "" for none.
    """
    for path, text in plan.prompts.files.items():
        place.write(f"prompts/{path}", text)
    samples = [sample.model_dump(mode="json") for sample in plan.chosen]
    place.write("samples.jsonl", export.text(samples, ".jsonl"))
    if plan.benchmark.shared_fields is not None:
        place.write(DATA, export.text([vars(row) for row in plan.data_rows], ".jsonl"))
    table = {
        "schema": RUN_SCHEMA,
        "benchmark": plan.benchmark.name,
        "version": plan.benchmark.version,
        "experiment": plan.experiment.model_dump(mode="json"),
        "sampling": {role: asdict(sampling) for role, (sampling, _) in plan.sampling().items()},
        "limits": plan.limits.model_dump(mode="json"),
        **({"duel": duel} if duel else {}),
        # Without passwords and queries: `checked_url` has refused these.
        "servers": servers(plan.names),
        "digests": plan.digests,
        "recorded": {
            "of": plan.of,
            "hand_picked": plan.hand_picked,
            "own_data": plan.own_data,
            "samples": digest(samples),
            "prompts": {path: digest(text) for path, text in plan.prompts.files.items()},
            "pictures": {name: plan.pictures[name].sha256 for name in _picture_names(plan)},
            **({"seen": plan.seen} if plan.names["candidate"][0].kind == "hf" else {}),
        },
    }
    place.write_json("run.json", table)


def servers(names: Names) -> dict[str, JSON]:
    """Return the addresses of models whose id alone does not identify them, by name."""
    return {n.text: address(n) for models in names.values() for n in models if n.url and address(n)}


def _picture_names(plan: Plan) -> list[str]:
    """Return the names of the pictures of the chosen samples, as `datasets.Pictures` has them."""
    known = set(plan.pictures)
    return [name for item in plan.chosen for name in (item.id, f"{item.id}/other") if name in known]


def experiment(path: Path, table: Mapping[str, Any]) -> Experiment:
    """Return the experiment in the table `experiment` of a run.json, with defaults for missing settings.

    Raises:
        UsageError: A field other than `settings` is not valid; settings that are not valid are returned unchanged.
    """
    read = validate(Experiment, table, path)
    try:
        declared = benchmarks.get(read.benchmark).Settings
        settings = validate(declared, read.settings).model_dump(mode="json")
    except UsageError:
        # The error is raised when the run is planned; a run can be read without valid settings.
        return read
    return read.model_copy(update={"settings": settings})


def home(config: Experiment) -> Path:
    """Return the folder of a run's data set, which may be gone."""
    try:
        return datasets.data_folder(config.data, benchmarks.get(config.benchmark).data_set)
    except UsageError:
        return Path(config.data)


def plan_fields(run: Path, config: Experiment, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recorded data of a run, by the fields of Plan.

    Args:
        run: The folder.
        config: Its experiment, as `experiment` returns it.
        table: Its run.json.

    Raises:
        RunFolderError: The experiment, samples or prompts have changed since the run began, by name.
        UsageError: The samples or prompts are not valid.
    """
    benchmark, record = benchmarks.get(config.benchmark), table["recorded"]
    prompts, place = pack(datasets.prompt_files(run / "prompts")), home(config)
    samples = list(read_samples(run).values())
    changed = ["experiment"] if digest(table["experiment"]) != table["digests"]["experiment"] else []
    changed += ["data", "samples.jsonl"] if digest(samples) != record["samples"] else []
    if changed := [*changed, *_changed_prompts(prompts, record["prompts"])]:
        raise changed_error(run, changed)
    played = tuple(sample for _, sample in rows(run / "samples.jsonl", benchmark.Sample.model_validate))
    shared_rows: Sequence[Any] = played
    if benchmark.shared_fields is not None:
        shared_rows = tuple(SimpleNamespace(**row) for _, row in tables(run / DATA))
    seen = record.get("seen", ())
    return {
        "folder": place,
        "data": played,
        "chosen": played,
        "data_rows": shared_rows,
        "of": record["of"],
        "own_data": record.get("own_data", False),
        "hand_picked": record.get("hand_picked", 0 < len(config.samples) < record["of"]),
        "pictures": datasets.Pictures(place, played, config.max_image_px, record["pictures"]),
        "prompts": prompts,
        "recorded": table["digests"],
        "seen": None if seen is None else tuple(seen),
    }


def changed_error(run: Path, changed: Sequence[str]) -> RunFolderError:
    """Return the error that lists what has changed."""
    return RunFolderError(f"{run}: changed since the run began: {', '.join(changed)}")


def refuse_changed(plan: Plan, run: Path) -> None:
    """Refuse to go on with a run of another version of its benchmark, or whose pictures are missing or not those that it recorded.

    Raises:
        DataError: Pictures are missing; all are listed.
        RunFolderError: The version is another one, so that the rest would be played by other rules; or pictures have changed,
            have no recorded digest, or lie outside the data set; all are listed.
    """
    began, version = read_run_json(run).get("version"), plan.benchmark.version
    if began != version:
        raise RunFolderError(
            f"{run}: was begun with version {began} of {plan.benchmark.name}, this lotbench has {version}: begin a new run"
        )
    if not plan.benchmark.shows_pictures(plan.settings):
        return
    paths = {name: plan.pictures.path(name) for name in _picture_names(plan)}
    if gone := [path for path in dict.fromkeys(paths.values()) if not isfile(path)]:
        raise DataError([f"{path}: the picture is not there" for path in gone])
    changed = []
    for name in paths:
        try:
            plan.pictures.sent_bytes(plan.pictures[name].sha256)
        except DataError:
            changed.append(f"data.{name}.image")
    if changed:
        raise changed_error(run, ["data", *changed])


def _changed_prompts(prompts: Pack, before: Mapping[str, str]) -> list[str]:
    now = {path: digest(text) for path, text in prompts.files.items()}
    names = sorted(path for path in {*before, *now} if before.get(path) != now.get(path))
    return ["prompts", *(f"prompts.{name}" for name in names)] if names else []
