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
from warehouse.storage import Storage

PATIENCE_S = 10


def begin(storage: Storage, address: str, job: str, at: int, message: Mapping[str, Any]) -> bool:
    """Posts that an outage of a job began at `at` (Unix seconds); False where one is known already.

    Raises OSError where the webhook is not reached: then the next failure tries again.
    """
    with storage.locked([layout.ALERTS]):
        known = _load(storage)
        if job in known:
            return False
        _post(address, {"event": "outage", "since": iso(at), "job": job, **message})
        storage.put(layout.ALERTS, orjson.dumps(known | {job: at}))
    return True


def end(storage: Storage, address: str, job: str, at: int) -> bool:
    """Posts that an outage of a job has ended; False where none is known. Raises OSError as `begin` does."""
    if job not in _load(storage):
        return False
    with storage.locked([layout.ALERTS]):
        known = _load(storage)
        began = known.pop(job, None)
        if began is None:
            return False
        _post(address, {"event": "recovered", "since": iso(began), "until": iso(at), "job": job})
        storage.put(layout.ALERTS, orjson.dumps(known))
    return True


def _load(storage: Storage) -> dict[str, int]:
    """The instants at which the known outages began, by job."""
    return orjson.loads(storage.get(layout.ALERTS) or b"{}")  # type: ignore[no-any-return]


def _post(address: str, message: Mapping[str, Any]) -> None:
    # The owner's own address.
    body = json.dumps(message).encode()
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=PATIENCE_S):  # noqa: S310
        return
