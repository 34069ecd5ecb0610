"""Pages of a series over HTTP: orders, where a page ends, its cursor, and the link to the next."""

from __future__ import annotations

from typing import Any

from api.series.paging import Cursor
from warehouse.clock import HOUR


def test_a_truncated_answer_ends_where_the_first_row_left_out_begins(ask: Any) -> None:
    whole = ask("/v1/price/GB")["data"]
    page = ask("/v1/price/GB?limit=10")
    assert page["truncated"] is True
    assert page["end"] == whole[10]["ts"]
    assert ask(f"/v1/price/GB?start={page['end']}")["data"] == whole[10:]


def test_descending_answers_hold_the_newest_rows_first(ask: Any) -> None:
    whole = ask("/v1/price/GB")["data"]
    page = ask("/v1/price/GB?limit=10&order=desc")
    assert page["data"] == whole[::-1][:10]
    assert page["start"] == whole[-10]["ts"]
    assert ask(f"/v1/price/GB?order=desc&start={whole[0]['ts']}&end={page['start']}")["data"] == whole[::-1][10:]


def test_the_next_link_continues_exactly_also_within_one_instant(ask: Any) -> None:
    whole = ask("/v1/generation/GB")["data"]
    page, rows = ask("/v1/generation/GB?limit=4"), []
    rows += page["data"]
    while "Link" in ask.last.headers:
        target, rel = ask.last.headers["Link"].split("; ")
        assert rel == 'rel="next"'
        rows += ask(target.strip("<>").removeprefix("http://emds.example"))["data"]
    assert rows == whole


def test_the_next_link_pins_the_window_that_now_would_move(ask: Any, market: Any) -> None:
    ask("/v1/price/GB?limit=3")
    assert f"start={market.now - 24 * HOUR}&end={market.now}&limit=3" in ask.last.headers["Link"]


def test_the_next_link_is_each_askers_own(ask: Any, market: Any) -> None:
    """Both ask for the same rows in the same format, one by `Accept` and one by the address."""
    window = f"start={market.now - 24 * HOUR}&end={market.now}&limit=3"
    client = market.client()
    headers = market.key(client)
    by_accept = client.get(f"/v1/price/GB?{window}", headers={**headers, "Accept": "text/csv"})
    by_format = client.get(f"/v1/price/GB?{window}&format=csv", headers=headers)
    assert by_accept.data == by_format.data
    assert "format=csv" in by_format.headers["Link"]
    assert "format" not in by_accept.headers["Link"]


def test_a_cursor_goes_on_within_its_own_window_only(ask: Any, market: Any) -> None:
    window = f"start={market.now - 2 * HOUR}&end={market.now}&limit=1"
    for ts in (market.now - 3 * HOUR, market.now, 253402300799):
        for order in ("asc", "desc"):
            problem = ask(f"/v1/price/GB?{window}&order={order}&cursor={Cursor(order, ts, '', '', '').to_text()}", 400)
            assert [fault["parameter"] for fault in problem["errors"]] == ["cursor"]
    assert ask("/v1/capacity/DE-LU?limit=1")["truncated"]
    assert ask(ask.last.headers["Link"].partition(">")[0][1:].removeprefix("http://emds.example"))["count"]


def test_pages_end_between_instants(ask: Any, market: Any) -> None:
    """Three fuels an instant: a page of seven rows holds two whole instants, and its end goes on without repeating."""
    window = f"start={market.now - 5 * HOUR}&end={market.now}"
    whole = ask(f"/v1/generation/GB?{window}")["data"]
    first = ask(f"/v1/generation/GB?{window}&limit=7")
    assert (first["count"], first["truncated"]) == (6, True)
    assert first["data"] + ask(f"/v1/generation/GB?start={first['end']}&end={market.now}")["data"] == whole
    newest = ask(f"/v1/generation/GB?{window}&limit=7&order=desc")
    older = ask(f"/v1/generation/GB?start={market.now - 5 * HOUR}&end={newest['start']}&order=desc")["data"]
    assert newest["data"] + older == whole[::-1]
