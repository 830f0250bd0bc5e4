"""`--dry-run`: what a run would do, how many calls that is at most, and about what they would cost."""

from __future__ import annotations

from lotbench.edge.calls.prices import price, price_date
from lotbench.harness.benchmark import preview
from lotbench.harness.state import start
from lotbench.run.plan import Plan
from lotbench.types import Question, Usage

CHARACTERS_A_TOKEN = 4
PICTURE_TOKENS = 800
REPLY_TOKENS = 120


def show_plan(made: Plan) -> int:
    """Print the plan; calls nothing and writes nothing."""
    experiment, lanes = made.experiment, made.lanes()
    walks = sum(map(len, lanes))
    print(f"{made.benchmark.name} version {made.benchmark.version}: {made.benchmark.about}")
    print(f"data      {made.folder}: {len(made.chosen)} of {made.of} samples")
    print(
        f"walks     {walks} ({experiment.repeats} repeats), {min(made.limits.concurrency, len(lanes))} side by side"
    )
    for name, value in made.settings.model_dump().items():
        print(f"  {name:18} {value}")
    for fault in made.benchmark.data.faults(made.chosen, made.settings):
        print(f"note: {fault}")
    print(f"{'role':10} {'calls at most':>14} {'input tokens':>14} {'output tokens':>14} {'USD':>10}  models")
    first = made.view(start(made.chosen[0].id, 1, ""), "preview")
    asked = preview(made.benchmark, first)
    total: float | None = 0.0
    for role, each in made.benchmark.calls(made.settings).items():
        calls, prompt = each * walks, max((_tokens(q) for q in asked if q.role == role), default=0)
        usage = Usage(calls * prompt, 0, calls * REPLY_TOKENS)
        known = price(made.names[role][0])
        # The price of a call depends on its own length, not on that of all together.
        cost = calls * known.of(Usage(prompt, 0, REPLY_TOKENS)) if known else None
        total = None if total is None or cost is None else total + cost
        shown = "unknown" if cost is None else f"{cost:.2f}"
        models = ", ".join(name.text for name in made.names[role])
        print(
            f"{role:10} {calls:14,} {usage.input_tokens:14,} {usage.output_tokens:14,} {shown:>10}  {models}"
        )
    cost_line = "unknown (a model is not in the table)" if total is None else f"${total:.2f}"
    print(f"cost at most, about: {cost_line}; prices of {price_date()}, nothing cached, no walk solved early")
    return 0


def _tokens(question: Question) -> int:
    return sum(
        len(part) // CHARACTERS_A_TOKEN + 1 if isinstance(part, str) else PICTURE_TOKENS
        for message in question.messages
        for part in message.parts
    )
