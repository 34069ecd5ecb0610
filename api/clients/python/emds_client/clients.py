"""The clients, sync and async: the same methods over `calls` and `steps`."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

import httpx

from . import calls, steps
from .calls import Call, Kept, Moment
from .rows import Series
from .steps import Followed, Steps, T, Update


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
        self.changes = Changes(self)

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
        """The cheapest or dearest hours ahead, by auction or, where there is none, by the operator's own forecast."""
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
        return self._run(steps.read_series(metric, zone, start, end, pages, query))

    def bulk(self, metric: str, zone: str, first: str = "", last: str = "9999") -> Any:
        """Months of a zone in one pandas frame, from the month files of /v1/bulk, each checked by its SHA-256.

        `first` and `last`, both included, are months (`2025-11`) or years. Each file counts once a day. Needs pandas
        and pyarrow. Raises NotFound where no such month is listed, Unavailable for a file that is not the one listed.
        """
        return self._run(steps.read_months(metric, zone, first, last))

    def _run(self, taken: Steps[T]) -> T:
        try:
            made = next(taken)
            while True:
                made = taken.send(self._answer(made))
        except StopIteration as done:
            result: T = done.value
            return result

    def _answer(self, made: Call) -> httpx.Response:
        for attempt in range(self._retries + 1):
            response, failure = None, None
            try:
                request = self._http.build_request(
                    "GET", made.path, params=made.query, headers=self._kept.validator(made)
                )
                response = self._http.send(calls.without_foreign_key(request, self._http.base_url))
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
        self.changes = AsyncChanges(self)

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
        """The cheapest or dearest hours ahead, by auction or, where there is none, by the operator's own forecast."""
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
        return await self._run(steps.read_series(metric, zone, start, end, pages, query))

    async def bulk(self, metric: str, zone: str, first: str = "", last: str = "9999") -> Any:
        """As `Client.bulk`."""
        return await self._run(steps.read_months(metric, zone, first, last))

    async def _run(self, taken: Steps[T]) -> T:
        try:
            made = next(taken)
            while True:
                made = taken.send(await self._answer(made))
        except StopIteration as done:
            result: T = done.value
            return result

    async def _answer(self, made: Call) -> httpx.Response:
        for attempt in range(self._retries + 1):
            response, failure = None, None
            try:
                request = self._http.build_request(
                    "GET", made.path, params=made.query, headers=self._kept.validator(made)
                )
                response = await self._http.send(calls.without_foreign_key(request, self._http.base_url))
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


class Changes:
    """What changed in the warehouse, as `client.changes`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def follow(
        self,
        metric: str,
        zone: str,
        start: Moment | None = None,
        *,
        market: str | None = None,
        frame: Any = None,
        since: str | None = None,
        every: float = 60.0,
    ) -> Iterator[Update]:
        """Keep a pandas frame of a series true: its rows from `start` on, then, every `every` seconds, what changed.

        Each step yields an `Update`, changed or not, so it never waits longer than `every` seconds and its calls. To
        go on another day, keep `update.frame` and `update.cursor` and give them as `frame` and `since`. Where the
        service no longer knows the cursor, the window is read again. Raises EmdsError.
        """
        client, followed = self._client, Followed(metric, zone, start, market)
        resumed = frame is not None and since is not None
        update = Update(frame, str(since), False, True) if resumed else client._run(followed.begin())
        while True:
            yield update
            if not update.more:
                client._sleep(every)
            update = client._run(followed.advance(update))


class AsyncChanges:
    """As `Changes`, awaited."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def follow(
        self,
        metric: str,
        zone: str,
        start: Moment | None = None,
        *,
        market: str | None = None,
        frame: Any = None,
        since: str | None = None,
        every: float = 60.0,
    ) -> AsyncIterator[Update]:
        """As `Changes.follow`."""
        client, followed = self._client, Followed(metric, zone, start, market)
        resumed = frame is not None and since is not None
        update = Update(frame, str(since), False, True) if resumed else await client._run(followed.begin())
        while True:
            yield update
            if not update.more:
                await client._sleep(every)
            update = await client._run(followed.advance(update))
