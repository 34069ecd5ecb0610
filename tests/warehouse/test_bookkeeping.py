"""Check that a bookkeeping failure is logged with its location and stops no work, and that signals pass."""

from __future__ import annotations

import pytest

from warehouse.bookkeeping import logged


def test_what_a_block_raises_is_logged_with_its_place_and_goes_no_further(caplog: pytest.LogCaptureFixture) -> None:
    with logged("plot of aemo.dispatch") as attempt:
        min([])
    assert isinstance(attempt.error, ValueError)
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert record.getMessage() == attempt.failure
    assert record.getMessage().startswith("plot of aemo.dispatch: ValueError: min() ")
    assert "(test_bookkeeping.py:" in record.getMessage()


@pytest.mark.parametrize("signal", [KeyboardInterrupt, SystemExit])
def test_a_signal_passes(signal: type[BaseException]) -> None:
    with pytest.raises(signal), logged("anything"):
        raise signal
