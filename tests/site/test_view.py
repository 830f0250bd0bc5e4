"""The pages of runs and of people over HTTP on the loopback: what is shown, to whom, and what is kept."""

import asyncio
import gc
import html
import json
import os
import re
import resource
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from urllib.parse import unquote

import pytest
from aiohttp.test_utils import TestClient, TestServer

from lotbench.cli import main, people
from lotbench.config import experiment as config
from lotbench.errors import DataError, UsageError
from lotbench.run.evaluate import begin
from lotbench.run.loading import Run, load_run, readings
from lotbench.site import play as play_site
from lotbench.site import serve
from lotbench.site.people_runs import person, play_next
from lotbench.site.play import PlaySite
from lotbench.site.runs import Gallery, export
from lotbench.site.vote import Polls
from lotbench.types import RUN_SCHEMA, Reply, Request
from tests import hostile
from tests.full_disk import full_disk
from tests.playing import SETTINGS, play
from tests.recorded import FOLDER, recorded
from tests.rules import game_rule
from tests.server import FakeServer
from tests.views import retold

TOKEN = "token-for-tests"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("view") / "runs"
    shown = {"samples": ["lot-0001", "lot-0002", "lot-0003"], "settings": {"arm": "image+caption"}}
    with FakeServer(game_rule(solve=0.0)) as server:
        for name in ("ember", "quill"):
            asyncio.run(play(server, root, candidate=f"{name}@{server.url}", **shown))
    return root


@asynccontextmanager
async def client(pages: serve.Pages, host: str = serve.HOST) -> AsyncIterator[TestClient[Any, Any]]:
    """A browser of these pages; when it is shut, a play site ends its games."""
    async with TestClient(TestServer(serve.application(pages, TOKEN, host))) as made:
        yield made
        if isinstance(pages, PlaySite):
            await pages.close()


async def text(browser: TestClient[Any, Any], path: str, status: int = 200, **more: Any) -> str:
    async with browser.get(f"/{TOKEN}/{path}", **more) as got:
        assert got.status == status, path
        return await got.text()


async def sent(browser: TestClient[Any, Any], path: str, table: Mapping[str, Any], status: int = 200) -> Any:
    async with browser.post(f"/{TOKEN}/{path}", json=table) as got:
        assert got.status == status, await got.text()
        return await got.json() if status != 404 else None


def named(root: Path, name: str) -> str:
    [place] = root.glob(f"*-{name}-*")
    return place.name


# Looking through runs


def test_more_runs_are_shown_than_a_process_may_have_files_open_when_it_begins(tmp_path: Path) -> None:
    for number in range(14):
        shutil.copytree(FOLDER / recorded("hicbench"), tmp_path / "runs" / f"run-{number:02}")
    out = tmp_path / "pages"
    os.close(free := os.dup(0))
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + 11, limit[1]))
    try:
        assert main(["view", str(tmp_path / "runs"), "--export", str(out)]) == 0
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    index = (out / "index.html").read_text("utf-8")
    assert all(f"run-{number:02}" in index for number in range(14)) and "Too many open files" not in index


async def test_from_the_runs_to_a_game_and_its_picture(played: Path) -> None:
    ember = named(played, "ember")
    async with client(Gallery(played)) as browser:
        index = await text(browser, "")
        assert ">not trusted<" in index and "the judge was never checked" in index
        run = await text(browser, f"run/{ember}.html")
        game = re.findall(r'href="\.\./(game/[^"]+)"', run)[0]
        page = await text(browser, game)
        assert page.count('class="leap"') == 3
        assert page.index("The original") < page.index('class="rest"') and "language mismatch" not in page
        assert "lotbench judge-check --judge" in run
        picture = re.findall(r'src="\.\./\.\./(picture/[0-9a-f]{64}\.png)"', page)[0]
        async with browser.get(f"/{TOKEN}/{picture}") as got:
            assert got.content_type == "image/png"
            assert "immutable" in got.headers["Cache-Control"]
            assert (await got.read()).startswith(b"\x89PNG")
        report = await text(browser, f"report/{ember}.html")
        [picture] = re.findall(r'<img src="data:image/[a-z]+;base64,([^"]+)" alt="">', report)
        assert len(picture) < 60_000 and "with the last guess" in report and "img-src data:" in report
        assert f'<a href="../{game}">sample' in report


