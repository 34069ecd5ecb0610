"""Where each thing lies: the only file that builds a key or spells the name of a published document."""

from __future__ import annotations

CATALOGUE = "catalogue.json"
"""Zones, sources, feeds and what is held of each."""
SPANS = "spans.json"
"""The row counts from which the catalogue was counted."""
SNAPSHOT = "snapshot.json"
"""Every zone's latest values."""
GEO_BUILT_FROM = "geo/built_from.json"
"""Which tables the published geo layers were built from."""
PRUNED = "pruned"
"""The key of the instant (Unix seconds) up to which old answers have been pruned."""
MODE = "mode"
"""The key of the warehouse's mode: simulated, live or recorded."""


def series(metric: str, zone: str, month: str) -> str:
    """What is served of one UTC month."""
    return f"series/{metric}/{zone}/{month}.parquet"


def history(metric: str, zone: str, month: str) -> str:
    """Rows of lower rank and superseded values of one UTC month."""
    return f"series/{metric}/{zone}/{month}.history.parquet"


def series_prefix(metric: str = "", zone: str = "") -> str:
    """Below this all months of a zone's metric lie, or of all zones, or all metrics."""
    return "/".join(["series", *filter(None, (metric, zone))]) + "/"


def of_series(key: str) -> tuple[str, str, str, bool]:
    """Metric, zone, month and whether it is history, of a series key."""
    _, metric, zone, name = key.split("/")
    return metric, zone, name[:7], name.endswith(".history.parquet")


def raw_prefix(feed: str, day: str = "") -> str:
    """Below this the kept bodies of a feed lie (of one market day)."""
    source, product = feed.split(".", 1)
    return f"raw/{source}/{product}/" + (f"{day}/" if day else "")


def raw(feed: str, day: str, fetched_at: int, sha8: str, ext: str) -> str:
    """One kept body."""
    return f"{raw_prefix(feed, day)}{fetched_at}-{sha8}.{ext}.zst"


def quarantine(feed: str, day: str, sha8: str) -> str:
    """Rows set aside by `warehouse.quality`, as JSON, under the first market day asked for."""
    source, product = feed.split(".", 1)
    return f"quarantine/{source}/{product}/{day}-{sha8}.json"


def journal(name: str) -> str:
    """What a backfill still has to do, until it has run to its end."""
    return f"backfill/{name}.json"


def published(name: str) -> str:
    """A precomputed document: `latest/GB.json`, `geo/zones.low.geojson`."""
    return f"published/{name}"


def health(source: str) -> str:
    """The name of the published health of one source."""
    return f"health/{source}.json"


def latest(zone: str) -> str:
    """The name of a zone's latest values."""
    return f"latest/{zone}.json"


def brief(zone: str) -> str:
    """The name of a zone's brief."""
    return f"brief/{zone}.json"


def geo(layer: str, format_: str, detail: str = "") -> str:
    """The name of a geo layer: `geo/zones.low.geojson`, `geo/plants.csv`."""
    return f"geo/{layer}{f'.{detail}' if detail else ''}.{format_}"


def geo_hashes(layer: str) -> str:
    """The name of the SHA-256 of each document of a geo layer: which of them belong together."""
    return f"geo/{layer}.sha256.json"


LIVE = geo("live", "geojson")
"""The name of the zones with their newest, rounded figures."""
LIVE_HOURS = "geo/live/hours.json"
"""The name of the rounded hours of every zone."""


def live_history(zone: str) -> str:
    """The name of a zone's rounded recent history."""
    return f"geo/live/{zone}.json"
