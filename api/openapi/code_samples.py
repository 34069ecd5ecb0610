"""A call of each operation in curl, Python, TypeScript, R and SQL (DuckDB), as the reference page shows it.

Paid calls are samples, so that what is copied runs as it is. Keys are read from the environment variable `EMDS_KEY`.
"""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from api.endpoints.endpoint import Endpoint
from api.openapi.document import BODIES, FEATURES
from warehouse.market import clock

LANGUAGES: Mapping[str, str] = {
    "curl": "curl",
    "python": "Python",
    "typescript": "TypeScript",
    "r": "R",
    "sql": "SQL (DuckDB)",
}
_WEBHOOK = "wh_0123456789abcdef01234567"
_READERS = {
    "application/vnd.apache.parquet": "read_parquet",
    "text/csv": "read_csv",
    "json": "read_json",
    "text": "read_text",
    "bytes": "read_blob",
}
_PANDAS = 'import pandas\n\nrows = pandas.read_csv("URL", parse_dates=["time"])\nprint(rows)'
_PRINTED: Mapping[str, Mapping[str, str]] = {
    "python": {"json": "json()", "text": "text", "bytes": "content", "": "status_code"},
    "typescript": {
        "json": "await answer.json()",
        "text": "await answer.text()",
        "bytes": "(await answer.arrayBuffer()).byteLength",
        "": "answer.status",
    },
    "r": {"json": "resp_body_json(check_type = FALSE)", "text": "resp_body_string()", "bytes": "resp_body_raw()"},
}
"""What is shown of an answer, by its kind."""


def example_path(endpoint: Endpoint) -> str:
    """A path that can be called as it is."""
    zone = "GB" if "GB" in endpoint.zones else (endpoint.zones or ("",))[0]
    words = {
        "zone": "DE-LU" if "{month}" in endpoint.path else zone,  # tomorrow's auction is known: no month is empty
        "kind": "unknown-zone",
        "page": "brief",
        "file": "evcc.yaml",
        "metric": "price",
        "month": clock.month_of(clock.now()),
    }
    path = endpoint.path
    for name, word in words.items():
        path = path.replace(f"{{{name}}}", word)
    return path


def example_call(endpoint: Endpoint) -> str:
    """Such a path with what its query must hold."""
    needed = [f"{name}={','.join(own.example)}" for name, own in endpoint.parameters.items() if own.required]
    return _with(example_path(endpoint), needed)


def in_each_language(endpoint: Endpoint, address: str) -> dict[str, str]:
    """The call by language; SQL can neither post nor delete. `address` has the path's variables filled in."""
    url = address.replace("{webhook}", _WEBHOOK)
    if "{feature}" in url:
        url = url.replace("{feature}", FEATURES[endpoint.path.split("/")[4]])
    query = [f"{name}={value}" for name, value in _query(endpoint).items()]
    body = orjson.dumps(BODIES[endpoint.body]).decode() if endpoint.body else ""
    plain, table = _with(url, query), _with(url, [*query, "format=csv", "time=utc"])
    is_table = "text/csv" in endpoint.media and "time" in endpoint.parameters
    samples = {
        "curl": _curl(endpoint, plain, body),
        "python": _PANDAS.replace("URL", table) if is_table else _python(endpoint, plain, body),
        "typescript": _typescript(endpoint, plain, body),
        "r": f'rows <- read.csv("{table}")\nhead(rows)' if is_table else _r(endpoint, plain, body),
    }
    if endpoint.method == "GET":
        samples["sql"] = _sql(endpoint, table if is_table else plain, "text/csv" if is_table else endpoint.media[0])
    return samples


def _query(endpoint: Endpoint) -> dict[str, str]:
    """What is asked for: zones that publish the metric, a token, a sample of what is paid."""
    query = {}
    if endpoint.answer.endswith("OfZones"):
        zones = endpoint.parameters["zones"]
        both = {"GB", "FR"} <= set(zones.schema["items"]["enum"])
        query["zones"] = "GB,FR" if both else ",".join(zones.example)
    query |= {"token": "TOKEN"} if "token" in endpoint.parameters else {}
    return query | ({"sample": "true"} if endpoint.paid else {})


