"""`emds record FOLDER`: what publishers answer, kept as recordings that `emds replay`, tests and bug reports take.

The folder gets a MANIFEST.json as `assets.fetch.recorded` reads it, one file a request, and beside each body with rows
the rows that this release's parser reads in it (`.expected.csv`). Secrets are replaced before anything is written.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from assets.fetch.observed import Exchange
from assets.fetch.session import with_query
from assets.sources import source
from orchestration import probe
from orchestration.resources import transport_of, turns_of
from orchestration.settings import PipelineSettings
from orchestration.trial import Trial
from warehouse import clock
from warehouse.clock import days_of, iso
from warehouse.errors import FeedError, StorageError
from warehouse.market import Feed, Request

COLUMNS = ("metric", "zone", "fuel", "ts", "value", "unit", "resolution")
"""Of an `.expected.csv`: the net rows of one body."""


def record(folder: Path, feeds: Sequence[Feed], day: date | None = None, most: int = probe.REQUESTS) -> int:
    """Asks as `emds probe` does and keeps every last answer; 1 where a feed failed. Raises StorageError."""
    environ, settings = os.environ, PipelineSettings.from_environ(os.environ)
    mode = probe.mode_of(settings)
    print(probe.OPENINGS[mode], flush=True)
    transport = transport_of(mode, environ, settings.contact)
    entries: list[dict[str, Any]] = []
    verdicts: Counter[str] = Counter()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        live, turns = (environ, turns_of(settings)) if mode == "live" else (None, None)
        for trial in probe.trials(feeds, transport, live, day, most, turns):
            verdicts[probe.verdict(trial)] += 1
            print(probe.line(trial), flush=True)
            entries += _kept(folder, trial, mode)
            _write_manifest(folder, entries)
        _write_manifest(folder, entries)
    except OSError as error:
        raise StorageError(f"{folder}: {error.strerror or error}") from None
    scrubbed = sum(entry["fidelity"] != "EXACT" for entry in entries)
    print(f"recorded {len(entries)} answers in {folder} ({scrubbed} with secrets replaced)")
    return 1 if verdicts["failed"] else 0


def _write_manifest(folder: Path, entries: Sequence[dict[str, Any]]) -> None:
    """Whole or not at all: written after each trial, so that a stopped recording is a recording."""
    scratch = folder / "MANIFEST.json.part"
    ordered = sorted(entries, key=lambda entry: str(entry["file"]))
    scratch.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n")
    os.replace(scratch, folder / "MANIFEST.json")


def _kept(folder: Path, trial: Trial, mode: str) -> list[dict[str, Any]]:
    """Writes the last answer to each request of a trial; the manifest's entries."""
    last = {exchange.request: exchange for exchange in trial.exchanges if exchange.status is not None}
    entries = []
    for number, exchange in enumerate(last.values(), start=1):
        file = folder / trial.feed.source / _name(trial, exchange.request, number)
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(exchange.body)
        entries.append(_entry(folder, file, trial.feed, exchange, mode))
    return entries


def _name(trial: Trial, request: Request, number: int) -> str:
    """`spp_rt_2026-11-20_003.json`; of a listing `..._003_doclist.json`, by which it is known as one."""
    product = trial.feed.id.partition(".")[2]
    place = "_".join(re.sub(r"[^A-Za-z0-9-]+", "-", text).strip("-") for text in (request.zone, request.part) if text)
    parts = [product, str(trial.day), f"{number:03d}", place, "doclist" if request.kind == "listing" else ""]
    return "_".join(filter(None, parts)) + f".{request.ext}"


def _entry(folder: Path, file: Path, feed: Feed, exchange: Exchange, mode: str) -> dict[str, Any]:
    request = exchange.request
    address = with_query(request.url, request.params)
    entry: dict[str, Any] = {
        "file": file.relative_to(folder).as_posix(),
        "feed": feed.id,
        "zone": request.zone,
        "day": _day(request.days),
        "request_url": address if request.method == "GET" else f"{request.method} {address}",
        "http_status": exchange.status,
        "source_repo": f"emds record {version('emds')}, {mode}",
        "source_licence": source(feed.source).licence if mode == "live" else "none: simulated data",
        "bytes": len(exchange.body),
        "expected": None,
        "expected_rows": None,
        "simulated": mode == "simulated",
        "fidelity": "SCRUBBED: echoes of secrets are replaced by REDACTED" if exchange.scrubbed else "EXACT",
        "note": f"recorded at {iso(clock.now())}; expected rows are those of this release's parser",
    }
    if exchange.status is not None and 200 <= exchange.status < 300 and request.kind == "rows":
        expected = _expected(feed, entry, exchange.body, request.ext)
        if expected:
            path = file.with_suffix(".expected.csv")
            path.write_text("".join(expected))
            entry |= {"expected": path.relative_to(folder).as_posix(), "expected_rows": len(expected) - 1}
    return entry


def _day(days: Sequence[date]) -> str | None:
    """The days of a request as a manifest can state them: one day, else their month or year, else none."""
    texts = [str(day) for day in days]
    for length in (10, 7, 4):
        if len({text[:length] for text in texts}) == 1:
            return texts[0][:length]
    return None


def _expected(feed: Feed, entry: dict[str, Any], body: bytes, ext: str) -> list[str]:
    """The lines of the `.expected.csv`: net rows as the parser reads them from the recording; none without rows."""
    day = entry["day"]
    request = Request(feed.id, entry["request_url"], days=days_of(day) if day else (), zone=entry["zone"], ext=ext)
    try:
        rows = feed.parse(body, request)
    except FeedError:
        return []
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(
        [getattr(row, name) for name in COLUMNS]
        for row in rows.sorted()
        if row.counterparty is None and row.link is None
    )
    lines = out.getvalue().splitlines(keepends=True)
    return lines if len(lines) > 1 else []
