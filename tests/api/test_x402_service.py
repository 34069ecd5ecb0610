"""Test the real endpoints under gunicorn, which the official client pays on a local chain."""

from __future__ import annotations

import asyncio
import base64
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from eth_account import Account
from x402.client import x402Client, x402ClientSync
from x402.http.clients.requests import x402_requests
from x402.mcp import x402MCPClient
from x402.mechanisms.evm.exact import register_exact_evm_client
from x402.mechanisms.evm.signers import EthAccountSigner

from api.access.prices import PRICES, for_zones, units_of
from tests.api.conftest import Rig, copy_everywhere, put_mix
from tests.api.gunicorn_server import Served, serving
from tests.stand_ins.chain import KEYS, Chain, anvil
from tests.stand_ins.facilitator import Facilitator
from tests.stand_ins.official import Official
from tests.stand_ins.paying_clients import CLIENTS, Client
from warehouse.market.clock import iso
from warehouse.market.metrics import BY_PATH
from warehouse.market.zones import ZONES
from warehouse.store import artefact

pytestmark = [pytest.mark.slow, pytest.mark.skipif(anvil() is None, reason="anvil is not installed: make setup")]

PAID = {
    "snapshot": "/v1/map/snapshot",
    "brief": "/v1/brief/GB",
    "records": "/v1/records/GB",
    "all-records": "/v1/records?metric=demand",
    "latest": "/v1/latest/GB",
    "windows": "/v1/windows/DE-LU?hours=1",
    "bulk-file": "/v1/bulk/price/DE-LU/2026-03.parquet",
    "demand": "/v1/demand/GB",
    "generation": "/v1/generation/GB",
    "mix": "/v1/mix/GB",
    "carbon": "/v1/carbon/GB?limit=5",
    "price": "/v1/price/GB?format=csv",
    "carbon-intensity": "/v1/carbon-intensity/GB?limit=5",
    "interchange": "/v1/interchange/GB?by=border",
    "capacity": "/v1/capacity/DE-LU",
    **{f"{name}-zones": f"/v1/{name}?zones=GB" for name in BY_PATH if name != "capacity"},
    "capacity-zones": "/v1/capacity?zones=DE-LU",
}
COSTS_NOTHING = {
    "/v1/latest/XX": 404,
    "/v1/capacity/GB": 404,
    "/v1/price/GB?limit=0": 400,
    "/v1/price/GB?unknown=1": 400,
    "/v1/price/GB?start=100001000&end=100002000": 200,  # no values at that time
    "/v1/latest/GB?sample=true": 200,
    "/v1/windows/GB?hours=1": 200,  # no known future prices
    "/v1/windows/DE-LU?hours=0": 400,
    "/v1/demand/GB?stats=true&start=100001000&end=100002000": 200,
    "/v1/demand/GB?stats=true&limit=5": 400,
    "/v1/bulk/price/GB/2019-01.parquet": 404,
    "/v1/bulk": 200,
    "/v1/changes": 200,
    "/v1/changes?since=00000000-7": 410,
    "/v1/webhooks": 401,
    "/v1/zones": 200,
}


def price_in_units(name: str) -> int:
    """Return the price of a call in PAID. Records of all zones cost a zone's price for each zone."""
    return units_of(for_zones(name, len(ZONES)) if name == "all-records" else name)


@pytest.fixture(scope="module")
def facilitator(chain: Chain) -> Iterator[Facilitator]:
    running = Facilitator(Official(chain.url, KEYS[0]))
    yield running
    running.close()


@dataclass(frozen=True)
class Sold:
    """A service that sells to every client, with its payee and warehouse location."""

    served: Served
    payee: str
    home: Path


@pytest.fixture(scope="module")
def sold(tmp_path_factory: pytest.TempPathFactory, chain: Chain, facilitator: Facilitator) -> Iterator[Sold]:
    payee, folder = str(Account.create().address), tmp_path_factory.mktemp("sold")
    copy_everywhere(tmp_path_factory, folder / "home")
    rig = Rig(folder / "home")
    put_mix(rig)
    snapshot = artefact.load(rig.storage, "snapshot.json")
    fresh = {"EMDS_NOW": iso(snapshot["valid_until"] - 1)}  # overdue values are not sold
    payments = {"EMDS_PAY_TO": payee, "EMDS_FACILITATOR_URLS": facilitator.url, "EMDS_RPC_URL": chain.url}
    with serving(folder) as start:
        yield Sold(start(rig, **payments, **fresh), payee, rig.home)