async def test_a_page_may_run_its_own_script_and_nothing_else(played: Path) -> None:
    async with client(Gallery(played)) as browser, browser.get(f"/{TOKEN}/") as got:
        policy, page = got.headers["Content-Security-Policy"], await got.text()
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy and "http" not in policy
    assert page.count("<script>") == page.count("</script>") == 1
    assert not re.search(r"<[^>]+\s(on\w+|style)=", page)


@pytest.mark.parametrize(
    "path",
    [
        "run/../../run.json", "run/%2e%2e%2fruns.html", "game/../x.html", "run/.html", "run/none.html", "traces.jsonl",
        "picture/" + "0" * 64 + ".png", "picture/../../etc/passwd", "game/NAME/none.html", "sample/x/y.html", "annotate",
        "run/%00.html", "run/" + "n" * 300 + ".html", "compare/%00/x.html", "report/%00.html",
    ],
)  # fmt: skip
async def test_no_path_leads_to_the_disk(played: Path, path: str) -> None:
    async with client(Gallery(played)) as browser:
        await text(browser, path.replace("NAME", named(played, "ember")), 404)


async def test_a_run_that_leads_out_of_the_folder_is_not_shown(played: Path, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "linked").symlink_to(played / named(played, "ember"))
    gallery = Gallery(tmp_path / "inside")
    assert gallery.names() == [] and "no runs here yet" in gallery.get("index.html").body.decode()


async def test_a_picture_outside_the_data_is_not_shown(played: Path) -> None:
    gallery = Gallery(played)
    shelf = gallery.shelf(named(played, "ember"))
    # The run has recorded a picture of each of the three samples, and of no other.
    for image in ("../../../etc/passwd", "x.png", "samples.jsonl", "images/lot-0002.png", "x" * 300, "a\0b"):
        told = replace(shelf, samples={name: {"image": image} for name in ("lot-0001", "lot-0009")})
        assert not gallery.picture(told, "lot-0001") and not gallery.picture(told, "lot-0009"), image
    assert gallery.picture(shelf, "lot-0001")
    for data in ("x" * 300, "a\0b"):
        config = shelf.run.config.model_copy(update={"data": data})
        assert replace(shelf, run=replace(shelf.run, config=config)).data is None


def test_a_run_with_settings_that_its_benchmark_refuses_is_unreadable(played: Path, tmp_path: Path) -> None:
    name = named(played, "ember")
    shutil.copytree(played / name, tmp_path / name)
    file = tmp_path / name / "run.json"
    table = json.loads(file.read_text(encoding="utf-8"))
    table["experiment"]["settings"]["max_rounds"] = 300_000_000
    file.write_text(json.dumps(table), encoding="utf-8")
    shelves, unreadable = Gallery(tmp_path).readable_runs()
    assert not shelves
    assert "max_rounds" in unreadable[name]


async def test_only_this_machine_by_its_own_name_and_with_the_token(played: Path) -> None:
    async with client(Gallery(played)) as browser:
        await text(browser, "", 403, headers={"Host": "evil.example"})
        await text(browser, "", 403, headers={"Host": "192.0.2.7"})
        async with browser.get("/wrong/") as got:
            assert got.status == 404
        page = await text(browser, "run/none.html", 404)
        assert "There is no such page" in page and 'href="../"' in page
    async with client(Gallery(played), host="0.0.0.0") as browser:
        await text(browser, "", 200, headers={"Host": "192.0.2.7"})
        await text(browser, "", 403, headers={"Host": "evil.example"})


