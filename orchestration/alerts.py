"""One message when an outage begins, one when it ends: which job, since when, which days, why.

No secret is in a reason.

An outage of a job lasts from its first failed run to its next successful one; failures in between are silent.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from typing import Any

import orjson

from warehouse import layout
from warehouse.clock import iso
from warehouse.storage import Storage, Stored

PATIENCE_S = 10


def begin(storage: Storage, address: str, job: str, at: int, message: Mapping[str, Any]) -> bool:
    """Posts that an outage of a job began at `at` (Unix seconds); False where one is known already.

    Raises OSError where the webhook is not reached: then the next failure tries again.
    """

    def post_and_add(stored: Stored | None) -> bytes | None:
        known = _decoded(stored)
        if job in known:
            return None
        _post(address, {"event": "outage", "since": iso(at), "job": job, **message})
        return orjson.dumps(known | {job: at})

    return storage.update(layout.ALERTS, post_and_add)


def end(storage: Storage, address: str, job: str, at: int) -> bool:
    """Posts that an outage of a job has ended; False where none is known. Raises OSError as `begin` does."""
    if job not in _decoded(storage.read(layout.ALERTS)):
        return False

    def post_and_remove(stored: Stored | None) -> bytes | None:
        known = _decoded(stored)
        began = known.pop(job, None)
        if began is None:
            return None
        _post(address, {"event": "recovered", "since": iso(began), "until": iso(at), "job": job})
        return orjson.dumps(known)

    return storage.update(layout.ALERTS, post_and_remove)


def _decoded(stored: Stored | None) -> dict[str, int]:
    """The instants at which the known outages began, by job."""
    return {} if stored is None else orjson.loads(stored.body)


def _post(address: str, message: Mapping[str, Any]) -> None:
    # The owner's own address.
    body = json.dumps(message).encode()
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=PATIENCE_S):  # noqa: S310
        return
