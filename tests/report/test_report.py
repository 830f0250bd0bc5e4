"""The report: its first line, its numbers with their totals, its summary, and text that tries to break out."""

import json
from dataclasses import replace

import pytest

from lotbench.benchmarks.lotbench.score import metrics
from lotbench.benchmarks.lotbench.sections import sections
from lotbench.report.markdown import plain
from lotbench.report.report import Facts, Report, RoleUsage, build, to_markdown, to_summary
from tests.games import Rules, broken, unsolved, won

TRACES = (won("a", 0, 1), broken("a", 1, 2), won("b", 0, 2), unsolved("b", 1, 3))
FACTS = Facts(
    benchmark="lotbench",
    version="1",
    models={"candidate": ["gpt-x"], "judge": ["gpt-y", "gpt-z"]},
    arm="image+caption",
    n_samples=2,
    n_episodes=4,
    reasons=(),
    settings={"alpha": 0.2, "max_rounds": 3, "unsolved": "zero", "ask": True},
    preset="paper/lotbench",
    reference={"alpha": 0.2, "max_rounds": 15, "unsolved": "cap", "chain": "per_call"},
    score_only=frozenset({"alpha", "unsolved"}),
    spent={"candidate": RoleUsage(10, 1000, 400, 50, 0.25), "judge": RoleUsage(8, 900, 0, 40, 0.5)},
    digests={"prompts": "ab12", "data": "cd34"},
    wall_s=12.34,
)


USED = {
    "all": (18, 1900, 400, 90, 0.75),
    "candidate": (10, 1000, 400, 50, 0.25),
    "judge": (8, 900, 0, 40, 0.5),
}


def report(facts: Facts = FACTS) -> Report:
    rules = Rules(max_rounds=3)
    capped = metrics(TRACES, rules.model_copy(update={"unsolved": "cap"}))
    return build(TRACES, metrics(TRACES, rules), sections(TRACES, rules), facts, capped)


def row(text: str, first: str) -> list[str]:
    """The cells of the table row that begins so."""
    (line,) = [line for line in text.split("\n") if line.startswith(f"| {first} |")]
    return [one.strip() for one in line.strip("|").split(" | ")]


def test_scores_carry_arm_interval_totals_and_the_references_scoring() -> None:
    text = to_markdown(report())
    assert "variant image+caption; 3 of 4 tasks with a score" in text
    assert text.split("\n\n")[1].startswith("creativity_score 0.56"), "the score comes first"
    cells = row(text, "creativity_score")
    columns = "metric, value, 95 % interval, bounds, n, better, as paper/lotbench scores"
    assert row(text[: text.index("## Survival")], "metric") == columns.split(", ")
    # .25 + .375 exp(-.2), and with exp(-.6) for the .375 unsolved.
    assert (cells[1], *cells[4:]) == ("0.56", "2", "higher", "0.76")
    assert row(text, "mean_rounds")[5] == "lower"


def test_the_command_that_checks_a_judge_is_named() -> None:
    checked = replace(FACTS, reasons=("the judge was never checked",), check="lotbench judge-check --judge m")
    assert "`lotbench judge-check --judge m`" in to_markdown(report(checked))


def test_calls_tokens_and_cost_add_up() -> None:
    text = to_markdown(report())
    assert row(text, "candidate")[1:] == ["10", "1000", "400", "50", "0.2500", "0"]
    assert row(text, "all")[1:] == ["18", "1900", "400", "90", "0.7500", "0"]
    unpriced = replace(FACTS, spent={**FACTS.spent, "oracle": RoleUsage(1, 2, 0, 3, None)})
    assert row(to_markdown(report(unpriced)), "all")[1:] == ["19", "1902", "400", "93", "no price known", "0"]
    assert to_summary(report(unpriced))["usage"]["cost_usd"] is None  # type: ignore[index,call-overload]


def test_the_summary_has_its_fields_and_survives_json() -> None:
    found = json.loads(json.dumps(to_summary(report()), allow_nan=False))
    assert " ".join(found) == (
        "schema benchmark models arm complete rankable reasons remarks data_set n_samples n_traces outcomes primary_metric scores usage "
        "diagnostics digests footprint wall_s"
    )
    assert found["schema"] == 2 and found["complete"] is True and found["rankable"] is True
    assert found["reasons"] == [] and (found["n_samples"], found["n_traces"]) == (2, 4)
    assert found["outcomes"] == {"judge_failed": 1, "solved": 2, "unsolved": 1}
    score = found["scores"]["creativity_score"]
    assert " ".join(score) == "value low high n better baselines why observations bounds"
    assert score["value"] == pytest.approx(0.557024, abs=1e-6)
    assert (score["n"], score["observations"]) == (2, 4)
    names = ("calls", "input_tokens", "cached_input_tokens", "output_tokens", "cost_usd")
    usage = {role: dict(zip(names, numbers, strict=True)) for role, numbers in USED.items()}
    assert found["usage"] == {**usage.pop("all"), "by_role": usage}
    assert found["models"] == {"candidate": ["gpt-x"], "judge": ["gpt-y", "gpt-z"]}


def test_remarks_stand_under_the_scores_and_bar_from_nothing() -> None:
    marked = report(replace(FACTS, remarks=("The judge is of the family that wrote the samples (claude).",)))
    assert to_summary(marked)["rankable"] is True
    assert to_summary(marked)["remarks"] == ["The judge is of the family that wrote the samples (claude)."]
    assert "- The judge is of the family that wrote the samples (claude)." in to_markdown(marked)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a_b", "a_b"), ("_a_", "\\_a\\_"), ("- item", "\\- item"), ("# title", "\\# title"),
        ("    code", "code"), ("12) item", "12\\) item"), ("1.5 of 2", "1.5 of 2"),
        ("![x](http://y)", "!\\[x\\](http://y)"), ("back\\slash", "back\\\\slash"),
        ("a\u2028b\x85c\r\nd\x0be", "a ⏎ b ⏎ c ⏎ d ⏎ e"), ("\u202egnp", "\ufffdgnp"),
        ("\x1b[31m", "\ufffd\\[31m"),
    ],
)  # fmt: skip
def test_markup_is_shown_and_not_obeyed(text: str, shown: str) -> None:
    assert plain(text) == shown
