"""An extension of Griffe: docstrings of the Python package as the pages need them.

- reStructuredText becomes Markdown;
- the fields of a dataclass, documented by comments `#:`, become its section of attributes;
- parameters that share one entry of a docstring have their own defaults.
"""
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


def comment(attribute: griffe.Attribute) -> str:
    """The lines `#:` above an attribute."""
    lines = attribute.lines_collection[attribute.filepath][: (attribute.lineno or 1) - 1]
    found: list[str] = []
    while lines and lines[-1].strip().startswith("#:"):
        found.insert(0, lines.pop().strip()[2:].strip())
    return markdown(" ".join(found))


class Docstrings(griffe.Extension):
    def on_instance(self, *, obj: Any, **kwargs: Any) -> None:
        if not obj.is_alias and obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)

    def on_class_members(self, *, cls: griffe.Class, **kwargs: Any) -> None:
        if cls.docstring is None or not any("dataclass" in str(d.value) for d in cls.decorators):
            return
        fields = [a for a in cls.attributes.values() if a.annotation is not None]
        entries = "\n".join(f"{a.name} : {a.annotation}\n    {comment(a)}".rstrip() for a in fields)
        cls.docstring.value += f"\n\nAttributes\n----------\n{entries}\n"
        for attribute in fields:
            # Its place is the section; pages leave out members without a docstring.
            attribute.docstring = None

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        self._visit(pkg)

    def _visit(self, obj: Any) -> None:
        for member in obj.members.values():
            if member.is_alias:
                continue
            if member.is_class or member.is_module:
                self._visit(member)
            if member.docstring is not None and (member.is_class or member.is_function):
                self._own_defaults(member)

    def _own_defaults(self, obj: Any) -> None:
        """The parser gives all names of a shared entry the default of the first one."""
        function = obj.members.get("__init__") if obj.is_class else obj
        if function is None or function.is_alias or not function.is_function:
            return
        sections = obj.docstring.parse("numpy", warnings=False)
        for section in sections:
            if section.kind is griffe.DocstringSectionKind.parameters:
                shared = [p.description for p in section.value]
                for entry in section.value:
                    if entry.name not in function.parameters:
                        continue
                    own = function.parameters[entry.name]
                    entry.value = None if own.default is None else str(own.default)
                    if shared.count(entry.description) > 1 and not str(entry.annotation).startswith("("):
                        entry.annotation = own.annotation
        obj.docstring.__dict__["parsed"] = sections