async def test_hostile_words_stay_words(tmp_path: Path) -> None:
    with FakeServer(game_rule(solve=0.0)) as server:
        await play(server, tmp_path, limit=1)
    retold(tmp_path, "candidate", (*hostile.HOSTILE, hostile.LONG))
    gallery = Gallery(tmp_path)
    for path in gallery.addresses():
        if path.endswith(".html"):
            page = gallery.get(path).body.decode()
            scripts = 0 if path.startswith("report/") else 1
            assert page.count("<script>") == page.count("</script>") == scripts, path
            assert "<img src=x" not in page and "<svg onload" not in page and "\u202e" not in page, path
            assert len(page) < 300_000, path


def test_a_sentence_says_in_which_language_it_is_to_be_read() -> None:
    page = Gallery(FOLDER).get(f"game/{recorded('lotbench')}/lot-0070-1.html").body.decode()
    assert '<p class="frame" lang="zh" dir="auto">' in page


async def test_a_run_that_others_wrote_leads_nowhere(played: Path, tmp_path: Path) -> None:
    """Names that would be paths, and names that an address must spell out."""
    root = tmp_path / "runs"
    for name in ("my run #1 50%?", "bad"):
        shutil.copytree(played / named(played, "ember"), root / name)
    file = root / "bad" / "traces.jsonl"
    # Lines of before there were checksums lack them; whoever means it would write them anew.
    lines = re.sub(r',"crc":"[0-9a-f]{8}"', "", file.read_text("utf-8"))
    file.write_text(lines.replace('"sample":"lot-0001"', '"sample":"../../../../x"'), "utf-8")
    (root / "worse").mkdir()
    (root / "worse" / "run.json").write_text(f'{{"schema": {RUN_SCHEMA}, "experiment": {{}}}}', "utf-8")
    count, _, faults = export(Gallery(root), tmp_path / "out")
    written = [one for one in (tmp_path / "out").rglob("*") if one.is_file()]
    assert count == len(written) == 1 + 1 + 4 + 3 + 3 + 3 + 3 + 1
    assert not faults and not list(tmp_path.glob("x*"))
    async with client(Gallery(root)) as browser:
        index = await text(browser, "")
        assert "no part of an address" in index and "run.json: digests: Field required" in index
        run = re.findall(r'href="(run/[^"]+)"', index)[0]
        assert "lot-0002" in await text(browser, run)


def test_a_failed_guess_is_shown_with_the_words_of_its_reply(played: Path, tmp_path: Path) -> None:
    file = shutil.copytree(played / named(played, "ember"), tmp_path / "failed") / "traces.jsonl"
    lines = re.sub(r',"crc":"[0-9a-f]{8}"', "", file.read_text("utf-8"))
    file.write_text(
        re.sub('"guess":"[^"]*","status":"ok"', '"guess":null,"status":"not_a_phrase"', lines), "utf-8"
    )
    page = Gallery(tmp_path).get("game/failed/lot-0001-1.html").body.decode()
    assert re.search(r"it was no short phrase.*?it said</span> \w+", page, re.S) and "<s>" in page


def test_an_unsolved_game_says_how_it_went_and_what_came_twice(played: Path, tmp_path: Path) -> None:
    file = shutil.copytree(played / named(played, "ember"), tmp_path / "twice") / "traces.jsonl"
    game = json.loads(file.read_text("utf-8").splitlines()[0])
    first, second = [step["value"] for step in game["steps"] if step["step"] == "ask"][:2]
    first["question"] = second["question"].upper()
    second.update(question=None, status="not_a_question")
    del game["crc"]
    file.write_text(json.dumps(game) + "\n", "utf-8")
    page = Gallery(tmp_path).get(f"game/twice/{game['sample']}-1.html").body.decode()
    assert "nothing new: it repeats the question of round 1<" in page and "Judge 1" not in page
    assert re.search(r"How it went: \d+ of \d+ judged guesses missed .*, 1 question did not count", page)
    assert '<div class="ended"><p><span class="ending">Not solved in 3 rounds</span>' in page


