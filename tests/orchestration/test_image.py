"""The image and its compose file: two stages, a base by argument, no root, a read-only file system.

And the audit of locks.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
from importlib.metadata import PathDistribution
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()


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
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"}
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


def test_the_audit_finds_what_has_no_hash_and_what_was_changed(tmp_path: Path) -> None:
    checks = audit()
    assert checks.without_hashes("a==1\nb==2 \\\n    --hash=sha256:00\n") == ["a==1"]
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"x = 1\n").digest()).rstrip(b"=").decode()
    folder = tmp_path / "toy-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1\n")
    (folder / "RECORD").write_text(f"toy.py,sha256={digest},6\ngone.py,sha256={digest},6\ntoy-1.dist-info/RECORD,,\n")
    (tmp_path / "toy.py").write_text("x = 1\n")
    distribution = PathDistribution(folder)
    assert list(checks.changed(distribution)) == ["toy: gone.py is missing"]
    (tmp_path / "toy.py").write_text("x = 2\n")
    assert list(checks.changed(distribution)) == ["toy: toy.py was changed", "toy: gone.py is missing"]
