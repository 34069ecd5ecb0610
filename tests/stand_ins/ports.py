"""Ports for servers that a test starts: below those that connections take, and of each test process its own."""

from __future__ import annotations

import itertools
import os
import socket

_FIRST, _EACH = 20_000, 700
"""Ephemeral ports begin at 32768 (Linux): one that is free now may be a client's a moment later."""
_turn = itertools.count(os.getpid())


def free_port() -> int:
    """A port that nobody listens on, and that no other process of this test run is given."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 16
    for _ in range(_EACH):
        port = _FIRST + worker * _EACH + next(_turn) % _EACH
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no port is free")
