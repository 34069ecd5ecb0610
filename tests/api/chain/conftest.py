"""A chain that answers as Base, the official facilitator twice, a payee, and a shop under gunicorn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from eth_account import Account

from tests.api.chain.payments import Serve, Shop
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


@contextmanager
def two(chain: Chain) -> Iterator[list[Facilitator]]:
    """Two facilitators, as a shop asks them in turn."""
    running = [Facilitator(Official(chain.url, key)) for key in KEYS[:2]]
    try:
        yield running
    finally:
        for each in running:
            each.close()


@pytest.fixture
def facilitators(chain: Chain) -> Iterator[list[Facilitator]]:
    """Two of one test, which may make them fail."""
    with two(chain) as running:
        yield running


def settings(folder: Path, facilitators: list[Facilitator], payee: str) -> dict[str, str]:
    """Those that production has."""
    return {
        "EMDS_DATABASE_URL": f"sqlite:///{folder / 'accounts.sqlite'}",
        "EMDS_PAY_TO": payee,
        "EMDS_FACILITATOR_URLS": ",".join(each.url for each in facilitators),
        "EMDS_FREE_CALLS_PER_MINUTE": "0",
    }


@pytest.fixture(scope="module")
def open_shop(chain: Chain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[bool], Shop]]:
    """`open_shop(with_node)`: a shop whose facilitators do not fail, with or without a node; one of each a file."""
    shops: dict[bool, Shop] = {}
    with two(chain) as facilitators:

        def find(with_node: bool) -> Shop:
            if with_node not in shops:
                payee = str(Account.create().address)
                environ = settings(tmp_path_factory.mktemp("shop"), facilitators, payee)
                served = Served(environ | ({"EMDS_RPC_URL": chain.url} if with_node else {}), workers=2)
                shops[with_node] = Shop(served, payee, chain)
            return shops[with_node]

        yield find
        for each in shops.values():
            each.served.stop()


@pytest.fixture
def payee() -> str:
    """An address that has received no payment."""
    return str(Account.create().address)


@pytest.fixture
def serve(tmp_path: Path, facilitators: list[Facilitator], payee: str) -> Iterator[Serve]:
    """Starts the shop with the settings that production has."""
    running: list[Served] = []

    def start(**environ: str) -> Served:
        running.append(Served(settings(tmp_path, facilitators, payee) | environ, workers=2))
        return running[-1]

    yield start
    for each in running:
        each.stop()
