"""What a worker gains where it is kept to one core: keyed windows at random a second, one worker and one a core.

    python -m tests.bench.cores

Threads of one worker hand Python's global lock to each other; where the kernel spreads them over cores, each hand-over
wakes another core. The same server is asked with its threads free and bound, in turn; `api.http.worker_core`, which
binds them in service, leaves them alone as soon as this does.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tests.bench import wrk
from tests.bench.decade import warehouse
from tests.bench.random_questions import WARM, YEARS, questions
from tests.bench.servers import keys, ours, running
from tests.stand_ins.ports import free_port

ROUNDS, SECONDS = 3, 4


def workers_of(server: int) -> list[int]:
    """Process ids of a gunicorn's workers."""
    return [int(pid) for pid in Path(f"/proc/{server}/task/{server}/children").read_text().split()]


def bind(workers: Sequence[int], cores: Sequence[int], apart: bool) -> None:
    """Lets the threads of each worker run on one core, another for each worker, or on all."""
    for number, worker in enumerate(workers):
        wanted = {cores[number % len(cores)]} if apart else set(cores)
        for thread in os.listdir(f"/proc/{worker}/task"):
            os.sched_setaffinity(int(thread), wanted)


def measured(count: int) -> dict[bool, float]:
    """Requests/s of so many workers, free and bound: the middle of the rounds."""
    home, port, cores = warehouse(YEARS), free_port(), sorted(os.sched_getaffinity(0))
    base = f"http://127.0.0.1:{port}"
    command, environ = ours(home, port, count)
    paths = list(questions(1, 1, YEARS, [(WARM[0], WARM[1].value)]))
    rates: dict[bool, list[float]] = {False: [], True: []}
    with running(command, environ, f"{base}/readyz") as process:
        headers = keys(home, f"cores{os.getpid()}")
        wrk.run(base, headers, paths=paths)
        for _ in range(ROUNDS):
            for apart in rates:
                bind(workers_of(process.pid), cores, apart)
                rates[apart].append(wrk.run(base, headers, seconds=SECONDS, paths=paths).rate)
    return {apart: sorted(each)[ROUNDS // 2] for apart, each in rates.items()}


def main() -> None:
    """Prints a line for one worker, and one for as many as cores."""
    for count in (1, len(os.sched_getaffinity(0))):
        rate = measured(count)
        print(f"{count} workers: {rate[False]:.0f}/s free, {rate[True]:.0f}/s each kept to a core", flush=True)


if __name__ == "__main__":
    main()
