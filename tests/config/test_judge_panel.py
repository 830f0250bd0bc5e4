"""A panel file, and the run that uses it."""

from pathlib import Path

import pytest

from lotbench.cli import main
from lotbench.cli.evaluate import configuration
from lotbench.cli.parser import parser
from lotbench.config import judge_panel
from lotbench.config.model_names import PROVIDERS, Provider, parse
from lotbench.errors import UsageError
from lotbench.run.plan import make
from lotbench.storage.datasets import shipped
from tests.server import FakeServer

SHIPPED = shipped("configs", "panels", "paper-2025-03.toml")


def written(place: Path, *judges: str) -> Path:
    """A panel file of these judges."""
    path = place / "mine.toml"
    path.write_text(f'name = "mine"\njudges = {list(judges)}\n', encoding="utf-8")
    return path


def test_the_connection_test_names_every_judge_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = {"openai/gpt-4.5-preview", "google/gemini-2.0-pro-exp-02-05:free"}
    names = [parse(model).model for model in judge_panel.load(SHIPPED).judges]
    with FakeServer(models=[*(name for name in names if name not in gone), "candidate"]) as server:
        provider = PROVIDERS["openrouter"]
        monkeypatch.setitem(PROVIDERS, "openrouter", Provider(server.url, provider.key))
        monkeypatch.setenv(str(provider.key), "a key")
        monkeypatch.setenv("LOTBENCH_API_KEY", "none")
        command = (
            f"evaluate liveideabench --panel paper-2025-03 --model candidate@{server.url} --limit 2".split()
        )
        assert main([*command, "--out", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "2 models do not answer: " in said
    assert all(f"openrouter/{name}: 404" in said for name in gone)


def id_of(path: Path) -> str:
    made = judge_panel.load(path)
    return judge_panel.panel_id(made.name, made.judges)


def test_a_panel_is_known_by_who_is_in_it(tmp_path: Path) -> None:
    made = id_of(written(tmp_path, "gpt-4o", "o1"))
    assert id_of(written(tmp_path, "o1", "gpt-4o")) == made != id_of(written(tmp_path, "o1", "gpt-4.1"))
    assert id_of(SHIPPED) == "paper-2025-03@c262652b"
    with pytest.raises(UsageError, match=r"mine\.toml: judges: "):
        judge_panel.load(written(tmp_path))


def asked(*flags: str) -> dict[str, object]:
    made = make(configuration(parser().parse_args(["evaluate", "liveideabench", *flags])))
    return {
        "judges": {name.text for name in made.names["judge"]},
        "panel": made.settings.panel,
        "roles": made.experiment.roles["judge"],
        "judges an idea": made.settings.judges,
    }


def test_a_run_takes_its_judges_from_the_panel_without_the_candidate(tmp_path: Path) -> None:
    path = written(tmp_path, "openrouter/delta", "gpt-4o", "o1", "gemini/gemini-2.5-pro")
    made = judge_panel.load(path)
    found = asked("--panel", str(path), "--model", "openrouter/x/delta")
    assert found["panel"] == id_of(path)
    assert found["judges"] == set(made.judges) - {"openrouter/delta"}
    # What is compared between runs is the panel as it was named, whoever had to leave it.
    assert found["roles"] == tuple(sorted(made.judges))
    assert asked("--panel", "paper-2025-03", "--model", "gpt-4o")["judges an idea"] == 3
    assert asked("--judge", "gpt-4o", "--judge", "o1", "--model", "m")["judges an idea"] == 2
    assert asked("--role", "judge=gpt-4o", "--role", "judge=o1", "--model", "m")["judges"] == {"gpt-4o", "o1"}


def test_a_panel_and_a_judge_are_one_too_many(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--panel names the judges"):
        asked("--panel", str(written(tmp_path, "o1")), "--judge", "gpt-4o", "--model", "m")
    with pytest.raises(UsageError, match="judge"):
        asked("--model", "m")


def test_no_other_judges_have_the_id_of_a_panel(tmp_path: Path) -> None:
    mine = id_of(written(tmp_path, "gpt-4o", "o1"))
    two = ["--judge", "o1", "--judge", "gpt-4o", "--model", "m"]
    assert asked(*two, "--set", f"panel={mine}")["panel"] == mine
    for text, judges in (("paper-2025-03@c262652b", two), ("mine", two), (mine, [*two, "--judge", "o3"])):
        with pytest.raises(UsageError, match="panel: not the id of these judges"):
            asked(*judges, "--set", f"panel={text}")
