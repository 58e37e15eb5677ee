"""Publishes to a data set of the Hugging Face Hub: the files go to its storage first, then one commit adds them all.

A commit is atomic, so there is no unfinished manifest: readers of the branch find the earlier publication until the
commit, and then the new one. The commit is refused if another one was made since the manifest was read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from nmt_prep.base.digests import sha256_of
from nmt_prep.base.errors import ConfigError, OutputError
from nmt_prep.base.runtime import needed_extra
from nmt_prep.config import PublishSettings
from nmt_prep.corpora.sources.hub import EXTRA, endpoint, hub_address, hub_api, hub_errors, is_commit
from nmt_prep.corpora.sources.objects import ObjectStore
from nmt_prep.corpora.sources.transfers import Clock, repeated
from nmt_prep.stages.publish.publication import (
    MANIFEST,
    Content,
    Files,
    Publication,
    Publisher,
    check_foreign,
    read_publication,
)

_T = TypeVar("_T")


def hub_url_problem(url: str) -> str:
    """Returns why an ``hf://`` URL cannot be published to, or an empty text if it can."""
    try:
        hub = hub_address(url)
    except ConfigError:
        hub = None
    if hub is None or hub.kind != "datasets":
        return f"{url} is no data set: publish to hf://datasets/<owner>/<name>[@<branch>][/<path>]"
    if is_commit(hub.revision):
        return f"{url} is a commit, which never changes; name a branch"
    return ""


class HubPublisher(Publisher):
    """Publishes to a branch of a data set."""

    def __init__(self, settings: PublishSettings, clock: Clock | None = None) -> None:
        if problem := hub_url_problem(settings.url):
            raise ConfigError(f"publish.url: {problem}")
        hub = hub_address(settings.url)
        assert hub is not None
        self.url = settings.url
        self._hub = hub
        self._api = hub_api(self.url)
        self._library = needed_extra("huggingface_hub", EXTRA, self.url)
        self._library.utils.disable_progress_bars()
        self._store = ObjectStore(settings.url, settings.options, OutputError, clock)
        self._clock = clock or Clock()

    def announce(self, fingerprint: str, wanted: Files) -> tuple[int, list[str]]:
        del fingerprint
        self._head()  # refuses a repository or branch that does not exist
        before, sizes = self._before(), self._store.sizes()
        check_foreign(self.url, wanted, sizes, before.files)
        if before.files == wanted:
            return before.number, []
        return before.number + 1, _missing(wanted, before, sizes)

    def upload(self, path: Path, name: str, tick: Callable[[int], None]) -> str:
        digest, addition = _digest(path), self._addition(name, path)
        self._repeated(lambda: self._api.preupload_lfs_files(additions=[addition], **self._branch))
        tick(path.stat().st_size)
        return digest

    def holds(self, name: str, size: int) -> bool:
        return True  # the commit uploads again files that the hub has dropped meanwhile

    def is_current(self, number: int, fingerprint: str, wanted: Files) -> bool:
        del fingerprint
        before = self._before()
        return before.number == number - 1 or before == Publication(number, dict(wanted))

    def complete(self, number: int, fingerprint: str, wanted: Files, contents: Mapping[str, Content]) -> None:
        head, sizes = self._head(), self._store.sizes()
        before = self._before()
        publication = Publication(number, dict(wanted))
        if before == publication:
            return
        if before.number != number - 1:
            raise self._interference()
        names = _missing(wanted, before, sizes)
        for name in names:
            if (digest := _digest(contents[name])) != wanted[name].sha256:
                raise OutputError(
                    f"{name} was changed after it was made (SHA-256 {digest}); run again with --verify to rebuild it"
                )
        operations = [self._addition(name, contents[name]) for name in names]
        gone = (name for name in sorted(before.files.keys() - wanted.keys()) if name in sizes)
        operations += [self._library.CommitOperationDelete(path_in_repo=self._path(name)) for name in gone]
        operations.append(self._addition(MANIFEST, publication.as_bytes()))

        def commit() -> None:
            message = f"Publish {len(wanted)} files"
            try:
                self._api.create_commit(
                    operations=operations, commit_message=message, parent_commit=head, **self._branch
                )
            except Exception:
                if self._before() != publication:  # else the commit was made, but its answer was lost
                    raise

        self._repeated(commit)
        there = self._store.sizes()
        absent = sorted(name for name, file in wanted.items() if there.get(name) != file.size)
        if absent:
            raise OutputError(
                f"{self.url}: the commit lacks {absent[0]} and {len(absent) - 1} others; check whether a .gitignore of "
                "the data set names them"
            )

    @property
    def _branch(self) -> dict[str, Any]:
        return {"repo_id": self._hub.repository, "repo_type": "dataset", "revision": self._hub.revision or "main"}

    def _head(self) -> str:
        return str(self._repeated(lambda: self._api.repo_info(**self._branch)).sha)

    def _before(self) -> Publication:
        """Returns the publication that is there now; one with the number 0 if there is none."""
        return read_publication(self._store, OutputError) or Publication(0, {})

    def _path(self, name: str) -> str:
        return f"{self._hub.path.strip('/')}/{name}".lstrip("/")

    def _addition(self, name: str, content: Content) -> Any:
        source = content if isinstance(content, bytes) else str(content)
        return self._library.CommitOperationAdd(path_in_repo=self._path(name), path_or_fileobj=source)

    def _interference(self) -> OutputError:
        return OutputError(f"{self.url}: another run publishes to the same url; give each run its own")

    def _repeated(self, request: Callable[[], _T]) -> _T:
        def worded() -> _T:
            with hub_errors(self._hub, OutputError):
                try:
                    return request()
                except self._library.errors.HfHubHTTPError as error:
                    if (refusal := self._refusal(error)) is not None:
                        raise refusal from error
                    raise

        return repeated(worded, self._store.retries, self._clock, OutputError)

    def _refusal(self, error: Any) -> OutputError | None:
        """Returns the error for a refused change of the data set; None for errors that any request can have."""
        errors = self._library.errors
        status = None if error.response is None else error.response.status_code
        if isinstance(error, errors.RevisionNotFoundError):
            return None
        if isinstance(error, errors.RepositoryNotFoundError):
            return OutputError(
                f"{self.url}: there is no data set {self._hub.repository} on {endpoint()} that the token of this "
                "machine may see; create it first, private or public as it should be, or set HF_TOKEN"
            )
        if status in {401, 403}:
            return OutputError(
                f"{self.url}: access denied; set HF_TOKEN to a token that may write to {self._hub.repository}"
            )
        if status == 412:
            return self._interference()
        if status is not None and 400 <= status < 500 and status not in {408, 429}:
            said = str(getattr(error, "server_message", None) or "no reason given")[:200]
            return OutputError(f"{self.url}: the hub rejects this (status {status}: {said})")
        return None


def _missing(wanted: Files, before: Publication, sizes: Mapping[str, int]) -> list[str]:
    """Returns the names of the files that the last commit does not have."""
    return [name for name, file in wanted.items() if before.files.get(name) != file or sizes.get(name) != file.size]


def _digest(content: Content) -> str:
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    try:
        return sha256_of(content)
    except OSError as error:
        raise OutputError(f"cannot read {content}: {error.strerror or error}; run again to recreate it") from error
