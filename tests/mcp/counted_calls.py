"""Calls of the data tools, and the count of a key's calls, as the service reports it and used up."""

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
    """The calls counted for a key today, as the service reports them."""
    answer = app.test_client().get("/v1/usage", headers={"Authorization": f"Bearer {key}"})
    return int(answer.json["quota"]["used"])


def use_up(app: Any, key: str, but: int = 0) -> None:
    """Counts calls until `but` are left."""
    gate = app.extensions["emds"].gate
    while used(app, key) < CALLS_PER_DAY - but:
        gate.keys.reserve(digest_of(key), gate.now)
