"""Call the official x402 clients as functions that pay for a list of URLs and report the responses.

A report contains `status`, `body` (None if it is not JSON) and `receipt`. The buyer's key is the third of the chain.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from eth_account import Account

from tests.stand_ins.chain import KEYS
from tests.stand_ins.served import ROOT

NODE = ROOT / "tests" / "node"
NEEDS_NODE = pytest.mark.skipif(
    shutil.which("node") is None or not (NODE / "node_modules" / "x402-axios").exists(),
    reason="npm packages of tests/node are not installed: make setup",
)
Client = Callable[[list[str]], list[dict[str, Any]]]


def by_requests(urls: list[str]) -> list[dict[str, Any]]:
    from x402.client import x402ClientSync
    from x402.http.clients.requests import x402_requests
    from x402.mechanisms.evm.exact import register_exact_evm_client
    from x402.mechanisms.evm.signers import EthAccountSigner

    client = register_exact_evm_client(x402ClientSync(), EthAccountSigner(Account.from_key(KEYS[2])))
    with x402_requests(client) as session:
        answers = [session.get(url, timeout=30) for url in urls]
    return [_report(each.status_code, _json(each), each.headers["PAYMENT-RESPONSE"]) for each in answers]


def by_httpx(urls: list[str]) -> list[dict[str, Any]]:
    from x402.client import x402Client
    from x402.http.clients.httpx import x402HttpxClient
    from x402.mechanisms.evm.exact import register_exact_evm_client
    from x402.mechanisms.evm.signers import EthAccountSigner

    async def run() -> list[dict[str, Any]]:
        client = register_exact_evm_client(x402Client(), EthAccountSigner(Account.from_key(KEYS[2])))
        async with x402HttpxClient(client, timeout=30) as session:
            answers = [await session.get(url) for url in urls]
        return [_report(each.status_code, _json(each), each.headers["PAYMENT-RESPONSE"]) for each in answers]

    return asyncio.run(run())


def _report(status: int, body: Any, receipt: str) -> dict[str, Any]:
    return {"status": status, "body": body, "receipt": json.loads(base64.b64decode(receipt))}


def by_node(program: str) -> Callable[[list[str]], list[dict[str, Any]]]:
    def run(urls: list[str]) -> list[dict[str, Any]]:
        environ = os.environ | {"BUYER_KEY": KEYS[2]}
        ended = subprocess.run(
            ["node", program, *urls], cwd=NODE, env=environ, capture_output=True, text=True, timeout=60, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return [json.loads(line) for line in ended.stdout.splitlines()]

    return run


def _json(answer: Any) -> Any:
    return answer.json() if answer.headers["Content-Type"].startswith("application/json") else None


CLIENTS = [
    pytest.param(by_requests, id="python-requests"),
    pytest.param(by_httpx, id="python-httpx"),
    pytest.param(by_node("pay_v2.mjs"), id="x402-fetch-v2", marks=NEEDS_NODE),
    pytest.param(by_node("pay_axios.mjs"), id="x402-axios-v2", marks=NEEDS_NODE),
    pytest.param(by_node("pay_v1.mjs"), id="x402-fetch-v1", marks=NEEDS_NODE),
    pytest.param(by_node("pay_axios_v1.mjs"), id="x402-axios-v1", marks=NEEDS_NODE),
]
