from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep.base.errors import ConfigError
from nmt_prep.corpora.sources.address import file_name, local_path, scheme_of, shown


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("a/b.tgz", "/base/a/b.tgz"),
        ("/abs/b.tgz", "/abs/b.tgz"),
        ("file:///abs/b%20c.tgz", "/abs/b c.tgz"),
        ("file://localhost/abs/b", "/abs/b"),
        ("a:b", "/base/a:b"),
        ("http://host/b", None),
        ("HTTPS://host/b", None),
        ("s3://bucket/b", None),
        ("opus:Books/v1/en-fr", None),
    ],
)
def test_local_path(url: str, path: str | None) -> None:
    assert local_path(url, Path("/base")) == (None if path is None else Path(path))


@pytest.mark.parametrize("url", ["ftp://host/a", "ftp://u:p@host/a", "sftp://host/a", "javascript://x"])
def test_other_schemes(url: str) -> None:
    with pytest.raises(ConfigError, match=rf"cannot fetch {url.replace('u:p@', '')}: a url is http://"):
        scheme_of(url)


@pytest.mark.parametrize(
    "url", ["http://", "http:///a", "http://u:p@[::1/a", "http://host:port/a", "https://host:99999/"]
)
def test_invalid_urls(url: str) -> None:
    with pytest.raises(ConfigError, match=r"^cannot fetch http.*: this is not a URL; correct it in the config"):
        scheme_of(url)


def test_a_file_of_another_machine() -> None:
    with pytest.raises(ConfigError, match=r"cannot fetch file://host/a: a file: URL is file:///path"):
        local_path("file://host/a", Path("/base"))


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://host/x/a%20b.tgz?download=1#top", "a_b.tgz"),
        ("http://host/", "download"),
        ("http://host/%2e%2e", "download"),
        ("http://host/a%2F..%2Fb", "b"),
        ("dir/ü.tsv.gz", "_.tsv.gz"),
        ("s3://bucket/x/a.zip", "a.zip"),
        ("opus:Books/v1/en-fr", "Books-v1-en-fr.txt.zip"),
        ("opus:Books/v1/en", "Books-v1-en.txt.gz"),
    ],
)
def test_file_name(url: str, name: str) -> None:
    assert file_name(url) == name


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("http://host/a?download=1", "http://host/a?download=1"),
        ("https://user:word@host:8080/a#top", "https://host:8080/a"),
        ("https://token@host/a", "https://host/a"),
        ("https://us@er:w@rd@host/a", "https://host/a"),
        ("https://host/a?page=1&access_token=x&API-Key=y", "https://host/a?page=1&access_token=***&API-Key=***"),
        ("https://host/a?X-Amz-Signature=0&X-Amz-Date=1", "https://host/a?X-Amz-Signature=***&X-Amz-Date=1"),
        (f"https://host/a?v={'z' * 32}&{'y' * 40}", "https://host/a?v=***&***"),
        ("http://user:word@[::1/a", "http://***"),
        ("dir/a@b", "dir/a@b"),
        ("s3://bucket/a", "s3://bucket/a"),
    ],
)
def test_shown(url: str, text: str) -> None:
    assert shown(url) == text
