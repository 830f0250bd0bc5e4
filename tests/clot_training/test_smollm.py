"""The smoke configuration on real weights, a few steps of it: the embedded model, turned into one that can be tuned."""

import json
from pathlib import Path

import pytest

from clot_training.cli import main
from clot_training.records import Instruction, Prompt, Work, read_records


@pytest.mark.slow
def test_the_embedded_model_is_converted_once_tuned_and_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from clot_training.config import load
    from clot_training.exploring.policy import transformers_policy
    from clot_training.tuning.weights import folder
    from lotbench.storage.datasets import shipped

    file = shipped("configs", "clot", "smoke.toml")
    trainer = ("max_steps=4", "logging_steps=1", "per_device_train_batch_size=2")
    sets = [f"out={tmp_path}", *(f"tune.trainer.{one}" for one in trainer)]
    config = load(file, sets)
    flags = [flag for pair in sets for flag in ("--set", pair)]
    for step in ("instructions", "tune"):
        assert main([step, "--config", str(file), *flags]) == 0, capsys.readouterr().err
    work = Work(tmp_path)
    about = json.loads((work.stage1 / "tune.json").read_text())
    assert (about["steps"], about["left_out"]) == (4, {})
    assert about["model"] == f"hf:{folder('local')}+{work.stage1 / 'adapter'}"
    made = next(one for one in read_records(work.train, Instruction) if one.kind == "selection")
    policy = transformers_policy(config, work.stage1 / "adapter")
    assert policy.generate([Prompt(made.messages, made.image, 1)])[0]
    (odds,) = policy.odds([Prompt(made.messages, made.image, 1)], ["ABC"])
    assert max(odds) > -5, "the letters are what an instructed model expects to say"
