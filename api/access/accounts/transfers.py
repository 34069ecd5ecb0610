"""Transfers to the owner that bought no answer, and how far the chain was read."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import delete, func, insert, select

from api.access.accounts.database import Database
from api.access.accounts.tables import CREDITS, PAYMENTS, SCANNED


@dataclass(frozen=True, slots=True)
class Transfer:
    """USDC that came to the owner: log `log_index` of `tx`; `amount` in smallest units."""

    tx: str
    log_index: int
    payer: str
    amount: int
    block: int


class TransferBook:
    """Credits and the scan's position. Raises AccountsUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def scanned(self, network: str, pay_to: str) -> int | None:
        """Return the last block that was compared with the ledger; None before the first time."""
        mine = (SCANNED.c.network == network, SCANNED.c.pay_to == pay_to)
        with self._database.connect() as connection:
            block: int | None = connection.execute(select(SCANNED.c.block).where(*mine)).scalar()
        return block

    def mark_scanned(self, network: str, pay_to: str, block: int) -> None:
        """Record that everything up to a block was compared."""
        mine = (SCANNED.c.network == network, SCANNED.c.pay_to == pay_to)
        with self._database.begin() as connection:
            connection.execute(delete(SCANNED).where(*mine))
            connection.execute(insert(SCANNED).values(network=network, pay_to=pay_to, block=block))

    def record_credit(self, network: str, transfer: Transfer, now: int) -> None:
        """Record that a transfer bought no answer, once."""
        values = {name: getattr(transfer, name) for name in Transfer.__slots__}
        mine = (CREDITS.c.network == network, CREDITS.c.tx == transfer.tx, CREDITS.c.log_index == transfer.log_index)
        with self._database.begin() as connection:
            connection.execute(delete(CREDITS).where(*mine))
            connection.execute(insert(CREDITS).values(values | {"network": network, "noted": now}))

    def drop_credit(self, network: str, tx: str, log_index: int) -> None:
        """Remove a credit whose transfer turned out to pay for an answer."""
        mine = (CREDITS.c.network == network, CREDITS.c.tx == tx, CREDITS.c.log_index == log_index)
        with self._database.begin() as connection:
            connection.execute(delete(CREDITS).where(*mine))

    def credits(self) -> tuple[int, int]:
        """Return how many transfers bought no answer, and their sum in smallest units."""
        with self._database.connect() as connection:
            count, units = connection.execute(select(func.count(), func.sum(CREDITS.c.amount))).one()
        return count, units or 0

    def oldest_payment(self) -> int | None:
        """Return when the first payment in the ledger came; None for an empty ledger."""
        with self._database.connect() as connection:
            created: int | None = connection.execute(select(func.min(PAYMENTS.c.created))).scalar()
        return created

    def counts(self) -> dict[str, int]:
        """Return how many payments are in each state."""
        query = select(PAYMENTS.c.state, func.count()).group_by(PAYMENTS.c.state)
        with self._database.connect() as connection:
            return dict(connection.execute(query).tuples().all())
