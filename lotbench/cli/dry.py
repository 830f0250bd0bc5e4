"""`--dry-run`: what a run would do, the maximum number of its calls, and an estimate of their cost."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from lotbench.calls import prices
from lotbench.checks.chains import draw_rows
from lotbench.checks.judge_check_plan import Prepared
from lotbench.cli.lines import wrapped
from lotbench.errors import suggestion
from lotbench.run.plan import Plan
from lotbench.run.preview import previewed
from lotbench.types import Usage

REPLY_TOKENS = 120


def show_plan(plan: Plan) -> None:
    """Print a plan with the maximum of calls, tokens and cost by role. No model is called, no file written."""
    experiment, sequences = plan.experiment, plan.sequences()
    episodes = sum(map(len, sequences))
    print(f"{plan.benchmark.name} version {plan.benchmark.version}: {plan.benchmark.about}")
    print(f"data      {plan.folder}: {len(plan.chosen)} of {plan.of} samples, digest {plan.digests['data']}")
    together = min(len(sequences), plan.limits.concurrency)
    print(f"tasks     {episodes} ({experiment.repeats} repeats), {together} side by side")
    dollars = _show_costs(plan, _at_most(plan, Counter(one.sample for group in sequences for one in group)))
    told = (
        f"cost at most, about: {dollars}; prices of {prices.price_source()}, nothing cached, no task solved early, "
        f"{REPLY_TOKENS} tokens a reply: a model that reasons writes many times as many; a picture counts as "
        f"{prices.picture_tokens(experiment.model):,} tokens for the candidate (1,024 pixels a side): some models bill more"
    )
    print("settings")
    for name, value in plan.settings.model_dump().items():
        print(f"  {name:18} {value}")
    print(wrapped(told))


def show_check(check: Prepared) -> None:
    """Print the calls, tokens and cost of a judge check by role. No model is called, no file written."""
    models = {role: len(names) for role, names in check.names.items()}
    calls, plan = dict.fromkeys(models, 0), check.plan
    each = plan.benchmark.validation.calls if plan.benchmark.validation else 1
    for panel in check.panels:
        calls[panel.role] += each * len(panel.indexes) * check.repeats * len(check.probes_of(panel))
    stored, new = {probe.sample for probe in check.probes}, list[str]()
    if check.order.chains:
        rows, panel = draw_rows(check), check.chain_panel
        new = [*{probe.sample for probe in rows}] * check.order.chains
        calls[panel.role] += each * len(panel.indexes) * len(rows) * (check.order.chains + 1)
    for sample in (*stored, *new):
        item = plan.by_id[sample]
        # Panels of several modes share a sample's chains.
        beyond = [plan.benchmark.beyond(item, panel.settings, 0, models) for panel in check.panels]
        calls = {role: count + max(more.get(role, 0) for more in beyond) for role, count in calls.items()}
    often = f"each row {check.repeats} times in each variant"
    print(f"{check.total:,} judgings of {len(check.probes):,} rows, {often}")
    dollars = _show_costs(plan, _costs(plan, calls))
    print(
        f"cost at most, about: {dollars}; prices of {prices.price_source()}, nothing cached, {REPLY_TOKENS} tokens a reply"
    )


def _show_costs(plan: Plan, costs: Iterable[tuple[str, Usage, int, float | None]]) -> str:
    """Print the usage of each role (see `_costs`) as a table, and return the cost of all in dollars, as text."""
    print(f"{'role':10} {'calls at most':>14} {'input tokens':>14} {'output tokens':>14} {'USD':>10}  models")
    most = list(costs)
    for role, usage, calls, cost in most:
        shown = "unknown" if cost is None else f"{cost:.2f}"
        models = ", ".join(name.text for name in plan.names[role])
        tokens = f"{usage.input_tokens:14,} {usage.output_tokens:14,}"
        print(f"{role:10} {calls:14,} {tokens} {shown:>10}  {models}")
    if plan.limits.service_tier == "flex":
        print("half the price, slower: OpenAI's service tier flex")
    total = prices.total_cost(cost for *_, cost in most)
    if total is not None:
        return f"${total:.2f}"
    names = (name for role, *_, cost in most if cost is None for name in plan.names[role])
    unknown = next(name for name in names if prices.price(name) is None)
    near = suggestion(unknown.model, prices.priced(unknown.provider))
    return f"unknown (no price of {unknown.text} is known{near})"


def _at_most(plan: Plan, episodes: Counter[str]) -> Iterator[tuple[str, Usage, int, float | None]]:
    """Return the maximum usage of each role in the run of a plan, as `_costs`; `episodes` has their number by sample id."""
    models = {role: len(names) for role, names in plan.names.items()}
    beyond = Counter[str]()
    for sample in plan.chosen:
        beyond.update(plan.benchmark.beyond(sample, plan.settings, episodes[sample.id], models))
    each = plan.benchmark.calls(plan.settings)
    return _costs(plan, {role: each[role] * episodes.total() + beyond[role] for role in each})


def _costs(plan: Plan, numbers: Mapping[str, int]) -> Iterator[tuple[str, Usage, int, float | None]]:
    """Yield role, tokens, number of calls, and cost in US dollars (None without a price), given the number of calls by role."""
    questions = previewed(plan)
    for role, calls in numbers.items():
        role_names = plan.names[role]
        asked = [question.messages for question in questions if question.role == role]
        prompt = max(
            (prices.prompt_tokens(one, name.text) for one in asked for name in role_names), default=0
        )
        # The price per token depends on the length of the single call.
        call_usage = Usage(prompt, 0, REPLY_TOKENS)
        costs = [prices.asked_cost(name, call_usage, plan.limits) for name in role_names]
        known = [each for each in costs if each is not None]
        cost = calls * max(known) if len(known) == len(costs) else None
        yield role, Usage(calls * prompt, 0, calls * REPLY_TOKENS), calls, cost
