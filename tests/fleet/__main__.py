"""`make fleet` (`python -m tests.fleet [SECONDS] [DAYS] [FILE] [PART,...]`): the fleet under traffic and kills.

By default ten minutes, while a year of past days is brought in; FILE (`fleet.json`) gets the same as JSON. 1: something
was lost, doubled or wrongly charged, or failed beyond the seconds of a restart.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from tests.fleet.campaign import Plan, run
from tests.stand_ins.buckets import CREDENTIALS

KILLS = "worker,replica,store,database,daemon,replica,worker,code,webserver"

if __name__ == "__main__":
    given = dict(enumerate(sys.argv))
    seconds, days, file = float(given.get(1, 600)), int(given.get(2, 365)), Path(given.get(3, "fleet.json"))
    os.environ.update(CREDENTIALS)
    with tempfile.TemporaryDirectory(prefix="emds-fleet-") as folder:
        plan = Plan(seconds, days, given.get(4, KILLS).split(","))
        report = run(Path(folder), plan, lambda line: print(line, file=sys.stderr, flush=True))
    file.write_text(json.dumps(report.as_json(), indent=1))
    print(*report.lines(), f"figures: {file}", sep="\n")
    sys.exit(0 if report.sound() and not report.beyond() else 1)
