"""From a run folder to what it says: traces, spending, the reasons why it may not be ranked, the report.

Scores come from the traces and spending from the journal, so a report can be made again from the folder
alone, by any later version, without a call.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lotbench import benchmarks
from lotbench.calls import embeddings, judge_records
from lotbench.calls.footprint import Work, footprint
from lotbench.calls.journal import CAME, Totals
from lotbench.calls.prices import price
from lotbench.config.arm import arm, score_settings
from lotbench.config.experiment import Experiment, Limits, validate
from lotbench.config.model_names import ModelName, address, identity, parse
from lotbench.errors import RunFolderError, UsageError
from lotbench.harness import judge_standing
from lotbench.harness.benchmark import Benchmark
from lotbench.harness.evidence import Evidence
from lotbench.harness.judge_validation import JudgeContext, JudgeQuality, Place
from lotbench.metrics.likeness import Answers
from lotbench.metrics.primary_metric import PrimaryMetric
from lotbench.report import likeness, trust, what_it_shows
from lotbench.report.leaderboard import Entry, sample_scores
from lotbench.report.report import Facts, Report, Spent, brief, build, to_markdown, to_summary
from lotbench.report.sections import Reading, Section
from lotbench.run import plan
from lotbench.run.folder_shapes import read_checks, read_run_json
from lotbench.run.loading import Run, planned
from lotbench.storage import run_folder
from lotbench.storage.jsonl import rows
from lotbench.types import RUN_SCHEMA, Trace

LABELS = "labels.jsonl"
"""What people said of the answers of a run, in its folder."""
VECTORS = "vectors.npz"


def write(
    run: Run,
    made: plan.Plan,
    out: run_folder.Folder | None,
    wall_s: float,
    totals: Totals,
    *,
    embed: bool = False,
    full: bool = False,
) -> tuple[Run, Report]:
    """Write summary.json, report.md and report.html of a run as far as it has come; returns both, as they are now.

    Args:
        run: The run, with the traces that it has come to.
        made: Its plan.
        out: Its folder; None if nothing can be written to it, and nothing is.
        wall_s: The seconds of all its sessions.
        totals: What its journal adds up to.
        embed: See `evidence`.
        full: Whether the report has all that there is to say, not only what everybody reads.
    """
    # Drawing takes matplotlib, which nothing before the end of a run has a use for.
    from lotbench.report.html.run_report import page  # noqa: PLC0415

    report, quality = _measured(made, run.path, run.traces, wall_s, totals, out, embed=embed)
    summary = to_summary(report)
    if out is not None:
        if quality.used:
            out.write_json("judge.json", {"schema": RUN_SCHEMA, "records": list(quality.used)})
        out.write_json("summary.json", summary)
        shown = report if full else brief(report)
        out.write("report.md", to_markdown(shown))
        out.write("report.html", page(shown))
    # As whoever reads the file has it: its lists are no tuples.
    return replace(run, summary=json.loads(json.dumps(summary))), report


@dataclass(frozen=True, slots=True)
class _Worked:
    """What is worked out of a run once, for all parts of its report that want it.

    `spending`, `ids` and `works` are those of `spent`.
    """

    traces: Sequence[Trace]
    answers: Answers
    beside: Evidence
    quality: JudgeQuality
    primary_metric: PrimaryMetric
    spending: Mapping[str, Spent]
    ids: Mapping[str, set[str]]
    works: Mapping[str, list[Work]]


def _measured(
    made: plan.Plan,
    path: Path,
    traces: Sequence[Trace],
    wall_s: float,
    totals: Totals,
    out: run_folder.Folder | None = None,
    *,
    embed: bool = False,
) -> tuple[Report, JudgeQuality]:
    """Return the report of a run, and what is known of its judges."""
    benchmark, settings = made.benchmark, made.settings
    answers = benchmark.answers_by_sample(traces, settings)
    quality = _judge_quality(made, path, traces, totals)
    known = _Worked(
        traces,
        answers,
        evidence(made, path, answers, out, embed=embed),
        quality,
        benchmark.primary_metric(traces, settings),
        *spent(totals, made.names),
    )
    scored = benchmark.metrics(traces, settings, known.beside)
    scores = {
        name: replace(metric, baselines={**metric.baselines, "chance": quality.chance[name]})
        if name in quality.chance
        else metric
        for name, metric in scored.items()
    }
    theirs = plan.reference(benchmark)[1]
    rescored = settings.model_copy(update={name: getattr(theirs, name) for name in score_settings(settings)})
    report = build(
        traces,
        {**scores, **(quality.scores or {})},
        _sections(made, known),
        _facts(made, known, wall_s),
        scored if rescored == settings else benchmark.metrics(traces, rescored, known.beside),
    )
    return report, quality


def _facts(made: plan.Plan, known: _Worked, wall_s: float) -> Facts:
    """Return what is known of a run beside its traces."""
    benchmark, settings, quality = made.benchmark, made.settings, known.quality
    preset, theirs = plan.reference(benchmark)
    case = _case(made, known.ids, known.primary_metric, known.traces, quality)
    return Facts(
        benchmark=benchmark.name,
        version=benchmark.version,
        models={
            role: sorted(known.ids.get(role, set())) or [n.text for n in names]
            for role, names in made.names.items()
        },
        arm=arm(settings),
        n_samples=len(made.chosen),
        n_episodes=sum(map(len, made.sequences())),
        reasons=trust.reasons(case),
        remarks=trust.remarks(case),
        settings=settings.model_dump(mode="json") | {"repeats": made.experiment.repeats},
        preset=preset,
        reference=theirs.model_dump(mode="json") | {"repeats": benchmark.repeats},
        score_only=score_settings(settings, only=True),
        spent=known.spending,
        footprint=footprint(known.works),
        notes=tuple(note for note in (quality.said, known.primary_metric.counted) if note),
        primary_metric=known.primary_metric.name,
        digests=made.digests,
        wall_s=round(wall_s, 1),
    )


def _sections(made: plan.Plan, known: _Worked) -> Sequence[Section]:
    """Return the sections of a run's report: what the score rests on first, the benchmark's own, and what is long to read last."""
    beside = known.beside
    own = made.benchmark.sections(known.traces, made.settings, beside)
    last = max((at for at, one in enumerate(own) if one.readings), default=len(own))
    alike = likeness.alone(likeness.Said(known.answers, beside.vectors, beside.encoder))
    shows = what_it_shows.section(known.primary_metric)
    return [*known.quality.sections, shows, *own[:last], alike, *own[last:]]


def evidence(
    made: plan.Plan,
    path: Path,
    answers: Answers,
    out: run_folder.Folder | None = None,
    *,
    embed: bool,
) -> Evidence:
    """Return what a run's numbers rest on beside its traces; the answers are embedded if the benchmark names an encoder.

    Vectors are kept in the run folder, if it is open for writing (`out`), so that a score can be made again without
    the encoder. A run.json from somebody else may name any encoder: a folder here, or weights that are fetched with
    the user's token. So none but the packaged one is loaded unless the user runs or asks for it (`embed`).
    """
    encoder = str(getattr(made.settings, "encoder", ""))
    wanted = [text for said in answers.values() for text in said] if encoder else []
    vectors, why = {}, None
    if wanted:
        kept = embeddings.read_vectors(path / VECTORS, encoder, wanted)
        missing = len(set(wanted) - set(kept))
        try:
            if missing and not embed and encoder != embeddings.PACKAGED:
                command = f"lotbench score {path} --embed"
                raise UsageError(
                    f"{missing} texts are not embedded; what loads {encoder} and does it: {command}"
                )
            vectors = embeddings.embedded(encoder, wanted, kept) if missing else kept
        except UsageError as error:
            why = str(error)
        if out is not None and len(vectors) > len(kept):
            out.write(VECTORS, embeddings.table(encoder, vectors))
    return Evidence(
        samples=made.by_id,
        candidate=made.names["candidate"][0].text,
        vectors=vectors,
        encoder=encoder,
        why=why,
        labels=_labels(path / LABELS, made.benchmark),
    )


def readings(run: Run, trace: Trace) -> tuple[Reading, ...]:
    """Return what a run's sections give to read of one episode; nothing if what it carries is not what it was."""
    try:
        made = planned(run, Limits())
    except UsageError:
        return ()
    beside = Evidence(made.by_id, made.names["candidate"][0].text, why="no texts are embedded for one task")
    found = made.benchmark.sections([trace], made.settings, beside)
    return tuple(
        one
        for section in found
        for one in section.readings
        if (one.sample, one.repeat) == (trace.sample, trace.repeat)
    )