def test_pages_of_a_trace_of_another_shape_say_so(tmp_path: Path) -> None:
    for name, field, benchmark in (("game", "guess", "lotbench"), ("task", "novelty", "rinobench")):
        file = shutil.copytree(FOLDER / recorded(benchmark), tmp_path / "runs" / name) / "traces.jsonl"
        lines = re.sub(r',"crc":"[0-9a-f]{8}"', "", file.read_text("utf-8"))
        file.write_text(re.sub(rf'"{field}":("[^"]*"|{{[^}}]*}})', f'"{field}":["a"]', lines), "utf-8")
    *_, faults = export(Gallery(tmp_path / "runs"), tmp_path / "out")
    said = "a trace has another shape than its benchmark writes"
    assert said in (tmp_path / "out" / "index.html").read_text("utf-8")
    assert faults and all(fault.startswith("game/task/") and said in fault for fault in faults)


def test_an_export_has_every_page_and_no_way_to_write(played: Path, tmp_path: Path) -> None:
    count, size, faults = export(Gallery(played), tmp_path / "out")
    files = [file for file in (tmp_path / "out").rglob("*") if file.is_file()]
    # The home page; of each run its page, its games, what was said in them, its report, its rows and steps in two forms; of each sample two pictures.
    assert len(files) == count == 1 + 2 * (1 + 3 + 3 + 1 + 4) + 3 + 3
    assert sum(file.stat().st_size for file in files) == size and not faults
    for file in files:
        if file.suffix == ".html":
            page = file.read_text("utf-8")
            assert "data-post" not in page.split("<script>")[0]
            for link in re.findall(r'(?:href|src)="((?!data:|#)[^"]+)"', page):
                place = unquote(link.partition("#")[0])
                assert (file.parent / place).resolve().is_file(), (file, link)
    with pytest.raises(UsageError, match="not empty"):
        export(Gallery(played), tmp_path / "out")


