"""Test the code of docs/bulk.md: pandas, polars and DuckDB read a zone's year from the service and a public bucket."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import pandas
import polars
import pytest
import requests

from orchestration.static_side import publish
from orchestration.static_side.publish import publish_to
from orchestration.static_side.target import open_target
from orchestration.work import copy
from tests.api.conftest import Rig
from tests.stand_ins.buckets import make_bucket
from tests.stand_ins.places import BucketPlace
from warehouse.market.clock import instant

pytestmark = pytest.mark.slow

PAGE = Path(__file__).resolve().parents[2] / "docs" / "bulk.md"
START, END = instant("2025-01-01T00:00:00Z"), instant("2026-01-01T00:00:00Z")
ROWS = (END - START) // 1800
WHOLE = (ROWS, ROWS * (ROWS - 1) / 2)
"""The number of rows and the sum of their values."""


@pytest.fixture
def year(rig: Rig) -> Rig:
    """Return a warehouse with a year of half hours, and a row of the next year, which the page does not request."""
    rows = [*rig.every(START, 1800, ROWS), (END + 1800, 7.0)]
    rig.put("north.price", "GB", "price", rows, "GBP/MWh", "30m")
    rig.publish()
    return rig


def read(site: str, key: str) -> Iterator[tuple[int, float]]:
    """Yield the row count and the sum of values for each expression of the page's code, in order."""
    names: dict[str, Any] = {each.__name__: each for each in (pandas, polars, duckdb, fsspec, requests)}
    [block] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names |= {"site": site}
    # The key is inserted last, because one in a hundred keys contains the letters "FR".
    code = block.replace("FR", "GB").replace("http://127.0.0.1:8000", site).replace("emds_...", key)
    for statement in ast.parse(code).body:
        if isinstance(statement, ast.Expr):
            yield counted(eval(ast.unparse(statement), names))
        else:
            exec(ast.unparse(statement), names)


def counted(rows: Any) -> tuple[int, float]:
    if isinstance(rows, duckdb.DuckDBPyRelation):
        [found] = rows.aggregate("count(*), sum(value)").fetchall()
        return found[0], found[1]
    return len(rows), float(rows["value"].sum())


@pytest.mark.parametrize("home", ["folder", "bucket"])
def test_the_service_gives_a_year_in_one_line(
    year: Rig, serve: Callable[..., Any], request: pytest.FixtureRequest, home: str
) -> None:
    environ = {}
    if home == "bucket":
        place: BucketPlace = request.getfixturevalue("bucket_place")
        copy.copy(year.storage, place.open())
        accounts = f"sqlite:///{year.home / 'accounts.sqlite'}"
        environ = {"EMDS_HOME": place.address, "EMDS_LOCAL_DIR": str(place.local), "EMDS_DATABASE_URL": accounts}
    key = year.key(year.client())["Authorization"].removeprefix("Bearer ")
    served = serve(year, **environ)
    listing = serve(year, EMDS_BASE_URL=served.url, **environ)
    assert list(read(listing.url, key)) == [WHOLE] * 3
    usage = requests.get(f"{served.url}/v1/usage", headers={"X-API-Key": key}, timeout=60).json()
    assert usage["quota"]["used"] == 1, "the final files of a series and year are one answer"


def test_a_public_bucket_gives_a_year_in_one_line_without_a_key(
    year: Rig, serve: Callable[..., Any], s3_endpoint: str, bucket_place: BucketPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Publish monthly files as `emds publish` does, and check that the manifest's URLs lead there."""
    monkeypatch.setattr(publish, "rendered", lambda client, target: ())
    make_bucket(int(s3_endpoint.rpartition(":")[2]), "open")
    anybody = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::open/*"}
    policy = {"Version": "2012-10-17", "Statement": [anybody]}
    assert requests.put(f"{s3_endpoint}/open?policy", json=policy, timeout=60).ok
    public = f"{s3_endpoint}/open/{bucket_place.prefix}"
    target = open_target(f"s3://open/{bucket_place.prefix}?endpoint={s3_endpoint}")
    assert publish_to(target, year.storage, year.settings(public_url=public))["months"] == 13
    key = year.key(year.client())["Authorization"].removeprefix("Bearer ")
    served = serve(year, EMDS_PUBLIC_URL=public)
    assert list(read(served.url, key)) == [WHOLE] * 3
    urls = {file["url"] for file in requests.get(f"{served.url}/v1/bulk", timeout=60).json()["files"]}
    assert all(url.startswith(f"{public}/series/metric=price/zone=GB/") for url in urls)
