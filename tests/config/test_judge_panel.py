"""A panel from a leaderboard: the rules, the reasons, the file, and the run that uses it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lotbench.cli import main
from lotbench.cli.evaluate import configuration
from lotbench.cli.parser import parser
from lotbench.config import judge_panel
from lotbench.config.model_names import PROVIDERS, Provider, parse
from lotbench.edge.files.datasets import shipped
from lotbench.errors import DataError, UsageError
from lotbench.run.plan import make
from tests.server import FakeServer

REFERENCE = os.environ.get("LOTBENCH_REFERENCE_DATA")
reference = pytest.mark.skipif(not REFERENCE, reason="needs $LOTBENCH_REFERENCE_DATA")
BOARD = """\ufeffModel,Organization,Global Average,Other
alpha-2-high,A,90.5,1
blank,A,,1
dash,A,-,1
alpha-2-low,A,80,1
alpha-1,A,85,1
alpha-0,A,70,1
beta-7b,B,60,1
gamma-mini-2025-01-02,C,50,1
delta,D,40,1
"""


def chosen(**rules: object) -> dict[str, str]:
    choices = judge_panel.choose(judge_panel.leaderboard(BOARD, Path("b.csv")), judge_panel.Rules(**rules))  # type: ignore[arg-type]
    return {one.standing.model: one.why for one in choices if one.taken}


def test_two_of_an_organisation_and_no_variants_of_one_base_model() -> None:
    rows = judge_panel.leaderboard(BOARD, Path("b.csv"))
    assert [row.model for row in rows][:3] == ["alpha-2-high", "alpha-1", "alpha-2-low"]
    choices = judge_panel.choose(rows, judge_panel.Rules(size=4))
    assert [(one.standing.model, one.taken, one.why) for one in choices] == [
        ("alpha-2-high", True, "rank 1"),
        ("alpha-1", True, "rank 2"),
        ("alpha-2-low", False, "a variant of alpha-2-high, which is in it"),
        ("alpha-0", False, "2 of A are in it"),
        ("beta-7b", True, "rank 5"),
        ("gamma-mini-2025-01-02", True, "rank 6"),
        ("delta", False, "the panel of 4 is full"),
        ("blank", False, "has no Global Average"),
        ("dash", False, "has no Global Average"),
    ]


def test_v1_takes_the_first_so_many() -> None:
    assert list(chosen(size=3, per_organisation=None, siblings=True)) == [
        "alpha-2-high",
        "alpha-1",
        "alpha-2-low",
    ]


def test_a_row_may_be_pinned_or_banned_and_says_why() -> None:
    found = chosen(size=3, pins={"alpha-0": "we like it"}, bans={"beta-7b": "gone"})
    assert found == {
        "alpha-2-high": "rank 1",
        "alpha-0": "pinned: we like it",
        "gamma-mini-2025-01-02": "rank 6",
    }
    with pytest.raises(UsageError, match="no row nobody"):
        chosen(pins={"nobody": "x"})
    with pytest.raises(UsageError, match="pinned and banned: delta"):
        chosen(pins={"delta": "x"}, bans={"delta": "y"})


def test_faults_of_a_leaderboard_have_their_place() -> None:
    with pytest.raises(DataError, match=r"b\.csv:1: no column Organization"):
        judge_panel.leaderboard("Model,Global Average\n", Path("b.csv"))
    with pytest.raises(DataError, match=r"b\.csv:2: Global Average: 'much' is no number"):
        judge_panel.leaderboard("Model,Organization,Global Average\nm,O,much\n", Path("b.csv"))


@reference
def test_the_real_leaderboard_gives_the_ten_rows_of_the_rule() -> None:
    path = Path(str(REFERENCE), "liveideabench", "Livebench20250315.csv")
    choices = judge_panel.choose(
        judge_panel.leaderboard(path.read_text(encoding="utf-8"), path), judge_panel.Rules()
    )
    assert [one.standing.model for one in choices if one.taken] == [
        "claude-3-7-sonnet-thinking",
        "o3-mini-2025-01-31-high",
        "o1-2024-12-17-high",
        "qwq-32b",
        "deepseek-r1",
        "gemini-2.0-flash-thinking-exp-01-21",
        "gemini-2.0-pro-exp-02-05",
        "qwen2.5-max",
        "deepseek-v3",
        "claude-3-5-sonnet-20241022",
    ]
    why = {one.standing.model: one.why for one in choices}
    assert why["grok-3-thinking"] == why["grok-3"] == "has no Global Average"
    pins = {"gpt-4.5-preview": "the public code's list has it"}
    pinned = judge_panel.choose(
        judge_panel.leaderboard(path.read_text(encoding="utf-8"), path), judge_panel.Rules(pins=pins)
    )
    rows = [one.standing.model for one in pinned if one.taken]
    shown = judge_panel.load(shipped("configs", "panels", "paper-2025-03.toml"))
    assert sorted(judge.row for judge in shown.judge) == sorted(rows)
    assert {one.row: one.why for one in shown.passed if not one.why.startswith(("has no", "the panel"))} == {
        one.standing.model: one.why
        for one in pinned
        if not one.taken and not one.why.startswith(("has no", "the panel"))
    }


def test_the_shipped_panel_says_why_it_has_another_model_than_the_rule() -> None:
    found = judge_panel.load(shipped("configs", "panels", "paper-2025-03.toml"))
    why = {judge.row: judge.why for judge in found.judge}
    assert len(why) == 10 and "o1-2024-12-17-high" not in why
    assert why["gpt-4.5-preview"].startswith("pinned: the list in the public code has it in the place of o1")
    assert {parse(model).provider for model in found.models} == {"openrouter"}
    # The names are a provider's and not the leaderboard's.
    assert "openrouter/anthropic/claude-3.7-sonnet:thinking" in found.models
    assert not {judge.row for judge in found.judge if "-3-7-" in judge.row} & {
        model for model in found.models
    }


def test_the_rule_names_who_is_next_in_line_for_a_judge_that_is_gone() -> None:
    found = judge_panel.load(shipped("configs", "panels", "paper-2025-03.toml"))
    next_ = [one.row for one in judge_panel.next_in_line(found, ["openrouter/openai/gpt-4.5-preview"])]
    assert next_ == ["o1-2024-12-17-high"]
    # Without a judge of Google the next of Google is in line, a variant of one that stays is not.
    gone = ["openrouter/google/gemini-2.0-pro-exp-02-05:free", "openrouter/openai/o3-mini-high"]
    assert [one.row for one in judge_panel.next_in_line(found, gone)] == [
        "o1-2024-12-17-high",
        "gemini-exp-1206",
    ]
    assert judge_panel.next_in_line(found, []) == []
    # Who is gone is nobody's heir.
    gone += ["openrouter/openai/o1"]
    assert [one.row for one in judge_panel.next_in_line(found, gone)] == [
        "o3-mini-2025-01-31-medium",
        "gemini-exp-1206",
    ]


PRICES = """date = "2031-01-01"
[usd_per_million]
"openrouter/a/alpha-2:high" = [3.0, 0.3, 15.0]
"openrouter/a/alpha-2" = [1.0, 0.1, 4.0]
"deepseek/delta" = [0.5, 0.1, 1.0]
"openrouter/c/gamma-mini" = [0.2, 0.1, 0.4]
"""


def test_one_command_makes_a_panel_of_ones_own_leaderboard_and_price_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = BOARD.replace("Model,Organization,Global Average,Other", "name,maker,score,Other")
    (tmp_path / "own-2031-01-02.csv").write_text(own, encoding="utf-8")
    (tmp_path / "prices.toml").write_text(PRICES, encoding="utf-8")
    out = tmp_path / "own.toml"
    command = [
        "data",
        "panel",
        str(tmp_path / "own-2031-01-02.csv"),
        "--prices",
        str(tmp_path / "prices.toml"),
    ]
    assert main([*command, "--out", str(out)]) == 0
    made = judge_panel.load(out)
    # Each by the name that its provider takes, of several that with the words of the row.
    assert {judge.row: judge.model for judge in made.judge} == {
        "alpha-2-high": "openrouter/a/alpha-2:high",
        "gamma-mini-2025-01-02": "openrouter/c/gamma-mini",
        "delta": "deepseek/delta",
    }
    assert made.judge[0].usd_per_million == (3.0, 0.3, 15.0)
    assert {one.row: one.why for one in made.passed}["beta-7b"] == "is not in the price list"
    assert "$3 in, $15 out" in capsys.readouterr().out
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("date = 1\n", encoding="utf-8")
    assert main([*command[:-1], str(wrong), "--out", str(tmp_path / "other.toml")]) == 2
    assert "wrong.toml" in capsys.readouterr().err


def test_the_page_says_of_every_judge_of_the_shipped_panel_how_its_name_was_verified() -> None:
    found = judge_panel.load(shipped("configs", "panels", "paper-2025-03.toml"))
    page = (Path(__file__).parents[2] / "docs" / "liveideabench.md").read_text("utf-8")
    table = page.split("| judge (openrouter/...) |")[1].split("\n\n")[0]
    told = [line.split("`")[1] for line in table.splitlines() if line.startswith("| `")]
    assert [f"openrouter/{name}" for name in told] == list(found.models)


def test_names_of_rows_that_a_shipped_panel_has_are_its(tmp_path: Path) -> None:
    rows = (
        "Model,Organization,Global Average\nclaude-3-7-sonnet-thinking,Anthropic,76.1\nnew-1,Anthropic,70\n"
    )
    (tmp_path / "b20310101.csv").write_text(rows, encoding="utf-8")
    assert main(["data", "panel", str(tmp_path / "b20310101.csv"), "--out", str(tmp_path / "p.toml")]) == 0
    assert judge_panel.load(tmp_path / "p.toml").models == (
        "openrouter/anthropic/claude-3.7-sonnet:thinking",
        "anthropic/new-1",
    )


def test_the_connection_test_names_every_judge_that_is_gone_and_who_is_next_in_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = judge_panel.load(shipped("configs", "panels", "paper-2025-03.toml"))
    gone = {"openai/gpt-4.5-preview", "google/gemini-2.0-pro-exp-02-05:free"}
    served = [parse(model).model for model in shown.models if parse(model).model not in gone]
    with FakeServer(models=[*served, "candidate"]) as server:
        provider = PROVIDERS["openrouter"]
        monkeypatch.setitem(PROVIDERS, "openrouter", Provider(server.url, provider.key))
        monkeypatch.setenv(str(provider.key), "a key")
        monkeypatch.setenv("LOTBENCH_API_KEY", "none")
        command = [
            "evaluate",
            "liveideabench",
            "--panel",
            "paper-2025-03",
            "--model",
            f"candidate@{server.url}",
        ]
        assert main([*command, "--limit", "2", "--out", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "2 models do not answer: " in said
    assert all(f"openrouter/{name}: 404" in said for name in gone)
    assert "the rule's next in line: o1-2024-12-17-high (openrouter/openai/o1), gemini-exp-1206" in said


def board(tmp_path: Path, *options: str) -> Path:
    (tmp_path / "Board20250315.csv").write_text(BOARD, encoding="utf-8")
    out = tmp_path / "mine.toml"
    assert main(["data", "panel", str(tmp_path / "Board20250315.csv"), "--out", str(out), *options]) == 0
    return out


def test_the_command_writes_a_dated_file_with_every_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = judge_panel.load(board(tmp_path, "--size", "3", "--ban", "beta-7b=gone"))
    assert (made.name, made.date) == ("mine", "2025-03-15")
    assert "Board20250315.csv, sha256 " in made.source
    assert made.models == (
        "openrouter/alpha-2-high",
        "openrouter/alpha-1",
        "openrouter/gamma-mini-2025-01-02",
    )
    assert {one.row: one.why for one in made.passed}["beta-7b"] == "banned: gone"
    assert made.id in capsys.readouterr().out


def test_without_a_file_to_write_the_panel_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.csv").write_text(BOARD, encoding="utf-8")
    assert main(["data", "panel", "b.csv"]) == 2
    assert main(["data", "panel", "b.csv", "--date", "2025-04-01", "--rules", "v1"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["b.csv"]
    made = judge_panel.checked(capsys.readouterr().out, tmp_path / "printed.toml")
    assert (made.name, made.date) == ("panel-2025-04-01", "2025-04-01")
    assert {judge.row for judge in made.judge} >= {"alpha-2-high", "alpha-2-low", "alpha-1"}


def test_a_panel_is_known_by_who_is_in_it(tmp_path: Path) -> None:
    path = board(tmp_path)
    made, text = judge_panel.load(path), path.read_text(encoding="utf-8")
    path.write_text(text.replace('"openrouter/delta"', '"deepseek/delta"'), encoding="utf-8")
    assert judge_panel.load(path).id != made.id
    turned = made.model_copy(update={"judge": made.judge[::-1]})
    assert turned.id == made.id


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--pin", "delta"], "expected ROW=WHY"),
        (["--date", "March"], "date: String should match pattern"),
        (["--out", "{place}/b20250315.csv"], "is there already"),
    ],
)
def test_what_the_command_refuses(
    tmp_path: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "b20250315.csv").write_text(BOARD, encoding="utf-8")
    out = ["--out", str(tmp_path / "p.toml")]
    given = [option.format(place=tmp_path) for option in options]
    assert main(["data", "panel", str(tmp_path / "b20250315.csv"), *out, *given]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "p.toml").exists()


def asked(*flags: str) -> dict[str, object]:
    made = make(configuration(parser().parse_args(["evaluate", "liveideabench", *flags])))
    return {
        "judges": {name.text for name in made.names["judge"]},
        "panel": made.settings.panel,
        "roles": made.experiment.roles["judge"],
        "judges an idea": made.settings.judges,
    }


def test_a_run_takes_its_judges_from_the_panel_without_the_candidate(tmp_path: Path) -> None:
    path = board(tmp_path)
    made = judge_panel.load(path)
    found = asked("--panel", str(path), "--model", "openrouter/x/delta")
    assert found["panel"] == made.id
    assert found["judges"] == set(made.models) - {"openrouter/delta"}
    # What is compared between runs is the panel as it was named, whoever had to leave it.
    assert found["roles"] == made.models
    assert asked("--panel", "paper-2025-03", "--model", "gpt-4o")["judges an idea"] == 3
    assert asked("--judge", "gpt-4o", "--judge", "o1", "--model", "m")["judges an idea"] == 2
    assert asked("--role", "judge=gpt-4o", "--role", "judge=o1", "--model", "m")["judges"] == {"gpt-4o", "o1"}


def test_a_panel_and_a_judge_are_one_too_many(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--panel names the judges"):
        asked("--panel", str(board(tmp_path)), "--judge", "gpt-4o", "--model", "m")
    with pytest.raises(UsageError, match="judge"):
        asked("--model", "m")
