"""How late free paths answer while bogus payments pour in and every facilitator hangs.

    python -m tests.bench.payment_flood

Each round sends 300 payments by a hundred connections, a third each with forged signatures, signed by empty wallets,
and no payment at all; no limit by client is set, since a flood has many addresses. Budget: p99 of `/v1/zones` under
twice that of a quiet service, the median of the rounds. Exit 1 above it.
"""

from __future__ import annotations

import base64
import http.client
import json
import multiprocessing
import statistics
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Sequence

from eth_account import Account

from tests.stand_ins import buyer
from tests.stand_ins.book import Book
from tests.stand_ins.book_node import BookNode
from tests.stand_ins.facilitator import Facilitator
from tests.stand_ins.served import Served

PAYMENTS, SENDERS = 300, 100
ROUNDS, PROBES, PAUSE_S = 5, 400, 0.01
BUDGET = 2.0
PATH = "/v1/latest/GB"


def payments(served: Served) -> list[str]:
    """Headers of bogus payments, ready to be sent."""
    try:
        urllib.request.urlopen(served.url + PATH, timeout=10).close()
        raise AssertionError("the path is free")
    except urllib.error.HTTPError as unpaid:
        offer = json.loads(base64.b64decode(unpaid.headers["PAYMENT-REQUIRED"]))["accepts"][0]
        unpaid.close()
    made = []
    for number in range(PAYMENTS):
        wallet = Account.create()
        authorization = buyer.authorization(
            offer, **{"from": wallet.address, "validBefore": str(int(time.time()) + 900)}
        )
        forged = "0x" + f"{number + 1:0130x}"
        signature = forged if number % 3 == 0 else buyer.sign(authorization, wallet.key)
        made.append("junk" if number % 3 == 2 else buyer.header(buyer.pay_v2(offer, authorization, signature)))
    return made


def flood(port: int, headers: Sequence[str], done: multiprocessing.Queue[dict[int, int]]) -> None:
    """Sends every payment, as many at once as there are senders; tells the statuses."""
    left, seen = list(headers), Counter[int]()

    def send() -> None:
        while left:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            try:
                connection.request("GET", PATH, headers={"PAYMENT-SIGNATURE": left.pop()})
                seen[connection.getresponse().status] += 1
            except (OSError, IndexError, http.client.HTTPException):
                seen[0] += 1
            finally:
                connection.close()

    threads = [threading.Thread(target=send) for _ in range(SENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done.put(dict(seen))


def probe(port: int) -> list[float]:
    """Seconds to each of some free answers, one after the other on one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    times = []
    for _ in range(PROBES):
        began = time.perf_counter()
        connection.request("GET", "/v1/zones")
        answer = connection.getresponse()
        answer.read()
        times.append(time.perf_counter() - began)
        time.sleep(PAUSE_S)
    connection.close()
    return times


def p99(times: Sequence[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)] * 1000


def main() -> int:
    """Prints each round, quiet and flooded, and their medians."""
    book = Book()
    slow = [Facilitator(book), Facilitator(book)]
    node = BookNode(book)
    for facilitator in slow:
        facilitator.faults = {"verify": "hang", "settle": "hang"}
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        environ = {
            "EMDS_DATABASE_URL": f"sqlite:///{folder}/accounts.sqlite",
            "EMDS_PAY_TO": "0x00000000000000000000000000000000DeaDBeef",
            "EMDS_FACILITATOR_URLS": ",".join(each.url for each in slow),
            "EMDS_RPC_URL": node.url,
            "EMDS_FREE_CALLS_PER_MINUTE": "0",
        }
        served = Served(environ, workers=2, threads=64)
        quiet, flooded = [], []
        prober = spawn.Pool(1)  # a process of its own: the stand-ins answer in this one
        try:
            prober.apply(probe, (served.port,))
            for number in range(ROUNDS):
                headers, done = payments(served), spawn.Queue()
                quiet.append(p99(prober.apply(probe, (served.port,))))
                process = spawn.Process(target=flood, args=(served.port, headers, done))
                process.start()
                time.sleep(1.0)  # its interpreter starts
                times = prober.apply(probe, (served.port,))
                while process.is_alive() and done.empty():
                    times += prober.apply(probe, (served.port,))
                statuses = done.get(timeout=120)
                process.join()
                flooded.append(p99(times))
                sys.stdout.write(
                    f"round {number + 1}: quiet p99 {quiet[-1]:.1f} ms, flooded {flooded[-1]:.1f} ms "
                    f"({len(times)} answers), payments by status {dict(sorted(statuses.items()))}\n"
                )
                sys.stdout.flush()
        finally:
            prober.terminate()
            prober.join()
            served.stop()
            for server in (*slow, node):
                server.close()
    share = statistics.median(flooded) / statistics.median(quiet)
    sys.stdout.write(
        f"p99 of a free path: quiet {statistics.median(quiet):.1f} ms, "
        f"under the flood {statistics.median(flooded):.1f} ms: {share:.2f} x (budget {BUDGET})\n"
    )
    return int(share > BUDGET)


if __name__ == "__main__":
    raise SystemExit(main())
