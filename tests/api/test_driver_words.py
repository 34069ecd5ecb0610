"""What a database's driver says is told in one line, and never with the password of the address."""

from __future__ import annotations

import pytest

from api.access.database import AccountsUnavailable, driver_reason, open_engine
from api.settings import Settings, SettingsError

SECRET = "s3cr t%"
ADDRESS = "postgresql+psycopg://emds:s3cr%20t%25@127.0.0.1:1/accounts"


def test_the_reason_of_a_database_that_is_away_is_told_without_the_password() -> None:
    engine = open_engine(ADDRESS)
    with pytest.raises(AccountsUnavailable) as caught, engine.connect():
        pass
    assert str(caught.value).startswith(
        "the accounts database (EMDS_DATABASE_URL) does not answer: connection failed: "
    )
    assert "Connection refused" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "s3cr" not in str(caught.value)


@pytest.mark.parametrize(
    "words",
    [
        f"cannot connect by {ADDRESS}",
        f"no connection: host=127.0.0.1 password={SECRET}",
        "no connection: password=s3cr+t%25 as a form has it",
        f"password {SECRET!r} is refused\nfor user emds",
        f"{'no connection '.ljust(298, '.')}{SECRET}",
        "password s3cr\n t% is refused",
    ],
)
def test_a_driver_that_repeats_the_address_is_not_repeated(words: str) -> None:
    assert driver_reason(RuntimeError(words), ADDRESS) == "RuntimeError"


@pytest.mark.parametrize("password", ["s3@cret", "s3:cret", "s3/cret", "s3?cret", "s3@a:cret"])
def test_a_password_that_a_parser_may_have_cut_silences_the_driver(password: str) -> None:
    fault = RuntimeError("failed to resolve host 'cret@127.0.0.1'")
    assert driver_reason(fault, f"postgresql+psycopg://emds:{password}@127.0.0.1/x") == "RuntimeError"


def test_a_password_with_several_blanks_is_one_too() -> None:
    fault = RuntimeError("password s3cr  t is refused")
    assert driver_reason(fault, "postgresql+psycopg://emds:s3cr%20%20t@127.0.0.1/x") == "RuntimeError"


def test_a_password_among_the_options_is_one_too() -> None:
    address = "postgresql+psycopg://emds@127.0.0.1/x?connect_timeout=3&password=s3cret"
    assert driver_reason(RuntimeError(f"by {address}: away"), address) == "RuntimeError"


def test_an_address_that_cannot_be_read_is_a_wrong_setting() -> None:
    with pytest.raises(SettingsError, match="EMDS_DATABASE_URL cannot be read: its port") as caught:
        Settings.from_environ({"EMDS_DATABASE_URL": "postgresql://emds:s3cret@127.0.0.1:port/x"})
    assert "s3cret" not in str(caught.value)
