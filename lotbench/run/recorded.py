"""What a run folder carries of what the run plays: written when the run begins, read whenever it is looked at again.

A run is read with its own samples and prompts. The data set is looked for to find its pictures, and to see whether
a sample is another one now.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lotbench import benchmarks
from lotbench.config.experiment import Experiment, digest, validate
from lotbench.edge.calls.journal import read_journal
from lotbench.edge.files import datasets, run_folder
from lotbench.edge.files.jsonl import rows, tables
from lotbench.errors import DataError, RunFolderError, UsageError
from lotbench.harness.benchmark import Benchmark
from lotbench.prompting.prompt import Pack, pack
from lotbench.run.folder_shapes import read_samples
from lotbench.run.plan import Plan, Recorded
from lotbench.types import JSON

DATA = "data.jsonl"
"""What walks see of every sample of the data set, in its order; not there if they see none but the played ones."""


def freeze(made: Plan, place: run_folder.Folder) -> None:
    """Write down what a run is; run.json last, so that a folder that has it is whole."""
    for path, text in made.prompts.files.items():
        place.write(f"prompts/{path}", text)
    samples = [sample.model_dump(mode="json") for sample in made.chosen]
    place.write("samples.jsonl", _lines(samples))
    if made.benchmark.beside is not None:
        place.write(DATA, _lines([vars(row) for row in made.beside]))
    table = {
        "schema": 1,
        "benchmark": made.benchmark.name,
        "version": made.benchmark.version,
        "experiment": made.experiment.model_dump(mode="json"),
        "sampling": {role: asdict(sampling) for role, (sampling, _) in made.sampling().items()},
        "limits": made.limits.model_dump(mode="json"),
        "digests": made.digests,
        "recorded": {
            "of": made.of,
            "samples": digest(samples),
            "prompts": {path: digest(text) for path, text in made.prompts.files.items()},
            "pictures": {one.id: made.pictures[one.id].sha256 for one in made.chosen if one.image},
            **({"seen": made.seen} if made.names["candidate"][0].adapter else {}),
        },
    }
    place.write_json("run.json", table)


def _lines(rows: Sequence[Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def experiment(path: Path, table: Mapping[str, Any]) -> Experiment:
    """The experiment of a run.json, with the settings and fields that it lacks as they were before them.

    Raises:
        UsageError: It is damaged, with the fields.
    """
    read = validate(Experiment, table, path)
    try:
        declared = benchmarks.get(read.benchmark).Settings
        settings = validate(declared, read.settings).model_dump(mode="json")
    except UsageError:
        # Said when the run is planned; until then it can be told without.
        return read
    return read.model_copy(update={"settings": settings})


@dataclass(frozen=True, slots=True)
class Home:
    """Where the data set of a run is now.

    Attributes:
        items: Its samples; none if it is gone, or the benchmark composes samples of them.
        changed: The fields of the run's samples that it says otherwise.
    """

    folder: Path
    items: Sequence[Any] = ()
    changed: tuple[str, ...] = ()


def home(run: Path, config: Experiment, folder: Path | None = None) -> Home:
    """The data set of a run: a folder, or what has its name, or else the shipped one that has its samples as they were."""
    benchmark, samples = benchmarks.get(config.benchmark), _samples(run)
    named = _named(config, benchmark)
    near = () if Path(config.data, "samples.jsonl").is_file() else datasets.data_sets()
    fallback = Home(named)
    for place in (folder,) if folder else dict.fromkeys((named, *near)):
        if benchmark.composed is not None:
            if all((place / sample["image"]).is_file() for sample in samples if sample.get("image")):
                return Home(place)
            continue
        found = _compared(place, _items(place, benchmark), samples)
        if found is None:
            continue
        if not found.changed and {sample["id"] for sample in samples} <= {item.id for item in found.items}:
            return found
        if folder or place == named:
            fallback = found
    return fallback


def _compared(folder: Path, items: Sequence[Any], samples: Sequence[Mapping[str, Any]]) -> Home | None:
    """A data set beside the samples of a run; None if it has none of them."""
    known = {item.id: item.model_dump(mode="json") for item in items}
    there = [sample for sample in samples if sample["id"] in known]
    changed = [name for one in there for name in _differing(one, known[one["id"]], f"data.{one['id']}")]
    return Home(folder, items, tuple(changed)) if there else None


def read(run: Path, config: Experiment, table: Mapping[str, Any]) -> Recorded:
    """What a run folder carries.

    Args:
        run: The folder.
        config: Its experiment, as `experiment` reads it.
        table: Its run.json.

    Raises:
        RunFolderError: Its samples or prompts are not what they were when the run began, by name.
        UsageError: They are damaged.
    """
    benchmark, kept = benchmarks.get(config.benchmark), table["recorded"]
    samples, prompts, place = _samples(run), pack(datasets.prompt_files(run / "prompts")), home(run, config)
    changed = [*_changed_samples(samples, kept, place), *_changed_prompts(prompts, kept["prompts"])]
    if changed:
        raise changed_since(run, changed)
    model = benchmark.Sample
    path = run / "samples.jsonl"
    played = tuple(one for _, one in rows(path, lambda table: model.model_validate(table)))
    beside: Sequence[Any] = played
    if benchmark.beside is not None:
        beside = tuple(SimpleNamespace(**row) for _, row in tables(run / DATA))
    seen = kept.get("seen", ())
    return Recorded(
        played,
        beside,
        kept["of"],
        place.folder,
        kept["pictures"],
        prompts,
        table["digests"],
        None if seen is None else tuple(seen),
    )


def changed_since(run: Path, changed: Sequence[str]) -> RunFolderError:
    """The error that names what is no longer as it was."""
    return RunFolderError(f"{run}: changed since the run began: {', '.join(changed)}")


def changed_experiment(run: Path, table: Mapping[str, Any], made: Plan) -> list[str]:
    """The fields in which a run's experiment is not what it was when the run began, by name."""
    before = table["experiment"]
    changed = _differing(before, made.experiment.model_dump(mode="json"), "experiment")
    if digest(before) == table["digests"]["experiment"] and not changed:
        return []
    asked = {(one.role, one.asked) for one in read_journal(run / "calls.jsonl")}
    named = {role: {name.text for name in names} for role, names in made.names.items()}
    others = {f"experiment.roles.{role}" for role, name in asked if name not in named.get(role, ())}
    return ["experiment", *changed, *sorted(others - set(changed))]


