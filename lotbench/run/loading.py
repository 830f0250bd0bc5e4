"""Reading of run folders: configuration, traces, summary, and the plan of the run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lotbench import benchmarks
from lotbench.calls.journal import Totals, read_totals
from lotbench.calls.prices import Price
from lotbench.config.experiment import DEFAULT_BENCHMARK, Config, Experiment, Limits, validate
from lotbench.config.model_names import parse
from lotbench.errors import RunFolderError, UsageError, among, shape_errors
from lotbench.harness.evidence import Evidence
from lotbench.regular_file import is_file
from lotbench.report import bounds, trace_rows, trust
from lotbench.report.markdown import counted, duration, visible
from lotbench.report.replay import Replay, find_trace, replay
from lotbench.report.sections import Excerpt
from lotbench.run import plan, recorded
from lotbench.run.folder_shapes import later, read_run_json, read_samples, read_summary
from lotbench.storage import run_folder
from lotbench.storage.traces import Traces
from lotbench.types import JSON, Trace

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]


@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """The content of a run folder.

    Attributes:
        path: The folder.
        config: The recorded experiment.
        limits: The limits of the first session, by name.
        digests: The digests of experiment, data, prompts and code from the start of the run.
        traces: The finished episodes, in data order; each is parsed on access.
        summary: The content of summary.json; empty if there is no such file yet.
        duel: The name of the duel that began the run; "" if none did.
    """

    path: Path
    config: Experiment
    limits: Mapping[str, Any]
    digests: Mapping[str, str]
    traces: Sequence[Trace]
    summary: Mapping[str, Any]
    duel: str = ""

    def __repr__(self) -> str:
        if not self.summary:
            return f"<run {self.path}, not ended>"
        why = ", ".join(trust.in_short(self.summary["reasons"]))
        said = "  ".join((*self.facts, f"not trusted: {why}" if why else "trusted"))
        return visible(f"<run {self.path}: {said}>")

    def _repr_html_(self) -> str:
        """Return model and score as a heading, and the metrics, for a notebook."""
        said = ": ".join(self.facts[:2]) if self.summary else f"{self.config.model}: not ended"
        return f"<h4>{escape(visible(said))}</h4>{self.scores_frame().to_html(index=False)}"

    @property
    def trust(self) -> str:
        """Whether an ended run is trusted, or why it is not."""
        return "trusted" if self.summary["rankable"] else f"not trusted: {'; '.join(self.summary['reasons'])}"

    @property
    def facts(self) -> tuple[str, ...]:
        """The result of an ended run: model; primary metric; games or tasks; mean rounds of a game; cost, if it is known; time."""
        name, outcomes = self.summary["primary_metric"], self.summary["outcomes"]
        score, cost = self.summary["scores"].get(name) or {}, self.summary["usage"]["cost_usd"]
        known = score.get("value") is not None
        text = bounds.score_text(score) if known else f"none: {score.get('why') or 'it was not computed'}"
        game = {"solved", "unsolved"} & outcomes.keys()
        total = self.summary["n_traces"]
        played = f"{outcomes.get('solved', 0)}/{total} solved" if game else f"{total} played"
        rounds = (self.summary["scores"].get("mean_rounds") or {}).get("value")
        mean = () if rounds is None else (f"{rounds:.1f} rounds a game",)
        spent = () if cost is None else (f"${cost:.2f}",)
        return self.config.model, f"{name} {text}", played, *mean, *spent, duration(self.summary["wall_s"])

    @property
    def result(self) -> dict[str, str]:
        """The lines of a terminal on an ended run, by label: model, score with what its interval is, what was played and spent."""
        model, score, *spent = self.facts
        metric = self.summary["scores"].get(self.summary["primary_metric"]) or {}
        if metric.get("low") is not None and metric.get("high") is not None:
            score += f", 95 % interval over {counted(metric['n'], 'sample')}"
        return {"model": model, "score": score, "played": ", ".join(spent)}

    def score(self, name: str | None = None) -> float | None:
        """Return the value of a metric, by default the primary one; None if it has no value (`summary` has the reason).

        Raises:
            UsageError: The run has no metric of that name.
        """
        scores = self.summary.get("scores", {})
        if name is not None and name not in scores:
            raise UsageError(
                f"no score {name!r}{among(name, scores) if scores else ': the run has not ended'}"
            )
        chosen = scores.get(name or self.summary.get("primary_metric"))
        return None if chosen is None else chosen["value"]

    @property
    def answered(self) -> str:
        """The model ids in the candidate's replies, joined by commas; before the first report, its configured name."""
        named: Sequence[str] = self.summary.get("models", {}).get("candidate", ())
        return ", ".join(named) or self.config.model

    def to_frame(self) -> pd.DataFrame:
        """Return the finished episodes for pandas, one row each, with the columns of `lotbench export`.

        The most telling columns are the first and the last ones, since pandas prints those.
        """
        frame = _frame(trace_rows.episodes(self.traces, self.path.name, self.answered))
        places = {"sample": 0, "guess": 1, "outcome": 2, "parts.attempts": 4, "score": 5}
        return frame[sorted(frame.columns, key=lambda name: places.get(name, 3))]

    def steps_frame(self) -> pd.DataFrame:
        """Return the steps of the finished episodes for pandas, one row each, with the guess and question of their round."""
        return _frame(trace_rows.steps(self.traces, self.path.name, self.answered))

    def scores_frame(self) -> pd.DataFrame:
        """Return the metrics for pandas, one row each, with interval, number of samples, and the reason if there is no value."""
        names, scores = ("value", "low", "high", "n", "why"), self.summary.get("scores", {})
        rows = ({"metric": name, **{key: score[key] for key in names}} for name, score in scores.items())
        return _frame(rows)

    def replay(self, sample: str | None = None, repeat: int | None = None) -> Replay:
        """Return a finished game or task step by step, by default the first one; it prints as text (`str`).

        Raises:
            UsageError: There is no such finished game or task.
            RunFolderError: The run has not recorded its sample.
        """
        trace = find_trace(self.traces, sample, repeat)
        if (fields := self.samples.get(trace.sample)) is None:
            raise RunFolderError(f"{self.path / 'samples.jsonl'}: has no sample {trace.sample}")
        own = benchmarks.get(self.config.benchmark).replay
        return own(fields, trace) if own else replay(fields, trace, readings(self, trace))

    @property
    def report(self) -> Path:
        """The path of the report."""
        return self.path / "report.md"

    def totals(self, prices: Mapping[str, Price | None] | None = None) -> Totals:
        """Return the totals of calls, tokens and cost of the journal, at these prices by model name; the journal is read anew."""
        return read_totals(self.path / "calls.jsonl", prices)

    @property
    def samples(self) -> Mapping[str, Mapping[str, Any]]:
        """The recorded samples of the run, by id."""
        return read_samples(self.path)


