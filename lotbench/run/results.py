"""The results of a run: the report that is written to its folder, and its entry in a ranking.

Scores are computed from the traces and costs from the journal, so any later version can write the report again from the
folder, without calls.
"""

import base64
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from lotbench import benchmarks
from lotbench.calls import embeddings, judge_records
from lotbench.calls.footprint import Work, footprint
from lotbench.calls.journal import CAME, Totals
from lotbench.calls.prices import price
from lotbench.config import judge_panel
from lotbench.config.arm import arm, arm_settings, score_settings
from lotbench.config.experiment import Experiment, Limits, validate
from lotbench.config.model_names import ModelName, Servers, base_model, identity, parse
from lotbench.errors import DataError, RunFolderError, UsageError, shape_errors
from lotbench.harness import judge_standing
from lotbench.harness.benchmark import Benchmark
from lotbench.harness.evidence import Evidence
from lotbench.harness.judge_validation import JudgeContext, JudgeQuality
from lotbench.metrics.likeness import Answers
from lotbench.metrics.primary_metric import PrimaryMetric
from lotbench.regular_file import is_file
from lotbench.report import likeness, trust, what_it_shows
from lotbench.report.leaderboard import Entry, sample_means
from lotbench.report.report import READINGS, Facts, Report, RoleUsage, brief, build, to_markdown, to_summary
from lotbench.run import recorded
from lotbench.run.folder_shapes import read_checks, read_run_json
from lotbench.run.loading import Run, check_command, planned
from lotbench.run.plan import Plan, group_samples, reference, sampling_table
from lotbench.storage import run_folder
from lotbench.storage.datasets import shipped
from lotbench.storage.jsonl import rows, tables
from lotbench.storage.pictures.picture_file import encoded, media_type
from lotbench.types import RUN_SCHEMA, Trace

LABELS = "labels.jsonl"
"""The file with people's labels of the answers of a run, in its folder."""
VECTORS = "vectors.npz"
UNREAD = ("unparsed", "truncated", "refused")
"""The statuses of replies that are empty, cut off, refused or not of the form asked for; see `errors.Unread`."""
PICTURE_PX = 320
PICTURE_BYTES = 45_000
"""The maximum width and height of a picture in a report, and its maximum size before it is encoded as base64."""


def write(
    run: Run,
    plan: Plan,
    out: run_folder.Folder | None,
    wall_s: float,
    totals: Totals,
    *,
    embed: bool = False,
    full: bool = False,
) -> tuple[Run, Report]:
    """Write summary.json, report.md and report.html of a run, complete or not; return it with the new summary, and the report.

    A run without any finished task gets no report.md and report.html.

    Args:
        run: The run, with its traces so far.
        plan: The plan of the run.
        out: The run folder; None to write nothing.
        wall_s: The seconds of all sessions.
        totals: The totals of the run's journal.
        embed: See `gather_evidence`.
        full: Whether report.md and report.html have all sections, or only the brief ones.
    """
    # Imported late: it imports matplotlib, which is needed only at the end of a run.
    from lotbench.report.html.run_report import page  # noqa: PLC0415

    report, quality = _build_report(plan, run, wall_s, totals, out, embed=embed)
    summary = to_summary(report)
    if out is not None:
        if quality.used:
            out.write_json("judge.json", {"schema": RUN_SCHEMA, "records": list(quality.used)})
        out.write_json("summary.json", summary)
        short = report if full else brief(report)
        if run.traces:
            out.write("report.md", to_markdown(short))
            out.write("report.html", page(short, _pictures(plan, short)))
    # The summary as it is read from the file, with lists for tuples.
    return replace(run, summary=json.loads(json.dumps(summary))), report


def _pictures(plan: Plan, report: Report) -> dict[str, str]:
    """Return small pictures of the samples in a report's first readings, as data URLs by sample id; one that is gone is left out."""
    shown: dict[str, str] = {}
    for reading in [reading for section in report.sections for reading in section.readings][:READINGS]:
        with suppress(DataError, KeyError):
            sample = str(reading.sample)
            # Nothing but a picture that the run has recorded goes into its report.
            plan.pictures.sent_bytes(plan.pictures[sample].sha256)
            small = encoded(plan.pictures.path(sample), PICTURE_PX, smallest=True)
            if len(small) <= PICTURE_BYTES:
                shown[sample] = f"data:{media_type(small)};base64,{base64.b64encode(small).decode()}"
    return shown


