"""Numbers as the brief says them: rounded, their digits grouped, ranks in a word."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from warehouse.figures.context import Band


def band_of(percentile: int) -> Band:
    """The word for a percentile, 0 to 100, by the limits of `band`."""
    if percentile < 10:
        return "very_low"
    if percentile < 25:
        return "low"
    return "typical" if percentile <= 75 else "high" if percentile < 90 else "very_high"


def heard(value: float, decimals: int) -> float:
    """A value as the text states it: rounded half up; a value that is not zero never becomes zero."""
    exact = Decimal(repr(value))
    step = Decimal(1).scaleb(-decimals)
    if exact and abs(exact) < step / 2:
        step = Decimal(1).scaleb(exact.adjusted())
    return float(exact.quantize(step, ROUND_HALF_UP)) + 0.0


def difference_of(value: float, base: float) -> float:
    """Of two decimals, without a binary remainder."""
    return float(Decimal(repr(value)) - Decimal(repr(base)))


def grouped(value: float, decimals: int) -> str:
    """Digits in groups of three, without an exponent, with at least so many decimals: `25,000`, `1,234.50`."""
    exact = Decimal(repr(value)).normalize()
    places = max(decimals, -int(exact.as_tuple().exponent))
    return f"{exact:,.{places}f}"
