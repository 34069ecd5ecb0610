"""Deliveries of webhooks: signed, in order, at least once through kills, retried, bounded, and to public addresses."""

from __future__ import annotations

import logging
import os
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import dagster as dg
import orjson
import pytest
from sqlalchemy import text
from standardwebhooks import Webhook as Verifier

from api.access.accounts import webhooks
from api.access.accounts.key_format import digest_of
from api.access.accounts.sign_ups import SignUp
from api.access.accounts.store import Accounts
from api.access.accounts.webhooks import Message, Webhook, Wish
from api.documents import changes
from orchestration import cli, webhook_delivery, webhook_events, webhook_post
from orchestration.webhook_post import NotDelivered, is_public
from orchestration.webhook_sensor import JOB, webhook_sensor
from tests.stand_ins import postgres
from tests.stand_ins.clock import Clock
from tests.stand_ins.receiver import Receiver, patient
from warehouse import artefact, change_log, layout
from warehouse.changes import Change
from warehouse.storage import Folder

NOW = 1_800_000_000
NEEDS_POSTGRES = pytest.mark.skipif(postgres.programs() is None, reason="PostgreSQL is not installed: make setup")


@dataclass
class Post:
    """Accounts, an empty warehouse with a log, and receivers."""

    home: Path
    url: str = ""
    """Of the accounts database; SQLite beside the warehouse by default."""
    receivers: list[Receiver] = field(default_factory=list)
    opened: list[Accounts] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.storage = Folder(self.home)
        self.url = self.url or f"sqlite:///{self.home / 'accounts.sqlite'}"
        self.accounts = self.open()
        self.key = self.accounts.sign_up(SignUp("a@example.org", "127.0.0.1", ""), 0, 1)

    def open(self) -> Accounts:
        accounts = Accounts.open(self.url)
        self.opened.append(accounts)
        return accounts

    def receiver(self, **given: Any) -> Receiver:
        made = Receiver(**given)
        self.receivers.append(made)
        return made

    def subscribe(self, url: str, *events: str, **given: Any) -> Webhook:
        wish = Wish(url, events or ("changes",), **given)
        return webhooks.create(self.accounts.database, 1, wish, change_log.newest(self.storage), 1)

    def change(self, zone: str = "GB", at: int = 1) -> None:
        change = Change(zone, "demand", "one.fast", at, at, 1, 0, 0)
        change_log.append(self.storage, change, f"{zone}{at}", at)

    def round(self, **given: Any) -> webhook_delivery.Delivered:
        return webhook_delivery.round_(
            self.storage, self.accounts.database, webhook_delivery.sender(private=True), NOW, 0.0, **given
        )

    def state(self, webhook: Webhook) -> Webhook:
        found = webhooks.one(self.accounts.database, webhook.id)
        assert found is not None
        return found

    def sql(self, statement: str) -> None:
        with self.accounts.database.begin() as connection:
            connection.execute(text(statement))

    def due_now(self) -> None:
        """As if the pause and the lease of a killed deliverer were over."""
        self.sql("UPDATE webhooks SET next_at = 0, claimed_until = 0")


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Postgres]:
    running = postgres.Postgres()
    yield running
    running.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=[pytest.mark.slow, NEEDS_POSTGRES])])
def post(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Post]:
    """With accounts in SQLite, then in PostgreSQL."""
    url = ""
    if request.param == "postgres":
        running: postgres.Postgres = request.getfixturevalue("server")
        running.empty()
        url = running.url
    made = Post(tmp_path, url)
    yield made
    for receiver in made.receivers:
        receiver.close()
    for accounts in made.opened:
        accounts.close()


def firsts(receiver: Receiver) -> list[int]:
    """The `first` of every entry taken, in order."""
    return [entry["first"] for message in receiver.taken for entry in message["data"]["entries"]]


def test_the_official_verifier_accepts_what_is_signed() -> None:
    secret, body = "whsec_" + "A" * 43 + "=", b'{"type":"test"}'
    headers = webhook_post.signed(secret, "msg_1", body, int(time.time()))
    assert Verifier(secret).verify(body, headers) == {"type": "test"}
    with pytest.raises(Exception, match="No matching signature"):
        Verifier(secret).verify(body + b" ", headers)


