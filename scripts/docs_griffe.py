"""An extension of Griffe: docstrings in reStructuredText become Markdown, comments `#:` become docstrings."""
from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:class|func|meth|attr|mod):`~?([^`]+)`")


def markdown(text: str) -> str:
    """Roles become links to names of dictmesh, a code block loses the line that opens it."""

    def link(role: re.Match[str]) -> str:
        name = role[1]
        return f"`{name}`" if name.startswith("sklearn.") else f"[`{name}`][dictmesh.{name}]"

    text = re.sub(r"^( *)\.\. code-block:: \w+\n", r"\1", text, flags=re.M)
    return ROLE.sub(link, text)


class Docstrings(griffe.Extension):
    def on_instance(self, *, obj: Any, **kwargs: Any) -> None:
        if obj.is_alias:
            return
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)

    def on_attribute_instance(self, *, attr: griffe.Attribute, **kwargs: Any) -> None:
        """`#: text` above an attribute, or above the first of several, is its docstring."""
        if attr.docstring is not None or attr.lineno is None or not isinstance(attr.filepath.suffix, str):
            return
        lines = attr.lines_collection[attr.filepath]
        found: list[str] = []
        for line in reversed(lines[: attr.lineno - 1]):
            if not line.strip().startswith("#:"):
                break
            found.insert(0, line.strip()[2:].strip())
        if found:
            attr.docstring = griffe.Docstring(markdown(" ".join(found)), parent=attr)
