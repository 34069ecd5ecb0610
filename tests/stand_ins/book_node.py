"""Serve a JSON-RPC node over a book in memory. It supports the calls that emds sends, and can fail or hide events."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.stand_ins.book import Book
from tests.stand_ins.chain import USDC

_USED = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"
_TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


class BookNode:
    """A node that serves a book on a free port and adds one block per second of real time."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self.down = False
        self.logs_hidden = False
        """If set, the node reports that an authorization is used but finds no event."""
        self.reverted: set[str] = set()
        """Transactions that are in a block but moved no value."""
        self.calls = 0
        node = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                node.calls += 1
                result = None if node.down else node.answer(call["method"], call["params"])
                body = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()
                self.send_response(503 if node.down else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Suppress the log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def answer(self, method: str, params: list[Any]) -> Any:
        """Return the result of the call `method`, or None if the object is missing."""
        if method == "eth_getBlockByNumber":
            number = int(time.time()) if params[0] == "latest" else int(params[0], 16)
            return {"number": hex(number), "timestamp": hex(number)}
        if method == "eth_call":
            payer, nonce = "0x" + params[0]["data"][34:74], "0x" + params[0]["data"][74:]
            used = any(t["nonce"] == nonce and t["from"] == payer for t in self.book.transfers)
            return "0x" + f"{int(used):064x}"
        if method == "eth_getTransactionReceipt":
            if params[0] in self.reverted:
                return {"status": "0x0", "logs": []}
            logs = [log for log in self._logs() if log["transactionHash"] == params[0]]
            return {"status": "0x1", "logs": logs} if logs else None
        return self._matching(params[0])

    def _matching(self, wanted: dict[str, Any]) -> list[dict[str, Any]]:
        if self.logs_hidden:
            return []
        first, last = int(wanted["fromBlock"], 16), int(wanted["toBlock"], 16)
        return [
            log
            for log in self._logs()
            if first <= int(log["blockNumber"], 16) <= last and _matches(log["topics"], wanted["topics"])
        ]

    def _logs(self) -> list[dict[str, Any]]:
        """Return the AuthorizationUsed and Transfer events of every transfer.

        Log indices count over all transfers of a transaction.
        """
        logs: list[dict[str, Any]] = []
        counts: dict[str, int] = {}
        for transfer in list(self.book.transfers):
            tx = transfer["tx"]
            common = {"address": USDC.lower(), "transactionHash": tx, "blockNumber": hex(transfer["at"])}
            topics = []
            if transfer["nonce"]:
                topics.append(([_USED, _word(transfer["from"]), transfer["nonce"]], "0x"))
            topics.append(([_TRANSFER, _word(transfer["from"]), _word(transfer["to"])], hex(transfer["value"])))
            for names, data in topics:
                index = counts.get(tx, 0)
                counts[tx] = index + 1
                logs.append({**common, "topics": names, "data": data, "logIndex": hex(index)})
        return logs


def _matches(topics: list[str], wanted: list[Any]) -> bool:
    pairs = zip(topics, wanted, strict=False)
    return all(w is None or topic in (w if isinstance(w, list) else [w]) for topic, w in pairs)


def _word(address: str) -> str:
    return "0x" + address[2:].lower().rjust(64, "0")
