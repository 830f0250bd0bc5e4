"""The whole path on a tiny model that sees: instructions, tune, explore, refine and report, by the command."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from clot_training.cli import main
from clot_training.records import Candidate, Instruction, Work, read_records
from tests import shapes
from tests.rules import hear, number
from tests.server import FakeServer
from tests.tiny import llava, square

COLOURS = ("red", "blue", "green", "yellow", "white", "black", "orange", "purple")
ENDS = (
    "dreams of cheese",
    "hates a quiet moon",
    "sells old hats",
    "bites the queen",
    "forgot the soup",
    "runs",
)


def data(folder: Path) -> None:
    """A data set of pictures in one colour, with six responses each, each liked twice as much as the next."""
    (folder / "images").mkdir(parents=True)
    lines = []
    for colour in COLOURS:
        (folder / "images" / f"{colour}.png").write_bytes(square(colour))
        for place, end in enumerate(ENDS):
            row = {
                "id": f"{colour}-{place}",
                "type": "I2T",
                "language": "en",
                "group": colour,
                "image": f"images/{colour}.png",
                "text": f"{colour.title()} {end}.",
                "star": 400 >> place,
            }
            lines.append(json.dumps(row))
    (folder / "samples.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Work]:
    """A configuration in a folder with data, a model and a CLIP of its own."""
    root = tmp_path_factory.mktemp("path")
    data(root / "data")
    model, processor = llava()
    model.save_pretrained(root / "base")
    processor.save_pretrained(root / "base")
    described, checkpoint = shapes.train(root, steps=1)
    file = root / "run.toml"
    file.write_text(
        f"""
model = "{root / "base"}"
data = ["{root / "data"}"]
out = "{root / "work"}"
held_out = 0.3
seed = 7
[tune.lora]
r = 4
modules_to_save = ["lm_head"]
[tune.trainer]
learning_rate = 5e-3
max_steps = 30
logging_steps = 1
[explore]
n = 20
max_tokens = 8
limit = 6
keep_rule = "one_order"
[explore.clip]
model = "{described}"
checkpoint = "{checkpoint}"
[report]
limit = 3
""",
        encoding="utf-8",
    )
    return file, Work(root / "work")


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command prints; it has to end well."""
    code = main(arguments)
    told = capsys.readouterr()
    assert code == 0, told.err
    return told.out


@pytest.mark.slow
def test_the_whole_path_with_pictures(run: tuple[Path, Work], capsys: pytest.CaptureFixture[str]) -> None:
    file, work = run
    config = ("--config", str(file))
    assert said(capsys, "instructions", *config).endswith(f"next: clot tune --config {file}\n")
    made = list(read_records(work.train, Instruction))
    assert {one.kind for one in made} == {"generation", "selection", "ranking"}
    assert all(one.image and Path(one.image).is_file() for one in made)
    loss = said(capsys, "tune", *config).split()
    assert float(loss[3]) < 0.8 * float(loss[1]), "the loss falls by a fifth"
    for conditions in ("weak", "random"):
        arm = (*config, "--set", f"explore.conditions={conditions}")
        assert f"{conditions} conditions" in said(capsys, "explore", *arm)
        assert "hf:" in said(capsys, "refine", *arm)
        kept = [one for one in read_records(work.candidates(conditions), Candidate) if one.kept]
        about = json.loads((work.stage2(conditions) / "tune.json").read_text())
        assert about["examples"] == len(made) + len(kept) > len(made)
    for change, name in (("seed=99", "seed"), ('data=["oogiri"]', "data")):
        assert main(["report", *config, "--set", change]) == 2
        assert f"trained with another {name}: held-out rows may be in it" in capsys.readouterr().err
    text = said(capsys, "report", *config)
    table = [line for line in text.splitlines() if line.startswith("|")]
    for row in ("chance", "base", "stage 1", "stage 2, weak conditions", "stage 2, random conditions"):
        assert any(line.startswith(f"| {row} |") for line in table), row
    numbers = json.loads(work.report.with_suffix(".json").read_text())
    by_type = numbers["by_type_and_language"]
    assert by_type.keys() == numbers["stages"].keys()
    assert {(row["type"], row["language"]) for row in by_type["base"]} >= {("I2T", "en"), ("all", "en")}
    assert all({"3T1", "4T1", "5T2", "NDCG", "Avg."} <= row.keys() for row in by_type["base"])
    assert "average" in numbers["stages"]["base"]
    assert "stands in" in text and "rewrites: stand-ins" in text
    for scores in numbers["stages"].values():
        assert scores["accuracy_2t1"]["baselines"]["chance"] == 0.5
        assert scores["rank_ndcg"]["n"] == scores["accuracy_2t1"]["n"]
    assert numbers["stages"]["base"] != numbers["stages"]["stage 1"]


