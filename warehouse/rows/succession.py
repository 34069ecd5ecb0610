"""Order the statements of a reading. An equal statement is not a new version, and a version ends when the next begins.

Corrections follow each other by arrival, vintages of a forecast by publication time.
"""

from __future__ import annotations

import numpy as np

from warehouse.market.clock import SPREAD
from warehouse.rows.versions import LIVE, Flags, Ints, Versions

_SERIES = ("fuel", "counterparty", "link", "resolution", "feed")
"""The labels that versions of a reading share. The unit is not one, since a new currency replaces the old value."""
_CONTENT = ("unit", "factors")
"""The labels that a version states besides its value."""


def identities(versions: Versions) -> Ints:
    """Return a number per version, equal for versions of one reading, that is, of one series and time."""
    return versions.codes(*_SERIES) * SPREAD + versions.ts


def succeed(versions: Versions, order: Ints, repeatable: Flags | None = None) -> tuple[Ints, Ints]:
    """Return the versions that stay, in their order, and the time until which each of them was the newest known.

    `order` lists some versions by identity, each before its replacement. A version equal to the previous one is dropped
    if `repeatable`, in that order, is true for it; by default, it is true for all.
    """
    identity, content = identities(versions), versions.codes(*_CONTENT)
    before = np.roll(order, 1)
    same = repeats(identity[order]) & versions.equal(order, before) & (content[order] == content[before])
    stay = order[~(same if repeatable is None else same & repeatable)]
    return stay, _known_until(identity[stay], versions.known_at[stay])


def _known_until(identity: Ints, known_at: Ints) -> Ints:
    """Return until when each version was the newest known. A later version may have been known earlier."""
    follows = repeats(identity)
    # A running minimum from the end restarts with each identity, since the shift lowers all of its times.
    shift = np.cumsum(~follows)[::-1].copy()
    shift = (shift.max(initial=0) - shift) * SPREAD
    earliest = (np.minimum.accumulate(known_at[::-1] - shift) + shift)[::-1]
    followed = np.roll(follows, -1)
    later = np.where(followed, np.roll(earliest, -1), LIVE)
    until: Ints = np.where(followed, np.maximum(known_at, later), LIVE)
    return until


def repeats(ascending: Ints) -> Flags:
    """Return, per number, whether the previous one is equal."""
    found = np.zeros(len(ascending), np.bool_)
    found[1:] = ascending[1:] == ascending[:-1]
    return found
