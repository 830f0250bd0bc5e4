"""The plan of a run: its configuration, resolved against the benchmark, the data and the prompts.

All faults of a configuration are found here, before the first call and before a run folder is made.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lotbench import benchmarks
from lotbench.calls.caller import sampling
from lotbench.config.experiment import Config, Experiment, Limits, digest, read_toml, validate
from lotbench.config.model_names import ModelName, Names, Servers, parse
from lotbench.errors import UsageError, at
from lotbench.harness.benchmark import Benchmark
from lotbench.harness.episode import AnyEpisode, Call, Episode
from lotbench.harness.loop import Planned, sequences
from lotbench.harness.selection import select
from lotbench.prompting.prompt import Pack
from lotbench.storage import adapter_texts, datasets
from lotbench.storage.pictures import picture_facts
from lotbench.types import JSON, Sample, Sampling

REPLY_TOKENS = 4096
"""The default maximum of tokens in a reply, including reasoning."""


@dataclass(frozen=True)
class Plan:
    """Everything that determines a run.

    Attributes:
        experiment: The experiment with all defaults filled in.
        settings: The benchmark's settings, resolved.
        folder: The folder of the data set.
        data: All samples of the data set; for an existing run, those that it plays.
        chosen: The samples to play.
        data_rows: The samples, with some of their fields, that every episode may see; see `Episode.data`.
        of: The number of samples in the data set.
        hand_picked: Whether the samples were chosen by name, unless they are all samples of their languages or those of a draw.
        own_data: Whether the data set is not a shipped one.
        names: The models of each role, including the candidate.
        by_id: The samples in `data`, by id.
        seen: The ids of chosen samples that the candidate's adapter (or merged model) was trained on; None if unknown.
        recorded: The recorded digests of an existing run.
        share: The number of this plan's share of the samples, from 0, and the number of shares. If episodes pass
            memory from sample to sample, all samples belong to share 0.
    """

    benchmark: Benchmark
    experiment: Experiment
    limits: Limits
    settings: Any
    folder: Path
    data: tuple[Any, ...]
    chosen: tuple[Any, ...]
    data_rows: Sequence[Any]
    of: int
    pictures: datasets.Pictures
    prompts: Pack
    names: Names
    by_id: Mapping[str, Sample]
    seen: tuple[str, ...] | None = ()
    hand_picked: bool = False
    own_data: bool = False
    recorded: Mapping[str, str] | None = None
    share: tuple[int, int] = (0, 1)

    @cached_property
    def digests(self) -> dict[str, str]:
        """The digests of all that scores depend on, by name."""
        if self.recorded is not None:
            return {**self.recorded, "code": version()}
        return {
            "experiment": digest(self.experiment),
            "data": datasets.data_digest(self.folder, self.data, self.pictures),
            "prompts": self.prompts.digest,
            "code": version(),
        }

    @property
    def order(self) -> tuple[str, ...]:
        """The ids of all samples in order, if recorded predictions are joined to samples by position; else empty."""
        joined = getattr(self.settings, "join", "id") == "position"
        return tuple(item.id for item in self.data_rows) if joined else ()

    def sequences(self) -> list[list[Planned]]:
        """Return the episodes of this plan's share, grouped by sequence: episodes in order of play that pass on memory."""
        how, (first, shares) = self.benchmark.sequences(self.settings), self.share
        # Sequences of several samples belong to the first share.
        units = list(group_samples(self.chosen).values())
        # What samples of one picture ask alike is then asked by one share alone.
        units = units[first::shares] if how == "each" else [] if first else units
        ours = {name for unit in units for name in unit}
        ids = [sample.id for sample in self.chosen if sample.id in ours]
        return sequences(how, ids, self.experiment.repeats, self.experiment.seed)

    def episode(self, sample: str, repeat: int, call: Call) -> AnyEpisode:
        """Return the context of an episode: what its nodes need in addition to the state, and how they call models."""
        return Episode(
            sample=self.by_id[sample],
            repeat=repeat,
            settings=self.settings,
            prompts=self.prompts,
            data=self.data_rows,
            models={role: len(names) for role, names in self.names.items()},
            seed=self.experiment.seed,
            pictures=self.pictures,
            call=call,
        )

    def sampling(self) -> dict[str, tuple[Sampling, bool]]:
        """Return the sampling parameters of each role, and whether a seed is sent."""
        by_role = {}
        for role in self.names:
            default = self.benchmark.roles[role].sampling
            if default.max_tokens is None:
                default = replace(default, max_tokens=REPLY_TOKENS)
            by_role[role] = sampling(default, self.experiment.sampling.get(role), seeded=True)
        return by_role


