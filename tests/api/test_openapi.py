"""Test that the description is true and complete: each route and parameter, real examples, no lint, one page."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urljoin
from urllib.robotparser import RobotFileParser
from xml.etree import ElementTree

import jsonschema_rs
import orjson
import pytest

from api.access.prices import PRICES
from api.endpoints.guides import DOC_PAGES, EXAMPLES
from api.endpoints.table import ENDPOINTS
from api.http.problems import KINDS
from api.openapi.document import example_path
from api.openapi.members import SHARED
from api.openapi.schemas import SCHEMAS
from assets.documents.publish import publish
from warehouse.store import artefact, layout

NODE = Path(__file__).resolve().parents[1] / "node"
SPECTRAL = NODE / "node_modules/.bin/spectral"
UNDESCRIBED = {"/", "/mcp"}
"""The map is a page. MCP's documents describe the JSON-RPC of /mcp."""


@pytest.fixture(scope="module")
def client(shared_market: Any) -> Any:
    publish(shared_market.storage, shared_market.now)
    shared_market.publish()
    return shared_market.client()


@pytest.fixture(scope="module")
def described(client: Any) -> Any:
    return client.get("/openapi.json").get_json()


def test_every_route_is_described_and_every_description_routed(client: Any, described: Any) -> None:
    routes = set()
    for rule in client.application.url_map.iter_rules():
        path = re.sub(r"<any\([^)]*\):(\w+)>", r"{\1}", rule.rule)
        path = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", path)
        if path not in UNDESCRIBED and not path.startswith("/map/"):
            routes |= {(path, method.lower()) for method in rule.methods - {"HEAD", "OPTIONS"}}
    assert routes == {(path, method) for path, methods in described["paths"].items() for method in methods}


def test_the_version_and_the_prices_are_the_specifications(described: Any) -> None:
    assert described["openapi"].startswith("3.1")
    assert described["info"]["version"] == "1.0.0"
    offers = {
        path: op["x-payment-info"]
        for path, ops in described["paths"].items()
        for op in ops.values()
        if "x-payment-info" in op
    }
    paid = {path: offer["price"].get("amount", offer["price"].get("min")) for path, offer in offers.items()}
    assert paid == {price.path: price.price for price in PRICES.values()}
    assert paid["/v1/map/snapshot"] == "0.002"
    assert all("402" in described["paths"][path]["get"]["responses"] for path in paid)


def resolved(described: Any, schema: Any) -> Any:
    return {**schema, "components": described["components"], "$schema": "https://json-schema.org/draft/2020-12/schema"}


OWN = {"confirm", "webhook", "unsubscribe", "test-webhook"}
"""Operations on a token or webhook that appears only in its owner's e-mail or subscription."""


def test_every_operation_can_be_sent_as_its_examples_stand(everywhere: Any) -> None:
    """Send every parameter at once, as a client that imports the description does. The examples name real data."""
    everywhere.put_document(layout.PICTURE, {})
    client = everywhere.client(metrics_token="open-sesame")
    described = client.get("/openapi.json").get_json()
    wrong, sent = [], 0
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            if operation["operationId"] in OWN:
                continue
            address, query = path, {}
            for part in operation["parameters"]:
                shared = part.get("$ref", "").rpartition("/")[2]
                parameter = described["components"]["parameters"][shared] if shared else part
                value = parameter["example"]
                value = ",".join(map(str, value)) if isinstance(value, list) else str(value).replace("True", "true")
                if parameter["in"] == "path":
                    address = address.replace(f"{{{parameter['name']}}}", value)
                else:
                    query[parameter["name"]] = value
            reader = {"email": f"{operation['operationId']}@example.org"}
            key = client.post("/v1/keys/signup", json=reader).get_json()["api_key"]
            headers = {"Authorization": f"Bearer {'open-sesame' if path == '/metrics' else key}"}
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
            answer = client.open(address, method=method.upper(), query_string=query, headers=headers, json=body)
            sent += len(query)
            if answer.status_code >= 400:
                wrong.append(f"{method} {address}?{query}: {answer.status_code} {answer.text[:300]}")
    assert not wrong, "\n".join(wrong)
    assert sent > 300


