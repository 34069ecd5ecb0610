"""The mail that confirms a new key: one link, plain text.

Sent within the sign-up, so that its failure is part of that answer.
"""

from __future__ import annotations

import smtplib
import ssl
import threading
from email.message import EmailMessage
from functools import partial

from api.access.values import refuse_for
from api.http.problems import Problem
from api.settings import MailServer

_TIMEOUT_S = 10
_AT_ONCE = threading.BoundedSemaphore(4)
"""Of a worker's 64 threads: a slow mail server must not hold more."""


def _unavailable() -> Problem:
    return refuse_for(60, "mail-unavailable", "The confirmation could not be sent; no key was made.")


def send(server: MailServer, base_url: str, to: str, token: str) -> None:
    """Send the link that confirms a key. Raises Problem 503; a server's own words stay out of it."""
    if not _AT_ONCE.acquire(blocking=False):
        raise _unavailable()
    try:
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = server.sender, to, "Confirm your API key"
        message.set_content(
            f"Somebody asked for an API key of {base_url} with this address.\n\n"
            f"Open this link within 24 hours, and the key works:\n{base_url}/v1/keys/confirm?token={token}\n\n"
            "If it was not you, do nothing: the key never opens anything.\n"
        )
        context = ssl.create_default_context()
        kind = partial(smtplib.SMTP_SSL, context=context) if server.tls else smtplib.SMTP
        with kind(server.host, server.port, timeout=_TIMEOUT_S) as session:
            session.ehlo()
            if not server.tls and (not server.loopback or session.has_extn("starttls")):
                session.starttls(context=context)
            if server.user:
                session.login(server.user, server.password)
            session.send_message(message)
    except (OSError, smtplib.SMTPException, UnicodeError):
        raise _unavailable() from None
    finally:
        _AT_ONCE.release()