def _build_report(
    plan: Plan, run: Run, wall_s: float, totals: Totals, out: run_folder.Folder | None, *, embed: bool
) -> tuple[Report, JudgeQuality]:
    """Return the report of a run, and the quality of its judges."""
    benchmark, settings, traces = plan.benchmark, plan.settings, run.traces
    answers = benchmark.answers_by_sample(traces, settings)
    quality = _judge_quality(plan, run, totals)
    evidence = gather_evidence(plan, run.path, answers, out, embed=embed)
    primary_metric = benchmark.primary_metric(traces, settings)
    scored = benchmark.metrics(traces, settings, evidence)
    scores = dict(scored)
    for name in scored.keys() & quality.chance.keys():
        baselines = {**scored[name].baselines, "chance": quality.chance[name]}
        scores[name] = replace(scored[name], baselines=baselines)
    if primary_metric.name in scores:
        records = list(primary_metric.records.values())
        scores[primary_metric.name] = primary_metric.bounded(scores[primary_metric.name], records)
    preset = reference(benchmark, settings)[1]
    rescored = settings.model_copy(update={name: getattr(preset, name) for name in score_settings(settings)})
    own = benchmark.sections(traces, settings, evidence)
    report = build(
        traces,
        {**scores, **(quality.scores or {})},
        # The judges, the power, and the benchmark's own sections.
        [*quality.sections, what_it_shows.section(primary_metric), *own],
        _facts(plan, run, wall_s, totals, quality, primary_metric),
        scored if rescored == settings else benchmark.metrics(traces, rescored, evidence),
    )
    return report, quality


def _facts(
    plan: Plan, run: Run, wall_s: float, totals: Totals, quality: JudgeQuality, primary_metric: PrimaryMetric
) -> Facts:
    """Return the facts of a run for its report."""
    benchmark, settings = plan.benchmark, plan.settings
    spending, ids, works = usage_tables(totals, plan.names)
    preset, preset_settings = reference(benchmark, settings)
    case = _case(plan, ids, totals, primary_metric, run.traces, quality)
    reasons = trust.reasons(case)
    return Facts(
        benchmark=benchmark.name,
        version=benchmark.version,
        models={
            role: sorted(ids.get(role, set())) or [n.text for n in names]
            for role, names in plan.names.items()
        },
        arm=arm(settings),
        data_set=recorded.home(plan.experiment).name,
        n_samples=len(plan.chosen),
        n_episodes=sum(map(len, plan.sequences())),
        reasons=reasons,
        check=check_command(plan.experiment, reasons),
        run=run_folder.called(run.path),
        remarks=trust.remarks(case),
        settings=settings.model_dump(mode="json") | {"repeats": plan.experiment.repeats},
        preset=preset,
        reference=preset_settings.model_dump(mode="json") | {"repeats": benchmark.repeats},
        score_only=score_settings(settings, only=True),
        spent=spending,
        footprint=footprint(works),
        notes=tuple(note for note in (quality.said, primary_metric.counted) if note),
        primary_metric=primary_metric.name,
        words=benchmarks.metric_words(benchmark.name),
        digests=plan.digests,
        wall_s=round(wall_s, 1),
    )


def gather_evidence(
    plan: Plan, path: Path, answers: Answers, out: run_folder.Folder | None = None, *, embed: bool
) -> Evidence:
    """Return the data that metrics need beside traces: samples, labels, and embeddings if the settings name an encoder.

    The vectors are saved in the run folder if it is open for writing (`out`), so that rescoring does not need the encoder. A
    run.json from somebody else may name any encoder, such as a local folder, or weights that are fetched with the user's
    token. So an encoder other than the packaged one is loaded only if the user runs the run or asks for it (`embed`).
    """
    encoder = str(getattr(plan.settings, "encoder", ""))
    texts = [text for replies in answers.values() for text in replies] if encoder else []
    vectors, why = {}, None
    if texts:
        stored = embeddings.read_vectors(path / VECTORS, encoder, texts)
        missing = len(set(texts) - set(stored))
        try:
            if missing and not embed and encoder != embeddings.PACKAGED:
                command = f"lotbench score {path} --embed"
                raise UsageError(
                    f"{missing} texts are not embedded; what loads {encoder} and does it: {command}"
                )
            vectors = embeddings.embedded(encoder, texts, stored) if missing else stored
        except UsageError as error:
            why = str(error)
        if out is not None and len(vectors) > len(stored):
            out.write(VECTORS, embeddings.table(encoder, vectors))
    return Evidence(
        samples=plan.by_id,
        candidate=plan.names["candidate"][0].text,
        vectors=vectors,
        encoder=encoder,
        why=why,
        labels=_labels(path / LABELS, plan.benchmark),
        run=run_folder.called(path),
    )