def test_a_run_is_looked_at_by_its_own_name_and_who_has_none_is_told_how_to_make_one(
    played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = sorted(played.glob("*/run.json"))[0].parent
    opened: list[str] = []
    monkeypatch.setattr(people.webbrowser, "open", opened.append)

    async def serve_once(pages: serve.Pages, port: int, ready: Callable[[str], None], host: str) -> None:
        ready(f"http://{host}:1/token/")
        assert pages.get(opened[-1].partition("token/")[2]).body

    monkeypatch.setattr(serve, "serve", serve_once)
    assert main(["view", str(run), "--host", "0.0.0.0"]) == 0
    assert opened == [f"http://0.0.0.0:1/token/run/{run.name}.html"]
    assert "from other machines" in capsys.readouterr().out
    assert main(["view", str(played)]) == 0 and opened[-1].endswith("token/")
    assert main(["view", str(run), "--export", str(tmp_path / "pages")]) == 2
    monkeypatch.chdir(tmp_path)
    assert main(["view"]) == 2
    assert "runs: no runs yet; make one: lotbench watch" in capsys.readouterr().err


# Play


def game(server: FakeServer, **more: Any) -> config.Config:
    flags = {
        "model": "human",
        "roles.judge": [f"judge@{server.url}"],
        "roles.oracle": [f"oracle@{server.url}"],
    }
    sets = [f"{name}={value}" for name, value in SETTINGS.items()]
    return config.load(
        None, sets, {**flags, "data": "lotbench_easy", "samples": ["lot-0001", "lot-0002"], **more}
    )


async def until(browser: TestClient[Any, Any], player: str, wanted: str) -> str:
    for _ in range(4000):
        page = await text(browser, f"{player}/index.html")
        if wanted in page:
            return page
        await asyncio.sleep(0.02)
    raise AssertionError(page.split("<main")[1].split("<script>")[0])


async def given(browser: TestClient[Any, Any], player: str, **fields: str) -> Any:
    page = await until(browser, player, f'name="{next(iter(fields))}"')
    version = re.findall(r'name="version" value="(\d+)"', page)[0]
    return await sent(browser, f"{player}/answer", {**fields, "version": version})


async def test_a_person_plays_pauses_and_goes_on(tmp_path: Path) -> None:
    with FakeServer(game_rule(solve=0.0)) as server:
        asked = game(server)
        table = PlaySite(asked, tmp_path)
        async with client(table) as browser:
            assert "may be published" in await text(browser, "")
            assert "agreement" in (await sent(browser, "join", {"name": "Ann"}, 400))["error"]
            long = {"name": f"Ann{' ' * 400}", "agree": ["yes"]}
            assert "400" in (await sent(browser, "join", long, 400))["error"]
            assert "letters" in (await sent(browser, "join", {"name": "<b>", "agree": ["yes"]}, 400))["error"]
            player = await joined(browser, " Ann ")
            assert await joined(browser, "ANN") == player
            refused = await sent(browser, "join", {"name": "ann", "agree": ["yes"], "key": "a guess"}, 400)
            assert "ann has begun in another browser" in refused["error"]
            page = await until(browser, player, 'name="guess"')
            secret = table._plan.chosen[0]
            for hidden in (secret.key_text, secret.explanation, *secret.clues):
                assert hidden not in page
            await text(browser, f"{player}/game/{secret.id}.html", 404)
            await text(browser, f"game/{secret.id}.html", 404)
            await given(browser, player, guess="a wooden spoon")
            stale = await sent(browser, f"{player}/answer", {"version": "1", "guess": "x"}, 400)
            assert "answered already" in stale["error"]
            assert "not it" in await until(browser, player, 'name="question"')
        [run] = runs(tmp_path)
        assert run.config.model == "human:Ann" and not run.traces
        table = PlaySite(asked, tmp_path)
        async with client(table) as browser:
            player = await joined(browser, "ann")
            await given(browser, player, question="Is it made of wood?")
            for number in (2, 3):
                await given(browser, player, guess=f"thing {number}")
                if number == 2:
                    await given(browser, player, question="Is it alive?")
            page = await until(browser, player, "Not solved in 3 rounds")
            assert secret.key_text in page and html.escape(secret.explanation) in page
            assert secret.key_text in await text(browser, f"{player}/game/{secret.id}.html")
            await sent(browser, f"{player}/next", {})
            await given(browser, player, guess=table._plan.chosen[1].key_text)
            await until(browser, player, "Solved in round 1 of 3")
            await sent(browser, f"{player}/next", {})
            await until(browser, player, "That was the last game")
            await joined(browser, "Ann")
            await until(browser, player, "has played every sample")
    [run] = runs(tmp_path)
    assert {trace.sample: trace.outcome for trace in run.traces} == {
        "lot-0001": "unsolved",
        "lot-0002": "solved",
    }
    assert json.loads((run.path / "consent.json").read_text("utf-8"))["name"] == "Ann"


async def joined(browser: TestClient[Any, Any], name: str) -> str:
    """The address of a person's page; the browser keeps its key, as the page's script does."""
    keys, place = vars(browser).setdefault("keys", {}), name.strip().lower()
    told = await sent(browser, "join", {"name": name, "agree": ["yes"], "key": keys.get(place, "")})
    keys[place] = str(told["go"]).split("/")[1]
    return str(told["go"]).removesuffix("/index.html")


async def test_no_more_people_play_than_have_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play_site, "MOST_PLAYING", 2)
    now = [0.0]
    with FakeServer(game_rule(solve=0.0)) as server:
        table = PlaySite(game(server), tmp_path, lambda: now[0])
        async with client(table) as browser:
            ann, _ = [await joined(browser, name) for name in ("Ann", "Bob")]
            await given(browser, ann, guess="a wooden spoon")
            await until(browser, ann, 'name="question"')
            refused = await sent(browser, "join", {"name": "Cleo", "agree": ["yes"]}, 400)
            assert refused["error"] == "all 2 places are taken: come again in some minutes"
            assert await joined(browser, "ann") == ann, "who plays already needs no place"
            now[0] = play_site.GIVE_WAY_S + 1
            await text(browser, f"{ann}/state.json")
            cleo = await joined(browser, "Cleo")
            await until(browser, cleo, 'name="guess"')
            [bob] = [player for player in table._players.values() if player.name == "Bob"]
            assert play_site.GONE in await until(browser, f"player/{bob.key}", "The game has stopped")
            await until(browser, ann, 'name="question"')
            now[0] *= 2
            await text(browser, f"{ann}/state.json")
            assert await joined(browser, "Bob") == f"player/{bob.key}", "Cleo was not seen for longest"
            await until(browser, f"player/{bob.key}", 'name="guess"')
    assert len(runs(tmp_path)) == 3, "Bob went on with his run"


