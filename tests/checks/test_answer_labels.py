"""What of a run people can label, and what can check its judges."""

from pathlib import Path

import pytest

from lotbench import benchmarks, evaluate_sync
from lotbench.cli import main
from tests.fakes import RuleModel


@pytest.mark.parametrize("name", benchmarks.NAMES)
def test_there_is_a_judge_set_where_there_are_judges(name: str) -> None:
    one = benchmarks.get(name)
    assert one.judged is (one.validation is not None)


def test_standard_says_that_it_has_no_judge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = RuleModel(lambda request: "A", model_id="candidate")
    run = evaluate_sync(
        "standard", model=model, out=tmp_path, limit=1, settings={"kind": "2t1", "arm": "blind"}
    )
    (tmp_path / "labels.jsonl").write_text('{"row": "1", "label": true}\n', "utf-8")
    for asked in (["export", str(run.path), "--for-review"], ["score", str(run.path), "--labels", str(tmp_path / "labels.jsonl")]):  # fmt: skip
        assert main(asked) == 2
        assert "standard: no judge decides anything in it" in capsys.readouterr().err
