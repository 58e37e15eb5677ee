"""Opens pages in one headless Chromium, without a driver: a page of our own frames them."""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import signal
import tempfile
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

_LISTENING = """<script>window.found = [];
addEventListener("error", (event) => found.push(event.message));
addEventListener("unhandledrejection", (event) => found.push(String(event.reason)));
document.addEventListener("securitypolicyviolation", (event) => found.push(event.violatedDirective));
for (const kind of ["error", "warn"]) console[kind] = (...all) => found.push(all.join(" "));</script>"""

_WIDTH = """({
  errors: view.found || [],
  scroll: view.document.documentElement.scrollWidth,
  client: view.document.documentElement.clientWidth,
  wide: [...view.document.querySelectorAll("body *")].filter((each) => !each.closest(".scroll, svg, pre, nav ul, .skip")
    && each.getBoundingClientRect().right > view.innerWidth + 1).slice(0, 5)
    .map((each) => each.outerHTML.slice(0, 120)),
})"""

_CONTENT = """({
  plots: [...view.document.querySelectorAll("svg.plot")].map((each) => each.getBoundingClientRect().height),
  buttons: view.document.querySelectorAll("button, select, input").length,
  text: view.document.body.innerText,
})"""


def dark(page: str) -> str:
    """Returns a page that is dark whatever the browser prefers."""
    return page.replace("@media (prefers-color-scheme: dark)", "@media all")


def widths(page: str, sizes: list[int], directory: Path) -> list[dict[str, Any]]:
    """Returns the errors, the width of the content and the overflowing elements, for each width of the window."""
    page = page.replace("<head>", f"<head>{_LISTENING}", 1)
    found: list[dict[str, Any]] = _open([(page, size, True) for size in sizes], _WIDTH, directory)
    return found


def content(page: str, directory: Path, *, script: bool) -> dict[str, Any]:
    """Returns the heights of the plots, the number of controls, and the text of a page."""
    [found] = _open([(page, 900, script)], _CONTENT, directory)
    return dict(found)


def values(page: str, probe: str, width: int, directory: Path) -> Any:
    """Returns the value of an expression about the window ``view`` of a page."""
    [value] = _open([(page, width, True)], probe, directory)
    return value


def axe(page: str, library: Path, directory: Path) -> list[dict[str, Any]]:
    """Returns the problems that axe-core finds in a page, with their impact."""
    script = json.dumps(library.read_text("utf-8")).replace("</", "<\\/")
    probe = f"""await (async () => {{
      const added = view.document.createElement("script");
      added.textContent = {script};
      view.document.head.append(added);
      const found = await view.axe.run(view.document, {{ resultTypes: ["violations"] }});
      return found.violations.map((each) => ({{ id: each.id, impact: each.impact, help: each.help,
        nodes: each.nodes.slice(0, 4).map((node) => node.html.slice(0, 160) + " " + node.failureSummary) }}));
    }})()"""
    [found] = _open([(page, 1200, True)], probe, directory)
    return list(found)


def _open(frames: list[tuple[str, int, bool]], probe: str, directory: Path) -> Any:
    """Opens pages in frames, and returns the value of an expression about the window ``view`` of each."""
    boxes = "".join(
        f'<iframe srcdoc="{escape(page)}" style="width:{width}px;height:800px;border:0" '
        f'sandbox="allow-same-origin{" allow-scripts" * script}"></iframe>'
        for page, width, script in frames
    )
    path = directory / "frames.html"
    head = '<!DOCTYPE html><html><head><meta charset="utf-8"></head>'
    path.write_text(f"{head}<body>{boxes}</body></html>", "utf-8")
    script = f"""(async () => {{
      const all = [];
      for (const frame of document.querySelectorAll("iframe")) {{
        const view = frame.contentWindow;
        all.push({probe});
      }}
      return all;
    }})()"""
    return _chromium().value(path, script)


@functools.cache
def _chromium() -> _Chromium:
    """Returns the browser of this process."""
    return _Chromium()


class _Chromium:
    """A headless Chromium, which takes commands of the DevTools protocol from a pipe."""

    def __init__(self) -> None:
        assert CHROMIUM is not None
        self._profile = tempfile.mkdtemp()
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"]
        arguments += ["--remote-debugging-pipe", f"--user-data-dir={self._profile}", "about:blank"]
        # Chromium reads commands from descriptor 3 and writes answers to 4.
        free = max(commands, answers) + 1
        moves = [(commands, free), (answers, free + 1), (free, 3), (free + 1, 4)]
        actions: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_DUP2, *move) for move in moves]
        actions += [(os.POSIX_SPAWN_CLOSE, free), (os.POSIX_SPAWN_CLOSE, free + 1)]
        actions += [(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
        self._process = os.posix_spawn(CHROMIUM, [CHROMIUM, *arguments], os.environ, file_actions=actions)
        os.close(commands)
        os.close(answers)
        atexit.register(self.close)
        self._unread, self._number = b"", 0

    def close(self) -> None:
        """Ends the browser, and removes its files."""
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGTERM)
        os.waitpid(self._process, 0)
        shutil.rmtree(self._profile, ignore_errors=True)

    def value(self, page: Path, script: str) -> Any:
        """Loads a page without the data that earlier pages stored, and returns the value of an expression in it."""
        context = self._command("Target.createBrowserContext")
        target = self._command("Target.createTarget", **context, url="about:blank")
        session = self._command("Target.attachToTarget", **target, flatten=True)["sessionId"]
        self._command("Page.enable", session)
        self._command("Page.navigate", session, url=page.absolute().as_uri())
        while self._message().get("method") != "Page.loadEventFired":
            pass
        found = self._command("Runtime.evaluate", session, expression=script, awaitPromise=True, returnByValue=True)
        self._command("Target.disposeBrowserContext", **context)
        assert "exceptionDetails" not in found, found
        return found["result"]["value"]

    def _command(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Returns the result of a command to the browser, or to a page with a session."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            command["sessionId"] = session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while (answer := self._message()).get("id") != self._number:
            pass
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def _message(self) -> dict[str, Any]:
        """Returns the next answer or event."""
        while b"\0" not in self._unread:
            read = os.read(self._answers, 1 << 20)
            assert read, "Chromium ended"
            self._unread += read
        message, _, self._unread = self._unread.partition(b"\0")
        parsed: dict[str, Any] = json.loads(message)
        return parsed