async def test_a_game_that_nobody_looks_at_is_let_go_and_gone_on_with_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play_site, "LOOK_S", 0.01)
    monkeypatch.setattr(play_site, "MOST_NAMES", 1)
    now = [0.0]
    with FakeServer(game_rule(solve=0.0)) as server:
        table = PlaySite(game(server), tmp_path, lambda: now[0])
        async with client(table) as browser:
            player = await joined(browser, "Ann")
            await given(browser, player, guess="a wooden spoon")
            await until(browser, player, 'name="question"')
            now[0] = play_site.IDLE_S - 1
            await asyncio.sleep(0.05)
            [held] = table._players.values()
            assert held.playing
            now[0] = play_site.IDLE_S + 1
            while held.playing:
                await asyncio.sleep(0.01)
            assert play_site.GONE in await text(browser, f"{player}/index.html")
            again = await joined(browser, "Ann")
            assert again == player
            await given(browser, player, question="Is it made of wood?")
            await until(browser, player, 'name="guess"')
            now[0] *= 3
            while held.playing:
                await asyncio.sleep(0.01)
            await until(browser, await joined(browser, "Bob"), 'name="guess"')
            await text(browser, f"{player}/index.html", 404)
            await sent(browser, "join", {"name": "ann", "agree": ["yes"]}, 400)
            assert await joined(browser, "Ann") == player, "her name stays hers"
    assert sorted(run.config.model for run in runs(tmp_path)) == ["human:Ann", "human:Bob"]


async def test_of_a_game_that_is_over_its_page_keeps_how_it_ended_and_nothing_that_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play_site, "HELD", 1)
    with FakeServer(game_rule(solve=0.0)) as server:
        table = PlaySite(game(server, **{"settings.max_rounds": 1, "limit": 1}), tmp_path)
        files = []
        async with client(table) as browser:
            for name in ("Ann", "Bob", "Cleo"):
                player = await joined(browser, name)
                await given(browser, player, guess="a wooden spoon")
                page = await until(browser, player, "Not solved in 1 round")
                [game_page] = re.findall(r'href="(game/[^"]+)"', page)
                for _ in range(200):
                    if not table._players[player.partition("/")[2]].playing:
                        break
                    await asyncio.sleep(0.01)
                await text(browser, f"{player}/{game_page}")
                gc.collect()
                files.append(len(list(Path("/proc/self/fd").iterdir())))
            assert [(player.task, player.status) for player in table._players.values()] == [(None, None)] * 3
            await text(browser, f"{player}/{game_page}")
    # The traces of one run are open at a time.
    assert files[2] <= files[1] <= files[0] + 1


class Ready:
    """A person who knows the first sample's key text."""

    takes_requests = True

    async def __call__(self, request: Request) -> Reply:
        return Reply('{"guess": "sunbathers", "question": "Is it alive?"}', request.model)


