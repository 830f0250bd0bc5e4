"""Foreign checkpoints, full disks and damaged files: one line and exit 2, and no code of others runs."""

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clot_training.cli import LIBRARIES, STEPS, main
from clot_training.config import Clip
from clot_training.data import instructions
from clot_training.exploring import clip, vocabulary
from clot_training.exploring import explore as step
from clot_training.records import Work
from lotbench.errors import RunFolderError, UsageError
from lotbench.models.transformers.loading import load
from tests.clot_training.test_explore import random_run
from tests.full_disk import full_disk
from tests.leaping import HashPolicy, data_set, plain, split_words
from tests.tiny import saved_llama


@pytest.fixture(autouse=True)
def untagged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "content_words", split_words)
    monkeypatch.setattr(instructions, "content_words", split_words)


def configured(folder: Path) -> list[str]:
    """The arguments of a step on a data set of 60 rows."""
    made, file = data_set(folder, plain()), folder / "run.toml"
    file.write_text(f'model = "none"\ndata = ["{made}"]\nout = "{folder / "out"}"\n', encoding="utf-8")
    return ["--config", str(file), "--set", "explore.conditions=random"]


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 3_000, 20_000])
@pytest.mark.parametrize("name", ["instructions", "explore"])
def test_a_full_disk_ends_a_step_in_one_line(
    name: str, size: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step, "tuned", HashPolicy)
    arguments = configured(tmp_path)
    with full_disk(size):
        assert main([name, *arguments]) == 2
    *progress, said = capsys.readouterr().err.splitlines()
    assert said.startswith("clot: ") and "goes on" in said
    assert all(" candidates for " in line for line in progress)
    assert main([name, *arguments]) == 0
    assert capsys.readouterr().out.endswith(" --set explore.conditions=random\n")


@pytest.mark.parametrize(
    "said",
    [
        "Error while serializing: I/O error: No space left on device (os error 28)",
        "[enforce fail at inline_container.cc:672] . unexpected pos 148992 vs 148884",
        "PytorchStreamWriter failed writing file data/0: basic_ios::clear: iostream error",
    ],
)
def test_a_library_that_cannot_write_ends_a_step_in_one_line(
    said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def merge(config: object) -> list[str]:
        raise RuntimeError(said)

    monkeypatch.setitem(STEPS, "merge", (merge, ""))
    assert main(["merge", *configured(tmp_path)]) == 2
    told = f"clot: the work folder: {said}; is the disk full?; the same command goes on\n"
    assert capsys.readouterr().err == told


@pytest.mark.parametrize(
    "said", ["No such file or directory (os error 2)", "basic_ios::clear: iostream error"]
)
def test_an_error_in_reading_is_no_full_disk(said: str) -> None:
    assert not LIBRARIES.search(said)


def test_an_error_steers_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "clot.toml").write_text('"\\u001b]0;pwn\\u0007" = 1', encoding="utf-8")
    assert main(["instructions", "--config", str(tmp_path / "clot.toml")]) == 2
    told = capsys.readouterr().err
    assert "pwn" in told and "\x1b" not in told


@pytest.mark.slow
def test_a_non_folder_ends_a_step_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = configured(tmp_path)
    (tmp_path / "out").write_text("")
    assert main(["instructions", *arguments]) == 2
    assert "out/instructions: Not a directory" in capsys.readouterr().err


@pytest.mark.parametrize("text", [b"{", b"[]", b"\xff"])
def test_a_damaged_configuration_of_an_exploration_is_named(text: bytes, tmp_path: Path) -> None:
    run = random_run(tmp_path)
    step.explore(run, HashPolicy)
    (Work(Path(run.out)).explored("random") / "identity.json").write_bytes(text)
    with pytest.raises(RunFolderError, match=r"identity\.json: damaged"):
        step.explore(run, HashPolicy)


def test_no_candidate_is_written_through_a_link(tmp_path: Path) -> None:
    run = random_run(tmp_path)
    path, victim = Work(Path(run.out)).candidates("random"), tmp_path / "victim"
    path.parent.mkdir(parents=True)
    victim.write_text("precious")
    path.symlink_to(victim)
    with pytest.raises(UsageError, match="is a link"):
        step.explore(run, HashPolicy)
    assert victim.read_text() == "precious"


class Evil:
    """What makes a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.mark}",)


@pytest.mark.slow
def test_a_clip_checkpoint_that_is_a_pickle_is_refused_and_not_run(tmp_path: Path) -> None:
    checkpoint, mark = tmp_path / "evil.pt", tmp_path / "mark"
    checkpoint.write_bytes(pickle.dumps(Evil(mark), protocol=2))
    with pytest.raises(UsageError, match=r"explore\.clip ViT-B-32 .*would run code"):
        clip.Sight(Clip(model="ViT-B-32", checkpoint=str(checkpoint)))
    assert not mark.exists()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    saved_llama(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "weights", "why"),
    [
        ('{"peft_type": "LORA"}', "pickle", "would run code"),
        ('{"peft_type": "LORA", "target_modules": "("}', b"", "cannot be loaded: "),
        ('{"peft_type": "LORA", "r": "x", "target_modules": ["q_proj"]}', b"", "cannot be loaded: TypeError"),
        ('{"peft_type": "LORA", "target_modules": ["q_proj"]}', b"\xff" * 9, "SafetensorError"),
        ('{"peft_type": "OTHER"}', b"", "cannot be loaded: KeyError"),
        ("{}", b"", "cannot be loaded: KeyError"),
        ("[]", b"", "cannot be loaded: TypeError"),
    ],
)
def test_a_foreign_adapter_is_refused_by_name_and_not_run(
    config: str, weights: Any, why: str, base: Path, tmp_path: Path
) -> None:
    adapter, mark = tmp_path / "adapter", tmp_path / "mark"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text(config)
    if weights == "pickle":
        (adapter / "adapter_config.json").write_text('{"peft_type": "LORA", "target_modules": ["q_proj"]}')
        (adapter / "adapter_model.bin").write_bytes(pickle.dumps(Evil(mark), protocol=2))
    else:
        (adapter / "adapter_model.safetensors").write_bytes(weights)
    with pytest.raises(UsageError, match=why) as caught:
        load(str(base), str(adapter))
    assert str(adapter) in str(caught.value) and not mark.exists()


@pytest.mark.slow
def test_code_that_came_with_a_model_does_not_run_and_nobody_is_asked(base: Path, tmp_path: Path) -> None:
    """transformers asked at the terminal, and whoever answered y ran it."""
    model, mark = tmp_path / "model", tmp_path / "mark"
    shutil.copytree(base, model)
    (model / "evil.py").write_text(f"open({str(mark)!r}, 'w')\nclass Config: pass\n")
    (model / "config.json").write_text('{"model_type": "evil", "auto_map": {"AutoConfig": "evil.Config"}}')
    code = "import sys; from lotbench.models.transformers.loading import load; load(sys.argv[1], None)"
    ended = subprocess.run(
        [sys.executable, "-c", code, str(model)], input="y\n" * 9, capture_output=True, text=True, check=False
    )
    assert "UsageError" in ended.stderr and "cannot be loaded" in ended.stderr
    assert "[y/N]" not in ended.stdout and not mark.exists()
