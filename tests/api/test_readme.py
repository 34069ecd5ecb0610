"""The README's list of paths and its sample answer are those of the service; its calls are run with the samples."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from api.access.prices import PRICES
from api.endpoints.table import ENDPOINTS

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()


def rows() -> list[list[str]]:
    """The cells of the table of paths."""
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in README.splitlines() if "`/v1/" in line[:9]
    ]


def test_every_path_is_listed_with_its_price() -> None:
    listed = {path: row for row in rows() for path in re.findall(r"`(/v1/[^`?]+)`", row[0])}
    shown = {
        endpoint.path: endpoint
        for endpoint in ENDPOINTS.values()
        if endpoint.path.startswith("/v1/")
        and not endpoint.id.startswith("ogc-")  # OGC API Features is one entry of a GIS program
        and "." not in endpoint.path.rpartition("/")[2]
    }
    assert listed.keys() == shown.keys()
    for path, endpoint in shown.items():
        price = PRICES[endpoint.id].price if endpoint.paid else "free"
        assert price in listed[path][2], path


def test_the_sample_answer_has_the_services_members(market: Any) -> None:
    example = json.loads(re.search(r"```json\n(.*?)```", README, re.DOTALL)[1])  # type: ignore[index]
    client = market.client()
    answer = client.get("/v1/price/GB?limit=2&time=local", headers=market.key(client)).get_json()
    assert sorted(example) == sorted(answer)
    assert [list(row) for row in example["data"]] == [list(row) for row in answer["data"]]
