"""Report sections on the answers themselves: variance over tasks, similarity, and some answers to read.

Where a measure has two definitions, the table shows both, and a note explains each.
"""

import numpy as np

from lotbench.benchmarks.hicbench import reviewing, similarity
from lotbench.benchmarks.hicbench.keywords import keywords, named_keywords, precision
from lotbench.benchmarks.hicbench.ratings import Ratings, classes_of, together
from lotbench.benchmarks.hicbench.score import sampling_part, task_originality
from lotbench.benchmarks.hicbench.settings import Settings
from lotbench.harness.evidence import Evidence
from lotbench.report.sections import Cell, Excerpt, Section, Table

SHOWN = 3
"""The number of IH, and of DH, whose texts the report prints, at most."""


def spread(rated: Ratings, settings: Settings, evidence: Evidence) -> Section:
    """Return the section on flexibility and kwPrec.

    Flexibility is the variance over tasks of the mean originality. Beside it is the part that sampling few answers adds.
    kwPrec is the mean share of an answer's keywords that are in the knowledge text of its task.
    """
    means = task_originality(rated)
    total = float(np.var(means[~np.isnan(means)])) if (~np.isnan(means)).any() else None
    noise = sampling_part(rated)
    precisions = _keywords(rated, settings, evidence)
    whose = "as a model named them" if settings.keywords else "stems of words that are no function words"
    rows: tuple[tuple[Cell, ...], ...] = (
        ("variance over tasks of mean originality (the paper's flexibility, by its script)", total),
        ("of it, sampling of answers", noise),
        ("kwPrec", float(np.mean(precisions)) if precisions else None),
    )
    notes = (
        "Sampling: the mean over tasks of the variance within a task divided by its answers, which would be "
        "there if all tasks were alike. The metric flexibility is the variance less that, and 0 where nothing more than "
        "sampling is seen.",
        f"kwPrec: the share of an answer's keywords ({whose}) that stand in "
        f"the knowledge text of its task; the mean over {len(precisions)} answers. It is high for answers that "
        "keep to the text, and says nothing of whether they are true.",
    )
    return Section("Flexibility and keywords", notes, (Table(("measure", "value"), rows),))


def _keywords(rated: Ratings, settings: Settings, evidence: Evidence) -> list[float]:
    """Return the kwPrec (`keywords.precision`) of each answer that has a keyword and whose task is in `evidence.samples`.

    With `settings.keywords`, the keywords are those that a model named; an answer without such keywords is left out.
    """
    models = [named_keywords(episode.steps) for episode in rated.episodes] if settings.keywords else []
    precisions = []
    for text, task, episode, draw in zip(rated.texts, rated.task, rated.episode, rated.draw, strict=True):
        phrases = models[episode].get(int(draw), []) if settings.keywords else keywords(text)
        if sample := evidence.samples.get(rated.tasks[task]):
            precisions.append(precision(phrases, sample.knowledge))
    return [value for value in precisions if value is not None]


def likeness(rated: Ratings, settings: Settings, evidence: Evidence) -> Section:
    """Return the section on the mean cosine similarity of all answers, of the IH, and of the DH (Table 9).

    Each mean is taken over pairs of answers to different tasks, and over all pairs. Without embeddings, the section says
    why there are none.
    """
    title, vectors = "Similarity of answers", similarity.matrix(rated.texts, evidence.vectors)
    if vectors is None:
        why = f"There is none: {evidence.why or 'the answers are not embedded'}."
        return Section(title, (why,), brief=True)
    ih, dh = classes_of(rated, settings.classes)
    rows = []
    for name, chosen in (("all", np.ones(len(vectors), dtype=bool)), ("IH", ih), ("DH", dh)):
        subset, tasks = vectors[chosen], rated.task[chosen]
        rows.append((name, int(chosen.sum()), similarity.across(subset, tasks), similarity.every(subset)))
    columns = ("answers", "count", "pairs of different tasks", "all pairs")
    notes = (
        f"Mean cosine of embeddings by {evidence.encoder}, each answer embedded once. The literal reading of "
        "the similarity among IH (or DH) takes all pairs, also those of answers to one task, which are alike "
        "because they answer one question; the third column leaves them out. Table 9 has the pairs of different tasks for "
        "all answers, and all pairs for IH and DH.",
        "The class of an answer is that of the judges' mean marks, exclusive or overlapping as set.",
    )
    return Section(title, notes, (Table(columns, tuple(rows)),), brief=True)


def to_read(rated: Ratings, settings: Settings, evidence: Evidence) -> Section:
    """Return the section with the texts of the best IH and the worst DH, by the sum of their mean marks."""
    ih, dh = classes_of(rated, settings.classes)
    totals = together(rated.marks, rated.hallucinated)[0][:, 0].sum(axis=-1)
    best = sorted(np.flatnonzero(ih).tolist(), key=lambda index: (-totals[index], index))
    worst = sorted(np.flatnonzero(dh).tolist(), key=lambda index: (totals[index], index))
    names = reviewing.names(rated)

    def make_reading(kind: str, index: int) -> Excerpt:
        task, episode = rated.tasks[rated.task[index]], rated.episodes[rated.episode[index]]
        sample = evidence.samples.get(task)
        question = (("question", sample.question),) if sample else ()
        texts = (*question, ("answer", rated.texts[index]))
        return Excerpt(f"{kind}: {names[index]}", texts, task, episode.repeat)

    chosen = (("IH", best[:SHOWN]), ("DH", worst[:SHOWN]))
    readings = tuple(make_reading(kind, index) for kind, places in chosen for index in places)
    return Section("Answers to read", (f"{int(ih.sum())} IH and {int(dh.sum())} DH.",), readings=readings)
