"""Opens pages in headless Chromium, without a driver: a page of our own frames them and notes what it finds."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import escape, unescape
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
    """Returns the errors, the width of the content and what sticks out, for each width of the window."""
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
    """Returns what axe-core finds wrong with a page, with its impact."""
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
    script = f"""addEventListener("load", async () => {{
      const all = [];
      try {{
        for (const frame of document.querySelectorAll("iframe")) {{
          const view = frame.contentWindow;
          all.push({probe});
        }}
        document.getElementById("found").textContent = JSON.stringify(all);
      }} catch (error) {{ document.getElementById("found").textContent = JSON.stringify({{ failed: String(error) }}); }}
    }});"""
    path = directory / "frames.html"
    head = '<!DOCTYPE html><html><head><meta charset="utf-8"></head>'
    path.write_text(f'{head}<body><pre id="found"></pre><script>{script}</script>{boxes}</body></html>', "utf-8")
    dom = _chromium(["--virtual-time-budget=20000", "--dump-dom", f"file://{path.absolute()}"], directory)
    match = re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)
    assert match is not None, dom[:500]
    found = json.loads(unescape(match[1]))
    assert "failed" not in found, found
    return found


def _chromium(arguments: list[str], directory: Path) -> str:
    assert CHROMIUM is not None
    profile = f"--user-data-dir={directory / 'profile'}"
    fixed = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage", profile]
    done = subprocess.run([CHROMIUM, *fixed, *arguments], capture_output=True, check=True, timeout=120)
    return done.stdout.decode("utf-8", "replace")
