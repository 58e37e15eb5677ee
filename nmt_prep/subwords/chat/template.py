"""Chat templates: their files, and the child process that renders them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from nmt_prep.base.errors import VocabularyError
from nmt_prep.base.runtime import check_extra, installing, kept
from nmt_prep.subwords.tokenizer import read_vocabulary
from nmt_prep.subwords.tokenizer_json import parse_json, text_of

Message: TypeAlias = "dict[str, str]"

CONFIG_FILE, TEMPLATE_FILE = "tokenizer_config.json", "chat_template.jinja"
"""The files beside a tokenizer.json that have its chat template and the names of its special tokens."""

_WORKER = Path(__file__).with_name("worker.py")
_JINJA = (3, 1, 6)
_LONGEST = 1 << 18  # characters of a template
_BATCH = 512  # conversations that are rendered together
_ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


class PairRenderingError(VocabularyError):
    """A template cannot render the row that ends with a pair."""

    def __init__(self, message: str, pair: int = 0) -> None:
        super().__init__(message)
        self.pair = pair  # index of the pair in its batch

    def at(self, where: str, sources: pa.Array) -> VocabularyError:
        """Returns the error that names the pair, given its corpus and the sources of its batch."""
        return VocabularyError(f"{where}, source {sources[self.pair].as_py()[:60]!r}: {self}")


class Rendered(NamedTuple):
    """A rendered conversation."""

    text: str
    spans: list[tuple[int, int]]  # start and end of each generation block's text


@dataclass(frozen=True)
class ChatTemplate:
    """A chat template."""

    source: str  # text of the template
    where: str  # name of its file, for messages
    # names of special tokens, and other variables, as JSON
    variables: str = "{}"

    @classmethod
    def read(cls, config: Path | None, template: Path | None, variables: Mapping[str, Any]) -> ChatTemplate:
        """Reads the template beside a tokenizer.json.

        Args:
            config: the ``tokenizer_config.json``; None if there is none.
            template: a file with the template alone; None if there is none.
            variables: further variables of the template.
        """
        settings = {} if config is None else parse_json(config, read_vocabulary(config))
        source: Any = settings.get("chat_template")
        if isinstance(source, list):  # several templates by name
            named = {entry.get("name"): entry.get("template") for entry in source if isinstance(entry, dict)}
            source = named.get("default")
        if template is not None:
            source = text_of(template, read_vocabulary(template))
        where = "" if (file := template or config) is None else file.name  # a path would differ between machines
        if not isinstance(source, str):
            raise VocabularyError(
                f"records.template: there is no chat template in {CONFIG_FILE} or {TEMPLATE_FILE} beside the "
                "tokenizer.json; name one (records.chat_template)"
            )
        if len(source) > _LONGEST:
            raise VocabularyError(f"{where}: the chat template has more than {_LONGEST:,} characters; check the file")
        for role in _ROLES if config is None else ():
            if role in source and role not in variables:
                raise VocabularyError(
                    f"{where}: the chat template uses {role}, and there is no {CONFIG_FILE} beside the tokenizer.json, "
                    f"which names it; add the file, or set records.variables.{role}"
                )
        tokens = {role: _name_of(settings.get(role)) for role in _ROLES}
        special = {role: name for role, name in tokens.items() if name is not None}
        return cls(source, where, json.dumps({**special, **variables}, sort_keys=True))

    def render(
        self, conversations: Sequence[tuple[Sequence[Message], bool]], pairs: Sequence[int] = ()
    ) -> list[Rendered]:
        """Renders conversations, each with or without the prompt of the next answer; errors name its pair, if given."""
        rendered = list[Rendered]()
        for first in range(0, len(conversations), _BATCH):
            for text, *more in _process(self).reply(conversations[first : first + _BATCH]):
                if text is None:
                    error = self.error(*more)
                    raise PairRenderingError(str(error), pairs[len(rendered)]) if pairs else error
                rendered.append(Rendered(text, [(start, end) for start, end in more[0]]))
        return rendered

    def error(self, problem: str, line: int | None) -> VocabularyError:
        """Returns the error for a problem at a line."""
        advice = "use a template for text (records.chat_template), or set what it needs (records.variables)"
        if "strftime_now" in problem:
            advice = "rows must not depend on the date: write one into a copy (records.chat_template)"
        place = "" if line is None else f", line {line}"
        return VocabularyError(f"{self.where}: the chat template{place}: {problem}; {advice}")

    def asked(self) -> tuple[list[str], bool]:
        """Returns the texts that the template looked for in messages so far, and whether it asked anything else."""
        searched, more = _process(self).reply([])
        return searched, more

    def line_of(self, text: str) -> int:
        """Returns the first line of the template with a text, or else with what decides what it writes last."""
        for wanted in (text, "add_generation_prompt", "loop.last", "content"):
            if wanted and wanted in self.source:
                return self.source[: self.source.index(wanted)].count("\n") + 1
        return 1


def _name_of(token: object) -> str | None:
    """Returns the name of a special token, which may be an object with its content."""
    if isinstance(token, dict):
        token = token.get("content")
    return token if isinstance(token, str) else None


class _Process:
    """The child process of a template."""

    def __init__(self, template: ChatTemplate) -> None:
        check_extra("jinja2", "chat", "a chat template")
        if tuple(map(int, re.findall(r"\d+", version("jinja2"))[:3])) < _JINJA:  # older sandboxes have known holes
            raise template.error(f"jinja2 {version('jinja2')} is too old: {installing('chat')}", None)
        self._template = template
        self._lock = threading.Lock()
        # -P: without it, the modules beside the program would hide installed modules with the same names.
        self._child = subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        weakref.finalize(self, _end, self._child)
        variables = json.loads(template.variables)
        made = self.reply({"path": sys.path, "template": template.source, "variables": variables})
        if made:
            raise template.error(*made)

    def reply(self, content: object) -> Any:
        """Returns the process's reply to a line of its input."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        with self._lock:
            try:
                self._child.stdin.write(json.dumps(content) + "\n")
                self._child.stdin.flush()
                return json.loads(self._child.stdout.readline())
            except (OSError, ValueError) as error:
                status = self._child.wait()
                raise self._template.error(f"its process ended with status {status}", None) from error


def _end(child: subprocess.Popen[str]) -> None:
    with child:
        child.kill()


_process = kept(4)(_Process)
