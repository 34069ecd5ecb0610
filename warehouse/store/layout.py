"""Define the keys below EMDS_HOME. Only this file builds keys and spells the names of published documents."""

from __future__ import annotations

import re

CATALOGUE = "catalogue.json"
MANIFEST = "manifest.json"
"""The names of the published catalogue and of the manifest of monthly files, whose parts `manifest` names."""
PUBLISHERS = "publishers.json"
"""The name of the document of publisher statistics: delays, revisions and gaps of each feed by month."""
PUBLIC_MONTHS = "public_months.json"
"""The name of the document that lists the monthly files at the public URL, by SHA-256."""
FAILED_RUNS = "failed_runs.json"
"""The name of the document of failed runs by job."""
SNAPSHOT = "snapshot.json"
"""The name of the published document of all zones' latest values."""
PRUNED = "pruned"
"""The key of the time (Unix seconds) before which old responses have been deleted."""
MODE = "mode"
"""The key of the warehouse's mode: simulated, live or recorded."""
ZONES = "zones"
"""The key of the IDs of the zones that the warehouse covers, one per line."""
FIRST_DAYS = "first_days.json"
"""The key of the oldest market day requested from each feed."""
RAW = "raw/"
QUARANTINE = "quarantine/"
DAMAGED = "damaged/"
WAITING = "damaged/waiting/"
CHANGES = "changes/"
"""Prefixes of raw responses, quarantined rows, damaged files, marks of months to rebuild, and the change log."""
CHANGE_LOG = "changes/log.json"
"""The key of the change log's own record: its name, its first entry and its newest segment."""
CHANGE_SEGMENTS = "changes/log/"
"""The prefix of the segments of that log."""
ACCOUNTS = "accounts.sqlite"
"""The key of the SQLite database of keys, usage and payments, unless EMDS_DATABASE_URL names another one."""
RATE_LIMITS = "rate_limits"
"""The name of the folder, in the local folder, of the rate-limit slots for publishers on this machine."""
UP_LOCK = "up.lock"
"""The name of the file, in the local folder, that a running `emds up` locks."""
RECORDS = "marts/records.parquet"
"""The key of the highest and lowest values and the longest runs of negative prices of every series."""
MARTS = "marts/"
"""The prefix of the marts."""
MARTS_CHECKED = "marts/checked.json"
"""The key of the marts found up to date: for each, a hash of the stamps of its file and of its monthly files."""
ATTEMPTS = "attempts/"
"""The prefix of the logs of fetch attempts."""
_SERIES, _HISTORY, _PUBLISHED = "series/", "history/", "published/"
KEPT = (RAW, _HISTORY, _SERIES, QUARANTINE, ATTEMPTS, DAMAGED, CHANGES, _PUBLISHED)
"""The prefixes of everything that a warehouse owns, except for a few single files."""


def series(metric: str, zone: str, month: str) -> str:
    """Return the key of the served rows of a UTC month (`2026-11`)."""
    return f"{series_prefix(metric, zone)}{month}.parquet"


def history(metric: str, zone: str, month: str, sha8: str) -> str:
    """Return the key of a UTC month's lower-ranked rows and superseded values. `sha8` begins the bytes' SHA-256."""
    return f"{history_prefix(metric, zone)}{month}-{sha8}.parquet"


def series_prefix(metric: str = "", zone: str = "") -> str:
    """Return the prefix of the served months of a zone's metric, of a metric, or of everything, as Hive partitions."""
    return _SERIES + _partitions(metric, zone)


def history_prefix(metric: str = "", zone: str = "") -> str:
    """Return the prefix of the months' histories, as `series_prefix` does."""
    return _HISTORY + _partitions(metric, zone)


def _partitions(metric: str, zone: str) -> str:
    return (f"metric={metric}/" if metric else "") + (f"zone={zone}/" if zone else "")


def mart(name: str, metric: str, zone: str) -> str:
    """Return the key of a mart's rows of a zone's metric for all months: `marts/daily/price/FR.parquet`."""
    return f"marts/{name}/{metric}/{zone}.parquet"


