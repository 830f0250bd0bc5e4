"""report.html: the page of a run's report."""

import math
from collections.abc import Iterator, Mapping

from markupsafe import Markup

from lotbench.report import report as tables
from lotbench.report.bounds import in_words
from lotbench.report.html.page import rendered, section_drawings
from lotbench.report.report import Report
from lotbench.report.sections import Grid, Plot, Table, band
from lotbench.report.trust import in_short
from lotbench.types import Metric


def page(report: Report, pictures: Mapping[str, str] | None = None) -> str:
    """Return the report as one self-contained HTML file; `pictures` are data URLs by sample id, shown beside readings."""
    settings, name = tables.settings_table(report), report.primary_metric
    solved = next((section.solved for section in report.sections if section.solved), ())
    differing = (
        (*row[:3], str(row[3]).removeprefix("yes, changes ")) for row in settings.rows if row[3] != "no"
    )
    return rendered(
        "report.html",
        {
            "report": report,
            "tables": tables,
            "pictures": {name: Markup(url) for name, url in (pictures or {}).items()},
            "facts": report.facts,
            "solved": dict(enumerate(solved, 1)),
            "candidate": ", ".join(report.facts.models.get("candidate", ())) or "no candidate",
            "primary_metric": (name, report.scores[name]) if name else None,
            "lines": lines(report),
            "bounds": next((in_words(metric.bounds) for metric in report.scores.values()), None),
            "in_short": in_short(report.facts.reasons),
            "differing": Table((*settings.columns[:3], "changes"), tuple(differing)),
            "settings": settings,
            "digests": Table(("of", "digest"), tuple(sorted(report.facts.digests.items()))),
        },
    )


def lines(report: Report) -> Plot | None:
    """Return a plot of the primary metric, its value under the reference scoring and its baselines; None without these."""
    name = report.primary_metric
    shown, metric = name.replace("_", " "), report.scores.get(name, Metric(None, why="no metric"))
    if metric.value is None:
        return None
    rows = [("this run", metric.value, band(metric))]
    reference = report.reference_scores.get(name)
    if reference is not None and reference.value not in (None, metric.value):
        rows.append((f"as {report.facts.preset} scores", reference.value, band(reference)))
    none = (math.nan, math.nan)
    rows += [(line, value, none) for line, value in metric.baselines.items() if value is not None]
    if len(rows) == 1:
        return None
    points = [(float(at), row[1]) for at, row in enumerate(rows)]
    return Plot(
        "scatter",
        "",
        f"{shown} ({metric.better} is better)",
        {"this run": tuple(points[:1]), "to compare with": tuple(points[1:])},
        f"{shown} with its 95 % interval, and what to compare it with",
        tuple(row[0] for row in rows),
        {"this run": (rows[0][2],), "to compare with": tuple(row[2] for row in rows[1:])},
    )


def drawings(report: Report) -> Iterator[tuple[str, Plot | Grid]]:
    """Yield the plots and heat maps of a report, each with a name for its file."""
    if (primary_metric := lines(report)) is not None:
        yield "primary_metric", primary_metric
    yield from section_drawings(report.sections)
