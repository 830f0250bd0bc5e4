"""A measure of how far verdicts depend on the causal chain that a judge has stored for a sample.

The judge writes one chain for a sample, and uses it in every game on the sample. Here labelled rows of some samples are judged
again, with new chains. Chain 0 is the stored one; `Validation.redraw` makes the question for each new one.
"""

from collections.abc import Sequence
from functools import partial
from random import Random
from statistics import fmean

from lotbench.calls.caller import Caller
from lotbench.checks.judge_check_plan import Prepared
from lotbench.checks.probes import put, side_by_side
from lotbench.errors import UsageError
from lotbench.harness.judge_validation import Probe, Ruling, decided
from lotbench.metrics.agreement import flips
from lotbench.types import JSON

SAMPLES = 20


def draw_rows(prepared: Prepared) -> list[Probe]:
    """Return all labelled rows of at most 20 samples, drawn from those that have both right and wrong guesses.

    Raises:
        UsageError: The judge stores no chain, no new chain is wanted, or fewer than two samples have both.
    """
    panel, by_sample = prepared.chain_panel, dict[str, list[Probe]]()
    if prepared.validation.redraw is None or not prepared.keeps_chain(panel):
        raise UsageError("--chains: no judge here keeps a causal chain (judge_mode=causal, chain=stored)")
    for probe in prepared.probes_of(panel):
        by_sample.setdefault(probe.sample, []).append(probe)
    both = [rows for rows in by_sample.values() if len({probe.label for probe in rows}) == 2]
    if prepared.order.chains < 1 or len(both) < 2:
        raise UsageError(
            "--chains: takes one new chain or more, and two samples with right rows and wrong ones"
        )
    rng = Random(f"{prepared.plan.experiment.seed}:chains")
    return [probe for rows in rng.sample(both, min(SAMPLES, len(both))) for probe in rows]


async def replay(prepared: Prepared, caller: Caller, rows: Sequence[Probe]) -> dict[str, JSON]:
    """Judge the rows of `draw_rows` with the stored chain and with each new one.

    Returns:
        A table: `chains`, the number of new chains for each sample; `samples`, the number of samples; `changed`, two
        numbers of pairs of verdicts on one row under two chains: those that differ, and all; `accepted`, a list
        [samples, chains, 2] of the shares of right and of wrong rows that the judge accepted. `accepted` leaves out a
        sample if some chain has no verdict on its right rows, or none on its wrong rows.
    """
    chains = range(prepared.order.chains + 1)
    rulings: list[tuple[str, int, Ruling]] = []

    async def judge(probe: Probe, chain: int) -> None:
        # A repeat number of its own makes each question a new call, for the stored chain too.
        repeat = prepared.repeats + 1 + chain
        said = await put(caller, prepared.plan, prepared.chain_panel, probe, repeat, chain)
        read = [ruling for ruling in decided([(probe, said)]) if ruling.said is not None]
        rulings.extend((probe.sample, chain, ruling) for ruling in read)

    work = [partial(judge, probe, chain) for probe in rows for chain in chains]
    await side_by_side(prepared.plan.limits.concurrency, work)
    by_row: dict[str, list[bool]] = {}
    by_chain: dict[str, list[list[Ruling]]] = {probe.sample: [[] for _ in chains] for probe in rows}
    for sample, chain, ruling in rulings:
        by_row.setdefault(ruling.row, []).append(bool(ruling.said))
        by_chain[sample][chain].append(ruling)
    shares = [[_shares(each) for each in own] for own in by_chain.values()]
    return {
        "chains": prepared.order.chains,
        "samples": len(by_chain),
        "changed": list(flips(list(by_row.values()))),
        "accepted": [own for own in shares if all(len(pair) == 2 for pair in own)],
    }


def _shares(rulings: Sequence[Ruling]) -> list[JSON]:
    """Return the share accepted of right rows, then of wrong rows; a kind of row without a readable verdict is left out."""
    sides = ([bool(each.said) for each in rulings if each.truth is right] for right in (True, False))
    return [fmean(side) for side in sides if side]
