"""Addresses on the Hugging Face Hub: what they name, their URLs, and the token that goes with the requests.

A config names a repository as ``hf:owner/name[/config][@revision]``. Everywhere else addresses are those of
huggingface_hub: ``hf://datasets/owner/name[@revision][/path]`` for data sets, and without ``datasets/`` for models.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import quote, unquote

from nmt_prep.errors import ConfigError
from nmt_prep.sources.timing import RefusedError

ENDPOINT = "https://huggingface.co"
ENDPOINT_VARIABLE = "HF_ENDPOINT"
"""Environment variable with the URL of another hub."""

Kind: TypeAlias = Literal["datasets", "models"]

_PART = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_ID = re.compile(rf"hf:(?P<repository>{_PART}/{_PART})(/(?P<config>[^/@\s]+))?(@(?P<revision>[^@\s]+))?")
_ADDRESS = re.compile(
    rf"hf://((?P<kind>datasets/)|(?!datasets/))(?P<repository>{_PART}/{_PART})"
    r"(@(?P<revision>refs/(convert|pr)/[^/@\s]+|[^/@\s]+))?(/(?P<path>.+))?"
)
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class HubAddress:
    """A repository of the hub, or a file in it.

    Attributes:
        kind: kind of the repository.
        repository: ``owner/name``.
        revision: a branch, a tag or a commit; None for the main branch.
        path: path of a file; empty for the repository itself.
    """

    kind: Kind
    repository: str
    revision: str | None = None
    path: str = ""

    def __str__(self) -> str:
        revision = "" if self.revision is None else f"@{_quoted_revision(self.revision)}"
        path = f"/{self.path}" if self.path else ""
        return f"hf://{self._prefix}{self.repository}{revision}{path}"

    @property
    def _prefix(self) -> str:
        return "datasets/" if self.kind == "datasets" else ""

    @property
    def page(self) -> str:
        """URL of the repository's page."""
        return f"{endpoint()}/{self._prefix}{self.repository}"

    def file_url(self) -> str:
        """Returns the URL of the file."""
        return f"{self.page}/resolve/{quote(self.revision or 'main', safe='')}/{quote(self.path)}"

    def info_url(self) -> str:
        """Returns the URL of the description of the repository at the revision."""
        revision = "" if self.revision is None else f"/revision/{quote(self.revision, safe='')}"
        return f"{endpoint()}/api/{self.kind}/{self.repository}{revision}"

    def tree_url(self) -> str:
        """Returns the URL of the list of all files at the revision."""
        assert self.revision is not None
        return f"{endpoint()}/api/{self.kind}/{self.repository}/tree/{quote(self.revision, safe='')}?recursive=true"

    def at(self, commit: str, path: str = "") -> HubAddress:
        """Returns the address of the repository, or of a file in it, at a commit."""
        return replace(self, revision=commit, path=path)


def hub_address(address: str) -> HubAddress | None:
    """Parses an ``hf://`` address; returns None for any other address.

    Raises:
        ConfigError: it is malformed.
    """
    if not address.startswith("hf://"):
        return None
    match = _ADDRESS.fullmatch(address)
    if match is None or ".." in (match["path"] or "").split("/"):
        raise ConfigError(
            f"{address}: an address of a file on the Hugging Face Hub is "
            "hf://datasets/<owner>/<name>[@<revision>]/<path> for data sets, and "
            "hf://<owner>/<name>[@<revision>]/<path> for models"
        )
    revision = None if match["revision"] is None else unquote(match["revision"])
    return HubAddress("datasets" if match["kind"] else "models", match["repository"], revision, match["path"] or "")


def is_repository(address: str) -> bool:
    """Returns True for an ``hf://`` address of a whole repository."""
    hub = hub_address(address)
    return hub is not None and not hub.path


def repository_address(hub_id: str, kind: Kind) -> tuple[HubAddress, str | None]:
    """Returns the repository that an id such as ``hf:owner/name/config@revision`` names, and the config.

    Raises:
        ConfigError: it is malformed.
    """
    match = _ID.fullmatch(hub_id)
    if match is None or (kind == "models" and match["config"] is not None):
        parts, example = (
            ("<owner>/<name>[/<config>][@<revision>]", "Helsinki-NLP/opus-100/en-zh")
            if kind == "datasets"
            else ("<owner>/<name>[@<revision>]", "facebook/nllb-200-distilled-600M")
        )
        raise ConfigError(f"{hub_id}: an id on the Hugging Face Hub is hf:{parts}, such as hf:{example}")
    return HubAddress(kind, match["repository"], match["revision"]), match["config"]


def files_of(address: str) -> str:
    """Returns the beginning of the addresses of a repository's files at any commit."""
    hub = hub_address(address)
    return str(HubAddress(hub.kind, hub.repository)) + "@" if hub else ""


def is_commit(revision: str | None) -> bool:
    """Returns True if a revision is a whole commit id, which never changes its content."""
    return revision is not None and _COMMIT.fullmatch(revision) is not None


def endpoint() -> str:
    """Returns the URL of the hub: ``$HF_ENDPOINT``, else that of the public one."""
    return (os.environ.get(ENDPOINT_VARIABLE) or ENDPOINT).rstrip("/")


def token() -> str | None:
    """Returns the user's token: ``$HF_TOKEN``, else the one that ``hf auth login`` has saved; None without any.

    The file of saved tokens is found as huggingface_hub finds it, from ``HF_TOKEN_PATH``, ``HF_HOME`` and
    ``XDG_CACHE_HOME``.
    """
    if given := (os.environ.get("HF_TOKEN") or os.environ.get("HUGGING_FACE_HUB_TOKEN") or "").strip():
        return given
    try:
        return _token_file().read_text("utf-8").strip() or None
    except (OSError, ValueError):
        return None


@contextmanager
def refusals_worded(hub: HubAddress, shown: str) -> Iterator[None]:
    """Converts the errors of refused requests to those that say in terms of the hub what to do.

    Args:
        hub: the requested repository or file.
        shown: the address in the message.

    Raises:
        RefusedError: a request was refused.
    """
    try:
        yield
    except RefusedError as error:
        raise RefusedError(_refusal(hub, shown, error), error.status, error.headers) from error


def _refusal(hub: HubAddress, shown: str, error: RefusedError) -> str:
    what = "data set" if hub.kind == "datasets" else "model"
    code = error.headers.get("X-Error-Code", "")
    if code == "GatedRepo":
        return (
            f"{shown}: access to this {what} is granted on request: accept its conditions at {hub.page}, and set "
            "HF_TOKEN to a token of that account"
        )
    if code == "RevisionNotFound":
        return f"{shown}: the {what} has no revision {hub.revision or 'main'}; {hub.page} lists them"
    if code == "EntryNotFound" or (error.status == 404 and hub.path and not code):
        return f"{shown}: there is no such file; {hub.page} lists those of the {what}"
    if error.status in {401, 403, 404}:
        private = "the token of this machine gives no access to it" if token() else "it is private: set HF_TOKEN"
        return f"{shown}: there is no {what} {hub.repository} on {endpoint()}, or {private}"
    return str(error)


def _quoted_revision(revision: str) -> str:
    return revision if re.fullmatch(r"refs/(convert|pr)/[^/]+", revision) else quote(revision, safe="")


def _token_file() -> Path:
    if path := os.environ.get("HF_TOKEN_PATH"):
        return Path(path).expanduser()
    if home := os.environ.get("HF_HOME"):
        return Path(home).expanduser() / "token"
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "huggingface" / "token"
