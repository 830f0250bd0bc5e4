"""RINoBench with the embedded model in both roles: the whole way from an idea to nine metrics."""

from pathlib import Path

import pytest

from lotbench import evaluate
from lotbench.models import embedded


@pytest.mark.slow
async def test_the_embedded_model_judges_an_idea_end_to_end(tmp_path: Path) -> None:
    second = tmp_path / "second.gguf"
    second.symlink_to(embedded.weights("local"))
    run = await evaluate(
        "rinobench",
        model="local",
        roles={"judge": f"local:{second}"},
        limit=1,
        out=tmp_path,
        check=False,
        max_failed=1.0,
        timeout_s=600.0,
        settings={"max_claims": 1, "alignment_calls": 1, "works_chars": 1000},
        sampling={"candidate": {"max_tokens": 300}, "judge": {"max_tokens": 300}},
    )
    (trace,) = run.traces
    # What a model of this size says is no judgment; that every part of it is read or refused is the point.
    assert trace.outcome in ("scored", "invalid", "judge_failed")
    assert {"respond"} <= {str(step["step"]) for step in trace.steps}
    assert run.summary["usage"]["by_role"]["candidate"]["calls"] >= 1
    assert not run.summary["rankable"]
    assert "\n\n**Not trusted:** an embedded model played" in run.report.read_text(encoding="utf-8")
