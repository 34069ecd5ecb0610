"""Test URLs of object stores: their parts, the clients they create, and errors that contain no secret."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import obstore
import pytest

from tests.fetch.stand_in_host import Publisher, replies
from tests.stand_ins.buckets import CREDENTIALS
from warehouse.errors import Conflict, StorageError
from warehouse.store.object_store import StoreAddress, address, ask, is_address, open_store


@pytest.fixture
def endpoint(s3_endpoint):
    return s3_endpoint


@pytest.fixture(autouse=True)
def credentials(monkeypatch):
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)


def test_an_address_says_store_bucket_prefix_and_server():
    read = address("s3://emds/a/b/?endpoint=http://127.0.0.1:9000&region=eu-central-1")
    assert read == StoreAddress(
        "s3", "emds", "a/b", (("endpoint", "http://127.0.0.1:9000"), ("region", "eu-central-1"))
    )
    assert address(str(read)) == read
    assert str(address("gs://emds")) == "gs://emds"
    assert address("az://box/p?account=shop").parameters == (("account", "shop"),)


def test_a_folder_is_no_address():
    assert not is_address("./data")
    assert is_address("s3://emds")


def test_objects_below_a_prefix(endpoint):
    store = open_store(f"s3://emds/x?endpoint={endpoint}")
    obstore.put(store, "a/b", b"one")
    whole = open_store(f"s3://emds?endpoint={endpoint}")
    assert bytes(obstore.get(whole, "x/a/b").bytes()) == b"one"
    with pytest.raises(Conflict, match="a/b cannot be written: another process wrote it first"):
        ask("a/b", "written", lambda: obstore.put(store, "a/b", b"two", mode="create"))
    assert ask("a/c", "read", lambda: obstore.get(store, "a/c")) is None


@pytest.mark.parametrize(
    ("of_address", "of_environment", "region"), [("", "", "us-east-1"), ("&region=r", "", "r"), ("", "e", "e")]
)
def test_a_request_is_signed_for_the_region_that_is_set(monkeypatch, of_address, of_environment, region):
    monkeypatch.setenv("AWS_REGION", of_environment)
    with closing(Publisher(replies(404))) as server:
        ask("k", "read", lambda: obstore.get(open_store(f"s3://emds?endpoint={server.base}{of_address}"), "k"))
        assert f"/{region}/s3/" in server.received[0].headers["Authorization"]


@contextmanager
def answering(status: int, code: str) -> Iterator[str]:
    """Yield the URL of a server that returns the same error for every request."""
    body = f"<Error><Code>{code}</Code><Message>None.</Message></Error>".encode()
    with closing(Publisher(replies(status, body, Content_Type="application/xml"))) as server:
        yield server.base


def refusals(store: obstore.store.ObjectStore) -> set[str]:
    """Return the error texts of each type of request."""
    calls: dict[str, Callable[[], object]] = {
        "read": lambda: obstore.get(store, "k").bytes(),
        "listed": lambda: obstore.list(store).collect(),
        "written": lambda: obstore.put(store, "k", b""),
    }
    said = set()
    for doing, call in calls.items():
        with pytest.raises(StorageError) as caught:
            ask("k", doing, call)
        said.add(str(caught.value).removeprefix(f"k cannot be {doing}: "))
    return said


def test_a_missing_container_of_azures_is_no_empty_warehouse(monkeypatch):
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "c2VjcmV0")
    with answering(404, "ContainerNotFound") as url:
        none = open_store(f"az://box/p?account=shop&endpoint={url}/shop", retries=0)
        assert refusals(none) == {"the bucket does not exist; create it first"}


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (403, "AccessDenied", "rejected these credentials (AccessDenied)"),
        (401, "Unauthorized", "rejected these credentials (Unauthorized)"),
        (400, "ExpiredToken", "returned 400 (ExpiredToken)"),
    ],
)
def test_a_refusal_says_the_stores_own_word(status, code, words):
    with answering(status, code) as url:
        assert refusals(open_store(f"s3://emds?endpoint={url}", retries=0)) == {f"the object store {words}"}
