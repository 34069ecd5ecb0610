"""What gunicorn serves: the application of the environment's settings."""

from __future__ import annotations

import logging
import os

from api.application import create_app
from api.documents.changes import WORKER_TTL_S
from api.settings import Settings

# What becomes of payments: one line of JSON a change of state, to standard error, beside the requests' own log.
_payments = logging.getLogger("emds.payments")
_payments.setLevel(logging.INFO)
_payments.addHandler(logging.StreamHandler())

app = create_app(Settings.from_environ(os.environ), ttl_s=WORKER_TTL_S)