async def test_a_comparison_has_lines_of_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeServer(game_rule(solve=0.0)) as server:
        one = {"settings.max_rounds": 1}
        for name in ("Ann", "Bob", "Cleo"):
            await play_next(game(server, **one), tmp_path, name, Ready())
        mine = game(server, model=f"candidate@{server.url}", repeats=1, **one)
        await begin(mine, out=tmp_path)
    # The command has a loop of its own.
    assert await asyncio.to_thread(main, ["report", *map(str, tmp_path.glob("2*"))]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"people, high \| 0.5 ", shown) and re.search(r"people, low \| 0.5 ", shown)


async def test_a_sample_that_was_seen_is_never_played_again(tmp_path: Path) -> None:
    with FakeServer(game_rule(solve=0.0)) as server:
        first = await play_next(game(server, limit=1), tmp_path, "Ann", Ready())
        other = await play_next(game(server, limit=1, **{"settings.max_rounds": 2}), tmp_path, "Ann", Ready())
        assert [list(run.samples) for run in (first, other)] == [["lot-0001"], ["lot-0002"]]
        with pytest.raises(UsageError, match="every sample"):
            await play_next(game(server, limit=1, **{"settings.max_rounds": 1}), tmp_path, "ANN", Ready())
        bob = await play_next(game(server, limit=1), tmp_path, "Bob", Ready())
        assert list(bob.samples) == ["lot-0001"]


def runs(root: Path) -> list[Run]:
    return [load_run(place.parent) for place in sorted(root.glob("*/run.json"))]


@pytest.mark.parametrize("name", ["", " ", "a" * 41, "../x", "a/b", "a\u202eb", "<b>"])
def test_a_name_is_letters_and_the_like(name: str) -> None:
    with pytest.raises(UsageError, match="name"):
        person(name)
    assert person("  Zoë  van Dam ") == "Zoë van Dam"


def test_the_terminal_asks_for_agreement_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("builtins.input", lambda _: "no")
    judged = "--judge a@http://127.0.0.1:9/v1 --oracle b@http://127.0.0.1:9/v1 --out"
    flags = [*judged.split(), str(tmp_path)]
    assert main(["play", "--name", "Ann", *flags]) == 0
    assert "Nothing was kept." in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr("builtins.input", Mock(side_effect=EOFError))
    assert main(["play", *flags]) == 2 and "a person needs a terminal" in capsys.readouterr().err


# Vote


def ballot(folder: Path) -> Path:
    items = [
        {
            "id": f"p{number}", "type": "T2T", "language": "en", "question": "Why?", "data": "lotbench",
            "responses": [{"letter": letter, "text": f"{hostile.SCRIPT} {letter}{number}"} for letter in "ABC"],
        }
        for number in (1, 2)
    ]  # fmt: skip
    file = folder / "ballot.jsonl"
    file.write_text("".join(json.dumps(item) + "\n" for item in items), "utf-8")
    return file


