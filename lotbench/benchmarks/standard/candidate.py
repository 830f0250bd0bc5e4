"""The candidate's part: texts that other models write first, the candidate's notes, then every draw of its answer.

The frameworks of Fig. 9 differ in a line of the prompt, a field of the reply, and the number of draws
(`prompting.frameworks`); all use the same functions.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from lotbench.benchmarks.standard import answers
from lotbench.benchmarks.standard.answers import LETTERS, Caption, Notes, Rewrite, Written
from lotbench.benchmarks.standard.oogiri.problems import Problem
from lotbench.benchmarks.standard.settings import ProblemEpisode, Settings
from lotbench.errors import EpisodeFailed, Unread
from lotbench.harness.state import EpisodeState, Runtime, Update
from lotbench.prompting.frameworks import FRAMEWORKS
from lotbench.prompting.normal_form import same
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import Form, read_form, shape
from lotbench.types import Answer


def draws(settings: Settings, problem: Problem) -> int:
    """Return the number of answers to draw: `votes` with the framework cot_sc, else 1; for a free response always 1."""
    return settings.votes if FRAMEWORKS[settings.framework].votes and problem.kind != "generate" else 1


async def respond(state: EpisodeState, runtime: Runtime[ProblemEpisode]) -> Update:
    """Ask captioner and rewriter if needed; then ask the candidate for notes (if the framework uses notes) and for answers.

    Raises:
        EpisodeFailed: A caption or a rewrite is missing, or a call brought no reply.
    """
    episode, drafts = runtime.context, dict[str, str]()
    for name in _preparations(episode):
        drafts[name] = await _prepared(episode, name)
    notes = await _notes(episode, drafts) if FRAMEWORKS[episode.settings.framework].notes else ""
    numbers = range(draws(episode.settings, episode.sample))
    given = await episode.each(partial(_response, drafts=drafts, notes=notes), numbers)
    return {"turn": {"answers": {str(draw): answer for draw, answer in zip(numbers, given, strict=True)}}}


PREPARATIONS: dict[str, tuple[str, str, type[Form]]] = {
    "caption": ("captioner", "caption", Caption),
    "other_caption": ("captioner", "caption", Caption),
    "rewrite": ("rewriter", "rewrite", Rewrite),
}
"""The texts that another model writes before the candidate is asked, by name: role, step and form."""
TASKS = {"5t2": "task_two"}
"""The line of the prompt that says what to choose, by kind of problem; for other kinds of choice `task_one`."""
WRITTEN = {"captioner": "caption", "other_captioner": "other_caption", "rewriter": "rewrite"}
"""The name in PREPARATIONS of the text that becomes an option, by the option's origin."""


def _preparations(episode: ProblemEpisode) -> list[str]:
    """Return the names of the texts in PREPARATIONS that the problem needs."""
    problem, settings, origins = episode.sample, episode.settings, {o.origin for o in episode.sample.options}
    seen = settings.arm == "caption" and settings.captions == "captioner" and problem.image is not None
    needed = {name for origin, name in WRITTEN.items() if origin in origins}
    needed |= {"caption"} if seen else set()
    return [name for name in PREPARATIONS if name in needed]


async def _prepared(episode: ProblemEpisode, name: str) -> str:
    """Ask for a caption or a rewrite and return its text; all episodes and runs share it.

    Raises:
        EpisodeFailed: No readable text came, or the rewrite is the response itself.
    """
    problem, (role, step, form) = episode.sample, PREPARATIONS[name]
    prompt, values = episode.prompt(step), dict[str, Value]()
    if name == "caption":
        values["image"], about = episode.pictures.get(problem.id), problem.group
    elif name == "other_caption":
        values["image"], about = episode.pictures.get(f"{problem.id}/other"), str(problem.other_group)
    else:
        values |= {"response": problem.options[0].text, "question": _question_line(episode)}
        if "manner" in prompt.fields:
            values["manner"] = episode.line(f"rewriting_{episode.settings.rewriting}")
        about = str(problem.options[0].row)

    def parse(answer: Answer) -> str:
        text = str(read_form(answer.reply, form).model_dump()[step])
        if step == "rewrite" and same(text) == same(problem.options[0].text or ""):
            raise Unread("unparsed", "the rewrite is the response itself")
        return text

    reading = await episode.ask(
        role,
        step,
        prompt,
        form,
        values,
        read=parse,
        value=lambda text: {step: text, "status": "ok"},
        missing=lambda error: {step: None, "status": error.kind},
        shared=True,
        about=about,
    )
    if reading.value is None:
        raise EpisodeFailed(role, f"{reading.status}: {reading.reason}")
    return reading.value


