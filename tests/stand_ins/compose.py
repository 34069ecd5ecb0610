"""Read compose.yaml as `docker compose` does, with merges resolved and variables filled in from an environment.

FLEET is the environment of fleet.env.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "compose.yaml"
DEPLOY = ROOT / "orchestration" / "deploy"
FLEET = dict(line.split("=", 1) for line in (DEPLOY / "fleet.env").read_text().splitlines() if line and line[0] != "#")
_VARIABLE = re.compile(r"\$\{([A-Z0-9_]+)(?::-([^}]*))?\}")


def model(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the complete file, filled in from `environ`."""
    filled: dict[str, Any] = _filled(yaml.safe_load(FILE.read_text()), environ)
    return filled


def variables() -> set[str]:
    """Return the names of all variables in the file."""
    return {name for name, _ in _VARIABLE.findall(FILE.read_text())}


def started(environ: Mapping[str, str], *profiles: str) -> dict[str, dict[str, Any]]:
    """Return the services, by name, for which `docker compose up` starts a container under these profiles."""
    found: dict[str, dict[str, Any]] = {}
    for name, service in model(environ)["services"].items():
        asked = service.get("profiles", ())
        if (not asked or set(asked) & set(profiles)) and int(service.get("deploy", {}).get("replicas", 1)):
            found[name] = service
    return found


def _filled(part: Any, environ: Mapping[str, str]) -> Any:
    if isinstance(part, dict):
        return {name: _filled(value, environ) for name, value in part.items()}
    if isinstance(part, list):
        return [_filled(value, environ) for value in part]
    if isinstance(part, str):
        return _VARIABLE.sub(lambda found: environ.get(found[1]) or found[2] or "", part)
    return part