def sampling_table(plan: Plan) -> dict[str, JSON]:
    """Return the sampling parameters of each role and whether a seed is sent, as JSON."""
    return {role: [asdict(params), seeded] for role, (params, seeded) in plan.sampling().items()}


def make(config: Config, recorded: Mapping[str, Any] | None = None, servers: Servers = None) -> Plan:
    """Resolve a configuration to a plan.

    Args:
        config: The configuration.
        recorded: For an existing run, its recorded samples, prompts and other data, by the fields of Plan.
        servers: For an existing run, the recorded addresses of its models, by name.

    Raises:
        UsageError: A part of the configuration does not exist, is not valid, or is missing; by name.
    """
    experiment = config.experiment
    benchmark = benchmarks.get(experiment.benchmark)
    named = _names(benchmark, experiment, servers)
    settings = validate(benchmark.Settings, experiment.settings, prefix="settings.")
    settings, names = benchmark.cast(settings, named, experiment.seed)
    if recorded is None and experiment.settings.get("panel") and not settings.panel:
        raise UsageError("settings.panel: not the id of these judges; --panel FILE sets it, and the judges")
    if unknown := experiment.sampling.keys() - names.keys():
        raise UsageError(f"sampling: no role {', '.join(sorted(unknown))}; there are: {', '.join(names)}")
    resolved = experiment.model_copy(
        update={
            # The whole panel: which of its models take part depends on the candidate.
            "roles": {
                role: tuple(n.text for n in panel) for role, panel in named.items() if role != "candidate"
            },
            "repeats": experiment.repeats or benchmark.repeats,
            "settings": settings.model_dump(mode="json"),
            "data": experiment.data or benchmark.data_set,
        }
    )
    played = recorded or _select_data(benchmark, experiment, settings, names["candidate"][0])
    return Plan(
        benchmark=benchmark,
        experiment=resolved,
        limits=config.limits,
        settings=settings,
        names=names,
        by_id={item.id: item for item in played["data"]},
        **played,
    )


def _select_data(
    benchmark: Benchmark, experiment: Experiment, settings: Any, candidate: ModelName
) -> dict[str, Any]:
    """Return the data of a new run, by the fields of Plan: samples, pictures, prompts."""
    folder = datasets.data_folder(experiment.data, benchmark.data_set)
    items = datasets.samples(folder, benchmark.Item)
    data = benchmark.samples(items, settings, experiment.seed)
    of, composed = len(data), benchmark.composed
    if composed:
        # The values that make all samples may make none, as there is no problem of a kind.
        with suppress(UsageError):
            every = settings.model_copy(update=composed.choices)
            of = max(of, len(benchmark.samples(items, every, experiment.seed)))
    pool = _in_languages(data, experiment.languages)

    def draw(ids: Sequence[str], limit: int | None) -> tuple[Any, ...]:
        strata, seed = benchmark.strata, experiment.seed
        return select(pool, ids, limit, strata, seed, lambda sample: benchmark.alike(sample, settings))

    chosen = draw(experiment.samples, experiment.limit)
    return {
        "folder": folder,
        "data": data,
        "chosen": chosen,
        "data_rows": chosen if benchmark.shared_fields is None else shared_rows(benchmark, data),
        "of": of,
        "pictures": datasets.Pictures(folder, data, experiment.max_image_px),
        "prompts": datasets.prompts(benchmark.name, experiment.prompts),
        "seen": _seen_ids(benchmark, candidate, chosen),
        "own_data": folder not in datasets.data_sets(),
        "hand_picked": bool(experiment.samples)
        and len(chosen) < len(pool)
        and {sample.id for sample in chosen} != {sample.id for sample in draw((), len(chosen))},
    }


def _in_languages(data: Sequence[Any], languages: Sequence[str]) -> Sequence[Any]:
    """Return the samples in these languages; all if none is named.

    Raises:
        UsageError: The data set has no samples in one of the languages.
    """
    if not languages:
        return data
    there = {sample.language for sample in data}
    if unknown := [name for name in languages if name not in there]:
        raise UsageError(f"language {unknown[0]!r}: the data set has {', '.join(sorted(there))}")
    return [sample for sample in data if sample.language in languages]


