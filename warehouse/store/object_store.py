"""Open object stores by address: `s3://bucket/prefix?endpoint=...`, `gs://bucket/prefix`, `az://container/prefix`.

Credentials come from the environment only, under the names that each store's own tools use (AWS_ACCESS_KEY_ID,
GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_KEY). Messages contain neither credentials nor the text of a
response, only the type of the failure. A client belongs to the process that opened it and hangs in a forked child.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from warehouse.errors import Conflict, StorageError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

REQUEST_S = 20
"""The time limit of a request and its response, in seconds."""
RETRIES, RETRY_S = 6, 30
"""The limits on retries, in number and in seconds, after a lost connection, a 503 or another 5xx status."""
_PARAMETERS: Mapping[str, Mapping[str, str]] = {
    "s3": {"endpoint": "endpoint", "region": "region"},
    "gs": {"endpoint": "google_base_url"},
    "az": {"endpoint": "endpoint", "account": "account_name"},
}
"""The parameters of an address with their obstore names. obstore reads all other options from the environment."""
_CODE = re.compile("<Code>([A-Za-z]+)</Code>")
"""The error code of S3 and Azure. The response to a HEAD request has no body and therefore no code."""
_ENDPOINT = re.compile(r"https?://[^/@?#:][^/@?#]*(?:/[^?#]*)?")
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]")
_PREFIX = re.compile(r"(?:[A-Za-z0-9._=-]+(?:/[A-Za-z0-9._=-]+)*)?")


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """The parts of an address. Equal addresses name the same objects."""

    scheme: str
    bucket: str
    prefix: str
    """The prefix has no `/` at its ends and may be empty."""
    parameters: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        query = "&".join(f"{name}={value}" for name, value in self.parameters)
        place = f"{self.scheme}://{self.bucket}" + (f"/{self.prefix}" if self.prefix else "")
        return f"{place}?{query}" if query else place


def is_address(text: str) -> bool:
    """Return whether a text is meant as an object store's address, valid or not."""
    return "://" in text


def address(text: str) -> StoreAddress:
    """Parse an address. Raises StorageError, without repeating the text, if it is malformed or contains a secret."""
    parts = urlsplit(text)
    bucket, prefix = parts.netloc, unquote(parts.path).strip("/")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    is_right = (
        parts.scheme in _PARAMETERS
        and not parts.fragment
        and _BUCKET.fullmatch(bucket)
        and _PREFIX.fullmatch(prefix)
        and not {".", ".."}.intersection(prefix.split("/"))
        and options.keys() <= _PARAMETERS[parts.scheme].keys()
        and _ENDPOINT.fullmatch(options.get("endpoint", "http://host"))
    )
    if not is_right:
        raise StorageError(
            "invalid bucket URL; use s3://BUCKET/PREFIX?endpoint=https://HOST&region=R, gs://BUCKET/PREFIX or "
            "az://CONTAINER/PREFIX?account=NAME. The prefix may contain letters, digits and ._-=/; set credentials as "
            "environment variables"
        )
    return StoreAddress(parts.scheme, bucket, prefix, tuple(sorted(options.items())))


def open_store(
    place: StoreAddress | str, request_s: float = REQUEST_S, retries: int = RETRIES, retry_s: float = RETRY_S
) -> ObjectStore:
    """Return a client for the objects below an address, with bounded timeouts and retries. It sends no request yet.

    Raises StorageError if the address or the environment is invalid, or if the extra `bucket` is not installed.
    """
    where = address(place) if isinstance(place, str) else place
    try:
        from obstore.store import from_url
    except ImportError:
        raise StorageError("buckets require the package obstore; run pip install 'emds[bucket]'") from None
    parameters = dict(where.parameters)
    endpoint = parameters.get("endpoint", "")
    bounds: dict[str, Any] = {
        "client_options": {
            "allow_http": endpoint.startswith("http://"),
            "connect_timeout": timedelta(seconds=min(5, request_s)),
            "timeout": timedelta(seconds=request_s),
            "user_agent": "emds",
        },
        "retry_config": {
            "max_retries": retries,
            "retry_timeout": timedelta(seconds=retry_s),
            "backoff": {
                "init_backoff": timedelta(milliseconds=100),
                "max_backoff": timedelta(seconds=4),
                "base": 2,
            },
        },
    }
    config: Any = {_PARAMETERS[where.scheme][name]: value for name, value in parameters.items()}
    if where.scheme == "s3":  # an AWS variable that is set but empty would otherwise give the signing region
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
        config.setdefault("region", region)
    try:
        return from_url(f"{where.scheme}://{where.bucket}/{where.prefix}", config=config, **bounds)
    except Exception as error:
        raise StorageError(f"cannot open {where}: {type(error).__name__}; check its environment variables") from None


