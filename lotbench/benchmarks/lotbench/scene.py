"""The candidate's prompts: the scene, the way to think, and the history of the game (App. A-C).

They are made only from the picture, the caption, the frame and the history, so the candidate cannot learn anything
else of the sample. With `conversation=fresh`, each request tells all that is known. With `growing`, the game is one
conversation: the rules and the scene, then each attempt, question, answer and clue as a turn.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lotbench.benchmarks.lotbench import whole, words
from lotbench.benchmarks.lotbench.forms import Asking, Guess, Written
from lotbench.benchmarks.lotbench.settings import GameEpisode, prompt
from lotbench.harness.episode import Render
from lotbench.prompting.frameworks import FRAMEWORKS
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import Form, shape
from lotbench.types import Message


def request(episode: GameEpisode, step: str, form: type[Form], notes: str = "") -> Render:
    """Return the function that renders the messages of a request; its argument is the reason to ask again, or None.

    Args:
        episode: The episode.
        step: respond, ask or decompose.
        form: The schema of the reply.
        notes: The candidate's notes for this step; "" if the framework has none or they could not be read.
    """
    rationale = episode.line("rationale", text=notes) if notes else None

    def fresh(again: str | None) -> Sequence[Message]:
        # The static part comes first and the history last, so that prefixes can be cached.
        name = whole.prompt(step, episode.settings)
        values: dict[str, Value] = {**_scene(episode), **_tips_of(episode), "shape": shape(form)}
        if step != "decompose":
            values |= {"method": _method(episode), "rationale": rationale, "again": again}
        if step == "respond":
            values |= _limits(episode)
        return prompt(episode, name).messages(**values, **unclear(episode, name, "told_unclear"))

    def growing(again: str | None) -> Sequence[Message]:
        messages = _grown(episode, step, form)
        for text in (rationale, again):
            if text:
                _say(messages, text)
        return messages

    return growing if episode.settings.conversation == "growing" else fresh


def unclear(episode: GameEpisode, name: str, line: str) -> dict[str, Value]:
    """Return the prompt value `unclear` about the answer Unclear; empty if the prompt has no such field.

    The value is None if the oracle may say only Yes or No.

    Args:
        episode: The episode.
        name: The name of the prompt.
        line: The name of the prompt line that explains Unclear.
    """
    if "unclear" not in prompt(episode, name).fields:
        return {}
    return {"unclear": episode.line(line) if episode.settings.oracle_says != "yes_no" else None}


def _method(episode: GameEpisode) -> str:
    return episode.line(FRAMEWORKS[episode.settings.framework].method)


def _limits(episode: GameEpisode) -> dict[str, Value]:
    """Return the prompt values of the largest length of a guess or, where no frame is shown, of a whole response."""
    limits = episode.settings
    most = (limits.max_words, limits.max_characters)
    if limits.whole:
        most = (limits.max_response_words, limits.max_response_characters)
    return {"max_words": str(most[0]), "max_characters": str(most[1])}


def _scene(episode: GameEpisode) -> dict[str, Value]:
    """Return the prompt values of the sample: picture and caption as `arm` says, and the frame if it is shown."""
    arm, sample = episode.settings.arm, episode.sample
    picture = episode.pictures.get(sample.id) if "image" in arm else None
    scene: dict[str, Value] = {
        "image": picture,
        "image_label": episode.line("image") if picture else None,
        "caption": episode.line("caption", text=sample.caption) if "caption" in arm else None,
    }
    if episode.settings.whole:
        return scene
    papers = episode.settings.wording == "paper"
    return {**scene, "frame": sample.frame.replace(words.MASK, "<WORD>") if papers else sample.frame}


def _tips_of(episode: GameEpisode) -> dict[str, Value]:
    tips = _blocks if episode.settings.wording == "paper" else _tips
    return {"tips": "\n".join(tips(episode)) if episode.settings.feedback else None}


def _blocks(episode: GameEpisode) -> list[str]:
    """Return the history as lines in the paper's three blocks (App. A, B): wrong guesses, clues, answered questions."""
    past = [*episode.state["history"], episode.state["turn"]]
    blocks: dict[str, list[dict[str, str]]] = {
        "wrong": [{"text": entry["guess"]} for entry in past if entry.get("guess")],
        "clue": [{"text": clue} for entry in past for clue in entry.get("clues", ())],
        "asked": [
            {"question": entry["question"], "answer": entry["answer"]}
            for entry in past
            if entry.get("question") and entry.get("answer")
        ],
    }
    lines, texts = prompt(episode, "tips"), list[str]()
    for name, items in blocks.items():
        texts += [lines.line(name)] if items else []
        texts += [lines.line(f"{name}_item", number=str(at), **item) for at, item in enumerate(items, 1)]
    return texts


