"""What a bucket promises beyond a folder: few requests, bad lines, locks that run out, writers believed dead."""

from __future__ import annotations

import http.client
import time
from urllib.parse import urlsplit

import numpy as np
import obstore
import pytest

from tests.stand_ins.buckets import CREDENTIALS, make_bucket
from warehouse.errors import StorageError
from warehouse.market.clock import Window
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import series
from warehouse.series.reader import Reader
from warehouse.store.bucket_cache import BodyCache
from warehouse.store.object_store import open_store
from warehouse.store.storage import Identity

QUICK = {"request_s": 1.0, "retries": 3, "retry_s": 8.0}


@pytest.fixture(scope="module")
def bucket_endpoint(s3_endpoint):
    """moto's: here the requests themselves are judged."""
    return s3_endpoint


@pytest.fixture
def line(bucket_place):
    return bucket_place.line


def asked(line):
    """The requests since the last call, without the prefix."""
    done = [request.split("?")[0] for request in line.requests]
    line.requests.clear()
    return done


def test_what_is_fresh_costs_no_request(bucket_place, line):
    storage = bucket_place.open(fresh_s=60.0)
    storage.put("a", b"one")
    assert storage.get("b") is None
    line.requests.clear()
    for _ in range(3):
        assert storage.get("a") == b"one"
        assert storage.stat("a").size == 3
        assert storage.stat("b") is None
        assert storage.get("b") is None
        assert storage.keys("c/") == []
    assert len(asked(line)) == 1, "one listing"


def test_a_cold_body_costs_one_request_and_an_unchanged_one_no_bytes(bucket_place, line):
    bucket_place.open().put("a", b"one" * 10_000)
    other = bucket_place.open()
    other._bodies.forget("a")
    answered = []
    line.answered = answered.append
    assert other.get("a") == b"one" * 10_000
    assert other.get("a") == b"one" * 10_000
    assert answered == [30_000, 0]
    bucket_place.open().put("a", b"two")
    assert other.get("a") == b"two"


def test_copies_of_this_machine_are_shared_checked_and_bounded(tmp_path):
    cache = BodyCache(tmp_path / "c", 100_000)
    cache.put("a", {"e_tag": "1"}, b"x" * 1000)
    assert BodyCache(tmp_path / "c", 100_000).get("a", {"e_tag": "1"}) == b"x" * 1000
    assert cache.get("a", {"e_tag": "2"}) is None
    (kept,) = [path for path in (tmp_path / "c").rglob("*") if path.is_file()]
    stored = bytearray(kept.read_bytes())
    stored[-1] ^= 1
    kept.write_bytes(stored)
    assert cache.get("a", {"e_tag": "1"}) is None, "a flipped bit is no body"
    for number in range(50):
        cache.put(f"k{number}", {"e_tag": "1"}, b"x" * 5_000)
    held = sum(path.stat().st_size for path in (tmp_path / "c").rglob("*") if path.is_file())
    assert held <= 115_000
    assert cache.get("k49", {"e_tag": "1"}) == b"x" * 5_000
    assert (tmp_path / "c").stat().st_mode & 0o077 == 0


def test_a_part_comes_from_the_copy_of_this_machine(bucket_place, line):
    storage = bucket_place.open(fresh_s=60.0)
    storage.put("a", b"one two three")
    identity = storage.stat("a")
    line.requests.clear()
    assert storage.part("a", identity, 4, 3) == b"two"
    assert storage.part("a", identity, 8, 100) == b"three"
    assert len(asked(line)) == 0
    storage._bodies.forget("a")
    assert storage.part("a", identity, 4, 3) == b"two", "fetched whole where no copy lies here"
    assert len(asked(line)) == 1
    assert storage.part("a", Identity(1, 13, identity.inode), 4, 3) is None
    assert storage.part("b", identity, 0, 1) is None
    stale = bucket_place.open(fresh_s=0.0)
    seen = stale.stat("a")
    assert stale.get("a")
    line.requests.clear()
    assert stale.part("a", seen, 4, 3) == b"two", "the identity says which bytes are wanted, however old"
    assert len(asked(line)) == 0
    other = bucket_place.open()
    other.put("a", b"something else")
    assert other.part("a", identity, 0, 3) is None
    without_copies = bucket_place.open(fresh_s=60.0, cache_bytes=0)
    without_copies._bodies.forget("a")
    identity = without_copies.stat("a")
    line.requests.clear()
    assert without_copies.part("a", identity, 0, 3) is None
    assert len(asked(line)) == 0


