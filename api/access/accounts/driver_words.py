"""What a database's driver says went wrong, in one line and without the password of the address."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, quote_plus, unquote, unquote_plus

_MOST = 300
_CUTTING = set("@:/?#[]")
"""In a password as it was given these may cut it: its parts are then anywhere, in the name of the host too."""


def told(fault: BaseException | None, address: str) -> str:
    """The driver's reason; only the kind of error where it might say a part of the address's password."""
    kind = type(fault).__name__
    secrets = _secrets(address)
    if any(_CUTTING & set(secret) for secret in secrets):
        return kind
    text = str(fault)
    spelled = {
        form for secret in secrets for form in (secret, unquote(secret), unquote_plus(secret), quote(unquote(secret)))
    }
    spelled |= {quote_plus(unquote(secret)) for secret in secrets}
    for secret in sorted(spelled, key=len, reverse=True):
        text = text.replace(secret, "***")
    return " ".join(text.split())[:_MOST] or kind


def _secrets(address: str) -> list[str]:
    """The passwords of an address, as they were given: what an owner meant, whatever a parser makes of it."""
    rest = address.partition("://")[2]
    user, at, _ = rest.rpartition("@")
    secrets = [user.partition(":")[2]] if at else []
    secrets += [value for name, value in parse_qsl(rest.partition("?")[2]) if "password" in name.lower()]
    return [secret for secret in secrets if secret]
