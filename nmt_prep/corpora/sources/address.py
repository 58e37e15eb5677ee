"""Parses a corpus's address: its scheme, its path, its file name, and its form without secrets."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from nmt_prep.base.errors import ConfigError
from nmt_prep.config.section import is_hub_id
from nmt_prep.corpora.sources.hub import hub_address

CLOUD_SCHEMES = {"s3", "gs"}  # Schemes that fsspec opens

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SECRET = re.compile(r"token|key|secret|sig|pass|pwd|auth|cred|session", re.IGNORECASE)
_HIDDEN = "***"


def scheme_of(address: str) -> str:
    """Returns the scheme of a URL in lower case, ``opus`` for an OPUS ID, ``file`` for a path.

    ``hf`` is the scheme for files and whole repositories (see `hub`), but not for ``hf:`` IDs.
    """
    match = _SCHEME.match(address)
    if is_hub_id(address):
        raise ConfigError(
            f"{address} names a whole repository of the Hugging Face Hub; name a file of it: hf://datasets/<owner>/"
            "<name>/<path>"
        )
    if match is None:
        return "opus" if address.startswith("opus:") else "file"
    scheme = match[1].lower()
    if hub_address(address) is not None:
        return "hf"
    if scheme not in {"http", "https", "file", *CLOUD_SCHEMES}:
        raise ConfigError(
            f"cannot fetch {shown(address)}: a url is http://, https://, s3://, gs://, hf://, file:///path, a path, "
            "or an ID of opus:, mtdata:, sacrebleu: or hf:"
        )
    if scheme != "file" and not _has_host(address):
        raise ConfigError(f"cannot fetch {shown(address)}: this is not a URL; correct it in the config")
    return scheme


def local_path(address: str, base_dir: Path) -> Path | None:
    """Returns the path of a path or ``file:`` URL; None for other addresses, and for ``hf:`` IDs."""
    if is_hub_id(address) or scheme_of(address) != "file":
        return None
    if not address.lower().startswith("file:"):
        return base_dir / address
    parts = urlsplit(address)
    if parts.netloc not in {"", "localhost"}:
        raise ConfigError(f"cannot fetch {address}: a file: URL is file:///path, without the name of a machine")
    return base_dir / unquote(parts.path)


def file_name(address: str) -> str:
    """Returns the last part of an address's path, as a safe file name."""
    if address.startswith("opus:"):
        corpus, _, pair = address.removeprefix("opus:").partition("/")
        path = f"{corpus}-{pair.replace('/', '-')}.txt.{'zip' if '-' in pair.rpartition('/')[2] else 'gz'}"
    elif (hub := hub_address(address)) is not None:
        path = hub.path or f"{hub.repository.replace('/', '-')}.json"
    else:
        path = _path_of(address) if "://" in address else address
    return re.sub(r"[^A-Za-z0-9._+-]", "_", path.rstrip("/").rpartition("/")[2]).lstrip(".")[-100:] or "download"


def shown(address: str) -> str:
    """Returns an address without user, password and possible secrets, for messages, manifests and lock files.

    A query value is hidden if its name suggests a secret, or if it is as long as a signature.
    """
    if _SCHEME.match(address) is None:
        return address
    try:
        parts = urlsplit(address)
    except ValueError:
        return f"{address.partition('://')[0]}://{_HIDDEN}"
    host = parts.netloc.rpartition("@")[2]
    query = "&".join(_without_secret(field) for field in parts.query.split("&")) if parts.query else ""
    return urlunsplit((parts.scheme, host, parts.path, query, ""))


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def _path_of(url: str) -> str:
    try:
        return unquote(urlsplit(url).path)
    except ValueError:
        return ""


def _without_secret(field: str) -> str:
    name, equals, value = field.partition("=")
    secret = bool(_SECRET.search(name)) or len(value) >= 32 or (not equals and len(name) >= 32)
    if not secret:
        return field
    return f"{name}={_HIDDEN}" if equals else _HIDDEN
