"""The check of judge (E1) and oracle (E2) on labelled rows (Sec. 7.2-7.3): who is measured on what, and with which result.

A row of a judge set (judge_rows.py) takes the place of a candidate's guess, response or question in a game.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from lotbench.benchmarks.lotbench import whole
from lotbench.benchmarks.lotbench.games import Game, Opinion, Round, game, read_rounds
from lotbench.benchmarks.lotbench.judge_rows import DIFFERENT, IDEAS, RESPONSES
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.harness.judge_validation import Draw, JudgePanel, Place, Probe, ProbeResult, Ruling, decided
from lotbench.harness.state import State
from lotbench.types import JSON, Trace

BOUNDS = {"judge": "game", "oracle": "oracle"}
"""The name of the bounds in `report.trust` for the error rates of each role."""
STRATA = {"accepted": True, "overturned": False, "refused": False, "alike": False}
"""The kinds of verdict from which guesses are drawn, and whether each accepts its guess; `alike` only in an encore."""


def rulings(judged: Sequence[tuple[Probe, ProbeResult]]) -> list[Ruling]:
    """Return one ruling for each probe that a judge decided; probes on another idea have a criterion of their own."""
    return [
        replace(ruling, criterion=DIFFERENT if probe.task in IDEAS else "")
        for probe, result in judged
        for ruling in decided([(probe, result)])
    ]


def panels(role: str, models: int, settings: Settings, every: bool) -> list[JudgePanel]:
    """Return the panels to measure: the judges as a game has them, then each further judge alone.

    In an encore, each judge is also measured on the question whether an answer is another idea.

    Args:
        role: judge, or oracle, which is measured with each value of `oracle_sees`, since its calls are short.
        models: The number of models in the role.
        settings: The settings of the game.
        every: Whether to measure the judges in all judge modes (Fig. 15, right).
    """
    if role == "oracle":
        seen: tuple[str, ...] = ("key_text", "response", "scene")
        if settings.whole:
            # It always knows the response then, so the first two are the same questions.
            seen = (settings.oracle_sees if settings.oracle_sees != "scene" else "response", "scene")
        return [
            JudgePanel(role, (0,), what, settings.model_copy(update={"oracle_sees": what})) for what in seen
        ]
    result = []
    modes = ("zero_shot", "explained", "causal") if every else (settings.judge_mode,)
    for mode in modes:
        played = settings.model_copy(update={"judge_mode": mode})
        together = tuple(range(models)) if played.confirm == "other_judge" else (0,)
        alone = played.model_copy(update={"confirm": "never"})
        first = alone if played.confirm != "never" else None
        result.append(JudgePanel(role, together, mode, played, first, task=RESPONSES * settings.whole))
        result.extend(
            JudgePanel(role, (index,), mode, alone, task=RESPONSES * settings.whole)
            for index in range(1, models)
        )
    if settings.encore:
        task = IDEAS[settings.whole]
        result.extend(JudgePanel(role, (index,), "different", settings, task=task) for index in range(models))
    return result


def deciding(role: str, settings: Settings) -> dict[str, str]:
    """Return the criteria that a score rests on, each with the name of its bounds."""
    ideas = {DIFFERENT: ""} if settings.encore and role == "judge" else {}
    return {"": BOUNDS[role], **ideas}


def deciding_judges(settings: Settings) -> tuple[int, ...]:
    """Return the indexes of the judges whose verdicts end a game."""
    return (0, 1) if settings.confirm == "other_judge" else (0,)


def probe_result(probe: Probe, state: State) -> ProbeResult:
    """Return the verdicts on a probe from the state after its node, or the reason why there is none."""
    step = "different" if probe.task in IDEAS else "check"
    opinions = [opinion for round_ in read_rounds(state["steps"]) for opinion in round_.opinions]
    checks = [opinion for opinion in opinions if opinion.step == step]
    stages = _stages(state, checks)
    # The first judge's own verdict, even if another judge replaced it.
    verdicts = (opinion.accepted for opinion in checks if opinion.judge == 0 and opinion.how == "judge")
    first = next((accepted for accepted in verdicts if accepted is not None), None)
    if state["outcome"] is not None and str(state["outcome"]).endswith("_failed"):
        return ProbeResult(first, None, str(state["why"]), stages=stages)
    if probe.step == "answer":
        reply = state["turn"].get("answer")
        accepted = {"Yes": True, "No": False}.get(reply)
        why = None if accepted is not None else "said Unclear" if reply else "neither yes nor no"
        return ProbeResult(accepted, accepted, why)
    how = [opinion.how for opinion in checks if opinion.accepted is not None][-1]
    return ProbeResult(first, bool(state["turn"]["verdict"]), None, how, stages)


def _stages(state: State, checks: Sequence[Opinion]) -> dict[str, str]:
    """Return the first judge's causal chain and the last intervened chain, by name, as far as they were written."""
    stored = state["shared"].get("chain 0")
    stages = {"chain": str(stored["text"])} if stored else {}
    for opinion in checks:
        if "intervened_chain" in opinion.texts:
            stages["intervened chain"] = opinion.texts["intervened_chain"]
    return stages


