"""Run Dagster's web server behind a check, so that only its own pages and programs can send it commands.

Dagster's web server has no users, and a browser sends the requests of every page that the operator has open. So each
request must name this machine in `Host`, come from the server's own origin if a browser sent it, and use POST for
GraphQL. `emds dagster dagster-webserver` runs this module instead of Dagster's program, with the same options.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qs

Scope = Mapping[str, Any]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

READS, METHODS = frozenset({"GET", "HEAD"}), frozenset({"GET", "HEAD", "POST"})


def with_check(app: App) -> App:
    """Return an ASGI application that forwards what the check accepts, both HTTP and WebSocket."""

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        found = find_refusal(scope) if scope["type"] in ("http", "websocket") else None
        if found is None:
            await app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})  # before it is accepted: the handshake gets a 403
        else:
            status, reason = found
            body = f"{reason}\n".encode()
            headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body))]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})

    return checked


def find_refusal(scope: Scope) -> tuple[int, str] | None:
    """Return the status and the reason of a refusal; None if the request is accepted."""
    method = scope.get("method", "GET")
    hosts, origins, sites, modes = (
        [value.decode("latin-1").strip().lower() for name, value in scope["headers"] if name.lower() == wanted]
        for wanted in (b"host", b"origin", b"sec-fetch-site", b"sec-fetch-mode")
    )
    if len(hosts) != 1 or not _is_this_machine(hosts[0]):
        return 403, "Host must be localhost or an IP address. A proxy in front has to set Host: localhost."
    if not _is_from_here(hosts[0], origins, sites):
        navigates = scope["type"] == "http" and method in READS and not origins and modes == ["navigate"]
        if not navigates:
            return 403, "The request comes from a page of another origin. Open Dagster's own pages instead."
    if scope["type"] == "http" and method not in METHODS:
        return 405, "Use GET, HEAD or POST."
    asks = "query" in parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
    if asks and method in READS and scope["path"].rstrip("/").endswith("/graphql"):
        return 405, "Send GraphQL by POST."
    return None


def _is_this_machine(host: str) -> bool:
    """Return whether a Host names no domain: an attacker's domain can resolve to this machine."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    try:
        return name == "localhost" or bool(ip_address(name.removeprefix("[").removesuffix("]")))
    except ValueError:
        return False


def _is_from_here(host: str, origins: list[str], sites: list[str]) -> bool:
    """Return whether no browser sent a request, or a browser sent it for a page of this server.

    `Sec-Fetch-Site` decides if it is present, since pages cannot set it; browsers omit it over plain HTTP.
    """
    if sites:
        return sites in (["same-origin"], ["none"])
    return not origins or [origin.partition("://")[2] for origin in origins] == [host]


def main() -> None:
    """Run `dagster-webserver` with the command line's options; it has no option for a middleware."""
    cli: Any = import_module("dagster_webserver.cli")
    create = cli.create_app_from_workspace_process_context
    cli.create_app_from_workspace_process_context = lambda *args, **options: with_check(create(*args, **options))
    cli.main()


if __name__ == "__main__":
    main()