def test_a_rotten_copy_of_a_month_is_fetched_again(bucket_place, line):
    start = 1_793_491_200
    storage = bucket_place.open(fresh_s=60.0)
    rows = Rows()
    rows.extend(SeriesKey("GB", "demand", "MW", "5m"), [start + at * 300 for at in range(2000)], [1.5] * 2000)
    series.fold(storage, "one.all", rows, {}, {"one.all": 1}, 1, "live")
    window = Window(start, start + 86400)
    [file] = Reader(storage, 0).files("GB", "demand", window)
    (kept,) = [path for path in bucket_place.local.rglob("*") if path.is_file() and path.stat().st_size > 16_000]
    stored = bytearray(kept.read_bytes())
    at = stored.index(np.array([1.5] * 288).tobytes())
    stored[at] ^= 1
    kept.write_bytes(stored)
    line.requests.clear()
    assert Reader(storage, 1_000_000).rows(file, "net", window).value.tolist()[:288] == [1.5] * 288
    assert len(asked(line)) == 1


def test_objects_of_other_tools_have_an_identity_too(bucket_place):
    storage = bucket_place.open()
    obstore.put(open_store(bucket_place.address), "a", b"one")
    identity = storage.stat("a")
    assert identity.size == 3
    assert abs(identity.version - time.time_ns()) < 60e9
    assert storage.get("a") == b"one"


@pytest.mark.parametrize("fault", ["lost", "unanswered", "cut", "slow_down", "repeat"])
def test_a_bad_line_is_ridden_out(bucket_place, line, fault):
    """Every other request fails: reads answer right, writes hold, each once."""
    storage = bucket_place.open(**QUICK)
    line.plan = lambda number, _: fault if number % 2 else ""
    storage.put("a", b"zero", version=1)
    for number in range(4):
        storage.update("a", lambda stored, number=number: stored.body + b"%d" % number, version=number)
    assert storage.get("a") == b"zero0123"
    assert storage.stat("a").version == 3
    assert storage.keys("a/") == []
    storage.move("a", "b")
    assert storage.get("b") == b"zero0123"
    storage.delete("b")
    assert storage.get("b") is None


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
    with pytest.raises(StorageError, match="a cannot be read: the object store answered 503 again and again") as caught:
        storage.get("a")
    assert CREDENTIALS["AWS_SECRET_ACCESS_KEY"] not in str(caught.value)
    with pytest.raises(StorageError, match="a cannot be written"):
        storage.put("a", b"two")
    line.plan = lambda number, request: "lost"
    with pytest.raises(StorageError, match="a cannot be read: no connection to the object store lasted"):
        storage.get("a")
    line.stall_s = 1.0
    line.plan = lambda number, request: "stall"
    with pytest.raises(StorageError, match="a cannot be read: the object store did not answer in time"):
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


def test_an_update_costs_one_request_where_nobody_else_writes(bucket_place, line):
    storage = bucket_place.open()
    storage.put("a", b"one")
    line.requests.clear()
    storage.update("a", lambda stored: b"two")
    assert [request.split()[0] for request in asked(line)] == ["PUT"]
    storage.update("a", lambda stored: b"two")
    storage.update("a", lambda stored: None)
    assert [request.split()[0] for request in asked(line)] == ["GET", "GET"], "whether that is still right"


def test_what_was_removed_meanwhile_is_put_anew(bucket_place):
    storage = bucket_place.open(fresh_s=60.0)
    storage.put("a", b"one")
    bucket_place.open().delete("a")
    assert storage.update("a", lambda stored: b"first" if stored is None else b"second")
    assert bucket_place.open().get("a") == b"first"


def test_no_such_bucket_is_an_error_and_no_empty_warehouse(bucket_place, line):
    from warehouse.store.bucket import Bucket

    storage = Bucket(f"s3://missing-bucket?endpoint={line.url}", bucket_place.local)
    for ask in (lambda: storage.stat("a"), lambda: storage.get("a"), lambda: storage.keys("a/")):
        with pytest.raises(StorageError, match="no such bucket"):
            ask()


def test_a_bucket_that_goes_away_meanwhile_is_no_empty_warehouse(bucket_place, bucket_endpoint):
    from warehouse.store.bucket import Bucket

    server = urlsplit(bucket_endpoint)
    make_bucket(server.port, "passing")
    storage = Bucket(f"s3://passing?endpoint={bucket_endpoint}", bucket_place.local, fresh_s=0.2)
    assert storage.stat("a") is None
    assert storage.stat("b") is None
    connection = http.client.HTTPConnection(server.hostname, server.port, timeout=30)
    connection.request("DELETE", "/passing")
    assert connection.getresponse().status == 204
    connection.close()
    time.sleep(1.1)
    with pytest.raises(StorageError, match="no such bucket"):
        storage.stat("a")


def test_a_store_that_ignores_conditions_is_refused(bucket_place, line):
    storage = bucket_place.open()
    storage.require_conditions()
    assert storage.keys("probes/") == []
    line.plan = lambda number, request: "unconditional"
    with pytest.raises(StorageError, match="takes writes whose condition does not hold"):
        storage.require_conditions()
    assert storage.keys("probes/") == []
