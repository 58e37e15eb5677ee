from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nmt_prep.base.errors import ConfigError, DownloadError
from nmt_prep.corpora.sources.address import file_name, local_path, scheme_of, shown
from nmt_prep.corpora.sources.hub import HubAddress, endpoint, files_of, hub_address, repository_address
from tests.corpora.sources.fetching import Scene, sha256
from tests.hub import TOKEN, Hub, running_hub

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    with running_hub() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("hf://datasets/owner/name", HubAddress("datasets", "owner/name")),
        ("hf://owner/name", HubAddress("models", "owner/name")),
        ("hf://datasets/owner/name@v1.0/a/b.txt", HubAddress("datasets", "owner/name", "v1.0", "a/b.txt")),
        (f"hf://owner/name@{COMMIT}/a", HubAddress("models", "owner/name", COMMIT, "a")),
        (
            "hf://datasets/owner/name@refs/convert/parquet/a/b",
            HubAddress("datasets", "owner/name", "refs/convert/parquet", "a/b"),
        ),
        ("hf://datasets/owner/name@a%2Fb/c", HubAddress("datasets", "owner/name", "a/b", "c")),
    ],
)
def test_addresses(address: str, expected: HubAddress) -> None:
    assert hub_address(address) == expected
    assert str(expected) == shown(address) == address
    assert scheme_of(address) == "hf"
    assert local_path(address, Path()) is None


@pytest.mark.parametrize("address", ["hf://", "hf://name", "hf://datasets/o/n@", "hf://o/n/../../x", "hf://o/n@a/../b"])
def test_malformed_addresses(address: str) -> None:
    with pytest.raises(ConfigError, match=r"an address of a file on the Hugging Face Hub is hf://datasets/<owner>/"):
        scheme_of(address)


def test_an_id_is_no_address_of_a_file() -> None:
    with pytest.raises(
        ConfigError, match=r"hf:o/n names a whole repository of the Hugging Face Hub; name a file of it"
    ):
        scheme_of("hf:o/n")


@pytest.mark.parametrize(
    ("hub_id", "address", "config"),
    [
        ("hf:o/n", "hf://datasets/o/n", None),
        ("hf:o/n/en-zh", "hf://datasets/o/n", "en-zh"),
        ("hf:o/n@refs/convert/parquet", "hf://datasets/o/n@refs/convert/parquet", None),
        (f"hf:o/n/a b@{COMMIT}".replace(" ", "_"), f"hf://datasets/o/n@{COMMIT}", "a_b"),
    ],
)
def test_ids(hub_id: str, address: str, config: str | None) -> None:
    repository, found = repository_address(hub_id, "datasets")
    assert (str(repository), found) == (address, config)


def test_names_of_files_and_repositories() -> None:
    assert file_name("hf://datasets/o/n@v1") == "o-n.json"
    assert file_name("hf://datasets/o/n@v1/data/train.parquet") == "train.parquet"
    assert files_of("hf://datasets/o/n@v1") == files_of("hf://datasets/o/n") == "hf://datasets/o/n@"


def test_urls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    assert endpoint() == "https://huggingface.co"
    data, model = HubAddress("datasets", "o/n", "refs/pr/1", "a b/c.gz"), HubAddress("models", "o/n", None, "a")
    assert data.file_url() == "https://huggingface.co/datasets/o/n/resolve/refs%2Fpr%2F1/a%20b/c.gz"
    assert model.file_url() == "https://huggingface.co/o/n/resolve/main/a"
    monkeypatch.setenv("HF_ENDPOINT", "http://mirror/")
    assert model.at(COMMIT, "a").file_url() == f"http://mirror/o/n/resolve/{COMMIT}/a"


@pytest.mark.parametrize("size", [10, 5000], ids=["a small file", "a large file in the storage"])
def test_a_file(hub: Hub, scene: Scene, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    content = b"x" * size
    hub.dataset("owner/name", {"data/train.en": content}, private=True)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    fetched = scene.fetch("hf://datasets/owner/name/data/train.en")
    assert (fetched.sha256, fetched.url) == (
        sha256(content),
        f"{hub.url}/datasets/owner/name/resolve/main/data/train.en",
    )
    assert set(hub.tokens) == {f"Bearer {TOKEN}"}
    assert [authorization for _, authorization in hub.stored] == [None] * (size == 5000)


def test_without_huggingface_hub(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    for address in ("hf://datasets/owner/name", "hf://owner/name/a"):
        with pytest.raises(
            ConfigError,
            match=rf"^{address} needs huggingface_hub: pip install '\.\[huggingface\]' in a checkout of nmt_prep$",
        ):
            scene.fetch(address)


def test_another_server_gets_no_token_even_from_a_netrc(
    hub: Hub, scene: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login user password other\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.model("owner/name", {"a": b"x" * 5000})
    scene.fetch("hf://owner/name/a")
    assert hub.tokens == [f"Bearer {TOKEN}"]
    assert TOKEN not in str(hub.stored)


def test_the_token_goes_to_no_other_address(hub: Hub, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.model("owner/name", {"a": b"x"})
    scene.fetch(f"{hub.url}/owner/name/resolve/main/a")
    assert set(hub.tokens) == {None}


REFUSALS = [
    ("hf://datasets/owner/none/a", "there is no data set owner/none on HUB, or it is private: set HF_TOKEN"),
    ("hf://owner/none", "there is no model owner/none on HUB, or it is private: set HF_TOKEN"),
    (
        "hf://datasets/owner/gated",
        (
            "access to this data set is granted on request: accept its conditions at HUB/datasets/owner/gated, and set "
            "HF_TOKEN to a token of that account"
        ),
    ),
    ("hf://datasets/owner/name@v3", "the data set has no revision v3; HUB/datasets/owner/name lists them"),
    ("hf://datasets/owner/name@v3/a", "the data set has no revision v3; HUB/datasets/owner/name lists them"),
    ("hf://datasets/owner/name/b", "there is no such file; HUB/datasets/owner/name lists the files of the data set"),
]


@pytest.mark.parametrize(("address", "expected"), REFUSALS, ids=[address for address, _ in REFUSALS])
def test_refusals(hub: Hub, scene: Scene, address: str, expected: str) -> None:
    hub.dataset("owner/name", {"a": b"x"})
    hub.dataset("owner/gated", {"a": b"x"}, gated=True)
    _, error = scene.attempt(address)
    assert error == f"{address}: {expected.replace('HUB', hub.url)}"
    assert scene.pauses == []


def test_a_token_without_access(hub: Hub, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_wrongwrongwrong")
    hub.dataset("owner/name", {"a": b"x"}, private=True)
    _, error = scene.attempt("hf://datasets/owner/name")
    assert error == (
        f"hf://datasets/owner/name: there is no data set owner/name on {hub.url}, or the token of this machine gives "
        "no access to it"
    )


def test_a_busy_hub_is_asked_again(hub: Hub, scene: Scene) -> None:
    hub.dataset("owner/name")
    hub.broken["owner/name$"] = 503  # the library itself asks again for the list of files
    _, error = scene.attempt("hf://datasets/owner/name")
    assert "status 503" in error
    assert len(scene.pauses) == 2


def test_a_hub_that_cannot_be_reached(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with pytest.raises(DownloadError, match=r"the request failed \(Connect.*\); check the network") as caught:
        scene.fetch("hf://datasets/owner/name")
    assert TOKEN not in str(caught.value)