def test_changes_arrive_signed_and_in_order(post: Post) -> None:
    receiver = post.receiver()
    webhook = post.subscribe(receiver.url, zones=("GB",))
    receiver.secret = webhook.secret
    for at in range(1, 6):
        post.change("GB", at)
        post.change("FR", at)
    done = post.round()
    assert (done.delivered, done.failed) == (1, 0)
    assert firsts(receiver) == [1, 2, 3, 4, 5]
    assert receiver.taken[0]["type"] == "changes"
    post.change("GB", 6)
    post.round()
    assert firsts(receiver) == [1, 2, 3, 4, 5, 6]
    assert post.state(webhook).delivered == 2
    assert post.round().delivered == 0
    usage = post.accounts.usage(digest_of(post.key), int(time.time()))
    assert usage is not None
    assert usage.used == 0, "messages cost nothing of the key's day"


def test_a_message_that_fails_holds_back_the_later_ones_and_comes_again(post: Post) -> None:
    receiver = post.receiver(answer=lambda tries: 500 if tries < 3 else 200)
    webhook = post.subscribe(receiver.url)
    post.change(at=1)
    assert post.round().failed == 1
    assert post.state(webhook).next_at > 0
    assert post.state(webhook).last_error == "answered 500"
    post.change(at=2)
    assert post.round().failed == 0, "not before its time"
    assert len(receiver.tries) == 1
    for _ in range(2):
        post.due_now()
        post.round()
    assert firsts(receiver) == [1, 2]
    assert len({number for number, _ in receiver.tries[:3]}) == 1, "the same id each time"
    assert post.state(webhook).failing_since is None


def test_a_message_taken_whose_answer_is_lost_comes_twice_with_one_id(post: Post) -> None:
    receiver = post.receiver(answer=lambda tries: "drop" if tries == 1 else 200)
    post.subscribe(receiver.url)
    post.change(at=1)
    assert post.round().failed == 1
    post.due_now()
    assert post.round().delivered == 1
    assert receiver.tries[0] == receiver.tries[1]
    assert firsts(receiver) == [1]


def test_after_a_day_without_delivery_it_is_disabled_and_says_so(post: Post) -> None:
    receiver = post.receiver(answer=lambda _: 404)
    webhook = post.subscribe(receiver.url)
    post.change(at=1)
    post.round()
    post.sql("UPDATE webhooks SET next_at = 0, failing_since = failing_since - 90000")
    assert post.round().disabled == 1
    assert post.state(webhook).disabled.startswith("not reached for 24 hours: answered 404")
    assert post.state(webhook).waiting == 0
    post.due_now()
    assert post.round().subscriptions == 0
    webhooks.enable(post.accounts.database, webhook.id)
    receiver.answer = lambda _: 200
    assert post.round().failed == 0


def test_pauses_grow_to_an_hour_and_end_with_the_day(post: Post) -> None:
    receiver = post.receiver(answer=lambda _: 500)
    webhook = post.subscribe(receiver.url)
    waits, now = [], 1000
    for _ in range(9):
        webhooks.failed(post.accounts.database, post.state(webhook), "x", now)
        waits.append(post.state(webhook).next_at - now)
        now = post.state(webhook).next_at
    assert waits == [5, 15, 60, 300, 900, 1800, 3600, 3600, 3600]


@pytest.mark.slow
def test_a_deliverer_killed_at_any_point_loses_and_disorders_nothing(post: Post) -> None:
    """Killed before each statement of the database, and right after each request; the next round goes on."""
    point, killed = 0, True
    receiver = post.receiver()
    webhook = post.subscribe(receiver.url)
    sent = 0
    while killed and point < 60:
        point += 2
        for _ in range(2):
            sent += 1
            post.change(at=sent)
        killed = _killed_at_statement(post, point)
        post.due_now()
        post.round()
        assert firsts(receiver) == list(range(1, sent + 1))
    assert not killed, "the last round came to its end"
    assert post.state(webhook).waiting == 0