def check_command(config: Experiment, reasons: Sequence[str]) -> str:
    """Return the command that checks what some reasons call unchecked, judge or oracle; "" if no command can check it.

    It sets all on which a check and the run must agree for the check to count, unless that is the default.
    """
    unchecked = [
        (role, name)
        for role in ("judge", "oracle")
        if any(f"the {role}" in reason and "was never checked" in reason for reason in reasons)
        for name in config.roles.get(role, ())
    ]
    with suppress(UsageError):
        if unchecked and not {parse(name).kind for _, name in unchecked} & {"python", "local", "human"}:
            named = [config.benchmark] * (config.benchmark != DEFAULT_BENCHMARK)
            given = [part for role, name in unchecked for part in (f"--{role}", parse(name).text)]
            sets = [f"--set={name}={value}" for name, value in _conditions(config, dict(unchecked)).items()]
            return shlex.join(["lotbench", "judge-check", *named, *given, *sets])
    return ""


def _conditions(config: Experiment, roles: Iterable[str]) -> dict[str, str]:
    """Return the fields of a run, as `--set` takes them, that verdicts of these roles depend on and that differ from defaults.

    Raises:
        UsageError: The settings have a fault, or the benchmark has no judge set.
    """
    benchmark, own = benchmarks.get(config.benchmark), {"candidate": ("human",), **config.roles}
    if (validation := benchmark.validation) is None:
        raise UsageError(f"{benchmark.name} has no judge set")
    names = {role: tuple(map(parse, texts)) for role, texts in own.items()}
    default, _ = benchmark.cast(benchmark.Settings(), names, config.seed)
    settings = validate(benchmark.Settings, config.settings)
    for name in benchmark.Settings.model_fields:
        plainer = settings.model_copy(update={name: getattr(default, name)})
        if all(validation.depends(role, plainer) == validation.depends(role, settings) for role in roles):
            settings = plainer
    fields = {name: value for name, value in settings if value != getattr(default, name)}
    for role in sorted(config.sampling.keys() & {*roles}):
        sampling = config.sampling[role].model_dump(exclude_none=True)
        fields |= {f"sampling.{role}.{name}": value for name, value in sampling.items()}
    fields |= {"prompts": config.prompts} if config.prompts else {}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()}


