"""`clot report`: base, stage 1 and stage 2 on the held-out split, for weak and for random conditions (CLoTv1).

The problems and the scores are those of standard evaluation. The problems are put in the words of training, and the model
answers by the likelihood of each option's letter, so that every answer can be read. `lotbench evaluate standard` with
`part=held_out` puts the same problems in the benchmark's own words.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args

from clot_training.config import Conditions, Config, data_digests
from clot_training.data import templates
from clot_training.data.index import Rows
from clot_training.data.roles import help_with
from clot_training.exploring.policy import TransformersPolicy, transformers_policy
from clot_training.records import Prompt, Work
from clot_training.tuning.tune import ADAPTER
from lotbench.benchmarks.standard import score, sections
from lotbench.benchmarks.standard.building import build
from lotbench.benchmarks.standard.oogiri import Row
from lotbench.benchmarks.standard.oogiri.problems import Problem
from lotbench.benchmarks.standard.score import Answered
from lotbench.benchmarks.standard.settings import Settings
from lotbench.errors import RunFolderError
from lotbench.report.markdown import places
from lotbench.report.report import interval, laid_out
from lotbench.report.sections import Cell, Section, Table
from lotbench.storage import atomic_write
from lotbench.storage.run_folder import read_json
from lotbench.types import Metric


def report(config: Config, own: Mapping[str, Any] | None = None) -> str:
    """Score the base and all tuned stages on the held-out split, and write report.md and report.json.

    Each problem has options. The models in `config.instructions` write the captions and rewrites among them; without
    such a model, other responses take their place.

    Args:
        config: The configuration.
        own: Models that are Python objects, by the NAME in `python:NAME`.

    Returns:
        The report in Markdown.

    Raises:
        UsageError: The held-out split gives no problems, the model cannot be loaded, or a stage was trained on another part of
            the data.
    """
    work = Work(Path(config.out))
    tuned = _stages(config, work)
    settings = Settings(
        part="held_out",
        share=config.held_out,
        split_seed=config.seed,
        captions="rows",
        rewrites="rewriter" if config.instructions.rewriter else "rows",
        rewriting=config.instructions.rewriting,
    )
    captions, rewrites = _written_texts(config, work, own)
    built = build(tuple(_rows(config, captions)), settings, config.seed)
    rewritten = filter(None, (_with_rewrite(problem, rewrites) for problem in built))
    problems = _first(list(rewritten), config.report.limit)
    by_stage: dict[str, dict[str, Metric]] = {}
    cells: dict[str, Table] = {}
    for stage, adapter in tuned:
        policy = transformers_policy(config, adapter)
        answered = [_answer(policy, problem, config.seed) for problem in problems]
        by_stage[stage] = score.measured(answered, settings)
        cells[stage] = sections.cells(answered, settings).tables[0]
        del policy
    text = _markdown(config, problems, by_stage, cells)
    by_type = {
        stage: [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        for stage, table in cells.items()
    }
    stages = {stage: {n: asdict(m) for n, m in scores.items()} for stage, scores in by_stage.items()}
    table = {"stages": stages, "by_type_and_language": by_type}
    atomic_write.write(work.report.with_suffix(".json"), json.dumps(table, indent=2) + "\n")
    atomic_write.write(work.report, text)
    return text


def _stages(config: Config, work: Work) -> list[tuple[str, Path | None]]:
    """Return the name and the adapter's folder of the base (None) and of each tuned stage.

    Raises:
        RunFolderError: A stage was trained with another seed, share or data, so that held-out rows may be in it.
    """
    tuned = [("stage 1", work.stage1)]
    tuned += [(f"stage 2, {name} conditions", work.stage2(name)) for name in get_args(Conditions)]
    done = [(name, folder) for name, folder in tuned if (folder / "tune.json").exists()]
    asked = {**config.model_dump(mode="json"), "data": [*data_digests(config.folders()).values()]}
    for _, folder in done:
        frozen = read_json(folder / "config.json")
        made = {**frozen["config"], "data": [*frozen["data"].values()]}
        if changed := [name for name in ("seed", "held_out", "data") if made[name] != asked[name]]:
            raise RunFolderError(
                f"{folder}: trained with another {', '.join(changed)}: held-out rows may be in it"
            )
    return [("base", None), *((name, folder / ADAPTER) for name, folder in done)]


def _written_texts(
    config: Config, work: Work, own: Mapping[str, Any] | None
) -> tuple[dict[str, str], dict[str, str]]:
    """Return what the configured models write for the held-out rows: captions by picture path, rewrites by row id."""
    named = config.instructions
    if not (named.captioner or named.rewriter):
        return {}, {}
    alone = config.model_copy(update={"instructions": named.model_copy(update={"screener": ""})})
    index = Rows(config, part="held_out")
    help_with(index, alone, work.screened, own)
    captions, rewrites = (
        {about: text for (heard_as, about), text in index.heard.items() if heard_as == role}
        for role in ("caption", "rewrite")
    )
    return captions, rewrites


def _with_rewrite(problem: Problem, rewrites: Mapping[str, str]) -> Problem | None:
    """Return a problem with the text from `rewrites` in the rewriter's option; None if `rewrites` has no text for it.

    A problem without such an option is returned unchanged.
    """
    rewrite = rewrites.get(str(problem.options[0].row))
    if all(option.origin != "rewriter" for option in problem.options):
        return problem
    if rewrite is None:
        return None
    options = (
        option.model_copy(update={"text": rewrite}) if option.origin == "rewriter" else option
        for option in problem.options
    )
    return problem.model_copy(update={"options": tuple(options)})


def _rows(config: Config, captions: Mapping[str, str]) -> Iterator[Row]:
    """Yield the held-out rows with the captioner's captions."""
    for row in Rows(config, part="held_out").all():
        yield row.model_copy(update={"caption": captions.get(row.image, row.caption) if row.image else None})


