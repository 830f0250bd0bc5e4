"""The report of a run: its metrics with their intervals, the sections about them, and facts about the run.

A report is data; report.md, report.html (for people) and summary.json (for programs) are written from it. This module
depends on no benchmark and reads no clock, so the same run gives the same report to the byte.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

from lotbench.metrics.agreement import Rate
from lotbench.report import bounds
from lotbench.report.markdown import bullets, cell, counted, cut, places, plain, table
from lotbench.report.sections import Cell, Grid, Section, Table
from lotbench.types import JSON, RUN_SCHEMA, Metric, Trace

READINGS = 5
"""The maximum number of readings (excerpts of model texts) in a brief report."""
SHORT = 600
"""The maximum number of characters of a text of a reading in a brief report.md."""
MORE = "lotbench report RUN --full adds every other section, all settings, calls and digests."


@dataclass(frozen=True, slots=True)
class RoleUsage:
    """The usage of the calls of one role.

    Attributes:
        cached_input_tokens: The part of `input_tokens` that was read from a cache.
        cost_usd: The cost; None if the price of a call is not known.
        assumed_tokens: The tokens assumed for replies, whole or cut off, of which the server reported none: for each the
            maximum possible.
        assumed_usd: The cost of the assumed tokens.
    """

    calls: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    assumed_tokens: int = 0
    assumed_usd: float | None = 0.0

    def __add__(self, other: Self) -> Self:
        """Return the sum; a field is None if it is None in either."""
        sums: dict[str, Any] = {}
        for column in fields(self):
            value, other_value = getattr(self, column.name), getattr(other, column.name)
            sums[column.name] = None if value is None or other_value is None else value + other_value
        return type(self)(**sums)


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about a run that its report needs apart from the traces.

    Attributes:
        models: The ids of the models of each role, as the servers named them.
        arm: The variant of the benchmark, named beside each score; None if the benchmark has one variant only.
        n_samples: The number of samples of the run.
        data_set: The name of their data set; "" if it is not known.
        n_episodes: The number of episodes of the complete run.
        reasons: Why the run is not trusted; empty if it is (`trust.reasons`).
        check: The command that checks its judge and oracle; "" if they are checked or no command can.
        remarks: Remarks on a run, trusted or not (`trust.remarks`).
        settings: The settings of the run by name.
        preset: The name of the reference preset.
        reference: The settings of the reference preset by name.
        score_only: Settings that change the score of a finished trace but not the episode.
        spent: The usage of each role.
        digests: The digests of data, prompts, code and all else that the scores depend on.
        wall_s: The seconds from the start of the run to its end, without pauses.
        run: What a command calls the run; "" if it has no folder.
        notes: Notes to print under the scores.
        primary_metric: The metric by which runs are ranked; empty for the first one.
        words: What metrics, roles and settings mean, in plain words, by name.
        footprint: The estimated energy and CO2e by role, with the library that estimated them; None without it.
    """

    benchmark: str
    version: str
    models: Mapping[str, Sequence[str]]
    arm: str | None
    n_samples: int
    n_episodes: int
    reasons: tuple[str, ...]
    settings: Mapping[str, JSON]
    preset: str
    reference: Mapping[str, JSON]
    score_only: frozenset[str]
    spent: Mapping[str, RoleUsage]
    digests: Mapping[str, str]
    wall_s: float
    footprint: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    check: str = ""
    run: str = ""
    primary_metric: str = ""
    data_set: str = ""
    words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """The content of a report, ready to be written.

    Attributes:
        n_traces: The number of finished episodes.
        n_scored: The number of episodes with a score. A metric's n may be larger (it may include censored episodes) or
            smaller.
        reference_scores: The metrics of the same traces under the reference preset's score-only settings.
        whole: Whether the report has all sections; a brief report says how to get the others.
    """

    facts: Facts
    outcomes: Mapping[str, int]
    n_traces: int
    n_scored: int
    scores: Mapping[str, Metric]
    reference_scores: Mapping[str, Metric] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()
    whole: bool = True

    @property
    def complete(self) -> bool:
        """Whether every episode of the run is finished."""
        return self.n_traces >= self.facts.n_episodes

    @property
    def primary_metric(self) -> str:
        """The name of the primary metric; empty if there are no metrics."""
        name = self.facts.primary_metric
        return name if name in self.scores else next(iter(self.scores), "")


def build(
    traces: Sequence[Trace],
    scores: Mapping[str, Metric],
    sections: Iterable[Section],
    facts: Facts,
    reference_scores: Mapping[str, Metric] | None = None,
) -> Report:
    """Return the report of traces and their metrics."""
    outcomes = Counter(trace.outcome for trace in traces)
    return Report(
        facts=facts,
        outcomes={name: outcomes[name] for name in sorted(outcomes)},
        n_traces=len(traces),
        n_scored=sum(trace.score.value is not None for trace in traces),
        scores=dict(scores),
        reference_scores=dict(reference_scores or {}),
        sections=tuple(sections),
    )


