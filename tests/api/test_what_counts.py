"""What the later paths take of a key's day: windows, statistics, changes, webhooks, month files; good calls and bad."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from api.access.key_listing import set_quota
from tests.api.conftest import Rig

WINDOW = "/v1/windows/DE-LU?hours=1"
STATS = "/v1/demand/GB?stats=true&start=2026-03-29"
FILE = "/v1/bulk/price/GB/2026-03.parquet"
COUNTED = [WINDOW, f"{WINDOW}&kind=highest", STATS, f"{STATS}&above=31000", FILE]
EMPTY = ["/v1/windows/GB?hours=1", "/v1/demand/GB?stats=true&start=100001000&end=100002000"]
"""Answers that cost no money, since nothing is known; of a key's day each is one, as an answer without rows is."""
NOT_COUNTED = {
    "/v1/windows/DE-LU?hours=0": 400,
    "/v1/windows/DE-LU?hours=nan": 400,
    "/v1/windows/DE-LU?hours=1&within=0": 400,
    "/v1/windows/DE-LU?hours=1&kind=best": 400,
    "/v1/windows/XX?hours=1": 404,
    f"{STATS}&limit=5": 400,
    f"{STATS}&above=inf": 400,
    "/v1/demand/GB?above=1": 400,
    "/v1/capacity/DE-LU?stats=true": 400,
    "/v1/changes": 200,
    "/v1/changes?since=now&zone=GB": 200,
    "/v1/changes?since=00000000-7": 410,
    "/v1/changes?since=%00": 400,
    "/v1/changes?limit=99999": 400,
    "/v1/bulk": 200,
    "/v1/bulk?metric=nonsense": 400,
    "/v1/bulk/price/GB/2019-01.parquet": 404,
    "/v1/bulk/price/GB/2026-3.parquet": 404,
    f"{FILE}?start=1": 400,
    "/v1/webhooks": 200,
    "/v1/webhooks/wh_none": 404,
}


@pytest.fixture
def client(everywhere: Rig) -> FlaskClient:
    everywhere.put("north.price", "DE-LU", "price", everywhere.every(everywhere.now // 900 * 900, 900, 40), "EUR/MWh")
    return everywhere.client()


def used(client: FlaskClient, key: dict[str, str]) -> int:
    return int(client.get("/v1/usage", headers=key).get_json()["quota"]["used"])


@pytest.mark.slow
def test_an_answer_counts_once_and_a_refusal_not(everywhere: Rig, client: FlaskClient) -> None:
    key = everywhere.key(client)
    for count, path in enumerate(COUNTED + EMPTY, 1):
        answer = client.get(path, headers=key)
        assert answer.status_code == 200, (path, answer.text)
        assert used(client, key) == count, path
        unchanged = client.get(path, headers={**key, "If-None-Match": answer.headers["ETag"]})
        assert (unchanged.status_code, used(client, key)) == (304, count), path
    for path, status in NOT_COUNTED.items():
        answer = client.get(path, headers=key)
        assert answer.status_code == status, (path, answer.text)
        assert status == 200 or answer.content_type == "application/problem+json", path
        assert used(client, key) == len(COUNTED + EMPTY), path
    wish: dict[str, Any] = {"url": "https://hook.example/", "events": ["changes"]}
    webhook = client.post("/v1/webhooks", json=wish, headers=key).get_json()["id"]
    for method, path, status in (
        ("post", "/v1/webhooks", 415),
        ("post", f"/v1/webhooks/{webhook}/test", 202),
        ("get", f"/v1/webhooks/{webhook}", 200),
        ("delete", f"/v1/webhooks/{webhook}", 204),
        ("delete", f"/v1/webhooks/{webhook}", 404),
    ):
        assert getattr(client, method)(path, headers=key).status_code == status
    assert used(client, key) == len(COUNTED + EMPTY)


@pytest.mark.slow
def test_a_spent_day_and_a_wrong_key_are_told_on_each(everywhere: Rig, client: FlaskClient) -> None:
    key, wrong = everywhere.key(client), {"Authorization": "Bearer emds_" + "A" * 43}
    set_quota(client.application.extensions["emds"].gate.database, 1, 1)
    assert client.get(STATS, headers=key).status_code == 200
    for path in (WINDOW, STATS, FILE):
        assert client.get(path, headers=key).status_code == 429, path
        assert client.get(path, headers=wrong).status_code == 401, path
        assert client.get(path).status_code == 402, path
    for path in ("/v1/changes", "/v1/bulk", "/v1/webhooks"):
        assert client.get(path, headers=key).status_code == 200, f"{path} takes nothing of the day"
