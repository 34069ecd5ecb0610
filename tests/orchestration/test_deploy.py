"""What stands in `orchestration/deploy` for Kubernetes and Helm: names agree, probes exist, no rights too many."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from api.endpoints.table import ENDPOINTS
from api.settings import Settings
from warehouse import settings

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "orchestration" / "deploy"
KINDS: dict[str, dict[str, Any]] = {
    part["kind"]: part for part in yaml.safe_load_all((DEPLOY / "kubernetes" / "api.yaml").read_text())
}
VALUES: dict[str, Any] = yaml.safe_load((DEPLOY / "helm" / "dagster-values.yaml").read_text())


def pod() -> dict[str, Any]:
    return dict(KINDS["Deployment"]["spec"]["template"]["spec"])


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


def test_the_helm_values_name_the_module_and_dagster_yamls_limits() -> None:
    (deployment,) = VALUES["dagster-user-deployments"]["deployments"]
    module = deployment["dagsterApiGrpcArgs"][1]
    assert (ROOT / f"{module.replace('.', '/')}.py").exists()
    own = yaml.safe_load((DEPLOY / "dagster.yaml").read_text())
    daemon = VALUES["dagsterDaemon"]
    queue = daemon["runCoordinator"]["config"]["queuedRunCoordinator"]
    assert snake(queue) == own["concurrency"]["runs"]
    assert snake(VALUES["concurrency"]) == {"enabled": True, "pools": own["concurrency"]["pools"]}
    assert snake(daemon["runMonitoring"]) == own["run_monitoring"]
    assert snake(daemon["runRetries"]) == own["run_retries"]
    locked = re.search(r"^dagster==([\d.]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert locked is not None
    assert f"--version {locked[1]}" in (DEPLOY / "helm" / "dagster-values.yaml").read_text()


def test_the_pods_share_a_bucket_and_no_disk() -> None:
    (deployment,) = VALUES["dagster-user-deployments"]["deployments"]
    launcher = VALUES["runLauncher"]["config"]["k8sRunLauncher"]
    (container,) = pod()["containers"]
    for given, mounts in (
        (deployment["env"], deployment["volumeMounts"]),
        (container["env"], container["volumeMounts"]),
    ):
        named = {variable["name"]: variable["value"] for variable in given}
        assert named["EMDS_HOME"] == "s3://emds/warehouse"
        assert named["EMDS_LOCAL"] in {mount["mountPath"] for mount in mounts}
        assert set(named) - {"WEB_CONCURRENCY"} <= set(settings.BY_NAME)
    assert launcher["volumeMounts"] == deployment["volumeMounts"]
    assert launcher["volumes"] == deployment["volumes"]
    for volume in (*deployment["volumes"], *pod()["volumes"]):
        assert set(volume) == {"name", "emptyDir"}, volume


def snake(values: Any) -> Any:
    """Helm's names as Dagster's own file has them; what a tag's value says is Dagster's already."""
    if isinstance(values, dict):
        return {
            re.sub("(?<=[a-z])([A-Z])", r"_\1", name).lower(): part if name == "value" else snake(part)
            for name, part in values.items()
        }
    return [snake(part) for part in values] if isinstance(values, list) else values
