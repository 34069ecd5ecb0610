"""Fill a simulated warehouse with two days over a copy of the source, and request every document.

Arguments are the feeds. Prints a JSON object: `reports` has each feed's days with status, rows and reason, and
`answers` has each path with its status and body.
"""

from __future__ import annotations

import json
import os
import re
import sys
from datetime import timedelta
from itertools import product
from typing import Any

import duckdb

from api.application import create_app
from api.endpoints.table import ENDPOINTS
from api.settings import Settings
from assets.ingest.refresh import measure_publishers, refresh_all
from assets.ingest.runs import ingest_days
from assets.sources import feed as feed_of
from assets.sql.mart_queries import MARTS, refresh, refresh_records
from orchestration.work.environment import open_context
from warehouse.market import clock
from warehouse.market.clock import MarketDay, local_date
from warehouse.market.metrics import PUBLIC

PARTS = {
    "zone": ("GB", "UA"),
    "metric": ("frequency", "curtailment", "price", "capacity"),
    "month": ("2026-11",),
    "page": ("data",),
    "kind": ("invalid-parameters",),
}
"""Values for the parts of paths. Paths with other parts are left out."""


def main(feeds: list[str]) -> None:
    """Fill, publish, request and print."""
    pipeline = open_context()
    today = clock.now()
    reports = {}
    for name in feeds:
        feed = feed_of(name)
        last = local_date(today, feed.tz)
        days = [last.replace(month=1, day=1)] if feed.yearly else [last - timedelta(days=1), last]
        report = ingest_days(pipeline, feed, [MarketDay(day, feed.tz) for day in days])
        reports[name] = [(day.status, day.rows, day.reason) for day in report.days]
    with duckdb.connect() as connection:
        for mart in MARTS:
            refresh(pipeline.storage, connection, mart, None, (), pipeline.mode)
        refresh_records(pipeline.storage, connection, pipeline.mode)
    failures = [*refresh_all(pipeline), *measure_publishers(pipeline)]
    print(json.dumps({"reports": reports, "failures": failures, "answers": answers()}))


def answers() -> dict[str, tuple[int, Any]]:
    """Request every GET path with a key, and return each status and body."""
    home = os.environ["EMDS_HOME"]
    settings = Settings(
        pay_to="0x00000000000000000000000000000000DeaDBeef",
        home=home,
        database_url=f"sqlite:///{home}/accounts.sqlite",
        base_url="http://emds.example",
        signups_per_hour=0,
        key_calls_per_second=0,
        free_calls_per_minute=0,
    )
    client = create_app(settings).test_client()
    key = client.post("/v1/keys/signup", json={"email": "new@example.org"}).get_json()["api_key"]
    found = {}
    for path in paths():
        answer = client.get(path, headers={"Authorization": f"Bearer {key}"})
        found[path] = (answer.status_code, answer.get_json(silent=True) or answer.get_data()[:200].decode("latin-1"))
    return found


def paths() -> list[str]:
    """Return every GET path, and the queries that name a new metric."""
    spelled = []
    for endpoint in ENDPOINTS.values():
        names = re.findall(r"{(\w+)}", endpoint.path)
        if endpoint.method != "GET" or endpoint.token or not {*names} <= PARTS.keys():
            continue
        query = "&".join(_spell(name, of.example) for name, of in endpoint.parameters.items() if of.required)
        for parts in product(*(PARTS[name] for name in names)):
            path = endpoint.path.format(**dict(zip(names, parts, strict=True)))
            spelled.append(f"{path}?{query}" if query else path)
    more = [f"/v1/map/snapshot?metric={metric}" for metric in PUBLIC if metric != "capacity"]
    return [*spelled, *more, *(f"/v1/records/GB?metric={metric}" for metric in ("frequency", "price"))]


def _spell(name: str, example: Any) -> str:
    return f"{name}={','.join(example) if isinstance(example, (list, tuple)) else example}"


if __name__ == "__main__":
    main(sys.argv[1:])
