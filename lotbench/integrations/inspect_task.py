"""All benchmarks as tasks of inspect_ai: `inspect eval lotbench/lotbench --model NAME --model-role judge=NAME`.

inspect schedules the samples and calls the models; graph, prompts, parsing and scores are those of `lotbench evaluate`. An
episode is a sample of inspect, and its repeat the epoch. A normal run folder is written beside the log, and the metrics
in the log are those of the run.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from itertools import chain, count, takewhile
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.hooks import Hooks, TaskEnd, hooks
from inspect_ai.log._samples import sample_active
from inspect_ai.model import Model, ModelOutput, get_model, model_roles
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import span

from lotbench import benchmarks
from lotbench.calls.caller import Caller, RoleModel, owner
from lotbench.calls.prices import price
from lotbench.calls.store import Store
from lotbench.config import experiment as config
from lotbench.config.experiment import Limits, digest
from lotbench.config.model_names import address
from lotbench.errors import LotbenchError, UsageError
from lotbench.harness.benchmark import Benchmark
from lotbench.harness.episode import AnyEpisode
from lotbench.integrations.inspect_model import SPEAKERS, InspectModel, inspects, name, refuse_options
from lotbench.run import plan, recorded, results
from lotbench.run.calling import journaled
from lotbench.run.loading import Run, load_run, planned
from lotbench.run.preview import first_question
from lotbench.run.session import loop
from lotbench.storage import run_folder
from lotbench.storage.datasets import config_file
from lotbench.types import Answer, Image, Message, Question, Reply, Request, Trace

HELD = "lotbench_run"
"""The key in a log's metadata that holds the name of its run in `open_runs`."""
open_runs: dict[str, TaskRun] = {}
"""The runs of tasks under evaluation, by name."""


class Exchange(NamedTuple):
    """A call of an episode: the role, the request as it was sent, and the reply."""

    role: str
    request: Request
    reply: Reply


class TaskRun:
    """The run of a task while inspect evaluates it; its folder is created with the first sample.

    Args:
        run_plan: The plan.
        cast: inspect's models, by role and by model name in the plan.
        out: The parent of the run folder; if empty, the folder of the log.
        forms: See `InspectModel`.

    Raises:
        UsageError: Episodes must run in sequence, which inspect does not support.
    """

    def __init__(
        self, run_plan: plan.Plan, cast: Mapping[tuple[str, str], Model], out: str, *, forms: bool
    ) -> None:
        sequences = run_plan.sequences()
        if any(len(sequence) > 1 for sequence in sequences):
            raise UsageError("with these settings tasks follow each other: `lotbench evaluate` plays them")
        self.name = uuid4().hex
        # inspect controls concurrency and the number of failures.
        self.plan = replace(run_plan, limits=Limits(concurrency=1, max_failed=1.0))
        self.planned = {(sequence[0].sample, sequence[0].repeat): sequence[0] for sequence in sequences}
        self._cast, self._out, self._forms = cast, out, forms
        self._opening, self._open = asyncio.Lock(), AsyncExitStack()
        self._caller: Caller | None = None

    async def episode(self, sample: str, repeat: int) -> tuple[Trace, list[Exchange]]:
        """Play an episode and return it with its calls; if it is played again, earlier replies come from the journal.

        Raises:
            UsageError: The run has no such repeat.
            Exception: An exception of inspect ended the episode; it passes through.
        """
        planned = self.planned.get((sample, repeat))
        if planned is None:
            raise UsageError(f"epoch {repeat}: the run has fewer repeats: -T repeats=N, without --epochs")
        caller = await self._open_run()
        calls: list[Exchange] = []
        episodes = loop(self.plan, _recording(caller, calls))
        try:
            async with aclosing(episodes.traces([[planned]])) as traces:
                async for trace in traces:
                    self.folder.append(trace)
                    return trace, calls
            raise episodes.crashed[planned]
        except BaseException:
            for call in calls:
                caller.journal.forget(call.request.key)
            raise

    async def close(self) -> None:
        """Write the report and close the folder; do nothing if no sample was played."""
        if self._caller is None:
            return
        run = replace(load_run(self.folder.path), traces=self.folder.order(list(self.planned)))
        wall_s, totals = time.monotonic() - self._began, self._caller.journal.totals
        results.write(run, self.plan, self.folder, wall_s, totals, embed=True)
        await self._open.aclose()

    async def _open_run(self) -> Caller:
        async with self._opening:
            if self._caller is None:
                self._began = time.monotonic()
                experiment = self.plan.experiment
                named = (experiment.benchmark, experiment.model, digest(experiment))
                folder = run_folder.create(Path(self._out or _log_folder()), *named)
                self.folder = self._open.enter_context(folder)
                recorded.freeze(self.plan, folder)
                caller = journaled(self.plan, self._role_models(), folder.path, Store())
                self._caller = await self._open.enter_async_context(caller)
            return self._caller

    def _role_models(self) -> dict[str, tuple[RoleModel, ...]]:
        picture = self.plan.pictures.data_url
        return {
            role: tuple(
                RoleModel(
                    model_name.text,
                    InspectModel(self._cast[role, model_name.text], picture, forms=self._forms),
                    price(model_name),
                    # Chains in the store are those of one server.
                    address=model_name.text if model_name.kind == "python" else address(model_name),
                )
                for model_name in names
            )
            for role, names in self.plan.names.items()
        }


