"""List the free tools, and the data tools with valid arguments, and make their responses comparable with REST."""

from __future__ import annotations

from typing import Any

from tests.mcp.reading import rows_of

FREE = ["list_zones", "get_status"]
DATA = {
    "get_latest": {"zone": "GB"},
    "get_zone_brief": {"zone": "GB"},
    "get_history": {"zone": "GB", "metric": "price"},
    "get_map_snapshot": {},
    "find_window": {"zone": "DE-LU"},
    "get_statistics": {"zone": "GB", "metric": "price"},
}
SERIES = ["price", "demand", "interchange", "generation", "carbon_intensity", "carbon-intensity"]
ADDED = ("time", "notes", "next", "available_range", "columns", "clock", "reason")
"""Fields that the tools add to those of REST."""


def as_rest(stated: Any) -> Any:
    """Return a response without the fields that the tools add, and with its rows as REST returns them."""
    if isinstance(stated, list):
        return [as_rest(part) for part in stated]
    if not isinstance(stated, dict):
        return stated
    kept = {name: as_rest(part) for name, part in stated.items() if name not in ADDED and not name.endswith("_time")}
    if "constant" in kept:
        kept["data"] = rows_of(stated)
        del kept["constant"]
    if "market_tz" in kept:
        del kept["metrics"]
    return kept


class WithHeaders:
    """A caller that sends different headers."""

    def __init__(self, caller: Any, headers: dict[str, str]) -> None:
        self.caller, self.headers = caller, headers

    def call(self, *arguments: Any, **named: Any) -> dict[str, Any]:
        before, self.caller.headers = self.caller.headers, self.headers
        try:
            result: dict[str, Any] = self.caller.call(*arguments, **named)
        finally:
            self.caller.headers = before
        return result
