"""Test that each configuration in docs/examples sends its program's requests and shows what the API returns."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jinja2
import orjson
import pytest
import yaml
from flask.testing import FlaskClient

from assets.documents.publish import publish
from tests.api.conftest import NOW, Rig
from warehouse.market.clock import DAY, HOUR
from warehouse.market.zones import ZONES

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
SERVER = "https://emds.example"


@pytest.fixture
def served(rig: Rig) -> tuple[FlaskClient, dict[str, str]]:
    """Return a client and key for DE-LU's prices from yesterday to the end of tomorrow."""
    start = NOW - NOW % HOUR - 26 * HOUR
    rig.put("north.price", "DE-LU", "price", rig.every(start, 900, 240, lambda i: -60.123 - i % 7), "EUR/MWh", "15m")
    rig.publish()
    publish(rig.storage, NOW)
    client = rig.client()
    return client, rig.key(client)


def asked(served: tuple[FlaskClient, dict[str, str]], url: str) -> Any:
    """Return the document at a configured URL."""
    client, key = served
    assert url.startswith(SERVER)
    answer = client.get(url.removeprefix(SERVER), headers=key)
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer.get_json()


class _Loader(yaml.SafeLoader):
    """A YAML loader for Home Assistant's `!secret name`."""


_Loader.add_constructor("!secret", lambda loader, node: f"secret {node.value}")


class HomeAssistant:
    """The states of Home Assistant's sensors by entity ID, and its templates."""

    def __init__(self) -> None:
        self.now, self.states, self.attributes = NOW, dict[str, str](), dict[str, Any]()
        self.templates = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
        self.templates.filters["as_datetime"] = lambda at: datetime.fromtimestamp(at, UTC)
        self.templates.globals |= {
            "now": lambda: datetime.fromtimestamp(self.now, UTC),
            "states": self.states.__getitem__,
            "has_value": self.states.__contains__,
            "state_attr": lambda entity, name: self.attributes.get(entity, {}).get(name),
            "as_timestamp": lambda text: datetime.fromisoformat(text).timestamp(),
        }

    def show(self, sensor: dict[str, Any], template: str, **values: Any) -> str | None:
        """Set and return a sensor's state, or return None if the sensor is not available."""
        if self.templates.from_string(sensor["availability"]).render(values).strip() != "True":
            return None
        entity = f"sensor.{sensor['name'].lower().replace(' ', '_').replace('-', '_')}"
        self.states[entity] = self.templates.from_string(template).render(values).strip()
        self.attributes[entity] = {name: values["value_json"][name] for name in sensor.get("json_attributes", [])}
        return self.states[entity]


def test_home_assistants_sensors_show_what_the_api_states(served: Any) -> None:
    config = yaml.load((EXAMPLES / "home-assistant.yaml").read_text(), _Loader)
    home, shown = HomeAssistant(), dict[str, str | None]()
    for resource in config["rest"]:
        assert resource["headers"]["Authorization"] == "secret emds_authorization"
        body = asked(served, resource["resource"])
        for sensor in resource["sensor"]:
            shown[sensor["unique_id"]] = home.show(sensor, sensor["value_template"], value_json=body)
    assert len(orjson.dumps([*home.attributes.values()])) * 200 / 192 < 16384 - 500, (
        "what the recorder keeps of a state"
    )
    windows = asked(served, f"{SERVER}/v1/windows/DE-LU?hours=3")
    price = asked(served, f"{SERVER}/v1/latest/DE-LU")["metrics"]["price"]
    assert datetime.fromisoformat(shown["emds_cheapest_start"] or "").timestamp() == windows["start"]
    assert float(shown["emds_cheapest_mean"] or "") == round(windows["mean"], 2)
    ahead = asked(served, config["rest"][0]["resource"])
    assert len(ahead["data"]) == 192, "today and tomorrow"
    last = ahead["data"][-1]["ts"]
    assert datetime.fromisoformat(shown["emds_day_ahead"] or "").timestamp() == last
    [local] = config["template"]
    [own], [is_now] = local["sensor"], local["binary_sensor"]
    assert float(home.show(own, own["state"]) or "") == round(price["value"], 2)
    assert home.show(is_now, is_now["state"]) == str(windows["now"]["in_best"])
    for home.now, expected in ((windows["start"], "True"), (windows["end"] - 1, "True"), (windows["end"], "False")):
        assert home.show(is_now, is_now["state"]) == expected
    home.now = last + 899
    assert float(home.show(own, own["state"]) or "") == round(ahead["data"][-1]["value"], 2)
    home.now = last + 900
    assert home.show(own, own["state"]) is None, "no price of yesterday"
    home.attributes.clear()
    assert home.show(own, own["state"]) is None
    sensors = [*(sensor for resource in config["rest"] for sensor in resource["sensor"]), own]
    assert {sensor.get("unit_of_measurement") for sensor in sensors} - {None} == {price["unit"]}
    assert all(("state_class" in sensor) == ("unit_of_measurement" in sensor) for sensor in sensors)
    assert (EXAMPLES / "home-assistant.yaml").read_text().count(price["unit"]) == 1, "written once"


