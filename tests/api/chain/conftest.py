"""A chain that answers as Base, the official facilitator twice, a payee, and a shop under gunicorn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from eth_account import Account

from tests.api.chain.payments import Serve
from tests.stand_ins.chain import BUYER, KEYS, Chain
from tests.stand_ins.facilitator import Facilitator
from tests.stand_ins.official import Official
from tests.stand_ins.served import Served


@pytest.fixture(scope="module")
def chain() -> Iterator[Chain]:
    """One a file, where the buyer has ten dollars."""
    running = Chain()
    running.mint(BUYER, 10_000_000)
    yield running
    running.close()


@pytest.fixture
def facilitators(chain: Chain) -> Iterator[list[Facilitator]]:
    """Two, as the shop asks them in turn."""
    running = [Facilitator(Official(chain.url, key)) for key in KEYS[:2]]
    yield running
    for each in running:
        each.close()


@pytest.fixture
def payee() -> str:
    """An address that has received no payment."""
    return str(Account.create().address)


@pytest.fixture
def serve(tmp_path: Path, facilitators: list[Facilitator], payee: str) -> Iterator[Serve]:
    """Starts the shop with the settings that production has."""
    running: list[Served] = []

    def start(**environ: str) -> Served:
        settings = {
            "EMDS_DATABASE_URL": f"sqlite:///{tmp_path / 'accounts.sqlite'}",
            "EMDS_PAY_TO": payee,
            "EMDS_FACILITATOR_URLS": ",".join(each.url for each in facilitators),
            "EMDS_FREE_CALLS_PER_MINUTE": "0",
        }
        running.append(Served(settings | environ, workers=2))
        return running[-1]

    yield start
    for each in running:
        each.stop()
