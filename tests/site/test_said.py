"""What was asked and said in an episode, on a page, one click from each of its steps; in every benchmark."""

import html
import json
import re
from pathlib import Path

import pytest

from lotbench.calls.journal import read_journal
from lotbench.run.loading import load_run
from lotbench.run.rescore import find_request
from lotbench.site.runs import Gallery
from tests.recorded import FOLDER, RUNS, copied, recorded

WHOLE = [name for name in RUNS if "killed" not in name]


def read(root: Path, path: str) -> str:
    return html.unescape(Gallery(root).get(path).body.decode())


@pytest.mark.parametrize("name", WHOLE)
async def test_every_call_of_an_episode_has_its_messages_and_its_reply(name: str, tmp_path: Path) -> None:
    run = load_run(copied(name, tmp_path))
    shelf = Gallery(run.path.parent).shelf(name)
    places = {(trace.sample, trace.repeat): at for at, trace in enumerate(run.traces)}
    # The last episode of a sequence: what it is asked may hang on the memory of those before it.
    trace = [one for one in run.traces if one.sequence == run.traces[0].sequence][-1]
    page = read(run.path.parent, f"said/{name}/{shelf.rows[places[trace.sample, trace.repeat]].file}")
    replies = {str(one.key): one.reply.text for one in read_journal(run.path / "calls.jsonl")}
    asked = [(at, str(step["call"])) for at, step in enumerate(trace.steps, 1) if step.get("call")]
    assert asked
    for at, key in asked:
        assert f'id="c{at}"' in page and key in page
        assert replies[key] in page
    request = await find_request(run, asked[-1][1])
    texts = [part for part in request.messages[-1].parts if isinstance(part, str)]
    assert all(line.strip() in page for text in texts for line in text.splitlines())
    assert "cannot be put together" not in page


@pytest.mark.parametrize("name", WHOLE)
def test_each_step_is_one_click_from_what_was_asked_and_said(name: str) -> None:
    shelf = Gallery(FOLDER).shelf(name)
    file, trace = shelf.rows[0].file, shelf.run.traces[0]
    page = read(FOLDER, f"game/{name}/{file}")
    linked = {int(at) for at in re.findall(rf'href="../../said/{name}/{re.escape(file)}#c(\d+)"', page)}
    assert linked == {at for at, step in enumerate(trace.steps, 1) if step.get("call")}
    assert f'href="../../game/{name}/{file}' in read(FOLDER, f"said/{name}/{file}")


def test_what_the_journal_lost_is_said_and_the_rest_is_shown(tmp_path: Path) -> None:
    place = copied(recorded("lotbench"), tmp_path)
    journal, trace = place / "calls.jsonl", load_run(place).traces[0]
    lost = [str(step["call"]) for step in trace.steps if step.get("call")][-1]
    lines = journal.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if json.loads(line)["key"]["digest"] != lost.rpartition("/")[2]]
    assert len(kept) < len(lines)
    journal.write_bytes(b"".join(kept))
    page = read(place.parent, f"said/{place.name}/{trace.sample}-{trace.repeat}.html")
    assert "not all calls of this game are in the journal" in page
    assert page.count("The journal has no line for this call.") == 1
    assert page.count('class="message reply"') == sum(bool(step.get("call")) for step in trace.steps) - 1


def test_rules_that_were_sent_before_are_not_written_out_again() -> None:
    shelf = Gallery(FOLDER).shelf(name := recorded("lotbench"))
    page = read(FOLDER, f"said/{name}/{shelf.rows[0].file}")
    rules = re.findall(r'<details class="message system">', page)
    asked = [step for step in shelf.run.traces[0].steps if step.get("call")]
    assert 0 < len(rules) < len(asked) and "The rules: as in" in page
