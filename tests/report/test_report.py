"""The report: its first line, its numbers with their totals, its summary, and text that tries to break out."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lotbench.benchmarks.lotbench.score import metrics
from lotbench.benchmarks.lotbench.sections import sections
from lotbench.report import report as module
from lotbench.report.markdown import LONGEST, bullets, number, plain, table
from lotbench.report.report import Facts, Report, Spent, build, to_markdown, to_summary
from lotbench.report.sections import Plot, Reading, Section, Table
from lotbench.run.loading import load_run
from lotbench.run.results import rewritten
from lotbench.types import Metric
from tests.games import Rules, broken, unsolved, won
from tests.recorded import RUNS, copied

TRACES = (won("a", 0, 1), broken("a", 1, 2), won("b", 0, 2), unsolved("b", 1, 3))
FACTS = Facts(
    benchmark="lotbench",
    version="1",
    models={"candidate": ["gpt-x"], "judge": ["gpt-y", "gpt-z"]},
    arm="image+caption",
    n_samples=2,
    n_walks=4,
    reasons=(),
    settings={"alpha": 0.2, "max_rounds": 3, "unsolved": "zero", "ask": True},
    preset="paper/lotbench",
    reference={"alpha": 0.2, "max_rounds": 15, "unsolved": "cap", "chain": "per_call"},
    score_only=frozenset({"alpha", "unsolved"}),
    spent={"candidate": Spent(10, 1000, 400, 50, 0.25), "judge": Spent(8, 900, 0, 40, 0.5)},
    digests={"prompts": "ab12", "data": "cd34"},
    wall_s=12.34,
)


def report(facts: Facts = FACTS) -> Report:
    rules = Rules(max_rounds=3)
    capped = metrics(TRACES, replace(rules, unsolved="cap"))
    return build(TRACES, metrics(TRACES, rules), sections(TRACES, rules), facts, capped)


def row(text: str, first: str) -> list[str]:
    """The cells of the table row that begins so."""
    (line,) = [line for line in text.split("\n") if line.startswith(f"| {first} |")]
    return [one.strip() for one in line.strip("|").split(" | ")]


def test_the_first_line_says_why_a_run_is_not_rankable() -> None:
    facts = replace(FACTS, reasons=("the judge was never checked", "the embedded model\nplays"))
    assert to_markdown(report(facts)).split("\n")[0] == (
        "**Not trusted:** the judge was never checked; the embedded model ⏎ plays"
    )
    assert to_markdown(report()).split("\n")[0] == "# lotbench: gpt-x"


def test_scores_carry_arm_interval_totals_and_the_references_scoring() -> None:
    text = to_markdown(report())
    cells = row(text, "creativity_score (image+caption)")
    assert row(text[: text.index("## Survival")], "metric") == [
        "metric",
        "value",
        "95 % interval",
        "bounds",
        "n",
        "observations",
        "n scored / n total",
        "better",
        "as paper/lotbench scores",
    ]
    # .25 + .375 exp(-.2), and with exp(-.6) for the .375 unsolved.
    assert (cells[1], *cells[4:]) == ("0.557", "2", "4", "3 / 4", "higher", "0.7628")
    assert row(text, "mean_rounds (image+caption)")[7] == "lower"


def test_settings_stand_beside_the_reference_and_differing_ones_come_first() -> None:
    text = to_markdown(report())
    table = text[text.index("## Settings") :]
    order = [line.split(" | ")[0].strip("| ") for line in table.split("\n")[4:9]]
    assert order == ["ask", "chain", "max_rounds", "unsolved", "alpha"]
    assert row(table, "unsolved")[1:] == [
        '"zero"',
        '"cap"',
        "yes, changes the score only (both values above)",
    ]
    assert row(table, "max_rounds")[1:] == ["3", "15", "yes, changes the task"]
    assert row(table, "chain")[1:] == ["not set", '"per_call"', "yes, changes the task"]
    near = replace(FACTS, settings={"alpha": 0.2000001}, reference={"alpha": 0.2})
    assert row(to_markdown(report(near)), "alpha")[3].startswith("yes")


def test_calls_tokens_and_cost_add_up() -> None:
    text = to_markdown(report())
    assert row(text, "candidate")[1:] == ["10", "1000", "400", "50", "0.2500"]
    assert row(text, "all")[1:] == ["18", "1900", "400", "90", "0.7500"]
    unpriced = replace(FACTS, spent={**FACTS.spent, "oracle": Spent(1, 2, 0, 3, None)})
    assert row(to_markdown(report(unpriced)), "all")[1:] == ["19", "1902", "400", "93", "no price known"]
    assert to_summary(report(unpriced))["usage"]["cost_usd"] is None  # type: ignore[index,call-overload]


def test_malformed_replies_have_a_column_where_there_are_any() -> None:
    assert "malformed" not in to_markdown(report())
    spoilt = replace(FACTS, spent={**FACTS.spent, "oracle": Spent(1, 2, 0, 3, 0.0, 1)})
    text = to_markdown(report(spoilt))
    assert row(text, "role")[-1] == "malformed"
    assert [row(text, name)[-1] for name in ("candidate", "oracle", "all")] == ["0", "1", "1"]
    assert to_summary(report(spoilt))["usage"]["by_role"]["oracle"]["malformed"] == 1  # type: ignore[index,call-overload]


def test_a_text_without_end_is_cut_and_says_so() -> None:
    """30 MB of text once stood uncut in report.md."""
    assert plain("a" * LONGEST) == "a" * LONGEST
    assert plain("a" * 3_000_000) == "a" * LONGEST + " … (3,000,000 characters)"
    said = Section("s", readings=(Reading("r", (("n", "b" * 10**6),)),))
    page = to_markdown(replace(report(), sections=(said,)))
    assert f"n: {'b' * (LONGEST - 3)} … (1,000,003 characters)" in page
    assert len(page) < LONGEST + 5_000


def test_the_summary_has_its_fields_and_survives_json() -> None:
    found = json.loads(json.dumps(to_summary(report()), allow_nan=False))
    assert list(found) == [
        "schema",
        "benchmark",
        "models",
        "arm",
        "complete",
        "rankable",
        "reasons",
        "remarks",
        "n_samples",
        "n_traces",
        "outcomes",
        "headline",
        "scores",
        "usage",
        "diagnostics",
        "digests",
        "footprint",
        "wall_s",
    ]
    assert found["schema"] == 1 and found["complete"] is True and found["rankable"] is True
    assert found["reasons"] == [] and (found["n_samples"], found["n_traces"]) == (2, 4)
    assert found["outcomes"] == {"judge_failed": 1, "solved": 2, "unsolved": 1}
    score = found["scores"]["creativity_score"]
    assert list(score) == [
        "value",
        "low",
        "high",
        "n",
        "better",
        "baselines",
        "why",
        "observations",
        "bounds",
    ]
    assert score["value"] == pytest.approx(0.557024, abs=1e-6) and (score["n"], score["observations"]) == (
        2,
        4,
    )
    assert found["usage"] == {
        "calls": 18,
        "input_tokens": 1900,
        "cached_input_tokens": 400,
        "output_tokens": 90,
        "cost_usd": 0.75,
        "by_role": {
            "candidate": {
                "calls": 10,
                "input_tokens": 1000,
                "cached_input_tokens": 400,
                "output_tokens": 50,
                "cost_usd": 0.25,
            },
            "judge": {
                "calls": 8,
                "input_tokens": 900,
                "cached_input_tokens": 0,
                "output_tokens": 40,
                "cost_usd": 0.5,
            },
        },
    }
    assert found["models"] == {"candidate": ["gpt-x"], "judge": ["gpt-y", "gpt-z"]}


def test_a_run_is_complete_when_every_walk_is_done() -> None:
    assert to_summary(report())["complete"] is True
    assert to_summary(report(replace(FACTS, n_walks=9)))["complete"] is False


def test_remarks_stand_under_the_scores_and_bar_from_nothing() -> None:
    marked = report(replace(FACTS, remarks=("The judge is of the family that wrote the samples (claude).",)))
    assert to_summary(marked)["rankable"] is True
    assert to_summary(marked)["remarks"] == ["The judge is of the family that wrote the samples (claude)."]
    assert "- The judge is of the family that wrote the samples (claude)." in to_markdown(marked)


def test_a_missing_value_is_a_dash_with_its_reason() -> None:
    scores = {"s": Metric(None, why="no `games`")}
    text = to_markdown(build((), scores, (), FACTS, {"s": Metric(0.5, n=3)}))
    assert row(text, "s (image+caption)")[1:] == ["–", "–", "0", "0 / 4", "higher", "0.5"]
    assert "- s has no value: no \\`games\\`" in text


def test_a_value_missing_only_under_the_references_scoring_is_explained_too() -> None:
    text = to_markdown(build((), {"s": Metric(0.5, n=3)}, (), FACTS, {"s": Metric(None, why="no rounds")}))
    assert "- s has no value as paper/lotbench scores: no rounds" in text


@pytest.mark.parametrize(
    "metric", [Metric(float("nan")), Metric(0.5, low=float("-inf")), Metric(None), Metric(None, why="")]
)
def test_a_number_that_is_none_and_a_gap_without_reason_are_refused(metric: Metric) -> None:
    with pytest.raises(ValueError, match="metric s"):
        build((), {"s": metric}, (), FACTS)


def test_sections_are_laid_out_as_data() -> None:
    section = Section(
        "What <b>happened</b>",
        notes=("1. not a list",),
        tables=(Table(("a|b", "n"), (("x\n| y", 0.123456), (None, 2)), "A *caption*"), Table(("empty",), ())),
        plots=(Plot("line", "round", "share", {"S": ((0.0, 1.0),)}, "falls"),),
    )
    text = to_markdown(build((), {}, [section], FACTS))
    assert (
        "## What \\<b\\>happened\\</b\\>\n\nA \\*caption\\*\n\n"
        "| a\\|b | n |\n| --- | ---: |\n| x ⏎ \\| y | 0.1235 |\n| – | 2 |\n\n"
        "- 1\\. not a list"
    ) in text


@given(st.lists(st.lists(st.text(), min_size=2, max_size=2), min_size=1, max_size=4))
def test_no_text_breaks_out_of_a_table(rows: list[list[str]]) -> None:
    made = table(Table(("a", "b"), tuple(tuple(one) for one in rows)))
    lines = made.splitlines()
    assert len(lines) == 2 + len(rows)
    for line in lines:
        bare = line.replace("\\\\", "").replace("\\|", "")
        assert bare.count("|") == 3
        assert all(bare.replace("\\" + mark, "").count(mark) == 0 for mark in "`<>*[]")


@given(st.text())
def test_text_keeps_what_can_be_seen(text: str) -> None:
    kept = plain(text)
    assert len(kept.splitlines()) <= 1
    assert [c for c in kept if c.isalnum()] == [c for c in text if c.isalnum()]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a_b", "a_b"),
        ("_a_", "\\_a\\_"),
        ("- item", "\\- item"),
        ("# title", "\\# title"),
        ("    code", "code"),
        ("12) item", "12\\) item"),
        ("1.5 of 2", "1.5 of 2"),
        ("![x](http://y)", "!\\[x\\](http://y)"),
        ("back\\slash", "back\\\\slash"),
        ("a\u2028b\x85c\r\nd\x0be", "a ⏎ b ⏎ c ⏎ d ⏎ e"),
        ("\u202egnp", "\ufffdgnp"),
        ("\x1b[31m", "\ufffd\\[31m"),
    ],
)
def test_markup_is_shown_and_not_obeyed(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_numbers_for_people() -> None:
    assert [number(n) for n in (3, 123456, 0.81873, 13.65, 12345.678, -0.5)] == [
        "3",
        "123456",
        "0.8187",
        "13.65",
        "12345.7",
        "-0.5",
    ]
    assert "| -0.5 |" in table(Table(("x",), ((-0.5,),)))
    assert bullets([]) == "" and table(Table(("x",), ())) == ""


def test_the_report_knows_no_benchmark_and_no_clock() -> None:
    source = Path(module.__file__).read_text(encoding="utf-8")
    imported = [line for line in source.split("\n") if line.startswith(("import ", "from "))]
    assert not [line for line in imported if "benchmarks" in line or "time" in line]
    assert to_markdown(report()) == to_markdown(report())


def test_an_open_interval_is_explained_and_a_closed_one_shown() -> None:
    closed = to_markdown(build((), {"s": Metric(0.5, 0.25, 0.75, 3)}, (), FACTS))
    assert row(closed, "s (image+caption)")[2] == "0.25 to 0.75"
    assert "missing or open" not in closed
    half = to_markdown(build((), {"s": Metric(0.5, None, 0.75, 3)}, (), FACTS))
    assert row(half, "s (image+caption)")[2] == "open to 0.75"
    assert "missing or open" in half


@pytest.mark.parametrize("name", RUNS)
def test_a_report_is_short_and_full_has_the_rest(name: str, tmp_path: Path) -> None:
    run = load_run(copied(name, tmp_path))
    for full in (False, True):
        before = run.summary
        run, _ = rewritten(run, full=full)
        text = run.report.read_text(encoding="utf-8")
        titles = [line for line in text.splitlines() if line.startswith("## ")]
        page = (run.path / "report.html").read_text(encoding="utf-8")
        assert {"## Scores", "## What this can show", "## Settings"} <= set(titles)
        assert (len(titles) <= 8 and len(text.splitlines()) <= 120) is not full
        assert ("## Digests" in titles) is full is ('id="calls"' in page)
        assert ("report RUN --full" in text) is ("--full" in page) is not full
        assert run.summary == before or not full
