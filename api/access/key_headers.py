"""Find the key in a request, and explain how to send a key that came in another form."""

from __future__ import annotations

import base64
import binascii

from api.access.key_spelling import KEY_PREFIX
from api.access.values import Call
from api.http.other_names import KEY_FORM


def key_of(call: Call) -> str | None:
    """Return the key of a request, None without credentials, or an empty text for credentials of another type."""
    if call.api_key:
        return call.api_key
    if not call.authorization:
        return "" if call.other_header and not call.signature else None
    scheme, _, credentials = call.authorization.partition(" ")
    if scheme.lower() == "bearer":
        return credentials.strip()
    if scheme.lower() != "basic":
        return ""
    return _basic(credentials)[0]  # as the user name, which spreadsheets and `https://KEY@host/` use


def _basic(credentials: str) -> tuple[str, str]:
    """Return the user name and the password of Basic credentials; empty texts if they cannot be decoded."""
    try:
        user, _, password = base64.b64decode(credentials.strip(), validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return "", ""
    return user, password


def explain_form(call: Call) -> str:
    """Return how to send the key if a request carries it in another form, else an empty text.

    The text repeats nothing of the request except the name of a header.
    """
    scheme, _, credentials = call.authorization.partition(" ")
    wrong = ""
    if call.api_key:
        if KEY_PREFIX in call.api_key[1:]:
            wrong = "X-API-Key contains more than the key"
    elif scheme.startswith(KEY_PREFIX):
        wrong = "The Authorization header has the key without the scheme Bearer"
    elif scheme.lower() == "bearer":
        if KEY_PREFIX in credentials.strip()[1:]:
            wrong = "The Authorization header contains more than the key after Bearer"
    elif scheme.lower() == "basic" and _basic(credentials)[1].startswith(KEY_PREFIX):
        wrong = "The Authorization header has the key as its password, not as its user name"
    elif scheme and (scheme.lower() != "basic" or credentials.strip().startswith(KEY_PREFIX)):
        wrong = "The Authorization header does not have the scheme Bearer"
    elif call.other_header:
        wrong = f"The key is in the header {call.other_header}, which this service does not read"
    return f"{wrong}. {KEY_FORM}." if wrong else ""