async def _notes(episode: ProblemEpisode, drafts: Mapping[str, str]) -> str:
    """Ask the candidate for notes and return them; "" if they cannot be read.

    `drafts` has the captions and rewrites that other models wrote for the problem, by name in PREPARATIONS.
    """
    options = _listed(episode, drafts) if episode.sample.options else None
    return await episode.notes(
        episode.prompt("decompose"), Notes, _scene(episode, drafts) | {"options": options}
    )


async def _response(episode: ProblemEpisode, draw: int, *, drafts: Mapping[str, str], notes: str) -> Any:
    """Ask for one answer, as the draw of this number; return the indices of the options named, or the free response.

    A reply that cannot be read is asked for once more, unless it is a refusal. Return None if no reply could be read.
    `drafts` has the captions and rewrites by name in PREPARATIONS; `notes` is empty if the candidate has none.
    """
    problem, settings, form = episode.sample, episode.settings, form_of(episode)
    framework = FRAMEWORKS[settings.framework]
    name = "write" if problem.kind == "generate" else "rank" if problem.kind == "rank" else "choose"
    temperature = settings.vote_temperature if framework.votes else None
    values = _scene(episode, drafts) | {
        "method": episode.line(framework.method),
        "rationale": episode.line("rationale", text=notes) if notes else None,
        "form": episode.line("form", shape=shape(form)),
    }
    if name != "write":
        values["options"] = _listed(episode, drafts) if problem.options else None
    if name == "choose":
        values["task"] = episode.line(TASKS.get(problem.kind, "task_one"))
    reading = await episode.ask(
        "candidate",
        "respond",
        episode.prompt(name),
        form,
        values,
        read=partial(_parse_answer, episode),
        value=lambda pair: {**pair[1], "status": "ok"},
        refusal_stands=True,
        draw=draw,
        temperature=settings.write_temperature if problem.kind == "generate" else temperature,
    )
    return reading.value and reading.value[0]


def form_of(episode: ProblemEpisode) -> type[Form]:
    """Return the schema of the reply with the answer to the episode's problem."""
    problem, framework = episode.sample, FRAMEWORKS[episode.settings.framework]
    if problem.kind == "generate":
        return framework.form(Written)
    return answers.choosing(len(problem.options), problem.answer_size, framework.reasoned)


def _parse_answer(episode: ProblemEpisode, answer: Answer) -> tuple[Any, dict[str, Any]]:
    """Return the answer in a reply (indices of options, or a free response), and the fields that the trace records.

    Raises:
        Unread: The reply does not fit the schema, names an option twice, or its response is empty.
    """
    problem, form = episode.sample, form_of(episode)
    if problem.kind == "generate":
        fields = read_form(answer.reply, form).model_dump()
        if not fields["response"].strip():
            raise Unread("unparsed", "the response is empty")
        return fields["response"].strip(), fields
    order = answers.shuffled_order(episode, problem)
    picked, filled = answers.written(answer.reply, form, order)
    return picked, {**filled, "picked": picked, "shown": order}


def _scene(episode: ProblemEpisode, drafts: Mapping[str, str]) -> dict[str, Value]:
    """Return the prompt's values for the question and the picture: the image, its caption or nothing, as `arm` says.

    A caption is the captioner's in `drafts`, or else that of the problem.
    """
    problem, settings = episode.sample, episode.settings
    picture = episode.pictures.get(problem.id) if settings.arm == "image" else None
    caption = drafts.get("caption") or problem.caption
    described = settings.arm == "caption" and problem.image is not None
    return {
        "image": picture,
        "image_label": episode.line("image") if picture else None,
        "caption": episode.line("caption", text=caption) if described and caption else None,
        "question": _question_line(episode),
    }


def _question_line(episode: ProblemEpisode) -> str | None:
    question = episode.sample.question
    return episode.line("question", text=question) if question else None


def _listed(episode: ProblemEpisode, drafts: Mapping[str, str]) -> str:
    """Return the options as text for a prompt: one line `A. text` for each, in the order shown.

    The text of an option that another model wrote is in `drafts`.
    """
    texts = [option.text or drafts[WRITTEN[option.origin]] for option in episode.sample.options]
    order = answers.shuffled_order(episode, episode.sample)
    return "\n".join(f"{LETTERS[place]}. {' '.join(texts[i].split())}" for place, i in enumerate(order))