FailureKind = Literal["no_bucket", "denied", "no_credentials", "outage", "range", "broken", "other"]
_NO_BUCKET = "the bucket does not exist; create it first"


class ObjectStoreError(StorageError):
    """A request to an object store failed. `kind` states how: `outage` is a 5xx that stayed, `range` a 416."""

    def __init__(self, text: str, kind: FailureKind) -> None:
        super().__init__(text)
        self.kind = kind

    def __reduce__(self) -> tuple[type[ObjectStoreError], tuple[str, FailureKind]]:
        """Return its two parts, so that it travels between processes."""
        return ObjectStoreError, (str(self), self.kind)


def ask(key: str, doing: str, call: Callable[[], Any], absent: Any = None, tries: int = 4) -> Any:
    """Return the result of a call of obstore, `absent` if the object does not exist.

    Idempotent calls are repeated if a response breaks off, up to `tries` calls in all. `doing` is `read`, `written`,
    `listed` or `removed`. Raises Conflict if a condition is not met, otherwise StorageError with key and type of
    failure.
    """
    from obstore.exceptions import AlreadyExistsError, PreconditionError

    try:
        return call()
    except FileNotFoundError as error:
        if lacks_bucket(str(error)):
            raise ObjectStoreError(f"{key} cannot be {doing}: {_NO_BUCKET}", "no_bucket") from None
        if doing == "written":
            raise Conflict(f"{key} cannot be {doing}: another process deleted it") from None
        return absent
    except (AlreadyExistsError, PreconditionError):
        raise Conflict(f"{key} cannot be {doing}: another process wrote it first") from None
    except Exception as error:
        kind, fault = classify(error)
        if kind == "broken" and doing != "written" and tries > 1:
            return ask(key, doing, call, absent, tries - 1)
        raise ObjectStoreError(f"{key} cannot be {doing}: {fault}", kind) from None


def lacks_bucket(answered: str) -> bool:
    """Return whether a store reported a missing bucket, in the terms of S3, Google or Azure."""
    return "NoSuchBucket" in answered or "ContainerNotFound" in answered


def classify(error: Exception) -> tuple[FailureKind, str]:
    """Return the kind of a failure and its description, without the text of the store's response."""
    name, text = type(error).__name__, str(error)
    if lacks_bucket(text):
        return "no_bucket", _NO_BUCKET
    word = f" ({found[1]})" if (found := _CODE.search(text)) else ""
    answered = re.search(r"status code: (\d{3})", text)
    status = answered[1] if answered else ""
    if name in ("UnauthenticatedError", "PermissionDeniedError") or status in ("401", "403"):
        return "denied", f"the object store rejected these credentials{word}"
    if status:
        kind: FailureKind = "range" if status == "416" else "outage" if status[0] == "5" else "other"
        return kind, f"the object store returned {status}{' repeatedly' if kind == 'outage' else ''}{word}"
    if re.search(r"credential|metadata", text, re.IGNORECASE) and "HTTP error" not in text:
        return "no_credentials", "the credentials of the object store are not set"
    if "timed out" in text or "timeout" in text.lower().replace("retry_timeout", ""):
        return "other", "the object store did not respond before the timeout"
    if "HTTP error" in text:
        return "broken", "the connection to the object store was lost repeatedly"
    if fault := re.search(r"\(os error (\d+)\)", text):  # of a folder that is used as a store
        return "other", os.strerror(int(fault[1]))
    return "other", f"the object store failed ({name})"
