"""The card of an adapter: no name of a model or of data can add to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from clot_training.config import Config
from clot_training.tuning import card

NAMES = (
    "makers/first-1B",
    "here\n---\nlicense: mit\n---\n# There",
    '"quoted"\u2028: [',
    "[click](https://x.invalid) <script>",
    "{seed} {0.__class__}",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_stays_a_name(name: str, tmp_path: Path) -> None:
    about = {
        "versions": {"peft": "0.1"},
        "loss": {"before": 2.0, "after": 1.0},
        "examples": 5,
        "steps": 9,
    }
    stage = tmp_path / "stage1"
    stage.mkdir()
    (stage / "tune.json").write_text(json.dumps(about), "utf-8")
    (stage / "config.toml").write_text("", "utf-8")
    card.write(Config(model=name, data=(name, "oogiri"), out=str(tmp_path)), stage)
    text = (stage / "adapter" / "README.md").read_text("utf-8")
    empty, head, body = text.split("---\n", maxsplit=2)
    assert empty == "" and yaml.safe_load(head)["base_model"] == name
    assert "license" not in yaml.safe_load(head)
    titles = [line for line in body.splitlines() if line.startswith("#")]
    assert len(titles) == 1 and titles[0].startswith("# stage1 of ")
    assert "](" not in body.replace("\\]", "") and "<script" not in body.replace("\\<", "")
    assert len(body.splitlines()) == 12
