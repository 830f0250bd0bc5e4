"""The judge (E1): is a guess a different approach with an equally satisfactory outcome (DAESO; Sec. 5.5)?

With the guess in place of the key text, the judge writes the causal chain again (in causal mode). Then it decides on
two criteria: the same creative point (Eq. 6) and the same function (Eq. 7). A DAESO meets both. The judge sees one
guess, and of the sample what `judge_mode` says; it sees no picture, model name, round or history.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from lotbench.benchmarks.lotbench import whole, words
from lotbench.benchmarks.lotbench.forms import Causal, Explained, Summary, VerdictFirst
from lotbench.benchmarks.lotbench.sample import Fixed
from lotbench.benchmarks.lotbench.settings import GameEpisode, Settings, prompt
from lotbench.harness.episode import AskResult
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import Form, verdict
from lotbench.types import JSON, Verdict


def labelled(episode: GameEpisode, text: str) -> str:
    """Return a stored chain as the judge's prompt shows it: each part under its name, in the language of the sample.

    A text that has another format than `Chain.text` is returned unchanged.
    """
    # This is the format of `Chain.text`.
    scene, _, rest = text.partition("\n")
    caption, _, rest = rest.partition("\n= ")
    point, arrow, function = rest.partition("\n=> ")
    if not arrow:
        return text
    return episode.line("told_chain", scene=scene, caption=caption, point=point, function=function)


def fixed(episode: GameEpisode, name: str, target: int, line: str) -> dict[str, Value]:
    """Return the prompt value `point`, the author's creative point of a target; empty if the prompt has no such field.

    The value is None if the target has no point, or if the judge mode is not causal.

    Args:
        episode: The episode.
        name: The name of the prompt.
        target: The index of the target response.
        line: The name of the prompt line that puts the point into words.
    """
    if "point" not in prompt(episode, name).fields:
        return {}
    point = whole.targets(episode.sample)[target].point
    causal = episode.settings.judge_mode == "causal"
    return {"point": episode.line(line, **point.model_dump()) if point and causal else None}


def contains(chain: str, point: Fixed | None) -> bool:
    """Return whether a chain has every word of the author's creative point in its creative point and function.

    The words of each line of `point` are looked for, in Chinese its characters. True if `point` is None.
    """
    letters = _letters(chain.partition("\n= ")[2])
    return point is None or all(_letters(line) <= letters for line in point.model_dump().values())


def _letters(text: str) -> set[str]:
    """Return the set of a text's words in normal form; of a text with Chinese, the set of its characters."""
    text = words.same(text)
    return set(text if words.CJK.search(text) else text.split())


async def opinion(
    episode: GameEpisode, step: str, guess: str, *, index: int, chain: str | None, target: int, once: bool
) -> AskResult[Verdict]:
    """Ask a judge whether a guess is a DAESO of a target response, for a first opinion (`check`) or a second one (`confirm`).

    Args:
        episode: The episode.
        step: `check` or `confirm`.
        guess: A text in place of the key text, or a whole response where no frame is shown.
        index: The index of the judge.
        chain: The causal chain that this judge built; None in modes without a stored chain.
        target: The index of the target response that the guess is compared with. See `whole.targets`.
        once: Whether not to ask again after an unreadable reply.
    """
    near = None if episode.settings.whole else words.overlap(guess, episode.sample.key_text)
    extra: dict[str, JSON] = {"overlap": near} if near else {}
    return await _ask_verdict(
        episode,
        step,
        guess,
        chain,
        target,
        value=lambda decision: {**verdict_value(decision, index, target_fields(episode, target)), **extra},
        missing=lambda error: {"status": error.kind, "judge": index},
        once=once,
        round=episode.round,
        index=index,
        # Two judges may be the same model; without the draw their calls would have the same key.
        draw=index,
    )


async def trial(
    episode: GameEpisode, guess: str, *, index: int, chain: str, target: int, number: int, expected: bool
) -> bool | None:
    """Ask a judge with a new chain about a guess whose right verdict is known; None if the reply cannot be read.

    Args:
        episode: The episode.
        guess: The guess.
        index: The index of the judge.
        chain: The text of the chain.
        target: The index of the target response.
        number: The number of the trial among those of a chain and its rebuilds.
        expected: The right verdict.
    """
    reading = await _ask_verdict(
        episode,
        "chain_check",
        guess,
        chain,
        target,
        value=lambda decision: {"accepted": decision.accepted, "expected": expected, "judge": index},
        missing=lambda error: {"accepted": None, "expected": expected, "judge": index},
        once=True,
        index=index,
        draw=number,
        shared=True,
    )
    return None if reading.value is None else reading.value.accepted


def daeso(form: Any) -> bool:
    """Return whether a judge's reply grants both criteria; the paper's schema (`Summary`) has one field for both."""
    if isinstance(form, Summary):
        return form.SUMMARY == "Yes"
    return bool(form.same_creative_point and form.same_function)


def verdict_value(decision: Verdict, index: int, place: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the fields to record of a verdict by the judge with this index; `place` has the fields of `target_fields`."""
    how: dict[str, JSON] = {"accepted": decision.accepted, "how": "judge", "judge": index, "status": "ok"}
    return {**how, **place, **decision.parts}


def target_count(episode: GameEpisode) -> int:
    """Return the number of target responses: all of `whole.targets` where no frame is shown, else 1."""
    return len(whole.targets(episode.sample)) if episode.settings.whole else 1


def target_fields(episode: GameEpisode, target: int) -> dict[str, Any]:
    """Return the step fields `target` (its index) and `of` (the number of targets); empty if there is only one."""
    return {"target": target, "of": target_count(episode)} if target_count(episode) > 1 else {}


def quotable(text: str) -> str:
    """Return a text with single instead of double quotes, so that it cannot end the quotation around it."""
    return text.replace('"', "'").replace("“", "‘").replace("”", "’")


async def _ask_verdict(
    episode: GameEpisode, step: str, guess: str, chain: str | None, target: int, **how: Any
) -> AskResult[Verdict]:
    """Ask a judge for a verdict on a guess; `how` are further arguments of `Episode.ask`."""
    settings, sample, goal = episode.settings, episode.sample, whole.targets(episode.sample)[target]
    name, form = _prompt_and_form(episode.settings)
    values: dict[str, Value] = {"caption": sample.caption, "response": goal.response}
    if settings.whole:
        values["guess"] = quotable(guess)
        values["key"] = episode.line("key", text=goal.key_text) if goal.key_text else None
    else:
        values["guess"] = guess.replace('"', "'")
        values["key_text"] = sample.key_text
    if name != "check_zero_shot":
        explained = settings.judge_mode != "zero_shot"
        values["explanation"] = episode.line("explanation", text=goal.explanation) if explained else None
    if name == "check_causal" or settings.whole:
        values["chain"] = episode.line("chain", text=labelled(episode, chain)) if chain else None
    values |= fixed(episode, name, target, "point")
    read = partial(verdict, form=form, decide=daeso)
    return await episode.ask("judge", step, prompt(episode, name), form, values, read=read, **how)


def _prompt_and_form(settings: Settings) -> tuple[str, type[Form]]:
    """Return the name of the prompt that asks for a verdict, and the schema of the reply."""
    per_call = settings.judge_mode == "causal" and settings.chain == "per_call"
    name = "per_call" if per_call else settings.judge_mode
    if per_call and settings.wording == "paper":
        form: type[Form] = Summary
    elif settings.verdict == "first":
        form = VerdictFirst
    else:
        form = Causal if settings.judge_mode == "causal" else Explained
    return "check_whole" if settings.whole else f"check_{name}", form
