"""Find wording that a technical editor would change: old terms of this project, and constructions that hide the subject.

Each expression stands for a fault of docs/style: a phrase without a verb, a clause instead of a noun, a home-made term.
Code, links, URLs and placeholders are left out before the search.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_EXPRESSIONS = {}
