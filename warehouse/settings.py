"""List every setting that emds reads from the environment: name, default, and whether it is a secret.

This is the only list. docs/operating.md explains each setting, which a test checks. Both readers
(`orchestration.work.environment`, `api.settings`) take their defaults from here.
"""

from __future__ import annotations

from collections.abc import Mapping

MODES = ("simulated", "live", "recorded")
"""The possible modes of a warehouse's rows. A warehouse has a single mode (`warehouse.store.modes`)."""
DEFAULTS: Mapping[str, str] = {
    "EMDS_HOME": "",
    "EMDS_LOCAL_DIR": "",
    "EMDS_BUCKET_CACHE_SECONDS": "2",
    "EMDS_FEEDS": "",
    "EMDS_NOW": "",
    "EMDS_START_DATE": "",
    "EMDS_ZONES": "spec",
    "EMDS_BASE_URL": "",
    "EMDS_DATABASE_URL": "",
    "EMDS_DAGSTER_POSTGRES_URL": "",
    "EMDS_RUN_IMAGE": "",
    "EMDS_REDISTRIBUTABLE_SOURCES": "",
    "EMDS_PAY_TO": "",
    "EMDS_FACILITATOR_URLS": "",
    "EMDS_FACILITATOR_AUTH": "",
    "EMDS_RPC_URL": "",
    "EMDS_FREE_CALLS_PER_MINUTE": "120",
    "EMDS_SAMPLE_CALLS_PER_DAY": "500",
    "EMDS_SIGNUPS_PER_HOUR": "5",
    "EMDS_KEY_CALLS_PER_SECOND": "20",
    "EMDS_ALLOW_PRIVATE_WEBHOOKS": "0",
    "EMDS_SMTP_URL": "",
    "EMDS_PUBLISH_TO": "",
    "EMDS_PUBLIC_URL": "",
    "EMDS_TRUSTED_PROXIES": "",
    "EMDS_ALLOWED_ORIGINS": "",
    "EMDS_CONTACT": "",
    "EMDS_METRICS_TOKEN": "",
    "EMDS_ALERT_WEBHOOK": "",
    "EMDS_SIMULATED_FAULTS": "",
    "ENTSOE_ENDPOINT": "https://web-api.tp.entsoe.eu/api",
    "EMDS_RAW_RETENTION_DAYS": "7",
}
"""The value of an unset or empty variable. Empty if the default is nothing or not a fixed text."""
RENAMED: Mapping[str, str] = {
    "EMDS_RIGHTS": "EMDS_REDISTRIBUTABLE_SOURCES",
    "EMDS_SINCE": "EMDS_START_DATE",
    "EMDS_MAIL": "EMDS_SMTP_URL",
    "EMDS_LOCAL": "EMDS_LOCAL_DIR",
    "EMDS_RAW_DAYS": "EMDS_RAW_RETENTION_DAYS",
    "EMDS_BUCKET_FRESH_SECONDS": "EMDS_BUCKET_CACHE_SECONDS",
    "EMDS_WEBHOOK_PRIVATE": "EMDS_ALLOW_PRIVATE_WEBHOOKS",
    "EMDS_FAULTS": "EMDS_SIMULATED_FAULTS",
}
"""The names in 1.0.0 and their new names. A process does not start if an old name is set."""
SECRETS = frozenset(
    {
        "EMDS_DATABASE_URL",
        "EMDS_DAGSTER_POSTGRES_URL",
        "EMDS_FACILITATOR_AUTH",
        "EMDS_RPC_URL",
        "EMDS_SMTP_URL",
        "EMDS_METRICS_TOKEN",
        "EMDS_ALERT_WEBHOOK",
    }
)
"""These are never printed: `emds doctor` only reports whether they are set."""


def renamed_faults(environ: Mapping[str, str]) -> list[str]:
    """Return a sentence for each variable that is set under its old name."""
    return [f"{old} is now called {new}: rename the variable" for old, new in RENAMED.items() if environ.get(old)]


def home_text(environ: Mapping[str, str]) -> str:
    """Return EMDS_HOME, by default a folder per mode, so that a live warehouse never contains simulated rows."""
    mode = text(environ, "EMDS_FEEDS")
    return text(environ, "EMDS_HOME") or f"data/{mode if mode in MODES else 'simulated'}"


def text(environ: Mapping[str, str], name: str) -> str:
    """Return a setting's value without surrounding spaces, or its default. Raises KeyError for an unlisted name."""
    return environ.get(name, "").strip() or DEFAULTS[name]


def words(environ: Mapping[str, str], name: str) -> list[str]:
    """Return the parts of a comma-separated setting, empty if it is unset."""
    return [word.strip() for word in text(environ, name).split(",") if word.strip()]
