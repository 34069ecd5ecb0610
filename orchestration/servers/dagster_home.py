"""Prepare a warehouse's DAGSTER_HOME, EMDS_HOME/dagster with a dagster.yaml, without importing Dagster."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from orchestration.work.environment import PipelineSettings
from warehouse.errors import StorageError

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "orchestration" / "deploy"
WEBSERVER = "orchestration.servers.dagster_ui"
"""The module that runs instead of `dagster-webserver`."""
POSTGRES = "EMDS_DAGSTER_POSTGRES_URL"
_MARK = "# Written by emds, which replaces it while it stays as it is: "


def dagster_home(home: Path) -> Path:
    """Return EMDS_HOME/dagster with a dagster.yaml: this release's, or the operator's own, which is not changed.

    Also set it as DAGSTER_HOME for this process and its children. Raises StorageError if EMDS_DAGSTER_POSTGRES_URL is
    set but the operator's dagster.yaml does not read it, or if EMDS_RUN_IMAGE is set without it.
    """
    folder = home / "dagster"
    folder.mkdir(parents=True, exist_ok=True)
    settings = PipelineSettings.from_environ(os.environ)
    address = settings.dagster_postgres_url
    if settings.run_image and not address:
        raise StorageError(f"EMDS_RUN_IMAGE requires {POSTGRES}, because containers cannot share an SQLite file")
    wanted, file = _configuration(bool(address), bool(settings.run_image)), folder / "dagster.yaml"
    present = file.read_text() if file.exists() else ""
    if not present or _is_ours(present):
        if present != wanted:
            scratch = folder / f"dagster.yaml.{os.getpid()}"
            scratch.write_text(wanted)
            scratch.replace(file)
    elif address and POSTGRES not in present:
        raise StorageError(f"{POSTGRES} is set, but your own {file} does not use it; see docs/fleet.md")
    if address:
        os.environ[POSTGRES] = address
    os.environ["DAGSTER_HOME"] = str(folder)
    os.environ["DAGSTER_DISABLE_TELEMETRY"] = "1"
    return folder


def require_dagster_home(home: Path) -> Path:
    """Return the result of `dagster_home`. Raises StorageError also if this user may not write there."""
    folder = home / "dagster"
    try:
        if not folder.exists() or os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            return dagster_home(home)
    except PermissionError:
        pass
    raise StorageError(
        f"the current user cannot write to {folder}; change its owner, or run emds as the user that owns it"
    )


def _configuration(postgres: bool, containers: bool) -> str:
    """Return the project's dagster.yaml under a mark; only storage and launcher depend on the environment.

    The PostgreSQL URL, and the image of runs in `containers`, stay in the environment.
    """
    body = (DEPLOY / "dagster.yaml").read_text()
    if postgres:
        body += _STORAGE
    if containers:
        body += (DEPLOY / "run_containers.yaml").read_text()
    return f"{_MARK}{_digest(body)}\n{body}"


_STORAGE = f"storage:\n  postgres:\n    postgres_url: {{env: {POSTGRES}}}\n"


def _is_ours(text: str) -> bool:
    """Return whether a release wrote a file that has not changed since."""
    mark, _, body = text.partition("\n")
    return mark == _MARK + _digest(body)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
