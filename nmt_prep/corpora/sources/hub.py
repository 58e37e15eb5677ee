"""Addresses on the Hugging Face Hub, and requests to it by the library huggingface_hub.

A config names a repository as ``hf:owner/name[/config][@revision]``. Everywhere else addresses follow
huggingface_hub: ``hf://datasets/owner/name[@revision][/path]`` for data sets, and without ``datasets/`` for models.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias
from urllib.parse import quote, unquote

from nmt_prep.base.errors import ConfigError, DownloadError, NmtPrepError
from nmt_prep.base.runtime import needed_extra
from nmt_prep.corpora.sources.transfers import TransientError

EXTRA = "huggingface"  # The extra that installs huggingface_hub

ENDPOINT = "https://huggingface.co"
ENDPOINT_VARIABLE = "HF_ENDPOINT"  # Environment variable with the URL of another hub

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
    """A repository of the hub, or a file in it."""

    kind: Kind  # kind of the repository
    repository: str  # `owner/name`
    revision: str | None = None  # a branch, a tag or a commit; None for the main branch
    path: str = ""  # path of a file; empty for the repository itself

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

    @property
    def selector(self) -> dict[str, Any]:
        """The arguments of huggingface_hub that name the repository and the revision."""
        return {"repo_id": self.repository, "repo_type": self.kind.removesuffix("s"), "revision": self.revision}

    def at(self, commit: str, path: str = "") -> HubAddress:
        """Returns the address of the repository, or of one of its files, at a commit."""
        return replace(self, revision=commit, path=path)


def hub_address(address: str) -> HubAddress | None:
    """Parses an ``hf://`` address; returns None for any other address."""
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
    """Returns the repository that an ID such as ``hf:owner/name/config@revision`` names, and the config."""
    match = _ID.fullmatch(hub_id)
    if match is None or (kind == "models" and match["config"] is not None):
        parts, example = (
            ("<owner>/<name>[/<config>][@<revision>]", "Helsinki-NLP/opus-100/en-zh")
            if kind == "datasets"
            else ("<owner>/<name>[@<revision>]", "facebook/nllb-200-distilled-600M")
        )
        raise ConfigError(f"{hub_id}: an ID on the Hugging Face Hub is hf:{parts}, such as hf:{example}")
    return HubAddress(kind, match["repository"], match["revision"]), match["config"]


def files_of(address: str) -> str:
    """Returns the beginning of all addresses of a repository's files, at any commit."""
    hub = hub_address(address)
    return str(HubAddress(hub.kind, hub.repository)) + "@" if hub else ""


def is_commit(revision: str | None) -> bool:
    """Returns True if a revision is a whole commit ID, which never changes its content."""
    return revision is not None and _COMMIT.fullmatch(revision) is not None


def endpoint() -> str:
    """Returns the URL of the hub: ``$HF_ENDPOINT``, or else the public hub."""
    return (os.environ.get(ENDPOINT_VARIABLE) or ENDPOINT).rstrip("/")


def token() -> str | None:
    """Returns the user's token, as huggingface_hub finds it; None without one."""
    return needed_extra("huggingface_hub", EXTRA, "the Hugging Face Hub").get_token()  # type: ignore[no-any-return]


def hub_api(address: str) -> Any:
    """Returns a client of the hub."""
    library = needed_extra("huggingface_hub", EXTRA, address)
    return library.HfApi(endpoint=endpoint(), token=library.get_token(), library_name="nmt_prep")


def storage_url(hub: HubAddress, seconds: float) -> tuple[str, str | None]:
    """Asks the hub where a file is; returns the URL, and the token if the URL is on the hub itself."""
    with hub_errors(hub):
        api = hub_api(str(hub))
        url: str = api.get_hf_file_metadata(url=hub.file_url(), timeout=seconds).location
    return url, api.token if url.startswith(f"{endpoint()}/") else None


@contextmanager
def hub_errors(hub: HubAddress, kind: type[NmtPrepError] = DownloadError) -> Iterator[None]:
    """Converts the errors of huggingface_hub, whose messages have many lines, to errors with advice."""
    try:
        yield
    except NmtPrepError:
        raise
    except Exception as error:  # also errors of its HTTP library
        raise _refusal(hub, error, kind) from error


def _refusal(hub: HubAddress, error: Exception, kind: type[NmtPrepError]) -> NmtPrepError:
    errors = needed_extra("huggingface_hub.errors", EXTRA, str(hub))
    what = "data set" if hub.kind == "datasets" else "model"
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, errors.GatedRepoError):
        return kind(
            f"{hub}: access to this {what} is granted on request: accept its conditions at {hub.page}, and set "
            "HF_TOKEN to a token of that account"
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return kind(f"{hub}: the {what} has no revision {hub.revision or 'main'}; {hub.page} lists them")
    if isinstance(error, errors.EntryNotFoundError):
        return kind(f"{hub}: there is no such file; {hub.page} lists the files of the {what}")
    if isinstance(error, errors.RepositoryNotFoundError) or status in {401, 403, 404}:
        private = "the token of this machine gives no access to it" if token() else "it is private: set HF_TOKEN"
        return kind(f"{hub}: there is no {what} {hub.repository} on {endpoint()}, or {private}")
    why = (
        f"status {status}" if status else type(error.__cause__ or error).__name__
    )  # uploads wrap errors of the HTTP library
    return TransientError(f"{hub}: the request failed ({why}); check the network, and run again")


def _quoted_revision(revision: str) -> str:
    return revision if re.fullmatch(r"refs/(convert|pr)/[^/]+", revision) else quote(revision, safe="")
