"""Test `emds probe` against TLS stand-ins of all publishers: named failures, and the publishers' keys and pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from assets.fetch.https import Live
from assets.fetch.session import Session
from assets.sources import feed, feeds, pjm
from orchestration import cli
from tests.stand_ins import publishers as stand_ins
from tests.stand_ins.publishers import KEYS, NOW, Clocks, Failing, Publishers, answers
from warehouse.errors import FeedUnavailable
from warehouse.market.clock import MarketDay, instant
from warehouse.market.feeds import Request
from warehouse.rows.schema import Rows

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Return a function that runs `emds probe`, checks that it leaks and writes nothing, and returns code and text."""

    def ran(*args: str) -> tuple[int, str]:
        code = cli.main(["probe", *args])
        printed = capsys.readouterr()
        assert not any(secret in printed.out + printed.err for secret in KEYS.values())
        assert not (tmp_path / "none").exists(), "a probe writes nothing to the warehouse"
        return code, printed.out

    return ran


def test_without_credentials_a_feed_is_left_out_and_nothing_fails(
    publishers: Publishers, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EIA_API_KEY")
    code, text = run("--source", "eia")
    assert code == 0
    assert "not configured: set EIA_API_KEY" in text
    assert not publishers.requests["api.eia.gov"]


WAYS: list[tuple[Failing, str]] = [
    (answers(401), "returned 401: access denied"),
    (answers(503, b"<html>Down for maintenance</html>"), "returned 503"),
    (answers(429, b"", ("retry-after", "600")), "returned 429"),
    (answers(302, b"", ("location", "https://elsewhere.example/login")), "redirect"),
    (stand_ins.truncates, "the response was cut off"),
]


def test_whatever_way_hosts_fail_each_feed_says_why_and_nothing_is_taken_for_rows(
    publishers: Publishers, run: Run
) -> None:
    """Apply each type of failure in turn over all hosts; a feed reports that of its source's host, or the pause."""
    hosts = sorted(stand_ins.HOSTS)
    for number, host in enumerate(hosts):
        publishers.break_host(host, WAYS[number % len(WAYS)][0])
    code, text = run()
    failed = {line.split()[1]: line for line in text.splitlines() if line.startswith("failed: ")}
    assert (code, set(failed)) == (1, set(feeds()))
    for feed_id, line in failed.items():
        code = feed_id.partition(".")[0]
        reasons = [WAYS[number % len(WAYS)][1] for number, host in enumerate(hosts) if stand_ins.HOSTS[host] == code]
        assert any(reason in line for reason in [*reasons, f"Requests to {code} are paused for"]), line


# The following lines check the texts around the responses.


@pytest.mark.parametrize("zone", ["PJM", "ERCOT"])
def test_pages_of_prices_are_followed_to_the_last_row(
    publishers: Publishers, clocks: Clocks, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    """Use smaller pages than the real ones, which fit a month: ten days of prices fill more than five pages."""
    monkeypatch.setattr(pjm, "PAGE", 500)
    keyed, host = (feed("pjm.lmp_rt"), "api.pjm.com") if zone == "PJM" else (feed("ercot.spp_rt"), "api.ercot.com")
    last = MarketDay.at(instant("2026-10-20T12:00:00Z"), keyed.tz)
    days = [last.next(-number) for number in reversed(range(10))]
    clock = clocks[keyed.source]
    session = Session(Live(), KEYS, tick=clock.tick, sleep=clock.sleep)
    queue, rows = keyed.requests(days, instant(NOW)), Rows()
    queue = [replace(r, params=tuple((n, "150" if n == "size" else v) for n, v in r.params)) for r in queue]
    while queue:
        request = queue.pop()
        answer = session.ask(request)
        rows.merge(keyed.parse(answer.body, request))
        assert keyed.follow
        queue += keyed.follow(answer.body, request)
    step = 300 if zone == "PJM" else 900
    assert sorted(row.ts for row in rows) == [*range(days[0].start, days[-1].end, step)]
    asked = [path for path in publishers.requests[host] if "archive" not in path]
    assert len(asked) > 5
    assert len(set(asked)) == len(asked)


def test_a_keyed_api_sells_its_token_first(publishers: Publishers) -> None:
    keyed = feed("ercot.spp_da")
    days = [MarketDay.at(instant("2026-09-01T12:00:00Z"), keyed.tz)]
    requests = [request for request in keyed.requests(days, instant(NOW)) if request.secrets]
    assert requests
    session = Session(Live(), KEYS)
    assert len(keyed.parse(session.ask(requests[0]).body, requests[0]))
    with pytest.raises(FeedUnavailable):
        Session(Live(), KEYS, sleep=lambda seconds: None).ask(Request("ercot.spp_da", requests[0].url))
    assert len(publishers.requests[stand_ins.B2C]) == 1