def _labels(path: Path, benchmark: Benchmark) -> tuple[dict[str, Any], ...]:
    """Return people's labels of a run's answers, a row each; none if the benchmark takes none or there is no such file.

    Raises:
        DataError: A line is not a label of the benchmark.
    """
    if benchmark.review is None or not is_file(path):
        return ()
    for _ in rows(path, benchmark.review.Label.model_validate):
        pass
    return tuple(row for _, row in tables(path))


def _judge_quality(plan: Plan, run: Run, totals: Totals) -> JudgeQuality:
    """Return the quality of the run's judges, by checks in the store and in the run folder."""
    validation = plan.benchmark.validation
    if validation is None:
        return JudgeQuality()
    return judge_standing.standing(
        validation,
        JudgeContext(
            traces=run.traces,
            settings=plan.settings,
            seed=plan.experiment.seed,
            prompts=plan.prompts,
            sampling=sampling_table(plan),
            ids=totals.ids(),
            names=plan.names,
            data=plan.digests["data"],
            run=run.path.name,
            records=(*judge_records.counting(plan.digests["data"]), *read_checks(run.path)),
        ),
    )


def usage_tables(
    totals: Totals, names: Mapping[str, Sequence[ModelName]]
) -> tuple[dict[str, RoleUsage], dict[str, set[str]], dict[str, list[Work]]]:
    """Return three tables by role: the usage, the model ids in the replies, and the output tokens and seconds of each model."""
    spending = {role: RoleUsage() for role in names}
    ids: dict[str, set[str]] = {}
    works: dict[str, dict[tuple[str, str], Work]] = {role: {} for role in names}
    by_text = {name.text: name for panel in names.values() for name in panel}
    for origin, total in totals.by_origin.items():
        if origin.source in CAME and origin.model:
            ids.setdefault(origin.role, set()).add(origin.model)
        if origin.source == "store" or origin.role not in spending:
            continue
        name = by_text.get(origin.asked)
        usage, cost = total.usage, total.cost_usd
        spending[origin.role] += RoleUsage(calls=total.calls, cost_usd=cost, **asdict(usage))
        if origin.source == "assumed":
            tokens = usage.input_tokens + usage.output_tokens
            spending[origin.role] += RoleUsage(assumed_tokens=tokens, assumed_usd=cost)
        if origin.source not in CAME:
            continue
        place = (name.provider if name else "", origin.model)
        work = works[origin.role].setdefault(place, Work(*place))
        work.output_tokens += usage.output_tokens
        work.seconds += total.seconds
    return spending, ids, {role: list(by_place.values()) for role, by_place in works.items()}


def _case(
    plan: Plan,
    ids: Mapping[str, set[str]],
    totals: Totals,
    primary_metric: PrimaryMetric,
    traces: Sequence[Trace],
    quality: JudgeQuality,
) -> trust.Case:
    """Return the facts of a run for the rule of trust."""
    benchmark, settings = plan.benchmark, plan.settings
    roles = {role: names for role, names in plan.names.items() if role != "candidate"}
    players = {
        role: trust.Player(
            tuple(name.text for name in names),
            frozenset(name.kind for name in names),
            tuple(sorted(ids.get(role, ()))),
        )
        for role, names in plan.names.items()
    }
    most = benchmark.calls(settings)
    every = {role: benchmark.roles[role] for role in roles if most.get(role)}
    called = [role for role, declared in every.items() if declared.checked]
    return trust.Case(
        candidate=players["candidate"],
        others={role: players[role] for role in roles},
        impartial=[role for role in roles if benchmark.roles[role].impartial],
        checked=[role for role in called if players[role].kinds != {"human"}],
        checks=quality.checks,
        writers=_writers(plan.chosen),
        samples=len(plan.chosen),
        units=len({_unit(plan, name, ids[0]) for name, ids in group_samples(plan.chosen).items()}),
        whole=plan.of,
        hand_picked=plan.hand_picked,
        seed=plan.experiment.seed,
        guessed=sum(getattr(sample, "guessed", False) for sample in plan.chosen),
        uncovered=benchmark.validation.uncovered if benchmark.validation and "judge" in called else "",
        helpers={role: declared.about for role, declared in every.items() if not declared.checked},
        own=_own(plan, equal_repeats=primary_metric.equal_repeats),
        unanswered=primary_metric.unanswered,
        covered=primary_metric.covered,
        missing=sample_means(traces)[1],
        episodes=(len(traces), sum(map(len, plan.sequences()))),
        unread=_unread(traces),
        seen=None if plan.seen is None else len(plan.seen),
        demands=[*primary_metric.lacks, *_twins(totals, plan.names)],
    )