@pytest.mark.slow
def test_stage_two_may_begin_from_the_base(run: tuple[Path, Work]) -> None:
    """What stage 1 learnt is there at the first step of stage 2, unless it begins from the base."""
    file, work = run

    def first(stage: Path) -> float:
        return float(json.loads((stage / "loss.jsonl").read_text().splitlines()[0])["loss"])

    before = first(work.stage2("weak"))
    shutil.rmtree(work.stage2("weak"))
    assert main(["refine", "--config", str(file), "--set", "refine.refine_from=base"]) == 0
    assert first(work.stage2("weak")) > before


def served(asked: Any) -> str:
    """A captioner says what it sees, a rewriter what it read in other words."""
    heard = hear(asked)
    return (
        "A square in one colour."
        if heard.pictures
        else f"In plain words, number {number(heard.text) % 1000}."
    )


@pytest.mark.slow
def test_the_report_has_captions_and_rewrites_of_the_models_that_are_named(
    run: tuple[Path, Work], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer(rule=served, keep_bodies=True) as server:
        named = {"captioner": f"sees@{server.url}", "rewriter": f"says@{server.url}"}
        helping = [f"--set=instructions.{role}={name}" for role, name in named.items()]
        arguments = ("report", "--config", str(run[0]), f"--set=out={tmp_path / 'work'}", *helping)
        text = said(capsys, *arguments)
        heard = [hear(body) for body in server.bodies]
        assert said(capsys, *arguments) == text and len(server.bodies) == len(heard), "kept in the store"
    sees, says = ([one for one in heard if one.model == role] for role in ("sees", "says"))
    assert len(sees) >= 2 and len(says) == len(ENDS) * len(sees), "a picture once, each of its responses once"
    assert {one.pictures for one in sees} == {1} and {one.pictures for one in says} == {0}
    assert f"- captions: {named['captioner']}" in text and f"- rewrites: {named['rewriter']}" in text
    assert "stands in" not in text and "stand-ins" not in text
    numbers = json.loads((tmp_path / "work" / "report.json").read_text("utf-8"))
    assert numbers["stages"].keys() == {"base"} and numbers["stages"]["base"]["accuracy_4t1"]["n"] > 0


@pytest.mark.slow
def test_a_rewriter_that_says_nothing_leaves_its_problems_out_of_the_report(
    run: tuple[Path, Work], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer(rule=lambda asked: "") as server:
        rewriter = f"--set=instructions.rewriter=mute@{server.url}"
        said(capsys, "report", "--config", str(run[0]), f"--set=out={tmp_path / 'work'}", rewriter)
    base = json.loads((tmp_path / "work" / "report.json").read_text("utf-8"))["stages"]["base"]
    assert base["accuracy_4t1"]["value"] is None and base["accuracy_3t1"]["n"] > 0


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    return main(arguments), capsys.readouterr().err


@pytest.mark.parametrize("step", ["instructions", "tune", "explore", "refine", "synthesize", "report"])
def test_each_step_names_bad_settings(step: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "run.toml"
    file.write_text('model = "m"\nout = "o"\n[tune]\nrang = 4\n', encoding="utf-8")
    code, error = told(capsys, step, "--config", str(file))
    assert code == 2
    assert "tune.rang: unknown key" in error
    code, error = told(capsys, step, "--config", str(tmp_path / "absent.toml"))
    assert code == 2
    assert "absent.toml" in error


@pytest.mark.parametrize("step", [pytest.param("refine", marks=pytest.mark.slow), "synthesize"])
def test_a_step_names_its_forerunner(step: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "run.toml"
    file.write_text(f'model = "m"\nout = "{tmp_path / "o"}"\n', encoding="utf-8")
    code, error = told(capsys, step, "--config", str(file))
    assert (code, "run `clot explore` first" in error) == (2, True)


def test_help_imports_nothing_heavy() -> None:
    import subprocess
    import sys

    probe = (
        "import sys; from clot_training.cli import parser; parser();"
        "print([name for name in ('torch', 'pydantic', 'numpy', 'lotbench.config.experiment') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
