"""The sections of a report on standard evaluation: scores by kind, type and language, and the origins of the options.

The tables show the chance level beside each score, since most published scores lie below it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from lotbench.benchmarks.standard import score
from lotbench.benchmarks.standard.oogiri.problems import RANKED, Problem
from lotbench.benchmarks.standard.score import CHOICES, Answered
from lotbench.benchmarks.standard.settings import Settings
from lotbench.harness.evidence import NOTHING, Evidence
from lotbench.metrics import ranking
from lotbench.report.sections import Cell, Excerpt, Plot, Section, Table
from lotbench.types import Metric, Trace

ORIGINS: Mapping[str, str] = {
    "response": "a response to this picture or question",
    "elsewhere": "a response to another picture or question",
    "low": "a little liked response to this picture or question",
    "caption": "the data set's caption",
    "captioner": "the captioner",
    "rewriter": "the rewriter",
    "other_caption": "the data set's caption of another picture",
    "other_captioner": "the captioner, of another picture",
}
STANDS_IN = (("caption", "elsewhere"), ("rewrite", "low"))
"""Pairs (slot, origin) in which a response stands in for the caption or the rewrite that the slot is named after."""
READINGS = 5


def sections(traces: Sequence[Trace], settings: Settings, evidence: Evidence = NOTHING) -> list[Section]:
    """Return the sections of a report that have data."""
    if settings.kind == "generate":
        return [_written(traces, evidence)]
    entries = score.answered(traces, evidence)
    ranked = [entry for entry in entries if entry.problem.kind == "rank"]
    problems = [evidence.samples[trace.sample] for trace in traces]
    parts = [_choices(entries)] if any(entry.problem.kind != "rank" for entry in entries) else []
    parts += [_rankings(ranked, settings)] if ranked else []
    parts += [cells(entries, settings), origins(problems)]
    return parts


def _choices(entries: Sequence[Answered]) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for kind, chance in CHOICES.items():
        chosen = [entry for entry in entries if entry.problem.kind == kind]
        if chosen:
            rows.append((kind.upper(), len(chosen), chance, *_span(score.accuracy(chosen)), _parsed(chosen)))
    columns = ("kind", "problems", "chance", "accuracy", "low", "high", "parse rate")
    note = (
        "mTn: choose the n creative responses of m options; both must be named. A reply that could not be read is "
        "wrong: accuracy / parse rate is that of the others. Low and high: 95 % interval, drawing pictures and questions again."
    )
    return Section("Choices", (note,), (Table(columns, tuple(rows)),), brief=True)


def _rankings(ranked: Sequence[Answered], settings: Settings) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for name, measure in (("top-1", score.top1), ("NDCG", score.ndcg)):
        metric = measure(ranked, settings)
        rows.append((name, *_span(metric), metric.baselines["chance"]))
    rows.append(("Spearman", *_span(score.spearman(ranked)), 0.0))
    columns = ("measure", "value", "low", "high", "chance")
    notes = (
        f"{len(ranked)} rankings of {RANKED} responses; parse rate {_parsed(ranked):.3f}. Gain: {settings.gain} in "
        "the mean rating above the lowest, or in log2(1 + likes). Chance is the mean over all 120 orders of each "
        "problem.",
    )
    answers = [entry.answer for entry in ranked if entry.answer is not None]
    tables, plots = [Table(columns, tuple(rows))], tuple[Plot, ...]()
    if answers:
        shares = ranking.misplaced(answers)
        caption = "Share misplaced at each true rank (Fig. 14, right); chance 0.8"
        table = tuple((rank, float(share)) for rank, share in enumerate(shares, 1))
        tables.append(Table(("true rank", "share misplaced"), table, caption))
        plots = (_correlations(answers),)
    return Section("Ranking", notes, tuple(tables), plots, brief=True)


def _correlations(answers: Sequence[Sequence[int]]) -> Plot:
    """Return the histogram of the rankings' correlations with people's order (Fig. 14, left)."""
    counts = Counter(round(ranking.spearman(answer), 1) for answer in answers)
    points = tuple((value, float(counts[value])) for value in sorted(counts))
    return Plot(
        "bar", "Spearman's rho", "rankings", {"rankings": points}, "Rank correlation with the human order"
    )


def cells(entries: Sequence[Answered], settings: Settings) -> Section:
    """Return the section on scores by type, by language and by both, with the averages of the paper's tables."""
    groups: dict[tuple[str, str], list[Answered]] = {}
    for entry in entries:
        type_, language = entry.problem.type, entry.problem.language
        for place in ((type_, "all"), ("all", language), (type_, language)):
            groups.setdefault(place, []).append(entry)
    note = (
        "Avg. is that of the paper's Tables 2 and 4, the mean of 3T1, 4T1, 5T2 and NDCG; with 2T1 that of Table 3. Of all "
        "types it is the mean of theirs (Fig. 16). It is left out where one of them is missing."
    )
    rows = [
        (*place, len(chosen), *(metric.value for metric in score.measured(chosen, settings).values()))
        for place, chosen in sorted(groups.items())
    ]
    columns = ("type", "language", "problems", *(kind.upper() for kind in CHOICES), "top-1", "NDCG")
    averages = ("Avg.", "Avg. with 2T1")
    return Section("By type and language", (note,), (Table((*columns, *averages), tuple(rows)),), brief=True)


