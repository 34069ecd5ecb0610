"""What stands in `orchestration/deploy` and the profile `fleet`: names agree, probes exist, no rights too many."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from api.endpoints import ENDPOINTS
from api.settings import Settings
from orchestration.settings import PipelineSettings
from tests.stand_ins.web_server import configured
from warehouse import settings

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "orchestration" / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
KINDS: dict[str, dict[str, Any]] = {
    part["kind"]: part for part in yaml.safe_load_all((DEPLOY / "kubernetes" / "api.yaml").read_text())
}
VALUES: dict[str, Any] = yaml.safe_load((DEPLOY / "helm" / "dagster-values.yaml").read_text())
FLEET = dict(line.split("=", 1) for line in (DEPLOY / "fleet.env").read_text().splitlines() if line and line[0] != "#")
APIS = {
    "Deployment": "apps/v1",
    "Service": "v1",
    "PodDisruptionBudget": "policy/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
}


def pod() -> dict[str, Any]:
    return dict(KINDS["Deployment"]["spec"]["template"]["spec"])


def test_the_manifests_are_of_known_kinds_and_select_the_same_pods() -> None:
    assert {kind: part["apiVersion"] for kind, part in KINDS.items()} == APIS
    labels = KINDS["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert KINDS["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert KINDS["Service"]["spec"]["selector"] == labels
    assert KINDS["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    target = KINDS["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) == ("Deployment", KINDS["Deployment"]["metadata"]["name"])
    least = KINDS["PodDisruptionBudget"]["spec"]["minAvailable"]
    assert least < KINDS["Deployment"]["spec"]["replicas"] <= KINDS["HorizontalPodAutoscaler"]["spec"]["maxReplicas"]


def test_probes_ask_paths_that_exist_on_a_port_that_is_named() -> None:
    (container,) = pod()["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert container["command"][-1] == str(ports["http"])
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = container[probe]["httpGet"]
        assert asked["port"] in ports
        assert asked["path"] in {endpoint.path for endpoint in ENDPOINTS.values()}
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz", "a pod without its volume takes no calls"
    assert KINDS["Service"]["spec"]["ports"][0]["targetPort"] in ports


def test_a_pod_has_no_rights_that_it_does_not_need_and_what_it_needs() -> None:
    (container,) = pod()["containers"]
    secure = container["securityContext"]
    assert secure == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod()["securityContext"]["runAsNonRoot"] is True
    assert pod()["automountServiceAccountToken"] is False
    assert {"requests", "limits"} <= container["resources"].keys()
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod()["volumes"]}
    given = {variable["name"]: variable["value"] for variable in container["env"]}
    assert {name for name in given if name.startswith("EMDS_")} <= set(settings.BY_NAME)
    Settings.from_environ(given | {"EMDS_DATABASE_URL": "postgresql://emds@db/accounts"})


def test_the_helm_values_name_the_module_and_the_same_volume() -> None:
    (deployment,) = VALUES["dagster-user-deployments"]["deployments"]
    module = deployment["dagsterApiGrpcArgs"][1]
    assert (ROOT / f"{module.replace('.', '/')}.py").exists()
    launcher = VALUES["runLauncher"]["config"]["k8sRunLauncher"]
    assert launcher["volumes"] == deployment["volumes"] == [pod()["volumes"][0]]
    own = yaml.safe_load((ROOT / "dagster.yaml").read_text())["concurrency"]["runs"]
    queue = VALUES["dagsterDaemon"]["runCoordinator"]["config"]["queuedRunCoordinator"]
    assert queue["maxConcurrentRuns"] == own["max_concurrent_runs"]
    assert queue["tagConcurrencyLimits"] == own["tag_concurrency_limits"]
    locked = re.search(r"^dagster==([\d.]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert locked is not None
    assert f"--version {locked[1]}" in (DEPLOY / "helm" / "dagster-values.yaml").read_text()


def test_the_fleets_settings_are_read_and_lead_to_its_services() -> None:
    services = COMPOSE["services"]
    fleet = {name for name, service in services.items() if "fleet" in service.get("profiles", ())}
    assert fleet == {"replica", "postgres", "web"}
    assert services["replica"]["deploy"]["replicas"] == 3
    assert Settings.from_environ(FLEET).trusted_proxies
    assert PipelineSettings.from_environ(FLEET).dagster_postgres_url
    handed_on = set(services["pipeline"]["environment"])
    assert {name for name in FLEET if name != "EMDS_POSTGRES_PASSWORD"} <= handed_on
    for name in ("EMDS_DATABASE_URL", "EMDS_DAGSTER_POSTGRES_URL"):
        assert "@postgres:5432/" in FLEET[name]
        assert f":{FLEET['EMDS_POSTGRES_PASSWORD']}@" in FLEET[name]
    made = {services["postgres"]["environment"]["POSTGRES_DB"], "dagster"}
    assert {FLEET[name].rpartition("/")[2] for name in ("EMDS_DATABASE_URL", "EMDS_DAGSTER_POSTGRES_URL")} == made
    assert "CREATE DATABASE dagster;" in (DEPLOY / "databases.sql").read_text()


def test_every_volume_file_and_name_of_the_compose_file_is_there() -> None:
    services = COMPOSE["services"]
    for service in services.values():
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert source in COMPOSE["volumes"] or (ROOT / source).exists(), source
        assert set(service.get("depends_on", ())) <= set(services)
    web = services["web"]
    given = {name: value for name, value in web["environment"].items() if name.startswith("EMDS_")}
    assert set(given) == set(re.findall(r"\$\{(EMDS_\w+)\}", (DEPLOY / "nginx.conf.template").read_text()))
    host, port = given["EMDS_API"].split(":")
    assert services[host]["command"][-1] == port
    assert FLEET["EMDS_PUBLISH_TO"] == given["EMDS_PUBLIC_FOLDER"]
    assert web["ports"][0].endswith(f":{given['EMDS_LISTEN']}")
    assert configured("8080", given["EMDS_API"], Path("/public"), Path("/tmp"))