def _with(url: str, query: list[str]) -> str:
    return f"{url}?{'&'.join(query)}" if query else url


def _kind(endpoint: Endpoint, media: str) -> str:
    """`json`, `text` or `bytes`; empty where there is no body."""
    kind = "json" if media.endswith("json") else "text" if media.startswith("text/") else "bytes"
    return kind if endpoint.answer else ""


def _needs_key(endpoint: Endpoint) -> bool:
    return endpoint.keyed or endpoint.token


def _curl(endpoint: Endpoint, url: str, body: str) -> str:
    parts = [f"curl '{url}'" if endpoint.method == "GET" else f"curl -X {endpoint.method} '{url}'"]
    parts += ['-H "Authorization: Bearer $EMDS_KEY"'] if _needs_key(endpoint) else []
    parts += ["-H 'Content-Type: application/json'", f"-d '{body}'"] if body else []
    parts += ["-OJ"] if _kind(endpoint, endpoint.media[0]) in ("bytes", "") else []
    return " \\\n  ".join(parts)


def _python(endpoint: Endpoint, url: str, body: str) -> str:
    arguments = [f'"{url}"']
    arguments += ['headers={"Authorization": f"Bearer {os.environ[\'EMDS_KEY\']}"}'] if _needs_key(endpoint) else []
    arguments += [f"json={body}"] if body else []
    call = ",\n    ".join([*arguments, "timeout=30"])
    kind = _kind(endpoint, endpoint.media[0])
    printed = f"answer.{_PRINTED['python'][kind]}"
    head = "import os\n\nimport requests" if _needs_key(endpoint) else "import requests"
    return (
        f"{head}\n\nanswer = requests.{endpoint.method.lower()}(\n    {call},\n)\n"
        f"answer.raise_for_status()\nprint({f'len({printed})' if kind == 'bytes' else printed})"
    )


def _typescript(endpoint: Endpoint, url: str, body: str) -> str:
    options = [] if endpoint.method == "GET" else [f'method: "{endpoint.method}"']
    headers = ["Authorization: `Bearer ${process.env.EMDS_KEY}`"] if _needs_key(endpoint) else []
    headers += ['"Content-Type": "application/json"'] if body else []
    options += [f"headers: {{ {', '.join(headers)} }}"] if headers else []
    options += [f"body: JSON.stringify({body})"] if body else []
    rest = ", {\n  " + ",\n  ".join(options) + ",\n}" if options else ""
    printed = _PRINTED["typescript"][_kind(endpoint, endpoint.media[0])]
    return (
        f'const answer = await fetch("{url}"{rest});\n'
        f"if (!answer.ok) throw new Error(await answer.text());\nconsole.log({printed});"
    )


def _r(endpoint: Endpoint, url: str, body: str) -> str:
    steps = [f'request("{url}")']
    steps += [] if endpoint.method == "GET" else [f'req_method("{endpoint.method}")']
    steps += ['req_auth_bearer_token(Sys.getenv("EMDS_KEY"))'] if _needs_key(endpoint) else []
    steps += [f"req_body_raw('{body}', \"application/json\")"] if body else []
    steps += ["req_perform()"]
    steps += [_PRINTED["r"][_kind(endpoint, endpoint.media[0])]] if endpoint.answer else []
    return "library(httr2)\n\nanswer <- " + " |>\n  ".join(steps)


def _sql(endpoint: Endpoint, url: str, media: str) -> str:
    read = _READERS.get(media) or _READERS[_kind(endpoint, media)]
    secret = "CREATE SECRET (TYPE http, BEARER_TOKEN 'emds_...'); -- your key\n" if _needs_key(endpoint) else ""
    return f"{secret}SELECT * FROM {read}('{url}');"  # noqa: S608 a text to show
