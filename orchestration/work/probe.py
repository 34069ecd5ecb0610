"""Test the connection to publishers, for `emds probe` and `emds record FOLDER`.

Each feed is ingested into a scratch folder for a past day and today. The output is a line per feed and day as it ends,
then the failures again (docs/operating.md explains them). A recording keeps the responses for `emds replay`, tests and
bug reports: one file per response and a MANIFEST.json for `assets.fetch.recorded`. The session replaces secrets before
a body is kept.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assets.fetch.credentials import REDACTED
from assets.fetch.session import with_query
from assets.ingest.reports import RunReport
from assets.ingest.runs import ingest_days
from assets.sources import source
from orchestration.work.environment import PipelineSettings, open_scratch
from warehouse.errors import StorageError, as_storage_error
from warehouse.judge import coverage
from warehouse.market import clock
from warehouse.market.clock import MarketDay, iso
from warehouse.market.feeds import Feed, Request
from warehouse.series import raw
from warehouse.store import modes
from warehouse.store.storage import Folder
from warehouse.version import __version__

OPENINGS = {
    "live": "live: fetching from the publishers; the warehouse is not changed",
    "simulated": "simulated publishers: no network or credentials needed. Set EMDS_FEEDS=live to fetch from the real "
    "ones",
}


def mode_of(settings: PipelineSettings) -> str:
    """Return EMDS_FEEDS, else the mode of the warehouse, else simulated. Raises StorageError if it is recorded."""
    mode = settings.feeds or modes.get(settings.home.open()) or "simulated"
    if mode not in OPENINGS:
        raise StorageError(f"a {mode[:20]} warehouse has no publishers to fetch from; set EMDS_FEEDS=live or simulated")
    return mode


def probe(feeds: Sequence[Feed], day: date | None, folder: Path | None = None) -> int:
    """Print a line per feed and day, then the failures; return 1 if a day failed. Raises StorageError.

    If `folder` is given, it receives the last response to each request.
    """
    settings = PipelineSettings.from_environ(os.environ)
    mode = mode_of(settings)
    print(OPENINGS[mode], flush=True)
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="emds-") as scratch:
            try:
                return _conclude(_meet(settings, Path(scratch), mode, feeds, day), mode)
            finally:  # a stopped recording is kept too
                if folder is not None:
                    _record(folder, Path(scratch), feeds, mode)
    except OSError as error:
        raise as_storage_error(error) from None


def _meet(
    settings: PipelineSettings, scratch: Path, mode: str, feeds: Sequence[Feed], day: date | None
) -> list[RunReport]:
    """Fetch each feed; afterwards, `scratch` contains one warehouse per source."""
    by_source: dict[str, list[Feed]] = defaultdict(list)
    for feed in feeds:
        by_source[feed.source].append(feed)
    stopped = threading.Event()

    def meet_source(code: str) -> list[RunReport]:
        pipeline, reports = open_scratch(settings, scratch / code, mode), []
        for feed in by_source[code]:
            for market_day in days_of(feed, clock.now(), day):
                if not stopped.is_set():
                    reports.append(ingest_days(pipeline, feed, [market_day]))
                    sys.stdout.write(f"{_line(reports[-1])}\n")
                    sys.stdout.flush()
        return reports

    # One thread per source: the slowest publisher sets the time, and a host receives requests from one thread only.
    with ThreadPoolExecutor(max(1, len(by_source))) as pool:
        try:
            return [report for of_source in pool.map(meet_source, by_source) for report in of_source]
        finally:
            stopped.set()


def past_day(feed: Feed, now: int) -> MarketDay | None:
    """Return the newest past market day that must be published completely; None if it is out of the feed's range."""
    today = clock.local_date(now, feed.tz)
    if feed.yearly:
        return MarketDay(date(today.year - 1, 1, 1), feed.tz)
    until = coverage.published_until(feed.publication, feed.tz, feed.resolution, now)
    day = MarketDay.at(min(until, now), feed.tz).next(-1)
    return None if feed.out_of_reach(day.day, today) else day


