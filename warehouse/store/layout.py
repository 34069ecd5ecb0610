"""Where each thing lies below EMDS_HOME: the only file that builds a key or spells the name of a published document."""

from __future__ import annotations

import re

CATALOGUE = "catalogue.json"
MANIFEST = "manifest.json"
"""Names of published documents: what is held, and which month files hold it (`manifest` names their parts)."""
PUBLISHERS = "publishers.json"
"""Name of the document of measured publishers: lateness, revisions and holes of each feed, month by month."""
PUBLIC_MONTHS = "public_months.json"
"""Name of the document that says which month files lie at the public address, by SHA-256."""
FAILED_RUNS = "failed_runs.json"
"""Name of the document of failed runs by job."""
SNAPSHOT = "snapshot.json"
"""Name of the published document of all zones' latest values."""
PRUNED = "pruned"
"""Key of the instant (Unix seconds) up to which old answers have been pruned."""
MODE = "mode"
"""Key of the warehouse's mode: simulated, live or recorded."""
ZONES = "zones"
"""Key of the ids of the zones that the warehouse covers, one on each line."""
FIRST_DAYS = "first_days.json"
"""Key of the oldest market day that each feed was ever asked for."""
RAW = "raw/"
QUARANTINE = "quarantine/"
DAMAGED = "damaged/"
WAITING = "damaged/waiting/"
CHANGES = "changes/"
"""Prefixes: publishers' bytes, rows not believed, files set aside,
marks of months to make again, and changes to what is served.
"""
CHANGE_LOG = "changes/log.json"
"""Key of what the log of changes says of itself: its name, its first entry, its newest segment."""
CHANGE_SEGMENTS = "changes/log/"
"""Prefix of the segments of that log."""
ACCOUNTS = "accounts.sqlite"
"""Key of the SQLite database of keys, usage and payments, unless EMDS_DATABASE_URL names another."""
RATE_LIMITS = "rate_limits"
"""Name of the folder, in the local folder, of the turns that this machine's processes take at publishers."""
UP_LOCK = "up.lock"
"""Name of the file, in the local folder, that a running `emds up` holds locked."""
RECORDS = "marts/records.parquet"
"""Key of the highest and lowest values and the longest runs of negative prices of every series."""
MARTS = "marts/"
"""Prefix of the marts."""
MARTS_CHECKED = "marts/checked.json"
"""Key of the marts that were found up to date: of each, a hash of the stamps of its file and of its month files."""
ATTEMPTS = "attempts/"
"""Prefix: how the sources were asked."""
_SERIES, _HISTORY, _PUBLISHED = "series/", "history/", "published/"
KEPT = (RAW, _HISTORY, _SERIES, QUARANTINE, ATTEMPTS, DAMAGED, CHANGES, _PUBLISHED)
"""Prefixes of everything that is a warehouse's own but for its few single files."""


def series(metric: str, zone: str, month: str) -> str:
    """The rows of one UTC month (`2026-11`) that are served."""
    return f"{series_prefix(metric, zone)}{month}.parquet"


def history(metric: str, zone: str, month: str, sha8: str) -> str:
    """The rows of lower rank and the superseded values of one UTC month; `sha8` begins the SHA-256 of its bytes."""
    return f"{history_prefix(metric, zone)}{month}-{sha8}.parquet"


def series_prefix(metric: str = "", zone: str = "") -> str:
    """Prefix of the served months of a zone's metric, of all zones of a metric, or of everything: Hive partitions."""
    return _SERIES + _partitions(metric, zone)


def history_prefix(metric: str = "", zone: str = "") -> str:
    """The same of the months' histories."""
    return _HISTORY + _partitions(metric, zone)


def _partitions(metric: str, zone: str) -> str:
    return (f"metric={metric}/" if metric else "") + (f"zone={zone}/" if zone else "")


def mart(name: str, metric: str, zone: str) -> str:
    """A mart's rows of a zone's metric, all months: `marts/daily/price/FR.parquet`."""
    return f"marts/{name}/{metric}/{zone}.parquet"


