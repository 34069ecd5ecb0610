"""Test the Kubernetes and Helm files (names, probes, minimal rights) and the image (locked, complete, not root)."""

from __future__ import annotations

import configparser
import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from api.endpoints.table import ENDPOINTS
from api.settings import Settings
from orchestration.servers import up
from warehouse import settings

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "orchestration" / "deploy"
DOCKERFILE = (ROOT / "Dockerfile").read_text()
MONITOR: dict[str, Any] = yaml.safe_load((DEPLOY / "kubernetes" / "pod-monitor.yaml").read_text())
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
    assert {name for name in given if name.startswith("EMDS_")} <= set(settings.DEFAULTS)
    Settings.from_environ(given | {"EMDS_DATABASE_URL": "postgresql://emds@db/accounts"})


def test_prometheus_scrapes_the_pods_with_the_token_that_opens_metrics() -> None:
    template = KINDS["Deployment"]["spec"]["template"]
    assert "annotations" not in template["metadata"], "an annotation cannot carry the bearer token"
    labels = MONITOR["spec"]["selector"]["matchLabels"]
    assert labels.items() <= template["metadata"]["labels"].items()
    (endpoint,) = MONITOR["spec"]["podMetricsEndpoints"]
    assert endpoint["path"] == ENDPOINTS["metrics"].path
    assert endpoint["port"] in {port["name"] for port in pod()["containers"][0]["ports"]}
    credentials = endpoint["authorization"]["credentials"]
    assert credentials["key"] == "EMDS_METRICS_TOKEN"
    assert credentials["name"] in {source["secretRef"]["name"] for source in pod()["containers"][0]["envFrom"]}


def test_the_systemd_unit_runs_emds_up_and_lets_it_stop_by_itself() -> None:
    unit = configparser.ConfigParser()
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(DEPLOY / "emds.service")
    service = unit["Service"]
    assert service["ExecStart"].endswith("/.venv/bin/emds up")
    assert service["KillMode"] == "mixed", "SIGTERM goes to `emds up` alone, which stops its servers in order"
    assert int(service["TimeoutStopSec"]) > up.STOP_WITHIN_S
    assert service["Restart"] == "on-failure"


def test_the_autoscaler_alone_decides_how_many_pods_run() -> None:
    assert "replicas" not in KINDS["Deployment"]["spec"], "each apply would reset the autoscaler's count"
    scaled = KINDS["HorizontalPodAutoscaler"]["spec"]
    assert scaled["scaleTargetRef"]["name"] == KINDS["Deployment"]["metadata"]["name"]
    assert scaled["minReplicas"] > KINDS["PodDisruptionBudget"]["spec"]["minAvailable"]


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
        assert named["EMDS_LOCAL_DIR"] in {mount["mountPath"] for mount in mounts}
        assert set(named) - {"WEB_CONCURRENCY"} <= set(settings.DEFAULTS)
    assert launcher["volumeMounts"] == deployment["volumeMounts"]
    assert launcher["volumes"] == deployment["volumes"]
    for volume in (*deployment["volumes"], *pod()["volumes"]):
        assert set(volume) == {"name", "emptyDir"}, volume


def snake(values: Any) -> Any:
    """Return Helm's names as Dagster's own file has them; the value of a tag has Dagster's names already."""
    if isinstance(values, dict):
        return {
            re.sub("(?<=[a-z])([A-Z])", r"_\1", name).lower(): part if name == "value" else snake(part)
            for name, part in values.items()
        }
    return [snake(part) for part in values] if isinstance(values, list) else values


# The following tests check the image.


def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", ROOT / ".ci" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def instructions(word: str) -> list[str]:
    joined = DOCKERFILE.replace("\\\n", " ")
    return [line.split(None, 1)[1] for line in joined.splitlines() if line.startswith(f"{word} ")]


def test_what_the_image_installs_is_locked_by_hash() -> None:
    installs = [line for line in instructions("RUN") if "pip install" in line]
    assert len(installs) == 2
    assert "--require-hashes -r requirements-image.lock" in installs[0]
    assert "--no-deps" in installs[1]


def test_everything_that_the_image_copies_is_there() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    for line in instructions("COPY"):
        if "--from" not in line:
            for name in line.split()[:-1]:
                assert (ROOT / name).exists(), name
                assert name not in ignored
    installed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    packages = {name.partition(".")[0] for name in installed}
    copied = {name for line in instructions("COPY") for name in line.split()[:-1]}
    assert packages <= copied, "a package is left out of the image"


def test_both_locks_have_hashes_and_the_image_holds_what_was_tested() -> None:
    checks = audit()
    texts = [(ROOT / name).read_text() for name in checks.LOCKS]
    assert [checks.without_hashes(text) for text in texts] == [[], []]
    tested, image = map(checks.locked, texts)
    assert len(image) > 50
    assert {name: versions for name, versions in image.items() if tested.get(name, versions) != versions} == {}
    assert not {"pytest", "mypy", "x402"} & image.keys()
