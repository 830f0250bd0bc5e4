"""A run in a line, and as a small card for a notebook: who played what, how it went, and where the report is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from lotbench.report.markdown import visible

CARD = (
    '<div style="border:1px solid #8886;border-radius:8px;padding:.7em 1em;max-width:34em;line-height:1.5">'
    '<div><b>{model}</b> <span style="opacity:.7">on {benchmark}</span></div>'
    '<div style="font-size:1.7em;font-weight:650">{value}</div>'
    '<div style="opacity:.75">{metric}{interval}<br>{trust}<br>{walks}; report: <code>{report}</code></div></div>'
)


def card(path: Path, benchmark: str, model: str, summary: Mapping[str, Any]) -> str:
    """A run as HTML, whatever the words in it are."""
    said = _said(path, benchmark, model, summary)
    return CARD.format(**{name: escape(visible(text)) for name, text in said.items()})


def line(path: Path, benchmark: str, model: str, summary: Mapping[str, Any]) -> str:
    """A run in one line."""
    said = {name: visible(text) for name, text in _said(path, benchmark, model, summary).items()}
    score = f"{said['metric']} {said['value']}{said['interval']}, " if said["metric"] else ""
    return f"Run({said['model']} on {said['benchmark']}: {score}{said['trust']}; {path})"


def _said(path: Path, benchmark: str, model: str, summary: Mapping[str, Any]) -> dict[str, str]:
    scores: Mapping[str, Mapping[str, Any]] = summary.get("scores", {})
    metric = summary.get("headline") or next(iter(scores), "")
    score = scores.get(metric, {})
    low, high = score.get("low"), score.get("high")
    return {
        "model": ", ".join(summary.get("models", {}).get("candidate", ())) or model,
        "benchmark": benchmark,
        "metric": metric,
        "value": _number(score.get("value")) if scores else "not ended",
        "interval": "" if low is None or high is None else f", {_number(low)} to {_number(high)}",
        "trust": _trust(summary),
        "walks": f"{summary.get('n_traces', 0)} games or tasks",
        "report": str(path / "report.html"),
    }


def _trust(summary: Mapping[str, Any]) -> str:
    reasons: Sequence[str] = summary.get("reasons", ())
    if not summary:
        return "not ended: lotbench resume goes on with it"
    return f"not trusted: {'; '.join(reasons)}" if reasons else "trusted"


def _number(value: Any) -> str:
    return "none" if value is None else f"{value:.4f}"