def _tips(episode: GameEpisode) -> list[str]:
    """Return the history as lines, the oldest first: each guess, question with its answer, clue and part of the frame."""
    lines: list[str] = []
    for past in [*episode.state["history"], episode.state["turn"]]:
        if past.get("guess"):
            lines.append(episode.line("found" if past.get("verdict") else "wrong", text=past["guess"]))
        if past.get("question") and past.get("answer"):
            lines.append(episode.line("question", text=past["question"]))
            lines.append(episode.line("answer", text=episode.line(past["answer"].lower())))
        lines.extend(episode.line("clue", text=clue) for clue in past.get("clues", ()))
        if past.get("frame"):
            lines.append(episode.line("frame", text=past["frame"]))
    return lines


def _grown(episode: GameEpisode, step: str, form: type[Form]) -> list[Message]:
    """Return the conversation of a game so far, up to the host's turn that asks for `step`."""
    framework = FRAMEWORKS[episode.settings.framework]
    responding: type[Form] = Written if episode.settings.whole else Guess
    shapes: dict[str, type[Form]] = {
        "respond": framework.form(responding),
        "ask": framework.form(Asking),
        step: form,
    }
    talk = whole.prompt("talk", episode.settings)
    opening: dict[str, Value] = {**_scene(episode), **_limits(episode), "method": _method(episode)}
    opening |= unclear(episode, talk, "told_unclear")
    messages = list(episode.prompt(talk).messages(**opening))
    for past in episode.state["history"]:
        _say(messages, _request_line(episode, "respond", shapes))
        _show_attempt(episode, messages, past, shapes)
        if "question" in past and episode.settings.ask and not past.get("verdict"):
            _say(messages, _request_line(episode, "ask", shapes))
            _show_question(episode, messages, past)
        _show_clues(episode, messages, past)
    if step == "ask" or episode.state["turn"]:
        _say(messages, _request_line(episode, "respond", shapes))
        _show_attempt(episode, messages, episode.state["turn"], shapes)
    _say(messages, _request_line(episode, step, shapes))
    return messages


def _show_attempt(
    episode: GameEpisode, messages: list[Message], past: Mapping[str, Any], shapes: Mapping[str, type[Form]]
) -> None:
    """Add the guess of a round, `past`, and its verdict to the messages; add nothing if there is no readable guess.

    `shapes` has the schemas of the replies, by step.
    """
    if past.get("guess"):
        field = [*shapes["respond"].model_fields][-1]
        messages.append(Message("assistant", (_object(field, past["guess"]),)))
        _say(messages, episode.line("found" if past.get("verdict") else "wrong", text=past["guess"]))


def _show_question(episode: GameEpisode, messages: list[Message], past: Mapping[str, Any]) -> None:
    """Add the question of a round, `past`, and the oracle's answer to the messages, as far as they could be read."""
    if past.get("question"):
        messages.append(Message("assistant", (_object("question", past["question"]),)))
        if past.get("answer"):
            _say(messages, episode.line("answer", text=episode.line(past["answer"].lower())))


def _show_clues(episode: GameEpisode, messages: list[Message], past: Mapping[str, Any]) -> None:
    for clue in past.get("clues", ()):
        _say(messages, episode.line("clue", text=clue))
    if past.get("frame"):
        _say(messages, episode.line("frame", text=past["frame"]))


def _say(messages: list[Message], text: str) -> None:
    """Add a text to the host's (user's) last message, or as a new message after one of the candidate.

    So no two messages of one speaker follow each other.
    """
    if messages[-1].speaker == "user":
        *before, last = messages[-1].parts
        joined = (*before, f"{last}\n{text}") if isinstance(last, str) else (*before, last, text)
        messages[-1] = Message("user", joined)
    else:
        messages.append(Message("user", (text,)))


def _request_line(episode: GameEpisode, step: str, shapes: Mapping[str, type[Form]]) -> str:
    name = "turn_respond_whole" if step == "respond" and episode.settings.whole else f"turn_{step}"
    return episode.line(name, shape=shape(shapes[step]))


def _object(field: str, text: str) -> str:
    return json.dumps({field: text}, ensure_ascii=False)