def _labels(path: Path, benchmark: Benchmark) -> tuple[dict[str, Any], ...]:
    """Return what people said of a run's answers; raises DataError where a line is none of the benchmark's labels."""
    review = benchmark.review
    if review is None or not path.is_file():
        return ()

    def read(row: dict[str, Any]) -> dict[str, Any]:
        review.Label.model_validate(row)
        return row

    return tuple(row for _, row in rows(path, read))


def _judge_quality(made: plan.Plan, path: Path, traces: Sequence[Trace], totals: Totals) -> JudgeQuality:
    """Return what is known of the run's judges, from the store and from what the run has kept of it."""
    validation = made.benchmark.validation
    if validation is None:
        return JudgeQuality()
    addresses = {role: [address(name) for name in names] for role, names in made.names.items()}
    return judge_standing.standing(
        validation,
        JudgeContext(
            traces=traces,
            settings=made.settings,
            seed=made.experiment.seed,
            prompts=made.prompts,
            sampling=plan.sampling_table(made),
            ids=totals.ids(),
            addresses=addresses,
            data=made.digests["data"],
            run=path.name,
            records=(*judge_records.counting(made.digests["data"]), *read_checks(path)),
        ),
    )


def spent(
    totals: Totals, names: Mapping[str, Sequence[ModelName]]
) -> tuple[dict[str, Spent], dict[str, set[str]], dict[str, list[Work]]]:
    """Return what each role used, the ids that its models returned, and what each of them did."""
    spending = {role: Spent() for role in names}
    ids: dict[str, set[str]] = {}
    works: dict[str, dict[tuple[str, str], Work]] = {role: {} for role in names}
    known_as = {name.text: name for given in names.values() for name in given}
    for origin, total in totals.by_origin.items():
        if origin.source in CAME:
            ids.setdefault(origin.role, set()).add(origin.model)
        if origin.source == "store" or origin.role not in spending:
            continue
        name = known_as.get(origin.asked)
        spending[origin.role] += Spent(
            calls=total.calls,
            input_tokens=total.input_tokens,
            cached_input_tokens=total.cached_input_tokens,
            output_tokens=total.output_tokens,
            cost_usd=total.cost_usd,
        )
        if origin.source == "assumed":
            spending[origin.role] += Spent(
                assumed_tokens=total.input_tokens + total.output_tokens, assumed_usd=total.cost_usd
            )
        if origin.source not in CAME:
            continue
        place = (name.provider if name else "", origin.model)
        work = works[origin.role].setdefault(place, Work(*place))
        work.output_tokens += total.output_tokens
        work.seconds += total.seconds
    return spending, ids, {role: list(found.values()) for role, found in works.items()}


