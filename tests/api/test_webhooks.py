"""Test `/v1/webhooks`: subscribe, look, test and remove, with owners, limits and permitted receivers."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from api.access import webhooks
from tests.api.conftest import Rig
from tests.api.declared_sources import feed, source
from warehouse.market.vocabulary import Metric

GOOD = {"url": "https://hook.example/emds", "events": ["changes"]}


@pytest.fixture
def client(rig: Rig) -> FlaskClient:
    rig.publish()
    return rig.client()


def subscribe(client: FlaskClient, key: dict[str, str], **changes: Any) -> Any:
    return client.post("/v1/webhooks", json=GOOD | changes, headers=key)


def test_a_subscription_is_made_shown_and_ended(rig: Rig, client: FlaskClient) -> None:
    key = rig.key(client)
    created = subscribe(client, key, zones=["GB", "FR", "GB"], events=["changes", "price.above"], threshold=120)
    assert created.status_code == 201
    assert created.headers["Cache-Control"] == "no-store"
    body = created.get_json()
    assert body["secret"].startswith("whsec_")
    assert body["zones"] == ["GB", "FR"]
    assert body["threshold"] == 120
    assert body["state"] == "active"
    found = client.get(f"/v1/webhooks/{body['id']}", headers=key).get_json()
    assert found == {name: value for name, value in body.items() if name != "secret"}
    assert client.get("/v1/webhooks", headers=key).get_json() == {"count": 1, "webhooks": [found]}
    assert client.delete(f"/v1/webhooks/{body['id']}", headers=key).status_code == 204
    assert client.get(f"/v1/webhooks/{body['id']}", headers=key).status_code == 404


def test_a_test_message_waits_for_the_pipeline(rig: Rig, client: FlaskClient) -> None:
    key = rig.key(client)
    created = subscribe(client, key).get_json()
    answer = client.post(f"/v1/webhooks/{created['id']}/test", headers=key)
    assert answer.status_code == 202
    assert answer.get_json()["message"].startswith("msg_")
    assert client.get(f"/v1/webhooks/{created['id']}", headers=key).get_json()["waiting"] == 1
    webhooks.disable(client.application.extensions["emds"].gate.database, created["id"], "by the owner")
    assert client.post(f"/v1/webhooks/{created['id']}/test", headers=key).status_code == 409


def test_anothers_webhooks_are_unknown(rig: Rig, client: FlaskClient) -> None:
    first = rig.key(client)
    created = subscribe(client, first).get_json()
    answer = client.post("/v1/keys/signup", json={"email": "other@example.org"})
    other = {"Authorization": f"Bearer {answer.get_json()['api_key']}"}
    for method, path in (("get", ""), ("delete", ""), ("post", "/test")):
        answer = getattr(client, method)(f"/v1/webhooks/{created['id']}{path}", headers=other)
        assert answer.status_code == 404
        assert answer.get_json()["type"].endswith("/problems/unknown-webhook")
    assert client.get("/v1/webhooks", headers=other).get_json()["count"] == 0
    for headers in ({}, {"Authorization": "Bearer emds_nonsense"}):
        assert client.post("/v1/webhooks", json=GOOD, headers=headers).status_code == 401
        assert client.get("/v1/webhooks", headers=headers).status_code == 401


def test_a_key_has_at_most_ten(rig: Rig, client: FlaskClient) -> None:
    key = rig.key(client)
    assert [subscribe(client, key).status_code for _ in range(11)] == [201] * 10 + [409]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"url": "http://hook.example/"}, "url"),
    ({"url": "https://127.0.0.1/"}, "url"),
    ({"url": "https://[::ffff:10.0.0.1]/"}, "url"),
    ({"url": "https://169.254.169.254/latest/meta-data"}, "url"),
    ({"url": "https://user:secret@hook.example/"}, "url"),
    ({"url": "https://hook.example/\r\nX: y"}, "url"),
    ({"url": None}, "url"),
    ({"events": []}, "events"),
    ({"events": ["everything"]}, "events"),
    ({"zones": ["XX"]}, "zones"),
    ({"events": ["price.above"]}, "threshold"),
    ({"events": ["price.above"], "threshold": True}, "threshold"),
    ({"events": ["day_ahead"], "zones": ["GB"]}, "zones"),
    ({"events": ["changes", "day_ahead"], "zones": ["DE-LU", "AU-NSW"]}, "zones"),
    ({"secret": "mine"}, "secret"),
]


def test_a_wrong_wish_names_what_is_wrong(rig: Rig, client: FlaskClient) -> None:
    key = rig.key(client)
    for wish, wrong in WRONG:
        answer = subscribe(client, key, **wish)
        assert answer.status_code == 400, wish
        assert [fault["parameter"] for fault in answer.get_json()["errors"]] == [wrong], wish


def test_the_auctions_that_can_be_reported_are_those_that_may_be_redistributed(rig: Rig) -> None:
    held = source("held", (feed("held.auction", ("FR",), (Metric.PRICE,), "1h"),), withheld=True)
    rig.sources = {**rig.sources, "held": held}
    rig.publish()
    client = rig.client()
    key = rig.key(client)
    assert subscribe(client, key, events=["day_ahead"]).status_code == 201
    assert subscribe(client, key, events=["day_ahead"], zones=["DE-LU", "US-NYISO"]).status_code == 201
    refused = subscribe(client, key, events=["day_ahead"], zones=["DE-LU", "FR"])
    assert refused.status_code == 400
    assert "terms do not allow" in refused.get_json()["detail"]
    rig.publish(rights=("held",))
    assert subscribe(client, key, events=["day_ahead"], zones=["FR"]).status_code == 201


def test_also_a_private_address_names_a_host(rig: Rig) -> None:
    client = rig.client(allow_private_webhooks=True)
    key = rig.key(client)
    urls = ("http://receiver:8080/", "http://127.0.0.1/", "http:///hook", "http://:80/")
    assert [subscribe(client, key, url=url).status_code for url in urls] == [201, 201, 400, 400]


def test_a_subscription_begins_with_what_comes(rig: Rig, client: FlaskClient) -> None:
    rig.put("north.grid", "GB", "demand", [(0, 1.0)])
    created = subscribe(client, rig.key(client)).get_json()
    found = webhooks.get(client.application.extensions["emds"].gate.database, created["id"])
    assert found is not None
    assert found.cursor == client.get("/v1/changes").get_json()["next"]
