"""Hundreds of questions to every path, and what was answered: to show that a change of code changes no answer.

python -m tests.api.same_answers fill HOME          # once: a small warehouse, which is only read from then on
python -m tests.api.same_answers record HOME FILE   # with the code of before, then with that of after
python -m tests.api.same_answers compare FILE FILE  # every answer that differs; exit 1 where one does
"""

from __future__ import annotations

import base64
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from werkzeug.test import Client
from werkzeug.wrappers import Response

NOW = "2026-03-30T12:10:00Z"
PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
_T = 1_774_872_600
"""NOW in Unix seconds."""
_SERIES = {
    "demand": ("GB", "US-NYISO", "FR", "US-PJM"),
    "price": ("GB", "DE-LU", "US-NYISO", "US-PJM", "AU-NSW"),
    "interchange": ("GB",),
    "generation": ("GB", "US-CAISO", "FR"),
    "carbon-intensity": ("GB", "FR"),
    "capacity": ("DE-LU", "FR", "GB"),
}
_WINDOWS = (
    "",
    f"start={_T - 90_000}&end={_T - 3600}",
    "start=2026-03-29&end=2026-03-30",
    "start=2026-03-28T23:00:00Z&end=2026-03-29T04:00:00%2B01:00",
    f"start={_T + 3600}",
    f"start={_T - 3_000_000}&end={_T - 2_900_000}",
    "start=2016-01-01&end=2026-04-01",
)
_ROWS = (
    "limit=3",
    "order=desc",
    "order=desc&limit=3",
    "interval=1h",
    "interval=1d&start=2026-03-27",
    "interval=1h&limit=2",
    "interval=1h&order=desc&limit=2",
    "time=utc&limit=4",
    "time=local&limit=4",
    "sample=true",
    "sample=true&limit=7&order=desc",
    f"as_of={_T - 100}&limit=5",
    "as_of=1971",
    "by=border&limit=7",
    "by=border&order=desc&limit=1",
    "market=day_ahead&limit=30",
    "market=day_ahead&sample=true",
)
_STATS = ("stats=true", "stats=true&above=51.5&below=30010", "stats=true&sample=true", "stats=true&market=day_ahead")
_FORMATS = (
    *(f"format={name}&{more}" for name in ("json", "csv", "parquet", "arrow") for more in ("limit=300", "time=utc")),
    *(f"format={name}&interval=1h&order=desc" for name in ("csv", "parquet", "arrow")),
    "format=csv&by=border",
    "format=parquet&by=border",
    "format=csv&sample=true",
    "format=xls",
)
_WRONG = (
    "start=2026-04-01&end=2026-03-01",
    "limit=0",
    "limit=5001",
    "limit=x",
    "start=yesterday-ish",
    "start=1.5",
    "foo=1",
    "limit=3&limit=4",
    "order=up",
    "interval=2h",
    "cursor=abc",
    "cursor=WyJhc2MiLDE3NzQ4NzI2MDAsImEiLCIiLCIiXQ",
    "cursor=WyJhc2MiLDE3NzQ4NzI2MDAsIiIsIiIsIiJd&order=desc",
    "cursor=WyJhc2MiLDE3NTQ4NzI2MDAsIiIsIiIsIiJd",
    "above=3",
    "stats=false",
    "stats=true&limit=3",
    "stats=true&start=2000-01-01",
    "sample=maybe",
    "start=&end=",
    "time=mars",
    "market=spot",
)
_ZONES = (
    "",
    "zones=GB",
    "zones=GB,US-NYISO",
    "zones=us_nyiso,gb&limit=5",
    "zones=all",
    "zones=all&limit=7",
    "zones=all&order=desc&limit=7",
    "zones=GB,XX",
    "zones=GB,US-PJM",
    "zones=GB,DE-LU&interval=1h&limit=9",
    "zones=GB,DE-LU&interval=1d&start=1774400000",
    "zones=GB,DE-LU&start=2026-03-29",
    "zones=GB&start=2026-03-29",
    "zones=GB,US-NYISO&time=local&limit=6",
    "zones=GB,US-NYISO&sample=true",
    "zones=GB,US-NYISO&sample=true&order=desc&limit=5",
    "zones=all&by=border&limit=9",
    "zones=all&market=day_ahead&limit=9",
    f"zones=all&as_of={_T - 100}&limit=9",
    "zones=all&format=csv&limit=400",
    "zones=all&format=parquet&limit=400",
    "zones=all&format=arrow&limit=400",
    "zones=all&format=json&limit=700",
    "zones=all&format=csv&time=utc&interval=1h",
    "zones=all&stats=true",
    "zones=GB&limit=0",
    "zones=GB&cursor=WyIiLCJXeUpoYzJNaUxERTNOelE0TnpJMk1EQXNJaUlzSWlJc0lpSmQiXQ&order=desc",
    "zones=GB&start=2026-04-01&end=2026-03-01",
    "zones=GB&format=xls",
)
_DOCUMENTS = (
    *(f"/v1/{name}/{zone}{query}" for name in ("latest", "brief") for zone in ("GB", "FR", "US-PJM", "gb", "XX")
      for query in ("", "?sample=true", "?foo=1", "?sample=")),
    *(f"/v1/map/snapshot{query}" for query in (
        "", "?sample=true", "?metric=price", "?metric=demand,generation&zones=GB,FR", "?zones=GB&sample=true",
        "?metric=demand&sample=true", "?metric=capacity", "?zones=")),
    *(f"/v1/windows/{zone}{query}" for zone in ("GB", "DE-LU", "US-NYISO", "US-PJM", "FR", "AU-NSW") for query in (
        "", "?hours=1.5", "?hours=2&kind=highest", "?within=6h", "?within=1&hours=3", "?metric=carbon_intensity",
        "?sample=true", "?hours=0.1", "?hours=25", "?kind=best", "?hours=4&within=12h&sample=true")),
    *(f"/v1/bulk{query}" for query in (
        "", "?zone=GB", "?metric=price", "?metric=price-day-ahead&zone=US-NYISO,GB", "?sample=true", "?zone=XX")),
    *(f"/v1/bulk/{path}" for path in (
        "demand/GB/2026-03.parquet", "price/GB/2026-03.parquet", "price-day-ahead/US-NYISO/2026-03.parquet",
        "demand/GB/2026-03.parquet?sample=true", "demand/GB/2026-03.parquet?x=1", "demand/GB/2020-01.parquet",
        "demand/GB/2020-13.parquet", "price/US-PJM/2026-03.parquet", "generation/FR/2026-03.parquet",
        "demand/gb/2026-03.parquet", "demand/XX/2026-03.parquet", "solar/GB/2026-03.parquet")),
    *(f"/v1/changes{query}" for query in (
        "", "?since=now", "?limit=2", "?zone=GB,FR&limit=4", "?metric=price", "?feed=north.grid&limit=3",
        "?feed=nobody.knows", "?since=xyz", "?since=abcdef-99", "?sample=true", "?limit=0")),
    *(f"/v1/publishers{query}" for query in (
        "", "?source=north", "?feed=north.price", "?month=2026-03", "?source=nobody", "?feed=x.y", "?month=2026-3",
        "?source=north&sample=true")),
    *(f"{path}{query}" for path in ("/v1/zones", "/v1/status", "/catalog") for query in ("", "?sample=true", "?a=b")),
)  # fmt: skip
_GEO = (
    *(f"/v1/geo/{layer}{query}" for layer in ("zones", "interconnectors", "plants", "live") for query in (
        "", "?sample=true", "?bbox=-11,49,2,61", "?bbox=170,-50,-170,50", "?bbox=1,2,3", "?format=csv", "?format=fgb",
        "?format=parquet", "?format=xls", "?zone=GB", "?zone=GB,FR&sample=true", "?foo=1")),
    *(f"/v1/geo/zones{query}" for query in (
        "?detail=high", "?at=51.5,-0.12", "?at=0,0", "?at=95,0", "?format=topojson", "?format=topojson&sample=true",
        "?format=pmtiles", "?at=51.5,-0.12&format=csv", "?bbox=-11,49,2,61&format=parquet", "?detail=high&format=fgb")),
    *(f"/v1/geo/plants{query}" for query in (
        "?fuel=wind", "?fuel=nuclear,gas&zone=FR", "?min_mw=2000", "?min_mw=100", "?fuel=x", "?min_mw=2000&format=csv",
        "?min_mw=2000&format=fgb", "?min_mw=2000&format=parquet&bbox=-11,35,25,62")),
    *(f"/v1/geo/{name}" for name in (
        "zones.geojson", "zones.csv", "zones.parquet", "zones.fgb", "zones.topojson", "zones.pmtiles",
        "plants.csv?zone=GB", "live.csv", "live.geojson?zone=GB", "live.csv?zone=GB&sample=true", "plants.xls",
        "live/hours", "live/GB", "live/gb", "live/XX", "live/hours?sample=true", "live/GB?foo=1")),
    "/v1/geo", "/v1/geo?x=1", "/v1/geo/conformance", "/v1/geo/collections",
    *(f"/v1/geo/collections/{name}{more}" for name in ("zones", "interconnectors", "plants", "live") for more in (
        "", "/items", "/items?limit=2", "/items?limit=2&offset=1", "/items?sample=true", "/items?limit=0",
        "/items?bbox=-11,49,0,2,61,10", "/items?datetime=2026-01-01T00:00:00Z", "/items?datetime=x", "/items/GB",
        "/items/nothing", "/items?zone=GB&limit=3")),
    "/v1/geo/collections/zones?x=1", "/v1/geo/collections/zones/items/GB?x=1", "/v1/geo/collections/other",
)  # fmt: skip
_SERVICE = (
    *("/openapi.json", "/docs", "/llms.txt", "/.well-known/llms.txt", "/agents.txt", "/.well-known/agents.txt"),
    *("/.well-known/x402.json", "/.well-known/x402", "/.well-known/api-catalog", "/.well-known/security.txt"),
    *("/robots.txt", "/problems/not-found", "/problems/nothing", "/healthz", "/readyz", "/metrics", "/healthz?x=1"),
    *(f"/docs/{page}" for page in ("brief", "windows", "statistics", "webhooks", "changes", "publishers", "bulk")),
    *("/docs/data", "/docs/mcp", "/docs/none", "/docs?x=1", "/docs/brief?x=1", "/llms.txt?sample=true"),
    *("/", "/?embed", "/map/x/map.css", "/map/x/nothing.js", "/favicon.ico", "//", "/v1", "/v1/zones/", "//v1/zones"),
    *("/v1/price", "/v1/price/", "/v1/prices/GB", "/v1/price/GB/x", "/v1/price/de_lu?limit=2", "/v1/price/DELU"),
    *("/v1/brief/fr", "/v1/latest/ZZ", "/v1/windows/se_3?hours=2", "/v1/usage", "/v1/usage?x=1", "/v1/keys/confirm"),
    *("/v1/keys/confirm?token=abcdefghijklmnopqrstuvwxyz", "/v1/keys/confirm?token=a", "/v1/webhooks"),
    *("/v1/webhooks/wh_none", "/v1/keys/current", "/v1/keys/signup", "/v1/keys/rotate", "/mcp"),
)


