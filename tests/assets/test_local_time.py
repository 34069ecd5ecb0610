"""Times as a person reads them, with UTC beside."""

from __future__ import annotations

from assets.documents.summary import LocalTime

EVENING = 1_792_947_600  # 2026-10-25T17:00:00Z


def test_local_and_utc():
    assert str(LocalTime(EVENING, "Europe/Berlin")) == "2026-10-25 18:00 CET (17:00 UTC)"


def test_another_date_in_utc_is_said():
    assert str(LocalTime(EVENING, "Australia/Sydney")) == "2026-10-26 04:00 AEDT (2026-10-25 17:00 UTC)"


def test_beside_a_time_of_the_same_day_the_date_is_left_out():
    other = LocalTime(EVENING + 3600, "Europe/Berlin")
    assert LocalTime(EVENING, "Europe/Berlin").beside(other) == "18:00 CET (17:00 UTC)"
    assert LocalTime(EVENING - 86400, "Europe/Berlin").beside(other) == "2026-10-24 19:00 CEST (17:00 UTC)"