def depends(role: str, settings: Settings) -> tuple[dict[str, JSON], set[str]]:
    """Return what a role's verdicts depend on besides models and data set.

    These are values of settings, by name, and the names of prompts.
    """
    if role == "oracle":
        chosen: dict[str, JSON] = {"oracle_sees": settings.oracle_sees}
        if settings.oracle_says != "yes_no":
            chosen["oracle_says"] = settings.oracle_says
        heard = {whole.prompt("answer", settings), "lines"}
    else:
        chosen = {"judge_mode": settings.judge_mode, "verdict": settings.verdict}
        heard = {"lines", "reasons", f"check_{settings.judge_mode}"}
        if settings.judge_mode == "causal":
            chosen["chain"] = settings.chain
            checks = {"chain", "check_causal"} if settings.chain == "stored" else {"check_per_call"}
            heard = {"lines", "reasons", *checks}
        if settings.whole:
            heard = {"lines", "check_whole"} | ({"chain_whole"} if "chain" in heard else set())
        chosen["confirm"] = settings.confirm or "never"
        if settings.encore:
            heard.add(whole.prompt("different", settings))
            chosen["encore"] = True
    if settings.whole:
        chosen["answers"] = "whole responses"
    # The paper's prompts have the names of ours.
    if settings.wording == "paper":
        chosen["wording"] = "paper"
    return {"benchmark": "lotbench", **chosen}, heard


def draw(
    traces: Sequence[Trace], samples: Mapping[str, Mapping[str, Any]], settings: Settings, n: int, seed: int
) -> Draw:
    """Return guesses of a run for people to label, in random order; see `draw_verdicts`.

    Only guesses on which a judge decided are drawn.

    Args:
        traces: The games of the run.
        samples: The fields of the samples, by id.
        settings: The settings of the run.
        n: The largest number of guesses.
        seed: The seed of the draw.
    """
    games = [game(trace) for trace in traces]
    rounds = {
        (played.sample, played.repeat, round_.number): (played, round_)
        for played in games
        for round_ in played.known_rounds(settings.max_rounds)
    }
    sizes, chosen = draw_verdicts(games, settings.max_rounds, n, seed)
    places = [place for _, place in chosen]
    return Draw(
        rows=[
            _labelling(number, samples[place[0]], *rounds[place]) for number, place in enumerate(places, 1)
        ],
        strata=[name for name, _ in chosen],
        sizes={name: (size, STRATA[name]) for name, size in sizes.items()},
        places=places,
        role="judge",
        indexes=deciding_judges(settings),
    )


def draw_verdicts(
    games: Sequence[Game], last: int, n: int, seed: int
) -> tuple[dict[str, int], list[tuple[str, Place]]]:
    """Return the number of verdicts of each kind, and the kind and place of at most n drawn ones, in random order.

    A place is sample, repeat and round. Half of the drawn verdicts accept a guess: fewer if there are not so many,
    more if the other kinds have too few. The rest is taken in equal parts from the other kinds of STRATA, as far as
    these have enough. Each kind is sampled systematically in order of the round, so that every part of the game is
    represented.
    """
    rng = Random(f"{seed}:field")
    kinds = [name for name in STRATA if name != "alike" or any(played.leaps for played in games)]
    piles: dict[str, list[Place]] = {name: [] for name in kinds}
    for played in games:
        for round_ in played.known_rounds(last):
            if round_.decision in piles:
                piles[round_.decision].append((played.sample, played.repeat, round_.number))
    sizes = {name: len(pile) for name, pile in piles.items()}
    refusals = {name: size for name, size in sizes.items() if not STRATA[name]}
    stops = min(sizes["accepted"], max(n - n // 2, n - sum(refusals.values())))
    counts = {"accepted": stops, **_shares(refusals, n - stops)}
    chosen = []
    for name, pile in piles.items():
        ordered = sorted(rng.sample(pile, len(pile)), key=lambda place: place[2])
        count, start = counts.get(name, 0), rng.random()
        chosen += [(name, ordered[int((k + start) * len(pile) / count)]) for k in range(count)]
    rng.shuffle(chosen)
    return sizes, chosen


def _shares(sizes: Mapping[str, int], n: int) -> Counter[str]:
    """Return the number to draw of each kind, n in all: equal parts, and less where `sizes` has fewer."""
    counts: Counter[str] = Counter()
    while (missing := n - counts.total()) > 0:
        open_piles = [name for name, size in sizes.items() if counts[name] < size]
        if not open_piles:
            break
        for name in open_piles[:missing]:
            counts[name] += 1
    return counts


def _labelling(number: int, sample: Mapping[str, Any], played: Game, round_: Round) -> dict[str, JSON]:
    """Return the row for a person who labels a guess: the sample, the guess, and in an encore the known answers."""
    fields = ("caption", "response", "key_text", "explanation", "language")
    earlier = [leap.text for leap in played.leaps if leap.round < round_.number]
    excluded: list[JSON] = [sample["response" if round_.whole else "key_text"], *earlier]
    return {
        "row": number,
        "sample": sample["id"],
        **{name: sample[name] for name in fields},
        **({"points": sample["points"]} if round_.whole and sample.get("points") else {}),
        **({"known": excluded} if earlier else {}),
        "guess": str(round_.guess),
        "label": None,
    }
