"""The application of the environment's settings, for any WSGI server."""

from __future__ import annotations

import logging
import os
import sys


class _WithoutPandas:
    """An import hook: keep pyarrow from importing pandas, 40 MB a worker for conversions that no answer needs."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("the API works without pandas", name=name)


sys.meta_path.insert(0, _WithoutPandas)

from api.application import create_app  # noqa: E402
from api.service import WORKER_TTL_S  # noqa: E402
from api.settings import Settings  # noqa: E402

# What becomes of payments: one line of JSON a change of state, to standard error, beside the requests' own log.
_payments = logging.getLogger("emds.payments")
_payments.setLevel(logging.INFO)
_payments.addHandler(logging.StreamHandler())

app = create_app(Settings.from_environ(os.environ), ttl_s=WORKER_TTL_S)
