"""Hooks of mkdocs: the site's title has the version, and each page names the picture for previews of links."""

from __future__ import annotations

import posixpath
from html import escape
from typing import Any

from nmt_prep import __version__

PICTURE = "pictures/social.png"


def on_config(config: Any) -> Any:
    """Adds the version to the title, which every page shows at its top."""
    config.site_name = f"{config.site_name} {__version__}"
    return config


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Adds the picture to a page; previews need its full address, so set ``site_url`` where the site is published."""
    relative = posixpath.relpath(PICTURE, posixpath.dirname(page.url) or ".")
    picture = f"{config.site_url}{PICTURE}" if config.site_url else relative
    values = {"og:title": page.title, "og:description": config.site_description, "og:image": picture}
    lines = [f'<meta property="{key}" content="{escape(str(value))}">' for key, value in values.items()]
    lines += ['<meta name="twitter:card" content="summary_large_image">', "</head>"]
    return output.replace("</head>", "\n".join(lines), 1)
