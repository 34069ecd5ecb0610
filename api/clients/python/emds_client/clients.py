"""The clients, sync and async: the same methods over `calls`."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable
from typing import Any

import httpx

from . import calls
from .calls import Call, Kept, Moment
from .rows import Series


def _settings(base_url: str | None, key: str | None, timeout: float) -> dict[str, Any]:
    base_url, key = base_url or os.environ.get("EMDS_URL", ""), key or os.environ.get("EMDS_KEY")
    if not base_url:
        raise ValueError("give the service's address, or set EMDS_URL")
    headers = {"Accept": "application/json", "User-Agent": "emds-client/0.1"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    return {"base_url": base_url.rstrip("/"), "headers": headers, "timeout": timeout, "follow_redirects": True}


class Client:
    """Calls one service: by default that of EMDS_URL with the key of EMDS_KEY; free paths and samples need none.

    Close it, or use it in a `with`.
    """

    def __init__(
        self,
        base_url: str | None = None,
        key: str | None = None,
        *,
        retries: int = 4,
        longest_wait: float = 60.0,
        timeout: float = 30.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = httpx.Client(**_settings(base_url, key, timeout), transport=transport)
        self._retries, self._longest, self._kept = retries, longest_wait, Kept()
        self._sleep = time.sleep

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes connections."""
        self._http.close()

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        """The decoded body of any JSON path. Raises EmdsError."""
        return calls.body_of(self._answer(calls.call(path, **query)))

    def zones(self) -> list[dict[str, Any]]:
        """The zones with clocks, currency, licence and attribution."""
        zones: list[dict[str, Any]] = self.get("/v1/zones")["zones"]
        return zones

    def status(self) -> dict[str, Any]:
        """Freshness by source and zone."""
        return self.get("/v1/status")

    def latest(self, zone: str, *, sample: bool = False) -> dict[str, Any]:
        """The newest value of each metric."""
        return self.get(f"/v1/latest/{zone}", sample=sample)

    def brief(self, zone: str, *, sample: bool = False) -> dict[str, Any]:
        """The present ranked against the last 30 days, and in words."""
        return self.get(f"/v1/brief/{zone}", sample=sample)

    def snapshot(self, *, sample: bool = False, **query: Any) -> dict[str, Any]:
        """The newest values of all zones; `metric` and `zones` narrow it."""
        return self.get("/v1/map/snapshot", sample=sample, **query)

    def windows(self, zone: str, *, sample: bool = False, **query: Any) -> dict[str, Any]:
        """The cheapest or dearest hours of the prices known ahead."""
        return self.get(f"/v1/windows/{zone}", sample=sample, **query)

    def statistics(
        self, metric: str, zone: str, start: Moment | None = None, end: Moment | None = None, **query: Any
    ) -> dict[str, Any]:
        """Mean, spread, extremes and quantiles of a window; `above` and `below` add the time beyond a value."""
        made = calls.series(metric, zone, start=start, end=end, stats=True, **query)
        return calls.body_of(self._answer(made))

    def forecast(self, metric: str, zone: str, start: Moment | None = None, **query: Any) -> Series:
        """The publisher's own forecast, by default the newest of each interval."""
        return self.series(metric, zone, start, kind="forecast", **query)

    def series(
        self,
        metric: str,
        zone: str | Iterable[str],
        start: Moment | None = None,
        end: Moment | None = None,
        *,
        pages: int | None = None,
        **query: Any,
    ) -> Series:
        """Rows of a window, page after page, at most `pages`. Raises EmdsError."""
        made: Call | None = calls.series(metric, zone, start=start, end=end, **{"limit": 5000, **query})
        envelope: dict[str, Any] = {}
        rows: list[dict[str, Any]] = []
        read = 0
        while made is not None and read != pages:
            answer = self._answer(made)
            body = calls.body_of(answer)
            rows += body.pop("data")
            envelope, read, made = calls.merged(envelope, body), read + 1, calls.following(answer.headers)
        return Series(envelope, rows, made is not None)

    def _answer(self, made: Call) -> httpx.Response:
        for attempt in range(self._retries + 1):
            response, failure = None, None
            try:
                response = self._http.get(made.path, params=made.query, headers=self._kept.validator(made))
            except httpx.TransportError as error:
                failure = error
            pause = calls.wait(response, attempt, self._longest, time.time())
            if pause is None or attempt == self._retries:
                break
            self._sleep(pause)
        if response is None:
            assert failure is not None
            raise calls.unreachable(failure) from failure
        return self._kept.settled(made, response)


