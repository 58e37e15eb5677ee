"""A stand-in for the Hugging Face Hub: its HTTP API on loopback, and the storage of large files on another port.

Written from the behaviour of the public API as huggingface_hub uses it. Files of ``LARGE`` bytes and more, and Parquet
files, are large: the hub redirects to the storage for them, with a signed URL.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import yaml

LARGE = 2000
TOKEN = "hf_secretsecretsecret"


@dataclass
class Repository:
    """A repository: ``commits`` has the files of each commit, ``branches`` the commit of each branch and tag."""

    gated: bool = False
    private: bool = False
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)

    def commit(self, files: dict[str, bytes], branch: str = "main", message: str = "files") -> str:
        """Makes a commit with exactly these files, and returns its ID."""
        number = f"{len(self.commits)} {branch} {sorted(files)}"
        commit = hashlib.sha1(number.encode()).hexdigest()
        self.commits[commit], self.branches[branch] = dict(files), commit
        self.messages.append(message)
        return commit

    def at(self, revision: str) -> str | None:
        return self.branches.get(revision, revision if revision in self.commits else None)

    def head(self, branch: str = "main") -> dict[str, bytes]:
        return self.commits[self.branches[branch]]


@dataclass
class Hub:
    """The stand-in.

    Attributes:
        url: value of HF_ENDPOINT.
        storage_url: URL of the storage of large files.
        repositories: by kind and name, such as ``datasets/owner/name``.
        asked: method and path of each request to the hub, in order.
        tokens: the authorization header of each request to the hub; None without one.
        stored: the same for requests to the storage.
        large: contents in the storage, by digest.
        page: number of files in one answer of a list.
        broken: paths that are answered with this status.
        damaging: the storage changes the last byte of each file that it sends.
    """

    url: str = ""
    storage_url: str = ""
    repositories: dict[str, Repository] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)
    stored: list[tuple[str, str | None]] = field(default_factory=list)
    large: dict[str, bytes] = field(default_factory=dict)
    page: int = 1000
    broken: dict[str, int] = field(default_factory=dict)
    damaging: bool = False

    def dataset(self, name: str, files: dict[str, bytes] | None = None, **options: Any) -> Repository:
        return self._repository(f"datasets/{name}", files, options)

    def model(self, name: str, files: dict[str, bytes] | None = None, **options: Any) -> Repository:
        return self._repository(f"models/{name}", files, options)

    def _repository(self, name: str, files: dict[str, bytes] | None, options: dict[str, Any]) -> Repository:
        repository = self.repositories[name] = Repository(**options)
        repository.commit({".gitattributes": b"*.parquet filter=lfs\n", **(files or {})})
        return repository

    def downloads(self) -> list[str]:
        """Returns the paths of the files whose place was asked for to download them, by name."""
        found = (re.fullmatch(r"HEAD .*/resolve/[^/]+/(.*)", each) for each in self.asked)
        return sorted(match[1] for match in found if match)


def is_large(path: str, content: bytes) -> bool:
    return path.endswith(".parquet") or len(content) >= LARGE


def _entry(path: str, content: bytes) -> dict[str, Any]:
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    entry: dict[str, Any] = {"type": "file", "oid": blob, "size": len(content), "path": path}
    if is_large(path, content):
        entry["lfs"] = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 133}
    return entry


class _Refused(Exception):  # noqa: N818
    def __init__(self, status: int, code: str = "", message: str = "refused") -> None:
        self.status, self.code, self.message = status, code, message


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    log_message: Callable[..., None] = lambda *_: None

    def do_GET(self) -> None:
        self._serve()

    def do_HEAD(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._note()
        try:
            status, headers, content = self._answer(body)
        except _Refused as refused:
            status, content = refused.status, json.dumps({"error": refused.message}).encode()
            headers = {"Content-Type": "application/json", "X-Error-Message": refused.message}
            headers |= {"X-Error-Code": refused.code} if refused.code else {}
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if status == 200 and asked:
            start, end = int(asked[1]), min(int(asked[2] or len(content)), len(content) - 1)
            headers["Content-Range"] = f"bytes {start}-{end}/{len(content)}"
            status, content = 206, content[start : end + 1]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
        self.wfile.flush()

    def _note(self) -> None:
        raise NotImplementedError

    def _answer(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        raise NotImplementedError


class _StorageHandler(_Handler):
    """The storage of large files; whoever has a signed URL has access."""

    def _note(self) -> None:
        self.hub.stored.append((f"{self.command} {urlsplit(self.path).path}", self.headers.get("Authorization")))

    def _answer(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        parts = urlsplit(self.path)
        digest = parts.path.rpartition("/")[2]
        if "Signature" not in parse_qs(parts.query):
            raise _Refused(403)
        if self.command == "PUT":
            if hashlib.sha256(body).hexdigest() != digest:
                raise _Refused(400)
            self.hub.large[digest] = body
            return 200, {}, b""
        content = self.hub.large[digest]
        content = content[:-1] + b"?" if self.hub.damaging else content
        return 200, {"ETag": f'"{digest[:32]}"', "Content-Type": "binary/octet-stream"}, content


class _HubHandler(_Handler):
    """The hub itself."""

    def _note(self) -> None:
        if self.path == "/api/agent-harnesses":  # huggingface_hub asks for it once in a process, without the token
            return
        self.hub.asked.append(f"{self.command} {self.path}")
        self.hub.tokens.append(self.headers.get("Authorization"))

    def _answer(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        parts = urlsplit(self.path)
        for path, status in self.hub.broken.items():
            if re.search(path, self.path):
                raise _Refused(status)
        if parts.path == "/api/validate-yaml":
            return self._validated(json.loads(body))
        if match := re.fullmatch(r"/api/(datasets|models)/([^/]+/[^/]+)(/.*)?", parts.path):
            kind, name, rest = match[1], match[2], match[3] or ""
            return self._api(self._repository(kind, name), f"{kind}/{name}", rest, parse_qs(parts.query), body)
        if match := re.fullmatch(r"/api/resolve-cache/(\w+)/([^/]+/[^/]+)/(\w+)/(.*)", parts.path):
            repository = self._repository(match[1], match[2])
            content = repository.commits[match[3]][unquote(match[4])]
            return 200, {"ETag": f'"{hashlib.sha1(content).hexdigest()}"', "X-Repo-Commit": match[3]}, content
        if match := re.fullmatch(r"/(datasets/)?([^/]+/[^/]+)/resolve/([^/]+)/(.*)", parts.path):
            kind = "datasets" if match[1] else "models"
            return self._resolve(kind, match[2], unquote(match[3]), unquote(match[4]))
        if match := re.fullmatch(r"/(datasets/)?([^/]+/[^/]+)\.git/info/lfs/objects/batch", parts.path):
            self._writer()
            return self._batch(json.loads(body))
        raise _Refused(404)

    def _repository(self, kind: str, name: str) -> Repository:
        repository, known = self.hub.repositories.get(f"{kind}/{name}"), self._known()
        if repository is None or (repository.private and not known):
            raise _Refused(404 if known else 401, "RepoNotFound" if known else "", "Repository not found")
        if repository.gated and not known:
            raise _Refused(401, "GatedRepo", "Access to this dataset is restricted")
        return repository

    def _known(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def _writer(self) -> None:
        if not self._known():
            raise _Refused(401, "", "Invalid username or password.")

    def _api(
        self, repository: Repository, name: str, rest: str, query: dict[str, list[str]], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        _, verb, revision, *path = [*(unquote(part) for part in rest.split("/", 3)), "", ""][:4] if rest else [""] * 4
        if verb in {"", "revision"}:
            return self._info(repository, name, revision or "main")
        if verb == "tree":
            return self._tree(repository, rest, revision, "".join(path), query)
        if verb == "refs":
            listed = [
                {"name": each, "ref": f"refs/heads/{each}", "targetCommit": commit}
                for each, commit in repository.branches.items()
            ]
            return self._json({"branches": listed, "tags": [], "converts": []})
        if verb == "paths-info":
            return self._paths_info(repository, revision, body)
        self._writer()
        if verb == "preupload":
            return self._preupload(repository, revision, json.loads(body))
        if verb == "commit":
            return self._commit(repository, name, revision, [json.loads(line) for line in body.splitlines()])
        raise _Refused(404)

    def _json(self, value: object, **headers: str) -> tuple[int, dict[str, str], bytes]:
        return 200, {"Content-Type": "application/json", **headers}, json.dumps(value).encode()

    def _at(self, repository: Repository, revision: str) -> str:
        commit = repository.at(revision)
        if commit is None:
            raise _Refused(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return commit

    def _info(self, repository: Repository, name: str, revision: str) -> tuple[int, dict[str, str], bytes]:
        commit = self._at(repository, revision)
        card = repository.commits[commit].get("README.md", b"")
        header = re.match(r"---\n(.*?)\n---", card.decode(), re.DOTALL)
        repo_id = name.partition("/")[2]
        siblings = [{"rfilename": path} for path in repository.commits[commit]]
        info = {"_id": "1", "id": repo_id, "sha": commit, "siblings": siblings, "private": repository.private}
        info |= {"gated": repository.gated, "disabled": False, "tags": [], "likes": len(self.hub.asked), "downloads": 1}
        return self._json({**info, "cardData": yaml.safe_load(header[1]) if header else None})

    def _tree(
        self, repository: Repository, rest: str, revision: str, below: str, query: dict[str, list[str]]
    ) -> tuple[int, dict[str, str], bytes]:
        files = repository.commits[self._at(repository, revision)]
        prefix = f"{below}/" if below else ""
        entries = [_entry(path, content) for path, content in files.items() if path.startswith(prefix)]
        folders = {path.rpartition("/")[0] for path in files if path.startswith(prefix)} - {"", below}
        if below and not entries:
            raise _Refused(404, "EntryNotFound", f"{below} does not exist")
        if query.get("recursive", ["false"])[0].lower() not in {"true", "1"}:
            folders = {
                prefix + path[len(prefix) :].partition("/")[0]
                for path in files
                if path.startswith(prefix) and "/" in path[len(prefix) :]
            }
            entries = [entry for entry in entries if "/" not in entry["path"][len(prefix) :]]
        entries += [{"type": "directory", "oid": "0" * 40, "size": 0, "path": folder} for folder in folders]
        entries.sort(key=lambda entry: entry["path"], reverse=True)
        start = int(query.get("cursor", ["0"])[0])
        page, end = entries[start : start + self.hub.page], start + self.hub.page
        address = urlsplit(self.path)
        following = f"{self.hub.url}{address.path}?recursive=true&cursor={end}"
        return self._json(page, **({"Link": f'<{following}>; rel="next"'} if end < len(entries) else {}))

    def _paths_info(self, repository: Repository, revision: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        asked = parse_qs(body.decode())["paths"] if b"paths=" in body else json.loads(body)["paths"]
        files = repository.commits[self._at(repository, revision)]
        found = []
        for path in asked:
            if path in files:
                found.append(_entry(path, files[path]))
            elif any(each.startswith(f"{path}/") for each in files):
                found.append({"type": "directory", "oid": "0" * 40, "size": 0, "path": path})
        return self._json(found)

    def _resolve(self, kind: str, name: str, revision: str, path: str) -> tuple[int, dict[str, str], bytes]:
        repository = self._repository(kind, name)
        commit = self._at(repository, revision)
        if path not in repository.commits[commit]:
            raise _Refused(404, "EntryNotFound", "Entry not found")
        content = repository.commits[commit][path]
        headers = {"X-Repo-Commit": commit, "ETag": f'"{hashlib.sha1(content).hexdigest()}"'}
        if not is_large(path, content):
            return 307, {**headers, "Location": f"/api/resolve-cache/{kind}/{name}/{commit}/{path}"}, b""
        digest = hashlib.sha256(content).hexdigest()
        self.hub.large[digest] = content
        signed = f"{self.hub.storage_url}/repos/{digest}?Signature=abc&Key-Pair-Id=K24J24Z295AEI9"
        return (
            302,
            {**headers, "X-Linked-Size": str(len(content)), "X-Linked-Etag": f'"{digest}"', "Location": signed},
            b"",
        )

    def _validated(self, asked: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        header = re.match(r"---\n(.*?)\n---", asked["content"], re.DOTALL)
        value = yaml.safe_load(header[1]) if header else {}
        if not isinstance(value, dict):
            return 400, {}, json.dumps({"errors": [{"message": "not a mapping"}], "warnings": []}).encode()
        return self._json({"errors": [], "warnings": []})

    def _preupload(
        self, repository: Repository, revision: str, asked: dict[str, Any]
    ) -> tuple[int, dict[str, str], bytes]:
        files = repository.commits[self._at(repository, revision)]
        return self._json(
            {
                "files": [
                    {
                        "path": file["path"],
                        "uploadMode": "lfs" if is_large(file["path"], b" " * file["size"]) else "regular",
                        "shouldIgnore": False,
                        "oid": _entry(file["path"], files[file["path"]])["oid"] if file["path"] in files else None,
                    }
                    for file in asked["files"]
                ]
            }
        )

    def _batch(self, asked: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        objects = []
        for each in asked["objects"]:
            upload = {"href": f"{self.hub.storage_url}/repos/{each['oid']}?Signature=abc"}
            known = each["oid"] in self.hub.large
            objects.append({**each, "authenticated": True, **({} if known else {"actions": {"upload": upload}})})
        return self._json({"transfer": "basic", "objects": objects})

    def _commit(
        self, repository: Repository, name: str, revision: str, lines: list[dict[str, Any]]
    ) -> tuple[int, dict[str, str], bytes]:
        parent = self._at(repository, revision)
        header = lines[0]["value"]
        if header.get("parentCommit", parent) != parent:
            raise _Refused(412, "", "A commit has happened since. Please refresh and try again.")
        files = dict(repository.commits[parent])
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.hub.large[value["oid"]]
            elif line["key"] == "deletedFile":
                del files[value["path"]]
            else:
                raise _Refused(400)
        commit = repository.commit(files, revision, header["summary"])
        url = f"{self.hub.url}/{name}/commit/{commit}"
        return self._json({"success": True, "commitOid": commit, "commitUrl": url, "pullRequestUrl": None})


@contextmanager
def running_hub() -> Iterator[Hub]:
    """Runs a hub without repositories."""
    hub = Hub()
    servers = [
        ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (kind,), {"hub": hub}))
        for kind in (_HubHandler, _StorageHandler)
    ]
    for server in servers:
        server.daemon_threads = True
    hub.url, hub.storage_url = (f"http://127.0.0.1:{server.server_port}" for server in servers)
    threads = [threading.Thread(target=server.serve_forever, args=(0.01,)) for server in servers]
    for thread in threads:
        thread.start()
    try:
        yield hub
    finally:
        for server, thread in zip(servers, threads, strict=True):
            server.shutdown()
            thread.join()
            server.server_close()