def _case(
    made: plan.Plan,
    ids: Mapping[str, set[str]],
    primary_metric: PrimaryMetric,
    traces: Sequence[Trace],
    quality: JudgeQuality,
) -> trust.Case:
    """Return what the rule of trust is told of a run."""
    benchmark, settings = made.benchmark, made.settings
    roles = {role: names for role, names in made.names.items() if role != "candidate"}
    players = {
        role: trust.Player(
            tuple(name.text for name in names),
            frozenset(name.kind for name in names),
            tuple(sorted(ids.get(role, ()))),
        )
        for role, names in made.names.items()
    }
    most = benchmark.calls(settings)
    return trust.Case(
        candidate=players["candidate"],
        others={role: players[role] for role in roles},
        impartial=[role for role in roles if benchmark.roles[role].impartial],
        checked=[
            role
            for role in roles
            if benchmark.roles[role].checked and most.get(role) and players[role].kinds != {"human"}
        ],
        checks=quality.checks,
        writers=_writers(made.chosen),
        samples=len(made.chosen),
        whole=made.of,
        unanswered=primary_metric.unanswered,
        missing=sample_scores(traces).failed,
        episodes=(len(traces), sum(map(len, made.sequences()))),
        seen=None if made.seen is None else len(made.seen),
        demands=primary_metric.lacks,
    )


