"""The configurations of docs/examples: each asks what its program would ask, and gets what the API states."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml
from flask.testing import FlaskClient

from assets.documents.publish import publish
from tests.api.conftest import NOW, Rig
from warehouse.market.clock import HOUR

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
SERVER = "https://emds.example"


@pytest.fixture
def served(rig: Rig) -> tuple[FlaskClient, dict[str, str]]:
    """DE-LU's prices from yesterday to the end of tomorrow."""
    start = NOW - NOW % HOUR - 26 * HOUR
    rig.put("north.price", "DE-LU", "price", rig.every(start, 900, 240, lambda i: 60 - i % 7), "EUR/MWh", "15m")
    rig.publish()
    publish(rig.storage, NOW)
    client = rig.client()
    return client, rig.key(client)


def asked(served: tuple[FlaskClient, dict[str, str]], url: str) -> Any:
    """What a configured address answers."""
    client, key = served
    assert url.startswith(SERVER)
    answer = client.get(url.removeprefix(SERVER), headers=key)
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer.get_json()


class _Loader(yaml.SafeLoader):
    """Home Assistant's YAML: `!secret name`."""


_Loader.add_constructor("!secret", lambda loader, node: f"secret {node.value}")


def test_home_assistants_sensors_show_what_the_api_states(served: Any) -> None:
    config = yaml.load((EXAMPLES / "home-assistant.yaml").read_text(), _Loader)
    templates = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
    templates.filters["as_datetime"] = lambda at: datetime.fromtimestamp(at, UTC)
    shown: dict[str, str] = {}
    for resource in config["rest"]:
        assert resource["headers"]["Authorization"] == "secret emds_authorization"
        body = asked(served, resource["resource"])
        for sensor in [*resource["sensor"], *resource.get("binary_sensor", [])]:
            assert templates.from_string(sensor["availability"]).render(value_json=body) == "True"
            shown[sensor["unique_id"]] = templates.from_string(sensor["value_template"]).render(value_json=body)
    windows = asked(served, f"{SERVER}/v1/windows/DE-LU?hours=3")
    price = asked(served, f"{SERVER}/v1/latest/DE-LU")["metrics"]["price"]
    assert datetime.fromisoformat(shown["emds_cheapest_start"]).timestamp() == windows["start"]
    assert float(shown["emds_cheapest_mean"]) == windows["mean"]
    assert shown["emds_cheapest_now"] == str(windows["now"]["in_best"])
    assert float(shown["emds_price"]) == price["value"]
    assert price["unit"] == "EUR/MWh"


@pytest.mark.skipif(shutil.which("jq") is None, reason="no jq")
def test_evccs_tariff_is_the_auctions_prices(served: Any) -> None:
    forecast = yaml.safe_load((EXAMPLES / "evcc.yaml").read_text())["tariffs"]["grid"]["forecast"]
    body = asked(served, forecast["uri"])
    run = subprocess.run(
        ["jq", "-r", forecast["jq"]], input=json.dumps(body), capture_output=True, text=True, check=True, timeout=30
    )
    rates = json.loads(run.stdout)
    assert len(rates) == 192
    rows = sorted(body["data"], key=lambda row: row["ts"])
    for rate, row in zip(rates, rows, strict=True):
        start, end = (datetime.fromisoformat(rate[name]).timestamp() for name in ("start", "end"))
        assert (start, end) == (row["ts"], row["ts"] + 900)
        assert rate["value"] == pytest.approx(row["value"] / 1000)
    assert datetime.fromisoformat(rates[-1]["end"]).timestamp() > NOW + 24 * HOUR, "tomorrow is in it"


def test_grafanas_panel_plots_the_rows(served: Any) -> None:
    panel = json.loads((EXAMPLES / "grafana.json").read_text())["panels"][0]
    target = panel["targets"][0]
    url = target["url"].replace("${__from:date:seconds}", str(NOW - 86400)).replace("${__to:date:seconds}", str(NOW))
    rows = asked(served, url)[target["root_selector"]]
    points = [[row[column["selector"]] for column in target["columns"]] for row in rows]
    expected = asked(served, f"{SERVER}/v1/price/DE-LU?start={NOW - 86400}&end={NOW}")["data"]
    assert points == [[row["ts"], row["value"]] for row in expected]
    assert len(points) == 96
    assert [column["type"] for column in target["columns"]] == ["timestamp_epoch_s", "number"]


@pytest.mark.parametrize("name", ["home-assistant.yaml", "evcc.yaml", "grafana.json"])
def test_each_page_shows_the_file_that_is_tested(name: str) -> None:
    page = (EXAMPLES.parent / f"{name.partition('.')[0]}.md").read_text()
    assert f"examples/{name}" in page
