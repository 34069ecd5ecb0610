"""Build the application from the environment's settings, for any WSGI server."""

from __future__ import annotations

import logging
import os
import sys


class _WithoutPandas:
    """An import hook that keeps pyarrow from importing pandas, 40 MB per worker for unused conversions."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("the API works without pandas", name=name)


sys.meta_path.insert(0, _WithoutPandas)

from api.application import create_app  # noqa: E402
from api.service import WORKER_TTL_S  # noqa: E402
from api.settings import Settings  # noqa: E402

# Payment states go to standard error, apart from the request log: one line of JSON per change.
_payments = logging.getLogger("emds.payments")
_payments.setLevel(logging.INFO)
_payments.addHandler(logging.StreamHandler())

app = create_app(Settings.from_environ(os.environ), ttl_s=WORKER_TTL_S)