def _recording(caller: Caller, calls: list[Exchange]) -> Callable[[AnyEpisode, Question], Awaitable[Answer]]:
    """Return a function that asks a question by the caller, in a span of inspect, and appends the call to `calls`."""

    async def ask(episode: AnyEpisode, question: Question) -> Answer:
        request = caller.request(question, *owner(episode, question))
        async with span(f"{question.step}, round {question.round}", type=question.role):
            answer = await caller.ask(episode, question)
        calls.append(Exchange(question.role, request, answer.reply))
        return answer

    return ask


def _log_folder() -> str:
    """Return the folder of the current sample's log; the working directory for remote logs."""
    active = sample_active()
    location = active.log_location.removeprefix("file://") if active else ""
    return "." if "://" in location else os.path.dirname(location) or "."


def _factory(benchmark: str) -> Callable[..., Task]:
    """Return the function from which inspect makes the task of a benchmark; its parameters are those of `-T`."""

    def make_task(config: str = "", out: str = "", forms: bool = True, **options: Any) -> Task:
        try:
            declared = benchmarks.get(benchmark)
            cast = _cast(declared)
            players = {(role, name(model)): model for role, models in cast.items() for model in models}
            run_plan = plan.make(_configuration(benchmark, cast, config, options))
            run = TaskRun(run_plan, players, out, forms=forms)
        except LotbenchError as error:
            raise PrerequisiteError(str(error)) from error
        open_runs[run.name] = run
        return Task(
            dataset=MemoryDataset(list(_samples(run.plan)), name=run.plan.experiment.data),
            solver=episode(run.name),
            scorer=lotbench(),
            epochs=run.plan.experiment.repeats,
            version=declared.version,
            metadata={HELD: run.name},
        )

    return make_task


def _cast(benchmark: Benchmark) -> dict[str, list[Model]]:
    """Return inspect's models by role: its model roles ROLE, ROLE2, ROLE3... in order, else the benchmark's default.

    Raises:
        UsageError: A role has no model, or a model role is unknown.
    """
    bound, cast = dict(model_roles()), {"candidate": [get_model()]}
    others = [role for role in benchmark.roles if role != "candidate"]
    for role in others:
        indexes = takewhile(bound.__contains__, (f"{role}{index if index > 1 else ''}" for index in count(1)))
        cast[role] = [bound.pop(place) for place in indexes]
        declared = benchmark.roles[role]
        if not cast[role] and declared.required:
            if not declared.default:
                raise UsageError(f"{benchmark.name} has no default {role}: give --model-role {role}=NAME")
            cast[role] = [get_model(inspects(model_name), role=role) for model_name in declared.default]
    if bound:
        raise UsageError(
            f"--model-role {', '.join(bound)}: the roles of {benchmark.name} are {', '.join(others)}, "
            "and their indexes ROLE, ROLE2, ROLE3..."
        )
    for model in chain.from_iterable(cast.values()):
        refuse_options(model)
    return {role: models for role, models in cast.items() if models}


def _configuration(
    benchmark: str, cast: Mapping[str, list[Model]], file: str, options: Mapping[str, Any]
) -> config.Config:
    """Return the configuration from task arguments (`-T config=FILE -T limit=20 -T arm=caption`), named as for `--set`.

    Raises:
        UsageError: A field is unknown, or inspect has its own option for it.
    """
    flags: dict[str, Any] = {"benchmark": benchmark, "model": name(cast["candidate"][0])}
    flags |= {f"roles.{role}": [name(model) for model in cast[role]] for role in cast if role != "candidate"}
    for key, value in options.items():
        place = config.place(key)
        if place[0] in ("limits", "model", "roles", "benchmark"):
            raise UsageError(
                f"-T {key}: inspect has its own: --model, --model-role, --max-samples, --token-limit..."
            )
        flags[".".join(place)] = value
    loaded = config.load(config_file(file or None), (), flags)
    limited = loaded.limits.model_dump(include={"cost_limit", "token_limit", "time_limit"}, exclude_none=True)
    if limited:
        raise UsageError(
            f"{file}: {', '.join(limited)}: inspect has its own: --cost-limit, --token-limit, --time-limit"
        )
    return loaded


