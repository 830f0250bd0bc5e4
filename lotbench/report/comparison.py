"""The comparison of several runs, as data.

The sections, in order:

1. Ranking, differences and people: runs of one benchmark that were measured under the same conditions. `leaderboard`
   computes them, `ranking_sections` lays them out.
2. The metrics of all runs side by side, and the benchmark's own comparison of them (`across`): runs measured under the
   same conditions, or with one difference.
3. Correlations: between benchmarks over the same models, and with a table of published scores.

Runs of a benchmark that differ in several settings are compared in groups with equal conditions. A run without a group is
left out, and a sentence names it. If no two runs have equal conditions, the comparison is refused with a list of the
differences.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeAlias

from lotbench.config.experiment import differences
from lotbench.errors import UsageError
from lotbench.metrics.correlation import correlation
from lotbench.report import bounds, leaderboard, likeness, ranking_sections
from lotbench.report.leaderboard import Board, Entry
from lotbench.report.likeness import Replies
from lotbench.report.markdown import plain, visible
from lotbench.report.report import laid_out
from lotbench.report.sections import Section, Table
from lotbench.types import JSON

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

_NUMERIC = re.compile(r"[-\d.,e()\u2013 ]*")
Published: TypeAlias = Mapping[str, Mapping[str, float]]
"""A table of published scores: a mapping from column to model to score."""
Across: TypeAlias = Callable[[str, Mapping[str, str]], Sequence[Section]]
"""A function that returns a benchmark's own sections about several runs.

