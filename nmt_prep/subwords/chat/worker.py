"""Program of the child process that renders a chat template; ``template.py`` starts it.

A template comes from outside. Jinja's sandbox keeps it from Python's objects, but not from loops without end or texts
without bound, so this process limits its memory, and the processor time of each conversation. It imports nothing of
nmt_prep, so that it starts quickly.

Standard input and output are lines of JSON. The first line has ``path`` (``sys.path`` of the parent), the ``template``,
and its ``variables``. The reply is an error and its line or null, or nothing. Each other line is a list of
conversations, each a pair: messages, and whether to add the answer's prompt. Their reply is a list: the text and
the spans of its generation blocks, or null, an error and its line or null. The reply to an empty list is what the
template asked of messages so far: the texts that it looked for, and whether it asked anything else, such as a length.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import wraps
from typing import Any

MEMORY = 1 << 30  # bytes of address space
SECONDS = 10.0  # of processor time for a conversation
LONGEST = 1 << 24  # characters of a conversation

_SEEN: set[str] = set()  # Texts that the template looked for in messages
_ASKED: set[str] = set()  # What else it asked of messages
_PROBED = ("", " ", "\n", "\t")  # Rows are tried with and without these


def main() -> None:
    """Renders the conversations of standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets Ctrl-C too, and closes the input
    request = json.loads(sys.stdin.readline())
    sys.path[:] = request["path"]
    import jinja2  # noqa: F401, PLC0415  (jinja2 is found by the parent's sys.path; before the limit)

    with suppress(OSError, ValueError):  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGVTALRM, _out_of_time)
    made = _limited(lambda: _compiled(request["template"], request["variables"]))
    _reply(made[1:])
    for line in sys.stdin:
        conversations = json.loads(line)
        replies = [_limited(lambda: made[0](*conversation)) for conversation in conversations]  # noqa: B023
        _reply(replies if conversations else [sorted(_SEEN), bool(_ASKED)])


def _reply(content: object) -> None:
    sys.stdout.write(json.dumps(content) + "\n")
    sys.stdout.flush()


def _limited(work: Callable[[], list[Any]]) -> list[Any]:
    """Returns the result of work; or None, its error and the template's line, None for an unknown line."""
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, 0.1)  # again and again: a template may hold on to the first
        return work()
    except Exception as error:  # noqa: BLE001  (the parent explains any error)
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<template>"]
        line = getattr(error, "lineno", None) or (lines[-1] if lines else None)
        text = "needs too much memory" if isinstance(error, MemoryError) else str(error) or type(error).__name__
        return [None, text[:1000], line]
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _out_of_time(*_: object) -> None:
    raise TimeoutError(f"takes more than {SECONDS:g} seconds")


def _compiled(source: str, variables: dict[str, Any]) -> list[Any]:
    """Returns a function that renders as transformers does."""
    import jinja2  # noqa: PLC0415  (jinja2, as above)
    from jinja2.ext import Extension, loopcontrols  # noqa: PLC0415  (jinja2, as above)
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415  (jinja2, as above)

    written: list[str] = []
    spans: list[tuple[int, int]] = []

    class Generation(Extension):
        """Notes where the text of ``{% generation %}`` blocks is."""

        tags = {"generation"}  # noqa: RUF012

        def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return jinja2.nodes.CallBlock(self.call_method("noted"), [], [], body).set_lineno(line)

        def noted(self, caller: Callable[[], str]) -> str:
            text = caller()
            start = sum(map(len, written))
            first = spans.pop()[0] if spans and spans[-1][1] == start else start  # adjacent blocks are one
            spans.append((first, start + str.__len__(text)))
            return text

    def fail(message: object) -> None:
        raise jinja2.TemplateError(str(message))

    def as_json(value: object, ensure_ascii: bool = False, **options: Any) -> str:
        return json.dumps(value, ensure_ascii=ensure_ascii, **options)

    class Sandbox(ImmutableSandboxedEnvironment):
        """The environment of transformers, in which texts that are made of messages stay watched."""

        concat = staticmethod(_joined)

        def call(self, *given: Any, **options: Any) -> Any:
            return _watched(super().call(*given, **options), [*given[2:], *options.values()])

    jinja2.runtime.str_join = _joined  # of the operator ~
    environment = Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    environment.filters["tojson"] = as_json
    environment.filters = {name: _filter(name, own) for name, own in environment.filters.items()}
    environment.globals["raise_exception"] = fail
    template = environment.from_string(source)

    given = {**template.globals, **variables, "tools": None, "documents": None}

    def render(messages: Any, prompted: bool) -> list[Any]:
        written.clear()
        spans.clear()
        left = LONGEST
        messages = [
            message if message["role"] == "system" else {**message, "content": Watched(message["content"])}
            for message in messages
        ]
        context = template.new_context({**given, "messages": messages, "add_generation_prompt": prompted}, shared=True)
        try:
            for text in map(str.__str__, template.root_render_func(context)):
                written.append(text)
                left = _left(left, text)
        except Exception:  # noqa: BLE001  (this raises it again, with lines of the template)
            environment.handle_exception()
        return ["".join(written), list(spans)]

    return [render]


