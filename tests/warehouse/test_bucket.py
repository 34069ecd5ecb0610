"""Test what a bucket guarantees beyond a folder: few requests, poor connections, expired locks, replaced writers."""

from __future__ import annotations

import time
from functools import partial
from urllib.parse import unquote

import obstore
import pytest

from tests.stand_ins.buckets import CREDENTIALS
from warehouse.errors import StorageError
from warehouse.market.clock import DAY, Window, instant
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import folding
from warehouse.series.reader import Reader
from warehouse.store.object_store import open_store

pytestmark = pytest.mark.slow

QUICK = {"request_s": 1.0, "retries": 3, "retry_s": 8.0}


@pytest.fixture(scope="module")
def bucket_endpoint(s3_endpoint):
    """Return moto's endpoint, since these tests check the requests themselves."""
    return s3_endpoint


@pytest.fixture
def line(bucket_place):
    return bucket_place.line


def asked(line):
    """Return the requests since the last call, without the prefix."""
    done = [request.split("?")[0] for request in line.requests]
    line.requests.clear()
    return done


def test_what_is_fresh_is_looked_at_once(bucket_place, line):
    storage = bucket_place.open(cache_s=60.0)
    storage.put("a", b"one")
    storage.put("large", b"one" * 1000)
    line.requests.clear()
    for _ in range(3):
        assert storage.get("a") == b"one"
        assert storage.stat("a").size == 3
        assert storage.stat("large").size == 3000
        assert storage.keys("c/") == []
    assert len(asked(line)) == 3, "a small body, an identity, a listing"


@pytest.mark.parametrize(("times", "sizes"), [(10_000, [3, 5]), (1000, [13_000])])
def test_a_part_is_asked_for_by_itself_or_with_all_of_a_small_object(bucket_place, line, times, sizes):
    storage, answered, length = bucket_place.open(), [], 13 * times
    storage.put("a", b"one two three" * times)
    identity = storage.stat("a")
    line.answered = answered.append
    assert storage.part("a", identity, 4, 3) == b"two"
    assert storage.part("a", identity, length - 5, 100) == b"three"
    assert answered == sizes
    assert storage.part("a", identity, length, 1) is None
    assert storage.part("b", identity, 0, 1) is None
    bucket_place.open().put("a", b"something else")
    storage = bucket_place.open()
    assert storage.part("a", identity, 0, 3) is None, "of no other bytes"
    assert storage.part("a", identity, 4_000, 3) is None, "where the other bytes have none"


def test_a_month_of_several_fuels_is_read_once(bucket_place, line):
    rows, at = Rows(), instant("2026-05-01T00:00:00Z")
    for fuel in ("gas", "wind"):
        rows.extend(SeriesKey("GB", "mix", "MW", "1h", fuel), [at], [1.0])
    folding.fold(bucket_place.open(), "fine.all", rows, {}, {"fine.all": 1}, 1, "live")
    reader = Reader(bucket_place.open(), 10_000_000)
    [file] = reader.files("GB", "mix", Window(at, at + DAY))
    line.requests.clear()
    assert reader.rows(file, "net").value.tolist() == [1.0, 1.0]
    assert sum(file.key in unquote(request) for request in asked(line)) == 1


def test_objects_of_other_tools_have_an_identity_too(bucket_place):
    storage = bucket_place.open()
    obstore.put(open_store(bucket_place.address), "a", b"one")
    identity = storage.stat("a")
    assert identity.size == 3
    assert abs(identity.version - time.time_ns()) < 60e9
    assert storage.get("a") == b"one"