def refuse_lost_pictures(made: Plan, run: Path) -> None:
    """See that the pictures that a run goes on to show are there and are those that it began with.

    Raises:
        DataError: Some are gone, each by name.
        RunFolderError: Some are other pictures now, by name.
    """
    if not made.benchmark.shows_pictures(made.settings):
        return
    paths = {one.id: made.pictures.path(one.id) for one in made.chosen if one.image}
    if gone := [path for path in dict.fromkeys(paths.values()) if not path.is_file()]:
        raise DataError([f"{path}: the picture is not there" for path in gone])
    changed = []
    for name in paths:
        try:
            made.pictures.sent(made.pictures[name].sha256)
        except DataError:
            changed.append(f"data.{name}.image")
    if changed:
        raise changed_since(run, ["data", *changed])


def _samples(run: Path) -> list[dict[str, Any]]:
    return list(read_samples(run).values())


def _named(config: Experiment, benchmark: Benchmark) -> Path:
    """The folder that the experiment names, whether it is there or not."""
    try:
        return datasets.data_folder(config.data, benchmark.data_set)
    except UsageError:
        return Path(config.data)


def _items(folder: Path, benchmark: Benchmark) -> Sequence[Any]:
    """The samples of a data set; none if it is not there, has faults, or is another benchmark's."""
    try:
        return [row for _, row in rows(folder / "samples.jsonl", benchmark.Item.model_validate)]
    except DataError:
        return ()


def _changed_samples(samples: Sequence[Mapping[str, Any]], kept: Mapping[str, Any], place: Home) -> list[str]:
    if place.changed:
        return ["data", *place.changed]
    return ["data", "samples.jsonl"] if digest(samples) != kept["samples"] else []


def _changed_prompts(prompts: Pack, known: Mapping[str, str]) -> list[str]:
    now = {path: digest(text) for path, text in prompts.files.items()}
    names = sorted(path for path in {*known, *now} if known.get(path) != now.get(path))
    return ["prompts", *(f"prompts.{name}" for name in names)] if names else []


def _differing(was: JSON, now: JSON, path: str) -> list[str]:
    """The dotted names of the fields of a record that it has otherwise now; what it lacked does not count."""
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        return [name for key in was for name in _differing(was[key], now.get(key), f"{path}.{key}")]
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        pairs = enumerate(zip(was, now, strict=True))
        return [name for index, pair in pairs for name in _differing(*pair, f"{path}.{index}")]
    return [] if was == now else [path]
