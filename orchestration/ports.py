"""Whether a server may listen on a port, told before it starts."""

from __future__ import annotations

import errno
import socket

from warehouse.errors import StorageError


def require_free(port: int, options: str = "--port", host: str = "0.0.0.0") -> None:  # noqa: S104  as servers listen
    """Raises StorageError where a port is taken, or not this user's to take; `options`: those that choose another.

    A host that is none of this machine's the server itself tells.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                raise StorageError(f"port {port} is taken ({error.strerror}): choose another with {options}") from None
