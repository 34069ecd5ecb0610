"""Where a warehouse lies: EMDS_HOME, a folder or a bucket, and EMDS_LOCAL_DIR, a folder of this machine."""

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
    """One warehouse's place."""

    place: Path | StoreAddress
    local: Path
    """For what needs a disk: SQLite, Dagster's home, logs. That of a folder is the folder itself."""
    cache_s: float
    """So long a bucket's object counts as unchanged."""

    def __str__(self) -> str:
        return str(self.place)

    def open(self) -> Storage:
        """Its storage; nothing is read yet."""
        if isinstance(self.place, Path):
            return Folder(self.place)
        from warehouse.store.bucket import Bucket  # a folder's processes need none of it

        return Bucket(self.place, self.local, self.cache_s)

    def open_to_write(self) -> Storage:
        """The same for whoever is going to write: a folder is made. Raises StorageError."""
        if isinstance(self.place, Path):
            self.make_local()
        return self.open()

    def make_local(self) -> None:
        """Makes the local folder where there is none. Raises StorageError that names it where it cannot."""
        try:
            self.local.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"{self.local} is no folder, and cannot be made one: {error.strerror}") from None

    def settle(self, environ: MutableMapping[str, str]) -> None:
        """Names absolute places in an environment: servers run in another folder than this one.

        Raises StorageError where nobody said where the accounts beside a bucket lie.
        """
        if not isinstance(self.place, Path):
            if not any(settings.text(environ, name) for name in ("EMDS_DATABASE_URL", "EMDS_LOCAL_DIR")):
                raise StorageError(
                    "EMDS_HOME is an object store: set EMDS_DATABASE_URL for keys, usage and payments, "
                    "or EMDS_LOCAL_DIR to a folder that stays"
                )
            environ["EMDS_LOCAL_DIR"] = str(self.local)
        environ["EMDS_HOME"] = str(self)


def from_environ(environ: Mapping[str, str]) -> Home:
    """Return the place that an environment names.

    Raises StorageError for a variable under its old name, and for a wrong address, which the message does not repeat.
    """
    if faults := settings.renamed_faults(environ):
        raise StorageError("; ".join(faults))
    fresh = settings.text(environ, "EMDS_BUCKET_CACHE_SECONDS")
    if not (fresh.isascii() and fresh.isdigit() and int(fresh) <= 3600):
        raise StorageError(f"EMDS_BUCKET_CACHE_SECONDS={fresh[:20]}: a whole number up to 3600")
    return parse(settings.home_text(environ), settings.text(environ, "EMDS_LOCAL_DIR"), float(fresh))


def parse(text: str, local: str = "", cache_s: float = 2.0) -> Home:
    """A warehouse's place by the texts of the two settings. Raises StorageError for a wrong address."""
    if is_address(text):
        return Home(address(text), Path(local or "./local").resolve(), cache_s)
    folder = Path(text).resolve()
    return Home(folder, folder, cache_s)
