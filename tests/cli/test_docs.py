"""The pages for people say what is so: generated ones are current, links lead somewhere, commands parse.

`LOTBENCH_GOLDEN=write` (`make golden`) writes the generated pages anew.
"""

import ast
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import clot_training.cli
from clot_training import config as training
from lotbench import benchmarks, evaluate, evaluate_sync
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.cli.evaluate import configuration
from lotbench.cli.parser import parser
from lotbench.config import experiment as config
from lotbench.config import model_names
from lotbench.storage import datasets
from tests.adding import build
from tests.fakes import RuleModel
from tests.pages import PAGES, ROOT
from tests.rules import game_rule

WRITTEN = sorted(
    path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
)
FAITHFUL = [f"docs/{name}.md" for name in (*benchmarks.NAMES, "training")]
"""The pages that say where a paper is silent and what lotbench does."""
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`((?:[^`\n]|\n(?!\n))+)`(?!`)")
LINK = re.compile(r"\]\(([^()\s]+)\)|\bsrc=\"([^\"]+)\"")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@pytest.fixture(autouse=True, scope="module")
def uses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The benchmark of a page, installed: commands on that page name it."""
    folder = tmp_path_factory.mktemp("site")
    build(folder)
    sys.path.insert(0, str(folder))
    yield
    sys.path.remove(str(folder))


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def fenced(page: str, language: str) -> list[str]:
    return [body for name, body in FENCE.findall(text(page)) if name == language]


@pytest.mark.parametrize("page", PAGES)
def test_golden_page_is_current(page: str) -> None:
    made = PAGES[page]()
    if os.environ.get("LOTBENCH_GOLDEN") == "write":
        (ROOT / page).write_text(made, encoding="utf-8")
    # Versions of Python break the lines of a usage differently; the words are the same.
    assert text(page).split() == made.split(), f"{page} is out of date: make golden"


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as forges make them."""
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(prose))
    return {one.replace(" ", "-") for one in words}


@pytest.mark.parametrize("page", WRITTEN)
def test_every_link_of_our_own_leads_somewhere(page: str) -> None:
    prose = FENCE.sub("", text(page))
    for match in LINK.finditer(prose):
        target = match[1] or match[2]
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        place = (ROOT / page).parent / file if file else ROOT / page
        assert place.exists(), f"{page}: {target}"
        if anchor:
            assert anchor in anchors(place), f"{page}: {target}"


def shell_lines(page: str) -> Iterator[str]:
    """Every line of a page's shell blocks, and every piece of code in its prose."""
    for block in fenced(page, "sh"):
        yield from block.replace("\\\n", " ").splitlines()
    for code in INLINE.findall(FENCE.sub("", text(page))):
        # A command that is only named, without its arguments, has at least a help.
        told = " ".join(code.split())
        yield f"{told} --help" if re.fullmatch(r"lotbench( (?!latest\b)[a-z-]+)+", told) else told


def commands(page: str, program: str = "lotbench") -> Iterator[list[str]]:
    """The arguments of every command of a program in a page."""
    for line in shell_lines(page):
        for part in re.split(r"&&|;", line.replace("-m clot_training.cli", "; clot")):
            words = shlex.split(part, comments=True) if f"{program} " in part else []
            if words[:1] == [program] and "COMMAND" not in words:
                yield words[1:]


def test_the_pages_have_commands_to_check() -> None:
    assert sum(1 for _ in commands("README.md")) >= 10
    assert list(commands("docs/reference.md"))


