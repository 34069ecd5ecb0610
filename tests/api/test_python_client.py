"""Test emds-client against the service: frames, pages, several zones, errors, retries and cached responses."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.conftest import NOW
from warehouse.market.clock import DAY

FOLDER = Path(__file__).resolve().parents[2] / "clients" / "python"


@pytest.fixture
def package(monkeypatch: Any) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    import emds_client

    return emds_client


@pytest.fixture
def service(market: Any) -> tuple[Any, str]:
    """Return a WSGI transport to the application in this process, and a key."""
    test_client = market.client()
    key = market.key(test_client)["Authorization"].removeprefix("Bearer ")
    return httpx.WSGITransport(app=test_client.application), key


BASE = "http://emds.example"


def test_three_lines_from_a_key_to_a_frame(package: Any, service: tuple[Any, str]) -> None:
    transport, key = service
    client = package.Client(BASE, key, transport=transport)
    series = client.series("price", "DE-LU", start="2026-03-29", end="2026-03-30")
    frame = series.to_pandas()
    assert len(frame) == 92
    assert str(frame.index[0]) == "2026-03-28 23:00:00+00:00"
    assert series.to_polars()["value"].to_list() == frame["value"].tolist() == series.to_arrow()["value"].to_pylist()
    assert str(series.to_polars()["time"][0]) == "2026-03-28 23:00:00+00:00"
    assert series.attribution == "© North Market Operator"
    client.close()


def test_pages_are_followed_to_the_end(package: Any, service: tuple[Any, str]) -> None:
    transport, key = service
    with package.Client(BASE, key, transport=transport) as client:
        whole = client.series("price", ["GB", "DE-LU"])
        paged = client.series("price", ["GB", "DE-LU"], limit=7)
        assert paged.rows == whole.rows
        assert paged.envelope == whole.envelope
        assert (whole.truncated, paged.truncated) == (False, False)
        first = client.series("price", ["GB", "DE-LU"], limit=7, pages=1)
        assert first.rows == whole.rows[: len(first.rows)]
        assert first.truncated
        assert {row["zone"] for row in client.series("carbon_intensity", "all").rows} == {"GB"}


def test_frames_have_their_columns_and_terms_with_rows_and_without(package: Any, service: tuple[Any, str]) -> None:
    transport, key = service
    with package.Client(BASE, key, transport=transport) as client:
        rows = client.series("price", ["GB", "DE-LU"])
        none = client.series("price", ["GB", "DE-LU"], start="1990-01-01T00:00Z", end="1990-01-02T00:00Z")
        assert list(none.to_pandas().columns) == list(rows.to_pandas().columns)
        assert none.to_polars().columns == rows.to_polars().columns
        assert none.to_arrow().column_names == rows.to_arrow().column_names
        assert none.to_pandas().attrs == {name: none.envelope[name] for name in ("attribution", "license")}
        assert json.loads(rows.to_arrow().schema.metadata[b"license"]) == rows.envelope["license"]
        wide = rows.to_pandas(wide=True)
        assert list(wide.columns) == ["DE-LU", "GB"]
        assert wide["GB"].count() == len(client.series("price", "GB").rows)
        assert list(client.series("generation", "GB").to_pandas(wide=True).columns) == ["gas", "nuclear", "wind"]
        assert list(none.to_pandas(wide=True).columns) == []


def test_the_address_and_the_key_come_from_the_environment(
    package: Any, service: tuple[Any, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    transport, key = service
    monkeypatch.delenv("EMDS_URL", raising=False)
    with pytest.raises(ValueError, match="EMDS_URL"):
        package.Client(transport=transport)
    monkeypatch.setenv("EMDS_URL", BASE)
    monkeypatch.setenv("EMDS_KEY", key)
    with package.Client(transport=transport) as client:
        assert client.statistics("price", "DE-LU", above=0)["statistics"]["count"] > 0
        with pytest.raises(package.NotFound, match="forecast"):
            client.forecast("price", "DE-LU")


def test_refusals_are_typed(package: Any, service: tuple[Any, str]) -> None:
    transport, key = service
    with (
        package.Client(BASE, None, transport=transport) as stranger,
        package.Client(BASE, key, transport=transport) as c,
    ):
        with pytest.raises(package.PaymentRequired):
            stranger.series("price", "GB")
        assert len(stranger.series("price", "GB", sample=True).rows) == 48
        with pytest.raises(package.NotFound, match="Did you mean GB"):
            c.series("price", "Great Britian")
        with pytest.raises(package.BadRequest) as refused:
            c.series("price", "GB", order="up")
        assert refused.value.problem["errors"][0]["parameter"] == "order"
        with pytest.raises(ValueError, match="no UTC offset"):
            c.series("price", "GB", start=datetime(2026, 3, 29))  # noqa: DTZ001
    with package.Client(BASE, "emds_wrong", transport=transport) as wrong, pytest.raises(package.InvalidKey):
        wrong.series("price", "GB")


def test_a_followed_frame_is_the_series_after_every_change(package: Any, market: Any) -> None:
    app = market.client()
    key = market.key(app)["Authorization"].removeprefix("Bearer ")
    asked: list[httpx.Request] = []
    start, hook = NOW - DAY, {"request": [asked.append]}
    with package.Client(BASE, key, transport=httpx.WSGITransport(app=app.application)) as client:
        client._sleep = lambda seconds: pauses.append(seconds)
        client._http.event_hooks = hook
        pauses: list[float] = []
        updates = client.changes.follow("demand", "GB", start, every=5)
        first = next(updates)
        rows = client.series("demand", "GB", start).rows
        assert first.frame["value"].tolist() == [row["value"] for row in rows]
        ts = rows[-1]["ts"]
        for change in ([(ts, -1.0)], [(ts, -2.0), (ts + 300, 7.0)], [(start - DAY, 1.0)]):
            market.put("north.grid", "GB", "demand", change, known_at=NOW)
        market.put("north.grid", "US-NYISO", "demand", [(ts, 5.0)], known_at=NOW)
        asked.clear()
        later = next(updates)
        assert [request.url.path for request in asked] == ["/v1/changes", "/v1/demand/GB"], "one span, read once"
        whole = client.series("demand", "GB", start, "2100-01-01").to_pandas()
        assert later.frame.equals(whole)
        assert later.frame["value"].tolist()[-2:] == [-2, 7]
        again = next(client.changes.follow("demand", "GB", start, frame=first.frame, since=first.cursor))
        assert (again.frame is first.frame, again.changed, later.changed, next(updates).changed) == (
            True,
            False,
            True,
            False,
        )
        assert pauses == [5, 5]
        lost = client.changes.follow("demand", "GB", start, frame=first.frame, since="00000000-1", every=0)
        next(lost)
        assert next(lost).frame.equals(whole), "a cursor that is gone begins again"


def test_months_become_the_frame_that_the_rows_make(package: Any, service: tuple[Any, str]) -> None:
    transport, key = service
    with package.Client(BASE, key, transport=transport) as client:
        for metric, zone in (("price", "GB"), ("carbon_intensity", "GB"), ("generation", "GB")):
            frame = client.bulk(metric, zone, "2026", "2026-03")
            rows = client.series(metric, zone, "2026-03-01T00:00Z", "2026-04-01T00:00Z").to_pandas()
            names = list(rows.columns)
            order = [name for name in ("ts", "fuel") if name in names]
            assert frame[names].sort_values(order).equals(rows.sort_values(order))
            assert frame.attrs == rows.attrs
        both = client.bulk("demand", ["GB", "US-NYISO"])
        rows = client.series("demand", ["US-NYISO", "GB"], "2026-03-01T00:00Z", "2026-04-01T00:00Z").to_pandas()
        for name in ("zone", "ts", "value"):
            assert both[name].tolist() == rows[name].tolist()
        for zones, first in (("GB", "1999"), (["GB", "FR"], "2026-03")):
            with pytest.raises(package.NotFound, match=r"no month of price .* it has (none|GB)"):
                client.bulk("price", zones, first, first)
    with package.Client(BASE, transport=transport) as stranger, pytest.raises(package.PaymentRequired):
        stranger.bulk("price", "GB")


def test_month_files_elsewhere_get_no_key_and_are_checked(package: Any) -> None:
    file = {"month": "2026-03", "zone": "GB", "url": "https://files.example/a.parquet", "sha256": "0" * 64}
    script = Script(httpx.Response(200, json={"files": [file]}), httpx.Response(200, content=b"other"))
    with pytest.raises(package.Unavailable, match="not the listed file"):
        package.Client(BASE, "emds_key", transport=httpx.MockTransport(script)).bulk("price", "GB")
    assert [request.headers.get("Authorization") for request in script.asked] == ["Bearer emds_key", None]
    assert script.asked[1].url == file["url"]


class Script:
    """A transport that returns the given responses in turn and records the requests."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.asked = list(answers), []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def good(**headers: str) -> httpx.Response:
    return httpx.Response(200, json={"zones": [], "now": 1}, headers=headers)


