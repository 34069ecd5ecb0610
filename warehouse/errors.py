"""The tree of failures: each leaf calls for another action. The HTTP status of each: see `api.http.problems`."""

from __future__ import annotations

from collections.abc import Iterable


class MarketError(Exception):
    """Anything that this service foresees to go wrong; the text is one line and holds no secret."""


class FeedError(MarketError):
    """A publisher's feed did not give rows. `kind` is the one word by which failures are counted."""

    kind: str = "failed"


class FeedUnavailable(FeedError):
    """Time-out, 5xx or 429: ask again later, not before `retry_after` seconds where the publisher said so.

    `kind`: `network` (incomplete response), `rate_limited` (one request too many), `server` (5xx), `rejected` (any
    other status), `paused` (not sent: the host is paused after failures, or has no free slot), else `unavailable`.
    `cause` is the failure that started a pause; by default it is the reason itself.
    """

    def __init__(
        self, reason: str, retry_after: float | None = None, kind: str = "unavailable", cause: str = ""
    ) -> None:
        super().__init__(reason)
        self.retry_after, self.kind, self.cause = retry_after, kind, cause or reason


def cause_of(error: MarketError) -> str:
    """Return why a request failed: of one that a pause held back, the failure that began the pause."""
    return error.cause if isinstance(error, FeedUnavailable) else str(error)


class NotPublished(FeedError):
    """The publisher has nothing yet for what was asked: wait; no error before the feed's deadline."""

    kind = "not_published"


class OutOfReach(FeedError):
    """The day lies before the feed began, or before its reach: nothing to ask, nothing to write."""

    kind = "out_of_range"


class FeedChanged(FeedError):
    """Unknown column, code, unit or currency, or a truncated body: never retried; a person must look."""

    kind = "format_changed"


class NotLicensed(FeedError):
    """The body itself says that it may not be passed on (Energy-Charts' `license_info`): kept raw, never written."""

    kind = "not_licensed"


class CredentialsMissing(FeedError):
    """The feed needs environment variables that are not set (`not_configured`), or that the publisher rejects."""

    def __init__(self, names: tuple[str, ...], refused: bool = False) -> None:
        listed = ", ".join(names)
        super().__init__(f"rejected by the publisher: check {listed}" if refused else f"not configured: set {listed}")
        self.names, self.refused, self.kind = names, refused, "credentials" if refused else "not_configured"


def name_unknown(names: Iterable[str]) -> str:
    """Return the text about names of interconnectors, fuels or similar that no table of this service has."""
    return f"unknown to this service: {', '.join(names)}"


class CallerError(MarketError):
    """The question itself is wrong: the caller's fault."""


class UnknownZone(CallerError):
    """No such zone; the text says which are near it."""

    def __init__(self, zone: str, detail: str) -> None:
        super().__init__(detail)
        self.zone = zone


class MetricNotAvailable(CallerError):
    """The zone exists, but no feed of this service carries this metric of it; of `zones` one does."""

    def __init__(self, zone: str, metric: str, zones: tuple[str, ...]) -> None:
        super().__init__(f"This service has no {metric} of {zone}")
        self.zone, self.metric, self.zones = zone, metric, zones


class Withheld(CallerError):
    """The figures are held, but their publishers' terms do not allow passing them on; `sources` are their codes."""

    def __init__(self, zone: str, metric: str, sources: tuple[str, ...]) -> None:
        super().__init__(f"{zone} {metric} comes from {', '.join(sources)}, whose terms do not allow passing it on")
        self.sources = sources


class BadWindow(CallerError):
    """The window is empty, reversed, or outside the years that we can tell."""


class StorageError(MarketError):
    """The warehouse's own files refuse: a write that others keep beating, a file that does not decode, a mixed mode."""


class Conflict(StorageError):
    """Another writer was first: the condition of a write did not hold."""


class DamagedFile(StorageError):
    """A kept file cannot be read, or does not hold the bytes that were written: costs what lies in it, nothing else.

    `key` names the file below EMDS_HOME, `reason` says what is wrong with it in one line.
    """

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"{key} is damaged: {reason}")
        self.key, self.reason = key, reason

    def __reduce__(self) -> tuple[type[DamagedFile], tuple[str, str]]:
        """Its two parts, so that it travels between processes."""
        return DamagedFile, (self.key, self.reason)


def as_storage_error(error: StorageError | OSError) -> StorageError:
    """The same failure as a StorageError: of the operating system's own, its file and its reason."""
    if isinstance(error, StorageError):
        return error
    return StorageError(f"{error.filename or 'a file'}: {error.strerror or type(error).__name__}")


class WrongMode(StorageError):
    """Rows of one mode lie in, or came for, a warehouse of another: neither folded in nor served."""