def test_home_assistant_makes_less_than_60_calls_a_day_for_two_zones(served: Any) -> None:
    config = yaml.load((EXAMPLES / "home-assistant.yaml").read_text(), _Loader)
    [automation] = config["automation"]
    [action] = automation["actions"]
    entities = {
        f"sensor.{sensor['name'].lower().replace(' ', '_').replace('-', '_')}": resource["resource"]
        for resource in config["rest"]
        for sensor in resource["sensor"]
    }
    refreshed = {entities[entity] for entity in action["target"]["entity_id"]}
    assert refreshed == {resource["resource"] for resource in config["rest"]}
    polls = sum(DAY / resource["scan_interval"] for resource in config["rest"])
    assert 2 * (polls + len(refreshed)) < 60


@pytest.mark.skipif(shutil.which("jq") is None, reason="no jq")
def test_evccs_tariff_is_the_auctions_prices(served: Any) -> None:
    tariffs = yaml.safe_load((EXAMPLES / "evcc.yaml").read_text())["tariffs"]
    forecast = tariffs["grid"]["forecast"]
    body = asked(served, forecast["uri"])
    assert {row["unit"] for row in body["data"]} == {f"{tariffs['currency']}/MWh"}
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


def test_evccs_template_renders_the_same_tariff() -> None:
    template = yaml.safe_load((EXAMPLES / "evcc-template.yaml").read_text())
    named = {param["name"] for param in template["params"] if "name" in param}
    assert set(re.findall(r"{{ \.(\w+) }}", template["render"])) == named
    text = re.sub(r"{{ include .* }}", "", template["render"])
    for name, value in {"uri": SERVER, "token": "emds_yourkey", "zone": "DE-LU"}.items():
        text = text.replace(f"{{{{ .{name} }}}}", value)
    grid = yaml.safe_load((EXAMPLES / "evcc.yaml").read_text())["tariffs"]["grid"]
    rendered = yaml.safe_load(text)
    for tariff in (grid, rendered):
        tariff["forecast"]["jq"] = tariff["forecast"]["jq"].split()
    assert rendered == grid


def test_grafanas_panels_plot_the_rows_of_the_zone_that_is_chosen(market: Rig) -> None:
    dashboard = json.loads((EXAMPLES / "grafana.json").read_text())
    [variable] = dashboard["templating"]["list"]
    assert variable["query"].split(",") == list(ZONES)
    client = market.client()
    served, chosen = (client, market.key(client)), {"from": NOW - DAY, "to": NOW}
    for panel in dashboard["panels"]:
        [target] = panel["targets"]
        url = target["url"].replace("${zone}", "GB")
        for name, at in chosen.items():
            url = url.replace(f"${{__{name}:date:seconds}}", str(at))
        body = asked(served, url)
        points = [[row[column["selector"]] for column in target["columns"]] for row in body[target["root_selector"]]]
        assert points == sorted(points, key=lambda point: point[0])
        assert (points[0][0], points[-1][0]) >= (NOW - DAY, NOW - HOUR), "the day that is chosen"
        assert len({tuple(point[:-1]) for point in points}) == len(points), "one value each time and series"
        assert not body["truncated"]
    assert len(dashboard["panels"]) == 4


def test_dlts_resource_has_one_row_for_each_primary_key(market: Rig) -> None:
    code = re.search(r"^prices = (\{.*?^\})", (EXAMPLES.parent / "pipelines.md").read_text(), re.MULTILINE | re.DOTALL)
    assert code is not None
    resource = ast.literal_eval(code[1])
    endpoint, client = resource["endpoint"], market.client()
    params = {**endpoint["params"], "start": endpoint["incremental"]["initial_value"], "zones": "GB,DE-LU"}
    body = asked((client, market.key(client)), f"{SERVER}/v1/{endpoint['path']}?{urlencode(params)}")
    rows = body[endpoint["data_selector"]]
    assert len({tuple(row[name] for name in resource["primary_key"]) for row in rows}) == len(rows) > 0
    assert endpoint["incremental"]["cursor_path"] in rows[0]


def test_n8ns_workflow_reads_members_that_the_window_has(served: Any) -> None:
    workflow = json.loads((EXAMPLES / "n8n.json").read_text())
    _, request, condition = workflow["nodes"]
    parameters = request["parameters"]
    query = {each["name"]: each["value"] for each in parameters["queryParameters"]["parameters"]}
    body = asked(served, f"{parameters['url']}?{urlencode(query)}")
    [rule] = condition["parameters"]["conditions"]["conditions"]
    assert rule["leftValue"] == "={{ $json.available && $json.now.in_best }}"
    assert isinstance(body["available"], bool)
    assert isinstance(body["now"]["in_best"], bool)
    names = {node["name"] for node in workflow["nodes"]}
    targets = {each["node"] for links in workflow["connections"].values() for each in links["main"][0]}
    assert names == targets | {workflow["nodes"][0]["name"]} == {*workflow["connections"], condition["name"]}