@pytest.mark.parametrize("fault", ["lost", "unanswered", "cut", "slow_down", "repeat"])
def test_a_bad_line_is_ridden_out(bucket_place, line, fault):
    """Fail every other request: reads still return the right bytes, and each write takes effect once."""
    storage = bucket_place.open(**QUICK)
    line.plan = lambda number, _: fault if number % 2 else ""
    storage.put("a", b"zero", version=1)
    for number in range(4):
        storage.update("a", lambda stored, number=number: stored.body + b"%d" % number, version=number)
    assert storage.get("a") == b"zero0123"
    assert storage.stat("a").version == 3
    assert storage.keys("a/") == []
    storage.copy("a", "b")
    assert storage.get("b") == b"zero0123"
    storage.delete("b")
    assert storage.get("b") is None


def test_a_stalled_answer_is_asked_for_again(bucket_place, line):
    storage = bucket_place.open(**QUICK)
    storage.put("a", b"one")
    line.requests.clear()
    line.plan = lambda number, _: "stall" if number == 1 else ""
    assert storage.get("a") == b"one"
    line.requests.clear()
    storage.put("a", b"two")
    assert storage.get("a") == b"two"


def test_a_write_repeated_late_by_the_line_changes_nothing(bucket_place, line):
    storage = bucket_place.open()
    storage.put("a", b"one")
    line.requests.clear()
    line.plan = lambda number, request: "late_repeat" if number == 1 else ""
    storage.update("a", lambda stored: b"two")
    storage.update("a", lambda stored: b"three")
    assert storage.get("a") == b"three"


def test_a_line_that_stays_bad_is_an_error_in_words(bucket_place, line):
    storage = bucket_place.open(request_s=0.5, retries=1, retry_s=2.0)
    storage.put("a", b"one")
    line.plan = lambda number, request: "slow_down"
    with pytest.raises(StorageError, match="a cannot be read: the object store returned 503 repeatedly") as caught:
        storage.get("a")
    assert CREDENTIALS["AWS_SECRET_ACCESS_KEY"] not in str(caught.value)
    with pytest.raises(StorageError, match="a cannot be written"):
        storage.put("a", b"two")
    line.plan = lambda number, request: "lost"
    with pytest.raises(StorageError, match="a cannot be read: the connection to the object store was lost repeatedly"):
        storage.get("a")
    line.stall_s = 1.0
    line.plan = lambda number, request: "stall"
    with pytest.raises(StorageError, match="a cannot be read: the object store did not respond before the timeout"):
        storage.get("a")
    line.reset()
    assert storage.get("a") == b"one"


def test_a_loser_does_its_change_again_with_what_lies_there_now(bucket_place):
    slow, other, seen = bucket_place.open(), bucket_place.open(), []
    slow.put("a", b"one")

    def change(stored):
        seen.append(stored.body)
        if len(seen) == 1:
            other.update("a", lambda stored: stored.body + b" two")
        return stored.body + b" three"

    assert slow.update("a", change)
    assert seen == [b"one", b"one two"]
    assert bucket_place.open().get("a") == b"one two three"


def test_what_was_removed_meanwhile_is_put_anew(bucket_place):
    storage = bucket_place.open(cache_s=60.0)
    storage.put("a", b"one")
    bucket_place.open().delete("a")
    assert storage.update("a", lambda stored: b"first" if stored is None else b"second")
    assert bucket_place.open().get("a") == b"first"


def test_no_such_bucket_is_an_error_and_no_empty_warehouse(bucket_place, line):
    from warehouse.store.bucket import Bucket

    storage = Bucket(f"s3://missing-bucket?endpoint={line.url}", bucket_place.local)
    put = partial(storage.put, "a", b"")
    for ask in (lambda: storage.stat("a"), lambda: storage.get("a"), lambda: storage.keys("a/"), put):
        with pytest.raises(StorageError, match="the bucket does not exist"):
            ask()


def test_a_store_that_ignores_conditions_is_refused(bucket_place, line):
    storage = bucket_place.open()
    storage.require_conditions()
    assert storage.keys("probes/") == []
    line.plan = lambda number, request: "unconditional"
    with pytest.raises(StorageError, match="does not enforce conditional writes"):
        storage.require_conditions()
    assert storage.keys("probes/") == []