def _killed_at_statement(post: Post, step: int) -> bool:
    """A child runs a round and gets SIGKILL before statement `step`."""
    pid = os.fork()
    if pid == 0:
        from sqlalchemy import event

        accounts, count = post.open(), 0

        def before(*_: object) -> None:
            nonlocal count
            count += 1
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)

        event.listen(accounts.database.open(), "before_cursor_execute", before)
        try:
            webhook_delivery.round_(post.storage, accounts.database, webhook_delivery.sender(True), NOW, 0.0)
        except BaseException:
            os._exit(1)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    assert status in (0, signal.SIGKILL)
    return status == signal.SIGKILL


def test_two_deliverers_at_once_send_nothing_twice(post: Post) -> None:
    receiver = post.receiver()
    post.subscribe(receiver.url)
    post.change(at=1)
    pids = []
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            try:
                accounts = post.open()
                webhook_delivery.round_(post.storage, accounts.database, webhook_delivery.sender(True), NOW, 0.0)
            except BaseException:
                os._exit(1)
            os._exit(0)
        pids.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0, 0, 0]
    assert len(receiver.tries) == 1


@pytest.mark.slow
@pytest.mark.parametrize("how", ["hang", "trickle"])
def test_slow_receivers_hold_up_nobody(post: Post, how: str) -> None:
    """More of them than there are threads: once they were slow they wait in a lane of their own."""
    slow = post.receiver(answer=lambda _: how)
    subscribed = [post.subscribe(slow.url) for _ in range(9)]
    post.change(at=1)

    def send(webhook: Webhook, message: Message, now: int) -> None:
        headers = webhook_post.signed(webhook.secret, message.id, message.body, now)
        total_s = 0.5 if webhook.wish.url == slow.url else 30.0
        webhook_post.post(webhook.wish.url, headers, message.body, True, total_s)

    webhook_delivery.round_(post.storage, post.accounts.database, send, NOW, 0.0)
    assert all(post.state(each).slow and "in time" in post.state(each).last_error for each in subscribed)
    prompt = post.receiver()
    post.due_now()
    good = post.subscribe(prompt.url)
    post.change(at=2)
    held = [False]

    def watched(webhook: Webhook, message: Message, now: int) -> None:
        if webhook.id == good.id:
            held[0] = len(slow.tries) > 9 + webhook_delivery.POOL
        send(webhook, message, now)

    webhook_delivery.round_(post.storage, post.accounts.database, watched, NOW, 0.0)
    assert firsts(prompt) == [2]
    assert not held[0], "it did not wait until the slow ones were through"


@pytest.mark.slow
def test_a_round_ends_within_its_time(post: Post) -> None:
    receiver = post.receiver()
    webhook = post.subscribe(receiver.url)
    for at in range(1, 400):
        post.change(at=at)
    assert post.round(round_s=0.0).delivered == 0
    assert post.round().delivered == 4, "pages of a hundred entries"
    assert max(len(body) for _, body in receiver.tries) < 64_000
    assert firsts(receiver) == list(range(1, 400))
    assert post.state(webhook).waiting == 0


@pytest.mark.slow
def test_however_many_ask_at_once_a_key_has_at_most_ten(post: Post) -> None:
    def ask(number: int) -> bool:
        try:
            post.subscribe(f"https://hook.example/{number}")
        except webhooks.TooManyWebhooks:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(ask, range(18))) == 10
    assert len(webhooks.listed(post.accounts.database, 1)) == 10


# --- where messages may go --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1",
        "255.255.255.255", "192.0.2.1", "198.18.0.1", "240.0.0.1", "::1", "::", "fe80::1", "fc00::1", "fd12::1",
        "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::", "2001:db8::1", "fe80::1%eth0", "2001:0:53aa:64c:0:0:80ff:fffe", "64:ff9b:1::a00:1",
    ],
)  # fmt: skip
def test_private_addresses_are_none_to_send_to(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:93.184.216.34"])
def test_public_addresses_are(address: str) -> None:
    assert is_public(ip_address(address))


def _named(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """A resolver that gives one list of addresses after the other; the names that it was asked for."""
    asked: list[str] = []
    left = list(answers)

    def look(host: str, port: int, **_: object) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, 1, 6, "", (address, port)) for address in left.pop(0)]

    monkeypatch.setattr(socket, "getaddrinfo", look)
    return asked


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["93.184.216.34", "10.0.0.1"], ["169.254.169.254"], []])
def test_a_name_that_leads_to_a_private_address_is_refused(
    monkeypatch: pytest.MonkeyPatch, addresses: list[str]
) -> None:
    _named(monkeypatch, addresses)
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: pytest.fail("connected"))
    with pytest.raises(NotDelivered, match=r"not public|no address"):
        webhook_post.post("https://hook.example/", {}, b"{}", private=False)