@pytest.mark.parametrize("page", WRITTEN)
def test_every_command_shown_parses(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in commands(page):
        shown = f"{page}: lotbench {shlex.join(arguments)}"
        try:
            parsed = parser().parse_args(arguments)
        except SystemExit as ending:
            assert ending.code == 0, f"{shown}: {capsys.readouterr().err}"
            continue
        assert hasattr(parsed, "run_command"), f"{shown}: no command of its own"
        if arguments[0] == "evaluate":
            usable(configuration(parsed), shown)


def test_commands_of_the_training_page_parse_and_settings_exist(capsys: pytest.CaptureFixture[str]) -> None:
    shown = [words for words in commands("docs/training.md", "clot") if len(words) > 1]
    commands_shown = {words[0] for words in shown}
    assert commands_shown == {"instructions", "tune", "explore", "refine", "synthesize", "report"}
    for words in shown:
        parsed = clot_training.cli.parser().parse_args(words)
        path = datasets.config_file(parsed.config)
        assert path is not None
        training.load(path, parsed.sets)


def usable(asked: config.Config, shown: str) -> None:
    """What is asked for exists: the settings by name and value, the models by form."""
    experiment = asked.experiment
    declared = benchmarks.get(experiment.benchmark)
    config.validate(declared.Settings, experiment.settings, Path(shown))
    for model in filter(
        None, [experiment.model, *(m for models in experiment.roles.values() for m in models)]
    ):
        model_names.parse(model)
    assert experiment.roles.keys() | experiment.sampling.keys() <= declared.roles.keys(), shown


@pytest.mark.parametrize("page", WRITTEN)
def test_every_configuration_shown_is_accepted(page: str, tmp_path: Path) -> None:
    for number, block in enumerate(fenced(page, "toml")):
        file = tmp_path / f"{number}.toml"
        file.write_text(block, encoding="utf-8")
        if "[tune" in block:
            training.load(file)
        else:
            usable(config.load(file), f"{page}: {block}")


@pytest.mark.parametrize("page", WRITTEN)
def test_every_make_target_shown_is_there(page: str) -> None:
    targets = re.findall(r"^([a-z]+):", text("Makefile"), re.MULTILINE)
    for line in shell_lines(page):
        if match := re.match(r"make ([a-z]+)\b", line.strip()):
            assert match[1] in targets, f"{page}: {line}"


def test_make_shows_what_it_would_do_and_does_nothing(tmp_path: Path) -> None:
    make = ["make", "-n", "-C", str(ROOT), "evaluate", f"VENV={tmp_path / 'venv'}"]
    shown = subprocess.run(make, capture_output=True, text=True, check=True).stdout
    assert "lotbench watch" in shown and not (tmp_path / "venv").exists()


def tree(block: str) -> Iterator[str]:
    """The paths that a drawn tree names: two spaces a level, what it is after two spaces or more."""
    above: list[str] = []
    for line in block.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        named = re.split(r"\s{2,}", line.strip())[0]
        above = above[:depth]
        for name in named.split():
            yield "/".join([*above, name.rstrip("/")])
        if named.endswith("/"):
            above.append(named.rstrip("/"))


def test_the_tree_names_only_what_is_there() -> None:
    (block,) = (block for block in fenced("docs/development.md", "text") if "pyproject.toml" in block)
    paths = list(tree(block))
    assert {"lotbench/types.py", "lotbench/benchmarks"} <= {*paths}
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_files_to_read_first_are_four_and_short() -> None:
    sentence = text("docs/development.md").split("To know how it works, read", 1)[1].split("```text")[0]
    files = [(ROOT / "docs" / match[1]).resolve() for match in LINK.finditer(sentence)]
    assert len(files) == 4 and ROOT / "lotbench/harness/benchmark.py" in files
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) < 600


def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names_of: dict[str, Any] = {"__name__": "example"}
    for block in fenced("docs/recipes.md", "python"):
        exec(block, names_of)
    assert names_of["run"].traces
    assert (tmp_path / "runs").is_dir()
    own = {name: names_of[name] for name in ("judge", "oracle")}
    settings = {"judge_mode": "zero_shot", "max_rounds": 1}
    run = evaluate_sync(
        model=lambda messages: {"guess": "赌徒"}, roles=own, data="lotbench_easy", languages=["zh"], limit=1,
        repeats=1, settings=settings,
    )  # fmt: skip
    assert [trace.outcome for trace in run.traces] == ["unsolved"], "the judge reads a Chinese prompt too"


def test_the_loop_of_the_environment_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = fenced("docs/integrations.md", "python")
    assert len([line for line in block.splitlines() if line.strip()]) <= 20
    names_of: dict[str, Any] = {"__name__": "example"}
    exec(block, names_of)
    assert names_of["rewards"] == [1.0, 1.0, 1.0, 1.0]