def closed(schema: Any) -> Any:
    """Return a copy of the schema that permits only the fields it describes."""
    if isinstance(schema, dict):
        inner = {name: closed(part) for name, part in schema.items()}
        return {"additionalProperties": False, **inner} if "properties" in inner and "type" in inner else inner
    return [closed(part) for part in schema] if isinstance(schema, list) else schema


GEO_AND_CATALOGUE = [
    endpoint
    for endpoint in ENDPOINTS.values()
    if endpoint.method == "GET" and endpoint.media[0].endswith("json") and endpoint.answer != "Document"
    if endpoint.path.startswith("/v1/geo") or endpoint.path == "/catalog"
]


def faults(described: Any, path: str, name: str, body: Any) -> list[str]:
    """Return the differences between a response and its closed schema, at any depth."""
    validator = jsonschema_rs.validator_for(resolved(described, {"$ref": f"#/components/schemas/{name}"}))
    return [f"{path} {'.'.join(map(str, e.instance_path))}: {e.message[:200]}" for e in validator.iter_errors(body)]


def test_schemas_of_geography_and_catalogue_are_whole(everywhere: Any) -> None:
    """Check that real responses, complete and as samples, have only described fields, at any depth."""
    client = everywhere.client()
    described, wrong = closed(client.get("/openapi.json").get_json()), []
    for endpoint in GEO_AND_CATALOGUE:
        path = example_path(endpoint)
        for query in ("", "?sample=true"):
            answer = client.get(path + query)
            assert answer.status_code == 200, path
            wrong += faults(described, path + query, endpoint.answer, answer.get_json(force=True))
    assert not wrong, "\n".join(wrong[:20])
    assert len(GEO_AND_CATALOGUE) > 20


def test_every_kind_of_problem_is_shown(described: Any) -> None:
    shown = {
        name
        for answer in described["components"]["responses"].values()
        for body in answer.get("content", {}).values()
        for name in body.get("examples", {})
    }
    assert shown >= KINDS.keys() - {"internal-error"}


def test_the_reference_page_tells_of_everything(client: Any, described: Any) -> None:
    answer = client.get("/docs")
    assert answer.content_type == "text/html; charset=utf-8"
    [script] = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    for path, methods in described["paths"].items():
        assert f"<code>{path}</code>" in answer.text
        for operation in methods.values():
            assert f'id="{operation["operationId"]}"' in answer.text
    targets = set(re.findall(r'href="#([^"]+)"', answer.text.replace(script, "")))
    assert targets <= set(re.findall(r'id="([^"]+)"', answer.text))