def _unit(plan: Plan, name: str, sample: str) -> str:
    """Return the name of a group of samples, or the digest of its picture: one picture under two names is one unit."""
    with suppress(DataError, KeyError):
        return plan.pictures[sample].sha256
    return name


def _own(plan: Plan, *, equal_repeats: bool) -> dict[str, str]:
    """Return what a run has of its user's own, by name: samples, prompts, and as text the changed settings that its arm does not name."""
    experiment, settings = plan.experiment, plan.settings
    # A setting without a default is decided by the models of the roles, unless the user decides it.
    undecided = {name: None for name, field in type(settings).model_fields.items() if field.default is None}
    usual, _ = plan.benchmark.cast(settings.model_copy(update=undecided), plan.names, experiment.seed)
    ours = settings.model_dump(exclude=arm_settings(settings), exclude_defaults=True)
    panels = shipped("configs", "panels").glob("*.toml") if "panel" in ours else ()
    if ours.get("panel") in [judge_panel.load(file).id for file in panels]:
        del ours["panel"]
    changed = {
        name: value for name, value in ours.items() if name not in undecided or value != getattr(usual, name)
    }
    changed |= experiment.model_dump(
        mode="json", include={"max_image_px", "languages"}, exclude_defaults=True
    )
    if equal_repeats and experiment.repeats != plan.benchmark.repeats:
        changed["repeats"] = experiment.repeats
    data_set = recorded.home(experiment).name
    if data_set != plan.benchmark.data_set and not plan.own_data:
        changed["data"] = data_set
    for role, sampling in experiment.sampling.items():
        default = asdict(plan.benchmark.roles[role].sampling)
        values = sampling.model_dump(exclude_none=True, exclude={"seed"})
        changed |= {
            f"sampling.{role}.{name}": values[name] for name in values if values[name] != default[name]
        }
    values = {name: "/".join(value) if name == "languages" else value for name, value in changed.items()}
    text = ", ".join(f"{name} = {value}" for name, value in values.items())
    return {
        # Not their paths, which a published file should not tell.
        "samples": recorded.home(experiment).name if plan.own_data else "",
        "prompts": Path(experiment.prompts).name,
        "settings": text,
    }


def _unread(traces: Sequence[Trace]) -> dict[str, tuple[int, int, int]]:
    """Return for each role the number of its replies that could not be read, of these and those that broke a rule, and of all."""
    by_role: dict[str, Counter[str]] = {}
    for step in (step for trace in traces for step in trace.steps if step["role"]):
        value: Any = step["value"]
        # The length of an answer is a rule of HIC-Bench.
        status = "over_length" if value.get("over_length") else value.get("status") or "ok"
        by_role.setdefault(str(step["role"]), Counter())[status] += 1
    return {
        role: (sum(kinds[kind] for kind in UNREAD), kinds.total() - kinds["ok"], kinds.total())
        for role, kinds in by_role.items()
    }


def _twins(totals: Totals, names: Mapping[str, Sequence[ModelName]]) -> list[str]:
    """Return a sentence for each two models of a role that answered as one base model, such as an alias and a dated name."""
    # `claude-sonnet-4.5` is `claude-sonnet-4-5` elsewhere.
    bases = {
        role: [{re.sub(r"[^a-z0-9]+", "-", base_model(model_id)) for model_id in ids} for ids in by_index]
        for role, by_index in totals.ids().items()
    }
    return [
        f"{names[role][first].text} and {names[role][other].text} are one model ({model})"
        for role, by_index in bases.items()
        for first, other in combinations(range(len(by_index)), 2)
        for model in by_index[first] & by_index[other]
        if names[role][first] != names[role][other]
    ]


def _writers(samples: Sequence[Any]) -> dict[str, int]:
    """Return for each writer the number of samples of which this writer wrote the sample or a gold answer."""
    return Counter(
        name
        for sample in samples
        if hasattr(sample, "writer")
        for name in {sample.writer, *getattr(sample, "gold_writers", ())}
    )


