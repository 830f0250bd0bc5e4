"""Conversion of matplotlib's SVG to an inline element: no styles, no fixed size, colours of the page, unique ids."""

import re
from xml.etree import ElementTree

from lotbench.report.markdown import visible

INK, MUTED, RULE, PAPER = "#1c2026", "#59626e", "#d4d9e0", "#ffffff"
SERIES = ("#2458b8", "#b4500a", "#1a7046", "#7446ad", "#0b7285", "#ab2439")
PROPERTIES = {INK: "ink", MUTED: "muted", RULE: "rule", PAPER: "paper"} | {
    colour: f"series-{at}" for at, colour in enumerate(SERIES, 1)
}
"""The page's custom property for each colour of plots."""
_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"


def inline(text: str, name: str, title: str, description: str) -> str:
    """Return an SVG document of matplotlib as an inline element.

    Args:
        text: The document; its colours are those of PROPERTIES.
        name: A name that is unique on the page; the element's ids begin with it.
        title: The title for screen readers.
        description: The description for screen readers.
    """
    ElementTree.register_namespace("", _SVG[1:-1])
    root = ElementTree.fromstring(text)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{_SVG}metadata", f"{_SVG}style"):
                parent.remove(child)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    for element in root.iter():
        _bare(element, used, name)
    for size in ("width", "height", "version"):
        root.attrib.pop(size, None)
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-title")
    root.set("stroke-linejoin", "round")
    titled = ElementTree.Element(f"{_SVG}title", id=f"{name}-title")
    described = ElementTree.Element(f"{_SVG}desc")
    titled.text, described.text = visible(title), visible(description)
    root[:0] = [titled, described]
    return ElementTree.tostring(root, encoding="unicode")


def _bare(element: ElementTree.Element, used: set[str], name: str) -> None:
    """Turn an element's style into attributes and its colours into the page's; prefix ids in `used` with `name`, drop others."""
    for declaration in element.attrib.pop("style", "").split(";"):
        key, _, value = declaration.partition(":")
        if key.strip() and key.strip() != "font-family":
            element.set(key.strip(), value.strip())
    if (target := element.attrib.pop(_HREF, None)) is not None:
        element.set("href", f"#{name}-{target.removeprefix('#')}")
    if (own := element.attrib.pop("id", None)) in used:
        element.set("id", f"{name}-{own}")
    for key, value in element.attrib.items():
        if value.startswith("url(#"):
            element.set(key, f"url(#{name}-{value[5:]}")
        elif value in PROPERTIES:
            element.set(key, f"var(--{PROPERTIES[value]})")