def test_busy_answers_are_tried_again_as_long_as_they_say(package: Any) -> None:
    busy = httpx.Response(429, headers={"Retry-After": "2"}, json={"detail": "busy"})
    lost = httpx.ConnectError("lost")
    script = Script(busy, httpx.Response(503, json={}), lost, lost, good())
    pauses: list[float] = []

    async def run() -> None:
        async with package.AsyncClient(BASE, longest_wait=2, transport=httpx.MockTransport(script)) as client:

            async def sleep(seconds: float) -> None:
                pauses.append(seconds)

            client._sleep = sleep
            assert await client.status() == {"zones": [], "now": 1}

    asyncio.run(run())
    assert pauses == [2, 1.0, 2.0, 2]


def test_an_unchanged_answer_is_kept(package: Any, service: tuple[Any, str]) -> None:
    script = Script(good(ETag='"a"'), httpx.Response(304), good(ETag='"b"'))
    with package.Client(BASE, transport=httpx.MockTransport(script)) as client:
        assert [client.status() for _ in range(3)] == [{"zones": [], "now": 1}] * 3
    assert [request.headers.get("If-None-Match") for request in script.asked] == [None, '"a"', '"a"']


def test_a_key_goes_to_its_own_host_alone(package: Any) -> None:
    link = '<http://elsewhere.example/v1/price/GB?cursor=x&start=1>; rel="next"'
    envelope = {"attribution": "", "start": 0, "end": 2, "count": 1, "truncated": True, "gaps": []}
    page = {**envelope, "data": [{"ts": 1, "value": 1.0}]}
    script = Script(httpx.Response(200, json=page, headers={"Link": link}), httpx.Response(200, json=page))
    with package.Client(BASE, "emds_key", transport=httpx.MockTransport(script)) as client:
        assert len(client.series("price", "GB").rows) == 2
    assert [request.url.host for request in script.asked] == ["emds.example"] * 2
    assert script.asked[1].url.params["cursor"] == "x"