def _seen_ids(benchmark: Benchmark, candidate: ModelName, chosen: Sequence[Any]) -> tuple[str, ...] | None:
    """Return the ids of samples with a right answer in the training texts of the candidate's base or adapter.

    The base may be a merged model, which has a list of texts too. None if an adapter has no list, and the base saw no sample.
    """
    if candidate.kind != "hf":
        return ()
    lists = [adapter_texts.read_digests(Path(name)) for name in (candidate.model, candidate.adapter) if name]
    texts = frozenset[str]().union(*filter(None, lists))
    prints = {sample.id: map(adapter_texts.fingerprint, benchmark.right(sample)) for sample in chosen}
    seen = tuple(name for name, right in prints.items() if not texts.isdisjoint(right))
    return seen if seen or not candidate.adapter or lists[-1] is not None else None


def shared_rows(benchmark: Benchmark, data: Sequence[Any]) -> tuple[SimpleNamespace, ...]:
    """Return the fields of all samples that every episode may see: id, language, and those that the benchmark names."""
    fields = {"id", "language", *(benchmark.shared_fields or ())}
    return tuple(SimpleNamespace(**item.model_dump(mode="json", include=fields)) for item in data)


def findings(benchmark: Benchmark, settings: Any, folder: Path) -> tuple[list[str], list[str]]:
    """Return the faults of a data set, and the notes on it, each with its file and line."""
    items = datasets.samples(folder, benchmark.Item)
    path, lines = folder / "samples.jsonl", datasets.lines(folder)
    pictures, broken = picture_facts.metadata(folder, items)
    faults: list[str] = []
    notes: list[str] = []
    for finding in (*broken, *benchmark.lints(items, settings, pictures)):
        place = at(path, lines.get(finding.sample), finding.field)
        (faults if finding.grave else notes).append(f"{place}: {finding.text}")
    return faults, notes


def reference(benchmark: Benchmark, settings: Any) -> tuple[str, Any]:
    """Return the name and the settings of the benchmark's preset in configs/paper.

    Of several it is one with the `version` of `settings`, if there is one, and the last by name. Without a preset, the name is
    `defaults` and the settings are the default ones.
    """
    presets = sorted(datasets.shipped("configs", "paper").glob(f"{benchmark.name}*.toml"), reverse=True)
    if not presets:
        return "defaults", benchmark.Settings()
    read = [
        (f"paper/{preset.stem}", validate(benchmark.Settings, read_toml(preset).get("settings", {})))
        for preset in presets
    ]
    version = getattr(settings, "version", None)
    return next((each for each in read if getattr(each[1], "version", None) == version), read[0])


def group_samples(samples: Sequence[Any]) -> dict[str, list[str]]:
    """Return the ids of samples by what they share, the unit of primary metrics: a group, picture or block, or the sample alone."""
    by_shared: dict[str, list[str]] = {}
    for sample in samples:
        shared = (getattr(sample, name, None) for name in ("group", "image", "block", "id"))
        by_shared.setdefault(str(next(filter(None, shared))), []).append(sample.id)
    return by_shared


def version() -> str:
    """Return the version of lotbench."""
    return metadata.version("lotbench")


def _names(benchmark: Benchmark, experiment: Experiment, servers: Servers) -> Names:
    """Return the models of each role; for an existing run, which has recorded `servers`, only the recorded roles."""
    if not experiment.model:
        raise UsageError(
            "no candidate: give --model NAME, such as gpt-4o-mini or local (or model = in the config)"
        )
    others = {role: declared for role, declared in benchmark.roles.items() if role != "candidate"}
    if unknown := ", ".join(sorted(experiment.roles.keys() - others.keys())):
        raise UsageError(f"{benchmark.name} has no role {unknown}; there are: {', '.join(others)}")
    names: dict[str, tuple[ModelName, ...]] = {"candidate": (parse(experiment.model, servers),)}
    for role, declared in others.items():
        if texts := experiment.roles.get(role) or (declared.default if servers is None else ()):
            names[role] = tuple(parse(text, servers) for text in texts)
            if len({(name.provider, name.kind, name.model, name.url) for name in names[role]}) < len(texts):
                raise UsageError(f"{role}: {', '.join(texts)} names a model twice")
        elif declared.required and servers is None:
            raise UsageError(f"{benchmark.name} has no default {role}: give --{role} NAME")
    return names
