"""Test that settings from the environment report all their faults at once, and that drivers never reveal passwords."""

from __future__ import annotations

import pytest

from api.access.accounts_engine import AccountsUnavailable, open_engine, server_reason
from api.access.x402.ethereum_address import is_address
from api.settings import Facilitator, Settings, SettingsError


def test_settings_read_the_environment() -> None:
    read = Settings.from_environ(
        {
            "EMDS_HOME": "/srv/emds",
            "EMDS_BASE_URL": "https://emds.example/",
            "EMDS_PAY_TO": "0x" + "ab" * 20,
            "EMDS_FACILITATOR_URLS": "https://a.example/x402/, https://b.example",
            "EMDS_FACILITATOR_AUTH": "cdp:id:c2VjcmV0,bearer:tok",
            "EMDS_TRUSTED_PROXIES": "10.0.0.0/8,::1",
            "EMDS_FREE_CALLS_PER_MINUTE": "0",
            "EMDS_METRICS_TOKEN": "hush",
        }
    )
    assert read.database_url == "sqlite:////srv/emds/accounts.sqlite"
    assert read.base_url == "https://emds.example"
    assert read.facilitators == (
        Facilitator("https://a.example/x402", "cdp", "id:c2VjcmV0"),
        Facilitator("https://b.example", "bearer", "tok"),
    )
    assert (read.free_calls_per_minute, read.sample_calls_per_day, read.signups_per_hour) == (0, 500, 5)
    text = repr(read)
    assert not any(secret in text for secret in ("c2VjcmV0", "tok", "hush", "accounts.sqlite"))


def test_settings_name_every_fault_and_no_secret() -> None:
    wrong = {
        "EMDS_BASE_URL": "emds.example",
        "EMDS_PAY_TO": "0x0",
        "EMDS_RPC_URL": "http://node/KEY1",
        "EMDS_FACILITATOR_URLS": "http://far.example",
        "EMDS_FACILITATOR_AUTH": "basic:KEY2,bearer:KEY3",
        "EMDS_SIGNUPS_PER_HOUR": "-1",
        "EMDS_TRUSTED_PROXIES": "proxy",
        "EMDS_ALLOWED_ORIGINS": "example.org",
    }
    with pytest.raises(SettingsError) as fault:
        Settings.from_environ({"EMDS_HOME": "s3://bucket/emds", **wrong})
    text = str(fault.value)
    assert not {name for name in (*wrong, "EMDS_DATABASE_URL") if name not in text}
    assert not any(secret in text for secret in ("KEY1", "KEY2", "KEY3"))
    with pytest.raises(SettingsError, match="EMDS_FACILITATOR_AUTH has more entries"):
        Settings.from_environ({"EMDS_FACILITATOR_URLS": "https://a.example", "EMDS_FACILITATOR_AUTH": "none,bearer:t"})
    assert "\n" not in text


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", True),
        ("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", True),
        ("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAee", False),
        ("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed", False),
        ("0x" + "0" * 40, False),
        ("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beae", False),
    ],
)
def test_a_receivers_address_is_checked(text: str, good: bool) -> None:
    assert is_address(text) is good


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("postgres://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
        ("postgresql://h/d", "postgresql+psycopg://h/d"),
        ("sqlite:////srv/a.sqlite", "sqlite:////srv/a.sqlite"),
    ],
)
def test_database_addresses_as_owners_write_them(address: str, url: str) -> None:
    assert Settings.from_environ({"EMDS_DATABASE_URL": address}).database_url == url


ADDRESS = "postgresql+psycopg://emds:s3cr%20t%25@127.0.0.1:1/accounts"


def test_the_reason_of_a_database_that_is_away_is_told_without_the_address() -> None:
    engine = open_engine(ADDRESS)
    with pytest.raises(AccountsUnavailable) as caught, engine.connect():
        pass
    assert str(caught.value) == (
        "The accounts database (EMDS_DATABASE_URL) is not responding: Connection refused. "
        "Check that it is running and reachable."
    )
    for words in (f"cannot connect by {ADDRESS}", "failed to resolve host 'cret@127.0.0.1'", "password s3cr\n t%"):
        assert server_reason(RuntimeError(words)) == "RuntimeError"


def test_an_address_that_cannot_be_read_is_a_wrong_setting() -> None:
    with pytest.raises(SettingsError, match="EMDS_DATABASE_URL cannot be parsed: its port") as caught:
        Settings.from_environ({"EMDS_DATABASE_URL": "postgresql://emds:s3cret@127.0.0.1:port/x"})
    assert "s3cret" not in str(caught.value)
