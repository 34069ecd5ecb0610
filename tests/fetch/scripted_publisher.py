"""Script a publisher's replies, a clock that moves only by sleep, and requests with and without a key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from assets.fetch.credentials import Credentials
from assets.fetch.session import Reply, Session
from warehouse.errors import FeedError
from warehouse.market.feeds import Request, Secret, Source

HOST = "api.example.org"
TOKEN = Secret("query", "securityToken", ("EXAMPLE_TOKEN",))
REQUEST = Request("example.price", f"https://{HOST}/price", (("day", "2026-03-29"),))
KEYED = Request("example.price", f"https://{HOST}/price", secrets=(TOKEN,))
SECRET = "s3cret-and-long"
ENVIRON = {"EXAMPLE_TOKEN": SECRET}
GOOD = Reply(200, {}, b"rows")


def example(per_minute: float = 60_000, interval: float = 0.0) -> Source:
    """Return a source with one host, by default with a rate limit that delays no request."""
    return Source("example", "Example", "", (HOST,), per_minute, "", "", "", "yes", (), min_interval_s=interval)


@dataclass
class Clock:
    """A clock that moves only by `sleep`."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def tick(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@dataclass
class Script:
    """A transport that returns its replies in turn and repeats the last; it raises a reply that is an error."""

    replies: list[Reply | FeedError]
    calls: list[tuple[Request, Credentials]] = field(default_factory=list)
    lasts: float = 0.0
    clock: Clock | None = None

    def __call__(self, request: Request, credentials: Credentials) -> Reply:
        self.calls.append((request, credentials))
        if self.clock:
            self.clock.now += self.lasts
        outcome = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(outcome, FeedError):
            raise outcome
        return outcome


Live = Callable[..., Session]
"""A function that creates a live session over a script."""
