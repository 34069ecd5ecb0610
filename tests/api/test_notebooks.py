"""Test that the client's notebooks run from top to bottom against a served warehouse and match the API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import requests

from assets.documents.publish import publish
from tests.api.conftest import NOW
from warehouse.market.clock import HOUR

pytestmark = pytest.mark.slow
CLIENT = Path(__file__).resolve().parents[2] / "clients" / "python"


@pytest.fixture
def run(everywhere: Any, serve: Any, monkeypatch: Any) -> Any:
    """Return a function that runs a notebook's cells. It returns their namespace and a function for API requests."""
    for zone, level in (("FR", 50), ("DE-LU", 60)):
        hours = everywhere.every(
            NOW - NOW % HOUR - 26 * HOUR, HOUR, 48, lambda i, level=level: level + i % 24 * (i % 7)
        )
        everywhere.put("north.price", zone, "price", hours, "EUR/MWh", "1h")
    everywhere.publish()
    publish(everywhere.storage, NOW)
    served = serve(everywhere)
    signed = requests.post(f"{served.url}/v1/keys/signup", json={"email": "reader@example.org"}, timeout=30)
    key = signed.json()["api_key"]
    monkeypatch.setenv("EMDS_URL", served.url)
    monkeypatch.setenv("EMDS_KEY", key)
    monkeypatch.syspath_prepend(str(CLIENT))

    def asked(path: str) -> Any:
        answer = requests.get(served.url + path, headers={"Authorization": f"Bearer {key}"}, timeout=30)
        return answer.json()

    def run_cells(name: str) -> tuple[dict[str, Any], Any]:
        names: dict[str, Any] = {}
        cells = json.loads((CLIENT / "notebooks" / f"{name}.ipynb").read_text())["cells"]
        try:
            for cell in cells:
                if cell["cell_type"] == "code":
                    exec(compile("".join(cell["source"]), f"{name}, {cell['id']}", "exec"), names)
        finally:
            names["client"].close()
        return names, asked

    return run_cells


def test_the_spread_of_two_markets_is_that_of_their_rows(run: Any) -> None:
    names, asked = run("two_markets")
    by_zone = {
        zone: {row["ts"]: row["value"] for row in asked(f"/v1/price/{zone}")["data"]} for zone in ("FR", "DE-LU")
    }
    both = by_zone["FR"].keys() & by_zone["DE-LU"].keys()
    assert len(both) > 20
    assert {int(at.timestamp()): value for at, value in names["spread"].items()} == {
        ts: pytest.approx(by_zone["FR"][ts] - by_zone["DE-LU"][ts]) for ts in both
    }
    assert set(names["series"].attribution) == {"FR", "DE-LU"}


def test_now_and_next_are_what_the_api_states(run: Any) -> None:
    names, asked = run("now_and_next")
    assert names["brief"]["headline"] == asked("/v1/brief/DE-LU")["headline"]
    latest = asked("/v1/latest/DE-LU")["metrics"]
    assert names["newest"]["value"].to_dict() == {metric: figure["value"] for metric, figure in latest.items()}
    window = asked("/v1/windows/DE-LU?hours=3")
    assert window["available"]
    assert names["told"].endswith(f"{window['mean']:.2f} on average")