Its arguments are the benchmark's name, and the label of each run by folder name.
"""


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """The comparison of several runs.

    Attributes:
        runs: The names of the run folders.
        said: For each benchmark (or group of its runs) a sentence that ranks its models, and one for each run left out.
        boards: The ranking of each benchmark (or group of its runs).
    """

    title: str
    runs: tuple[str, ...]
    sections: tuple[Section, ...]
    said: tuple[str, ...] = ()
    boards: tuple[Board, ...] = ()

    def __repr__(self) -> str:
        return visible(f"<comparison of {self.title}: {' '.join(self.said) or 'no ranking'}>")

    def _repr_html_(self) -> str:
        """Return the sentences and the first table, for a notebook."""
        return f"<p>{escape(' '.join(self.said))}</p>{self.to_frame().to_html(index=False)}"

    def to_frame(self) -> pd.DataFrame:
        """Return the first table as a data frame; in a ranking, a row per model with value, interval and ties."""
        return frame(next(table for section in self.sections for table in section.tables))


def frame(table: Table) -> pd.DataFrame:
    """Return a table of a report as a pandas data frame."""
    import pandas  # noqa: PLC0415 - a comparison is printed without it

    return pandas.DataFrame(table.rows, columns=list(table.columns))


def to_latex(comparison: Comparison) -> str:
    """Return all tables as LaTeX (booktabs), with the titles of their sections as captions."""
    remarks = {remark for board in comparison.boards for remark in ranking_sections.remarked(board)}
    return "\n".join(
        _latex_table(
            section.title.replace("&", "and"), table, [note for note in section.notes if note in remarks]
        )
        for section in comparison.sections
        for table in section.tables
    )


def _latex_table(caption: str, table: Table, remarks: Sequence[str]) -> str:
    """Return a table as LaTeX: numbers with two digits and their interval; the caption has remarks, and why runs are not trusted."""
    data = frame(table)
    reasons = dict.fromkeys(data.pop(ranking_sections.REASONS)) if ranking_sections.REASONS in data else ()
    text = data.map(_latex_cell)
    if "low" in text:
        value = list(text)[list(text).index("low") - 1]
        ends = zip(text[value], text.pop("low"), text.pop("high"), strict=True)
        text[value] = [f"{mean} ({low}\u2013{high})" if low else mean for mean, low, high in ends]
    why = "; ".join(filter(None, reasons))
    notes = [*([f"Not trusted: {why}"] if why else []), *remarks]
    escaped = re.sub(r"([#%&_${}])", r"\\\1", re.sub(r"[\\~^]", " ", ". ".join([caption, *notes])))
    return str(
        text.style.hide(axis="index")
        .format(escape="latex")
        .format_index(escape="latex", axis=1)
        .to_latex(
            caption=escaped,
            column_format="".join("r" if all(map(_NUMERIC.fullmatch, text[name])) else "l" for name in text),
            hrules=True,
        )
    )


def _latex_cell(cell: Any) -> str:
    if isinstance(cell, float):
        return "" if math.isnan(cell) else f"{cell:.2f}" if abs(cell) >= 0.01 or not cell else f"{cell:.1g}"
    return "" if cell is None else str(cell).replace(" to ", "\u2013")


def compare(entries: Sequence[Entry], across: Across, table: Published | None = None) -> Comparison:
    """Compare runs of one or several benchmarks.

    Args:
        entries: The runs, two or more.
        across: Returns a benchmark's own sections about its runs.
        table: Published scores to correlate with; None for none.

    Raises:
        UsageError: There are fewer than two runs, a run is named twice, or runs of a benchmark cannot be compared; the
            message lists their differences.
    """
    if len(entries) < 2:
        raise UsageError("a comparison needs two or more runs: name two runs or more")
    if len({entry.name for entry in entries}) < len(entries):
        raise UsageError("a run is named twice")
    names = list(dict.fromkeys(entry.benchmark for entry in entries))
    boards: list[Board] = []
    sections: list[Section] = []
    sentences = []
    for name in names:
        runs = [entry for entry in entries if entry.benchmark == name]
        groups = _groups(runs)
        for at, group in enumerate(groups, 1):
            board, of_group = _of_benchmark(group, across, table or {})
            boards += [board] if board else []
            start = f"{name}: " if len(names) > 1 else ""
            start += f"group {at}: " if len(groups) > 1 else ""
            if board and (sentence := ranking_sections.summed_up(board)):
                sentences.append(start + sentence)
            sections += [replace(section, title=start + section.title) for section in of_group]
        sentences += _left_out(runs, groups)
    sections += _correlations(boards, table or {})
    title = f"{' and '.join(names)}: {len(entries)} runs"
    return Comparison(
        title, tuple(entry.name for entry in entries), tuple(sections), tuple(sentences), tuple(boards)
    )


def to_markdown(comparison: Comparison) -> str:
    """Return a comparison as Markdown."""
    blocks = [block for section in comparison.sections for block in laid_out(section, "compare.html")]
    blocks = [f"# {plain(comparison.title)}", *map(plain, comparison.said), *blocks]
    return "\n\n".join(filter(None, blocks)) + "\n"


def to_json(comparison: Comparison) -> str:
    """Return a comparison as JSON: the fields of its sections, tables and plots; infinite numbers and NaN are null."""
    table = {"schema": 1, **asdict(replace(comparison, boards=()))}
    del table["boards"]
    # Non-ASCII text is escaped: a model's text may hold halves of surrogate pairs, which UTF-8 cannot encode.
    return json.dumps(_finite(table), indent=2, default=float) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _groups(runs: Sequence[Entry]) -> list[Sequence[Entry]]:
    """Return the groups in which runs are compared.

    Returns:
        The groups of two or more runs with equal conditions, if the runs differ in several settings; else, or if there is no
        such group, one group of all runs.
    """
    groups: list[Sequence[Entry]] = [group for group in leaderboard.alike(runs) if len(group) > 1]
    return groups if groups and len(setups(runs)) > 1 else [runs]


def _left_out(runs: Sequence[Entry], groups: Sequence[Sequence[Entry]]) -> list[str]:
    """Return a sentence for each run that is in no group, with its differences from the first run of the first group."""
    first = groups[0][0]
    inside = {entry.name for group in groups for entry in group}
    return [
        f"{run.name} is left out, as it differs from {first.name}: {'; '.join(leaderboard.differing(first, run))}."
        for run in runs
        if run.name not in inside
    ]


def _of_benchmark(
    runs: Sequence[Entry], across: Across, table: Published
) -> tuple[Board | None, list[Section]]:
    """Return the ranking of the runs of one benchmark (None if they cannot be ranked) and all sections about them.

    Raises:
        UsageError: A single run cannot be ranked, or the runs can neither be ranked nor be set side by side.
    """
    names = setups(runs)
    board, apart = None, ""
    try:
        board = leaderboard.board(runs)
    except UsageError as error:
        if len(runs) == 1 or len(names) > 1:
            raise UsageError(f"{error}\nlotbench view shows two runs side by side") from None
        apart = str(error).replace("\n  ", " ", 1).replace("\n  ", "; ")
    sections = ranking_sections.sections(board) if board else []
    if len(runs) > 1:
        sections.append(likeness.across(_answers_by_label(runs, board)))
        sections.append(side_by_side(runs, apart))
        sections += across(runs[0].benchmark, run_labels(runs))
    return board, [*sections, *([correlation_section(runs, table)] if table else [])]


def _answers_by_label(runs: Sequence[Entry], board: Board | None) -> dict[str, Replies]:
    """Return the answers of each run's candidate by the label of the run.

    The runs are in the order of the ranking `board`, people last. If it is None, `run_labels` gives order and labels.
    """
    if board is None:
        return {name: run.answers for run, name in zip(runs, run_labels(runs).values(), strict=True)}
    people = zip(leaderboard.labels_of(board.people), board.people, strict=True)
    ranked = {place.label: place.entry.answers for place in board.places}
    return ranked | {name: run.answers for name, run in people}


def _correlations(boards: Sequence[Board], table: Published) -> list[Section]:
    """Return a section for each correlation over models.

    Rankings of two benchmarks are correlated with each other, and every ranking with every column of `table`.
    """
    measures = [(f"{board.metric}, {board.benchmark}", leaderboard.values(board)) for board in boards]
    sections = [
        ranking_sections.correlations(f"{first.benchmark} and {other.benchmark}", x, y)
        for (first, x), (other, y) in combinations(zip(boards, measures, strict=True), 2)
        if first.benchmark != other.benchmark
    ]
    for board, measure in zip(boards, measures, strict=True):
        entries = [place.entry for place in board.places]
        rows = _rows(entries, table)
        for column, values in table.items():
            published = {entry.model: values[row] for entry, row in rows if row in values}
            title = f"{board.benchmark} and {column}"
            sections.append(ranking_sections.correlations(title, measure, (column, published)))
    return sections


def setups(runs: Sequence[Entry]) -> list[str]:
    """Return the dotted names of the settings in which runs differ."""
    fields = (name for run in runs[1:] for name in differences(dict(runs[0].setup), dict(run.setup)))
    return list(dict.fromkeys(fields))


def run_labels(runs: Sequence[Entry]) -> dict[str, str]:
    """Return a label for each run, by folder name.

    Returns:
        The value of the setting that differs, if only one differs and no two runs share a value; else the folder name.
    """
    names = setups(runs)
    values = {run.name: _setup_text(run.setup, names[0]) for run in runs} if len(names) == 1 else {}
    return values if len({*values.values()}) == len(runs) else {run.name: run.name for run in runs}


def side_by_side(runs: Sequence[Entry], apart: str = "") -> Section:
    """Return the section with a table of the metrics of runs, one row per run.

    Args:
        runs: The runs, two or more.
        apart: Why they are not ranked; empty if they are.
    """
    names = setups(runs)
    setting = names[0] if len(names) == 1 else "model"
    metrics = list(dict.fromkeys(name for run in runs for name in run.scores))
    rows = tuple(
        (run.name, _setup_text(run.setup, setting), *(_cell(run.scores.get(name)) for name in metrics))
        for run in runs
    )
    notes = (
        *([f"Not ranked: {apart}."] if apart else []),
        *_untrusted(runs),
        "Each value has its 95 % interval. Intervals that overlap do not say that runs are alike: the samples "
        "are the same, so the runs are compared pair by pair.",
    )
    return Section(f"Runs by {setting}", notes, (Table(("run", setting, *metrics), rows),))


def _untrusted(runs: Sequence[Entry]) -> list[str]:
    """Return lines that say why runs are not trusted; runs with the same reasons share a line."""
    by_reasons: dict[tuple[str, ...], list[str]] = {}
    for run in runs:
        by_reasons.setdefault(tuple(run.reasons), []).append(run.name)
    return [f"{', '.join(names)}: not trusted: {'; '.join(why)}" for why, names in by_reasons.items() if why]


def correlation_section(runs: Sequence[Entry], table: Published) -> Section:
    """Return the section on the correlations of all metrics with the columns of a table of published scores.

    A model has the mean over its runs, without those that are compared with no other.
    """
    rows_of = _rows(runs, table)
    matches = [(run, row) for run, row in rows_of if not run.abstained]
    metrics = list(dict.fromkeys(name for run, _ in matches for name in run.scores))
    rows = tuple(
        (name, *(_correlation_text(matches, metric, values) for metric in metrics))
        for name, values in table.items()
    )
    missing = [run.name for run in runs if run not in [each for each, _ in rows_of]]
    left_out = [run.name for run, _ in rows_of if run.abstained]
    notes = [
        "Pearson's r where both sides pass the Shapiro-Wilk test (p >= 0.05), else Spearman's rho; p is two-sided.",
        *([f"Not in the table: {', '.join(missing)}."] if missing else []),
        *([f"Left out, as in the ranking: {', '.join(left_out)}."] if left_out else []),
    ]
    return Section("Beside the table", tuple(notes), (Table(("column", *metrics), rows),))


def _correlation_text(matches: Sequence[tuple[Entry, str]], metric: str, values: Mapping[str, float]) -> str:
    by_model: dict[str, list[float]] = {}
    published: dict[str, float] = {}
    for run, row in matches:
        score = run.scores.get(metric)
        if row in values and score and score["value"] is not None:
            by_model.setdefault(run.model, []).append(float(score["value"]))
            published[run.model] = values[row]
    result = correlation(list(map(fmean, by_model.values())), list(published.values()))
    if result.value is None:
        return f"none: {result.why}"
    return f"{result.method} {result.value:.3f} (p = {result.p:.3g}, n = {result.n})"


def _rows(runs: Sequence[Entry], table: Published) -> list[tuple[Entry, str]]:
    """Return the runs whose model stands in a table, each with the model's name there.

    A row is a run's if its name is one of the model or the run, without regard to case. Without such a row it is the only
    one whose name is the end of a model's name, or ends with it (`gpt-4o`, `openai/gpt-4o`).
    """
    parts = {name: _parts(name) for values in table.values() for name in values}
    matches = []
    for run in runs:
        own = [_parts(name) for name in (run.model, *run.answered, run.asked)]
        equal = [name for name, each in parts.items() if each in [*own, _parts(run.name)]]
        ending = [name for name, each in parts.items() if any(_end_alike(each, other) for other in own)]
        matches += [(run, row) for row in equal[:1] or (ending if len(ending) == 1 else [])]
    return matches


def _parts(model: str) -> list[str]:
    return model.partition("@http")[0].casefold().split("/")


def _end_alike(first: list[str], other: list[str]) -> bool:
    length = min(len(first), len(other))
    return first[-length:] == other[-length:]


def _cell(score: Mapping[str, Any] | None) -> str | None:
    return None if score is None or score["value"] is None else bounds.score_text(score)


def _setup_text(table: JSON | Mapping[str, JSON], name: str) -> str:
    """Return the text of a field of a run's setup, by its dotted name."""
    value = leaderboard.at(table, name)
    if isinstance(value, list | tuple) and len(value) == 1:
        (value,) = value
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
