"""`?stats=true`: statistics in place of rows, against a plain computation over the rows that the same path serves."""

from __future__ import annotations

from typing import Any

import pytest

from warehouse.market.clock import HOUR

STEPS = {"5m": 300, "30m": 1800, "1h": HOUR}


@pytest.fixture
def ask(market: Any) -> Any:
    """`ask(path)` by key: status and body."""
    client = market.client()
    headers = market.key(client)

    def get(path: str) -> tuple[int, Any]:
        answer = client.get(path, headers=headers)
        return answer.status_code, answer.get_json()

    return get


def plain(rows: list[dict[str, Any]], end: int) -> dict[str, float]:
    """Seconds covered, mean and standard deviation; rows are weighted by their seconds within the window."""
    parts = [(min(row["ts"] + STEPS[row["resolution"]], end) - row["ts"], row["value"]) for row in rows]
    covered = sum(seconds for seconds, _ in parts)
    mean = sum(seconds * value for seconds, value in parts) / covered
    spread = sum(seconds * (value - mean) ** 2 for seconds, value in parts) / covered
    return {"covered": covered, "mean": mean, "std": spread**0.5}


@pytest.mark.parametrize(
    "path", ["/v1/price/GB?", "/v1/demand/GB?", "/v1/interchange/GB?", "/v1/price/US-NYISO?market=day_ahead&"]
)
def test_statistics_are_those_of_the_rows(ask: Any, market: Any, path: str) -> None:
    window = f"start={market.now - 20 * HOUR}&end={market.now - 700}"
    rows = ask(f"{path}{window}&limit=5000")[1]["data"]
    status, body = ask(f"{path}{window}&stats=true&above=0")
    assert status == 200
    stats, hand = body["statistics"], plain(rows, market.now - 700)
    assert stats["count"] == len(rows)
    assert stats["coverage"] == pytest.approx(hand["covered"] / (20 * HOUR - 700), abs=1e-6)
    assert stats["mean"] == pytest.approx(hand["mean"], abs=1e-5)
    assert stats["std"] == pytest.approx(hand["std"], abs=1e-5)
    assert stats["max"] == max(row["value"] for row in rows)
    assert stats["max_ts"] == next(row["ts"] for row in rows if row["value"] == stats["max"])
    assert stats["above"]["intervals"] == sum(row["value"] > 0 for row in rows)
    assert (body["unit"], body["metric"]) == (rows[0]["unit"], path.split("/")[2])
    assert body["license"]


def test_generation_is_answered_fuel_by_fuel(ask: Any) -> None:
    rows = ask("/v1/generation/GB?limit=5000")[1]["data"]
    fuels = ask("/v1/generation/GB?stats=true")[1]["fuels"]
    assert set(fuels) == {row["fuel"] for row in rows}
    for fuel, stats in fuels.items():
        assert stats["max"] == max(row["value"] for row in rows if row["fuel"] == fuel)


def test_parameters_of_rows_are_refused(ask: Any, market: Any) -> None:
    for wrong in ("limit=5", "order=desc", "format=csv", "interval=1h", "above=much", "below=1e9", "above=nan"):
        assert ask(f"/v1/price/GB?stats=true&{wrong}")[0] == 400, wrong
    assert ask("/v1/price/GB?above=5")[0] == 400
    assert ask(f"/v1/price/GB?stats=true&start=1970&end={market.now}")[0] == 400
    assert ask("/v1/capacity/FR?stats=true")[0] == 400
    assert ask("/v1/price/US-PJM?stats=true")[0] == 404


def test_a_sample_of_fuels_is_of_whole_instants(market: Any) -> None:
    fuels = market.client().get("/v1/generation/GB?stats=true&sample=true").get_json()["fuels"]
    assert len({(stats["count"], stats["coverage"]) for stats in fuels.values()}) == 1


def test_a_sample_is_of_the_newest_rows(market: Any) -> None:
    body = market.client().get("/v1/demand/GB?stats=true&sample=true").get_json()
    assert body["sample"] is True
    assert body["statistics"]["count"] == 50
    rows = market.client().get("/v1/demand/GB?sample=true").get_json()["data"]
    assert body["start"] == rows[0]["ts"]
    assert body["statistics"]["max"] == max(row["value"] for row in rows)
