"""Test how the environment sets the location of a warehouse."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.settings import Settings, SettingsError
from orchestration.work.environment import PipelineSettings
from warehouse import settings
from warehouse.errors import MarketError, StorageError
from warehouse.store import home
from warehouse.store.bucket import Bucket
from warehouse.store.storage import Folder

S3 = {"EMDS_HOME": "s3://emds/a?endpoint=http://127.0.0.1:9"}


def test_a_folder_for_each_mode_is_the_default_and_its_own_local_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for feeds, mode in (("", "simulated"), ("live", "live"), ("recorded", "recorded"), ("../x", "simulated")):
        place = home.from_environ({"EMDS_FEEDS": feeds})
        assert isinstance(place.open(), Folder)
        assert place.local == place.open().local == tmp_path / "data" / mode


def test_a_bucket_takes_its_local_folder_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    storage = home.from_environ({**S3, "EMDS_BUCKET_CACHE_SECONDS": "7"}).open()
    assert isinstance(storage, Bucket)
    assert (storage.local, storage.cache_s, str(storage)) == (tmp_path / "local", 7, S3["EMDS_HOME"])
    assert home.from_environ({**S3, "EMDS_LOCAL_DIR": "here"}).local == tmp_path / "here"
    environ = {**S3, "EMDS_LOCAL_DIR": "here"}
    home.from_environ(environ).settle(environ)
    assert environ == {**S3, "EMDS_LOCAL_DIR": str(tmp_path / "here")}
    with pytest.raises(StorageError, match="set EMDS_DATABASE_URL"):
        home.from_environ(S3).settle(dict(S3))


@pytest.mark.parametrize(("old", "new"), settings.RENAMED.items())
def test_a_variable_under_its_old_name_stops_the_start_and_names_the_new_one(old, new):
    assert new in settings.DEFAULTS
    assert old not in settings.DEFAULTS
    for read in (home.from_environ, PipelineSettings.from_environ, Settings.from_environ):
        with pytest.raises(MarketError, match=f"^{old} is now called {new}"):
            read({old: "x"})
        read({old: ""})


def test_accounts_beside_a_bucket_lie_only_where_the_owner_says():
    with pytest.raises(SettingsError, match="EMDS_DATABASE_URL must be set where EMDS_HOME is an object store"):
        Settings.from_environ(S3)
    assert Settings.from_environ({**S3, "EMDS_DATABASE_URL": "postgresql://h/d"}).database_url.endswith("//h/d")
    named = Settings.from_environ({**S3, "EMDS_LOCAL_DIR": "kept"})
    assert named.database_url == f"sqlite:///{Path('kept').absolute()}/accounts.sqlite"
