"""Which statement of a reading follows which: what says the same is no new version, and each ends where the next came.

Corrections follow each other as they come, vintages of a forecast by the time of their publication.
"""

from __future__ import annotations

import numpy as np

from warehouse.market.clock import SPREAD
from warehouse.rows.versions import LIVE, Flags, Ints, Versions

_SERIES = ("fuel", "counterparty", "link", "resolution", "feed")
"""What two versions of one reading share; the unit is no part of it, since a new currency replaces the old value."""
_CONTENT = ("unit", "factors")
"""What a version says besides its value."""


def identities(versions: Versions) -> Ints:
    """Return a number per version, equal for versions of one reading: of one series and instant."""
    return versions.codes(*_SERIES) * SPREAD + versions.ts


def succeed(versions: Versions, order: Ints, repeatable: Flags | None = None) -> tuple[Ints, Ints]:
    """Return which versions stay, in their order, and until when each of them was the newest known.

    `order`: some versions by identity, the earlier before what replaces it. One that says what the version before it
    says is left out, if `repeatable` is true of it (in that order; by default of every one).
    """
    identity, content = identities(versions), versions.codes(*_CONTENT)
    before = np.roll(order, 1)
    same = repeats(identity[order]) & versions.equal(order, before) & (content[order] == content[before])
    stay = order[~(same if repeatable is None else same & repeatable)]
    return stay, _known_until(identity[stay], versions.known_at[stay])


def _known_until(identity: Ints, known_at: Ints) -> Ints:
    """Return until when each version was the newest known; a later one may have been known earlier."""
    follows = repeats(identity)
    # A running minimum from the end begins anew with each identity, since that lowers all of its instants.
    shift = np.cumsum(~follows)[::-1].copy()
    shift = (shift.max(initial=0) - shift) * SPREAD
    earliest = (np.minimum.accumulate(known_at[::-1] - shift) + shift)[::-1]
    followed = np.roll(follows, -1)
    later = np.where(followed, np.roll(earliest, -1), LIVE)
    until: Ints = np.where(followed, np.maximum(known_at, later), LIVE)
    return until


def repeats(ascending: Ints) -> Flags:
    """Return per number whether the one before it is equal."""
    found = np.zeros(len(ascending), np.bool_)
    found[1:] = ascending[1:] == ascending[:-1]
    return found