_MONTH_FILE = re.compile(r"(?:series|(history))/metric=([^/]+)/zone=([^/]+)/(\d{4}-\d\d)(?(1)-[0-9a-f]{8})\.parquet")


def of_series(key: str) -> tuple[str, str, str, bool]:
    """Return metric, zone, month and whether it is history, from a monthly file's key. Raises ValueError otherwise."""
    match = _MONTH_FILE.fullmatch(key)
    if match is None:
        raise ValueError(f"{key} is not a month file")
    return match[2], match[3], match[4], match[1] is not None


def is_month_file(key: str) -> bool:
    """Return whether a key is that of a monthly file, either served or history."""
    return _MONTH_FILE.fullmatch(key) is not None


def raw_prefix(feed: str, day: str = "") -> str:
    """Return the prefix of the raw responses of a feed, or of one of its market days."""
    source, product = feed.split(".", 1)
    return f"{RAW}{source}/{product}/" + (f"{day}/" if day else "")


def raw(feed: str, day: str, order: int, fetched_at: int, digest: str, ext: str) -> str:
    """Return the key of a raw response. `order` numbers those of the feed; `digest` is from `series.raw.digest`."""
    return f"{raw_prefix(feed, day)}{order}-{fetched_at}-{digest}.{ext}.zst"


def quarantine_prefix(feed: str) -> str:
    """Return the prefix of the quarantined rows of a feed."""
    source, product = feed.split(".", 1)
    return f"{QUARANTINE}{source}/{product}/"


def quarantine(feed: str, day: str, sha8: str) -> str:
    """Return the key of rows quarantined by `judge.quality`, as JSON, under the first requested market day."""
    return f"{quarantine_prefix(feed)}{day}-{sha8}.json"


def attempts(source: str, month: str) -> str:
    """Return the key of the fetch attempts of a source's feeds in a UTC month."""
    return f"{ATTEMPTS}{source}/{month}.json"


def change_segment(number: int) -> str:
    """Return the key of a segment of the change log."""
    return f"{CHANGE_SEGMENTS}{number:08d}.json"


def damaged(name: str, key: str) -> str:
    """Return the key of a damaged file that was quarantined under a name."""
    return f"{DAMAGED}{name}/{key}"


def waiting(key: str) -> str:
    """Return the key of the mark, with a reason, of a damaged monthly file whose month is to be rebuilt."""
    return f"{WAITING}{key}"


def published(name: str = "") -> str:
    """Return the key of a document (`latest/GB.json`, `geo/zones.low.geojson`), without a name the common prefix."""
    return f"{_PUBLISHED}{name}"


def manifest(metric: str, zone: str) -> str:
    """Return the name of the published document of the monthly files of a metric and zone."""
    return f"manifest/{metric}/{zone}.json"


def latest(zone: str) -> str:
    """Return the name of the published document of a zone's latest values."""
    return f"latest/{zone}.json"


def brief(zone: str) -> str:
    """Return the name of the published brief of a zone."""
    return f"brief/{zone}.json"


def health(source: str) -> str:
    """Return the name of the published health of a source."""
    return f"health/{source}.json"


def geo(layer: str, format_: str, detail: str = "") -> str:
    """Return the name of a published geo layer: `geo/zones.low.geojson`, `geo/plants.csv`."""
    return f"geo/{layer}{f'.{detail}' if detail else ''}.{format_}"


def geo_hashes(name: str) -> str:
    """Return the name of the SHA-256 hashes of a geo layer, by its name or a document's: `geo/zones.low.csv`."""
    return f"geo/{name.removeprefix('geo/').partition('.')[0]}.sha256.json"


LIVE = geo("live", "geojson")
"""The name of the zones with their newest values, rounded."""
FLOWS = geo("flows", "geojson")
"""The name of the interconnector lines with their newest flow, rounded."""
PICTURE = "geo/live.png"
"""The name of the image of the map at the last publication."""
LIVE_HOURS = "geo/live/hours.json"
"""The name of the rounded hours of every zone."""


def live_history(zone: str) -> str:
    """Return the name of a zone's rounded recent history."""
    return f"geo/live/{zone}.json"
