"""List arguments for the data tools, return the number of calls counted for a key, and use up a key's quota."""

from __future__ import annotations

from typing import Any

from api.access.key_spelling import digest_of
from api.access.keys import CALLS_PER_DAY

ARGUMENTS: dict[str, dict[str, Any]] = {
    "get_latest": {"zone": "GB"},
    "get_zone_brief": {"zone": "GB"},
    "get_map_snapshot": {},
    "get_history": {"zone": "GB", "metric": "price"},
}


def used(app: Any, key: str) -> int:
    """Return the number of calls counted for `key` today, as the service reports it."""
    answer = app.test_client().get("/v1/usage", headers={"Authorization": f"Bearer {key}"})
    return int(answer.json["quota"]["used"])


def use_up(app: Any, key: str, but: int = 0) -> None:
    """Count calls until `but` are left."""
    gate = app.extensions["emds"].gate
    while used(app, key) < CALLS_PER_DAY - but:
        gate.keys.reserve(digest_of(key), gate.now)
