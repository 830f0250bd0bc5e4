"""The card of an adapter: no name of a model or of data can add to it, and it says who can load the adapter."""

import json
from pathlib import Path
from typing import Any

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
    head, body = card_of(name, tmp_path)
    assert head.get("base_model") == (name if name == NAMES[0] else None)
    assert "license" not in head and head["library_name"] == "peft"
    titles = [line for line in body.splitlines() if line.startswith("#")]
    assert len(titles) == 1 and titles[0].startswith("# stage1 of ")
    assert "](" not in body.replace("\\]", "") and "<script" not in body.replace("\\<", "")
    assert len(body.splitlines()) == 12 + (name != NAMES[0])


def test_only_the_card_of_an_adapter_says_that_others_lack_its_base(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    for base in ("local", "weights.gguf", str(tmp_path / "base"), "runs/mine/stage1/merged"):
        head, body = card_of(base, tmp_path)
        assert "base_model" not in head and "others cannot load this adapter" in body
        head, body = card_of(base, tmp_path, merged=True)
        assert "base_model" not in head and "others cannot load" not in body
    assert "others cannot load" not in card_of("makers/first-1B", tmp_path)[1]
    head, body = card_of("makers/first-1B", tmp_path, merged=True)
    assert (head["base_model"], head["library_name"]) == ("makers/first-1B", "transformers")
    assert "lora" not in head["tags"] and "# stage1 of makers/first-1B, merged" in body


def card_of(base: str, tmp_path: Path, *, merged: bool = False) -> tuple[dict[str, Any], str]:
    """Head and body of the card of a stage whose base has this name."""
    about = {"versions": {"peft": "0.1"}, "loss": {"before": 2.0, "after": 1.0}, "examples": 5, "steps": 9}
    stage = tmp_path / "stage1"
    (stage / "adapter").mkdir(parents=True, exist_ok=True)
    (stage / "tune.json").write_text(json.dumps(about), "utf-8")
    (stage / "config.toml").write_text("", "utf-8")
    config = Config(model=base, data=(base, "oogiri"), out=str(tmp_path))
    card.write(config, stage, stage / "adapter", merged=merged)
    text = (stage / "adapter" / "README.md").read_text("utf-8")
    empty, head, body = text.split("---\n", maxsplit=2)
    assert empty == "" and (stage / "adapter" / "config.toml").exists()
    return yaml.safe_load(head), body
