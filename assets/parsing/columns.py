"""Columns of decimal texts, turned into floats at once: a call for every cell costs more than the reading itself."""

from __future__ import annotations

from collections.abc import Sequence

from warehouse.errors import FeedChanged


def floats(texts: Sequence[str], what: str) -> list[float]:
    """The texts as floats; `Rows.extend` checks that they are finite. Raises FeedChanged."""
    joined = "".join(texts)
    if "_" in joined or not joined.isascii():  # Python reads 8_8 and ８８ as numbers
        raise FeedChanged(f"{what}: a value is no number")
    try:
        return list(map(float, texts))
    except ValueError as error:
        raise FeedChanged(f"{what}: {str(error)[:80]}") from None


def positions(texts: Sequence[str]) -> list[int]:
    """The texts as whole numbers without sign. Raises FeedChanged."""
    joined = "".join(texts)
    if not (joined.isascii() and joined.isdigit()) or "" in texts or len(joined) > 12 * len(texts):
        raise FeedChanged("a position is no number")
    return list(map(int, texts))
