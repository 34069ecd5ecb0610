"""Build a gate over keys in front of the stand-in shop, with a clock that the test moves."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api.access import sign_up as sign_ups
from api.access.gate import Gate
from api.access.key_spelling import digest_of
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

    def key(self) -> str:
        """Return a key for a new e-mail address."""
        return sign_ups.sign_up(self.gate.database, f"{secrets.token_hex(4)}@example.org", "x", self.gate.now)[0]

    def get(self, path: str = PATH, **headers: str) -> TestResponse:
        return self.http.get(path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def used(self, key: str) -> int:
        """Return the number of calls of a key on the current day."""
        usage = self.gate.keys.usage(digest_of(key), self.gate.now)
        assert usage
        return usage.used

    def spend(self, key: str, calls: int) -> None:
        for _ in range(calls):
            self.gate.keys.reserve(digest_of(key), self.gate.now)


def opened(folder: Path, **changes: Any) -> Service:
    settings = Settings(database_url=f"sqlite:///{folder / 'accounts.sqlite'}", base_url="https://emds.example")
    now = [float(NOON)]
    gate = Gate(replace(settings, **{"signups_per_hour": 0, **changes}), "live", lambda: now[0])
    return Service(gate, shop(gate).test_client(), now)


def problem_of(answer: TestResponse) -> tuple[int, str]:
    """Return the status and error type of a refusal."""
    assert answer.content_type == "application/problem+json"
    return answer.status_code, str(answer.json["type"].rpartition("/")[2])
