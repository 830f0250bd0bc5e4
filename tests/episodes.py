"""Episodes of any benchmark in a test: scripted players at a real desk, through its graph and the loop.

    played = await run_episodes(benchmark, ITEMS, {"candidate": ScriptedModel(...), "judge": [one, other]}, k=2)
    assert played.outcomes == ["scored"] and played.value("originality") == 7.5

Nothing is written but a journal and a store in a folder that is thrown away, unless one is given: a second
call with the same folder goes on from the journal, as a resumed run does.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lotbench.calls.budget import Bucket, Budget
from lotbench.calls.caller import Caller, RoleModel
from lotbench.calls.journal import Entry, Journal, read_journal
from lotbench.calls.prices import Price
from lotbench.calls.store import Store
from lotbench.config.experiment import Limits
from lotbench.config.model_names import parse
from lotbench.harness.benchmark import Benchmark
from lotbench.harness.episode import AnyEpisode, Episode
from lotbench.harness.evidence import Evidence
from lotbench.harness.loop import Course, Loop, sequences
from lotbench.report.sections import Section
from lotbench.run.session import graph
from lotbench.storage import datasets
from lotbench.types import Image, Metric, Trace


@dataclass(frozen=True)
class Played:
    """What came of the episodes, in data order."""

    benchmark: Benchmark
    settings: Any
    traces: list[Trace]
    calls: list[Entry]
    evidence: Evidence

    @property
    def outcomes(self) -> list[str]:
        return [trace.outcome for trace in self.traces]

    def steps(self, step: str, trace: int = 0) -> list[Mapping[str, Any]]:
        """The values of a step, in order."""
        return [one["value"] for one in self.traces[trace].steps if one["step"] == step]

    def metrics(self, **beside: Any) -> Mapping[str, Metric]:
        return self.benchmark.metrics(self.traces, self.settings, replace(self.evidence, **beside))

    def value(self, name: str) -> float | None:
        return self.metrics()[name].value

    def sections(self, **beside: Any) -> Sequence[Section]:
        return self.benchmark.sections(self.traces, self.settings, replace(self.evidence, **beside))

    def section(self, title: str) -> Section:
        """The section whose title holds these words."""
        (found,) = [one for one in self.sections() if title.lower() in one.title.lower()]
        return found


def resolved(cast: Callable[..., tuple[Any, Any]], settings: Any, **models: int) -> Any:
    """The settings of a benchmark with so many models in each role."""
    names = {role: (parse("human"),) * count for role, count in models.items()}
    return cast(settings, {"candidate": (parse("python:candidate"),), **names}, 0)[0]


async def run_episodes(
    benchmark: Benchmark,
    items: Sequence[Any],
    players: Mapping[str, Any],
    *,
    folder: Path | None = None,
    repeats: int = 1,
    seed: int = 0,
    concurrency: int = 20,
    only: Sequence[str] = (),
    **settings: Any,
) -> Played:
    """Take every episode on these items.

    Args:
        players: A model or several of them for each role; their names are their `model_id`.
        folder: Where journal and store are.
        only: The samples that are played; all by default.
        **settings: Of the benchmark.
    """
    if folder is None:
        with tempfile.TemporaryDirectory() as made:
            return await run_episodes(
                benchmark,
                items,
                players,
                folder=Path(made),
                repeats=repeats,
                seed=seed,
                concurrency=concurrency,
                only=only,
                **settings,
            )
    chosen = benchmark.Settings(**settings)
    placed = {
        role: tuple(given if isinstance(given, list | tuple) else [given]) for role, given in players.items()
    }
    by_name = {f"python:{one.model_id}": one for given in placed.values() for one in given}
    asked = {role: tuple(parse(f"python:{one.model_id}") for one in g) for role, g in placed.items()}
    chosen, names = benchmark.cast(chosen, asked, seed)
    data = benchmark.samples(items, chosen, seed)
    by_id, prompts = {one.id: one for one in data}, datasets.prompts(benchmark.name)

    def episode(sample: str, repeat: int) -> AnyEpisode:
        return Episode(
            sample=by_id[sample],
            repeat=repeat,
            settings=chosen,
            prompts=prompts,
            data=data,
            models={role: len(given) for role, given in names.items()},
            seed=seed,
            pictures={one.id: Image(f"sha-of-{one.image}") for one in data if one.image}
            | {f"{one.id}/other": Image("sha-of-other") for one in data if getattr(one, "other_image", None)},
            call=desk.ask,
        )

    def index(name: str) -> RoleModel:
        model = by_name[name]
        return RoleModel(name, model, Price(0, 0, 0), Bucket(None), Bucket(None), model.model_id)

    with Journal(folder / "calls.jsonl") as journal:
        desk = Caller(
            {role: tuple(index(name.text) for name in given) for role, given in names.items()},
            {role: (benchmark.roles[role].sampling, True) for role in names},
            journal,
            Store(folder),
            Budget(Limits()),
            seed=seed,
        )
        course = Course(graph(benchmark), episode, benchmark.grade, benchmark.supersteps(chosen))
        loop = Loop(course, {}, concurrency, 1000)
        played = [one.id for one in data if not only or one.id in only]
        taken = sequences(benchmark.sequences(chosen), played, repeats, seed)
        try:
            traces = [trace async for trace in loop.traces(taken)]
        finally:
            await desk.close()
    for error in loop.crashed.values():
        raise error
    order = [(planned.sample, planned.repeat) for sequence in taken for planned in sequence]
    traces.sort(key=lambda trace: order.index((trace.sample, trace.repeat)))
    calls = list(read_journal(folder / "calls.jsonl")) if (folder / "calls.jsonl").is_file() else []
    return Played(benchmark, chosen, traces, calls, Evidence(by_id, names["candidate"][0].text))
