"""What the gate costs: the same small route without it, with a key, free, and refused with an offer to pay.

    python -m tests.bench.gate

Budgets: keyed at least 60 % of the ungated requests/s, free at least 70 %. The best round of each
route counts: two workers share sixteen connections by chance, and other work on the machine comes and goes.
Exit 1 when under a budget; 0 with a word where wrk is missing.
"""

from __future__ import annotations

import shutil
import sys
import tempfile

from api.access import sign_up as sign_ups
from api.access.database import Database
from api.access.sign_up import SignUp
from api.access.usage import UsageCounter
from tests.bench.wrk import Speed, run
from tests.stand_ins import postgres
from tests.stand_ins.served import Served

KEYS = 400
"""Each holds 500 calls, so that no run uses them up."""
ROUNDS, SECONDS = 7, 1
BUDGETS = {"keyed": 0.6, "free": 0.7}
PAY = {
    "EMDS_PAY_TO": "0x00000000000000000000000000000000DeaDBeef",
    "EMDS_FACILITATOR_URLS": "http://127.0.0.1:9",
    "EMDS_FREE_CALLS_PER_MINUTE": "0",
}

Runs = dict[str, list[Speed]]


def measure(url: str) -> tuple[Runs, float]:
    """The runs of each route in turn, and a worker's memory in MB."""
    accounts = UsageCounter(Database.opened(url))
    keys = [
        f"Authorization: Bearer {sign_ups.sign_up(accounts.database, SignUp(f'{n}@example.org', 'bench'), 0, 0).key}"
        for n in range(KEYS)
    ]
    accounts.close()
    served = Served({"EMDS_DATABASE_URL": url, **PAY}, workers=2, threads=64, more=("-c", "api/gunicorn.conf.py"))
    routes: dict[str, tuple[str, list[str], int]] = {
        "ungated": ("/open/GB", [], 200),
        "keyed": ("/v1/latest/GB", keys, 200),
        "free": ("/v1/zones", [], 200),
        "402": ("/v1/latest/GB", [], 402),
    }
    runs: Runs = {name: [] for name in routes}
    try:
        for lap in range(ROUNDS + 1):
            for name, (path, shown, wanted) in routes.items():
                speed = run(served.url + path, shown, wanted, seconds=SECONDS)
                if lap:  # the first warms up
                    runs[name].append(speed)
        return runs, served.resident_mb()
    finally:
        served.stop()


def best(runs: Runs) -> dict[str, Speed]:
    """Each route's fastest round."""
    return {name: max(each, key=lambda speed: speed.rate) for name, each in runs.items()}


def report(name: str, url: str) -> dict[str, float]:
    """Prints what was measured on one database; of the ungated requests/s, how much each route has left."""
    runs, memory = measure(url)
    fastest = best(runs)
    shares = {route: speed.rate / fastest["ungated"].rate for route, speed in fastest.items()}
    sys.stdout.write(f"gate on {name} (a worker: {memory:.0f} MB)\n")
    for route, speed in fastest.items():
        sys.stdout.write(
            f"  {route:8} {speed.rate:6.0f}/s  {shares[route]:4.0%}  p50 {speed.p50:.1f} ms  p99 {speed.p99:.1f} ms\n"
        )
    return shares


def main() -> int:
    """Measures on SQLite, which the budgets are for, and on PostgreSQL, which runs on the same two cores."""
    if shutil.which("wrk") is None:
        sys.stdout.write("gate: not measured, wrk is missing (make setup)\n")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        fastest = report("SQLite", f"sqlite:///{folder}/accounts.sqlite")
    if postgres.programs():
        server = postgres.Postgres()
        report("PostgreSQL", server.url)
        server.close()
    return int(any(fastest[route] < budget for route, budget in BUDGETS.items()))


if __name__ == "__main__":
    raise SystemExit(main())