def origins(problems: Sequence[Problem]) -> Section:
    """Return the section on where the wrong options are from."""
    counts = Counter(
        (problem.kind, option.slot, option.origin)
        for problem in problems
        for option in problem.options
        if option.slot not in ("right", "ranked")
    )
    rows: list[tuple[Cell, ...]] = []
    for (kind, slot, origin), count in sorted(counts.items()):
        mark = "stands in" if (slot, origin) in STANDS_IN else ""
        rows.append((kind.upper(), slot, ORIGINS[origin], count, mark))
    table = Table(
        ("kind", "slot", "is", "options", "mark"), tuple(rows), "Wrong options by where they are from"
    )
    note = (
        "Without a captioner a caption's place is taken by a response to another picture, without a rewriter a "
        "rewrite's by a little liked response to the same; T2T has no caption. Kinds are easier or harder for it, so "
        "compare runs only where this table agrees."
    )
    guessed = sum(problem.guessed for problem in problems)
    warning = (
        f"WARNING: in {guessed} of {len(problems)} problems the likes are guesses of the rows' writers: nobody voted, so "
        "these scores say how far a model agrees with them, and no more."
    )
    return Section("What the options are", (note, *([warning] if guessed else [])), (table,))


def _written(traces: Sequence[Trace], evidence: Evidence) -> Section:
    """Return the section on free responses: how many came, and the texts of the first ones."""
    texts = [(trace, trace.score.parts.get("response")) for trace in traces]
    came = [(trace, text) for trace, text in texts if text]
    readings = tuple(
        _make_reading(evidence.samples[trace.sample], str(text), trace) for trace, text in came[:READINGS]
    )
    note = (
        f"{len(came)} of {len(traces)} prompts have a response. People decide what they are worth: "
        "`lotbench ballot RUN RUN --out FILE` writes the responses of several runs to a ballot."
    )
    return Section("Free responses", (note,), readings=readings)


def _make_reading(problem: Problem, text: str, trace: Trace) -> Excerpt:
    question = (("question", problem.question),) if problem.question else ()
    title = f"{problem.type}, {problem.language}"
    return Excerpt(title, (*question, ("response", text)), trace.sample, trace.repeat)


def _parsed(entries: Sequence[Answered]) -> float:
    return sum(entry.answer is not None for entry in entries) / len(entries)


def _span(metric: Metric) -> tuple[Cell, Cell, Cell]:
    return metric.value, metric.low, metric.high
