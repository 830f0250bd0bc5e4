"""A prompt is a text file with sections and `{{fields}}`; a pack is a folder of them, one folder a language.

A field is replaced in a single pass, so braces in an example survive and an answer that contains
`{{caption}}` cannot inject itself. A missing field and an unknown field are both errors: a prompt that
silently lacks its keyword has made a leaderboard before. What several prompts say word for word stands in
one file: a line `{{> criteria.rules}}` is replaced by the section [rules] of criteria.txt of its language.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import TypeAlias, cast

from lotbench.errors import UsageError
from lotbench.types import Image, Message, Speaker

FIELD = re.compile(r"\{\{\s*(\w+)\s*\}\}")
PARTIAL = re.compile(r"^\{\{>([^{}\n]*)\}\}$", re.MULTILINE)
SECTION = re.compile(r"^\[(\w+)\]\n", re.MULTILINE)
SPEAKERS = ("system", "user", "assistant")

Value: TypeAlias = str | Image | None


@dataclass(frozen=True, slots=True)
class Prompt:
    """The text of one prompt file: named sections, in order, each with its fields."""

    name: str
    sections: Mapping[str, str]

    @property
    def fields(self) -> frozenset[str]:
        """Every field that the sections name."""
        return _fields(*self.sections.values())

    def messages(self, **values: Value) -> tuple[Message, ...]:
        """Fill the prompt; one message for each section named for a speaker.

        Args:
            **values: A value for every field. None or "" empties it; a line that held nothing but
                emptied fields is dropped. A picture becomes a part of its own.

        Raises:
            UsageError: A field has no value, or a value has no field; or a section is of no speaker.
        """
        self._check(values.keys(), self.fields)
        if not self.sections or self.sections.keys() - set(SPEAKERS):
            names = ", ".join(f"[{name}]" for name in self.sections) or "none"
            raise UsageError(
                f"prompt {self.name!r}: sections are [system], [user] or [assistant], not {names}"
            )
        return tuple(
            Message(cast(Speaker, speaker), _fill(text, values)) for speaker, text in self.sections.items()
        )

    def line(self, section: str, **values: str) -> str:
        """Fill one section as plain text.

        Raises:
            UsageError: The section is not there, a field has no value, or a value has no field.
        """
        if section not in self.sections:
            raise UsageError(f"prompt {self.name!r} has no section [{section}]")
        text = self.sections[section]
        self._check(values.keys(), _fields(text))
        return FIELD.sub(lambda match: values[match[1]], text)

    def _check(self, names: Set[str], fields: Set[str]) -> None:
        if names == fields:
            return
        if missing := sorted(fields - names):
            raise UsageError(f"prompt {self.name!r}: no value for {', '.join(missing)}")
        if unknown := sorted(names - fields):
            raise UsageError(f"prompt {self.name!r}: has no field {', '.join(unknown)}")


@dataclass(frozen=True, slots=True)
class Pack:
    """The prompts of one benchmark in every language it has, and the digest of all their text."""

    prompts: Mapping[str, Mapping[str, Prompt]]
    files: Mapping[str, str]
    """The text of each file, by path, with what it takes from others in its place."""
    digest: str

    def get(self, language: str, name: str) -> Prompt:
        """Return the prompt of that name in that language.

        Raises:
            UsageError: The pack has no such language or prompt.
        """
        try:
            return self.prompts[language][name]
        except KeyError:
            raise UsageError(f"the prompt pack has no {language}/{name}.txt") from None


def parse(name: str, text: str) -> Prompt:
    """Read a prompt file: `[section]` lines, each followed by its text.

    Raises:
        UsageError: Text stands before the first section, or a section comes twice.
    """
    pieces = SECTION.split(text)
    if pieces[0].strip():
        raise UsageError(f"prompt {name!r}: text before the first [section]")
    names = pieces[1::2]
    if len(set(names)) < len(names):
        raise UsageError(f"prompt {name!r}: a section comes twice")
    bodies = (body.strip("\n") for body in pieces[2::2])
    return Prompt(name, dict(zip(names, bodies, strict=True)))


def pack(files: Mapping[str, str]) -> Pack:
    """Return a pack from the texts of its files, by path (`en/respond.txt`).

    Raises:
        UsageError: A file is no prompt, or takes in a section that is not there.
    """
    files = {path: _with_partials(path, text, files) for path, text in files.items()}
    prompts: dict[str, dict[str, Prompt]] = {}
    for path in sorted(files):
        language, _, file = path.partition("/")
        name = file.removesuffix(".txt")
        prompts.setdefault(language, {})[name] = parse(f"{language}/{name}", files[path])
    text = "".join(f"{path}\0{files[path]}\0" for path in sorted(files))
    return Pack(prompts, dict(files), hashlib.sha256(text.encode()).hexdigest())


def _with_partials(path: str, text: str, files: Mapping[str, str]) -> str:
    """Return a file with the sections of others that it names in its lines, in their place; these take in none."""

    def section(match: re.Match[str]) -> str:
        file, _, name = match[1].strip().partition(".")
        source = f"{path.partition('/')[0]}/{file}.txt"
        body = parse(source, files.get(source, "")).sections.get(name)
        if body is None or PARTIAL.search(body):
            raise UsageError(f"prompt {path!r}: {match[0]} is no section of text in {source}")
        return body

    return PARTIAL.sub(section, text)


def _fields(*texts: str) -> frozenset[str]:
    return frozenset(name for text in texts for name in FIELD.findall(text))


def _fill(text: str, values: Mapping[str, Value]) -> tuple[str | Image, ...]:
    """Replace the fields of a section; text between pictures is one part."""
    lines = [line for line in text.split("\n") if not _emptied(line, values)]
    parts: list[str | Image] = [""]
    for index, piece in enumerate(FIELD.split("\n".join(lines))):
        value = values[piece] if index % 2 else piece
        if isinstance(value, Image):
            parts += [value, ""]
        else:
            parts[-1] = f"{parts[-1]}{value or ''}"
    trimmed = [part.strip("\n") if isinstance(part, str) else part for part in parts]
    return tuple(part for part in trimmed if part != "")


def _emptied(line: str, values: Mapping[str, Value]) -> bool:
    """Return whether a line held nothing but fields, none of which has a value."""
    names = FIELD.findall(line)
    return bool(names) and not FIELD.sub("", line).strip() and not any(values[name] for name in names)