def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that answers with a public address first and a private one later (DNS rebinding) is asked once."""
    asked = _named(monkeypatch, ["93.184.216.34"], ["127.0.0.1"])
    gone: list[Any] = []

    def connect(target: Any, **_: object) -> socket.socket:
        gone.append(target)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(NotDelivered, match="ConnectionRefusedError"):
        webhook_post.post("https://hook.example:8443/", {}, b"{}", private=False)
    assert gone == [("93.184.216.34", 8443)]
    assert asked == ["hook.example"]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(post: Post, status: int) -> None:
    receiver = post.receiver(answer=lambda _: status)
    webhook = post.subscribe(receiver.url)
    post.change()
    post.round()
    assert len(receiver.tries) == 1
    assert post.state(webhook).last_error == f"answered {status}"


@pytest.mark.parametrize("url", ["http://93.184.216.34/", "ftp://hook.example/", "file:///etc/passwd"])
def test_only_https_goes_out(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: pytest.fail("connected"))
    with pytest.raises(NotDelivered, match="not an https address"):
        webhook_post.post(url, {}, b"{}", private=False)


# --- events -----------------------------------------------------------------------------------------------------------


def latest(post: Post, value: float, expected_by: int = NOW + 600) -> None:
    figure = {
        "value": value,
        "unit": "GBP/MWh",
        "ts": NOW,
        "resolution": "30m",
        "source": "elexon",
        "expected_by": expected_by,
    }
    body = {"zone": "GB", "metrics": {"price": figure}, "attribution": "A", "license": "L"}
    artefact.put(post.storage, layout.latest("GB"), artefact.encode(body), artefact.new_version())


def brief(post: Post, band: str) -> None:
    body = {"zone": "GB", "as_of": NOW, "context": {"price": {"band": band}}, "attribution": "A", "license": "L"}
    artefact.put(post.storage, layout.brief("GB"), artefact.encode(body), artefact.new_version())


def test_a_price_beyond_a_threshold_is_told_once_until_it_came_back(post: Post) -> None:
    receiver = post.receiver()
    post.subscribe(receiver.url, "price.above", "price.below", zones=("GB",), threshold=100.0)
    for value in (90.0, 95.0, 120.0, 130.0, 100.0, 101.0):
        latest(post, value)
        post.round()
    told = [(message["type"], message["data"]["value"]) for message in receiver.taken]
    assert told == [("price.below", 90.0), ("price.above", 120.0), ("price.above", 101.0)]
    assert receiver.taken[1]["data"] == {
        "zone": "GB",
        "metric": "price",
        "value": 120.0,
        "unit": "GBP/MWh",
        "ts": NOW,
        "resolution": "30m",
        "source": "elexon",
        "threshold": 100.0,
        "attribution": "A",
        "license": "L",
    }


def test_bands_that_move_and_figures_that_are_late_are_told(post: Post) -> None:
    receiver = post.receiver()
    post.subscribe(receiver.url, "band", "stale", zones=("GB",))
    for band, expected_by in (("low", NOW + 1), ("low", NOW - 1), ("high", NOW - 1), ("high", NOW + 1)):
        brief(post, band)
        latest(post, 1.0, expected_by)
        post.round()
    told = [
        (message["type"], message["data"].get("bands") or message["data"].get("stale")) for message in receiver.taken
    ]
    assert told == [("stale", ["price"]), ("band", {"price": {"from": "low", "to": "high"}}), ("stale", [])]
    assert receiver.taken[-1]["data"]["recovered"] == ["price"]


def test_entries_that_are_kept_no_more_are_told_as_gone(post: Post) -> None:
    receiver = post.receiver()
    webhook = post.subscribe(receiver.url)
    post.change(at=1)
    post.sql("UPDATE webhooks SET change_cursor = '00000000-5'")
    post.round()
    assert receiver.taken[0]["data"]["gone"] is True
    assert post.state(webhook).cursor == change_log.newest(post.storage)


def test_a_revoked_keys_webhooks_get_nothing(post: Post) -> None:
    receiver = post.receiver()
    post.subscribe(receiver.url)
    post.change()
    post.accounts.revoke(1, 5)
    assert post.round().subscriptions == 0
    assert receiver.tries == []


def test_no_log_and_no_repr_holds_a_secret(post: Post, caplog: pytest.LogCaptureFixture) -> None:
    receiver = post.receiver(answer=lambda _: 500)
    webhook = post.subscribe(receiver.url)
    post.change()
    with caplog.at_level(logging.DEBUG):
        post.round()
    assert webhook.secret not in caplog.text + repr(webhook) + post.state(webhook).last_error


def test_the_command_line_lists_shows_disables_and_delivers(
    post: Post, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EMDS_HOME", str(post.home))
    monkeypatch.setenv("EMDS_WEBHOOK_PRIVATE", "1")
    monkeypatch.setenv("EMDS_DATABASE_URL", post.url)
    receiver = post.receiver()
    webhook = post.subscribe(receiver.url)
    post.change()
    assert cli.main(["webhooks", "deliver"]) == 0
    assert "delivered 1" in capsys.readouterr().out
    assert cli.main(["webhooks", "list"]) == 0
    assert cli.main(["webhooks", "show", webhook.id]) == 0
    printed = capsys.readouterr().out
    assert webhook.id in printed
    assert webhook.secret not in printed
    assert cli.main(["webhooks", "disable", webhook.id]) == 0
    assert post.state(webhook).disabled == "by the owner"
    assert cli.main(["webhooks", "enable", webhook.id]) == 0
    assert cli.main(["webhooks", "remove", webhook.id]) == 0
    assert cli.main(["webhooks", "show", webhook.id]) == 1


def test_a_message_is_json_of_the_recommended_form() -> None:
    body = orjson.loads(webhook_events.message("changes", NOW, {"a": 1}))
    assert body == {"type": "changes", "timestamp": "2027-01-15T08:00:00Z", "data": {"a": 1}}


def test_a_receiver_that_comes_back_is_found(post: Post) -> None:
    """Killed and started again on its port: nothing is lost, nothing out of order."""
    first = Receiver()
    port = first.server.server_address[1]
    webhook = post.subscribe(f"http://127.0.0.1:{port}/")
    post.change(at=1)
    post.round()
    first.close()
    post.change(at=2)
    assert post.round().failed == 1
    post.change(at=3)
    again = post.receiver()
    post.sql(f"UPDATE webhooks SET url = '{again.url}'")
    post.due_now()
    post.round()
    assert patient(lambda: firsts(again) == [2, 3])
    assert post.state(webhook).failing_since is None


def test_the_sensor_starts_a_round_where_something_is_to_be_told(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMDS_HOME", str(post.home))
    monkeypatch.setenv("EMDS_DATABASE_URL", post.url)
    sensor = webhook_sensor(dg.define_asset_job(JOB))
    with dg.DagsterInstance.ephemeral() as instance:

        def look(cursor: str | None = None) -> Any:
            return sensor(dg.build_sensor_context(instance, cursor=cursor))

        assert "nobody" in look().skip_message
        post.subscribe("https://hook.example/")
        post.change()
        first = look()
        assert len(first.run_requests) == 1
        assert "nothing changed" in look(first.cursor).skip_message


def test_the_sensor_looks_again_once_a_change_may_be_told(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    """A round that begins before a change may be told leaves it: the sensor's place must not be behind it already."""
    monkeypatch.setenv("EMDS_HOME", str(post.home))
    monkeypatch.setenv("EMDS_DATABASE_URL", post.url)
    clock = Clock()
    monkeypatch.setattr(changes, "time", clock)
    sensor = webhook_sensor(dg.define_asset_job(JOB))
    with dg.DagsterInstance.ephemeral() as instance:

        def look(cursor: str | None) -> Any:
            return sensor(dg.build_sensor_context(instance, cursor=cursor))

        post.subscribe("https://hook.example/")
        post.change()
        before = look(None)
        post.change(at=int(clock.now))
        assert "nothing changed" in look(before.cursor).skip_message
        clock.now += 10
        assert len(look(before.cursor).run_requests) == 1
