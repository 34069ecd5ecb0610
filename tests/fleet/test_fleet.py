"""A small fleet under a little traffic, each part of it killed once: no row and no charge is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fleet.campaign import Plan, run
from tests.stand_ins.buckets import CREDENTIALS
from tests.stand_ins.postgres import programs
from tests.stand_ins.web_server import program

pytestmark = [
    pytest.mark.campaign,
    pytest.mark.skipif(programs() is None, reason="PostgreSQL IS NOT INSTALLED: the fleet is not tested here"),
    pytest.mark.skipif(program() is None, reason="nginx IS NOT INSTALLED: the fleet is not tested here"),
]
KILLS = ("worker", "replica", "store", "database", "daemon", "code", "webserver")


@pytest.mark.timeout(1200)
def test_a_fleet_whose_parts_are_killed_loses_doubles_and_charges_nothing_wrongly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    plan = Plan(seconds=20, days=10, kills=KILLS, refreshes=1, documents=False, rate=10, measured_s=0, pause_s=1)
    report = run(tmp_path, plan)
    assert report.sound(), "\n".join(report.lines())
    assert report.rows.rows > 10_000
    assert report.charges.answers > 50
    assert {done.status for done in report.calls} >= {200, 304, 404}
    assert [kill.part for kill in report.kills] == list(KILLS)
    assert report.runs["FAILURE"] >= 1, "the worker's"