class Asked(NamedTuple):
    """One question."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""


def questions() -> Iterator[Asked]:
    """Those that need no answer before them; `KEY` in a header stands for a live key."""
    keyed = (("Authorization", "Bearer KEY"),)
    for metric, zones in _SERIES.items():
        for zone in zones:
            path = f"/v1/{metric}/{zone}"
            yield from (Asked("GET", f"{path}?{query}".rstrip("?"), keyed) for query in (*_WINDOWS, *_ROWS, *_STATS))
            yield from (Asked("GET", f"{path}?{query}", keyed) for query in _FORMATS)
        yield from (Asked("GET", f"{path}?{query}", keyed) for query in _WRONG)
        yield from (Asked("GET", f"/v1/{metric}?{query}".rstrip("?"), keyed) for query in _ZONES)
    yield from (Asked("GET", path, keyed) for path in (*_DOCUMENTS, *_GEO, *_SERVICE))
    paid = (
        *("/v1/price/GB?limit=3", "/v1/price/GB?limit=3&format=csv", "/v1/demand?zones=GB,US-NYISO&limit=3"),
        *("/v1/latest/GB", "/v1/brief/GB", "/v1/map/snapshot", "/v1/windows/GB", "/v1/windows/DE-LU"),
        *("/v1/bulk/demand/GB/2026-03.parquet", "/v1/price/GB?stats=true", "/v1/zones", "/v1/geo/plants?zone=GB"),
    )
    for path in paid:
        yield Asked("GET", path)
        yield from (Asked("GET", path, headers) for headers in _ACCESS)
        yield from (Asked("GET", path, (*keyed, pair)) for pair in _NEGOTIATED)
        yield Asked("HEAD", path, keyed)
        yield from (Asked(method, path, keyed) for method in ("POST", "DELETE", "PUT", "OPTIONS"))
    yield from (
        Asked("GET", f"/v1/price/GB?{query}") for query in ("start=", "limit=&start=", "foo=", "sample=true&start=")
    )
    yield from (Asked("GET", f"/v1/demand?zones=GB&{query}") for query in ("start=", "limit=&start="))
    preflight = (("Origin", "https://a.example"), ("Access-Control-Request-Method", "GET"))
    yield from (Asked("OPTIONS", path, preflight) for path in ("/v1/zones", "/mcp", "/v1/none"))
    yield from (Asked("HEAD", path) for path in ("/v1/zones", "/", "/docs", "/v1/geo/zones.fgb", "/openapi.json"))
    yield from (Asked(method, path) for method in ("POST", "PUT") for path in ("/mcp", "/v1/zones", "/", "/v1/geo"))
    yield from (Asked("POST", "/v1/keys/signup", (), body) for body in ("", "x", "{}", '{"email":"a"}', "[1]"))
    yield Asked("POST", "/v1/keys/signup?x=1", (), '{"email":"b@example.org"}')
    yield Asked("POST", "/v1/keys/signup", (("Idempotency-Key", "\x01"),), '{"email":"b@example.org"}')
    yield Asked("POST", "/v1/keys/signup", (("Idempotency-Key", "one"),), '{"email":"c@example.org"}')
    yield Asked("POST", "/v1/keys/signup", (("Idempotency-Key", "one"),), '{"email":"c@example.org"}')
    yield Asked("POST", "/v1/keys/rotate", (("X-API-Key", "emds_wrong"),))
    hooks = (
        "{}", "x", '{"url":"http://a.example/x","events":["changes"]}', '{"url":"https://a.example/x","events":["no"]}',
        '{"url":"https://a.example/x","events":["price.above"]}', '{"url":"https://10.0.0.1/","events":["changes"]}',
        '{"url":"https://a.example/x","events":["changes"],"zones":["GB"],"more":1}',
        '{"url":"https://a.example/x","events":["price.above","changes"],"zones":["GB"],"threshold":80}',
    )  # fmt: skip
    yield from (Asked("POST", "/v1/webhooks", headers, body) for headers in (keyed, ()) for body in hooks)
    yield from (Asked("POST", "/v1/webhooks/WEBHOOK/test", keyed) for _ in range(2))
    yield from (
        Asked("GET", path, keyed) for path in ("/v1/webhooks", "/v1/webhooks/WEBHOOK", "/v1/webhooks/WEBHOOK?x=1")
    )
    yield from (Asked("DELETE", "/v1/webhooks/WEBHOOK", keyed) for _ in range(2))
    yield Asked("GET", "/v1/usage", keyed)
    yield Asked("POST", "/v1/keys/rotate", keyed)
    yield Asked("POST", "/v1/keys/rotate", keyed)
    yield Asked("DELETE", "/v1/keys/current", keyed)
    yield Asked("GET", "/v1/latest/GB", keyed)


_ACCESS = (
    (("X-API-Key", "KEY"),),
    (("Authorization", "Basic BASIC"),),
    (("Authorization", "Bearer wrong"),),
    (("Authorization", "Bearer emds_wrong"),),
    (("Authorization", "Digest x"),),
    (("X-PAYMENT", "bm90IGEgcGF5bWVudA=="),),
    (("PAYMENT-SIGNATURE", "e30="),),
)
_NEGOTIATED = (
    ("Accept", "text/csv"),
    ("Accept", "application/vnd.apache.parquet, */*;q=0.1"),
    ("Accept", "image/png"),
    ("Accept", "text/html"),
    ("Accept-Encoding", "gzip"),
    ("Accept-Encoding", "br"),
    ("Accept-Encoding", "zstd, gzip;q=0.5"),
    ("If-None-Match", "*"),
    ("If-None-Match", '"x", W/"y"'),
    ("Range", "bytes=0-9"),
    ("Range", "bytes=-4"),
    ("Range", "bytes=9999999-"),
    ("Origin", "https://a.example"),
)
_RANDOM = (
    (re.compile(r"emds_[A-Za-z0-9]{20,}"), "KEY"),
    (re.compile(r"wh_[A-Za-z0-9_-]{10,}|msg_[A-Za-z0-9_-]{10,}"), "WEBHOOK"),
    (re.compile(r"whsec_[A-Za-z0-9+/=]+"), "SECRET"),
    (re.compile(r"(t=|\"(?:resets_at|created|previous_valid_until|retry_after|signed_until)\":)\d+"), r"\1N"),
    (re.compile(r"begins in \d+ s"), "begins in N s"),
    (re.compile(r"signature=\d+\.\d+\.[A-Za-z0-9_-]{43}"), "signature=SIGNATURE"),
)


class Answered(NamedTuple):
    """What came back, as it is compared."""

    status: int
    headers: list[list[str]]
    body: str
    """Latin-1."""


def _without_chance(text: str) -> str:
    for pattern, word in _RANDOM:
        text = pattern.sub(word, text)
    return text


def _sorted(methods: str) -> str:
    return ", ".join(sorted(methods.split(", ")))


def ask(client: Client, asked: Asked, words: dict[str, str]) -> Answered:
    """One answer, what is random in it left out; `words` are filled into headers and paths."""
    path, headers = asked.path, dict(asked.headers)
    for word, value in words.items():
        path = path.replace(word, value)
        headers = {name: text.replace(word, value) for name, text in headers.items()}
    kind = {"content_type": "application/json"} if asked.method == "POST" else {}
    response = client.open(
        path, method=asked.method, headers={**headers, "X-Request-Id": "judge"}, data=asked.body or None, **kind
    )
    if asked.path == "/v1/webhooks" and response.status_code == 201:
        words["WEBHOOK"] = response.get_json()["id"]
    sent = [[name, _without_chance(_sorted(text) if name == "Allow" else text)] for name, text in response.headers]
    body = _without_chance(response.data.decode("latin-1"))
    if "signature=SIGNATURE" in body:  # signed by the key and the second: its ETag holds for no other
        sent = [[name, "TAG" if name == "ETag" else text] for name, text in sent]
    return Answered(response.status_code, sorted(sent), body)


def client_of(home: Path, scratch: Path, **changes: Any) -> Client:
    """A client of an application over a warehouse, with accounts of its own."""
    from api.application import create_app
    from api.settings import Settings

    name = "-".join(changes) or "plain"
    settings = Settings(
        home=str(home),
        database_url=f"sqlite:///{scratch / name}.sqlite",
        base_url="http://emds.example",
        free_calls_per_minute=0,
        sample_calls_per_day=0,
        signups_per_hour=0,
        key_calls_per_second=0,
        **changes,
    )
    return Client(create_app(settings), Response)


def key_of(client: Client, scratch: Path, name: str) -> str:
    """A new key with a quota that no list of questions uses up."""
    import sqlite3

    key: str = client.post("/v1/keys/signup", json={"email": "judge@example.org"}).get_json()["api_key"]
    with sqlite3.connect(scratch / f"{name}.sqlite") as accounts:
        tables = {row[0] for row in accounts.execute("select name from sqlite_master where type = 'table'")}
        for table in tables:
            columns = [row[1] for row in accounts.execute(f"pragma table_info({table})")]
            if "quota" in columns:
                accounts.execute(f"update {table} set quota = 1000000")
    return key


def record(home: Path, scratch: Path) -> Iterator[tuple[str, Answered]]:
    """Every question with its answer, then the pages that links lead to, repeats with each ETag, MCP, and offers."""
    client = client_of(home, scratch)
    key = key_of(client, scratch, "plain")
    words = {"KEY": key, "BASIC": base64.b64encode(f"{key}:".encode()).decode(), "WEBHOOK": "wh_none"}
    keyed = (("Authorization", "Bearer KEY"),)
    first = [*questions()]
    ending = next(n for n, asked in enumerate(first) if asked.path == "/v1/webhooks/WEBHOOK/test")
    for asked in first[:ending]:
        answered = ask(client, asked, words)
        yield _name(asked), answered
        links = dict(map(tuple, answered.headers))
        if "ETag" in links and answered.status == 200 and links["ETag"] != "TAG":
            again = asked._replace(headers=(*asked.headers, ("If-None-Match", links["ETag"])))
            yield f"{_name(asked)} again", ask(client, again, words)
        for page in range(4):
            link = re.match(r"<http://emds.example([^>]+)>", links.get("Link", ""))
            if link is None:
                break
            answered = ask(client, Asked("GET", link[1], keyed), words)
            yield f"{_name(asked)} page {page + 2}", answered
            links = dict(map(tuple, answered.headers))
    yield from _mcp(client, key)
    for asked in first[ending:]:
        yield _name(asked), ask(client, asked, words)
    selling = client_of(home, scratch, pay_to=PAY_TO, public_url="https://files.example", contact="a@example.org")
    for path in ("/v1/price/GB", "/v1/demand?zones=GB,FR", "/v1/latest/GB", "/v1/bulk/demand/GB/2026-03.parquet"):
        for headers in ((), *_ACCESS[2:]):
            asked = Asked("GET", path, headers)
            yield f"selling {_name(asked)}", ask(selling, asked, words)
    for path in ("/.well-known/x402.json", "/.well-known/security.txt", "/openapi.json", "/v1/bulk", "/catalog"):
        yield f"selling {path}", ask(selling, Asked("GET", path), words)


def _mcp(client: Client, key: str) -> Iterator[tuple[str, Answered]]:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_zones", {}),
        ("get_status", {}),
        ("get_latest", {"zone": "GB"}),
        ("get_zone_brief", {"zone": "gb"}),
        ("get_map_snapshot", {}),
        ("get_map_snapshot", {"metric": ["price"], "zones": ["GB", "FR"]}),
        ("get_history", {"zone": "GB", "metric": "price"}),
        ("get_history", {"zone": "GB", "metric": "demand", "limit": 7, "order": "desc"}),
        ("get_history", {"zones": ["GB", "US-NYISO"], "metric": "demand", "limit": 9}),
        ("get_history", {"zone": "GB", "metric": "capacity", "interval": "1h"}),
        ("find_window", {"zone": "DE-LU", "hours": 2}),
        ("find_window", {"zone": "GB"}),
        ("get_statistics", {"zone": "GB", "metric": "price", "above": 50}),
        ("get_statistics", {"zone": "XX", "metric": "price"}),
    ]
    for arguments in ({"api_key": key}, {}):
        for tool, sent in calls:
            params = {"name": tool, "arguments": {**sent, **arguments}}
            body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).decode()
            headers = (("Accept", "application/json, text/event-stream"), ("MCP-Protocol-Version", "2025-11-25"))
            yield (
                f"MCP {'keyed ' * bool(arguments)}{tool} {sent}",
                ask(client, Asked("POST", "/mcp", headers, body), {}),
            )


def _name(asked: Asked) -> str:
    headers = " ".join(f"{name}: {text}" for name, text in asked.headers if text != "Bearer KEY")
    return f"{asked.method} {asked.path} {headers} {asked.body}".strip()


def numbered(pairs: Iterator[tuple[str, Answered]]) -> dict[str, Answered]:
    """The answers by question; one that is asked again has a number."""
    answers: dict[str, Answered] = {}
    counts: Counter[str] = Counter()
    for name, answered in pairs:
        answers[f"{name} #{counts[name]}"] = answered
        counts[name] += 1
    return answers


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What differs, a line or two each."""
    lines = [f"only in one: {name}" for name in sorted({*before} ^ {*after})]
    for name in before.keys() & after.keys():
        old, new = Answered(*before[name]), Answered(*after[name])
        if old.status != new.status:
            lines.append(f"{name}: {old.status} -> {new.status} {new.body[:300]}")
        elif old.headers != new.headers:
            gone, come = (
                [pair for pair in one if pair not in other]
                for one, other in ((old.headers, new.headers), (new.headers, old.headers))
            )
            lines.append(f"{name}: headers {gone} -> {come}")
        elif old.body != new.body:
            at = next(
                (n for n, pair in enumerate(zip(old.body, new.body, strict=False)) if pair[0] != pair[1]),
                min(len(old.body), len(new.body)),
            )
            lines.append(
                f"{name}: body at {at}: {old.body[max(0, at - 60) : at + 80]!r} "
                f"-> {new.body[max(0, at - 60) : at + 80]!r}"
            )
    return lines


def main(verb: str, *arguments: str) -> int:
    """See above."""
    os.environ["EMDS_NOW"] = NOW
    if verb == "fill":
        from tests.api.conftest import Rig, fill_everywhere

        fill_everywhere(Rig(Path(arguments[0])))
        return 0
    if verb == "record":
        with tempfile.TemporaryDirectory() as scratch:
            answers = numbered(record(Path(arguments[0]), Path(scratch)))
        Path(arguments[1]).write_text(json.dumps(answers))
        print(f"{len(answers)} answers")
        return 0
    lines = compare(*(json.loads(Path(file).read_text()) for file in arguments))
    print("\n".join([*lines, f"{len(lines)} answers differ"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
