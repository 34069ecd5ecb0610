"""Choose ports for servers that a test starts, below the ephemeral ports and different in each test process."""

from __future__ import annotations

import itertools
import os
import socket

_FIRST, _EACH = 20_000, 700
"""Ephemeral ports begin at 32768 on Linux. A client may take such a port a moment after it was found free."""
_turn = itertools.count(os.getpid())


def free_port() -> int:
    """Return a port without a listener that no other process of this test run receives."""
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
