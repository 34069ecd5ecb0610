"""What the environment sets, every fault of it told at once, and the addresses that it may hold."""

from __future__ import annotations

import pytest
from eth_utils import keccak

from api.ethereum_address import is_address, keccak256
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
    with pytest.raises(SettingsError) as fault:
        Settings.from_environ(
            {
                "EMDS_HOME": "s3://bucket/emds",
                "EMDS_BASE_URL": "emds.example",
                "EMDS_PAY_TO": "0x0",
                "EMDS_RPC_URL": "http://node/KEY1",
                "EMDS_FACILITATOR_URLS": "http://far.example",
                "EMDS_FACILITATOR_AUTH": "basic:KEY2,bearer:KEY3",
                "EMDS_SIGNUPS_PER_HOUR": "-1",
                "EMDS_TRUSTED_PROXIES": "proxy",
                "EMDS_ALLOWED_ORIGINS": "example.org",
            }
        )
    text = str(fault.value)
    wrong = {
        "EMDS_DATABASE_URL",
        "EMDS_BASE_URL",
        "EMDS_PAY_TO",
        "EMDS_RPC_URL",
        "EMDS_FACILITATOR_URLS",
        "EMDS_FACILITATOR_AUTH",
        "EMDS_SIGNUPS_PER_HOUR",
        "EMDS_TRUSTED_PROXIES",
        "EMDS_ALLOWED_ORIGINS",
    }
    assert {name for name in wrong if name in text} == wrong
    assert "KEY" not in text
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


@pytest.mark.parametrize("length", [0, 1, 40, 135, 136, 137, 400])
def test_keccak_is_ethereums(length: int) -> None:
    text = bytes(range(256)) * 2
    assert keccak256(text[:length]) == keccak(text[:length])


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