def test_every_argument_of_evaluate_shown_is_one() -> None:
    known = {*inspect.signature(evaluate).parameters, *config.Experiment.model_fields}
    known |= {*config.Limits.model_fields}
    given = set()
    for block in [*fenced("docs/recipes.md", "py"), *fenced("docs/recipes.md", "python")]:
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "").startswith("evaluate"):
                given |= {word.arg for word in node.keywords}
    assert given >= {"model", "roles", "settings"}
    assert given <= known


def test_the_sample_shown_is_one() -> None:
    (block,) = fenced("docs/lotbench.md", "json")
    shown = Item.model_validate(json.loads(block))
    described = set(INLINE.findall(FENCE.sub("", text("docs/lotbench.md"))))
    assert shown.frame.count("<MASK>") == 1
    assert Item.model_fields.keys() - described == set()


def readings(page: str) -> Iterator[str]:
    """The rows of the page's tables that end with a setting: what the paper says, and what lotbench does."""
    for head, rows in re.findall(r"(^\|.*\|\n)\| ---.*\n((?:^\|.*\n)+)", text(page), re.MULTILINE):
        if head.rstrip().endswith("| setting |"):
            yield from rows.splitlines()


def test_every_setting_that_turns_a_reading_is_one() -> None:
    settings = (benchmarks.get(name).Settings.model_fields for name in benchmarks.names())
    known = {*config.Experiment.model_fields}.union(*settings)
    for table, field in training.Config.model_fields.items():
        known |= {f"{table}.{name}" for name in getattr(field.annotation, "model_fields", ())}
    named = [
        name for page in FAITHFUL for row in readings(page) for name in INLINE.findall(row.split(" | ")[-1])
    ]
    assert len(named) > 50
    assert [name for name in named if name.partition("=")[0] not in known] == []


class Player(RuleModel):
    """Plays every role by the rule of the tests; is handed requests as they are."""

    takes_requests = True


def keys(value: Any, free: frozenset[str] = frozenset()) -> set[str]:
    """Every name in a JSON value; below the free ones names are data."""
    if isinstance(value, list):
        return {name for one in value for name in keys(one, free)}
    if not isinstance(value, dict):
        return set()
    below = (keys(one, free) for name, one in value.items() if name not in free)
    return {str(name) for name in value}.union(*below)


def test_the_pages_on_runs_name_everything_in_a_run_folder(tmp_path: Path) -> None:
    player = Player(game_rule(solve=0.2))
    run = evaluate_sync(
        model=player,
        roles={"judge": player, "oracle": player},
        out=tmp_path,
        data="lotbench_easy",
        samples=["lot-0002", "lot-0034"],
        repeats=2,
        settings={"max_rounds": 6, "clue_interval": 1, "framework": "ddcot"},
    )
    wanted = {path.name for path in run.path.iterdir()}
    free = frozenset(
        {"models", "outcomes", "by_role", "scores", "baselines", "settings", "roles", "sampling", "limits"}
        | {"prompts", "pictures", "diagnostics"}
    )
    for name in ("summary.json", "run.json"):
        wanted |= keys(json.loads((run.path / name).read_text(encoding="utf-8")), free)
    for name in ("calls.jsonl", "traces.jsonl"):
        for line in (run.path / name).read_text(encoding="utf-8").splitlines():
            wanted |= keys(json.loads(line))
    wanted |= {str(step["step"]) for trace in run.traces for step in trace.steps}
    pages = ("docs/runs.md", "docs/appendix/run_folder.md")
    code = [piece for page in pages for piece in INLINE.findall(FENCE.sub("", text(page)))]
    code += [block for page in pages for block in fenced(page, "json")]
    said = set(re.findall(r"[\w.]+", " ".join(code)))
    assert {"chain", "decompose", "respond", "check", "ask", "answer", "reveal", "preflight"} <= wanted | {
        "preflight"
    }
    assert sorted(wanted - said) == []
    summary = json.loads((run.path / "summary.json").read_text(encoding="utf-8"))
    numbers = keys(summary["diagnostics"], frozenset({"samples"}))
    told = set(re.findall(r"[\w.]+", " ".join(INLINE.findall(FENCE.sub("", text(pages[1]))))))
    assert sorted(numbers - told) == [] and len(numbers) > 5
