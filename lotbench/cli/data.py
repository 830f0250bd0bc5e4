"""Commands on data sets (`lotbench data`), and `lotbench local install`, which installs the embedded model."""

from __future__ import annotations

import argparse
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lotbench import benchmarks
from lotbench.checks import judge_check_plan
from lotbench.cli.evaluate import interruptible, limits
from lotbench.config import experiment as config
from lotbench.config.makers import PEOPLE
from lotbench.errors import UsageError, refuse_faults
from lotbench.harness.planted import PlantedRow
from lotbench.run import plan
from lotbench.storage import datasets, jsonl

if TYPE_CHECKING:
    from lotbench.run.construction import Order


IDEAS = "liveideabench-ideas"
"""The name of the published ideas that `lotbench data import` turns into runs, and not into a data set."""


def listing(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench data list`: print the shipped data sets with their sizes and folders."""
    for folder in datasets.data_sets():
        count = len(datasets.lines(folder))
        print(f"{folder.name:14} {count:5} samples  {folder}")


def check(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench data check` on a data set or a judge set: print notes and counts.

    Raises:
        DataError: There are grave faults; each is named by file, line and field.
    """
    if (Path(parsed.path) / "set.toml").is_file():
        return _check_judge_set(Path(parsed.path))
    declared = benchmarks.get(parsed.benchmark)
    configuration = config.load(None, [pair if "." in pair else f"settings.{pair}" for pair in parsed.sets])
    settings = config.validate(declared.Settings, configuration.experiment.settings, prefix="settings.")
    folder = Path(parsed.path)
    faults, notes = plan.findings(declared, settings, folder)
    for note in notes:
        print(f"note: {note}")
    refuse_faults(faults)
    print(f"{folder}: {len(datasets.lines(folder))} samples, no faults")


def _check_judge_set(folder: Path) -> None:
    """Print the number of rows in each file of a judge set.

    Raises:
        DataError: The judge set has faults; each is named.
    """
    rows, probes = judge_check_plan.read_set(folder)
    for file, file_rows in rows.rows.items():
        contested = sum(row.contested for _, row in file_rows)
        unread = sum(
            isinstance(row, PlantedRow) and row.checker == "" and row.writer != PEOPLE for _, row in file_rows
        )
        notes = f"{contested} contested" + (f", {unread} not read by a checker yet" if unread else "")
        print(f"{folder / file}: {len(file_rows)} rows, {notes}")
    print(f"{folder}: {len(probes)} questions to a judge, no faults")


def build_rinobench(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench data build-rinobench`: build ideas from reviewed papers, print counts by stage."""
    from lotbench.benchmarks.rinobench.construction.papers import Rules
    from lotbench.run import construct_rinobench

    request = _build_request(parsed, Rules, {"writer": parsed.writer, "judge": parsed.judge})
    built = interruptible(construct_rinobench.build(request))
    _print_stages(built.stages)
    print(f"{request.out}: {len(built.train)} ideas to train on, {len(built.test)} to test on")


def build_lotbench(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench data build-lotbench`: write samples to review, or the data set of accepted ones."""
    from lotbench.benchmarks.lotbench.construction.responses import Rules
    from lotbench.run import construct_lotbench

    request = _build_request(parsed, Rules, {"writer": parsed.writer})
    built = interruptible(construct_lotbench.build(request))
    _print_stages(built.stages)
    if built.accepted is None:
        print(f"now: lotbench data review {built.proposals}")
        print("then the same command again: it makes the data set of what was accepted")
    else:
        print(f"{built.dataset}: {built.accepted} samples")


def _print_stages(stages: Mapping[str, int]) -> None:
    """Print how many papers or pictures were left after each stage of a construction."""
    for stage, count in stages.items():
        print(f"{count:7,}  {stage}")


def _build_request(parsed: argparse.Namespace, rules: type[Any], models: dict[str, str]) -> Order:
    """Return the order for a data set, from the flags that both build commands share.

    Args:
        parsed: The parsed flags.
        rules: The settings class of the construction.
        models: The name of each role's model.

    Raises:
        UsageError: A setting or a limit is invalid.
    """
    from lotbench.run.construction import Order

    configuration = config.load(
        None, parsed.sets, {f"limits.{name}": value for name, value in limits(parsed).items()}
    )
    return Order(
        sources=tuple(map(Path, parsed.sources)),
        out=Path(parsed.out),
        models=models,
        rules=config.validate(rules, configuration.experiment.settings, prefix="settings."),
        seed=parsed.seed,
        limits=configuration.limits,
        preflight=not parsed.no_preflight,
    )


def imported(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench data import`: convert published data to a data set, or to runs.

    Raises:
        UsageError: There is no importer of this name, or the data cannot be read.
    """
    from lotbench.storage.importers import caption_contest, importing, oogiri_go, published

    if parsed.name == IDEAS:
        from lotbench.run.import_ideas import import_ideas

        runs = import_ideas(Path(parsed.source), Path(parsed.out))
        print(f"{parsed.out}: {len(runs)} runs of {parsed.source}, and their keywords")
        return
    sources = {"oogiri-go": oogiri_go.rows, "caption-contest": caption_contest.rows}
    if parsed.name not in sources:
        if parsed.name not in (readers := published.readers()):
            choices = ", ".join([*sources, *readers, IDEAS])
            raise UsageError(f"data import: no data set {parsed.name!r} of others; there are: {choices}")
        samples = readers[parsed.name](published.Files(Path(parsed.source)))
        print(f"{parsed.out}: {published.write(samples, Path(parsed.out))} samples of {parsed.source}")
        written = jsonl.tables(Path(parsed.out) / "samples.jsonl")
        if scores := Counter(int(row["novelty_score"]) for _, row in written if "novelty_score" in row):
            counts = ", ".join(f"{score}: {scores[score]:,}" for score in sorted(scores))
            print(f"ideas by novelty_score: {counts}")
        return
    dest = Path(parsed.out)
    rows = sources[parsed.name](Path(parsed.source), importing.PictureFiles(dest))
    done = importing.bring(parsed.source, rows, dest)
    for fault in done.broken:
        print(f"note: {fault}")
    for reason, count in done.skipped.most_common():
        print(f"skipped {count:7,}  {reason}")
    print(f"{dest}: {done.imported:,} of {done.read:,} rows kept")
    print("\n".join(distribution(dest / "samples.jsonl")))


def distribution(path: Path) -> Iterator[str]:
    """Yield the lines of a table: numbers of samples by type and language, each with the share that has likes or ratings.

    This is Table 1 of LoTbench's paper; `path` is a samples.jsonl.
    """
    rows, voted = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for _, row in jsonl.tables(path):
        for cell in itertools.product((row["type"], "total"), (row["language"], "total")):
            rows[cell] += 1
            voted[cell] += "star" in row or "ratings" in row
    types, languages = ([*sorted({cell[at] for cell in rows} - {"total"}), "total"] for at in (0, 1))
    yield "".join(["rows (with votes)", *(f"{language:>20}" for language in languages)])
    for type_ in types:
        counts = [(rows[type_, language], voted[type_, language]) for language in languages]
        cells = (f"{n:,} ({liked / n:.2%})" if n else "–" for n, liked in counts)
        yield "".join([f"{type_:17}", *(f"{cell:>20}" for cell in cells)])


def install_local(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench local install`: install the embedded model."""
    from lotbench.models.embedded import install

    print("installing the embedded model: about 90 MB, unless it is here", flush=True)
    install()
    print("the embedded model is installed: lotbench watch")