def _left(characters: int, text: str) -> int:
    """Returns how many characters a conversation may have after a text."""
    if len(text) > characters:
        raise ValueError(f"gives more than {LONGEST:,} characters")
    return characters - len(text)


class Watched(str):
    """A message's text, which notes what a template asks of it."""

    __slots__ = ()

    def __bool__(self) -> bool:  # texts without characters are always rendered
        return str.__len__(self) > 0

    def __radd__(self, other: str) -> Watched:
        return Mixed(str.__add__(other, self))

    def __rmod__(self, other: str) -> Watched:
        return Mixed(str.__mod__(other, str.__str__(self)))


class Mixed(Watched):
    """The text of a message with other text, in which the template may find what the message does not have."""

    __slots__ = ()


def _method(name: str) -> Callable[..., Any]:
    """Returns a method of ``str`` that notes its use."""
    own = getattr(str, name)

    def method(self: str, *arguments: Any, **options: Any) -> Any:
        kind = Mixed if name in ("__add__", "replace") else type(self)
        wanted: Any = next(iter((*arguments, *options.values())), None)
        if name in _SEARCHES and isinstance(wanted, str | tuple):
            for text in wanted if isinstance(wanted, tuple) else (wanted,):
                if isinstance(text, Watched) or isinstance(self, Mixed):
                    _ASKED.add("compare")
                elif text not in _PROBED:
                    _SEEN.add(text)
        elif name not in (*_KEEPS, *_SEARCHES[:3]):
            _ASKED.add(name)
        made = own(self, *arguments, **options)
        if isinstance(made, list | tuple):
            return type(made)(map(kind, made))
        return kind(made) if isinstance(made, str) else made

    method.__name__ = name
    return method


def _is_watched(value: object) -> bool:
    """Returns True for the text of a message, or a list with one."""
    return isinstance(value, Watched) or (isinstance(value, list | tuple) and any(map(_is_watched, value)))


def _watched(made: Any, given: object) -> Any:
    """Returns what was made; as a watched text if it is a text that was made with the text of a message."""
    return Mixed(made) if type(made) is str and _is_watched(given) else made  # not Markup, which escapes others


def _joined(seq: Iterable[object]) -> str:
    """Joins texts as a template does."""
    parts = [text for text in map(str, seq) if text]
    return parts[0] if len(parts) == 1 else str(_watched("".join(parts), parts))


def _filter(name: str, own: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a filter that notes its use with the text of a message."""

    @wraps(own)
    def made(*given: Any, **options: Any) -> Any:
        values = [*given, *options.values()]
        if name not in _FILTERS and _is_watched(values):
            _ASKED.add(name)
        return _watched(own(*given, **options), values)

    return made


_FILTERS = ("d", "default", "format", "join", "replace", "string", "trim")  # The texts or methods note what these do
# The parent tries rows to learn what these do
_KEEPS = ("strip", "lstrip", "rstrip", "__add__", "__str__")
_SEARCHES = ("__contains__", "__eq__", "__ne__", "startswith", "endswith", "find", "rfind", "index", "rindex", "count",
             "replace", "split", "rsplit", "partition", "rpartition", "removeprefix", "removesuffix")  # fmt: skip
_OPERATORS = (*_KEEPS[3:], *_SEARCHES[:3], "__len__", "__getitem__", "__iter__", "__lt__", "__le__", "__gt__", "__ge__",
              "__mod__", "__hash__")  # fmt: skip
Watched.__name__, Watched.__module__ = "str", "builtins"  # for messages of Jinja
for _name in (*_OPERATORS, *(name for name in dir(str) if not name.startswith(("_", "maketrans")))):
    setattr(Watched, _name, _method(_name))


if __name__ == "__main__":
    main()
