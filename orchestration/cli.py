"""The command line: `emds VERB`, and what each verb takes. What a verb does is in `orchestration.verbs`.

Exit 0: all done; 1: something failed and is listed; 2: wrong use.
"""

from __future__ import annotations

import argparse
import os
import select
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from orchestration import arguments, verbs
from warehouse.errors import MarketError


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb and returns its exit code. Results go to stdout, progress and failures to stderr."""
    args = _parser().parse_args(argv)
    try:
        code: int = args.verb(args)
    except MarketError as error:
        sys.stderr.write(f"emds: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("\nemds: stopped\n")
        return 1
    return code


def process() -> int:
    """`main` as all that a process does."""
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        if not _nobody_reads():
            raise
        return 1
    return code


def _nobody_reads() -> bool:
    """Whether standard output goes to a program that has read enough, as `head` does: then it goes nowhere."""
    output, watched = sys.stdout.fileno(), select.poll()
    watched.register(output)
    gone = any(event & select.POLLERR for _, event in watched.poll(0))
    if gone:
        os.dup2(os.open(os.devnull, os.O_WRONLY), output)
    return gone


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="emds", description="Electricity Market Data Service")
    words = parser.add_subparsers(required=True, metavar="VERB")

    def verb(name: str, does: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        added = words.add_parser(name, help=text, description=text)
        added.set_defaults(verb=does)
        return added

    _add_up(verb("up", verbs.up, "fill an empty warehouse, then run the API and Dagster until Ctrl-C"))
    _which(verb("ingest", verbs.ingest, "ask every feed for the days that it may still revise, today's and tomorrow's"))
    _add_backfill(verb("backfill", verbs.backfill, "ask for past market days"))
    replay = verb("replay", verbs.replay, "bring in every recorded answer of a folder with a MANIFEST.json")
    replay.add_argument("folder", type=Path)
    rebuild = _which(
        verb(
            "rebuild",
            verbs.rebuild,
            "parse the kept bytes again, without the network, and resolve ranks and rights anew",
        )
    )
    _between(rebuild)
    publish = verb(
        "publish", verbs.publish, "publish every document anew; with --to as files that any web server serves"
    )
    publish.add_argument("--to", metavar="URL", help="a folder or a bucket (s3://...) (EMDS_PUBLISH_TO)")
    _add_trial(verb("probe", verbs.probe, "ask each feed for a past day and today, report, and write nothing"))
    record = _add_trial(verb("record", verbs.record, "the same, keeping the answers in a folder that `replay` takes"))
    record.add_argument("folder", type=Path)
    gaps = _which(verb("gaps", verbs.gaps, "list holes against the feeds' own calendars"))
    gaps.add_argument("--days", type=arguments.count, default=35, help="how far back (35)")
    gaps.add_argument("--fill", action="store_true", help="ask for the days that have holes")
    serve = verb("serve", verbs.serve, "run the API alone")
    serve.add_argument("--port", type=arguments.port, default=8000, help="where it listens (8000)")
    serve.add_argument("--host", default="127.0.0.1", help="where it listens; a proxy belongs in front (127.0.0.1)")
    serve.add_argument("--server", choices=("gunicorn", "granian"), default="gunicorn", help="what runs it (gunicorn)")
    dagster = verb("dagster", verbs.dagster, "run a program of Dagster's over this warehouse, as `dagster-webserver`")
    dagster.add_argument("program", metavar="PROGRAM", help="dagster, dagster-webserver or dagster-daemon")
    dagster.add_argument("options", nargs=argparse.REMAINDER, metavar="...", help="its own arguments")
    fill = verb("fill", verbs.fill, "fill an empty warehouse as `up` does before its servers, and end")
    fill.add_argument("--days", type=arguments.count, default=35, help="days of history (35)")
    verb("bucket", verbs.bucket, "make the bucket of EMDS_HOME where its S3 server has none")
    verb("doctor", verbs.doctor, "tell what is configured, what is missing and what is stale")
    verb("repair", verbs.repair, "set damaged files aside and make them again from the kept bytes")
    _add_keys(verb("keys", verbs.keys, "who holds keys and how much they are used; ends one, or sets its quota"))
    copy = verb("copy", verbs.copy, "copy a warehouse to an empty folder or bucket, where it serves the same answers")
    copy.add_argument("source", metavar="FROM", help="a folder, or a bucket's address")
    copy.add_argument("target", metavar="TO", help="the same; a copy that was killed goes on")
    verb("reconcile", verbs.reconcile, "compare every transfer to EMDS_PAY_TO with the payments ledger")
    _add_webhooks(
        verb("webhooks", verbs.webhooks, "who is told what, and how deliveries go; delivers, ends or takes one up")
    )
    verb("verify", verbs.verify, "read every file of the warehouse and tell what is broken")
    return parser


def _add_up(up: argparse.ArgumentParser) -> None:
    up.add_argument("--days", type=arguments.count, default=35, help="days of history for an empty warehouse (35)")
    up.add_argument("--port", type=arguments.port, default=8000, help="the API's port (8000)")
    up.add_argument("--host", default="127.0.0.1", help="where the API listens; a proxy belongs in front (127.0.0.1)")
    up.add_argument("--ui-port", type=arguments.port, default=3000, help="Dagster's port (3000)")
    up.add_argument("--home", help="the warehouse: a folder or a bucket's address (EMDS_HOME, else ./data)")
    up.add_argument("--feeds", choices=("simulated", "live"), help="the mode of an empty warehouse (EMDS_FEEDS)")
    up.add_argument("--recordings", type=Path, metavar="FOLDER", help="fill it from recorded answers instead")


def _add_keys(keys: argparse.ArgumentParser) -> None:
    actions = keys.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="the busiest keys, and those used least")
    listing.add_argument("--days", type=arguments.count, default=30, help="over how many days (30)")
    listing.add_argument("--top", type=arguments.count, default=10, help="how many of each (10)")
    for name, text in (("show", "one key"), ("revoke", "end a key at once"), ("quota", "set a key's answers a day")):
        action = actions.add_parser(name, help=text)
        action.add_argument("key", type=arguments.key, metavar="ID", help="as `emds keys list` shows it")
        if name == "quota":
            action.add_argument("answers", type=arguments.quota, metavar="N", help="answers a UTC day, or `usual`")


def _add_webhooks(webhooks: argparse.ArgumentParser) -> None:
    actions = webhooks.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="every subscription")
    actions.add_parser("deliver", help="deliver what waits, now")
    for name, text in (
        ("show", "one subscription, without its secret"),
        ("disable", "deliver nothing more to it"),
        ("enable", "take deliveries up again"),
        ("remove", "end it"),
    ):
        actions.add_parser(name, help=text).add_argument("webhook", metavar="ID", help="as `emds webhooks list` says")


def _add_backfill(backfill: argparse.ArgumentParser) -> None:
    _which(backfill)
    backfill.add_argument("--days", type=arguments.count, help="the last N days, today and what is out for tomorrow")
    _between(backfill)
    backfill.add_argument("--dry-run", action="store_true", help="only tell requests and expected time")


def _add_trial(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    _which(parser)
    parser.add_argument("--day", type=arguments.day, metavar="D", help="the past market day (the newest whole one)")
    parser.add_argument(
        "--requests",
        type=arguments.requests,
        default=12,
        metavar="N",
        help="at most N a feed and day (12); 0: all of them",
    )
    return parser


def _between(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--start", type=arguments.day, metavar="D", help="first market day")
    parser.add_argument("--end", type=arguments.day, metavar="D", help="last market day")


def _which(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--source", help="only this source")
    parser.add_argument("--feed", help="only this feed, as aemo.dispatch")
    return parser


if __name__ == "__main__":
    sys.exit(process())
