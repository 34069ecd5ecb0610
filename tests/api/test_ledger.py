"""The payments ledger on both databases: who may claim, what is stored, in which order doubts are looked at."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from api.access.database import Database
from api.access.usage import UsageCounter
from api.access.values import Answer
from api.access.x402.ledger import OWED_S, REFUSED_S, UNKNOWN_ANSWERS, Ledger, LedgerEntry, PaymentTerms

NOW, LEASE = 1_800_000_000, 90
TERMS = PaymentTerms("eip155:8453", "0xaa", "0x1", 2, "0xcc", "0xbb", 1000, NOW + 120, "/v1/latest/GB", "f", "h")
ANSWER = Answer(200, 1, b"{}", (("Content-Type", "application/json"),))


@pytest.fixture
def ledger(accounts_url: str) -> Iterator[Ledger]:
    accounts = UsageCounter(Database.opened(accounts_url))
    yield Ledger(accounts.database)
    accounts.close()


def claimed(ledger: Ledger, nonce: str = "0x1", now: int = NOW) -> LedgerEntry:
    entry = ledger.claim(replace(TERMS, nonce=nonce), now, LEASE)
    assert entry
    return entry


def settling(ledger: Ledger, nonce: str = "0x1") -> LedgerEntry:
    entry = ledger.settling(claimed(ledger, nonce), NOW, "https://f.example", ANSWER)
    assert entry
    return entry


def test_a_payment_is_claimed_once_and_again_when_it_is_free(ledger: Ledger) -> None:
    first = claimed(ledger)
    assert (first.state, first.attempt, first.terms) == ("claimed", 1, TERMS)
    assert ledger.claim(TERMS, NOW + LEASE - 1, LEASE) is None, "under way"
    second = claimed(ledger, now=NOW + LEASE)
    assert (second.id, second.attempt, second.created) == (first.id, 2, NOW), "left by a dead worker"
    assert ledger.settling(first, NOW + LEASE, "", ANSWER) is None, "the dead worker's end no longer matches"
    assert ledger.released(second, NOW + LEASE)
    third = claimed(ledger, now=NOW + LEASE)
    assert third.attempt == 3
    taken = ledger.settling(third, NOW + LEASE, "", ANSWER)
    assert taken
    assert ledger.claim(TERMS, NOW + 9 * LEASE, LEASE) is None, "money may have moved"


def test_of_many_calls_at_once_one_claims(ledger: Ledger) -> None:
    entries: list[LedgerEntry | None] = []
    threads = [threading.Thread(target=lambda: entries.append(ledger.claim(TERMS, NOW, LEASE))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(entry is not None for entry in entries) == 1


def test_a_settled_answer_is_replayed_within_its_bounds(ledger: Ledger) -> None:
    settled = ledger.settled(settling(ledger), NOW, "0xt", 3, answered=True)
    assert settled
    assert [ledger.replay(settled, NOW + 1, 300, 2) for _ in range(3)] == [ANSWER, ANSWER, None]
    assert ledger.replay(settled, NOW + 301, 300, 9) is None


def test_a_refused_row_stores_nothing_and_is_looked_at_for_a_while(ledger: Ledger) -> None:
    entry = ledger.failed(settling(ledger), NOW, "kyt_risk_detected")
    assert entry
    assert [row.id for row in ledger.undecided(0, NOW + REFUSED_S - 1)] == [entry.id]
    assert ledger.undecided(0, NOW + REFUSED_S) == []
    assert entry.may_be_paid(NOW + REFUSED_S), "where its payer asks for it again"
    paid = ledger.settled(entry, NOW + 5, "0xt", 3, answered=False)
    assert paid
    assert (ledger.replay(paid, NOW + 6, 300, 3), paid.owed(NOW + 6)) == (None, True)


def test_a_payer_s_doubts_store_so_many_answers_for_a_day(ledger: Ledger) -> None:
    rows = [ledger.unknown(settling(ledger, f"0x{n}"), NOW) for n in range(UNKNOWN_ANSWERS + 2)]
    other = ledger.settling(claimed(ledger, "0xff"), NOW, "", ANSWER)
    assert other
    settled = [ledger.settled(row, NOW, f"0xt{n}", 1, answered=False) for n, row in enumerate(rows) if row]
    answers = [ledger.replay(row, NOW, 300, 3) for row in settled if row]
    assert answers == [ANSWER] * UNKNOWN_ANSWERS + [None] * 2
    doubt = ledger.unknown(other, NOW)
    assert doubt
    ledger.expire(NOW + OWED_S, LEASE, 300)
    late = ledger.settled(doubt, NOW + OWED_S, "0xtt", 1, answered=False)
    assert late
    assert ledger.replay(late, NOW + OWED_S, 300, 3) is None


def test_doubts_are_looked_at_round_by_round(ledger: Ledger) -> None:
    rows = [entry.id for n in range(5) if (entry := ledger.unknown(settling(ledger, f"0x{n}"), NOW))]
    assert [row.id for row in ledger.undecided(rows[2], NOW)] == [*rows[3:], *rows[:3]]
    assert [row.id for row in ledger.undecided(0, NOW, 2)] == rows[:2]
