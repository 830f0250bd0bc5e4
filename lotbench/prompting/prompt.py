"""Prompts: text files with sections and `{{fields}}`. A pack is a folder of prompts, with one subfolder for each language.

Fields are replaced in a single pass, so braces in examples survive and a value that contains `{{caption}}` is not
expanded. Missing and unknown fields are errors. A line `{{> criteria.rules}}` is replaced by the section [rules] of
criteria.txt in the same language.
"""

import hashlib
import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cache
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
    """One prompt file: texts of named sections, in order, with `{{fields}}` to fill in."""

    name: str
    sections: Mapping[str, str]

    @property
    def fields(self) -> frozenset[str]:
        """The names of the fields in all sections."""
        return _fields(*self.sections.values())

    def messages(self, **values: Value) -> tuple[Message, ...]:
        """Fill the prompt and return one message for each section.

        Args:
            **values: A value for every field. None or "" leaves it empty; a line of empty fields is dropped. A picture becomes
                a part of its own.

        Raises:
            UsageError: A field has no value, a value has no field, or a section is not named for a speaker.
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
        """Fill one section and return it as plain text.

        Raises:
            UsageError: The section is missing, a field has no value, or a value has no field.
        """
        if section not in self.sections:
            raise UsageError(f"prompt {self.name!r} has no section [{section}]")
        text = self.sections[section]
        self._check(values.keys(), _fields(text))
        return FIELD.sub(lambda match: values[match[1]], text)

    def _check(self, names: Set[str], fields: Set[str]) -> None:
        if missing := sorted(fields - names):
            raise UsageError(f"prompt {self.name!r}: no value for {', '.join(missing)}")
        if unknown := sorted(names - fields):
            raise UsageError(f"prompt {self.name!r}: has no field {', '.join(unknown)}")


@dataclass(frozen=True, slots=True)
class Pack:
    """The prompts of a benchmark by language and name, and the digest of their texts."""

    prompts: Mapping[str, Mapping[str, Prompt]]
    files: Mapping[str, str]
    """The text of each file by path, with included sections expanded."""
    digest: str

    def get(self, language: str, name: str) -> Prompt:
        """Return a prompt by language and name.

        Raises:
            UsageError: The pack has no such prompt.
        """
        try:
            return self.prompts[language][name]
        except KeyError:
            raise UsageError(f"the prompt pack has no {language}/{name}.txt") from None


def parse(name: str, text: str) -> Prompt:
    """Return the prompt in a text of `[section]` lines, each followed by the section's text.

    Raises:
        UsageError: There is text before the first section, or a section occurs twice.
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
    """Return the pack of these prompt files, given as texts by path (`en/respond.txt`).

    Raises:
        UsageError: A file is no valid prompt, or includes a missing section.
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
    """Return a text with each line `{{> file.section}}` replaced by that section.

    Raises:
        UsageError: The section is missing, or includes another one.
    """

    def section(match: re.Match[str]) -> str:
        file, _, name = match[1].strip().partition(".")
        source = f"{path.partition('/')[0]}/{file}.txt"
        body = parse(source, files.get(source, "")).sections.get(name)
        if body is None or PARTIAL.search(body):
            raise UsageError(f"prompt {path!r}: {match[0]} is no section of text in {source}")
        return body

    return PARTIAL.sub(section, text)


@cache
def _fields(*texts: str) -> frozenset[str]:
    return frozenset(name for text in texts for name in FIELD.findall(text))


def _fill(text: str, values: Mapping[str, Value]) -> tuple[str | Image, ...]:
    """Return a section with its fields replaced, as a sequence of pictures and the texts between them."""
    lines = [line for line, alone in _lines(text) if not alone or any(values[name] for name in alone)]
    parts: list[str | Image] = [""]
    for index, piece in enumerate(FIELD.split("\n".join(lines))):
        value = values[piece] if index % 2 else piece
        if isinstance(value, Image):
            parts += [value, ""]
        else:
            parts[-1] = f"{parts[-1]}{value or ''}"
    trimmed = [part.strip("\n") if isinstance(part, str) else part for part in parts]
    return tuple(part for part in trimmed if part != "")


@cache
def _lines(text: str) -> tuple[tuple[str, list[str]], ...]:
    """Return the lines of a section, each with its fields if it has nothing else, or else with none."""
    return tuple((one, [] if FIELD.sub("", one).strip() else FIELD.findall(one)) for one in text.split("\n"))
