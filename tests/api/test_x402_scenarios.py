"""Every scenario of paying and being attacked that the service was designed for, and the one test that plays it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

SCENARIOS: tuple[tuple[int, str, str, str], ...] = (
    (1, "sample beside a payment", "free", "a_key_goes_before_a_payment_and_a_sample_before_both[sample]"),
    (2, "key beside a payment", "free", "a_key_goes_before_a_payment_and_a_sample_before_both[key]"),
    (3, "sample, key and payment", "free", "a_key_goes_before_a_payment_and_a_sample_before_both[sample and key]"),
    (4, "a key that will not do, and a payment", "free", "a_payment_beside_a_key_that_will_not_do_is_used"),
    (5, "not base64", "payload", "what_is_no_payment_is_400[not base64]"),
    (6, "text", "payload", "what_is_no_payment_is_400[text]"),
    (7, "a list", "payload", "what_is_no_payment_is_400[a list]"),
    (8, "version 3", "payload", "what_is_no_payment_is_400[version 3]"),
    (9, "accepted is missing", "payload", "what_is_no_payment_is_400[no accepted]"),
    (10, "a header of 9 kB", "payload", "a_header_of_nine_kilobytes_is_read"),
    (11, "a header of 20 kB", "payload", "what_is_no_payment_is_400[20 kB]"),
    (12, "accepts less", "payload", "what_fits_no_offer_is_402_with_its_reason[accepts less]"),
    (13, "accepts more", "payload", "what_fits_no_offer_is_402_with_its_reason[accepts more]"),
    (14, "signed for less than accepted", "payload", "what_fits_no_offer_is_402_with_its_reason[pays too little]"),
    (15, "signed to another payee", "payload", "what_fits_no_offer_is_402_with_its_reason[pays another]"),
    (16, "another network", "payload", "what_fits_no_offer_is_402_with_its_reason[accepts another network]"),
    (
        17,
        "version 1 with a CAIP-2 network",
        "payload",
        "what_fits_no_offer_is_402_with_its_reason[v1 with v2's network]",
    ),
    (18, "signed on another chain", "payload", "what_fits_no_offer_is_402_with_its_reason[signed on another chain]"),
    (19, "signed for another token", "payload", "what_fits_no_offer_is_402_with_its_reason[signed for another token]"),
    (
        20,
        "signed for another token's name",
        "payload",
        "what_fits_no_offer_is_402_with_its_reason[signed for Sepolia's name]",
    ),
    (
        21,
        "another nonce than signed",
        "payload",
        "what_fits_no_offer_is_402_with_its_reason[another nonce than signed]",
    ),
    (22, "a signature of zeros", "payload", "what_fits_no_offer_is_402_with_its_reason[a forged signature]"),
    (23, "expired", "payload", "what_fits_no_offer_is_402_with_its_reason[expired]"),
    (24, "not yet valid", "payload", "what_fits_no_offer_is_402_with_its_reason[not yet valid]"),
    (25, "no money", "payload", "what_fits_no_offer_is_402_with_its_reason[no money]"),
    (26, "the same header again", "repeats", "a_lost_answer_is_given_again_three_times_within_five_minutes[2]"),
    (27, "the same header, another query", "repeats", "a_payment_buys_one_answer"),
    (
        28,
        "version 1's authorization as version 2",
        "repeats",
        "an_authorization_in_the_other_versions_clothes_is_the_same",
    ),
    (29, "2 copies at once", "repeats", "copies_at_once_are_charged_once_and_the_work_is_done_once[2]"),
    (30, "10 copies at once", "repeats", "copies_at_once_are_charged_once_and_the_work_is_done_once[10]"),
    (31, "12 payments at once", "repeats", "twelve_payments_at_once_are_twelve_charges"),
    (
        32,
        "the answer is a 422",
        "free",
        "an_error_or_an_empty_answer_costs_nothing_and_frees_the_payment[/v1/latest/GB?status=422]",
    ),
    (
        33,
        "the work fails",
        "free",
        "an_error_or_an_empty_answer_costs_nothing_and_frees_the_payment[/v1/latest/GB?raise=1]",
    ),
    (34, "verify answers 500", "facilitators", "a_verification_that_fails_goes_to_the_next[500]"),
    (35, "verify answers HTML", "facilitators", "a_verification_that_fails_goes_to_the_next[html]"),
    (36, "verify answers 429", "facilitators", "a_verification_that_fails_goes_to_the_next[429]"),
    (37, "verify hangs", "facilitators", "a_verification_that_fails_goes_to_the_next[hang]"),
    (38, "verify refuses with a 400", "facilitators", "a_refusal_in_due_form_counts_whatever_its_status"),
    (
        39,
        "settle answers 500",
        "facilitators",
        "a_settlement_that_fails_goes_to_the_next_and_the_first_is_left_alone[500]",
    ),
    (
        40,
        "settle answers HTML",
        "facilitators",
        "a_settlement_that_fails_goes_to_the_next_and_the_first_is_left_alone[html]",
    ),
    (
        41,
        "settle answers 400",
        "facilitators",
        "a_settlement_that_fails_goes_to_the_next_and_the_first_is_left_alone[400]",
    ),
    (
        42,
        "settle says transaction_failed",
        "facilitators",
        "a_settlement_that_fails_goes_to_the_next_and_the_first_is_left_alone[trouble]",
    ),
    (
        43,
        "settles, then hangs",
        "facilitators",
        "a_settlement_that_was_done_and_not_told_is_seen_on_the_chain[done-hang]",
    ),
    (
        44,
        "settles and hangs, the next one fails",
        "facilitators",
        "one_that_settled_and_hangs_and_one_that_fails_leave_a_doubt_until_the_chain_is_seen",
    ),
    (45, "both are down", "facilitators", "facilitators_that_are_both_down_are_503_and_cost_nothing"),
    (46, "workers killed while settling", "doubts", "workers_killed_while_settling_lose_and_double_nothing"),
    (47, "the official requests client", "chain", "official_clients_pay_to_the_unit[own-node-python-requests]"),
    (48, "the official httpx client", "chain", "official_clients_pay_to_the_unit[own-node-python-httpx]"),
    (49, "the official fetch client, version 2", "chain", "official_clients_pay_to_the_unit[own-node-x402-fetch-v2]"),
    (50, "the official fetch client, version 1", "chain", "official_clients_pay_to_the_unit[own-node-x402-fetch-v1]"),
    (51, "version 1 as Python's client writes it", "payload", "a_payment_as_pythons_first_client_writes_it_is_taken"),
    (52, "version 2 in version 1's header", "offer", "a_right_payment_is_served_with_a_receipt[True-2]"),
    (53, "version 1 in version 2's header", "offer", "a_right_payment_is_served_with_a_receipt[True-1]"),
    (54, "5 copies at once, the work once", "repeats", "copies_at_once_are_charged_once_and_the_work_is_done_once[5]"),
    (55, "a facilitator's internal text", "facilitators", "a_facilitators_own_words_stay_inside"),
    (
        56,
        "the second is down from the start",
        "facilitators",
        "a_facilitator_that_is_down_from_the_start_costs_the_other_nothing",
    ),
    (57, "one content type, both versions' offers", "offer", "one_402_offers_both_versions"),
    (58, "settlement_pending as a 500", "facilitators", "a_settlement_that_is_pending_is_asked_again_once"),
    (59, "settlement_pending twice", "facilitators", "without_a_node_a_doubt_is_503_and_stays_unknown[pending]"),
    (
        60,
        "a batch of self-transfers and one payment",
        "attacks",
        "a_batch_of_self_transfers_and_one_payment_buys_one_answer",
    ),
    (
        61,
        "settles, answers 307",
        "facilitators",
        "a_settlement_that_was_done_and_not_told_is_seen_on_the_chain[done-307]",
    ),
    (
        62,
        "settles, answers 404",
        "facilitators",
        "a_settlement_that_was_done_and_not_told_is_seen_on_the_chain[done-404]",
    ),
    (
        63,
        "settles, answers 409",
        "facilitators",
        "a_settlement_that_was_done_and_not_told_is_seen_on_the_chain[done-409]",
    ),
    (
        64,
        "settles, answers 429",
        "facilitators",
        "a_settlement_that_was_done_and_not_told_is_seen_on_the_chain[done-429]",
    ),
    (
        65,
        "settles, says duplicate_settlement",
        "facilitators",
        "a_settlement_that_was_done_and_not_told_is_seen_on_the_chain[done-duplicate]",
    ),
    (
        66,
        "settles, resets the connection",
        "facilitators",
        "a_settlement_that_was_done_and_not_told_is_seen_on_the_chain[done-drop]",
    ),
    (
        67,
        "says used although it settled",
        "facilitators",
        "the_next_facilitator_that_finds_it_spent_confirms_the_first",
    ),
    (68, "a nonce used by the payer himself", "attacks", "a_nonce_that_the_payer_uses_himself_buys_nothing[True]"),
    (
        69,
        "the same without a node",
        "attacks",
        "a_nonce_that_the_payer_uses_himself_buys_nothing[False]",
    ),
    (70, "no log in the range searched", "attacks", "a_look_without_the_event_is_undecided_and_never_paid"),
    (71, "success claimed, nothing moved", "attacks", "a_claim_of_success_that_the_chain_denies_serves_nothing"),
    (72, "the same while the node is away", "attacks", "a_facilitator_that_lies_while_the_node_is_away_is_found_out"),
    (73, "cancelled before it is settled", "chain", "a_payer_who_cancels_meanwhile_gets_nothing"),
    (74, "the wallet is emptied before", "chain", "a_payer_who_empties_the_wallet_meanwhile_gets_nothing"),
    (75, "known parameters left empty", "offers", "what_each_offer_shows_can_be_called"),
    (76, "the official axios client, version 2", "chain", "official_clients_pay_to_the_unit[own-node-x402-axios-v2]"),
    (77, "the official axios client, version 1", "chain", "official_clients_pay_to_the_unit[own-node-x402-axios-v1]"),
)
"""Number, name, the file `test_x402_<file>.py`, and its test without `test_`."""


@pytest.fixture(scope="module")
def collected(request: pytest.FixtureRequest) -> dict[str, set[str]]:
    """The tests of each file by its name, as pytest itself finds them."""
    here = Path(__file__).parent
    found = {}
    for name in {file for _, _, file, _ in SCENARIOS}:
        (path,) = here.rglob(f"test_x402_{name}.py")
        module = pytest.Module.from_parent(request.session, path=path)
        found[name] = {item.name for item in module.collect()}
    return found


def test_each_scenario_is_played_by_a_test_of_its_own(collected: dict[str, set[str]]) -> None:
    assert [number for number, *_ in SCENARIOS] == list(range(1, len(SCENARIOS) + 1))
    assert len(SCENARIOS) >= 60
    for repeated in (Counter(name for _, name, *_ in SCENARIOS), Counter(played for *_, played in SCENARIOS)):
        assert max(repeated.values()) == 1, repeated.most_common(1)
    missing = [(number, played) for number, _, file, played in SCENARIOS if f"test_{played}" not in collected[file]]
    assert missing == []
