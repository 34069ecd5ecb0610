"""Instants of rows as RFC 3339 text, in UTC or in a zone's civil time. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

import numpy as np

from warehouse.clock import zone_of
from warehouse.versions import Ints

TimeStyle = Literal["utc", "local"]


def written(ts: Ints, style: TimeStyle, tz: str | Sequence[str]) -> list[str]:
    """`2026-10-25T00:00:00Z`, or with `local` the wall clock of `tz` (one of all, or one each) with its offset."""
    if style == "utc":
        return [f"{text}Z" for text in np.datetime_as_string(ts.astype("datetime64[s]")).tolist()]
    clocks = [tz] * len(ts) if isinstance(tz, str) else tz
    return [datetime.fromtimestamp(at, zone_of(name)).isoformat() for at, name in zip(ts.tolist(), clocks, strict=True)]
