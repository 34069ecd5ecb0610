"""Test `as_of` over REST before and after a month is rebuilt from the raw archive."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assets.fetch.session import Fetched
from assets.ingest import repair
from assets.ingest.context import PipelineContext
from tests.api.conftest import Rig
from tests.assets.demand_feed import DAY, NOON, START, Publisher, pipeline, run, whole
from warehouse.market.feeds import Request
from warehouse.series import damaged, month_versions
from warehouse.series.month_versions import Month
from warehouse.store import layout

MONTH = layout.series("demand", "GB", "2026-06")
CORRECTED = NOON + 3590
"""The time at which the publisher's response had other values than at noon."""


class _Later(Publisher):
    def ask(self, request: Request) -> Fetched:
        return replace(super().ask(request), fetched_at=CORRECTED)


@pytest.fixture
def corrected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PipelineContext:
    """Return the context of a day of demand. The publisher revises the newest half hours an hour later."""
    monkeypatch.setenv("EMDS_NOW", str(NOON))
    context = pipeline(tmp_path / "home", {DAY: whole(0, 30)})
    run(context)
    monkeypatch.setenv("EMDS_NOW", str(NOON + 3600))
    run(replace(context, session=_Later({DAY: whole(0, 20) + b" " + whole(20, 30, 40000)})))
    monkeypatch.setenv("EMDS_NOW", str(NOON + 7200))
    return context


class Asking:
    """A client that sends the same request for different times."""

    def __init__(self, context: PipelineContext) -> None:
        assert isinstance(context.storage.local, Path)
        rig = Rig(context.storage.local, dict(context.sources), context.mode, NOON + 7200)
        rig.publish()
        self.client = rig.client()
        self.headers = rig.key(self.client)

    def rest(self, as_of: int) -> dict[str, Any]:
        path = f"/v1/demand/GB?start={START}&end={NOON}&limit=1000&as_of={as_of}"
        answer = self.client.get(path, headers=self.headers)
        assert answer.status_code == 200, answer.data
        body: dict[str, Any] = answer.get_json()
        return body


def lose(context: PipelineContext) -> None:
    for key in [MONTH, *context.storage.keys(layout.history_prefix())]:
        context.storage.delete(key)
    damaged.mark(context.storage, MONTH, "is gone")


def test_a_month_under_repair_is_refused_until_its_replacement_is_in_place(corrected: PipelineContext) -> None:
    asking = Asking(corrected)
    rest = [asking.rest(at) for at in (NOON, NOON + 7100)]
    corrected.storage.put(MONTH, b"spoilt")
    month_versions.mark_damaged(corrected.storage, Month(*layout.of_series(MONTH)[:3]))
    again = Asking(corrected)
    for query in ("", f"&as_of={NOON}"):
        path = f"/v1/demand/GB?start={START}&end={NOON}&limit=1000{query}"
        assert again.client.get(path, headers=again.headers).status_code == 503, query
    repair.rebuild_marked(corrected)
    whole_again = Asking(corrected)
    assert [whole_again.rest(at)["data"] for at in (NOON, NOON + 7100)] == [answer["data"] for answer in rest]


def test_a_month_without_values_names_no_time_since_which_it_is_known(corrected: PipelineContext) -> None:
    for key in [*corrected.storage.keys(layout.RAW), *corrected.storage.keys(layout.history_prefix())]:
        corrected.storage.delete(key)
    corrected.storage.put(MONTH, b"spoilt")
    month_versions.mark_damaged(corrected.storage, Month(*layout.of_series(MONTH)[:3]))
    repair.rebuild_marked(corrected)
    answer = Asking(corrected).rest(CORRECTED)
    assert (answer["count"], answer.get("known_since")) == (0, None)


def test_within_the_kept_days_as_of_answers_as_before(corrected: PipelineContext) -> None:
    instants = [NOON - 1, NOON, CORRECTED - 1, CORRECTED + 10, NOON + 7100]
    asking = Asking(corrected)
    rest = [asking.rest(at) for at in instants]
    assert [answer["count"] for answer in rest] == [0, 30, 30, 30, 30]
    assert rest[1]["data"] == rest[2]["data"] != rest[3]["data"] == rest[4]["data"]
    lose(corrected)
    repair.rebuild_marked(corrected)
    again = Asking(corrected)
    for at, row in zip(instants, rest, strict=True):
        after = again.rest(at)
        assert (after["data"], row.get("known_since")) == (row["data"], None)
        if at >= NOON:
            assert (after["gaps"], after.get("known_since")) == (row["gaps"], None)
        else:  # a raw response of that time may have been deleted
            assert (after["gaps"], after["known_since"]) == ([], NOON)


def test_before_the_kept_days_as_of_says_since_when_and_no_gap(corrected: PipelineContext) -> None:
    first = [entry for entry in corrected.storage.keys(layout.RAW) if f"-{NOON}-" in entry]
    assert first
    for key in first:
        corrected.storage.delete(key)
    lose(corrected)
    repair.rebuild_marked(corrected)
    asking = Asking(corrected)
    before, after = asking.rest(NOON), asking.rest(CORRECTED)
    assert (before["count"], before["gaps"], before["known_since"]) == (0, [], CORRECTED)
    assert (after["count"], after.get("known_since")) == (30, None)