_MONTH_FILE = re.compile(r"(?:series|(history))/metric=([^/]+)/zone=([^/]+)/(\d{4}-\d\d)(?(1)-[0-9a-f]{8})\.parquet")


def of_series(key: str) -> tuple[str, str, str, bool]:
    """Metric, zone, month, and whether it is history, of a month file's key. Raises ValueError for another key."""
    match = _MONTH_FILE.fullmatch(key)
    if match is None:
        raise ValueError(f"{key} is no month file")
    return match[2], match[3], match[4], match[1] is not None


def is_month_file(key: str) -> bool:
    """Whether a key is that of a month file, served or history."""
    return _MONTH_FILE.fullmatch(key) is not None


def raw_prefix(feed: str, day: str = "") -> str:
    """Prefix of the kept bodies of a feed, or of one of its market days."""
    source, product = feed.split(".", 1)
    return f"{RAW}{source}/{product}/" + (f"{day}/" if day else "")


def raw(feed: str, day: str, order: int, fetched_at: int, digest: str, ext: str) -> str:
    """One kept body; `order`: its place among the feed's, `digest`: `series.raw.digest` of question and answer."""
    return f"{raw_prefix(feed, day)}{order}-{fetched_at}-{digest}.{ext}.zst"


def quarantine_prefix(feed: str) -> str:
    """Below this the rows of a feed lie that were set aside."""
    source, product = feed.split(".", 1)
    return f"{QUARANTINE}{source}/{product}/"


def quarantine(feed: str, day: str, sha8: str) -> str:
    """Rows set aside by `warehouse.judge.quality`, as JSON, under the first market day asked for."""
    return f"{quarantine_prefix(feed)}{day}-{sha8}.json"


def attempts(source: str, month: str) -> str:
    """How a source's feeds were asked in a UTC month."""
    return f"{ATTEMPTS}{source}/{month}.json"


def change_segment(number: int) -> str:
    """One segment of the log of changes to what is served."""
    return f"{CHANGE_SEGMENTS}{number:08d}.json"


def damaged(name: str, key: str) -> str:
    """A damaged file after it was set aside under a name."""
    return f"{DAMAGED}{name}/{key}"


def waiting(key: str) -> str:
    """The mark of a damaged month file whose month has to be made again; it holds the reason."""
    return f"{WAITING}{key}"


def published(name: str = "") -> str:
    """A precomputed document: `latest/GB.json`, `geo/zones.low.geojson`; without a name, the prefix of all."""
    return f"{_PUBLISHED}{name}"


def manifest(metric: str, zone: str) -> str:
    """Name of the published document of the month files of a metric and zone."""
    return f"manifest/{metric}/{zone}.json"


def latest(zone: str) -> str:
    """Name of the published document of a zone's latest values."""
    return f"latest/{zone}.json"


def brief(zone: str) -> str:
    """Name of the published brief of a zone."""
    return f"brief/{zone}.json"


def health(source: str) -> str:
    """Name of the published health of one source."""
    return f"health/{source}.json"


def geo(layer: str, format_: str, detail: str = "") -> str:
    """Name of a published geo layer: `geo/zones.low.geojson`, `geo/plants.csv`."""
    return f"geo/{layer}{f'.{detail}' if detail else ''}.{format_}"


def geo_hashes(name: str) -> str:
    """The name of the SHA-256 of each document of a geo layer, by the layer or one of them: `geo/zones.low.csv`."""
    return f"geo/{name.removeprefix('geo/').partition('.')[0]}.sha256.json"


LIVE = geo("live", "geojson")
"""The name of the zones with their newest, rounded figures."""
FLOWS = geo("flows", "geojson")
"""The name of the interconnector lines with their newest, rounded flow."""
PICTURE = "geo/live.png"
"""The name of the map of the last publication as a picture."""
LIVE_HOURS = "geo/live/hours.json"
"""The name of the rounded hours of every zone."""


def live_history(zone: str) -> str:
    """The name of a zone's rounded recent history."""
    return f"geo/live/{zone}.json"
