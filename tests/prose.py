"""python -m tests.prose [--docstrings]: sentences of docs/ that are too long, old words, docstrings without a verb.

`make check` runs it without the flag. With the flag it also measures the sentences of docstrings.
Names the file and the first words of each sentence; exit code 1 if there is any.
"""

import argparse
import ast
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 35
"""Words of a sentence, at most."""
ROOMS = ("lotbench", "clot_training", "graphs")
OLD = re.compile(
    r"(?<![A-Za-z.])(walk(s|ed|ing)?|lanes?|seat(s|ed)?|fillings?|headlined?s?)(?![a-z])(?!_packages)|\b(lotbench|tests)[./]edge\b",
    re.IGNORECASE,
)
"""Say instead: episode (of the game: game), sequence, judge 1 and judge 2, guess, primary metric; models, calls, storage."""
EXEMPT = ("CHANGELOG.md", "tests/prose.py", "tests/cases/", "data/", "LICENSE", "constraints.txt")
"""Files and folders that may have the old words: history, this list, texts of others."""
VERB = re.compile(
    r"(Add|Allow|Answer|Append|Ask|Begin|Build|Carry|Check|Choose|Close|Collect|Compare|Count|Decide|"
    r"Apply|Call|Cancel|Drop|Estimate|Mark|Release|Reserve|"
    r"Declare|Decline|Do|Draw|Embed|End|Evaluate|Explore|Fill|Freeze|Give|Go|Ignore|Install|Judge|"
    r"Keep|Leave|Let|List|Load|Make|Name|Note|Open|Play|Print|Propose|Put|Raise|Rank|Read|Record|"
    r"Refuse|Remove|Replace|Reply|Resolve|Return|Run|Say|Score|Screen|See|Send|Serve|Set|Show|Solve|"
    r"Stop|Take|Tell|Tune|Turn|Validate|Visit|Wait|Write|Yield)\b"
)
"""A function's docstring begins with one of these; a property's may name the thing."""
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`]*`")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
COMMENT = re.compile(r"<!--.*?-->|<[a-z/][^>]*>", re.DOTALL)
BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*>#|]|\d+\.) )|\n(?=\|)")
END = re.compile(r"[.!?][\"')*]*\s+(?=[^a-z])")


def sentences(markdown: str) -> Iterator[str]:
    """The sentences of a page: a cell of a table, an item of a list or a heading ends one, and a piece of code is a word."""
    text = COMMENT.sub(" ", CODE.sub("CODE", FENCE.sub("\n\n", markdown)))
    for block in BLOCK.split(LINK.sub(r"\1", text)):
        for cell in block.split("|"):
            yield from (sentence for sentence in END.split(" ".join(cell.split())) if sentence)


def faults(name: str, markdown: str) -> Iterator[str]:
    """What is wrong with a text, a line each."""
    for sentence in sentences(markdown):
        words = sentence.split()
        if len(words) > LONGEST:
            yield f"{name}: {len(words)} words: {' '.join(words[:12])} ..."


def old_words(root: Path) -> Iterator[str]:
    """The lines of the files under version control that have an old word in a name or a text."""
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        if name.startswith(EXEMPT) or not (root / name).is_file():
            continue
        with suppress(UnicodeDecodeError):
            for number, line in enumerate((root / name).read_text(encoding="utf-8").splitlines(), 1):
                if old := OLD.search(line):
                    yield f"{name}:{number}: {old[0]!r}: {line.strip()[:80]}"


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings of a module with their lines, those of its classes and functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (
            text := ast.get_docstring(node)
        ):
            yield getattr(node, "lineno", 1), text


def without_verb(path: Path) -> Iterator[str]:
    """The functions of a module whose docstring does not begin with a verb, a line each."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (text := ast.get_docstring(node)):
            names_a_thing = any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
            if not names_a_thing and not VERB.match(text):
                yield f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}: no verb: {text.splitlines()[0]}"


def pages() -> list[Path]:
    """README and every page of docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def main() -> int:
    """Print the faults and return the exit code."""
    parser = argparse.ArgumentParser(description="Sentences that are too long, and old words.")
    parser.add_argument("--docstrings", action="store_true", help="those of docstrings too")
    found = [
        fault
        for path in pages()
        for fault in faults(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
    ]
    modules = [file for room in ROOMS for file in sorted((ROOT / room).rglob("*.py"))]
    found += [*old_words(ROOT), *(fault for path in modules for fault in without_verb(path))]
    if parser.parse_args().docstrings:
        for path in modules:
            for line, text in docstrings(path):
                found += faults(f"{path.relative_to(ROOT)}:{line}", text)
    print("\n".join(found) if found else "no sentence is too long, no old word, no docstring without a verb")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
