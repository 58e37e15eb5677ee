"""A Griffe extension for the documentation site: reads reStructuredText roles in docstrings."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":[a-z]+:`~?(?P<target>[^`]+)`")
_LITERAL_BLOCK = re.compile(r"^::\n", re.MULTILINE)


def _link(role: re.Match[str]) -> str:
    """Returns the last part of the name as code; a link if the site documents the whole name."""
    name = role["target"]
    return f'<autoref identifier="{name}" optional>`{name.rpartition(".")[2]}`</autoref>'


class DocstringRoles(griffe.Extension):
    """Links ``:class:`~package.Name``` to the page of that name, and drops the marks before literal blocks."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrites the docstring of an object that was loaded."""
        if obj.docstring is not None:
            obj.docstring.value = _LITERAL_BLOCK.sub("", _ROLE.sub(_link, obj.docstring.value))
