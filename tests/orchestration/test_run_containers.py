"""Dagster in the fleet: the settings of one machine but for launcher and storage; its servers by compose's lines."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestration.servers import dagster_home
from tests.fleet.parts import Parts
from tests.fleet.pipeline import Dagster
from tests.stand_ins.buckets import CREDENTIALS
from tests.stand_ins.compose import FLEET, model
from tests.stand_ins.container_engine import Container
from tests.stand_ins.postgres import programs

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")
SERVICES: dict[str, Any] = model(FLEET)["services"]
JOB = "energinet_every_3h"
TODAY = time.strftime("%Y-%m-%d", time.gmtime())


def configured(folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: str) -> Path:
    """A Dagster home under these settings of emds."""
    for name in ("EMDS_DAGSTER_POSTGRES_URL", "EMDS_RUN_IMAGE"):
        monkeypatch.setenv(name, settings.get(name, ""))
    monkeypatch.setenv("DAGSTER_HOME", "")
    return dagster_home.dagster_home(folder)


def test_the_fleet_differs_from_one_machine_by_launcher_and_storage_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = {name: FLEET[name] for name in ("EMDS_DAGSTER_POSTGRES_URL", "EMDS_RUN_IMAGE")}
    places = configured(tmp_path / "one", monkeypatch), configured(tmp_path / "fleet", monkeypatch, **fleet)
    one, many = (yaml.safe_load((place / "dagster.yaml").read_text()) for place in places)
    assert {name for name in many if many[name] != one.get(name)} == {"run_launcher", "storage"}
    assert set(one) <= set(many)
    assert FLEET["EMDS_POSTGRES_PASSWORD"] not in (places[1] / "dagster.yaml").read_text()
    launcher = many["run_launcher"]
    assert launcher["class"] == "DockerRunLauncher"
    assert launcher["config"]["image"] == {"env": "EMDS_RUN_IMAGE"}


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Parts]:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    parts = Parts(tmp_path, f"{TODAY}T12:00:00Z", str(date.fromisoformat(TODAY) - timedelta(days=5)))
    try:
        yield parts
    finally:
        parts.close()


@pytest.mark.campaign
@pytest.mark.timeout(900)
@pytest.mark.skipif(programs() is None, reason="PostgreSQL: run `make setup`")
def test_a_run_goes_through_composes_servers_into_a_container_of_its_own(parts: Parts) -> None:
    parts.engine.keep = True
    span = ("--start", TODAY, "--end", TODAY)
    parts.emds(("backfill", "--feed", "neso.generation", *span))
    parts.start_dagster()
    checked = parts.health("code")
    assert checked.returncode == 0, f"{checked.stdout}{checked.stderr}"
    dagster = Dagster(parts.ports["webserver"])
    dagster.ready(documents=False)
    parts.start_daemon()
    run = dagster.refresh(JOB, TODAY, TODAY)
    dagster.wait(lambda: status(dagster, run) in ("SUCCESS", "FAILURE"), 300)
    (container,) = [each for each in parts.engine.containers.values() if run in each.wanted["Labels"].values()]
    assert status(dagster, run) == "SUCCESS", (container.disk / "output.log").read_text()[-4000:]
    is_as_composed(container, parts)
    for service in ("webserver", "daemon"):
        checked = parts.health(service)
        assert checked.returncode == 0, f"{checked.stdout}{checked.stderr}"


def status(dagster: Dagster, run: str) -> str:
    """What became of a run."""
    return next((str(each["status"]) for each in dagster.runs() if each["id"] == run), "")


def is_as_composed(container: Container, parts: Parts) -> None:
    """Image, environment, network, volumes and rights of a run's container are those of compose's services."""
    service, host = SERVICES["fill"], container.wanted["HostConfig"]
    assert container.wanted["Image"] == service["image"]
    told = {name: value for name, value in container.environ.items() if name != "DAGSTER_RUN_JOB_NAME"}
    told["EMDS_DAGSTER_POSTGRES_URL"] = told["EMDS_DAGSTER_POSTGRES_URL"].replace("+psycopg2", "")
    assert told == {name: parts.environ("daemon")[name] for name in SERVICES["daemon"]["environment"]}
    assert host["NetworkMode"] == "emds-data"
    assert host["Binds"] == ["emds-site:/public"]
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges:true"]
    assert host["AutoRemove"] is True
    assert host["Tmpfs"] == {"/tmp": ""}
    assert "Privileged" not in host or not host["Privileged"]
    assert (container.disk / "dagster").exists(), "what a run writes lies on a disk of its own"
    for secret in (parts.postgres.address("dagster").partition("@")[2], CREDENTIALS["AWS_SECRET_ACCESS_KEY"]):
        assert secret in str(container.wanted["Env"])
        assert secret not in str(container.wanted["Cmd"])
