"""Define where a warehouse is: EMDS_HOME, a folder or a bucket, and EMDS_LOCAL_DIR, a folder of this machine."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path

from warehouse import settings
from warehouse.errors import StorageError
from warehouse.store.object_store import StoreAddress, address, is_address
from warehouse.store.storage import Folder, Storage


@dataclass(frozen=True, slots=True)
class Home:
    """The location of a warehouse."""

    place: Path | StoreAddress
    local: Path
    """The folder for SQLite, Dagster's home and logs, which need a disk. In a folder warehouse, the same folder."""
    cache_s: float
    """The time in seconds for which an object of a bucket is cached."""

    def __str__(self) -> str:
        return str(self.place)

    def open(self) -> Storage:
        """Return the storage. Nothing is read yet."""
        if isinstance(self.place, Path):
            return Folder(self.place)
        from warehouse.store.bucket import Bucket  # not needed for a folder

        return Bucket(self.place, self.local, self.cache_s)

    def open_to_write(self) -> Storage:
        """Create the folder of a folder warehouse and return the storage, for writers. Raises StorageError."""
        if isinstance(self.place, Path):
            self.make_local()
        return self.open()

    def make_local(self) -> None:
        """Create the local folder if it does not exist. If that fails, raises StorageError with its name."""
        try:
            self.local.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"cannot create the folder {self.local}: {error.strerror}") from None

    def settle(self, environ: MutableMapping[str, str]) -> None:
        """Set absolute locations in an environment, because servers run in another working folder.

        Raises StorageError if the location of the accounts of a bucket warehouse is not set.
        """
        if not isinstance(self.place, Path):
            if not any(settings.text(environ, name) for name in ("EMDS_DATABASE_URL", "EMDS_LOCAL_DIR")):
                raise StorageError(
                    "EMDS_HOME is a bucket, so keys, usage and payments need a database: set EMDS_DATABASE_URL, or set "
                    "EMDS_LOCAL_DIR to a persistent folder"
                )
            environ["EMDS_LOCAL_DIR"] = str(self.local)
        environ["EMDS_HOME"] = str(self)


def from_environ(environ: Mapping[str, str]) -> Home:
    """Return the location that an environment names.

    Raises StorageError for a variable under its old name, and for an invalid address, without repeating it.
    """
    if faults := settings.renamed_faults(environ):
        raise StorageError("; ".join(faults))
    fresh = settings.text(environ, "EMDS_BUCKET_CACHE_SECONDS")
    if not (fresh.isascii() and fresh.isdigit() and int(fresh) <= 3600):
        raise StorageError(f"EMDS_BUCKET_CACHE_SECONDS={fresh[:20]} is not valid; use a whole number up to 3600")
    return parse(settings.home_text(environ), settings.text(environ, "EMDS_LOCAL_DIR"), float(fresh))


def parse(text: str, local: str = "", cache_s: float = 2.0) -> Home:
    """Return the location given by the texts of the two settings. Raises StorageError for an invalid address."""
    if is_address(text):
        return Home(address(text), Path(local or "./local").resolve(), cache_s)
    folder = Path(text).resolve()
    return Home(folder, folder, cache_s)
