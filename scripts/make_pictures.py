"""Takes the pictures of the docs, docs/pictures/*.png, from pages of the tutorial's run, in light and dark colors.

``social.png``, which other sites show beside a link, has the name and the report. This needs Chromium and a font with
Chinese characters (Debian: chromium, fonts-noto-cjk).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[1]
PICTURES = REPOSITORY / "docs" / "pictures"
MAX_BYTES = 150_000  # pages load fast, and the repository stays small


class Picture(NamedTuple):
    """A part of a page."""

    name: str
    page: str  # path in the directory of the run
    size: tuple[int, int]  # width and height in pixels
    script: str = ""  # JavaScript that shows the part


_MOVE_THRESHOLD = """
  const slider = document.querySelector('#cards input[aria-label*="length_ratio"][aria-label*="max"]');
  const exact = slider.nextSibling;
  exact.value = "6";
  exact.dispatchEvent(new Event("change"));
  document.querySelector(".notes").remove();
  const panel = document.getElementById("rules"), rule = slider.closest(".rule");  // a scrolled page would be cut
  panel.scrollTop += rule.getBoundingClientRect().top - panel.getBoundingClientRect().top - 120;
"""

ALL = (
    Picture("report", "report/index.html", (1100, 960)),
    Picture("try", "try.html", (1180, 640), _MOVE_THRESHOLD),
)

_SOCIAL = """<!DOCTYPE html><meta charset="utf-8"><style>
body { margin: 0; width: 1200px; height: 630px; overflow: hidden }
body { background: #1b2440; color: #fff; font-family: sans-serif }
main { position: absolute; left: 60px; top: 90px; width: 500px }
h1 { font-size: 84px; margin: 0 0 28px } p { font-size: 34px; line-height: 1.35; margin: 0 0 36px }
code { font: 24px monospace; background: #0e1428; padding: 14px 18px; border-radius: 8px }
img { position: absolute; left: 620px; top: 60px; width: 760px; border-radius: 10px }
</style><main><h1>nmt_prep</h1><p>Parallel corpora in,<br>training-ready batches out</p>
<code>nmt-prep run enzh.yaml</code></main><img alt="" src="PICTURE">"""


def take(picture: Picture, run: Path, chromium: str) -> None:
    """Writes a picture in both color schemes."""
    page = (run / picture.page).read_text("utf-8")
    page = page.replace("</body>", f"<script>addEventListener('load', () => {{{picture.script}}});</script></body>")
    for scheme in ("light", "dark"):
        shown = page.replace("(prefers-color-scheme: dark)", "all") if scheme == "dark" else page
        screenshot(shown, run / f"{picture.name}-{scheme}.html", picture.size, chromium)


def screenshot(page: str, copy: Path, size: tuple[int, int], chromium: str) -> None:
    """Writes a page to a file, and its picture to docs/pictures, with the file's name."""
    path = PICTURES / f"{copy.stem}.png"
    copy.write_text(page, "utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={size[0]},{size[1]}"]
    command = [chromium, *options, f"--screenshot={path}", copy.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    if path.stat().st_size > MAX_BYTES:
        sys.exit(f"{path} has {path.stat().st_size:,} bytes; at most {MAX_BYTES:,} are allowed")


def main() -> None:
    """Runs the tutorial's config, and takes all pictures."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("Chromium was not found (Debian: apt-get install chromium fonts-noto-cjk)")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        run = Path(directory) / "tutorial"
        program, config = [sys.executable, "-m", "nmt_prep"], str(REPOSITORY / "configs" / "tutorial.yaml")
        place = ["--set", f"output_dir={run}"]
        subprocess.run([*program, "run", config, "--quiet", *place], check=True)
        subprocess.run([*program, "try", config, *place, "--output", str(run / "try.html")], check=True)
        for picture in ALL:
            take(picture, run, chromium)
        page = _SOCIAL.replace("PICTURE", (PICTURES / "report-light.png").as_uri())
        screenshot(page, run / "social.html", (1200, 630), chromium)


main()