def _first(problems: Sequence[Problem], limit: int) -> list[Problem]:
    """Return the first `limit` problems of each kind; 0 means all."""
    kinds = dict.fromkeys(problem.kind for problem in problems)
    alike = ([problem for problem in problems if problem.kind == kind] for kind in kinds)
    return [problem for group in alike for problem in group[: limit or None]]


def _answer(policy: TransformersPolicy, problem: Problem, seed: int) -> Answered:
    """Return the model's answer to a problem that is put in the words of training.

    The answer names as many options as asked for, in the order of the likelihood of their letters.
    """
    rng = Random(f"{seed}:{problem.id}:0:shown")
    places = rng.sample(range(len(problem.options)), len(problem.options))
    texts = [problem.options[place].text or "" for place in places]
    kind: Literal["selection", "ranking"] = "ranking" if problem.kind == "rank" else "selection"
    prompt = Prompt(templates.choice(kind, problem, texts, rng), problem.image, seed)
    (odds,) = policy.odds([prompt], [templates.LETTERS[: len(places)]])
    order = sorted(range(len(places)), key=lambda place: -odds[place])
    return Answered(problem, tuple(places[place] for place in order[: problem.answer_size]))


def _markdown(
    config: Config,
    problems: Sequence[Problem],
    by_stage: Mapping[str, Mapping[str, Metric]],
    cells: Mapping[str, Table],
) -> str:
    """Return the report: scores by stage, the same by type and language (Table 2), and where the options are from."""
    named, base = config.instructions, by_stage["base"]
    rows: tuple[tuple[Cell, ...], ...] = (
        ("chance", *(metric.baselines.get("chance") for metric in base.values())),
        ("n", *(metric.n for metric in base.values())),
        *((stage, *map(_with_interval, scores.values())) for stage, scores in by_stage.items()),
    )
    notes = (
        f"base model: {config.model}; held out: {config.held_out:g} of the groups, seed {config.seed}",
        "intervals: 95 %, bootstrap over pictures and questions; from fewer than ten of them they say little",
        "every choice is read off the likelihood of each option's letter",
        f"captions: {named.captioner or 'of the rows, else stand-ins'}",
        f"rewrites: {named.rewriter or 'stand-ins'}",
    )
    by_type = tuple(replace(table, caption=stage) for stage, table in cells.items())
    parts = (
        Section("Stages on the held-out split", notes, (Table(("model", *base), rows),)),
        Section("By type and language", tables=by_type),
        sections.origins(problems),
    )
    return "\n\n".join(block for part in parts for block in laid_out(part) if block) + "\n"


def _with_interval(metric: Metric) -> str | None:
    if metric.value is None:
        return None
    return f"{metric.value:.{places(metric.n)}f} ({interval(metric) or 'no interval'})"