def days_of(feed: Feed, now: int, wanted: date | None) -> list[MarketDay]:
    """Return the `wanted` day, or else a past day, and today; for a yearly feed, their years."""
    past = past_day(feed, now) if wanted is None else MarketDay(wanted, feed.tz)
    days = [day.day for day in (past, MarketDay.at(now, feed.tz)) if day is not None]
    firsts = (date(day.year, 1, 1) if feed.yearly else day for day in days)
    return [MarketDay(day, feed.tz) for day in dict.fromkeys(firsts)]


def _conclude(reports: Sequence[RunReport], mode: str) -> int:
    """Print the failures again, and the number of days by status."""
    days = [(report.feed, day) for report in reports for day in report.days]
    failed = [(feed, day) for feed, day in days if day.status in ("failed", "missing")]
    for feed, day in failed:
        print(f"failed: {feed} {day.day}: {day.reason}")
    counts = Counter(day.status for _, day in days)
    marked = " (simulated publishers)" if mode == "simulated" else ""
    print(f"{', '.join(f'{count} {status}' for status, count in sorted(counts.items()))}{marked}")
    return 1 if failed else 0


def _line(report: RunReport) -> str:
    """Return one line: the request, the received data, and anything unusual."""
    day = report.days[0]
    odd = [finding for finding in report.findings if finding.severity != "note"]
    parts = [
        f"{report.feed:26} {day.day:10} {day.status:14} {report.requests:3} requests {report.bytes / 1e3:8.1f} kB"
        f" {day.rows:6} rows",
        f"{iso(day.first)}..{iso(day.last)}" if day.first is not None and day.last is not None else "",
        day.reason,
        *(f"{f.check} {f.zone} {f.metric}: {f.count} ({f.detail})"[:140] for f in odd[:2]),
    ]
    return " | ".join(filter(None, parts))


def _record(folder: Path, scratch: Path, feeds: Sequence[Feed], mode: str) -> None:
    """Write the raw responses of the scratch warehouses as recordings, the manifest last."""
    entries = []
    for feed in feeds:
        last = {answer.request: answer for answer in raw.find(Folder(scratch / feed.source), feed.id)}
        (folder / feed.source).mkdir(exist_ok=True)
        for number, answer in enumerate(last.values(), start=1):
            file = f"{feed.source}/{_name(answer.request, number)}"
            (folder / file).write_bytes(answer.body)
            entries.append(_manifest_entry(file, answer, mode))
    (folder / "MANIFEST.json").write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n")
    scrubbed = sum(entry["fidelity"] != "EXACT" for entry in entries)
    print(f"recorded {len(entries)} responses in {folder} ({scrubbed} with secrets replaced)")


def _name(request: Request, number: int) -> str:
    """Return a file name such as `lmp_rt_2026-11-20_003.json`."""
    product, first = request.feed.partition(".")[2], str(request.days[0]) if request.days else ""
    places = (re.sub(r"[^A-Za-z0-9-]+", "-", text).strip("-") for text in (request.zone or "", request.part))
    return "_".join(filter(None, (product, first, f"{number:03d}", *places))) + f".{request.ext}"


def _manifest_entry(file: str, answer: raw.RawBody, mode: str) -> dict[str, Any]:
    request = answer.request
    address = with_query(request.url, request.params)
    return {
        "file": file,
        "feed": request.feed,
        "zone": request.zone,
        "day": _day(request.days),
        "request_url": address if request.method == "GET" else f"{request.method} {address}",
        "http_status": 200,
        "source_licence": source(request.feed.split(".")[0]).licence if mode == "live" else "none: simulated data",
        "simulated": mode == "simulated",
        "fidelity": "SCRUBBED: echoes of secrets are replaced by REDACTED" if REDACTED in answer.body else "EXACT",
        "note": f"recorded at {iso(answer.fetched_at)} by emds {__version__}",
    }


def _day(days: Sequence[date]) -> str | None:
    """Return the days of a request as a manifest can state them: their common day, month or year, else None."""
    texts = [str(day) for day in days]
    return next((texts[0][:length] for length in (10, 7, 4) if len({text[:length] for text in texts}) == 1), None)