def _samples(run_plan: plan.Plan) -> Iterator[Sample]:
    """Yield the samples of a plan for inspect, with the candidate's first prompt as input."""
    for sample in run_plan.chosen:
        first = first_question(run_plan, sample.id)
        messages = first.messages if first else ()
        texts = [_text(message) for message in messages if message.speaker == "user"]
        metadata = {"language": sample.language}
        yield Sample(input="\n\n".join(texts) or sample.id, id=sample.id, metadata=metadata)


def _turns(calls: list[Exchange]) -> Iterator[tuple[str, str]]:
    """Yield (speaker, text) for the messages and replies of the candidate's calls; skip a repeated system message."""
    system = ""
    for call in calls:
        for message in call.request.messages:
            text = _text(message)
            if message.speaker == "system":
                if text == system:
                    continue
                system = text
            yield message.speaker, text
        yield "assistant", call.reply.text


def _text(message: Message) -> str:
    """Return a message as text, with `[picture sha256:...]` in place of each picture."""
    return "".join(
        f"[picture sha256:{part.sha256}]\n" if isinstance(part, Image) else part for part in message.parts
    )


@solver
def episode(run: str) -> Solver:
    """Return the solver that plays the episode of a sample in the run with this name in `open_runs`."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        held = open_runs[run]
        trace, calls = await held.episode(str(state.sample_id), state.epoch)
        own = [call for call in calls if call.role == "candidate"]
        state.messages = [SPEAKERS[speaker](content=text) for speaker, text in _turns(own)]
        if own:
            state.output = ModelOutput.from_content(own[-1].reply.model, own[-1].reply.text)
        state.store.set("outcome", trace.outcome)
        state.store.set("value", trace.score.value)
        state.store.set("why", trace.why or trace.score.why or trace.outcome)
        state.store.set("parts", dict(trace.score.parts))
        state.store.set("run", str(held.folder.path.resolve()))
        return state

    return solve


@metric(scores="unreduced")
def measures() -> Metric:
    """Return the metric of inspect whose value is a dict of all metrics of the run; see `measured`."""

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        runs = [load_run(path) for path in dict.fromkeys(row.score.metadata["run"] for row in scores)]
        # A retried log has episodes of several runs; the latest of each counts.
        traces = {(trace.sample, trace.repeat): trace for run in runs for trace in run.traces}
        return measured(runs[-1], traces)

    return compute


@scorer(metrics=[measures()])
def lotbench() -> Scorer:
    """Return inspect's scorer: it gives a sample the score of its episode, or `unscored` with the reason of its failure."""

    async def score(state: TaskState, target: Target) -> Score:
        facts = {key: state.store.get(key) for key in ("outcome", "parts", "run")}
        value = state.store.get("value")
        if value is None:
            why = state.store.get("why", "the sample was stopped before its task had ended")
            return Score.unscored(reason=why, metadata=facts)
        answer, outcome = state.output.completion, facts["outcome"]
        return Score(value=value, answer=answer, explanation=outcome, metadata=facts)

    return score


def measured(run: Run, traces: Mapping[tuple[str, int], Trace]) -> dict[str, float]:
    """Return the metrics of a run, computed from `traces` by (sample, repeat), which may lack some of its episodes.

    The key NAME has the value of a metric; NAME_low and NAME_high have the ends of its 95 % interval. Missing values are
    left out. The primary metric is first, since inspect shows the first.
    """
    run_plan = planned(run, Limits())
    order = [(item.sample, item.repeat) for sequence in run_plan.sequences() for item in sequence]
    played = [traces[place] for place in order if place in traces]
    declared, settings = run_plan.benchmark, run_plan.settings
    answers = declared.answers_by_sample(played, settings) if len(played) == len(order) else {}
    evidence = results.gather_evidence(run_plan, run.path, answers, embed=True)
    values: dict[str, float | None] = {}
    metrics = declared.metrics(played, settings, evidence)
    first = declared.primary_metric(played, settings).name
    for key, measure in sorted(metrics.items(), key=lambda item: item[0] != first):
        values |= {key: measure.value, f"{key}_low": measure.low, f"{key}_high": measure.high}
    return {key: value for key, value in values.items() if value is not None}


@hooks(name="run_folder", description="closes the run folder beside a log of lotbench")
class RunFolders(Hooks):
    """A hook of inspect that writes the report and closes the run folder when a task ends."""

    def enabled(self) -> bool:
        """Return whether a task of lotbench is under evaluation."""
        return bool(open_runs)

    async def on_task_end(self, data: TaskEnd) -> None:
        """Close the run of the finished task, if it is a task of lotbench."""
        held = open_runs.pop((data.log.eval.metadata or {}).get(HELD, ""), None)
        if held is not None:
            await held.close()


for benchmark_name in benchmarks.names():
    task(name=benchmark_name)(_factory(benchmark_name))
