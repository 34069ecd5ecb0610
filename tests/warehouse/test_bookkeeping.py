"""Bookkeeping that fails is logged with its place, and the work goes on; signals are none of its business."""

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


def test_a_success_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with logged("plot") as attempt:
        pass
    assert (attempt.error, attempt.failure, caplog.records) == (None, "", [])


def test_a_long_text_becomes_one_short_line(caplog: pytest.LogCaptureFixture) -> None:
    with logged("body"):
        raise ValueError("a\n" * 10_000)
    assert "\n" not in caplog.records[0].getMessage()
    assert len(caplog.records[0].getMessage()) < 400


@pytest.mark.parametrize("signal", [KeyboardInterrupt, SystemExit])
def test_a_signal_passes(signal: type[BaseException]) -> None:
    with pytest.raises(signal), logged("anything"):
        raise signal
