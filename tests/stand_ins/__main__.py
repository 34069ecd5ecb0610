"""Run a local chain that behaves as Base, two facilitators and a funded buyer until interrupted.

Start it with `python -m tests.stand_ins`. It prints the settings for `emds serve` and the values that a client needs to
pay.
"""

from __future__ import annotations

import signal
import threading

from tests.stand_ins.chain import BUYER, KEYS, Chain
from tests.stand_ins.facilitator import Facilitator
from tests.stand_ins.official import Official

PAY_TO = "0x00000000000000000000000000000000DeaDBeef"


def main() -> None:
    chain = Chain()
    facilitators = [Facilitator(Official(chain.url, key)) for key in KEYS[:2]]
    chain.mint(BUYER, 1_000_000_000)
    print("# a service that takes payments here:")
    print(
        f"export EMDS_PAY_TO={PAY_TO} EMDS_FACILITATOR_URLS={','.join(f.url for f in facilitators)} "
        f"EMDS_RPC_URL={chain.url}"
    )
    print(f"# a buyer with 1000 USDC, {BUYER}:")
    print(f"export BUYER_KEY={KEYS[2]}", flush=True)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    ended.wait()
    for facilitator in facilitators:
        facilitator.close()
    chain.close()


if __name__ == "__main__":
    main()
