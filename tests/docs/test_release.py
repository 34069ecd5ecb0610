"""Check that one version is used everywhere, and that both wheels contain all that runs in a separate environment."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
import requests

from tests.bench.servers import running
from tests.stand_ins.days import NOW
from tests.stand_ins.ports import free_port
from warehouse.version import __version__

ROOT = Path(__file__).resolve().parents[2]
CLIENT = "clients/python"


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).exists()]


def test_every_place_that_cannot_read_the_version_has_it() -> None:
    assert f'\n__version__ = "{__version__}"\n' in (ROOT / CLIENT / "emds_client" / "version.py").read_text()
    assert json.loads((ROOT / "server.json").read_text())["version"] == __version__
    deploy = ROOT / "orchestration" / "deploy"
    assert f"image: emds:{__version__}\n" in (deploy / "kubernetes" / "api.yaml").read_text()
    assert f"repository: emds, tag: {__version__}," in (deploy / "helm" / "dagster-values.yaml").read_text()


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build both wheels from a copy of the tracked files, since a build leaves files behind; return their folder."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheels")
    for name in tracked():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, source / name, follow_symlinks=False)
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", out]
    for project in (source, source / CLIENT):
        subprocess.run([*build, project], check=True, cwd=out, timeout=250)
    return out


@pytest.fixture(scope="module")
def programs(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs of an environment with both wheels, which finds dependencies in this environment."""
    place = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True, timeout=120)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        place / "bin" / "python",
        "install",
        "-q",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*pip, *wheels.iterdir()], check=True, timeout=120)
    # Python does not read .pth files in a path from a .pth file, so the clone's own installation stays hidden.
    (next((place / "lib").iterdir()) / "site-packages" / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return place / "bin"


@pytest.mark.slow
def test_the_wheels_hold_every_file_that_runs(wheels: Path) -> None:
    assert any(
        name == "emds_client/py.typed" for wheel in wheels.iterdir() for name in zipfile.ZipFile(wheel).namelist()
    )
    held = {name for wheel in wheels.iterdir() for name in zipfile.ZipFile(wheel).namelist()}
    rooms = ("api/", "assets/", "geo_data/", "orchestration/", "warehouse/")
    wanted = {name for name in tracked() if name.startswith(rooms) and not name.startswith(CLIENT)} - {"api/guides"}
    wanted |= {
        f"api/guides/{name[5:]}"
        for name in tracked()
        if re.fullmatch(r"docs/(?!map\.webp)(examples/)?[\w.-]+\.\w+", name)
    }
    aside = {name for name in wanted if name.startswith("orchestration/deploy/") and name.count("/") > 2}
    missing = (
        wanted
        - held
        - aside
        - {f"orchestration/deploy/{name}" for name in ("databases.sql", "fleet.env", "nginx.conf.template")}
    )
    assert not missing
    assert {f"emds-{__version__}", f"emds_client-{__version__}"} == {
        w.name.partition("-py3")[0] for w in wheels.iterdir()
    }


@pytest.mark.slow
def test_the_service_starts_outside_the_clone(programs: Path, tmp_path: Path) -> None:
    environ = {name: text for name, text in os.environ.items() if not name.startswith(("EMDS_", "PYTHON"))}
    environ |= {"EMDS_HOME": str(tmp_path / "home"), "EMDS_METRICS_TOKEN": "token", "EMDS_NOW": NOW}

    def say(*argv: str) -> str:
        return subprocess.run(
            argv, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True, timeout=60
        ).stdout

    assert say(f"{programs}/emds", "--version") == f"emds {__version__}\n"
    shown = "import emds_client as e, api, assets; print(e.__version__, e.__file__, api.__file__, assets.__file__)"
    version, *files = say(f"{programs}/python", "-c", shown).split()
    assert version == __version__
    assert all(Path(file).is_relative_to(programs.parent) for file in files)
    say(f"{programs}/emds", "ingest", "--feed", "elexon.price")
    port = free_port()
    url = f"http://127.0.0.1:{port}"

    def get(path: str) -> str:
        answer = requests.get(f"{url}{path}", headers={"Connection": "close"}, timeout=60)
        assert answer.status_code == 200, path
        return answer.text

    with running([f"{programs}/emds", "serve", "--port", str(port)], environ, f"{url}/healthz", tmp_path):
        assert json.loads(get("/openapi.json"))["info"]["version"] == __version__
        assert json.loads(get("/v1/geo/zones.geojson"))["type"] == "FeatureCollection"
        assert json.loads(get("/v1/price/GB?sample=true"))["count"] > 0
        assert "<script" in get("/")
        assert "ENTSO-E" in get("/docs/feeds")
        assert "tariffs:" in get("/docs/examples/evcc.yaml")
    # The next lines load Dagster's home and definitions, as `emds up` does.
    load = "import orchestration.definitions as d; print(len(list(d.build().resolve_all_asset_specs())))"
    assert int(say(f"{programs}/python", "-c", load)) > 50
    home = (
        "from pathlib import Path; from orchestration.servers.dagster_home import dagster_home; dagster_home(Path('d'))"
    )
    say(f"{programs}/python", "-c", home)
    assert "run_monitoring" in (tmp_path / "d" / "dagster" / "dagster.yaml").read_text()
