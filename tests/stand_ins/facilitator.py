"""Serve a facilitator on loopback whose transport can fail in every way in which a hosted facilitator's can.

A core decides about payments. It is the official SDK on a chain (`tests.stand_ins.official`) or a book in memory
(`tests.stand_ins.book`). This module creates the faults of the transport.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Protocol, get_args

Fault = Literal[
    "", "500", "429", "html", "400", "hang", "drop", "trouble", "pending", "pending-once", "screened", "raw",
    "refused-400", "lie", "lie-payer", "lie-network", "done-hang", "done-drop", "done-500", "done-500-told",
    "done-html", "done-307", "done-404", "done-409", "done-429", "done-duplicate", "drip",
]  # fmt: skip
"""A fault with the prefix `done-` settles the payment, then fails, redirects, or refuses the request as a repetition.

`done-500-told` sends the result with the 500, and `drip` sends it one byte at a time. A fault with the prefix `lie`
claims success without settling, or for another payer or network. `screened` refuses with a reason of its own and `raw`
with an internal text. `refused-400` sends a well-formed refusal with status 400.
"""


class Core(Protocol):
    """The source of the responses to `POST /verify` and `POST /settle`. A ValueError becomes status 500."""

    def verify(self, body: dict[str, Any]) -> dict[str, Any]: ...

    def settle(self, body: dict[str, Any]) -> dict[str, Any]: ...


class Facilitator:
    """A server of `core` on a free port. `faults` contains the fault of each verb, and `calls` counts its requests."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.faults: dict[str, Fault] = {"verify": "", "settle": ""}
        self.calls = {"verify": 0, "settle": 0}
        self.authorization = ""
        self._gone = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Refuse new connections and end those that hang."""
        self._gone.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def wait(self, seconds: float) -> None:
        """Wait for `seconds`, or until `close` is called."""
        self._gone.wait(seconds)

    def answer(self, verb: str, body: dict[str, Any]) -> tuple[int, dict[str, Any] | None]:
        """Return the status of the response to `verb` and its document, which is None if it is not JSON.

        Raise ConnectionAbortedError if the fault sends no response.
        """
        with self._lock:
            self.calls[verb] += 1
            fault = self.faults[verb]
            if fault == "pending-once":
                self.faults[verb] = ""
        try:
            result = None if fault in _UNDONE else self._ask(verb, body)
        except ValueError:  # The core cannot read the request.
            fault, result = "500", None
        return _failing(fault, result, body, self)

    def _ask(self, verb: str, body: dict[str, Any]) -> dict[str, Any]:
        # Only one request at a time: the SDK's signer numbers its transactions and does not reuse the number of a
        # failed one.
        with self._lock:
            return self.core.verify(body) if verb == "verify" else self.core.settle(body)


_UNDONE = frozenset(each for each in get_args(Fault) if each and not each.startswith("done-") and each != "drip")
_HANG_S = 30.0
_NO_MONEY = "invalid_exact_evm_insufficient_balance"


def _failing(
    fault: Fault, result: dict[str, Any] | None, body: dict[str, Any], server: Facilitator
) -> tuple[int, dict[str, Any] | None]:
    payer = body["paymentPayload"]["payload"]["authorization"]["from"]
    network = "base" if body["x402Version"] == 1 else "eip155:8453"
    lie = {"isValid": True, "success": True, "payer": payer, "network": network, "transaction": "0x" + "ab" * 32}
    refusal = {"isValid": False, "success": False, "payer": payer, "network": network, "transaction": ""}
    if fault in ("hang", "done-hang"):
        server.wait(_HANG_S)
        raise ConnectionAbortedError
    if fault in ("drop", "done-drop"):
        raise ConnectionAbortedError
    table: dict[str, tuple[int, dict[str, Any] | None]] = {
        "500": (500, {"error": "boom at 10.0.0.7"}),
        "done-500": (500, {"error": "boom at 10.0.0.7"}),
        "done-500-told": (500, result),
        "done-307": (307, None),
        "done-404": (404, {"error": "no such path"}),
        "done-409": (409, {"error": "busy"}),
        "done-429": (429, {"error": "slow down"}),
        "done-duplicate": (200, refusal | {"errorReason": "duplicate_settlement"}),
        "400": (400, {"error": "bad request"}),
        "refused-400": (400, refusal | {"invalidReason": _NO_MONEY, "errorReason": _NO_MONEY}),
        "429": (429, {"error": "slow down"}),
        "html": (200, None),
        "done-html": (200, None),
        "trouble": (200, refusal | {"invalidReason": "unexpected_verify_error", "errorReason": "transaction_failed"}),
        "pending": (500, refusal | {"errorReason": "settlement_pending", "transaction": "0x" + "cd" * 32}),
        "pending-once": (500, refusal | {"errorReason": "settlement_pending", "transaction": "0x" + "cd" * 32}),
        "screened": (200, refusal | {"invalidReason": "kyt_risk_detected", "errorReason": "kyt_risk_detected"}),
        "raw": (
            400,
            refusal
            | {"invalidReason": "execution reverted: 0x08c379a0 at db-7", "errorReason": "execution reverted: at db-7"},
        ),
        "lie": (200, lie),
        "lie-payer": (200, lie | {"payer": "0x" + "11" * 20}),
        "lie-network": (200, lie | {"network": "eip155:1"}),
    }
    return table.get(fault, (200, result))


def _handler(facilitator: Facilitator) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            facilitator.authorization = self.headers.get("Authorization", "")
            verb = self.path.removeprefix("/")
            try:
                status, document = facilitator.answer(verb, body)
                self._send(status, document, drip=facilitator.faults[verb] == "drip")
            except ConnectionAbortedError:
                self._reset()

        def do_GET(self) -> None:
            known = ((1, "base"), (2, "eip155:8453"))
            kinds = [{"x402Version": version, "scheme": "exact", "network": network} for version, network in known]
            self._send(200, {"kinds": kinds, "extensions": [], "signers": {}}, drip=False)

        def _send(self, status: int, document: dict[str, Any] | None, drip: bool) -> None:
            body = b"<html>proxy</html>" if document is None else json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json" if document is not None else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            for start in range(0, len(body), 1 if drip else len(body)):
                self.wfile.write(body[start : start + (1 if drip else len(body))])
                if drip:
                    facilitator.wait(0.2)

        def _reset(self) -> None:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:  # The gate closed the connection first.
                self.close_connection = True

        def log_message(self, *_arguments: object) -> None:
            """Suppress the log."""

    return Handler
