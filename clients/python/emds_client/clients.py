"""Define the clients, sync and async. Both share their methods, and each sends requests and sleeps in its own way."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Coroutine, Generator, Iterable, Iterator
from typing import Any, Generic, TypeVar

import httpx

from . import calls, steps
from .calls import AnswerCache, Call, Moment
from .rows import Series
from .steps import Followed, Steps, T, Update
from .version import __version__

Json = TypeVar("Json")
Zones = TypeVar("Zones")
Rows = TypeVar("Rows")
Frame = TypeVar("Frame")
Updates = TypeVar("Updates")
"""The results of the methods. `Client` returns them directly; those of `AsyncClient` must be awaited."""


class _Methods(Generic[Json, Zones, Rows, Frame, Updates]):
    """The methods of both clients. `Client` returns their values, `AsyncClient` returns coroutines."""

    _open: Any
    """The class of httpx that manages the connections."""

    def __init__(
        self,
        base_url: str | None = None,
        key: str | None = None,
        *,
        retries: int = 4,
        longest_wait: float = 60.0,
        timeout: float = 30.0,
        transport: httpx.BaseTransport | httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._http = self._open(**_settings(base_url, key, timeout), transport=transport)
        self._retries, self._longest, self._cache = retries, longest_wait, AnswerCache()
        self.changes = Changes[Updates](self)

    def get(self, path: str, **query: Any) -> Json:
        """Return the decoded body of any JSON path. Raises EmdsError."""
        return self._body(calls.call(path, **query))

    def zones(self) -> Zones:
        """Return the zones with time zones, currency, licence and attribution."""
        zones: Zones = self._run(steps.read_zones())
        return zones

    def status(self) -> Json:
        """Return the freshness by source and zone."""
        return self.get("/v1/status")

    def latest(self, zone: str, *, sample: bool = False) -> Json:
        """Return the newest value of each metric."""
        return self.get(f"/v1/latest/{zone}", sample=sample)

    def brief(self, zone: str, *, sample: bool = False) -> Json:
        """Return the current values ranked against the last 30 days, with a summary."""
        return self.get(f"/v1/brief/{zone}", sample=sample)

    def snapshot(self, *, sample: bool = False, **query: Any) -> Json:
        """Return the newest values of all zones, or of the given `metric` and `zones`."""
        return self.get("/v1/map/snapshot", sample=sample, **query)

    def windows(self, zone: str, *, sample: bool = False, **query: Any) -> Json:
        """Return the cheapest or most expensive hours ahead, by auction prices or else the operator's forecast."""
        return self.get(f"/v1/windows/{zone}", sample=sample, **query)

    def statistics(
        self, metric: str, zone: str, start: Moment | None = None, end: Moment | None = None, **query: Any
    ) -> Json:
        """Return mean, spread, extremes and quantiles of a window. `above` and `below` add the time beyond a value."""
        return self._body(calls.series(metric, zone, start=start, end=end, stats=True, **query))

    def forecast(self, metric: str, zone: str, start: Moment | None = None, **query: Any) -> Rows:
        """Return the publisher's own forecast, by default the newest of each interval."""
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
    ) -> Rows:
        """Return the rows of a window, fetched in at most `pages` pages. Raises EmdsError."""
        rows: Rows = self._run(steps.read_series(metric, zone, start, end, pages, query))
        return rows

    def bulk(self, metric: str, zone: str | Iterable[str], first: str = "", last: str = "9999") -> Frame:
        """Return the monthly files of a zone, or of several, as a pandas frame. Each file is checked by SHA-256.

        `first` and `last`, both included, are months (`2025-11`) or years. Rows ascend by time, then zone. The final
        files of a zone and calendar year count once against the quota per day. Needs pandas and pyarrow. Raises
        NotFound if a zone has no such month, and Unavailable if a file is not the listed file.
        """
        frame: Frame = self._run(steps.read_months(metric, zone, first, last))
        return frame

    def _body(self, call: Call) -> Json:
        body: Json = self._run(steps.read_body(call))
        return body

    def _run(self, taken: Steps[Any]) -> Any:
        """Perform the steps and return their result."""
        raise NotImplementedError

    def _follow(self, followed: Followed, update: Update | None, every: float) -> Any:
        """Yield the previous update, or the whole window, and then an update every `every` seconds."""
        raise NotImplementedError

    def _with_retries(self, taken: Steps[T]) -> Generator[httpx.Request | float, Any, T]:
        """Turn calls into requests, and yield the pauses between retries in seconds."""
        try:
            call = next(taken)
            while True:
                call = taken.send((yield from self._answer(call)))
        except StopIteration as done:
            result: T = done.value
            return result

    def _answer(self, call: Call) -> Generator[httpx.Request | float, Any, httpx.Response]:
        """Yield requests, which receive a response or an error, and pauses. Raises EmdsError."""
        for attempt in range(self._retries + 1):
            request = self._http.build_request("GET", call.path, params=call.query, headers=self._cache.validator(call))
            answer = yield calls.without_foreign_key(request, self._http.base_url)
            response = answer if isinstance(answer, httpx.Response) else None
            pause = calls.wait(response, attempt, self._longest, time.time())
            if pause is None or attempt == self._retries:
                break
            yield pause
        if response is None:
            raise calls.unreachable(answer) from answer
        return self._cache.settled(call, response)