@pytest.mark.slow
@pytest.mark.skipif(not SPECTRAL.exists(), reason="npm install in tests/node was not run")
def test_a_linter_finds_no_error(client: Any, tmp_path: Path) -> None:
    (tmp_path / "openapi.json").write_bytes(client.get("/openapi.json").data)
    (tmp_path / ".spectral.json").write_bytes(orjson.dumps({"extends": ["spectral:oas"]}))
    done = subprocess.run(
        [str(SPECTRAL), "lint", "openapi.json", "--ruleset", ".spectral.json", "--fail-severity", "warn"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_payments_are_not_advertised_if_the_operator_takes_none(market: Any) -> None:
    client = market.client(pay_to="")
    pages = {path: client.get(path).text for path in ("/llms.txt", "/agents.txt", "/docs")}
    for path, page in pages.items():
        assert "x402 payment" not in page, path
        assert "with x402" not in page, path
        assert "a payment per call" not in page, path
        assert "Price: " not in page, path
        assert "USD a call" not in page, path
    payable = client.get("/.well-known/x402.json").get_json()
    assert payable == {"version": 1, "x402Version": 2, "resources": [], "items": []}
    api, paid = client.get("/openapi.json").get_json(), [e for e in ENDPOINTS.values() if e.paid]
    assert "x402, USDC" not in api["info"]["description"]
    assert sum("x-payment-info" in op for path in api["paths"].values() for op in path.values()) == len(paid)
    assert f'"{paid[0].price}"' in client.get("/catalog").text
    offering = market.client(pay_to="0x00000000000000000000000000000000DeaDBeef")
    for path, text in {"/llms.txt": "with x402", "/agents.txt": "x402 payment", "/docs": "a payment per call"}.items():
        assert text in offering.get(path).text, path


def test_discovery_documents_agree_with_the_table(market: Any) -> None:
    client = market.client(pay_to="0x00000000000000000000000000000000DeaDBeef")
    llms, agents = client.get("/llms.txt").text, client.get("/agents.txt").text
    assert llms == client.get("/.well-known/llms.txt").text
    assert agents == client.get("/.well-known/agents.txt").text
    assert "/v1/webhooks" in llms
    for price in PRICES.values():
        assert f"{price.path}." in llms
        assert f"Price: {price.price} USD {price.path}" in agents
    payable = client.get("/.well-known/x402.json").get_json()
    assert payable == client.get("/.well-known/x402").get_json()
    assert [item["input"]["routeTemplate"] for item in payable["items"]] == [
        e.path for e in ENDPOINTS.values() if e.paid
    ]
    assert len(payable["resources"]) == len(PRICES)


def test_security_txt_expires_within_a_year(market: Any) -> None:
    text = market.client(contact="security@example.org").get("/.well-known/security.txt").text
    assert "Contact: mailto:security@example.org\n" in text
    assert "Expires: 2026-09-26T00:00:00Z\n" in text
    assert "Canonical: http://emds.example/.well-known/security.txt\n" in text


def test_robots_let_in_whom_the_descriptions_invite(client: Any) -> None:
    robots = RobotFileParser()
    robots.parse(client.get("/robots.txt").text.splitlines())
    for path in ("/", "/docs/brief", "/llms.txt", "/v1/price/GB", "/mcp"):
        assert robots.can_fetch("any", f"http://emds.example{path}"), path
    assert not robots.can_fetch("any", "http://emds.example/metrics")
    [sitemap] = robots.site_maps() or []
    pages = ElementTree.fromstring(client.get(sitemap.removeprefix("http://emds.example")).data)
    addresses = [page.text or "" for page in pages.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert len(addresses) == len(DOC_PAGES) + 5
    for address in addresses:
        assert client.get(address.removeprefix("http://emds.example")).status_code == 200, address


def test_the_picture_of_the_map_is_served_once_it_is_drawn(rig: Any) -> None:
    rig.publish()
    client = rig.client()
    assert client.get("/og.png").status_code == 503
    artefact.put(rig.storage, layout.PICTURE, b"\x89PNG drawn", artefact.new_version())
    answer = rig.client().get("/og.png")
    assert (answer.status_code, answer.mimetype, answer.data) == (200, "image/png", b"\x89PNG drawn")
    assert client.get("/og.png", headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304
    assert '<meta property="og:image" content="http://emds.example/og.png">' in client.get("/").text


@pytest.mark.parametrize("path", ["/v1/price/XX", "/nowhere", "/v1/price/GB?limit=0", "/v1/latest/GB/"])
def test_a_browser_gets_the_same_problem_as_a_page(client: Any, path: str) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "X-Request-Id": "same"}
    page, problem = client.get(path, headers=browser), client.get(path, headers={"X-Request-Id": "same"})
    assert (page.status_code, page.mimetype) == (problem.status_code, "text/html")
    assert page.headers["Cache-Control"] == "no-store"
    [inside] = re.findall(r"<pre>(.*?)</pre>", page.text, re.S)
    assert json.loads(unescape(inside)) == problem.get_json()
    assert problem.mimetype == "application/problem+json"


def members(schema: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every field of a schema, at any depth."""
    if isinstance(schema, dict):
        for name, part in schema.items():
            if name == "properties":
                for member, inner in part.items():
                    yield member, inner
                    yield from members(inner)
            else:
                yield from members(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from members(part)


def test_every_member_of_every_schema_is_defined() -> None:
    without = [
        f"{name}.{member}"
        for name, schema in SCHEMAS.items()
        for member, part in members(schema)
        if not part.get("description")
    ]
    assert not without
    assert not SHARED.keys() - {member for schema in SCHEMAS.values() for member, _ in members(schema)}


def test_every_member_that_is_served_is_in_its_schema(rig: Any) -> None:
    month = rig.every(rig.now - rig.now % 3600 - 31 * 86400, 3600, 31 * 24, lambda i: 900.0 + i % 24 * (i % 7))
    rig.put("north.grid", "GB", "demand", month, "MW", "1h")
    rig.put("north.price", "GB", "price", month, "GBP/MWh", "1h")
    for fuel in ("gas", "wind"):
        rig.put("north.mix", "GB", "generation", month, "%", "1h", fuel=fuel)
    rig.publish()
    publish(rig.storage, rig.now)
    client = rig.client()
    headers, described, wrong = rig.key(client), closed(client.get("/openapi.json").get_json()), []
    answers = {
        "/v1/brief/GB": "Brief",
        "/v1/latest/GB": "Latest",
        "/v1/map/snapshot": "Snapshot",
        "/v1/price/GB": "Series",
        "/v1/generation/GB?interval=1h": "Series",
        "/v1/zones": "Zones",
        "/v1/status": "Status",
        "/v1/usage": "Usage",
        "/v1/price/GB?stats=true&above=1": "SeriesStatistics",
        "/v1/windows/DE-LU": "Windows",
        "/nowhere": "Problem",
    }
    for path, name in answers.items():
        wrong += faults(described, path, name, client.get(path, headers=headers).get_json(force=True))
    assert not wrong, "\n".join(wrong[:20])
    assert client.get("/v1/brief/GB", headers=headers).get_json()["context"], "the warehouse has ranked values to check"


def test_every_guide_is_served_and_linked_and_its_files_are_downloads(client: Any) -> None:
    docs = Path("docs")
    assert {*DOC_PAGES} == {path.stem for path in docs.glob("*.md")} - {"README"}
    assert {*EXAMPLES} == {path.name for path in (docs / "examples").iterdir()}
    reference = client.get("/docs").text
    for page in DOC_PAGES:
        answer = client.get(f"/docs/{page}")
        assert (answer.status_code, answer.mimetype) == (200, "text/html")
        assert "<h1 id=" in answer.text
        assert "<script" not in answer.text
        assert f'"/docs/{page}"' in reference
    for file, page in EXAMPLES.items():
        answer = client.get(f"/docs/examples/{file}")
        assert answer.data == (docs / "examples" / file).read_bytes()
        assert answer.headers["Content-Disposition"] == "attachment"
        assert f"examples/{file}" in client.get(f"/docs/{page}").text
        assert f"/docs/examples/{file}" in reference
    for missing in ("/docs/none", "/docs/examples/none.yaml", "/docs/examples/..%2Fmap.md"):
        assert client.get(missing).status_code == 404


def test_links_of_the_guides_lead_to_pages_that_are_served(client: Any) -> None:
    texts = {page: client.get(f"/docs/{page}").text for page in DOC_PAGES}
    links = {link for text in texts.values() for link in re.findall(r'href="(?!https?:|data:)([^"]+)"', text)}
    assert {"/docs", "/docs/brief", "/docs/changes", "/docs/statistics", "/docs/webhooks", "/docs/windows"} <= links
    pages = {link for link in links if not link.startswith("#")}
    assert [link for link in sorted(pages) if client.get(urljoin("/docs/", link)).status_code != 200] == []
    for text in texts.values():
        assert {*re.findall(r'href="#([^"]+)"', text)} <= {*re.findall(r'<h\d id="([^"]+)"', text)}
