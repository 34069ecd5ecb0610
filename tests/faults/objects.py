"""The objects of a bucket by plain HTTP, beside the pipeline's own client: listed, read, harmed, copied, removed.

No client of the object store is opened: a process that does only this may fork.
"""

from __future__ import annotations

import http.client
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape, unescape
from urllib.parse import quote, urlencode

_BUCKET = "emds"
_METADATA = "x-amz-meta-"
_SIGNED = {"Authorization": "any"}
"""The server looks whether a request is signed, not by whom."""


@dataclass(frozen=True)
class Objects:
    """Those below a prefix of the bucket `emds` at a server on loopback. Keys are without the prefix."""

    port: int
    prefix: str

    def keys(self, below: str = "") -> list[str]:
        """Every key below a folder that holds bytes, sorted."""
        found: list[str] = []
        after = ""
        while True:
            asked = {"list-type": "2", "prefix": f"{self.prefix}/{below}", "start-after": after}
            text = self._ask("GET", f"?{urlencode(asked)}")[1].decode()
            page = re.findall(r"<Key>([^<]*)</Key>.*?<Size>(\d+)</Size>", text, re.DOTALL)
            found += [unescape(key) for key, size in page if int(size)]
            if "<IsTruncated>true" not in text:
                return sorted(key[len(self.prefix) + 1 :] for key in found)
            after = unescape(page[-1][0])

    def read(self, key: str) -> bytes:
        """An object's bytes."""
        return self._ask("GET", self._path(key))[1]

    def overwrite(self, key: str, body: bytes) -> None:
        """Other bytes under the old metadata: version and number of the put stay."""
        headers = self._ask("HEAD", self._path(key))[0]
        kept = {name: value for name, value in headers.items() if name.lower().startswith(_METADATA)}
        self.write(key, body, kept)

    def write(self, key: str, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """An object as any tool puts it."""
        self._ask("PUT", self._path(key), body, headers)

    def remove(self, key: str) -> None:
        """The object is gone."""
        self._ask("DELETE", self._path(key))

    def copy(self, prefix: str) -> Objects:
        """Every object with its metadata below another prefix."""
        target = Objects(self.port, prefix)
        for key in self.keys():
            source = f"/{_BUCKET}{self._path(key)}"
            self._ask("PUT", target._path(key), headers={"x-amz-copy-source": source})
        return target

    def clear(self) -> None:
        """No object is left below the prefix."""
        objects = "".join(f"<Object><Key>{escape(f'{self.prefix}/{key}')}</Key></Object>" for key in self.keys())
        self._ask("POST", "?delete", f"<Delete>{objects}</Delete>".encode())

    def _path(self, key: str) -> str:
        return f"/{quote(f'{self.prefix}/{key}')}"

    def _ask(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> tuple[Mapping[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, f"/{_BUCKET}{path}", body, _SIGNED | dict(headers or {}))
            answer = connection.getresponse()
            read = answer.read()
            assert answer.status < 300, f"{method} {path}: {answer.status}"
            return dict(answer.getheaders()), read
        finally:
            connection.close()
