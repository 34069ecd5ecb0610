"""Run a local EVM chain that behaves as Base, with chain ID 8453 and a stand-in for USDC at its address on Base.

Production settings work on this chain unchanged, except for the URLs of the facilitators and the node.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

from tests.stand_ins.ports import free_port

USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
BASE_DOMAIN_SEPARATOR = "0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f"
"""The value that USDC on Base returns for DOMAIN_SEPARATOR()."""

HERE = Path(__file__).parent
KEYS = (
    "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
    "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
    "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
)
"""Private keys of two facilitators and a buyer.

They come from the public test mnemonic "test test ... junk" and are worthless on any chain.
"""
BUYER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"


def anvil() -> str | None:
    """Return the path of anvil from the PATH or from the npm packages in tests/node, or None if it is missing."""
    binaries = sorted((HERE.parent / "node" / "node_modules" / "@foundry-rs").glob("anvil-*/bin/anvil*"))
    return shutil.which("anvil") or (str(binaries[0]) if binaries else None)


class Chain:
    """A running chain. Its method `rpc` is a client of its own and does not use those of the facilitators."""

    def __init__(self) -> None:
        program = anvil()
        if program is None:
            raise FileNotFoundError("anvil: run `make setup`")
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        arguments = [program, "--chain-id", "8453", "--host", "127.0.0.1", "--port", str(port), "--silent"]
        self._process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._wait()
        self.rpc("anvil_setCode", [USDC, "0x" + (HERE / "usdc.hex").read_text().strip()])
        if self.call("3644e515") != BASE_DOMAIN_SEPARATOR:
            raise RuntimeError("the stand-in's EIP-712 domain is not that of USDC on Base")

    def rpc(self, method: str, params: list[Any]) -> Any:
        """Send the JSON-RPC call `method` and return its result.

        Raise RuntimeError with the error that the node returns.
        """
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        request = urllib.request.Request(self.url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as reply:
            answer = json.load(reply)
        if "error" in answer:
            raise RuntimeError(str(answer["error"]))
        return answer["result"]

    def call(self, data: str) -> str:
        """Call the token with `data` (hex without the prefix 0x) and return the result in hex."""
        return str(self.rpc("eth_call", [{"to": USDC, "data": "0x" + data}, "latest"]))

    def mint(self, address: str, units: int) -> None:
        self.send("40c10f19" + _word(address) + f"{units:064x}")

    def send(self, data: str) -> None:
        """Send a transaction with `data` to the token from an account that the chain unlocks.

        The chain mines it at once.
        """
        sender = self.rpc("eth_accounts", [])[9]
        self.rpc("eth_sendTransaction", [{"from": sender, "to": USDC, "data": "0x" + data}])

    def settle(self, signed: dict[str, str], signature: str) -> None:
        """Send a transferWithAuthorization for `signed` without a facilitator."""
        numbers = "".join(f"{int(signed[name]):064x}" for name in ("value", "validAfter", "validBefore"))
        packed = f"{224:064x}{65:064x}{signature[2:]}{'0' * 62}"
        self.send("cf092995" + _word(signed["from"]) + _word(signed["to"]) + numbers + signed["nonce"][2:] + packed)

    def balance(self, address: str) -> int:
        """Return the balance of `address` in the smallest units of USDC."""
        return int(self.call("70a08231" + _word(address)), 16)

    def transfers(self, payee: str) -> list[str]:
        """Return the transaction hashes of all transfers to `payee`."""
        topic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
        logs = self.rpc(
            "eth_getLogs", [{"address": USDC, "fromBlock": "0x0", "topics": [topic, None, "0x" + _word(payee)]}]
        )
        return [log["transactionHash"] for log in logs]

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)

    def _wait(self) -> None:
        deadline = time.monotonic() + 20
        while True:
            try:
                self.rpc("eth_chainId", [])
                return
            except OSError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


def _word(address: str) -> str:
    return address[2:].lower().rjust(64, "0")
