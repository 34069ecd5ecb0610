"""`emds record FOLDER`: what publishers answer a probe, as recordings that `emds replay`, tests and bug reports take.

The folder gets a MANIFEST.json as `assets.fetch.recorded` reads it, one file an answer, and beside each body with rows
the rows that this release's parser reads in it (`.expected.csv`). The session replaces secrets before a body is kept.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assets.fetch.credentials import REDACTED
from assets.fetch.session import with_query
from assets.sources import source
from assets.sources.__main__ import write_rows
from orchestration.work import probe
from orchestration.work.settings import PipelineSettings
from warehouse.errors import FeedError, StorageError
from warehouse.market.clock import days_of, iso
from warehouse.market.market import Feed, Request
from warehouse.rows.schema import Rows
from warehouse.series import raw
from warehouse.store.storage import Folder
from warehouse.version import __version__


def record(folder: Path, feeds: Sequence[Feed], day: date | None, most: int) -> int:
    """Probe, then write the last answer to each question; 1 where a feed failed. Raises StorageError."""
    mode = probe.mode_of(PipelineSettings.from_environ(os.environ))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="emds-") as scratch:
            try:
                return probe.probe(Path(scratch), feeds, day, most)
            finally:  # a recording that is stopped is a recording too
                _write(folder, Path(scratch), feeds, mode)
    except OSError as error:
        raise StorageError(f"{folder}: {error.strerror or error}") from None


def _write(folder: Path, scratch: Path, feeds: Sequence[Feed], mode: str) -> None:
    """The kept bodies of the scratch warehouses as recordings, the manifest last."""
    entries = []
    for feed in feeds:
        last = {answer.request: answer for answer in raw.find(Folder(scratch / feed.source), feed.id)}
        (folder / feed.source).mkdir(exist_ok=True)
        for number, answer in enumerate(last.values(), start=1):
            file = f"{feed.source}/{_name(answer.request, number)}"
            (folder / file).write_bytes(answer.body)
            entry = _entry(file, answer, mode)
            entries.append(entry | _expected(folder, feed, entry, answer))
    (folder / "MANIFEST.json").write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n")
    scrubbed = sum(entry["fidelity"] != "EXACT" for entry in entries)
    print(f"recorded {len(entries)} answers in {folder} ({scrubbed} with secrets replaced)")


def _name(request: Request, number: int) -> str:
    """`lmp_rt_2026-11-20_003.json`."""
    product, first = request.feed.partition(".")[2], str(request.days[0]) if request.days else ""
    places = (re.sub(r"[^A-Za-z0-9-]+", "-", text).strip("-") for text in (request.zone or "", request.part))
    return "_".join(filter(None, (product, first, f"{number:03d}", *places))) + f".{request.ext}"


def _entry(file: str, answer: raw.RawBody, mode: str) -> dict[str, Any]:
    request = answer.request
    address = with_query(request.url, request.params)
    return {
        "file": file,
        "feed": request.feed,
        "zone": request.zone,
        "day": _day(request.days),
        "request_url": address if request.method == "GET" else f"{request.method} {address}",
        "http_status": 200,
        "source_repo": f"emds record {__version__}, {mode}",
        "source_licence": source(request.feed.split(".")[0]).licence if mode == "live" else "none: simulated data",
        "simulated": mode == "simulated",
        "fidelity": "SCRUBBED: echoes of secrets are replaced by REDACTED" if REDACTED in answer.body else "EXACT",
        "note": f"recorded at {iso(answer.fetched_at)}; expected rows are those of this release's parser",
    }


def _day(days: Sequence[date]) -> str | None:
    """The days of a request as a manifest can state them: one day, else their month or year, else none."""
    texts = [str(day) for day in days]
    return next((texts[0][:length] for length in (10, 7, 4) if len({text[:length] for text in texts}) == 1), None)


def _expected(folder: Path, feed: Feed, entry: dict[str, Any], answer: raw.RawBody) -> dict[str, Any]:
    """Write the net rows as the parser reads them from the recording; where they lie, and how many. Nothing without."""
    days = days_of(entry["day"]) if entry["day"] else ()
    try:
        rows = feed.parse(
            answer.body, Request(feed.id, entry["request_url"], days=days, zone=entry["zone"], ext=answer.request.ext)
        )
    except FeedError:
        rows = Rows()
    net = Rows()
    net.readings |= {key: readings for key, readings in rows.readings.items() if not (key.counterparty or key.link)}
    if not len(net):
        return {"expected": None, "expected_rows": None}
    out = io.StringIO()
    write_rows(net, out)
    file = str(Path(entry["file"]).with_suffix(".expected.csv"))
    (folder / file).write_text(out.getvalue())
    return {"expected": file, "expected_rows": len(net)}