def to_summary(report: Report) -> dict[str, JSON]:
    """Return the content of summary.json."""
    facts = report.facts
    return {
        "schema": RUN_SCHEMA,
        "benchmark": facts.benchmark,
        "models": {role: list(models) for role, models in facts.models.items()},
        "arm": facts.arm,
        "complete": report.complete,
        "rankable": not facts.reasons,
        "reasons": list(facts.reasons),
        "remarks": list(facts.remarks),
        "data_set": facts.data_set,
        "n_samples": facts.n_samples,
        "n_traces": report.n_traces,
        "outcomes": dict(report.outcomes),
        "primary_metric": report.primary_metric,
        "scores": {name: _score(metric) for name, metric in report.scores.items()},
        "usage": {
            **_usage_table(total(facts.spent)),
            "by_role": {role: _usage_table(spent) for role, spent in facts.spent.items()},
        },
        "diagnostics": {section.name: dict(section.numbers) for section in report.sections if section.name},
        "digests": dict(facts.digests),
        "footprint": facts.footprint,
        "wall_s": facts.wall_s,
    }


def brief(report: Report) -> Report:
    """Return the brief report: all sections marked `brief`, and the first other ones that have readings.

    The latter show at most `READINGS` readings together. Of the remaining sections only the warnings are kept, as notes.
    """
    sections, room = [], READINGS
    warnings: list[str] = []
    for section in report.sections:
        if section.brief:
            sections.append(section)
        elif section.readings and room:
            sections.append(replace(section, readings=section.readings[:room]))
            room -= len(section.readings[:room])
        else:
            warnings += [note for note in section.notes if note.startswith("WARNING")]
    facts = replace(report.facts, notes=(*report.facts.notes, *warnings))
    return replace(report, facts=facts, sections=tuple(sections), whole=False)


def to_markdown(report: Report) -> str:
    """Return the content of report.md; its first lines have the primary score and, if the run is not trusted, say why."""
    facts, settings = report.facts, settings_table(report)
    shown = (section if report.whole else _shortened(section, facts.run) for section in report.sections)
    blocks = [*_head(report), *(block for section in shown for block in laid_out(section))]
    blocks.append("## Settings")
    if report.whole:
        blocks += [table(settings), "## Calls", table(usage_table(facts.spent))]
        blocks += [plain(felt.caption), table(felt)] if (felt := footprint_table(facts)) else []
        blocks += ["## Digests", table(Table(("of", "digest"), tuple(sorted(facts.digests.items()))))]
    else:
        differing = replace(settings, rows=tuple(row for row in settings.rows if row[3] != "no"))
        blocks += [table(differing) if differing.rows else f"As {facts.preset} has them.", bullets([MORE])]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _shortened(section: Section, run: str) -> Section:
    """Return a section without its method, each text of its readings on one line of at most `SHORT` characters."""
    readings = []
    for reading in section.readings:
        texts = [(name, " ".join(cut(text, SHORT).split())) for name, text in reading.texts[: reading.shown]]
        if left := len(reading.texts) - len(texts):
            command = f"lotbench replay {run or 'RUN'} --sample {reading.sample} --repeat {reading.repeat}"
            texts.append((f"{left} more", command))
        readings.append(replace(reading, texts=tuple(texts)))
    return replace(section, readings=tuple(readings), method=())


def _head(report: Report) -> list[str]:
    """Return the first blocks of a report: candidate, primary score, why the run is not trusted, models, all scores."""
    facts = report.facts
    candidate = ", ".join(facts.models.get("candidate", ())) or "no candidate"
    blocks = [f"# {plain(facts.benchmark)}: {plain(candidate)}"]
    scores = scores_table(report)
    for name, value, ends, *_ in scores.rows[:1]:
        said = "has no value" if value is None else cell(value)
        blocks.append(plain(f"{name} {said}{f', 95 % interval {ends}' if ends else ''}"))
    if facts.reasons:
        blocks.append(f"**Not trusted:** {'; '.join(plain(reason) for reason in facts.reasons)}")
    if facts.check:
        blocks.append(f"This checks it: `{facts.check}`")
    equal = twins(report)
    words = [f"{name}: {facts.words[name]}" for name in report.scores if name in facts.words.keys() - equal]
    words += [f"{' and '.join(equal)}: the same as {report.primary_metric} in this run"] if equal else []
    notes = bullets([*words, *score_notes(report)])
    return [*blocks, _outcome_text(report), "## Scores", plain(scores.caption), table(scores), notes]