def entry(run: Run, *, answers: bool = False) -> Entry:
    """Return a run's entry for a ranking.

    Args:
        run: A run with a summary.
        answers: Whether to add the candidate's answers to the entry.

    Raises:
        RunFolderError: The run has no summary yet.
    """
    if not run.summary:
        raise RunFolderError(f"{run.path}: no summary.json yet; go on with: lotbench resume {run.path}")
    config, models = run.config, run.summary["models"]
    record = read_run_json(run.path)
    servers = record.get("servers", {})
    called = {role for role, used in run.summary["usage"]["by_role"].items() if used.get("calls")}
    digests = {name: run.digests.get(name) for name in ("data", "prompts")}
    declared = benchmarks.get(config.benchmark)
    settings = validate(declared.Settings, config.settings)
    with shape_errors(run.path):
        means, failed = sample_means(run.traces)
        primary_metric = declared.primary_metric(run.traces, settings)
        said = _answers(run.path, run.traces, declared, settings) if answers else likeness.Replies()
    checks = read_checks(run.path)
    return Entry(
        name=run.path.name,
        asked=config.model,
        answered=tuple(models["candidate"]),
        benchmark=config.benchmark,
        values=means,
        failed=failed,
        conditions={
            "version": record.get("version"),
            **digests,
            **_conditions(config, servers),
            **({"repeats": config.repeats} if primary_metric.equal_repeats else {}),
        },
        ids={
            # A role without a reply has its configured names in the summary.
            role: _answering_models(names, {*models[role]} - (set() if role in called else {*names}), servers)
            for role, names in config.roles.items()
            if role in models
        },
        setup={**record["experiment"], **digests, "version": record.get("version")},
        scores=run.summary["scores"],
        reasons=tuple(run.summary["reasons"]),
        remarks=tuple(run.summary.get("remarks", ())),
        arm=run.summary["arm"],
        primary_metric=primary_metric,
        checked=next(
            (judge_standing.fpr(record) for record in checks if _decides(record, declared, settings)), None
        ),
        answers=said,
        complete=run.summary["complete"],
        data_set=recorded.home(config).name,
    )


def _decides(record: Mapping[str, Any], declared: Benchmark, settings: Any) -> bool:
    """Return whether a check is of the judges that decide in a run, not of the oracle or of one judge of two."""
    depends = declared.validation.depends("judge", settings)[0] if declared.validation else {}
    return bool({**depends, "role": "judge"}.items() <= record["key"].items())


def _conditions(config: Experiment, servers: Servers) -> dict[str, Any]:
    """Return the parts of an experiment that must be equal for runs to be ranked together: all but candidate and samples."""
    roles = {role: [identity(parse(name, servers)) for name in names] for role, names in config.roles.items()}
    sampling = {role: chosen.model_dump() for role, chosen in config.sampling.items() if role != "candidate"}
    equal = {name: getattr(config, name) for name in ("benchmark", "settings", "max_image_px", "languages")}
    return {**equal, "roles": roles, "sampling": sampling}


def _answering_models(names: Sequence[str], ids: AbstractSet[str], servers: Servers) -> list[str]:
    """Return the identities of the models that answered in a role; of several models only the ids, as their order is unknown."""
    if len(names) != 1:
        return sorted(ids)
    name = parse(names[0], servers)
    return sorted({identity(name, "" if model_id == name.text else model_id) for model_id in ids})


def rewritten(run: Run, *, full: bool = False) -> tuple[Run, Report]:
    """Write the report of a run folder again, unless the folder is read-only; return the run and the report."""
    plan, wall_s = planned(run, Limits()), run.summary.get("wall_s", 0.0)
    prices = {name.text: price(name) for panel in plan.names.values() for name in panel}
    with run_folder.opened(run.path) as out, shape_errors(run.path):
        return write(run, plan, out, wall_s, run.totals(prices), full=full)


def _answers(path: Path, traces: Sequence[Trace], declared: Benchmark, settings: Any) -> likeness.Replies:
    """Return the candidate's answers with the vectors in the run folder; no encoder is loaded."""
    encoder = str(getattr(settings, "encoder", ""))
    answers = declared.answers_by_sample(traces, settings)
    all_texts = [text for texts in answers.values() for text in texts]
    vectors = embeddings.read_vectors(path / VECTORS, encoder, all_texts) if encoder else {}
    return likeness.Replies(answers, vectors, encoder)
