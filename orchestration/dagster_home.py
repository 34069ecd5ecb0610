"""DAGSTER_HOME of a warehouse: EMDS_HOME/dagster, with a dagster.yaml in it. Does not import Dagster."""

from __future__ import annotations

import os
from pathlib import Path

from orchestration.settings import PipelineSettings
from warehouse.errors import StorageError

ROOT = Path(__file__).resolve().parent.parent
POSTGRES = "EMDS_DAGSTER_POSTGRES_URL"


def dagster_home(home: Path) -> Path:
    """EMDS_HOME/dagster with a dagster.yaml in it: the project's, or the owner's own, which is left alone.

    Also set as DAGSTER_HOME for this process and its children. Raises StorageError where EMDS_DAGSTER_POSTGRES_URL is
    set and the owner's own dagster.yaml does not read it.
    """
    folder = home / "dagster"
    folder.mkdir(parents=True, exist_ok=True)
    address = PipelineSettings.from_environ(os.environ).dagster_postgres_url
    wanted, file = _configuration(bool(address)), folder / "dagster.yaml"
    kept = file.read_text() if file.exists() else None
    if kept in (None, _configuration(not address)):
        file.write_text(wanted)
    elif address and POSTGRES not in kept:
        raise StorageError(f"{POSTGRES} is set, but {file} is your own and does not read it (docs/operating.md)")
    if address:
        os.environ[POSTGRES] = address
    os.environ["DAGSTER_HOME"] = str(folder)
    os.environ["DAGSTER_DISABLE_TELEMETRY"] = "1"
    return folder


def _configuration(postgres: bool) -> str:
    """The project's dagster.yaml; with storage on PostgreSQL, whose address stays in the environment."""
    base = (ROOT / "dagster.yaml").read_text()
    return f"{base}storage:\n  postgres:\n    postgres_url: {{env: {POSTGRES}}}\n" if postgres else base
