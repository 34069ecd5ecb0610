"""Compare installed packages with the lock files, without the network. List faults and exit with 1 if there are any.

Every requirement must have hashes, the image's versions must be those of the tests, every installed package must have
the locked version, and every installed file the hash that its package records.
"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ("requirements.lock", "requirements-image.lock")
OURS = {"emds", "pip", "uv"}
"""The packages that are not locked: the project, and those that install and lock."""


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(text: str) -> dict[str, set[str]]:
    """Return the versions that a lock file allows for each name."""
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([A-Za-z0-9_.\-]+)(?:\[[^\]]*\])?==([^\s;\\]+)", text, re.MULTILINE):
        found.setdefault(canonical(name), set()).add(version)
    return found


def without_hashes(text: str) -> list[str]:
    """Return the requirements of a lock file that do not have a hash."""
    blocks = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)
    return [block.split()[0] for block in blocks if "==" in block and "--hash=sha256:" not in block]


def changed(distribution: Distribution) -> Iterator[str]:
    """Yield a line for each file of an installed package that differs from its record."""
    for file in distribution.files or ():
        # Only code counts: some packages overwrite each other's docs in a common folder.
        if file.parts[0] == "docs" or file.suffix not in (".py", ".so"):
            continue
        if file.hash is None or file.hash.mode != "sha256":
            continue
        path = Path(str(file.locate()))
        if not path.is_file():
            yield f"{distribution.name}: {file} is missing"
            continue
        digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()
        if digest != file.hash.value:
            yield f"{distribution.name}: {file} was changed"


def faults() -> Iterator[str]:
    texts = {name: (ROOT / name).read_text() for name in LOCKS}
    for name, text in texts.items():
        yield from (f"{name}: {requirement} has no hash" for requirement in without_hashes(text))
    tests, image = (locked(texts[name]) for name in LOCKS)
    for name, versions in image.items():
        if versions != tests.get(name):
            yield f"{name}: {sorted(versions)} in the image, {sorted(tests.get(name, ()))} in the tests"
    for distribution in distributions():
        name = canonical(distribution.name)
        if name in OURS:
            continue
        if distribution.version not in tests.get(name, ()):
            yield f"{name} {distribution.version} is installed, {sorted(tests.get(name, ())) or 'nothing'} is locked"
        yield from changed(distribution)


if __name__ == "__main__":
    found = list(faults())
    sys.stdout.write("\n".join([*found, f"{len(found)} faults\n"]))
    sys.exit(1 if found else 0)
