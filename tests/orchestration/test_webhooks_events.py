"""Check the events that webhooks report, the sensor and commands that start a round, and who gets no message."""

from __future__ import annotations

import logging
from typing import Any

import dagster as dg
import pytest
from msgspec import UNSET

from api.access.key_life import revoke
from orchestration import cli
from orchestration.jobs.service_assets import DELIVER, webhook_sensor
from tests.orchestration.webhook_receivers import NOW, Post
from warehouse.documents.present import Brief, Latest, MetricValue
from warehouse.figures.context import Band, ContextBlock
from warehouse.market.clock import DAY
from warehouse.series import change_log
from warehouse.store import artefact, layout


def latest(post: Post, value: float, expected_by: int = NOW + 600) -> None:
    figure = MetricValue(value, "GBP/MWh", NOW, "30m", "elexon", expected_by, None)
    body = Latest(
        zone="GB", metrics={"price": figure}, attribution="A", license="L", updated=NOW, valid_until=expected_by
    )
    artefact.put(post.storage, layout.latest("GB"), artefact.encode(body), artefact.new_version())


def brief(post: Post, band: Band) -> None:
    numbers = dict.fromkeys(
        ("percentile_exact", "ties_pct", "vs_median", "vs_median_pct", "median", "p10", "p90", "min", "max"), 50.0
    )
    block = ContextBlock(
        **numbers,
        percentile=50,
        percentile_same_hour=None,
        band=band,
        sample_count=1440,
        coverage=1.0,
        confidence="normal",
        window_start=NOW - 30 * DAY,
        window_end=NOW,
        window_days_actual=30.0,
        unit="GBP/MWh",
    )
    parts: dict[str, Any] = dict.fromkeys(Brief.__struct_fields__, "")
    maps = ("current", "trend_24h", "context_omitted", "trend_omitted", "summary_parts", "summary_figures")
    parts |= {"zone": "GB", "as_of": NOW, "context": {"price": block}, **{name: {} for name in maps}}
    parts |= {"context_window_requested_days": 30, "carbon_basis": UNSET, "carbon_omitted": UNSET}
    body = Brief(**parts | {"attribution": "A", "license": "L", "valid_until": NOW + 600})
    artefact.put(post.storage, layout.brief("GB"), artefact.encode(body), artefact.new_version())


def test_a_price_beyond_a_threshold_is_told_once_until_it_came_back(post: Post) -> None:
    receiver = post.receiver()
    post.subscribe(receiver.url, "price.above", "price.below", zones=("GB",), threshold=100.0)
    for value in (90.0, 95.0, 120.4, 130.0, 100.0, 101.0):
        latest(post, value)
        post.round()
    told = [(message["type"], message["data"]["value"]) for message in receiver.taken]
    assert told == [("price.below", 90), ("price.above", 120), ("price.above", 101)]
    assert receiver.taken[1]["data"] == {
        "zone": "GB",
        "metric": "price",
        "value": 120,
        "rounded": True,
        "unit": "GBP/MWh",
        "ts": NOW,
        "resolution": "30m",
        "source": "elexon",
        "threshold": 100.0,
        "attribution": "A",
        "license": "L",
    }


def test_bands_that_move_and_figures_that_are_late_are_told(post: Post) -> None:
    receiver = post.receiver()
    post.subscribe(receiver.url, "band", "stale", zones=("GB",))
    for band, expected_by in (("low", NOW + 1), ("low", NOW - 1), ("high", NOW - 1), ("high", NOW + 1)):
        brief(post, band)
        latest(post, 1.0, expected_by)
        post.round()
    told = [
        (message["type"], message["data"].get("bands") or message["data"].get("stale")) for message in receiver.taken
    ]
    assert told == [("stale", ["price"]), ("band", {"price": {"from": "low", "to": "high"}}), ("stale", [])]
    assert receiver.taken[-1]["data"]["recovered"] == ["price"]


def test_entries_that_are_kept_no_more_are_told_as_gone(post: Post) -> None:
    receiver = post.receiver()
    webhook = post.subscribe(receiver.url)
    post.change(at=1)
    post.sql("UPDATE webhooks SET change_cursor = '00000000-5'")
    post.round()
    assert receiver.taken[0]["data"]["gone"] is True
    assert post.state(webhook).cursor == change_log.newest(post.storage)


def test_a_revoked_keys_webhooks_get_nothing(post: Post) -> None:
    receiver = post.receiver()
    post.subscribe(receiver.url)
    post.change()
    revoke(post.accounts.database, 1, 5)
    assert post.round().subscriptions == 0
    assert receiver.tries == []


def test_no_log_and_no_repr_holds_a_secret(post: Post, caplog: pytest.LogCaptureFixture) -> None:
    receiver = post.receiver(answer=lambda _: 500)
    webhook = post.subscribe(receiver.url)
    post.change()
    with caplog.at_level(logging.DEBUG):
        post.round()
    assert webhook.secret not in caplog.text + repr(webhook) + post.state(webhook).last_error


def test_the_command_line_lists_disables_and_delivers(
    post: Post, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EMDS_HOME", str(post.home))
    monkeypatch.setenv("EMDS_ALLOW_PRIVATE_WEBHOOKS", "1")
    monkeypatch.setenv("EMDS_DATABASE_URL", post.url)
    receiver = post.receiver()
    webhook = post.subscribe(receiver.url)
    post.change()
    assert cli.main(["webhooks", "deliver"]) == 0
    assert "delivered 1" in capsys.readouterr().out
    assert cli.main(["webhooks", "list"]) == 0
    printed = capsys.readouterr().out
    assert webhook.id in printed
    assert webhook.secret not in printed
    assert cli.main(["webhooks", "disable", webhook.id]) == 0
    assert post.state(webhook).disabled == "by the operator"
    assert cli.main(["webhooks", "enable", webhook.id]) == 0
    assert cli.main(["webhooks", "remove", webhook.id]) == 0
    assert cli.main(["webhooks", "disable", webhook.id]) == 1


def test_the_sensor_starts_a_round_where_something_is_to_be_told(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMDS_HOME", str(post.home))
    monkeypatch.setenv("EMDS_DATABASE_URL", post.url)
    sensor = webhook_sensor(dg.define_asset_job(DELIVER))
    with dg.DagsterInstance.ephemeral() as instance:

        def look(cursor: str | None = None) -> Any:
            return sensor(dg.build_sensor_context(instance, cursor=cursor))

        assert "no subscriptions" in look().skip_message
        post.subscribe("https://hook.example/")
        post.change()
        first = look()
        assert len(first.run_requests) == 1
        assert "nothing changed" in look(first.cursor).skip_message