def _outcome_text(report: Report) -> str:
    """Return a Markdown list of the benchmark, the models, the outcomes of the episodes, time and cost."""
    facts = report.facts
    lines = [f"{role}: {', '.join(models) or 'none'}" for role, models in facts.models.items()]
    spent = total(facts.spent)
    cost = "no price known" if spent.cost_usd is None else f"{spent.cost_usd:.4f} USD"
    assumed = f" (assumed: {spent.assumed_tokens:,} tokens)" if spent.assumed_tokens else ""
    ended = ", ".join(f"{count} {outcome}" for outcome, count in report.outcomes.items()) or "none"
    samples = counted(facts.n_samples, "sample") + (f" of {facts.data_set}" if facts.data_set else "")
    return bullets(
        [
            f"benchmark {facts.benchmark} version {facts.version}, reference preset {facts.preset}",
            *([f"variant: {facts.arm}"] if facts.arm is not None else []),
            *lines,
            f"{report.n_traces} of {counted(facts.n_episodes, 'task')} on {samples}: {ended}",
            f"time: {facts.wall_s:.1f} s; {spent.calls:,} calls, {cost}{assumed}",
        ]
    )


def scores_table(report: Report) -> Table:
    """Return a table of the metrics with the reference scoring and known baselines: the primary first."""
    names = sorted(report.scores.keys() - twins(report), key=[report.primary_metric, *report.scores].index)
    metrics, reference = [report.scores[name] for name in names], report.reference_scores
    columns: dict[str, list[Cell]] = {
        "metric": [f"{name} ({report.scores[name].instrument})".removesuffix(" ()") for name in names],
        "value": [_rounded(metric) for metric in metrics],
        "95 % interval": [interval(metric) for metric in metrics],
    }
    if any(metric.bounds for metric in metrics):
        columns["bounds"] = [bounds.in_words(metric.bounds) for metric in metrics]
    columns["n"] = [metric.n for metric in metrics]
    columns["better"] = [metric.better for metric in metrics]
    values = [_rounded(reference[name]) if name in reference else None for name in names]
    if any(value not in (None, ours) for value, ours in zip(values, columns["value"], strict=True)):
        columns[f"as {report.facts.preset} scores"] = list(values)
    known = (item for metric in metrics for item in metric.baselines.items())
    for baseline in dict.fromkeys(name for name, value in known if value is not None):
        columns[baseline] = [metric.baselines.get(baseline) for metric in metrics]
    variant = f"variant {report.facts.arm}; " if report.facts.arm else ""
    caption = f"{variant}{report.n_scored} of {counted(report.facts.n_episodes, 'task')} with a score"
    return Table(tuple(columns), tuple(zip(*columns.values(), strict=True)), caption)


def twins(report: Report) -> list[str]:
    """Return the variants of the primary metric, named after it, that equal it in this run: a table needs one row for all."""

    def values(name: str) -> list[object]:
        given, reference = report.scores[name], report.reference_scores.get(name)
        return [(m.value, m.low, m.high, m.n, m.bounds, m.baselines) for m in (given, reference) if m]

    first = report.primary_metric
    variants = [name for name in report.scores if name.startswith(f"{first}_")]
    return [name for name in variants if values(name) == values(first)]


def _rounded(metric: Metric) -> float | None:
    return None if metric.value is None else round(metric.value, places(metric.n))


def score_notes(report: Report) -> list[str]:
    """Return notes on the scores: why metrics have no value, what bounds and missing intervals mean.

    The notes of `report.facts` follow.
    """
    notes = [
        f"{name} has no value: {metric.why}" for name, metric in report.scores.items() if metric.value is None
    ]
    notes += [
        f"{name} has no value as {report.facts.preset} scores: {metric.why}"
        for name, metric in report.reference_scores.items()
        if metric.value is None and report.scores.get(name, metric).value is not None
    ]
    if any(metric.bounds for metric in report.scores.values()):
        notes += [*moving(report), bounds.ABOUT]
    if any(None in (metric.low, metric.high) for metric in report.scores.values()):
        notes.append(
            "An interval is missing or open where the data do not bound the metric: for a single sample, "
            "for samples that are all alike, or where without one sample there is no value."
        )
    return [*notes, *report.facts.notes, *report.facts.remarks]


def moving(report: Report) -> list[str]:
    """Return warnings that the first metric, or its corrected form, may move further than its interval."""
    first = next(iter(report.scores), "")
    metrics = [(name, report.scores[name]) for name in (first, f"{first}_corrected") if name in report.scores]
    return [said for name, m in metrics if (said := bounds.moving(name, m.bounds, m.low, m.high))]