class AsyncClient:
    """As `Client`, awaited."""

    def __init__(
        self,
        base_url: str | None = None,
        key: str | None = None,
        *,
        retries: int = 4,
        longest_wait: float = 60.0,
        timeout: float = 30.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._http = httpx.AsyncClient(**_settings(base_url, key, timeout), transport=transport)
        self._retries, self._longest, self._kept = retries, longest_wait, Kept()
        self._sleep = asyncio.sleep

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes connections."""
        await self._http.aclose()

    async def get(self, path: str, **query: Any) -> dict[str, Any]:
        """The decoded body of any JSON path. Raises EmdsError."""
        return calls.body_of(await self._answer(calls.call(path, **query)))

    async def zones(self) -> list[dict[str, Any]]:
        """The zones with clocks, currency, licence and attribution."""
        zones: list[dict[str, Any]] = (await self.get("/v1/zones"))["zones"]
        return zones

    async def status(self) -> dict[str, Any]:
        """Freshness by source and zone."""
        return await self.get("/v1/status")

    async def latest(self, zone: str, *, sample: bool = False) -> dict[str, Any]:
        """The newest value of each metric."""
        return await self.get(f"/v1/latest/{zone}", sample=sample)

    async def brief(self, zone: str, *, sample: bool = False) -> dict[str, Any]:
        """The present ranked against the last 30 days, and in words."""
        return await self.get(f"/v1/brief/{zone}", sample=sample)

    async def snapshot(self, *, sample: bool = False, **query: Any) -> dict[str, Any]:
        """The newest values of all zones; `metric` and `zones` narrow it."""
        return await self.get("/v1/map/snapshot", sample=sample, **query)

    async def windows(self, zone: str, *, sample: bool = False, **query: Any) -> dict[str, Any]:
        """The cheapest or dearest hours of the prices known ahead."""
        return await self.get(f"/v1/windows/{zone}", sample=sample, **query)

    async def statistics(
        self, metric: str, zone: str, start: Moment | None = None, end: Moment | None = None, **query: Any
    ) -> dict[str, Any]:
        """Mean, spread, extremes and quantiles of a window; `above` and `below` add the time beyond a value."""
        made = calls.series(metric, zone, start=start, end=end, stats=True, **query)
        return calls.body_of(await self._answer(made))

    async def forecast(self, metric: str, zone: str, start: Moment | None = None, **query: Any) -> Series:
        """The publisher's own forecast, by default the newest of each interval."""
        return await self.series(metric, zone, start, kind="forecast", **query)

    async def series(
        self,
        metric: str,
        zone: str | Iterable[str],
        start: Moment | None = None,
        end: Moment | None = None,
        *,
        pages: int | None = None,
        **query: Any,
    ) -> Series:
        """Rows of a window, page after page, at most `pages`. Raises EmdsError."""
        made: Call | None = calls.series(metric, zone, start=start, end=end, **{"limit": 5000, **query})
        envelope: dict[str, Any] = {}
        rows: list[dict[str, Any]] = []
        read = 0
        while made is not None and read != pages:
            answer = await self._answer(made)
            body = calls.body_of(answer)
            rows += body.pop("data")
            envelope, read, made = calls.merged(envelope, body), read + 1, calls.following(answer.headers)
        return Series(envelope, rows, made is not None)

    async def _answer(self, made: Call) -> httpx.Response:
        for attempt in range(self._retries + 1):
            response, failure = None, None
            try:
                response = await self._http.get(made.path, params=made.query, headers=self._kept.validator(made))
            except httpx.TransportError as error:
                failure = error
            pause = calls.wait(response, attempt, self._longest, time.time())
            if pause is None or attempt == self._retries:
                break
            await self._sleep(pause)
        if response is None:
            assert failure is not None
            raise calls.unreachable(failure) from failure
        return self._kept.settled(made, response)
