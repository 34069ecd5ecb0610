"""Call the service over HTTP, with only the standard library, for scripts that recompute its values."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from fractions import Fraction
from typing import Any

PATIENCE = 10
"""The longest wait, in seconds, that a per-second rate limit may request.

A longer wait means that the daily quota is exceeded.
"""
SECONDS = {"5m": 300, "15m": 900, "30m": 1800, "1h": 3600, "1d": 86400}


def get(base: str, key: str, path: str, **query: object) -> Any:
    """Return the decoded body, with decimal numbers as fractions, or None for status 404 or 503.

    If a per-second rate limit requests it, wait and try again. Raise HTTPError for any other status.
    """
    url = f"{base.rstrip('/')}{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}", "Accept": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer, parse_float=Fraction)
    except urllib.error.HTTPError as error:
        if error.code in (404, 503):
            return None
        if error.code != 429 or int(error.headers["Retry-After"]) > PATIENCE:
            raise
        time.sleep(int(error.headers["Retry-After"]))
    return get(base, key, path, **query)


def rows_of(base: str, key: str, path: str, start: int, end: int, **query: object) -> list[dict[str, Any]]:
    """Return all rows of a window, page by page, or an empty list if the series does not exist."""
    rows: list[dict[str, Any]] = []
    while True:
        page = get(base, key, path, start=start, end=end, limit=5000, **query)
        if page is None:
            return rows
        rows += [row for row in page["data"] if row not in rows[-50:]]
        if not page.get("truncated"):
            return rows
        start = page["end"]