class Changes(Generic[Updates]):
    """The changes in the warehouse, as `client.changes`."""

    def __init__(self, client: _Methods[Any, Any, Any, Any, Updates]) -> None:
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
    ) -> Updates:
        """Keep a pandas frame of a series up to date: its rows from `start`, then its changes every `every` seconds.

        Each step yields an `Update`, changed or not, so it takes no longer than `every` seconds and the calls. To
        continue later, pass the stored `update.frame` and `update.cursor` as `frame` and `since`. If the service no
        longer knows the cursor, the window is read again. Raises EmdsError.
        """
        before = Update(frame, since, False, True) if frame is not None and since is not None else None
        updates: Updates = self._client._follow(Followed(metric, zone, start, market), before, every)
        return updates


class Client(_Methods[dict[str, Any], list[dict[str, Any]], Series, Any, Iterator[Update]]):
    """A client of a service, by default at EMDS_URL with the key in EMDS_KEY. Free paths and samples need no key.

    Close the client, or use it in a `with` statement.
    """

    _open, _sleep = httpx.Client, staticmethod(time.sleep)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _run(self, taken: Steps[T]) -> T:
        requests, answer = self._with_retries(taken), None
        try:
            while True:
                step = requests.send(answer)
                answer = self._send(step) if isinstance(step, httpx.Request) else self._sleep(step)
        except StopIteration as done:
            result: T = done.value
            return result

    def _send(self, request: httpx.Request) -> Any:
        try:
            return self._http.send(request)
        except httpx.TransportError as error:
            return error

    def _follow(self, followed: Followed, update: Update | None, every: float) -> Iterator[Update]:
        newest: Update = update or self._run(followed.begin())
        while True:
            yield newest
            if not newest.more:
                self._sleep(every)
            newest = self._run(followed.advance(newest))


class AsyncClient(
    _Methods[
        Coroutine[Any, Any, dict[str, Any]],
        Coroutine[Any, Any, list[dict[str, Any]]],
        Coroutine[Any, Any, Series],
        Coroutine[Any, Any, Any],
        AsyncIterator[Update],
    ]
):
    """An asynchronous `Client`, whose methods must be awaited."""

    _open, _sleep = httpx.AsyncClient, staticmethod(asyncio.sleep)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _run(self, taken: Steps[T]) -> T:
        requests, answer = self._with_retries(taken), None
        try:
            while True:
                step = requests.send(answer)
                answer = await (self._send(step) if isinstance(step, httpx.Request) else self._sleep(step))
        except StopIteration as done:
            result: T = done.value
            return result

    async def _send(self, request: httpx.Request) -> Any:
        try:
            return await self._http.send(request)
        except httpx.TransportError as error:
            return error

    async def _follow(self, followed: Followed, update: Update | None, every: float) -> AsyncIterator[Update]:
        newest = await self._run(followed.begin()) if update is None else update
        while True:
            yield newest
            if not newest.more:
                await self._sleep(every)
            newest = await self._run(followed.advance(newest))


def _settings(base_url: str | None, key: str | None, timeout: float) -> dict[str, Any]:
    base_url, key = base_url or os.environ.get("EMDS_URL", ""), key or os.environ.get("EMDS_KEY")
    if not base_url:
        raise ValueError("No service address. Pass `base_url`, or set EMDS_URL.")
    headers = {"Accept": "application/json", "User-Agent": f"emds-client/{__version__}"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    return {"base_url": base_url.rstrip("/"), "headers": headers, "timeout": timeout, "follow_redirects": True}
