"""Define the error types, one for each action that a failure requires. `api.http.problems` has their HTTP status."""

from __future__ import annotations

from collections.abc import Iterable


class MarketError(Exception):
    """An expected error of this service. The text is one line and does not contain a secret."""


class FeedError(MarketError):
    """A publisher's feed did not return rows. `kind` is the error type by which failures are counted."""

    kind: str = "failed"


class FeedUnavailable(FeedError):
    """A timeout, 5xx or 429. Try again later, not before `retry_after` seconds if the publisher set it.

    `kind`: `network` (incomplete response), `rate_limited` (too many requests), `server` (5xx), `rejected` (any other
    status), `paused` (not sent: the host is paused after failures, or has no free slot), otherwise `unavailable`.
    `cause` is the failure that started a pause; by default it is the reason itself.
    """

    def __init__(
        self, reason: str, retry_after: float | None = None, kind: str = "unavailable", cause: str = ""
    ) -> None:
        super().__init__(reason)
        self.retry_after, self.kind, self.cause = retry_after, kind, cause or reason


def cause_of(error: MarketError) -> str:
    """Return why a request failed. If a pause prevented it, return the failure that started the pause."""
    return error.cause if isinstance(error, FeedUnavailable) else str(error)


class NotPublished(FeedError):
    """The publisher does not have the requested data yet. Wait; this is not an error before the feed's deadline."""

    kind = "not_published"


class OutOfReach(FeedError):
    """The day is before the feed's first day or before its reach. There is nothing to request or write."""

    kind = "out_of_range"


class FeedChanged(FeedError):
    """An unknown column, code, unit or currency, or a truncated response. Never retried; manual action is needed."""

    kind = "format_changed"


class NotLicensed(FeedError):
    """The response states that it may not be redistributed (`license_info` of Energy-Charts). It is only stored raw."""

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
    """The request is wrong: the client's error."""


class UnknownZone(CallerError):
    """There is no such zone. The text names similar ones."""

    def __init__(self, zone: str, detail: str) -> None:
        super().__init__(detail)
        self.zone = zone


class MetricNotAvailable(CallerError):
    """The zone exists, but no feed of this service has this metric for it. `zones` are the zones with the metric."""

    def __init__(self, zone: str, metric: str, zones: tuple[str, ...]) -> None:
        super().__init__(f"{zone} has no {metric} data on this service")
        self.zone, self.metric, self.zones = zone, metric, zones


class Withheld(CallerError):
    """The data is stored, but its publishers' terms do not allow redistribution. `sources` are their codes."""

    def __init__(self, zone: str, metric: str, sources: tuple[str, ...]) -> None:
        super().__init__(
            f"{metric} data for {zone} comes from {', '.join(sources)}, whose terms do not allow redistribution"
        )
        self.sources = sources


class BadWindow(CallerError):
    """The window is empty, reversed, or outside the supported years."""


class StorageError(MarketError):
    """A failure of the warehouse's files: a write after repeated conflicts, an undecodable file, or mixed modes."""


class Conflict(StorageError):
    """Another writer was first, so the condition of a write was not met."""


class DamagedFile(StorageError):
    """A stored file is unreadable, or its bytes are not the ones that were written. Only its contents are affected.

    `key` names the file below EMDS_HOME; `reason` describes the fault in one line.
    """

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"{key} is damaged: {reason}")
        self.key, self.reason = key, reason

    def __reduce__(self) -> tuple[type[DamagedFile], tuple[str, str]]:
        """Return the two parts for pickling between processes."""
        return DamagedFile, (self.key, self.reason)


def as_storage_error(error: StorageError | OSError) -> StorageError:
    """Return the same failure as a StorageError. For an OSError, the text has its file and its reason."""
    if isinstance(error, StorageError):
        return error
    return StorageError(f"{error.filename or 'a file'}: {error.strerror or type(error).__name__}")


class WrongMode(StorageError):
    """Rows of one mode are in, or arrived for, a warehouse of another mode. They are neither merged nor served."""
