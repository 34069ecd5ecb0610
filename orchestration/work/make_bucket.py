"""`emds bucket`: makes the bucket of EMDS_HOME where its S3 server has none yet, so that one command starts a fleet."""

from __future__ import annotations

import http.client
import os
import urllib.error
import urllib.request
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

from orchestration.work.settings import PipelineSettings
from warehouse.errors import StorageError
from warehouse.store.object_store import REQUEST_S, StoreAddress, lacks_bucket, open_store, reason

if TYPE_CHECKING:
    from obstore.store import S3Store


def main() -> int:
    """Returns 0 once the bucket is there. Raises StorageError where it cannot be made."""
    place = PipelineSettings.from_environ(os.environ).home.place
    if isinstance(place, Path) or place.scheme != "s3":
        raise StorageError("EMDS_HOME is not s3://...: buckets elsewhere are made by their owner's own tools")
    created = make(place)
    print(f"{place.bucket}: {'made' if created else 'is there'}")
    return 0


def make(place: StoreAddress) -> bool:
    """Makes the bucket of an address; false where it was there. Raises StorageError where it cannot be made."""
    if exists(place):
        return False
    import obstore

    # obstore knows objects alone; a bucket is made by a PUT of the path above them all.
    signed = obstore.sign(_above(place), "PUT", "", timedelta(minutes=5))
    answer = _put(signed, str(place))
    if not exists(place):
        raise StorageError(f"{place} cannot be made: the object store answered {answer}")
    return True


def exists(place: StoreAddress) -> bool:
    """Whether there is a bucket. Raises StorageError where its server does not tell."""
    import obstore

    try:
        next(iter(obstore.list(_above(place), chunk_size=1)), None)
    except Exception as error:
        if lacks_bucket(str(error)):
            return False
        raise StorageError(f"{place} cannot be listed: {reason(error)}") from None
    return True


def _above(place: StoreAddress) -> S3Store:
    """A client for the whole bucket."""
    return cast("S3Store", open_store(replace(place, prefix="")))


def _put(url: str, place: str) -> int:
    """The status of a signed request; another process may have been first (409)."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, b"", method="PUT"), timeout=REQUEST_S) as answer:  # noqa: S310
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except (OSError, http.client.HTTPException):
        raise StorageError(f"{place} cannot be made: no connection to the object store lasted") from None
