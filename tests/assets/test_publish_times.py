"""The published documents' times: when an hour turns, when the next value is due, and what stopped long ago."""

from __future__ import annotations

from assets.documents.publish import publish
from tests.assets.published_zones import HOUR, NOW, document, fill


def test_a_day_ahead_hour_turns_without_any_new_row(world):
    fill(world, until=NOW + 12 * HOUR)
    for now, ts in ((NOW + HOUR - 1, NOW), (NOW + HOUR, NOW + HOUR)):
        publish(world.storage, now)
        latest = document(world, "latest/FR.json")
        assert latest["metrics"]["price"]["ts"] == ts
        assert latest["metrics"]["price"]["expected_by"] == latest["valid_until"] == ts + HOUR
        assert latest["updated"] == now


def test_expected_by_of_an_auction_that_has_not_come(world):
    fill(world, until=NOW + 11 * HOUR)  # to midnight in Brussels, nothing of tomorrow
    publish(world.storage, NOW + 10 * HOUR)
    # Tomorrow's prices were due at 12:57 + 0:30 in Brussels; the last price still holds until its own interval ends.
    assert document(world, "latest/FR.json")["metrics"]["price"]["expected_by"] == NOW + 11 * HOUR
    publish(world.storage, NOW + 12 * HOUR)
    brief = document(world, "brief/FR.json")
    assert brief["current"]["price"]["ts"] == NOW + 10 * HOUR
    assert brief["valid_until"] == NOW + 11 * HOUR
    assert "Power cost €57.30 a megawatt-hour" in brief["summary"]
    assert "A newer value was due by 2026-11-21 00:00 CET (2026-11-20 23:00 UTC) and had not come." in brief["summary"]
