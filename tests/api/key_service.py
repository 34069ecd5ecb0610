"""A gate over keys with a clock that a test moves, behind the stand-in shop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api.access.gate import Gate
from api.settings import Settings
from tests.stand_ins.shop import shop
from warehouse.market.clock import DAY

NOON = 20_000 * DAY + DAY // 2
PATH = "/v1/latest/GB"


@dataclass
class Service:
    """A gate with a clock that the test moves, and a client."""

    gate: Gate
    http: FlaskClient
    now: list[float]

    def sign_up(self, email: str = "a@example.org", client: str = "127.0.0.1", **headers: str) -> TestResponse:
        return self.http.post(
            "/v1/keys/signup", json={"email": email}, headers=headers, environ_base={"REMOTE_ADDR": client}
        )

    def get(self, **headers: str) -> TestResponse:
        return self.http.get(PATH, headers={name.replace("_", "-"): value for name, value in headers.items()})


def opened(folder: Path, **changes: Any) -> Service:
    settings = Settings(database_url=f"sqlite:///{folder / 'accounts.sqlite'}", base_url="https://emds.example")
    now = [float(NOON)]
    gate = Gate.open(replace(settings, signups_per_hour=0, **changes), "live", lambda: now[0])
    return Service(gate, shop(gate).test_client(), now)
