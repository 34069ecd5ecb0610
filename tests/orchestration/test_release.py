"""A warehouse of another schema version: every verb refuses it in one sentence and leaves it as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestration.cli import main
from tests.orchestration.conftest import in_simulated
from warehouse.store import layout, modes
from warehouse.store.seal import SCHEMA_VERSION
from warehouse.store.storage import Folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    in_simulated(monkeypatch, tmp_path)
    storage = Folder(tmp_path)
    modes.ensure(storage, "simulated")
    return storage


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        (
            "2",
            f"this warehouse was written by an older release (schema 2, this one writes {SCHEMA_VERSION}): "
            "name another EMDS_HOME and fill it with `emds backfill`",
        ),
        (
            "9",
            f"this warehouse was written by a newer release (schema 9, this one knows {SCHEMA_VERSION}): "
            "use that release, or another EMDS_HOME",
        ),
        ("two", f"the file `schema` holds 'two' and no version: write {SCHEMA_VERSION} into it, or restore it"),
    ],
)
def test_another_version_is_refused(
    schema: str, sentence: str, home: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    home.put(layout.SCHEMA, schema.encode())
    for verb in (["ingest"], ["publish"], ["gaps"], ["rebuild"], ["repair"], ["doctor"], ["serve", "--port", "1"]):
        assert main(verb) == 1
        assert sentence in "".join(capsys.readouterr())
    assert main(["verify"]) == 1
    assert sentence in capsys.readouterr().out
    assert home.get(layout.SCHEMA) == schema.encode()
