"""Takes the pictures of the docs, docs/pictures/*.png, from pages of the tutorial's run, in light and dark colors.

This needs Chromium and a font with Chinese characters (Debian: chromium, fonts-noto-cjk).
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


_MOVE_LIMIT = """
  const slider = document.querySelector('#cards input[aria-label*="length_ratio"][aria-label*="max"]');
  const exact = slider.nextSibling;
  exact.value = "6";
  exact.dispatchEvent(new Event("change"));
  slider.closest(".rule").scrollIntoView({block: "center"});
"""

ALL = (
    Picture("report", "report/index.html", (1100, 960)),
    Picture("try", "try.html", (1180, 640), _MOVE_LIMIT),
)


def take(picture: Picture, run: Path, chromium: str) -> None:
    """Writes a picture in both color schemes."""
    page = (run / picture.page).read_text("utf-8")
    page = page.replace("</body>", f"<script>addEventListener('load', () => {{{picture.script}}});</script></body>")
    for scheme in ("light", "dark"):
        shown = page.replace("(prefers-color-scheme: dark)", "all") if scheme == "dark" else page
        copy, path = run / f"{picture.name}-{scheme}.html", PICTURES / f"{picture.name}-{scheme}.png"
        copy.write_text(shown, "utf-8")
        width, height = picture.size
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--window-size={width},{height}",
        ]
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


main()
