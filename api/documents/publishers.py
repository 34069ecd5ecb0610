"""The body of `/v1/publishers`: the measured publishers, whole or of one source, feed or month."""

from __future__ import annotations

from typing import Any

from api.documents.cache import Document

_HEAD = ("as_of", "method", "docs", "months")


def selected(document: Document, source: str | None, feed: str | None, month: str | None) -> dict[str, Any]:
    """The entries that fit every filter given, months ascending."""
    stated = document.json
    wanted = {name: value for name, value in (("source", source), ("feed", feed), ("month", month)) if value}
    entries = [e for e in stated["publishers"] if all(e[name] == value for name, value in wanted.items())]
    return {**{name: stated[name] for name in _HEAD}, "count": len(entries), "publishers": entries}