def laid_out(section: Section, page: str = "report.html") -> list[str]:
    """Return a section as Markdown blocks: tables, heat maps, notes, readings.

    Args:
        section: The section.
        page: The HTML page that has its plots; they are listed by caption.
    """
    blocks = [f"## {plain(section.title)}"]
    for part in section.tables:
        blocks += [plain(part.caption), table(part)]
    for grid in section.grids:
        blocks += [plain(grid.caption), table(_grid(grid))]
    captions = [plot.caption or f"{plot.y} by {plot.x}" for plot in section.plots]
    blocks += [
        bullets([*section.notes, *section.method, *(f"Drawn in {page}: {caption}" for caption in captions)])
    ]
    for reading in section.readings:
        blocks += [f"### {plain(reading.title)}", bullets(f"{name}: {text}" for name, text in reading.texts)]
    return blocks


def _grid(grid: Grid) -> Table:
    """Return a heat map as a table with value, interval and n in each cell."""
    rows = tuple(
        (name, *(None if cell is None else describe_score(cell) for cell in cells))
        for name, cells in zip(grid.rows, grid.cells, strict=True)
    )
    return Table((f"{grid.y} / {grid.x}", *grid.columns), rows)


def describe_score(metric: Metric) -> str:
    """Return a metric with its interval and n as text, or why it has no value."""
    if metric.value is None:
        return f"none: {metric.why}"
    ends = f"{interval(metric)}, " if interval(metric) else ""
    return f"{metric.value:.{places(metric.n)}f} ({ends}n = {metric.n})"


def settings_table(report: Report) -> Table:
    """Return a table of all settings of the run and the reference preset, the differing ones first."""
    facts = report.facts
    both = " (both values above)" if f"as {facts.preset} scores" in scores_table(report).columns else ""
    rows: list[tuple[Cell, ...]] = []
    for name in sorted(facts.settings.keys() | facts.reference.keys()):
        ours, preset_value = _setting(facts.settings, name), _setting(facts.reference, name)
        changes = f"the score only{both}" if name in facts.score_only else "the task"
        rows.append((name, ours, preset_value, "no" if ours == preset_value else f"yes, changes {changes}"))
    rows.sort(key=lambda row: row[3] == "no")
    return Table(("setting", "this run", facts.preset, "differs"), tuple(rows))


def usage_table(spent: Mapping[str, RoleUsage]) -> Table:
    """Return a table of the calls, tokens and cost of each role, and of all roles together."""
    words = ("input tokens", "of these cached", "output tokens", "cost (USD)", "tokens assumed")
    rows: list[tuple[Cell, ...]] = []
    for role, use in {**spent, "all": total(spent)}.items():
        tokens = use.input_tokens, use.cached_input_tokens, use.output_tokens
        cost = "no price known" if use.cost_usd is None else f"{use.cost_usd:.4f}"
        rows.append((role, use.calls, *tokens, cost, use.assumed_tokens))
    return Table(("role", "calls", *words), tuple(rows))


def footprint_table(facts: Facts) -> Table | None:
    """Return a table of the estimated energy and CO2e of each role, as ranges; None without an estimate."""
    estimate = facts.footprint
    if estimate is None or not any(estimate["by_role"].values()):
        return None
    rows = tuple(
        (role, *(f"{ranges[name][0]:.3g} to {ranges[name][1]:.3g}" for name in ("energy_kwh", "co2e_kg")))
        for role, ranges in estimate["by_role"].items()
        if ranges
    )
    return Table(("role", "energy (kWh)", "CO2e (kg)"), rows, f"Estimated by {estimate['library']}")


def total(spent: Mapping[str, RoleUsage]) -> RoleUsage:
    """Return the usage of all roles together."""
    return sum(spent.values(), start=RoleUsage())


def _setting(settings: Mapping[str, JSON], name: str) -> str:
    """Return a setting as text, for comparing and printing."""
    value = settings.get(name, "not set")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def interval(metric: Metric | Rate) -> str | None:
    """Return the 95 % interval as text, with open ends; None if both ends are open."""
    if metric.low is None and metric.high is None:
        return None
    low, high = (
        "open" if end is None else f"{end:.{places(metric.n)}f}" for end in (metric.low, metric.high)
    )
    return f"{low} to {high}"


def _score(metric: Metric) -> dict[str, JSON]:
    rare = ("instrument", "observations", "bounds")
    return {name: value for name, value in asdict(metric).items() if value or name not in rare}


def _usage_table(spent: RoleUsage) -> dict[str, JSON]:
    most: dict[str, JSON] = {"tokens": spent.assumed_tokens, "cost_usd": spent.assumed_usd}
    assumed: dict[str, JSON] = {"assumed": most} if spent.assumed_tokens else {}
    table = {name: value for name, value in asdict(spent).items() if not name.startswith("assumed")}
    return table | assumed
