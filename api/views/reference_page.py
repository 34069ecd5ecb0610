"""`/docs`: the description as a page of one file; its policy names its script by hash."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from pathlib import Path
from typing import Any

from flask import render_template
from markupsafe import Markup

from api.endpoints import ENDPOINTS
from api.openapi import code_samples
from api.openapi.code_samples import example_path
from api.settings import Settings

_SCRIPT = (Path(__file__).parents[1] / "pages" / "docs.js").read_text()
_HASH = b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
HEADERS = [
    (
        "Content-Security-Policy",
        f"default-src 'none'; script-src 'sha256-{_HASH}'; style-src 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )
]
"""Its own script and calls of this service, nothing else."""


def written(settings: Settings, api: dict[str, Any]) -> str:
    """The page of a description."""
    samples = {e.id: code_samples.in_each_language(e, settings.base_url + example_path(e)) for e in ENDPOINTS.values()}
    script = Markup(_SCRIPT)  # noqa: S704 our own file
    return render_template("docs.html", api=api, samples=samples, languages=code_samples.LANGUAGES, script=script)
