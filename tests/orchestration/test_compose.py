"""Test compose.yaml: the Compose specification accepts it, one machine stays the same, the fleet's parts agree."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from api.settings import Settings
from assets.sources import sources
from orchestration import cli
from orchestration.servers import dagster_home, serve
from orchestration.work.environment import PipelineSettings
from tests.stand_ins.compose import DEPLOY, FLEET, ROOT, model, started, variables
from tests.stand_ins.web_server import configured
from warehouse import settings
from warehouse.store import artefact, layout
from warehouse.store.storage import Folder

SERVICES: dict[str, Any] = model(FLEET)["services"]
OURS = {name for name, service in SERVICES.items() if "build" in service and "profiles" in service}
LAUNCHER: dict[str, Any] = yaml.safe_load((DEPLOY / "run_containers.yaml").read_text())["run_launcher"]["config"]
SCHEMA = files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json"
TESTS_OWN = {"EMDS_NOW", "EMDS_SIMULATED_FAULTS", "EMDS_ALLOW_PRIVATE_WEBHOOKS"}
SOCKET = "/var/run/docker.sock:/var/run/docker.sock"


@pytest.mark.parametrize("environ", [{}, FLEET], ids=["one machine", "fleet"])
def test_the_file_is_as_the_compose_specification_publishes(environ: dict[str, str]) -> None:
    schema = json.loads(SCHEMA.read_text())
    jsonschema.validate(model(environ), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"services": {"api": {"comand": []}}}, schema)


def test_one_machine_starts_what_it_did_and_the_fleet_nothing_of_it() -> None:
    alone = started({})
    assert set(alone) == {"one-fill", "one-code", "one-webserver", "one-daemon", "api"}
    for service in alone.values():
        assert service["volumes"] == ["warehouse:/data", "public:/public"]
        assert "image" not in service
        assert "networks" not in service
        assert "EMDS_HOME" not in service["environment"], "the image's: /data"
    fleet = started(FLEET, "fleet")
    assert set(fleet) == set(SERVICES) - set(alone)
    servers = {"postgres", "store", "code", "webserver", "daemon", "replica", "web"}
    assert set(fleet) == servers | {"bucket", "fill"}
    assert fleet["replica"]["deploy"]["replicas"] == 3
    assert {name for name, service in fleet.items() if service["restart"] == "no"} == {"bucket", "fill"}


def test_every_variable_of_the_fleet_is_read_and_leads_to_its_services() -> None:
    assert set(FLEET) <= variables()
    environ, piped = SERVICES["replica"]["environment"], SERVICES["daemon"]["environment"]
    assert {name for name in environ | piped if name.startswith("EMDS_")} | {"ENTSOE_ENDPOINT"} == (
        set(settings.DEFAULTS) - TESTS_OWN
    )
    assert "ENTSOE_ENDPOINT" in environ
    told = Settings.from_environ(environ)
    assert told.trusted_proxies
    assert Settings.from_environ(piped).database_url == told.database_url
    pipeline = PipelineSettings.from_environ(piped)
    assert pipeline.dagster_postgres_url
    assert pipeline.run_image == SERVICES["code"]["image"] == FLEET["EMDS_RUN_IMAGE"]
    store = SERVICES["store"]
    assert environ["EMDS_HOME"].startswith("s3://")
    assert environ["EMDS_HOME"].endswith("?endpoint=http://store:8333")
    assert {name: environ[name] for name in store["environment"]} == store["environment"], "the same credentials"
    for name in ("EMDS_DATABASE_URL", "EMDS_DAGSTER_POSTGRES_URL"):
        assert "@postgres:5432/" in FLEET[name]
        assert f":{FLEET['EMDS_POSTGRES_PASSWORD']}@" in FLEET[name]
    made = {SERVICES["postgres"]["environment"]["POSTGRES_DB"], "dagster"}
    assert {FLEET[name].rpartition("/")[2] for name in ("EMDS_DATABASE_URL", "EMDS_DAGSTER_POSTGRES_URL")} == made
    assert "CREATE DATABASE dagster;" in (DEPLOY / "databases.sql").read_text()


SALES = {"EMDS_DATABASE_URL", "EMDS_RPC_URL", "EMDS_FACILITATOR_AUTH", "EMDS_SMTP_URL", "EMDS_METRICS_TOKEN"}
PUBLISHERS = {name for source in sources().values() for name in source.required_env}
PIPELINE = {
    "EMDS_DATABASE_URL",  # the pipeline delivers webhooks and reconciles payments
    "EMDS_RPC_URL",
    "EMDS_ALERT_WEBHOOK",
    "EMDS_DAGSTER_POSTGRES_URL",
    *PUBLISHERS,
}
STORE = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
SECRETS_OF = {
    "one-fill": PIPELINE,
    "one-code": PIPELINE,
    "one-webserver": {"EMDS_DAGSTER_POSTGRES_URL"},
    "one-daemon": {"EMDS_DAGSTER_POSTGRES_URL"},
    "api": SALES,
    "fill": PIPELINE | STORE,
    "code": PIPELINE | STORE,
    "daemon": PIPELINE | STORE,
    "webserver": {"EMDS_DAGSTER_POSTGRES_URL"},
    "replica": SALES | STORE,
    "bucket": STORE,
    "store": STORE,
    "postgres": {"POSTGRES_PASSWORD"},
    "web": set(),
}


def test_a_container_gets_the_secrets_that_it_needs_and_no_other() -> None:
    secret = settings.SECRETS | PUBLISHERS | STORE | {"POSTGRES_PASSWORD"}
    given = {name: secret & set(service.get("environment", ())) for name, service in SERVICES.items()}
    assert given == SECRETS_OF
    assert not [name for name in SERVICES["web"]["environment"] if "KEY" in name or "PASSWORD" in name]


@pytest.mark.parametrize("name", sorted(OURS))
def test_a_command_is_a_verb_with_its_options(name: str) -> None:
    command = SERVICES[name]["command"]
    assert command[0] == "emds"
    params = cli.emds.commands[command[1]].make_context(command[1], command[2:]).params
    if name in ("webserver", "daemon"):
        environ = SERVICES[name]["environment"]
        listens = SERVICES[environ["DAGSTER_CODE_HOST"]]["command"]
        port = environ["DAGSTER_CODE_PORT"]
        assert listens[listens.index("--port") + 1] == port == SERVICES["code"]["healthcheck"]["test"][-1]
        assert (ROOT / params["options"][params["options"].index("--workspace") + 1]).exists()
    if name in ("code", "webserver", "daemon"):
        assert params["program"] in cli.PROGRAMS
        assert SERVICES[f"one-{name}"]["command"] == command
    if name in ("code", "webserver"):
        assert params["options"][params["options"].index("--host") + 1] == "0.0.0.0"


def test_a_run_gets_what_a_service_has() -> None:
    service, kwargs = SERVICES["fill"], LAUNCHER["container_kwargs"]
    assert set(LAUNCHER["env_vars"]) == set(SERVICES["daemon"]["environment"])
    whole = model(FLEET)
    assert LAUNCHER["network"] == whole["networks"]["data"]["name"]
    assert service["networks"] == ["data"]
    assert kwargs["volumes"] == [f"{whole['volumes']['site']['name']}:/public"]
    assert "site:/public" in service["volumes"]
    for name in ("read_only", "cap_drop", "security_opt", "init"):
        assert kwargs[name] == service[name], name
    assert list(kwargs["tmpfs"]) == service["tmpfs"]
    assert f"{kwargs['stop_timeout']}s" == service["stop_grace_period"]
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert 'VOLUME ["/data", "/public"]' in dockerfile, "a run writes to a disk of its own there"


def test_the_fleets_dagster_differs_from_one_machines_by_launcher_and_storage_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", "")
    configured = []
    for folder, environ in (("one", {}), ("fleet", FLEET)):
        for name in ("EMDS_DAGSTER_POSTGRES_URL", "EMDS_RUN_IMAGE"):
            monkeypatch.setenv(name, environ.get(name, ""))
        configured.append((dagster_home.dagster_home(tmp_path / folder) / "dagster.yaml").read_text())
    one, many = map(yaml.safe_load, configured)
    assert {name for name in many if many[name] != one.get(name)} == {"run_launcher", "storage"}
    assert set(one) <= set(many)
    assert FLEET["EMDS_POSTGRES_PASSWORD"] not in configured[1]
    assert many["run_launcher"]["class"] == "DockerRunLauncher"
    assert many["run_launcher"]["config"]["image"] == {"env": "EMDS_RUN_IMAGE"}


def test_every_volume_file_and_network_is_there() -> None:
    whole = model(FLEET)
    for name, service in whole["services"].items():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in whole["volumes"] or source == "/data" or volume == SOCKET or (ROOT / source).exists(), name
        assert set(service.get("networks", ())) <= set(whole["networks"])
    web = whole["services"]["web"]
    given = {name: value for name, value in web["environment"].items() if name.startswith("EMDS_")}
    assert set(given) == set(re.findall(r"\$\{(EMDS_\w+)\}", (DEPLOY / "nginx.conf.template").read_text()))
    host, port = given["EMDS_API"].split(":")
    assert whole["services"][host]["command"][-1] == port
    assert FLEET["EMDS_PUBLISH_TO"] == given["EMDS_PUBLIC_FOLDER"]
    assert web["ports"][0].endswith(f":{given['EMDS_LISTEN']}")
    assert configured("8080", given["EMDS_API"], Path("/public"), Path("/tmp"))


def test_an_api_without_credentials_keeps_sources_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rebuild a damaged catalogue, which the pipeline published with its credentials."""
    for name in PUBLISHERS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EMDS_HOME", str(tmp_path))
    monkeypatch.setenv("EMDS_FEEDS", "live")
    monkeypatch.setenv("EIA_API_KEY", "key")
    serve.prepare()
    monkeypatch.delenv("EIA_API_KEY")
    serve.prepare()
    stored = artefact.load(Folder(tmp_path), layout.CATALOGUE)["sources"]
    assert (stored["eia"]["configured"], stored["pjm"]["configured"]) == (True, False)
    file = tmp_path / layout.published(layout.CATALOGUE)
    file.write_bytes(file.read_bytes()[:-9])
    serve.prepare()
    assert not artefact.load(Folder(tmp_path), layout.CATALOGUE)["sources"]["eia"]["configured"]
