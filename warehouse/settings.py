"""Every setting that emds reads from the environment: name, default, meaning, and whether it is a secret.

The only list of them. `emds doctor` prints it, docs/operating.md holds it as a table (by test), and both readers
(`orchestration.work.settings`, `api.settings`) take their defaults from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Setting:
    """One environment variable."""

    name: str
    default: str
    """The text that an unset or empty variable stands for; empty where it stands for nothing."""
    meaning: str
    secret: bool = False
    """Never printed: `emds doctor` only says that it is set."""
    default_in_words: str = ""
    """Where the default is not one text."""


MODES = ("simulated", "live", "recorded")
"""What a warehouse's rows are: it keeps one mode (`warehouse.store.modes`)."""
SETTINGS: tuple[Setting, ...] = (
    Setting(
        "EMDS_HOME",
        "",
        "the warehouse: a folder, or a bucket: `s3://BUCKET/PREFIX?endpoint=https://HOST`, `gs://`, `az://`",
        default_in_words="`data/<mode>`: `data/simulated`, or what `EMDS_FEEDS` says",
    ),
    Setting(
        "EMDS_LOCAL",
        "",
        "beside a bucket: this machine's folder for Dagster, logs, and SQLite where it is named",
        default_in_words="`./local`; of a warehouse in a folder the folder itself",
    ),
    Setting("EMDS_BUCKET_FRESH_SECONDS", "2", "seconds for which an object of a bucket counts as unchanged"),
    Setting(
        "EMDS_FEEDS",
        "",
        "`simulated` or `live`",
        default_in_words="the warehouse's own mode; `simulated` for an empty one",
    ),
    Setting(
        "EMDS_NOW", "", "a fixed instant for windows, documents and states; never for keys, quota, payments or locks"
    ),
    Setting(
        "EMDS_SINCE",
        "",
        "the first market day (`2026-01-01`): of the first fill, and of Dagster's partitions",
        default_in_words="35 days before the first fill",
    ),
    Setting("EMDS_BASE_URL", "", "the public address, in links and offers", default_in_words="this machine's own"),
    Setting(
        "EMDS_DATABASE_URL",
        "",
        "keys, usage and payments; `postgresql+psycopg://...`",
        secret=True,
        default_in_words="SQLite in `EMDS_HOME`, beside a bucket in `EMDS_LOCAL` where that is set",
    ),
    Setting(
        "EMDS_DAGSTER_POSTGRES_URL",
        "",
        "Dagster's own storage, `postgresql://user:password@host/database`",
        secret=True,
        default_in_words="SQLite in `EMDS_HOME/dagster`, beside a bucket in `EMDS_LOCAL/dagster`",
    ),
    Setting(
        "EMDS_RUN_IMAGE",
        "",
        "each of Dagster's runs in a container of this image, by its Docker launcher "
        "(`orchestration/deploy/run_containers.yaml`)",
        default_in_words="processes of the code server",
    ),
    Setting("EMDS_RIGHTS", "", "sources that the owner may pass on: `pjm,miso,spp`"),
    Setting("EMDS_PAY_TO", "", "x402: the address that payments go to; nothing is sold without it"),
    Setting("EMDS_FACILITATOR_URLS", "", "x402: facilitators in order of preference, comma-separated"),
    Setting(
        "EMDS_FACILITATOR_AUTH", "", "x402: per facilitator `none`, `bearer:TOKEN` or `cdp:KEY_ID:SECRET`", secret=True
    ),
    Setting(
        "EMDS_RPC_URL", "", "x402: a Base node that decides unknown outcomes; required for real money", secret=True
    ),
    Setting("EMDS_FREE_CALLS_PER_MINUTE", "120", "free and sample calls for one client address; 0 = unlimited"),
    Setting("EMDS_SAMPLE_CALLS_PER_DAY", "500", "sample calls for one client address; 0 = unlimited"),
    Setting("EMDS_SIGNUPS_PER_HOUR", "5", "new keys for one client address; 0 = unlimited"),
    Setting("EMDS_KEY_CALLS_PER_SECOND", "20", "calls with one key; 0 = unlimited"),
    Setting("EMDS_WEBHOOK_PRIVATE", "0", "1: webhooks may be http and lead to private addresses; for tests"),
    Setting(
        "EMDS_MAIL",
        "",
        "confirms new keys by mail: `smtp://user:password@host:587?from=keys@example.org`, or `smtps://`",
        secret=True,
    ),
    Setting(
        "EMDS_PUBLISH_TO",
        "",
        "where `emds publish` and the pipeline put the free documents as files: a folder, or `s3://bucket/prefix?endpoint=...`",
    ),
    Setting(
        "EMDS_PUBLIC_URL",
        "",
        "the public address of that folder or bucket: with it month files are put there too, free to all, and "
        "`/v1/bulk` names them there",
    ),
    Setting("EMDS_TRUSTED_PROXIES", "", "networks whose `X-Forwarded-For` counts: `10.0.0.0/8`"),
    Setting("EMDS_ALLOWED_ORIGINS", "", "Origins that may call `/mcp` besides the service's own and loopback"),
    Setting("EMDS_CONTACT", "", "an address for the User-Agent towards publishers and for security.txt"),
    Setting(
        "EMDS_METRICS_TOKEN",
        "",
        "opens `/metrics`, as a bearer token: counts of answers, `emds_build_info`, and by feed and zone"
        " `emds_feed_newest_row_end_timestamp_seconds`, `..._expected_by_...`, `..._last_success_...`",
        secret=True,
    ),
    Setting("EMDS_ALERT_WEBHOOK", "", "gets a JSON message when an outage begins and when it ends", secret=True),
    Setting(
        "EMDS_FAULTS",
        "",
        "faults of simulated feeds: `eia:503, aemo.dispatch:late=120@2026-11-21T10:00Z/2026-11-21T12:00Z`",
    ),
    Setting("ENTSOE_ENDPOINT", "https://web-api.tp.entsoe.eu/api", "the address of ENTSO-E's Web API"),
    Setting("EMDS_RAW_DAYS", "7", "days of which every kept answer stays; of older ones the last of each market day"),
)

BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS}


def home_text(environ: Mapping[str, str]) -> str:
    """EMDS_HOME; where it is not set, a folder for each mode, so that a live warehouse never meets simulated rows."""
    mode = text(environ, "EMDS_FEEDS")
    return text(environ, "EMDS_HOME") or f"data/{mode if mode in MODES else 'simulated'}"


def text(environ: Mapping[str, str], name: str) -> str:
    """A setting's value without spaces around it, or its default. Raises KeyError for a name that is not listed."""
    return environ.get(name, "").strip() or BY_NAME[name].default


def words(environ: Mapping[str, str], name: str) -> list[str]:
    """The parts of a comma-separated setting; none where it is unset."""
    return [word.strip() for word in text(environ, name).split(",") if word.strip()]
