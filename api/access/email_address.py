"""E-mail addresses: which text is one, and when two of them are the same person's."""

from __future__ import annotations

import re
import unicodedata

_LOCAL = re.compile(r"[^\s@\"(),:;<>\[\\\]\x00-\x1f\x7f]{1,64}")
_LABEL = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)")


def is_address(text: str) -> bool:
    """Return whether a text has the form of an address (RFC 5321 lengths; no quoted parts, no literals)."""
    local, _, domain = text.rpartition("@")
    try:
        labels = domain.encode("idna").decode("ascii").split(".")
    except UnicodeError:
        return False
    if len(text) > 254 or not _LOCAL.fullmatch(local) or local.startswith(".") or local.endswith(".") or ".." in local:
        return False
    return len(labels) > 1 and not labels[-1].isdigit() and all(_LABEL.fullmatch(label) for label in labels)


def identity(address: str) -> str:
    """Return the form in which addresses are compared: Unicode NFKC, lower case, without `+tag`."""
    local, _, domain = unicodedata.normalize("NFKC", address).lower().rpartition("@")
    return f"{local.partition('+')[0] or local}@{domain}"
