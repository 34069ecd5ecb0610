"""What gunicorn serves: the application of the environment's settings."""

from __future__ import annotations

import os

from api import create_app
from api.settings import Settings

app = create_app(Settings.from_environ(os.environ))
