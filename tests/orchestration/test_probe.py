"""`emds probe` against stand-ins of all publishers over TLS: every feed is met, every failure is named."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from assets.fetch.live import Live
from assets.fetch.session import Session
from assets.sources import feed, feeds, pjm
from orchestration import cli
from tests.stand_ins import publishers as stand_ins
from tests.stand_ins.publishers import KEYS, NOW, Clocks, Failing, Publishers, answers
from warehouse.errors import FeedUnavailable
from warehouse.market.clock import MarketDay, instant
from warehouse.market.market import Request
from warehouse.rows.schema import Rows

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Exit code and output of `emds probe`; no secret is in it, and nothing was written."""

    def ran(*args: str) -> tuple[int, str]:
        code = cli.main(["probe", *args])
        printed = capsys.readouterr()
        assert not any(secret in printed.out + printed.err for secret in KEYS.values())
        assert not (tmp_path / "none").exists(), "a probe writes nothing to the warehouse"
        return code, printed.out

    return ran


def test_every_feed_of_every_publisher_is_met(publishers: Publishers, run: Run) -> None:
    code, text = run()
    lines = [line for line in text.splitlines() if " | " in line]
    verdicts = {tuple(line.split()[:2]): line[38:52].strip() for line in lines}
    assert {feed_id for feed_id, _ in verdicts} == set(feeds()), text
    assert code == 0, text
    assert not {"failed", "not configured"} & set(verdicts.values()), text
    assert re.match(r"\d+ done, ", text.splitlines()[-1])
    met = {feed_id for (feed_id, _), verdict in verdicts.items() if verdict in ("done", "short")}
    assert met == set(feeds()), "each feed gave rows of one of its days"
    assert not publishers.limited, "no publisher had to refuse a request as one too many"


def test_simulated_publishers_are_probed_too_and_marked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EMDS_HOME", str(tmp_path))
    monkeypatch.setenv("EMDS_NOW", NOW)
    monkeypatch.delenv("EMDS_FEEDS", raising=False)
    assert cli.main(["probe", "--source", "neso"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("SIMULATED publishers: no network")
    assert text.rstrip().endswith("(simulated publishers)")
    assert not list(tmp_path.iterdir())


def test_without_credentials_a_feed_is_left_out_and_nothing_fails(
    publishers: Publishers, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EIA_API_KEY")
    code, text = run("--source", "eia")
    assert code == 0
    assert "not configured: set EIA_API_KEY" in text
    assert not publishers.requests["api.eia.gov"]


@pytest.mark.parametrize(
    ("failing", "sentence"),
    [
        (answers(401), "FeedUnavailable: data.elexon.co.uk answers 401: access refused"),
        (answers(503, b"<html>Down for maintenance</html>"), "FeedUnavailable: data.elexon.co.uk answers 503"),
        (stand_ins.truncates, "data.elexon.co.uk: the answer broke off"),
    ],
    ids=["refuses", "fails", "breaks off"],
)
def test_a_failure_is_told_with_host_and_status(
    publishers: Publishers, run: Run, failing: Failing, sentence: str
) -> None:
    publishers.break_host("data.elexon.co.uk", failing)
    code, text = run("--feed", "elexon.price")
    assert code == 1
    assert sentence in next(line for line in text.splitlines() if line.startswith("failed: "))


# What stands around the answers


@pytest.mark.parametrize("zone", ["PJM", "ERCOT"])
def test_pages_of_prices_are_followed_to_the_last_row(
    publishers: Publishers, clocks: Clocks, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    """Pages smaller than the real ones, of which a month fits one: ten days of prices are more than five of these."""
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
