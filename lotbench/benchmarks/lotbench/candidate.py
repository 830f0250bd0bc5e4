"""The nodes of a round except the check: respond, ask, answer and reveal (Alg. 1; App. A-C)."""

from collections import Counter
from functools import partial
from typing import Any

from lotbench.benchmarks.lotbench import encore, responses, whole, words
from lotbench.benchmarks.lotbench.forms import ANSWERS, Asking, Guess, Notes, Word, Written
from lotbench.benchmarks.lotbench.questions import asks_letters, question
from lotbench.benchmarks.lotbench.scene import request, unclear
from lotbench.benchmarks.lotbench.settings import GameEpisode, prompt, reveals
from lotbench.harness.episode import AskResult
from lotbench.harness.state import EpisodeState, Runtime, Update
from lotbench.prompting.frameworks import FRAMEWORKS
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import Form, read_form
from lotbench.types import JSON, Answer


async def respond(state: EpisodeState, runtime: Runtime[GameEpisode]) -> Update:
    """Ask the candidate for a guess (Alg. 1 line 3).

    With `cot_sc` several guesses are drawn, and the most frequent is taken, in a tie the one drawn first. If none can
    be read, all are drawn once more, except after refusals alone. The round's guess is None if none can be read.
    """
    episode = runtime.context
    framework = FRAMEWORKS[episode.settings.framework]
    notes = await _notes(episode) if framework.notes else ""
    draws = range(episode.settings.votes if framework.votes else 1)
    readings = await episode.each(partial(_draw, notes=notes), draws)
    unread = [reading.reason for reading in readings if reading.status not in ("ok", "refused")]
    if unread and not any(reading.value for reading in readings):
        # One readable guess is enough; without any, all are drawn again, with the reason why the last was unreadable.
        readings = await episode.each(partial(_draw, notes=notes, unread=unread[-1]), draws)
    guesses = [reading.value for reading in readings if reading.value]
    if not guesses:
        return {"turn": {"guess": None, "status": readings[-1].status}}
    votes = Counter(words.same(guess["guess"]) for guess in guesses)
    chosen = max(guesses, key=lambda guess: votes[words.same(guess["guess"])])
    if len(draws) > 1:
        episode.remark("respond", {**chosen, "votes": votes[words.same(chosen["guess"])], "of": len(draws)})
    return {"turn": chosen}


async def ask(state: EpisodeState, runtime: Runtime[GameEpisode]) -> Update:
    """Ask the candidate for a yes/no question about the masked text (Alg. 1 line 7).

    An unreadable question is asked for once more, except after a refusal; then the round has no question.
    """
    episode, turn = runtime.context, state["turn"]
    # No question follows a guess that counted; only an encore goes on after such a guess.
    if not episode.settings.ask or turn.get("verdict"):
        return {"turn": {**turn, "question": None}}
    framework = FRAMEWORKS[episode.settings.framework]
    form = framework.form(Asking)
    notes = await _notes(episode, draw=1) if framework.notes else ""
    earlier = [past["question"] for past in state["history"] if past.get("question")]
    tried = [past["guess"] for past in [*state["history"], turn] if past.get("guess")]
    secrets = [*whole.secrets(episode.sample, whole=episode.settings.whole), *tried]
    reading = await episode.ask(
        "candidate",
        "ask",
        request(episode, "ask", form, notes),
        form,
        read=lambda answer: question(read_form(answer.reply, form).question, earlier),
        value=lambda text: {
            "question": text,
            "status": "ok",
            "leak": asks_letters(text) or words.leaks(text, secrets),
        },
        missing=lambda error: {"question": None, "status": error.kind, "leak": False},
        refusal_stands=True,
        round=episode.round,
    )
    return {"turn": {**turn, "question": reading.value}}


async def answer(state: EpisodeState, runtime: Runtime[GameEpisode]) -> Update:
    """Ask the oracle (E2) to answer the round's question with Yes, No or Unclear (Alg. 1 line 8).

    After an unreadable reply the oracle is not asked again: the answer is None, and the candidate sees none.
    """
    episode, turn = runtime.context, state["turn"]
    form, name = ANSWERS[episode.settings.oracle_says], whole.prompt("answer", episode.settings)
    values = _known_to_oracle(episode) | unclear(episode, name, "may_be_unclear")
    reading = await episode.ask(
        "oracle",
        "answer",
        prompt(episode, name),
        form,
        values | {"question": turn["question"]},
        read=lambda answer: read_form(answer.reply, form).answer,
        value=lambda text: {"answer": text, "status": "ok"},
        missing=lambda error: {"answer": None, "status": error.kind},
        once=True,
        round=episode.round,
    )
    return {"turn": {**turn, "answer": reading.value}}