def load_run(
    run: str | Path, root: str | Path | None = None, seen: Callable[[Trace], object] | None = None
) -> Run:
    """Read a run folder.

    Args:
        run: A path, a folder name in `root`, or `latest`.
        root: The folder of runs, by default runs/; see `run_folder.find`.
        seen: Called with each trace while the folder is read.

    Raises:
        RunFolderError: The folder does not exist or is damaged.
    """
    path = run_folder.find(str(run), root)
    table = read_run_json(path)
    # Here for whoever does not read them: a pipe or a device in their place is not passed over.
    for name in ("calls.jsonl", "samples.jsonl"):
        is_file(path / name)
    return Run(
        path=path,
        config=recorded.experiment(path / "run.json", table["experiment"]),
        limits=table.get("limits", {}),
        digests=table["digests"],
        traces=Traces(path / run_folder.TRACES, seen=seen),
        summary=read_summary(path),
        duel=table.get("duel", ""),
    )


def planned(run: Run, limits: Limits) -> plan.Plan:
    """Return the plan of an existing run, with its recorded samples, prompts and settings.

    Raises:
        RunFolderError: The recorded experiment, samples or prompts have changed (the message names which); or a later
            version of the benchmark began the run.
    """
    table = read_run_json(run.path)
    newest = benchmarks.get(run.config.benchmark).version
    if later(version := table.get("version") or "", newest):
        raise RunFolderError(
            f"{run.path}: was begun with version {version} of {run.config.benchmark}, this lotbench has {newest}"
        )
    fields = recorded.plan_fields(run.path, run.config, table)
    return plan.make(Config(experiment=run.config, limits=limits), fields, table.get("servers", {}))


def readings(run: Run, trace: Trace) -> tuple[Excerpt, ...]:
    """Return the texts that a report shows of one episode (`Section.readings`); none if the run's recorded data have changed."""
    try:
        run_plan = planned(run, Limits())
    except UsageError:
        return ()
    data = Evidence(
        run_plan.by_id, run_plan.names["candidate"][0].text, why="no texts are embedded for one task"
    )
    with shape_errors(run.path):
        sections = run_plan.benchmark.sections([trace], run_plan.settings, data)
    every = (reading for section in sections for reading in section.readings)
    return tuple(each for each in every if (each.sample, each.repeat) == (trace.sample, trace.repeat))


def _frame(rows: Iterable[Mapping[str, JSON]]) -> pd.DataFrame:
    import pandas  # noqa: PLC0415 - a run is read without it

    return pandas.DataFrame(list(rows))