async def test_votes_are_kept_one_a_person_and_prompt(tmp_path: Path) -> None:
    file, votes = ballot(tmp_path), tmp_path / "votes.jsonl"
    polls = Polls(file, votes)
    async with client(polls) as browser:
        assert "Your name" in await text(browser, "index.html")
        player = await joined(browser, "Ann")
        page = await text(browser, f"{player}/index.html")
        item = re.findall(r'name="item" value="(p\d)"', page)[0]
        assert '"A"' not in page and "<script>document" not in page
        for wrong in ({"item": "p9"}, {"choice": ["7"]}, {"voter": "Bob"}):
            await sent(browser, f"{player}/vote", {"item": item, "choice": ["1"]} | wrong, 400)
        refused = await sent(browser, f"{player}/vote", {"item": item, "choice": "1"}, 400)
        assert refused["error"] == "choice: Input should be a valid list"
        await sent(browser, f"{player}/vote", {"item": item, "choice": ["3", "1"]})
        assert "already" in (await sent(browser, f"{player}/vote", {"item": item}, 400))["error"]
        await sent(browser, "player/none/vote", {"item": item}, 404)
        refused = await sent(browser, "join", {"name": "ann", "agree": ["yes"]}, 400)
        assert "ann has begun in another browser" in refused["error"]
        assert await joined(browser, "ann") == player
    shown = polls.order("Ann", item)
    [line] = [json.loads(one) for one in votes.read_text("utf-8").splitlines()]
    assert line.pop("item") == polls.items[item].fingerprint
    assert line == {"id": item, "voter": "Ann", "letters": sorted([shown[0].letter, shown[2].letter])}
    async with client(Polls(file, votes)) as browser:
        player = await joined(browser, "ANN")
        assert "already" in (await sent(browser, f"{player}/vote", {"item": item}, 400))["error"]
        await sent(browser, f"{player}/vote", {"item": "p1" if item == "p2" else "p2"})
        assert "last prompt" in await text(browser, f"{player}/index.html")
    assert json.loads(votes.read_text("utf-8").splitlines()[1])["letters"] == []
    file.write_text(file.read_text("utf-8").replace("A1", "A2"), "utf-8")
    with pytest.raises(DataError, match="has votes on another ballot"):
        Polls(file, votes)


async def test_a_vote_on_a_full_disk_is_refused_and_can_be_cast_later(tmp_path: Path) -> None:
    file, votes = ballot(tmp_path), tmp_path / "votes.jsonl"
    async with client(Polls(file, votes)) as browser:
        player = await joined(browser, "Ann")
        with full_disk(10):
            refused = await sent(browser, f"{player}/vote", {"item": "p1"}, 400)
        assert "votes.jsonl: File too large" in refused["error"]
        await sent(browser, f"{player}/vote", {"item": "p1"})
    assert Polls(file, votes).voted == {("ann", "p1")}


def test_people_see_responses_in_orders_of_their_own(tmp_path: Path) -> None:
    polls = Polls(ballot(tmp_path), tmp_path / "votes.jsonl")
    orders = {"".join(one.letter for one in polls.order(f"person {number}", "p1")) for number in range(60)}
    assert len(orders) == 6


def test_the_picture_of_a_pair_is_shown(tmp_path: Path) -> None:
    """The id of a pair has a slash, and people voted without the picture."""
    file = ballot(tmp_path)
    item = {"id": "lot-1001/1", "type": "IT2T", "image": "images/scene-01.png"}
    lines = [json.dumps(json.loads(line) | item) for line in file.read_text("utf-8").splitlines()[:1]]
    file.write_text(lines[0], "utf-8")
    assert Polls(file, tmp_path / "votes.jsonl").get("picture/lot-1001/1").kind == "image/png"


def test_a_ballot_with_a_fault_is_refused_by_line(tmp_path: Path) -> None:
    file = ballot(tmp_path)
    file.write_text(file.read_text("utf-8") + '{"id": "p3"}\nnot json\n', "utf-8")
    with pytest.raises(DataError, match=r"ballot.jsonl:3: type: (?s:.*)ballot.jsonl:4: not JSON"):
        Polls(file, tmp_path / "votes.jsonl")


@pytest.mark.parametrize("benchmark", ["rinobench", "liveideabench", "hicbench", "standard"])
def test_a_page_of_another_benchmark_has_its_readings(benchmark: str) -> None:
    gallery = Gallery(FOLDER)
    shelf = next(one for one in gallery.readable_runs()[0] if one.run.config.benchmark == benchmark)
    shown = html.unescape(gallery.get(f"game/{shelf.name}/{shelf.rows[0].file}").body.decode())
    for reading in readings(shelf.run, shelf.run.traces[0]):
        assert reading.title in shown and all(text in shown for _, text in reading.texts)
    assert "{'" not in shown.split("<main")[1] and ('<ol class="options">' in shown) is (
        benchmark == "standard"
    )