async def reveal(state: EpisodeState, runtime: Runtime[GameEpisode]) -> Update:
    """Close the round: its guess, question and answer join the history I_t (Alg. 1 line 9).

    After every `clue_interval` failed rounds, the next clues and a part of an earned frame join it too.
    """
    episode, turn = runtime.context, state["turn"]
    sample, settings = episode.sample, episode.settings
    schedule = reveals(sample.clues, settings)
    number, off = divmod(encore.failed(state) + 1, settings.clue_interval)
    due = off == 0 and not turn.get("verdict")
    clues = schedule[number - 1] if due and 0 < number <= len(schedule) else []
    if settings.clue_reveal == "grouped" and clues:
        # An entry of the paper's clue set holds several facts (Sec. 5.3).
        clues = [("" if words.CJK.search(clues[0]) else " ").join(clues)]
    news: dict[str, JSON] = {"clues": clues}
    if due and (frame := whole.frame_at(sample, settings, number)):
        news["frame"] = frame
    if clues or "frame" in news:
        episode.remark("reveal", news)
    return {"history": [{**turn, **news}], "turn": {}, "round": episode.round + 1}


async def _draw(
    episode: GameEpisode, number: int, *, notes: str, unread: str | None = None
) -> AskResult[dict[str, Any]]:
    """Ask for draw `number` of a guess, with the candidate's notes; `unread` says why an earlier draw could not be read."""
    form, _ = _guess_form(episode)
    return await episode.ask(
        "candidate",
        "respond",
        request(episode, "respond", form, notes),
        form,
        read=partial(_guess, episode),
        value=dict,
        missing=lambda error: {"guess": None, "status": error.kind},
        once=True,
        unread=unread,
        round=episode.round,
        draw=number,
    )


def _guess(episode: GameEpisode, answer: Answer) -> dict[str, Any]:
    """Return the fields to record of a reply: the guess (or whole response), its status and its language mismatch.

    Raises:
        Unread: The reply has no valid guess or response.
    """
    settings, (form, field) = episode.settings, _guess_form(episode)
    raw = str(getattr(read_form(answer.reply, form), field))
    if settings.whole:
        text = responses.response(raw, settings.max_response_words, settings.max_response_characters)
    else:
        text = words.guess(raw, episode.sample.frame, settings.max_words, settings.max_characters)
    mismatch = words.other_language(text, episode.sample.language)
    value: dict[str, Any] = {"guess": text, "status": "ok", "language_mismatch": mismatch}
    return value | ({"whole": True} if settings.whole else {})


def _guess_form(episode: GameEpisode) -> tuple[type[Form], str]:
    """Return the schema of the reply to `respond`, and the name of its field with the guess or whole response."""
    framework, settings = FRAMEWORKS[episode.settings.framework], episode.settings
    if settings.whole:
        return framework.form(Written), "response"
    if settings.wording == "paper":
        return framework.form(Word), "WORD"
    return framework.form(Guess), "guess"


async def _notes(episode: GameEpisode, draw: int = 0) -> str:
    """Ask the candidate for notes: sub-questions with answers (framework `ddcot`); "" if they cannot be read."""
    render = request(episode, "decompose", Notes)
    return await episode.notes(render, Notes, {}, round=episode.round, draw=draw)


def _known_to_oracle(episode: GameEpisode) -> dict[str, Value]:
    """Return the prompt values that tell the oracle about the sample, as the setting `oracle_sees` says.

    Where the candidate writes whole responses, the oracle always knows the response and its key text.
    """
    sees, sample, whole_responses = episode.settings.oracle_sees, episode.sample, episode.settings.whole
    scene = "oracle_scene" if whole_responses else "oracle_caption"
    caption = episode.line(scene, text=sample.caption) if sees == "scene" else None
    if whole_responses:
        key = episode.line("key", text=sample.key_text)
        return {"caption": caption, "response": sample.response, "key": key}
    response = episode.line("oracle_response", text=sample.response) if sees != "key_text" else None
    return {"caption": caption, "response": response, "key_text": sample.key_text}