def test_every_paid_path_costs_its_price_and_nothing_else_does(sold: Sold, chain: Chain) -> None:
    """Pay every 402 with the official client."""
    served, payee = sold.served, sold.payee
    client = register_exact_evm_client(x402ClientSync(), EthAccountSigner(Account.from_key(KEYS[2])))
    assert set(PAID) == set(PRICES)
    with x402_requests(client) as session:
        for name, path in PAID.items():
            before = chain.balance(payee)
            answer = session.get(served.url + path, timeout=30)
            assert answer.status_code == 200, (path, answer.text)
            assert answer.headers["Cache-Control"] == "private, no-store"
            assert "PAYMENT-RESPONSE" in answer.headers, (path, dict(answer.headers), answer.text[:300])
            receipt = json.loads(base64.b64decode(answer.headers["PAYMENT-RESPONSE"]))
            assert receipt["transaction"] == chain.transfers(payee)[-1]
            assert chain.balance(payee) - before == price_in_units(name)
        assert session.get(f"{served.url}/v1/price/GB?stats=true", timeout=30).status_code == 200
        paid, total = chain.transfers(payee), chain.balance(payee)
        for path, status in COSTS_NOTHING.items():
            assert session.get(served.url + path, timeout=30).status_code == status, path
    assert (chain.transfers(payee), chain.balance(payee)) == (paid, total)
    with sqlite3.connect(sold.home / "accounts.sqlite") as ledger:
        rows = ledger.execute(
            "SELECT state, sum(amount), count(*) FROM payments GROUP BY state ORDER BY state"
        ).fetchall()
    ledger.close()
    assert rows == [("released", 25_000, 3), ("settled", total, len(paid))]
    entries = [json.loads(line) for line in served.log.read_text().splitlines() if line.startswith('{"payment"')]
    assert [each["tx"] for each in entries if each["payment"] == "settled"] == paid


@pytest.mark.parametrize("client", CLIENTS)
def test_every_official_client_buys_every_path(sold: Sold, chain: Chain, client: Client) -> None:
    served, payee = sold.served, sold.payee
    units, transfers = chain.balance(payee), chain.transfers(payee)
    reports = client([served.url + path for path in PAID.values()])
    assert [report["status"] for report in reports] == [200] * len(PAID)
    assert transfers + [report["receipt"]["transaction"] for report in reports] == chain.transfers(payee)
    assert chain.balance(payee) - units == sum(map(price_in_units, PRICES))


class OverHttp:
    """A transport for x402's MCP client that calls `/mcp` of a running service."""

    def __init__(self, url: str) -> None:
        self.url = url + "/mcp"

    async def call_tool(self, params: dict[str, Any], **_: Any) -> SimpleNamespace:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {"MCP-Protocol-Version": "2025-11-25", "Accept": "application/json, text/event-stream"}
        result = requests.post(self.url, json=message, headers=headers, timeout=30).json()["result"]
        return SimpleNamespace(
            content=result["content"],
            isError=result.get("isError", False),
            _meta=result.get("_meta", {}),
            structuredContent=result.get("structuredContent"),
        )


def test_the_official_mcp_client_buys_a_tools_answer_on_the_chain(sold: Sold, chain: Chain) -> None:
    served, payee = sold.served, sold.payee
    units = chain.balance(payee)
    wallet = register_exact_evm_client(x402Client(), EthAccountSigner(Account.from_key(KEYS[2])))
    client = x402MCPClient(OverHttp(served.url), wallet)
    bought = asyncio.run(client.call_tool("get_latest", {"zone": "GB", "sample": False}))
    assert (bought.payment_made, bought.is_error) == (True, False)
    assert bought.payment_response.transaction == chain.transfers(payee)[-1]
    assert chain.balance(payee) - units == price_in_units("latest")
