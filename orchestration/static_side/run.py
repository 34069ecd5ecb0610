"""One publication to a target, by this process's environment: what the command line and the Dagster asset call."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict

from api.settings import Settings
from orchestration.resources import opened
from orchestration.static_side.publish import Put, publish_to
from orchestration.static_side.targets import open_target
from warehouse import settings


def publish_now(address: str) -> Put:
    """Publishes to an address. Raises StorageError and SettingsError."""
    storage = opened(os.environ)
    given = Settings.from_environ({**os.environ, "EMDS_HOME": str(storage)})
    return publish_to(open_target(address), storage, given)


def counts() -> Mapping[str, int] | None:
    """What a publication to EMDS_PUBLISH_TO did, by name; None where no target is set."""
    address = settings.text(os.environ, "EMDS_PUBLISH_TO")
    return {name: int(value) for name, value in asdict(publish_now(address)).items()} if address else None