def _writers(samples: Sequence[Any]) -> dict[str, int]:
    """Return how many samples each writer wrote, or their gold."""
    return Counter(
        name
        for sample in samples
        if hasattr(sample, "writer")
        for name in {sample.writer, *getattr(sample, "gold_writers", ())}
    )


def entry(run: Run, *, said: bool = False) -> Entry:
    """Return a run as a ranking sees it.

    Args:
        run: A run that has ended.
        said: Whether its answers are wanted too.

    Raises:
        RunFolderError: It has not ended in order yet.
    """
    if not run.summary:
        raise RunFolderError(f"{run.path}: no summary.json yet; go on with: lotbench resume {run.path}")
    config, models = run.config, run.summary["models"]
    record = read_run_json(run.path)
    digests = {name: run.digests.get(name) for name in ("data", "prompts")}
    played = sample_scores(run.traces)
    declared = benchmarks.get(config.benchmark)
    settings = validate(declared.Settings, config.settings)
    primary_metric = declared.primary_metric(run.traces, settings)
    kept = read_checks(run.path)
    labels = _labelled_verdicts(kept, run.path.name)
    by_labels = primary_metric.by_labels(labels) if labels and primary_metric.by_labels else None
    return Entry(
        name=run.path.name,
        asked=config.model,
        answered=tuple(models["candidate"]),
        benchmark=config.benchmark,
        values=played.means,
        failed=played.failed,
        conditions={"version": record.get("version"), **digests, **_conditions(config)},
        ids={
            # A role that was never called stands in the summary as it was asked for.
            role: _answered(names, {*models[role]} - {*names})
            for role, names in config.roles.items()
            if role in models
        },
        setup={**record["experiment"], **digests, "version": record.get("version")},
        scores=run.summary["scores"],
        reasons=tuple(run.summary["reasons"]),
        arm=run.summary["arm"],
        primary_metric=primary_metric,
        by_labels=by_labels,
        checked=judge_standing.fpr(kept[0]) if kept else None,
        said=_said(run.path, run.traces, declared, settings) if said else likeness.Said(),
    )


def _conditions(config: Experiment) -> dict[str, Any]:
    """Return what of an experiment must be the same for runs to be ranked together: all but who is measured, and how much."""
    roles = {role: [identity(parse(name)) for name in names] for role, names in config.roles.items()}
    sampling = {role: one.model_dump() for role, one in config.sampling.items() if role != "candidate"}
    return {
        "benchmark": config.benchmark,
        "roles": roles,
        "settings": config.settings,
        "sampling": sampling,
        "max_image_px": config.max_image_px,
    }


def _answered(names: Sequence[str], ids: AbstractSet[str]) -> list[str]:
    """Return who answered in a role; of several models the ids alone, since it is not known which of them is whose."""
    return sorted(identity(parse(names[0]), one) for one in ids) if len(names) == 1 else sorted(ids)


def rewritten(run: Run, *, full: bool = False) -> tuple[Run, Report]:
    """Write the report of a run folder anew, if it can be written to, from what is in it; returns both, as they are now."""
    made, wall_s = planned(run, Limits()), run.summary.get("wall_s", 0.0)
    prices = {name.text: price(name) for given in made.names.values() for name in given}
    with run_folder.opened(run.path) as out:
        return write(run, made, out, wall_s, run.totals(prices), full=full)


def _said(path: Path, traces: Sequence[Trace], declared: Benchmark, settings: Any) -> likeness.Said:
    """Return what the candidate said, with the vectors that the folder has of it: no encoder is loaded to compare."""
    encoder = str(getattr(settings, "encoder", ""))
    answers = declared.answers_by_sample(traces, settings)
    wanted = [text for texts in answers.values() for text in texts]
    return likeness.Said(
        answers, embeddings.read_vectors(path / VECTORS, encoder, wanted) if encoder else {}, encoder
    )


def _labelled_verdicts(records: Sequence[Mapping[str, Any]], run: str) -> dict[Place, bool]:
    """Return what people said of the run's own guesses, as its report has it."""
    found = [own for record in records for own in record.get("field", ()) if own["run"] == run]
    return {
        (sample, repeat, at): right
        for own in found[:1]
        for sample, repeat, at, right in own.get("labels", ())
    }
