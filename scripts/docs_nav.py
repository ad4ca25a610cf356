"""A hook of MkDocs: pages that mkdocs.yml does not list join the section of their folder.

Decisions and the pages of commands are files of a folder, in the order of their names.
"""
from __future__ import annotations

import pathlib
import re
from typing import Any

COMMANDS = "reference/commands"


def on_config(config: Any) -> Any:
    docs = pathlib.Path(config["docs_dir"])
    listed = set(re.findall(r"'([^']+\.md)'", repr(config["nav"])))
    for section in config["nav"]:
        for name, pages in section.items():
            if not isinstance(pages, list) or not isinstance(pages[0], str):
                continue
            folder = pathlib.PurePosixPath(pages[0]).parent
            missing = [
                path
                for file in sorted((docs / folder).glob("*.md"))
                if (path := file.relative_to(docs).as_posix()) not in listed
            ]
            pages.extend(missing)
            if folder == pathlib.PurePosixPath("reference"):
                commands = [f.relative_to(docs).as_posix() for f in sorted((docs / COMMANDS).glob("*.md"))]
                # index.md is the page of the section itself.
                commands.sort(key=lambda path: (not path.endswith("/index.md"), path.removesuffix(".md")))
                if commands:
                    pages.append({"Commands": commands})
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """The first page of the decisions lists them."""
    if page.file.src_uri != "decisions/index.md":
        return markdown
    folder = pathlib.Path(config["docs_dir"]) / "decisions"
    records = sorted(folder.glob("[0-9]*.md"))
    titles = [record.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ") for record in records]
    rows = [f"| [{title}]({record.name}) |" for title, record in zip(titles, records)]
    return "\n".join([markdown, "| record |", "|---|", *rows, ""])
