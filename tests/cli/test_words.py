"""The words that people read: those of a game, not those of the code (episode, arm, censored, rankable, told apart).

Names of settings, JSON keys and code keep theirs, and are written as code. docs/judges.md is for those who check
the statistics and the judges, docs/development.md for those who write code, and CHANGELOG.md tells of old names.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from lotbench.cli import main
from lotbench.site.runs import Gallery
from tests.recorded import FOLDER, copied, recorded

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
    if path.name not in ("judges.md", "development.md")
)
TEMPLATES = sorted(
    path.relative_to(ROOT).as_posix() for path in (ROOT / "lotbench").rglob("*.html") if path.is_file()
)
OLD = re.compile(
    r"\b(episodes?|arms?|censor(ed|ing)|(un)?rankable|told apart|tells? .{1,30} apart|DAESOs?|HHCR)\b", re.I
)
CODE = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)]*\)|https?://\S+|<!--.*?-->", re.DOTALL)
SENT = frozenset(
    # What models are sent or told, in the words of the prompts; and patterns of what they may not write.
    (
        "benchmarks/lotbench/words.py",
        "benchmarks/lotbench/responses.py",
        "benchmarks/lotbench/construction/writing.py",
    )
)
NAMES = re.compile(r"arm=|guess: |Episode\[|episode \{|\{episodes\}|episodes?\.|\"guess\"|'guess'")
"""Settings, fields and template fields inside a message."""


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_the_docs_is_in_words_that_people_know(page: str) -> None:
    text = CODE.sub(" ", (ROOT / page).read_text("utf-8"))
    assert sorted({found.group(0) for found in OLD.finditer(text)}) == []


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_is_in_words_that_people_know(template: str) -> None:
    text = re.sub(r"\{[{%#].*?[}%#]\}|<[^>]*>", " ", (ROOT / template).read_text("utf-8"), flags=re.DOTALL)
    assert sorted({found.group(0) for found in OLD.finditer(text)}) == []


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """The texts in a module that have several words, but for docstrings."""
    source = path.read_text("utf-8")
    said = {
        (node.value.lineno, node.value.col_offset)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.STRING and token.start not in said and " " in token.string.strip("\"' "):
            yield token.start[0], re.sub(r"`[^`]*`|\{[^{}]*\}", " ", token.string)


def test_no_message_help_or_report_has_the_words_of_the_code() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for room in ("lotbench", "graphs", "clot_training")
        for path in sorted((ROOT / room).rglob("*.py"))
        if path.relative_to(ROOT / room).as_posix() not in SENT
        for line, text in messages(path)
        if OLD.search(NAMES.sub(" ", text))
    ]
    assert found == []


def test_the_list_of_benchmarks_is_in_words_that_people_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    roles = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("  setting")]
    assert not re.search(r"\bE[12]\b", "\n".join(roles)) and not OLD.search("\n".join(roles))


def test_pages_of_runs_are_in_words_that_people_know() -> None:
    """But for the names of the fields of a record, which are its own, and what models were sent, which is in their words."""
    gallery = Gallery(FOLDER)
    for path in gallery.addresses():
        if path.endswith(".html") and not path.startswith(("report/", "said/")):
            unread = r"<style>.*?</style>|<script>.*?</script>|<dt>.*?</dt>|<[^>]*>"
            page = re.sub(unread, " ", gallery.get(path).body.decode(), flags=re.DOTALL)
            found = {one.group(0) for one in OLD.finditer(page) if not one.group(0).startswith("tell ")}
            # Ideas and works in a record may tell what they like apart.
            assert sorted(found) == [], path


def test_a_report_is_in_words_that_people_know(tmp_path: Path) -> None:
    """But for the names of its settings."""
    run = copied(recorded("lotbench"), tmp_path)
    assert main(["report", str(run)]) == 0
    lines = CODE.sub(" ", (run / "report.md").read_text("utf-8")).splitlines()
    assert [line for line in lines if OLD.search(line) and not line.startswith("| arm |")] == []
